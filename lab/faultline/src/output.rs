//! Standard output and files: what is to be written is written whole, or the command says that it was not.

use crate::failure::Failure;
use faultline_report::Style;
use std::fs::Permissions;
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Writes to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::reader_gone(),
        _ => Failure::new(
            format!("cannot write to standard output: {error}"),
            "give it somewhere to go; what was measured is saved in any case",
        ),
    })
}

/// Writes a file whole: it appears with all of its content, or an older one stays as it was. A symbolic link stays one, and
/// what is no regular file (a device, a pipe) is written to and never replaced.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    let write = || -> std::io::Result<()> {
        if path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            return std::fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes());
        }
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // As any new file: what the umask leaves of reading and writing by all. One that is there keeps its mode.
        let any_new_file = Permissions::from_mode(0o666);
        let mut file =
            tempfile::Builder::new().prefix(".faultline-").permissions(any_new_file).tempfile_in(directory)?;
        file.write_all(text.as_bytes())?;
        if let Ok(there) = path.metadata() {
            file.as_file().set_permissions(there.permissions())?;
        }
        file.persist(&path)?;
        Ok(())
    };
    write().map_err(|error| {
        Failure::new(
            format!("cannot write {}: {error}", path.display()),
            "name a file in a place with room that can be written",
        )
    })
}

/// What standard output can show.
pub(crate) fn style() -> Style {
    if !std::io::stdout().is_terminal() {
        return Style::PLAIN;
    }
    Style {
        width: terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)),
        colour: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
        unicode: unicode_locale(),
    }
}

/// Whether the locale says UTF-8, by the variables' order of precedence.
fn unicode_locale() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let locale = names.iter().filter_map(|name| std::env::var(name).ok()).find(|value| !value.is_empty());
    locale.is_some_and(|value| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}
