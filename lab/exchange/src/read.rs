//! Recognises a format and reads it.

use crate::error::ReadError;
use crate::files::Files;
use crate::format::Format;
use crate::formats::*;
use crate::json;
use crate::text::quoted;
use crate::validity;
use faultline_model::dataset::{Dataset, ReportedChange};

/// The format that these files seem to be in, by their names and how they begin.
pub fn sniff(files: &Files) -> Option<Format> {
    match files.opening() {
        Some(bytes) => sniff_file(files, bytes),
        None => [Format::Criterion, Format::Asv, Format::WillItScale].into_iter().find(|format| match format {
            Format::Criterion => criterion::fits(files),
            Format::Asv => asv::fits(files),
            _ => will_it_scale::fits(files),
        }),
    }
}

fn sniff_file(files: &Files, bytes: &[u8]) -> Option<Format> {
    /// As far as a file is looked into.
    const PEEK: usize = 1 << 16;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let peek = String::from_utf8_lossy(&bytes[..bytes.len().min(PEEK)]);
    if criterion::fits(files) {
        return Some(Format::Criterion);
    }
    if peek.trim_start().starts_with(['{', '[']) {
        return sniff_json(&peek);
    }
    match &*peek {
        text if will_it_scale::begins(text) => Some(Format::WillItScale),
        text if openbsd_data::begins(text) => Some(Format::OpenbsdData),
        text if otava_csv::begins(text) => Some(Format::OtavaCsv),
        text if openbsd_result::begins(text) => Some(Format::OpenbsdResult),
        text if go_bench::begins(text) => Some(Format::GoBench),
        _ => None,
    }
}

/// By the names that the formats have in fixed places, then by the brackets with which they open.
fn sniff_json(peek: &str) -> Option<Format> {
    let has = |name: &str| peek.contains(&format!("\"{name}\""));
    if has(Dataset::FORMAT) {
        return Some(Format::Faultline);
    }
    if has("result_columns") {
        return Some(Format::Asv);
    }
    if has("results") && has("command") {
        return Some(Format::Hyperfine);
    }
    if has("forward_change_percent") {
        return Some(Format::OtavaJson);
    }
    match json::after_first_name(peek)?.as_bytes().first()? {
        b'{' if has("value") => Some(Format::Bencher),
        b'[' => Some(Format::Lkp),
        _ => None,
    }
}

/// Reads files in the format that is named, or else in the one that they seem to be in.
pub fn read(files: &Files, format: Option<Format>) -> Result<Dataset, ReadError> {
    let format = recognise(files, format)?;
    let dataset = match format {
        Format::WillItScale => will_it_scale::read(files),
        Format::OpenbsdResult => openbsd_result::read(files.only(format)?),
        Format::OpenbsdData => openbsd_data::read(files.only(format)?),
        Format::Asv => asv::read(files),
        Format::OtavaCsv => otava_csv::read(files.only(format)?),
        Format::OtavaJson => Err(ReadError::Changes { given: files.given().to_owned() }),
        Format::Bencher => bencher::read(files.only(format)?),
        Format::Hyperfine => hyperfine::read(files.only(format)?),
        Format::GoBench => go_bench::read(files.only(format)?),
        Format::Criterion => criterion::read(files),
        Format::Lkp => lkp::read(files.only(format)?),
        Format::Faultline => faultline::read(files.only(format)?),
    }?;
    match validity::fault(&dataset) {
        Some(fault) => Err(ReadError::new(files.given(), None, fault, format!("finite values of {format}, each once"))),
        None => Ok(dataset),
    }
}

/// Reads a report of changes.
pub fn read_changes(files: &Files) -> Result<Vec<ReportedChange>, ReadError> {
    check_size(files)?;
    otava_json::read(files.only(Format::OtavaJson)?)
}

fn recognise(files: &Files, format: Option<Format>) -> Result<Format, ReadError> {
    check_size(files)?;
    format.or_else(|| sniff(files)).ok_or_else(|| ReadError::Unrecognised {
        given: files.given().to_owned(),
        found: match files.opening() {
            Some(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => "nothing".to_owned(),
            Some(bytes) => {
                format!("it begins with {}", quoted(String::from_utf8_lossy(&bytes[..bytes.len().min(400)]).trim()))
            }
            None => format!("a directory of {} files", files.paths().count()),
        },
    })
}

fn check_size(files: &Files) -> Result<(), ReadError> {
    let (bytes, limit) = (files.bytes(), Files::LIMIT_BYTES);
    if bytes > limit {
        return Err(ReadError::TooLarge { given: files.given().to_owned(), bytes, limit });
    }
    Ok(())
}
