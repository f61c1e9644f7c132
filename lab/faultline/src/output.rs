//! Standard output, files and signals: output is written completely, or the command fails.

use crate::failure::Failure;
use faultline_experiment::whole_file;
use faultline_report::Style;
use faultline_targets::StopFlag;
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
            "redirect it elsewhere; everything measured is saved",
        ),
    })
}

/// Writes a file completely, or leaves it unchanged. Fails if it cannot be written.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    Ok(whole_file::write(path, text)?)
}

/// Fails if a file cannot be written, before measuring; `-` is standard output.
pub(crate) fn check_file(path: &Path) -> Result<(), Failure> {
    if path == Path::new("-") { Ok(()) } else { Ok(whole_file::check(path)?) }
}

/// The capabilities of standard output.
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

/// True if the locale is UTF-8, by the order of precedence of the variables.
fn unicode_locale() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let locale = names.iter().filter_map(|name| std::env::var(name).ok()).find(|value| !value.is_empty());
    locale.is_some_and(|value| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}

/// A flag that Ctrl-C and other termination signals set. Call it once. Fails if the handler cannot
/// be installed.
pub(crate) fn stop_flag() -> Result<StopFlag, Failure> {
    let stop = StopFlag::default();
    let flag = stop.clone();
    ctrlc::set_handler(move || flag.set())
        .map_err(|error| Failure::new(format!("cannot handle signals: {error}"), "check the system's limits"))?;
    Ok(stop)
}
