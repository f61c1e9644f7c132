//! The literature's figures in the four formats.

use super::markdown::markdown;
use super::records::records;
use super::select::{UnknownName, select};
use super::text::text;
use faultline_report::Format;
use faultline_report::Style;
use faultline_report::json::json;

/// The literature's figures, before and after, with improvements recomputed from the raw values; `name` narrows them to the sources and tests
/// that contain it. The table shows rates, real and system times; the other formats every metric.
pub fn published(name: Option<&str>, format: Format, style: &Style) -> Result<String, UnknownName> {
    let selection = select(name)?;
    Ok(match format {
        Format::Table => text(&selection, style),
        Format::Json => json(&selection),
        Format::Csv => records(&selection),
        Format::Markdown => markdown(&selection),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_narrows_what_is_shown() {
        let shown = published(Some("zero_fill"), Format::Csv, &Style::PLAIN).unwrap();
        assert!(shown.lines().skip(1).all(|line| line.contains("zero-fill")), "{shown}");
        assert!(shown.lines().count() > 10, "{shown}");
        let source = published(Some("openbsd-2019"), Format::Csv, &Style::PLAIN).unwrap();
        assert_eq!(source.lines().count(), 5, "{source}");
    }

    #[test]
    fn an_unknown_name_lists_what_there_is() {
        let error = published(Some("quicksort"), Format::Table, &Style::PLAIN).unwrap_err();
        assert!(error.to_string().contains("dragonfly-2011-vm-token"), "{error}");
        assert!(error.to_string().contains("zero-fill"), "{error}");
    }

    #[test]
    fn lines_fit_where_they_can() {
        let style = Style { width: Some(120), colour: false, unicode: false };
        let shown = published(None, Format::Table, &style).unwrap();
        assert!(shown.is_ascii());
        for line in shown.lines() {
            assert!(line.len() <= 120, "{}: {line}", line.len());
        }
    }
}
