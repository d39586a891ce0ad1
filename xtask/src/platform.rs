//! Which DuckDB library belongs to which platform. The table is tied to the version of the `duckdb` crate.

/// Version of the `duckdb` crate that the table below was made for; it encodes DuckDB 1.5.6.
pub(crate) const CRATE_VERSION: &str = "1.10506.1";
/// Version of the npm packages that carry the same DuckDB.
pub(crate) const NPM_VERSION: &str = "1.5.6-r.1";

/// One platform's library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Library {
    /// As `std::env::consts::OS`.
    pub(crate) os: &'static str,
    /// As `std::env::consts::ARCH`.
    pub(crate) arch: &'static str,
    /// npm package.
    pub(crate) package: &'static str,
    /// File in the package and in `third_party/libduckdb`.
    pub(crate) file: &'static str,
    /// SHA-256 of the file.
    pub(crate) sha256: &'static str,
}

/// Platforms with a prebuilt library that can be linked. Windows is missing: its package has no import library.
pub(crate) const LIBRARIES: [Library; 4] = [
    Library {
        os: "linux",
        arch: "x86_64",
        package: "@duckdb/node-bindings-linux-x64",
        file: "libduckdb.so",
        sha256: "3f4962cdd266eab2b479a5b5a4a6d063d279b2954ae814ed00385d553b747633",
    },
    Library {
        os: "linux",
        arch: "aarch64",
        package: "@duckdb/node-bindings-linux-arm64",
        file: "libduckdb.so",
        sha256: "23686593dba4ec22c6e581bb1c843b3964e84c4bc4d0063d8b4daddd2e20e30a",
    },
    Library {
        os: "macos",
        arch: "aarch64",
        package: "@duckdb/node-bindings-darwin-arm64",
        file: "libduckdb.dylib",
        sha256: "75a519cb914ae36ca22cff0995a8a2e8c9a46990b8c0a479514f741a0d93f344",
    },
    Library {
        os: "macos",
        arch: "x86_64",
        package: "@duckdb/node-bindings-darwin-x64",
        file: "libduckdb.dylib",
        sha256: "75a519cb914ae36ca22cff0995a8a2e8c9a46990b8c0a479514f741a0d93f344",
    },
];

/// The library of this platform. The Linux ones need glibc.
pub(crate) fn library_for(os: &str, arch: &str, musl: bool) -> Option<Library> {
    LIBRARIES.into_iter().find(|library| library.os == os && library.arch == arch && !musl)
}

/// The version of `package` in a Cargo.lock.
pub(crate) fn locked_version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    lines.nth(1)?.strip_prefix("version = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_belongs_to_the_locked_crate() {
        let lock = std::fs::read_to_string(crate::workspace::root().join("Cargo.lock")).unwrap();
        assert_eq!(locked_version(&lock, "duckdb"), Some(CRATE_VERSION), "make the table of libraries anew");
        assert_eq!(locked_version(&lock, "no-such-package"), None);
    }

    #[test]
    fn platforms_are_told_apart() {
        assert_eq!(library_for("linux", "x86_64", false).unwrap().package, "@duckdb/node-bindings-linux-x64");
        assert_eq!(library_for("linux", "x86_64", true), None);
        assert_eq!(library_for("windows", "x86_64", false), None);
    }
}
