//! Getting the prebuilt DuckDB library into `third_party/libduckdb`, verified.

use crate::platform::{self, CRATE_VERSION, Library, NPM_VERSION};
use crate::workspace;
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to do where there is no library to fetch.
const BUNDLED: &str = "build with `--features bundled` instead: `cargo build -p ctx-cli --features bundled` compiles DuckDB from source (a C++ compiler and the better part of an hour)";

/// Makes sure that the right library stands in `third_party/libduckdb`; quick where it does.
pub(crate) fn fetch(given: Option<&Path>) -> Result<()> {
    let root = workspace::root();
    let lock = fs::read_to_string(root.join("Cargo.lock")).context("reading Cargo.lock")?;
    match platform::locked_version(&lock, "duckdb") {
        Some(CRATE_VERSION) => {}
        other => bail!("the table of libraries is for duckdb {CRATE_VERSION}, Cargo.lock has {other:?}: make xtask/src/platform.rs anew"),
    }
    let library = platform::library_for(std::env::consts::OS, std::env::consts::ARCH, cfg!(target_env = "musl"));
    fetch_into(&root.join("third_party/libduckdb"), library, given, &npm_pack)
}

/// `download` unpacks a library's package into a folder and returns the file in it.
fn fetch_into(
    folder: &Path,
    library: Option<Library>,
    given: Option<&Path>,
    download: &dyn Fn(Library, &Path) -> Result<PathBuf>,
) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let Some(library) = library else {
        let Some(path) = given else { bail!("there is no prebuilt DuckDB for this platform; {BUNDLED}") };
        eprintln!("no checksum is known for this platform: {} is taken as it is", path.display());
        let name = path.file_name().context("--libduckdb names a folder")?;
        return place(path, &folder.join(name));
    };
    let target = folder.join(library.file);
    if given.is_none() && target.is_file() && sha256(&target)? == library.sha256 {
        return Ok(());
    }
    let scratch = folder.join(format!("tmp-{}", std::process::id()));
    fs::create_dir_all(&scratch).with_context(|| format!("creating {}", scratch.display()))?;
    let result = given
        .map_or_else(|| download(library, &scratch), |path| Ok(path.to_owned()))
        .and_then(|path| verify(&path, library))
        .and_then(|path| place(&path, &target));
    let _ = fs::remove_dir_all(&scratch);
    result
}

fn verify(path: &Path, library: Library) -> Result<PathBuf> {
    let found = sha256(path)?;
    if found != library.sha256 {
        bail!(
            "{} is not the DuckDB of crate {CRATE_VERSION}: its SHA-256 is {found}, {} {NPM_VERSION} has {}",
            path.display(),
            library.package,
            library.sha256
        );
    }
    Ok(path.to_owned())
}

/// Copies aside and renames: a build never sees half a library.
fn place(from: &Path, target: &Path) -> Result<()> {
    let aside = target.with_extension(format!("tmp-{}", std::process::id()));
    fs::copy(from, &aside)
        .and_then(|_| fs::rename(&aside, target))
        .with_context(|| format!("copying {} to {}", from.display(), target.display()))?;
    eprintln!("DuckDB library: {}", target.display());
    Ok(())
}

fn sha256(path: &Path) -> Result<String> {
    let mut file = fs::File::open(path).with_context(|| format!("opening {}", path.display()))?;
    let mut hasher = Sha256::new();
    io::copy(&mut file, &mut HashWriter(&mut hasher)).with_context(|| format!("reading {}", path.display()))?;
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `npm pack` and `tar`: both are there wherever npm is.
fn npm_pack(library: Library, scratch: &Path) -> Result<PathBuf> {
    let package = format!("{}@{NPM_VERSION}", library.package);
    eprintln!("fetching {package} (about 24 MB) …");
    let without = format!(
        "get {} from the npm package {package} by other means and pass it with `cargo xtask fetch --libduckdb PATH`, or {BUNDLED}",
        library.file
    );
    let output = match Command::new("npm").args(["pack", "--silent", &package]).current_dir(scratch).output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("npm is not installed: {without}"),
        Err(error) => return Err(error).context("running npm"),
    };
    if !output.status.success() {
        bail!("npm pack {package} failed: {}; {without}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let archive = String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default().trim().to_owned();
    let inside = format!("package/{}", library.file);
    let status = Command::new("tar").args(["-xzf", &archive, &inside]).current_dir(scratch).status().context("running tar")?;
    if !status.success() {
        bail!("tar could not unpack {inside} from {archive}");
    }
    Ok(scratch.join(inside))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// SHA-256 of `duck`.
    const DUCK: Library = Library {
        os: "linux",
        arch: "x86_64",
        package: "p",
        file: "libduckdb.so",
        sha256: "2d2370db2447ff8cf4f3accd68c85aa119a9c893effd200a9b69176e9fc5eb98",
    };

    #[test]
    fn a_verified_library_is_placed_once_and_a_wrong_one_never() {
        let folder = folder("fetch");
        let downloads = Cell::new(0);
        let content = Cell::new("duck");
        let download = |_: Library, scratch: &Path| {
            downloads.set(downloads.get() + 1);
            let path = scratch.join("file");
            fs::write(&path, content.get()).unwrap();
            Ok(path)
        };
        content.set("goose");
        let error = fetch_into(&folder, Some(DUCK), None, &download).unwrap_err().to_string();
        assert!(error.contains(DUCK.sha256), "{error}");
        assert!(!folder.join(DUCK.file).exists());
        content.set("duck");
        fetch_into(&folder, Some(DUCK), None, &download).unwrap();
        fetch_into(&folder, Some(DUCK), None, &download).unwrap();
        assert_eq!(downloads.get(), 2, "a library that is there is not fetched again");
        fs::write(folder.join(DUCK.file), "damaged").unwrap();
        fetch_into(&folder, Some(DUCK), None, &download).unwrap();
        assert_eq!(fs::read_to_string(folder.join(DUCK.file)).unwrap(), "duck");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_platform_without_a_library_is_told_what_to_do() {
        let folder = folder("platform");
        let download = |_: Library, _: &Path| -> Result<PathBuf> { panic!("nothing to download") };
        let error = fetch_into(&folder, None, None, &download).unwrap_err().to_string();
        assert!(error.contains("--features bundled"), "{error}");
        let own = folder.join("own.so");
        fs::write(&own, "mine").unwrap();
        let third_party = folder.join("third_party");
        fetch_into(&third_party, None, Some(&own), &download).unwrap();
        assert!(third_party.join("own.so").is_file());
        assert!(fetch_into(&third_party, Some(DUCK), Some(&own), &download).is_err(), "a known platform has a checksum");
        fs::remove_dir_all(&folder).unwrap();
    }
}
