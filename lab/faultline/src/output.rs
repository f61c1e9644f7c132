//! Standard output and files: output is written completely, or the command reports that it was not.

use crate::failure::Failure;
use faultline_experiment::whole_file;
use faultline_report::Style;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

/// Writes to standard output. Fails if it cannot be written.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::reader_gone(),
        _ => Failure::new(
            format!("cannot write to standard output: {error}"),
            "redirect it to a place that can be written; everything measured is saved",
        ),
    })
}

/// Writes a file completely, or leaves it unchanged. Fails if it cannot be written.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    Ok(whole_file::write(path, text)?)
}

/// Fails if a file could not be written, before there is anything to write; `-` is standard output.
pub(crate) fn check_file(path: &Path) -> Result<(), Failure> {
    if path == Path::new("-") { Ok(()) } else { Ok(whole_file::check(path)?) }
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

/// Whether the locale is UTF-8, by the variables' order of precedence.
fn unicode_locale() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let locale = names.iter().filter_map(|name| std::env::var(name).ok()).find(|value| !value.is_empty());
    locale.is_some_and(|value| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}
