// SPDX-License-Identifier: GPL-2.0-or-later
//! The report's file: either complete or absent. It is written next to its final name and then renamed.

use serde_json::Value;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Whether a file can be created there. Leaves none behind.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    NamedTempFile::new_in(directory(path)).map(drop)
}

/// Writes the report. Replaces an existing file with that name.
pub(crate) fn write(path: &Path, report: &Value) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(directory(path))?;
    let mut writer = BufWriter::new(&mut file);
    serde_json::to_writer(&mut writer, report)?;
    writer.write_all(b"\n")?;
    writer.flush()?;
    drop(writer);
    file.persist(path)?;
    Ok(())
}

fn directory(path: &Path) -> PathBuf {
    path.parent().unwrap_or(path).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_replaces_the_old_one_and_leaves_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("report.json");
        check(&path).unwrap();
        assert!(!path.exists());
        write(&path, &serde_json::json!({"a": 1})).unwrap();
        write(&path, &serde_json::json!({"a": 2})).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"a\":2}\n");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
        assert_eq!(check(place.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(check(&place.path().join("no/r.json")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
