//! Token ids of passages, parked on disk until the weights are known: vectors need document frequencies of the whole
//! source, which are known when the last file has been read.

use crate::error::EmbeddedError;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Appends lists of ids.
pub(crate) struct SpoolWriter {
    path: PathBuf,
    file: BufWriter<File>,
    buffer: Vec<u8>,
}

impl SpoolWriter {
    pub(crate) fn create(path: &Path) -> Result<SpoolWriter, EmbeddedError> {
        let file = File::create(path).map_err(EmbeddedError::io("creating", path))?;
        Ok(SpoolWriter { path: path.to_owned(), file: BufWriter::with_capacity(1 << 18, file), buffer: Vec::new() })
    }

    pub(crate) fn push(&mut self, ids: &[u32]) -> Result<(), EmbeddedError> {
        self.buffer.clear();
        put(&mut self.buffer, ids.len() as u32);
        for id in ids {
            put(&mut self.buffer, *id);
        }
        self.file.write_all(&self.buffer).map_err(EmbeddedError::io("writing", &self.path))
    }

    pub(crate) fn finish(mut self) -> Result<(), EmbeddedError> {
        self.file.flush().map_err(EmbeddedError::io("writing", &self.path))
    }
}

/// Calls `each` with every list in order.
pub(crate) fn for_each(path: &Path, mut each: impl FnMut(&[u32]) -> Result<(), EmbeddedError>) -> Result<(), EmbeddedError> {
    let file = File::open(path).map_err(EmbeddedError::io("opening", path))?;
    let mut reader = BufReader::with_capacity(1 << 18, file);
    let mut ids = Vec::new();
    loop {
        let Some(count) = take(&mut reader).map_err(EmbeddedError::io("reading", path))? else { return Ok(()) };
        ids.clear();
        for _ in 0..count {
            let id = take(&mut reader).map_err(EmbeddedError::io("reading", path))?;
            ids.push(id.ok_or_else(|| EmbeddedError::Damaged { path: path.to_owned(), problem: "it is cut short".into() })?);
        }
        each(&ids)?;
    }
}

fn put(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// The next number; `None` at the end.
fn take(reader: &mut impl Read) -> std::io::Result<Option<u32>> {
    let mut value = 0_u32;
    let mut shift = 0;
    loop {
        let mut byte = [0];
        if reader.read(&mut byte)? == 0 {
            return Ok(None);
        }
        value |= u32::from(byte[0] & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte[0] & 0x80 == 0 {
            return Ok(Some(value));
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spool");
        let lists: Vec<Vec<u32>> = vec![vec![], vec![0, 127, 128, 30_521], vec![u32::MAX], (0..5000).collect()];
        let mut writer = SpoolWriter::create(&path).unwrap();
        lists.iter().for_each(|list| writer.push(list).unwrap());
        writer.finish().unwrap();
        let mut read = Vec::new();
        for_each(&path, |ids| {
            read.push(ids.to_vec());
            Ok(())
        })
        .unwrap();
        assert_eq!(read, lists);
    }
}
