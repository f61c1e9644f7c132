//! Files that are written whole, or not at all.

use crate::error::Error;
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Writes a file whole: it appears with all of its content, or an older one stays as it was. A symbolic link stays one, and
/// what is no regular file (a device, a pipe) is written to and never replaced.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    try_write(path, text).map_err(|error| {
        Error::failed(
            format!("cannot write {}: {error}", path.display()),
            "name a file in a place with room that can be written",
        )
    })
}

fn try_write(path: &Path, text: &str) -> std::io::Result<()> {
    if path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return std::fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes());
    }
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // As any new file: what the umask leaves of reading and writing by all. One that is there keeps its mode.
    let any_new_file = Permissions::from_mode(0o666);
    let mut file = tempfile::Builder::new().prefix(".faultline-").permissions(any_new_file).tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    if let Ok(there) = path.metadata() {
        file.as_file().set_permissions(there.permissions())?;
    }
    file.persist(&path)?;
    Ok(())
}
