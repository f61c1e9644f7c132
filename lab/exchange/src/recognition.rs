//! Recognition of a format by file names and the beginning of the file.

use crate::files::Files;
use crate::json;
use std::borrow::Cow;

/// Match quality of files for a format, in ascending order. The best match wins; among equal
/// matches, the format that can read the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FormatMatch {
    /// A table with a header, of no particular tool.
    Table,
    /// The form of lines, or brackets and names that other formats may have too.
    Shape,
    /// A header or name in the place that the format prescribes.
    Mark,
    /// Directories and files in the tool's layout.
    Layout,
}

impl FormatMatch {
    /// This match if `found`.
    pub(crate) fn when(self, found: bool) -> Option<Self> {
        found.then_some(self)
    }
}

/// The part of the files that recognition looks at.
pub(crate) struct Glance<'a> {
    /// All files.
    pub(crate) files: &'a Files,
    opening: Option<Cow<'a, str>>,
}

impl<'a> Glance<'a> {
    /// Looks at file names and at the beginning of the only file.
    pub(crate) fn at(files: &'a Files) -> Self {
        /// Bytes of the file to look at.
        const PEEK: usize = 1 << 16;
        let opening = files.opening().map(|bytes| {
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            String::from_utf8_lossy(&bytes[..bytes.len().min(PEEK)])
        });
        Glance { files, opening }
    }

    /// True for several files or none.
    pub(crate) fn is_many(&self) -> bool {
        self.opening.is_none()
    }

    /// True if the only file is not JSON and `begins` accepts its text.
    pub(crate) fn text_begins(&self, begins: fn(&str) -> bool) -> bool {
        self.opening.as_deref().is_some_and(|text| !is_json(text) && begins(text))
    }

    /// True if `kind` accepts a line at the beginning of the only file.
    pub(crate) fn has_line(&self, kind: fn(&str) -> bool) -> bool {
        self.opening.as_deref().is_some_and(|text| text.lines().any(kind))
    }

    /// True if the only file is JSON and contains all these names.
    pub(crate) fn json_has(&self, names: &[&str]) -> bool {
        self.json().is_some_and(|text| names.iter().all(|name| text.contains(&format!("\"{name}\""))))
    }

    /// True if the only file is a JSON array.
    pub(crate) fn is_json_list(&self) -> bool {
        self.json().is_some_and(|text| text.trim_start().starts_with('['))
    }

    /// The first byte of the first member's value, if the only file is JSON.
    pub(crate) fn first_of_json(&self) -> Option<u8> {
        json::after_first_name(self.json()?)?.as_bytes().first().copied()
    }

    fn json(&self) -> Option<&str> {
        self.opening.as_deref().filter(|text| is_json(text))
    }
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_beats_a_mark_and_a_mark_beats_a_shape() {
        assert!(FormatMatch::Layout > FormatMatch::Mark && FormatMatch::Mark > FormatMatch::Shape);
        assert!(FormatMatch::Shape > FormatMatch::Table);
        assert_eq!(FormatMatch::Shape.when(false), None);
    }

    #[test]
    fn json_and_other_text_are_distinguished() {
        let json = Files::one("a", b"\xef\xbb\xbf {\"a\": [1]}".to_vec());
        let glance = Glance::at(&json);
        assert!(glance.json_has(&["a"]) && !glance.json_has(&["a", "b"]) && !glance.text_begins(|_| true));
        assert_eq!(glance.first_of_json(), Some(b'['));
        let text = Files::one("a", b"a,b".to_vec());
        assert!(Glance::at(&text).text_begins(|text| text == "a,b") && !Glance::at(&text).json_has(&[]));
        assert!(Glance::at(&Files::directory("a", [])).is_many());
    }
}
