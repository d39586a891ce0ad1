//! What cargo says about this workspace: packages, their direct dependencies and their closures.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workspace's folder: where this package's parent stands.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // A moved checkout is recognised by cargo's own variable, which is set whenever xtask runs through cargo.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| here.to_owned(), PathBuf::from);
    here.parent().map_or(here.clone(), Path::to_owned)
}

/// The cargo that runs us.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// One package of the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Package {
    /// Its folder.
    pub(crate) folder: PathBuf,
    /// Workspace packages it depends on, tests apart.
    pub(crate) edges: BTreeSet<String>,
    /// Every package that it needs to build, tests apart.
    pub(crate) closure: BTreeSet<String>,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workspace {
    /// By name.
    pub(crate) packages: BTreeMap<String, Package>,
    /// Where cargo builds, `CARGO_TARGET_DIR` respected.
    pub(crate) target: PathBuf,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetaPackage>,
    workspace_members: BTreeSet<String>,
    target_directory: PathBuf,
    resolve: Resolve,
}
#[derive(Deserialize)]
struct MetaPackage {
    id: String,
    name: String,
    manifest_path: PathBuf,
}
#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}
#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dep>,
}
#[derive(Deserialize)]
struct Dep {
    pkg: String,
    dep_kinds: Vec<DepKind>,
}
#[derive(Deserialize)]
struct DepKind {
    kind: Option<String>,
}

impl Workspace {
    /// Asks cargo.
    pub(crate) fn load() -> Result<Workspace> {
        let platform = host().context("asking rustc for the host platform")?;
        let output = cargo()
            .current_dir(root())
            .args(["metadata", "--format-version", "1", "--filter-platform", &platform])
            .output()
            .context("running cargo metadata")?;
        if !output.status.success() {
            bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Workspace::parse(&output.stdout)
    }

    /// Reads the JSON of `cargo metadata`.
    fn parse(json: &[u8]) -> Result<Workspace> {
        let metadata: Metadata = serde_json::from_slice(json).context("reading cargo metadata")?;
        let names: BTreeMap<&str, &str> = metadata.packages.iter().map(|p| (p.id.as_str(), p.name.as_str())).collect();
        let edges: BTreeMap<&str, Vec<&str>> = metadata
            .resolve
            .nodes
            .iter()
            .map(|node| (node.id.as_str(), node.deps.iter().filter(|dep| dep.builds()).map(|dep| dep.pkg.as_str()).collect()))
            .collect();
        let name = |id: &str| names.get(id).map_or_else(|| id.to_owned(), |name| (*name).to_owned());
        let member = |id: &str| metadata.workspace_members.contains(id);
        let packages = metadata
            .packages
            .iter()
            .filter(|package| member(&package.id))
            .map(|package| {
                let direct = edges.get(package.id.as_str()).into_iter().flatten();
                let described = Package {
                    folder: package.manifest_path.parent().map(Path::to_owned).unwrap_or_default(),
                    edges: direct.filter(|id| member(id)).map(|id| name(id)).collect(),
                    closure: closure(&package.id, &edges).into_iter().map(name).collect(),
                };
                (package.name.clone(), described)
            })
            .collect();
        Ok(Workspace { packages, target: metadata.target_directory })
    }
}

impl Dep {
    /// Whether it is more than a dependency of tests.
    fn builds(&self) -> bool {
        self.dep_kinds.iter().any(|kind| kind.kind.as_deref() != Some("dev"))
    }
}

fn closure<'a>(start: &'a str, edges: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open = vec![start];
    while let Some(id) = open.pop() {
        for next in edges.get(id).into_iter().flatten() {
            if seen.insert(*next) {
                open.push(next);
            }
        }
    }
    seen
}

fn host() -> Result<String> {
    let output = Command::new("rustc").args(["--print", "host-tuple"]).output().context("running rustc")?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_tests_do_not_count_and_closures_are_transitive() {
        let json = br#"{"packages": [
            {"id": "a 1", "name": "a", "manifest_path": "/w/a/Cargo.toml"}, {"id": "b 1", "name": "b", "manifest_path": "/w/b/Cargo.toml"},
            {"id": "x 1", "name": "x", "manifest_path": "/r/x/Cargo.toml"}, {"id": "y 1", "name": "y", "manifest_path": "/r/y/Cargo.toml"}],
            "workspace_members": ["a 1", "b 1"], "target_directory": "/t",
            "resolve": {"nodes": [
                {"id": "a 1", "deps": [{"pkg": "b 1", "dep_kinds": [{"kind": null}]}, {"pkg": "y 1", "dep_kinds": [{"kind": "dev"}]}]},
                {"id": "b 1", "deps": [{"pkg": "x 1", "dep_kinds": [{"kind": "dev"}, {"kind": "build"}]}]},
                {"id": "x 1", "deps": []}, {"id": "y 1", "deps": []}]}}"#;
        let workspace = Workspace::parse(json).unwrap();
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let a = &workspace.packages["a"];
        assert_eq!((a.edges.clone(), a.closure.clone(), a.folder.as_path()), (set(&["b"]), set(&["b", "x"]), Path::new("/w/a")));
        assert_eq!(workspace.packages["b"].edges, set(&[]));
        assert_eq!(workspace.packages.len(), 2);
    }
}
