//! `[name[:kind][:label]=]path`: what a source on the command line means. Paths are looked at, never opened.

use crate::failure::Failure;
use ctx_runtime::config::{SOURCE_KINDS, SourceConfig};
use ctx_types::{Sensitivity, SourceKind, SourceName};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Labels, for messages.
pub(crate) const LABELS: &str = "public, internal, confidential, restricted";
/// Most lines of a `--sources-from` file.
const LINES_MAX: usize = 10_000;

/// One source as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// A source that the configuration describes.
    Configured(SourceName),
    /// A folder or file.
    Path {
        /// Given or made from the base name.
        name: SourceName,
        /// Given label.
        label: Option<Sensitivity>,
        /// Given kind, or the one that the files are.
        kind: Option<SourceKind>,
        /// As typed.
        path: PathBuf,
    },
}

impl Named {
    /// Its name.
    pub(crate) fn name(&self) -> &SourceName {
        match self {
            Named::Configured(name) | Named::Path { name, .. } => name,
        }
    }
}

/// A label by its name.
pub(crate) fn label(text: &str) -> Option<Sensitivity> {
    [Sensitivity::Public, Sensitivity::Internal, Sensitivity::Confidential, Sensitivity::Restricted]
        .into_iter()
        .find(|label| label.to_string() == text)
}

/// Sources of a list file: a BOM, CRs, blank lines and comments are no part of a path.
pub(crate) fn listed(path: &Path) -> Result<Vec<String>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| Failure::input(format!("reading the list of sources {}: {e}", path.display())))?;
    let lines: Vec<String> = text
        .trim_start_matches('\u{feff}')
        .lines()
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    if lines.len() > LINES_MAX {
        return Err(Failure::input(format!(
            "reading the list of sources {}: {} lines; at most {LINES_MAX} are accepted",
            path.display(),
            lines.len()
        )));
    }
    Ok(lines)
}

/// The sources that the configuration describes, and where it stands, for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Configured<'a> {
    /// By name.
    pub(crate) sources: &'a BTreeMap<SourceName, SourceConfig>,
    /// "ctxrt.yaml", "the environment".
    pub(crate) place: &'a str,
}

/// All sources, each under a name of its own.
pub(crate) fn resolve(typed: &[String], configured: Configured<'_>) -> Result<Vec<Named>, Failure> {
    let mut taken: BTreeSet<SourceName> = BTreeSet::new();
    let mut given = Vec::new();
    for text in typed {
        given.push(kept(parse(text, configured.sources)?, configured)?);
    }
    // Names that were typed are reserved before any is made up.
    for spec in &given {
        if let Some(name) = &spec.name
            && !taken.insert(name.clone())
        {
            return Err(Failure::input(format!("two sources are named {name}")).with_hint("give one of them another name: name=path"));
        }
    }
    given.into_iter().map(|spec| named(spec, &mut taken, configured.sources)).collect()
}

/// A name that the configuration knows keeps what the configuration says of it: label, readers, kind. Anything else under
/// that name is refused, because it would take the source's protection away.
fn kept(spec: Spec, configured: Configured<'_>) -> Result<Spec, Failure> {
    let (Some(name), Some(path)) = (&spec.name, &spec.path) else { return Ok(spec) };
    let Some(known) = configured.sources.get(name) else { return Ok(spec) };
    let differs = if !same_place(path, &known.path) {
        format!("its path is {}", known.path.display())
    } else if spec.label.is_some_and(|label| label != known.sensitivity) {
        format!("its label is {}", known.sensitivity)
    } else if spec.kind.is_some_and(|kind| kind != known.kind) {
        format!("its kind is {}", known.kind)
    } else {
        return Ok(Spec { label: None, kind: None, path: None, ..spec });
    };
    Err(Failure::input(format!("source {name}: there is a source of this name in {}; {differs}", configured.place))
        .with_hint(format!("name it alone, as --source {name}, or choose another name")))
}

fn same_place(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
    real(one).is_some_and(|one| real(other) == Some(one))
}

/// A source as typed, before it has a name.
struct Spec {
    name: Option<SourceName>,
    label: Option<Sensitivity>,
    kind: Option<SourceKind>,
    path: Option<PathBuf>,
}

fn parse(text: &str, configured: &BTreeMap<SourceName, SourceConfig>) -> Result<Spec, Failure> {
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        return Err(Failure::input("a source without a path").with_hint("write --source docs=./docs"));
    }
    if let Some(name) = SourceName::new(text).ok().filter(|name| configured.contains_key(name)) {
        return Ok(Spec { name: Some(name), label: None, kind: None, path: None });
    }
    let (name, (label, kind), path) = match text.split_once('=') {
        // `./a=b` is a path: a name holds no separator.
        Some((left, path)) if !left.contains(['/', '\\']) => {
            let (name, labels) = labelled(left)?;
            (Some(name), labels, path)
        }
        _ => (None, (None, None), text),
    };
    let path = existing(path)?;
    let kind = kind.or_else(|| is_parquet(&path).then_some(SourceKind::Tables));
    Ok(Spec { name, label, kind, path: Some(path) })
}

type Labels = (Option<Sensitivity>, Option<SourceKind>);

/// `name`, `name:restricted`, `name:table`, `name:table:restricted`.
fn labelled(left: &str) -> Result<(SourceName, Labels), Failure> {
    let mut parts = left.split(':');
    let name = SourceName::new(parts.next().unwrap_or_default()).map_err(|e| Failure::input(e.to_string()))?;
    let mut labels: Labels = (None, None);
    for text in parts {
        match (label(text), SOURCE_KINDS.iter().find(|(kind, _)| *kind == text)) {
            (Some(label), _) if labels.0.is_none() => labels.0 = Some(label),
            (None, Some((_, kind))) if labels.1.is_none() => labels.1 = Some(*kind),
            _ => {
                return Err(Failure::input(format!(
                    "source {name}: there is no label {text:?}; labels are {LABELS}; kinds are table, files, logs"
                )));
            }
        }
    }
    Ok((name, labels))
}

/// A Parquet file, or a folder that holds nothing else: rows with types, never text.
fn is_parquet(path: &Path) -> bool {
    let parquet = |path: &Path| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("parquet"));
    if path.is_file() {
        return parquet(path);
    }
    let Ok(entries) = std::fs::read_dir(path) else { return false };
    let mut files = entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_file()).peekable();
    files.peek().is_some() && files.all(|path| parquet(&path))
}

fn existing(path: &str) -> Result<PathBuf, Failure> {
    if let Some((scheme, _)) = path.split_once("://") {
        return Err(Failure::input(format!("source {path:?}: {scheme} addresses are not in this build"))
            .with_hint("save it to a folder and name the folder"));
    }
    if path.is_empty() {
        return Err(Failure::input("a source without a path").with_hint("write --source docs=./docs"));
    }
    let found = PathBuf::from(path);
    match std::fs::metadata(&found) {
        Ok(_) => Ok(found),
        Err(error) => Err(Failure::input(format!("source {path:?}: {error}"))),
    }
}

fn named(spec: Spec, taken: &mut BTreeSet<SourceName>, configured: &BTreeMap<SourceName, SourceConfig>) -> Result<Named, Failure> {
    let Spec { name, label, kind, path } = spec;
    match (name, path) {
        (Some(name), None) => Ok(Named::Configured(name)),
        (Some(name), Some(path)) => Ok(Named::Path { name, label, kind, path }),
        (None, Some(path)) => {
            let base = base_name(&path);
            // The configured source of this name and place is meant; at another place, it is another source.
            let own = configured.iter().find(|(name, known)| name.as_str() == base && same_place(&path, &known.path));
            if let Some((name, _)) = own.filter(|(name, _)| taken.insert((*name).clone())) {
                return Ok(Named::Configured(name.clone()));
            }
            let name = free_name(&base, &taken.iter().chain(configured.keys()).cloned().collect())?;
            taken.insert(name.clone());
            Ok(Named::Path { name, label, kind, path })
        }
        (None, None) => Err(Failure::internal("a source has neither name nor path")),
    }
}

/// The last component that names something: `.` is the working directory's name.
fn base_name(path: &Path) -> String {
    let own = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let full = || path.canonicalize().ok().and_then(|full| full.file_name().map(|name| name.to_string_lossy().into_owned()));
    let name = own.or_else(full).unwrap_or_else(|| "root".to_owned());
    let safe: String = name.chars().map(|c| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' }).take(64).collect();
    match safe.trim_matches('-') {
        "" | "." | ".." => "source".to_owned(),
        safe => safe.to_owned(),
    }
}

/// `docs`, else `docs-2`, `docs-3`, …
fn free_name(base: &str, taken: &BTreeSet<SourceName>) -> Result<SourceName, Failure> {
    let mut text = base.chars().take(32).collect::<String>();
    if text.is_empty() {
        text = "source".to_owned();
    }
    for number in 1..=LINES_MAX + 1 {
        let candidate = if number == 1 { text.clone() } else { format!("{text}-{number}") };
        let name = SourceName::new(candidate).map_err(|e| Failure::input(e.to_string()))?;
        if !taken.contains(&name) {
            return Ok(name);
        }
    }
    Err(Failure::input(format!("more than {LINES_MAX} sources are named {text}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(typed: &[&str], configured: &[&str]) -> Result<Vec<String>, String> {
        let typed: Vec<String> = typed.iter().map(|text| (*text).to_owned()).collect();
        let at = |name: &str| (SourceName::new(name).expect("name"), SourceConfig::at(name));
        let sources = configured.iter().map(|name| at(name)).collect();
        let configured = Configured { sources: &sources, place: "ctxrt.yaml" };
        let found = resolve(&typed, configured).map_err(|failure| format!("{failure:?}"))?;
        Ok(found.iter().map(|source| source.name().to_string()).collect())
    }

    #[test]
    fn names_come_from_the_base_name_and_never_collide() {
        let folder = tempfile::tempdir().expect("folder");
        let at = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(&path).expect("folder");
            path.display().to_string()
        };
        let (one, two, odd) = (at("a/docs"), at("b/docs"), at("c/my docs (old)"));
        let typed = [one.as_str(), two.as_str(), odd.as_str()];
        assert_eq!(names(&typed, &[]).expect("valid"), ["docs", "docs-2", "my-docs--old"]);
        let named = format!("docs={one}");
        assert_eq!(names(&[two.as_str(), named.as_str()], &[]).expect("valid"), ["docs-2", "docs"]);
        assert!(names(&[named.as_str(), named.as_str()], &[]).is_err());
    }

    #[test]
    fn labels_carriage_returns_and_configured_names() {
        let none = Configured { sources: &BTreeMap::new(), place: "ctxrt.yaml" };
        let parsed = resolve(&["payroll:restricted=.\r".to_owned()], none).expect("valid");
        assert_eq!(
            parsed[0],
            Named::Path {
                name: SourceName::new("payroll").expect("name"),
                label: Some(Sensitivity::Restricted),
                kind: None,
                path: ".".into()
            }
        );
        assert_eq!(names(&["docs"], &["docs"]).expect("valid"), ["docs"]);
        assert!(names(&["payroll:secret=."], &[]).expect_err("no such label").contains("restricted"));
    }

    #[test]
    fn a_configured_source_keeps_what_is_configured() {
        let folder = tempfile::tempdir().expect("folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["payroll", "other/payroll"] {
            std::fs::create_dir_all(path(name)).expect("folder");
        }
        let known = SourceConfig { sensitivity: Sensitivity::Restricted, ..SourceConfig::at(path("payroll")) };
        let sources = BTreeMap::from([(SourceName::new("payroll").expect("name"), known)]);
        let given = |text: &str| resolve(&[text.to_owned()], Configured { sources: &sources, place: "ctxrt.yaml" });
        let (here, there) = (path("payroll").display().to_string(), path("other/payroll").display().to_string());
        for same in [format!("payroll={here}"), format!("payroll:restricted={here}"), here.clone()] {
            let found = given(&same).unwrap_or_else(|failure| panic!("{same}: {failure:?}"));
            assert_eq!(found, [Named::Configured(SourceName::new("payroll").expect("name"))], "{same}");
        }
        for other in [format!("payroll:public={here}"), format!("payroll={there}"), format!("payroll:table={here}")] {
            let refused = given(&other).map(drop).map_err(|failure| format!("{failure:?}"));
            assert!(
                refused.as_ref().is_err_and(|text| text.contains("there is a source of this name in ctxrt.yaml")),
                "{other}: {refused:?}"
            );
        }
        let found = given(&there).unwrap_or_else(|failure| panic!("{failure:?}"));
        assert_eq!(found[0].name().as_str(), "payroll-2");
    }

    #[test]
    fn what_is_no_path_is_refused_by_name() {
        for bad in ["", "docs=", "https://example.org", "web=file:///etc/passwd", "../x=..", "no-such-folder", "a b=."] {
            assert!(names(&[bad], &[]).is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn a_list_with_crlf_holds_paths_without_cr() {
        let file = tempfile::NamedTempFile::new().expect("file");
        std::fs::write(file.path(), "\u{feff}./docs\r\n\r\n# comment\r\n./logs\r\n").expect("written");
        assert_eq!(listed(file.path()).expect("read"), ["./docs", "./logs"]);
    }
}
