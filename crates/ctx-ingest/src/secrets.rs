//! Files that look like secrets: never indexed, even when no ignore rule names them.
//!
//! By name, or by a private-key header at the start of the content. A *document about* secrets is not a secret.

/// Names that are secrets as a whole, lower case.
const SECRET_NAMES: &[&str] = &[
    ".dockercfg",
    ".dockerconfigjson",
    ".git-credentials",
    ".htpasswd",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".vault-token",
    "_netrc",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "id_rsa",
    "kubeconfig",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "service-account.json",
    "service_account.json",
];

/// Extensions of key material, and of states that hold what was deployed in plain, lower case.
const SECRET_EXTENSIONS: &[&str] = &["jks", "kdbx", "key", "keystore", "p12", "pem", "pfx", "ppk", "tfstate"];

/// Suffixes of `.env` files that hold placeholders and are documentation.
const ENV_TEMPLATES: &[&str] = &[".example", ".sample", ".template", ".dist"];

/// Whether the file's name says that it holds secrets.
pub fn is_secret_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    if name == ".env" || name.starts_with(".env.") || name == ".envrc" {
        return !ENV_TEMPLATES.iter().any(|suffix| name.ends_with(suffix));
    }
    if name.ends_with(".env") || SECRET_NAMES.binary_search(&name.as_str()).is_ok() {
        return true;
    }
    name.rsplit_once('.').is_some_and(|(_, e)| SECRET_EXTENSIONS.binary_search(&e).is_ok())
}

/// Whether the content starts with a private key in PEM or PuTTY form (after blanks and a byte-order mark).
pub fn is_secret_content(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let line = &head[..head.iter().position(|b| *b == b'\n').unwrap_or(head.len()).min(128)];
    line.starts_with(b"PuTTY-User-Key-File-") || (line.starts_with(b"-----BEGIN ") && line.windows(11).any(|w| w == b"PRIVATE KEY"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_name() {
        for name in [
            ".env",
            ".env.local",
            "app/prod.env",
            "x/id_rsa",
            "tls/server.PEM",
            ".npmrc",
            "terraform.tfstate",
            "a/.dockerconfigjson",
            "home/.aws/credentials",
        ] {
            assert!(is_secret_name(name), "{name} was not refused");
        }
        for name in [".env.example", "docs/credentials.md", "id_rsa.pub", "keys.md", "environment.txt", ".gitignore"] {
            assert!(!is_secret_name(name), "{name} was refused");
        }
        assert!(SECRET_NAMES.is_sorted() && SECRET_EXTENSIONS.is_sorted());
    }

    #[test]
    fn private_keys_are_known_by_their_first_line() {
        assert!(is_secret_content(b"\n-----BEGIN OPENSSH PRIVATE KEY-----\nx"));
        assert!(is_secret_content(b"\xef\xbb\xbf-----BEGIN PRIVATE KEY-----\r\n"));
        assert!(!is_secret_content(b"-----BEGIN CERTIFICATE-----\n"));
        assert!(!is_secret_content(b"A key starts with -----BEGIN PRIVATE KEY-----\n"));
    }
}
