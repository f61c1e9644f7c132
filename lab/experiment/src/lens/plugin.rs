//! The lens's plugin, as a file: checked before anything boots.

use super::saved_file::found_again;
use crate::error::Error;
use crate::places::Places;
use faultline_model::lens::settings::SavedFile;
use faultline_model::record::RunId;
use std::path::{Path, PathBuf};

/// The function through which QEMU loads a plugin, in its symbol table.
const ENTRY: &[u8] = b"qemu_plugin_install\0";

/// The name of the interface between the plugin and this program, in the plugin's symbol table. It has the same number in `lens/plugin/src/qemu.rs`.
const INTERFACE: &[u8] = b"faultline_lens_interface_2\0";

/// The plugin's file. Fails if it does not exist, is not a plugin, or was built for another version of Faultline.
pub(super) fn find(places: &Places) -> Result<PathBuf, Error> {
    let file = places.plugin.as_ref().ok_or_else(|| {
        Error::usage("the lens's plugin is not beside the command", "`make lens` builds it; `--plugin FILE` names it")
    })?;
    if !file.is_file() {
        return Err(Error::usage(
            format!("there is no plugin {}", file.display()),
            "`make lens` builds it; `--plugin FILE` names it",
        ));
    }
    check(file, "`make lens` builds the right one; `--plugin FILE` names it")?;
    // The emulator may run in another directory, and a resumed run shows the same path.
    file.canonicalize()
        .map_err(|error| Error::failed(format!("cannot find {}: {error}", file.display()), "name it by its full path"))
}

/// The plugin of a resumed run. Fails if it is missing, has changed, or was built for another version of Faultline.
pub(super) fn find_again(saved: &SavedFile, run: RunId) -> Result<PathBuf, Error> {
    let file = found_again(saved, "the plugin", run)?;
    check(&file, "resume the run with the version of Faultline that began it, or start a new run")?;
    Ok(file)
}

/// Fails if the file is not a plugin, or if it was built for another version of Faultline: then all executions would fail, and these failures would be
/// final, or the guest would wait forever at the end of its region.
fn check(file: &Path, hint: &str) -> Result<(), Error> {
    let bytes = std::fs::read(file).unwrap_or_default();
    let has = |name| memchr::memmem::find(&bytes, name).is_some();
    match (has(ENTRY), has(INTERFACE)) {
        (true, true) => Ok(()),
        (true, false) => {
            Err(Error::usage(format!("{} was built for another version of Faultline", file.display()), hint))
        }
        (false, _) => Err(Error::usage(format!("{} is not a QEMU plugin", file.display()), hint)),
    }
}
