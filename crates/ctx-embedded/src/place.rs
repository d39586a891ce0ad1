//! Where a source's content was read from, kept beside the content. A name whose path leads elsewhere now is another source:
//! what was indexed before is not served for it. A path that is briefly gone stays the same place.

use crate::error::EmbeddedError;
use ctx_store::SourceState;
use ctx_types::SourceName;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Key of the place among a source's notes.
const PLACE_NOTE: &str = "place";

/// A path as configured and as the system resolved it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Absolute, as configured.
    configured: PathBuf,
    /// Links followed.
    real: PathBuf,
}

impl Place {
    /// The place that a path leads to now.
    pub(crate) fn of(path: &Path) -> Place {
        let configured = absolute(path);
        let real = path.canonicalize().unwrap_or_else(|_| configured.clone());
        Place { configured, real }
    }

    /// The place that a published source was read from. Older generations know the folder only.
    fn published(state: &SourceState) -> Option<Place> {
        serde_json::from_str(state.notes.get(PLACE_NOTE)?).ok()
    }

    /// The note that keeps it.
    pub(crate) fn note(&self) -> Option<(String, String)> {
        Some((PLACE_NOTE.to_owned(), serde_json::to_string(self).ok()?))
    }

    /// Whether a path, configured now, is this place.
    pub(crate) fn is(&self, path: &Path) -> bool {
        absolute(path) == self.configured || path.canonicalize().is_ok_and(|real| real == self.real)
    }

    /// A failure that names both, unless they are one.
    pub(crate) fn check(&self, name: &SourceName, path: &Path) -> Result<(), EmbeddedError> {
        if self.is(path) { Ok(()) } else { Err(elsewhere(name, &self.configured, path)) }
    }
}

/// Whether a published source was read from this path.
pub(crate) fn is_published_from(state: &SourceState, path: &Path) -> bool {
    match Place::published(state) {
        Some(place) => place.is(path),
        None => is_below(Path::new(&state.root), path),
    }
}

/// A failure that names both, where a published source was read from another path.
pub(crate) fn check(state: &SourceState, name: &SourceName, path: &Path) -> Result<(), EmbeddedError> {
    match Place::published(state) {
        Some(place) => place.check(name, path),
        None if is_below(Path::new(&state.root), path) => Ok(()),
        None => Err(elsewhere(name, Path::new(&state.root), path)),
    }
}

/// Whether a path is this folder or a file directly in it.
fn is_below(root: &Path, path: &Path) -> bool {
    let path = path.canonicalize().unwrap_or_else(|_| absolute(path));
    path == root || path.parent() == Some(root)
}

fn elsewhere(name: &SourceName, indexed: &Path, path: &Path) -> EmbeddedError {
    EmbeddedError::Elsewhere { name: name.to_string(), indexed: indexed.to_owned(), configured: absolute(path) }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_gone_is_the_same_place_and_another_is_not() {
        let folder = tempfile::tempdir().expect("folder");
        let (docs, other) = (folder.path().join("docs"), folder.path().join("dosc"));
        std::fs::create_dir(&docs).expect("made");
        let place = Place::of(&docs);
        assert!(place.is(&docs) && place.is(&folder.path().join("docs/../docs")) && !place.is(&other));
        std::fs::remove_dir(&docs).expect("removed");
        assert!(place.is(&docs));
        let name = SourceName::new("docs").expect("name");
        let error = place.check(&name, &other).expect_err("elsewhere").to_string();
        assert!(error.contains(&docs.display().to_string()) && error.contains(&other.display().to_string()), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_the_same_folder_is_the_same_place() {
        let folder = tempfile::tempdir().expect("folder");
        let (docs, link) = (folder.path().join("docs"), folder.path().join("link"));
        std::fs::create_dir(&docs).expect("made");
        std::os::unix::fs::symlink(&docs, &link).expect("linked");
        assert!(Place::of(&docs).is(&link));
    }
}
