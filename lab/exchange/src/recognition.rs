//! What a format is recognised by: the names of files, and how the only file begins.

use crate::files::Files;
use crate::json;
use std::borrow::Cow;

/// What speaks for a format, from least to most. The format with most is taken; among equals, the one in which the files can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Evidence {
    /// The look of lines, or brackets and names as others may have them too.
    Shape,
    /// A header or name that the format has in a fixed place.
    Mark,
    /// Directories and files laid out as by the tool.
    Layout,
}

impl Evidence {
    /// This evidence where `found`.
    pub(crate) fn when(self, found: bool) -> Option<Self> {
        found.then_some(self)
    }
}

/// Files as far as they are looked at to recognise their format.
pub(crate) struct Glance<'a> {
    /// All of them.
    pub(crate) files: &'a Files,
    opening: Option<Cow<'a, str>>,
}

impl<'a> Glance<'a> {
    /// A look at the names of files and the beginning of the only one.
    pub(crate) fn at(files: &'a Files) -> Self {
        /// As far as a file is looked into.
        const PEEK: usize = 1 << 16;
        let opening = files.opening().map(|bytes| {
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            String::from_utf8_lossy(&bytes[..bytes.len().min(PEEK)])
        });
        Glance { files, opening }
    }

    /// Whether there are several files, or none.
    pub(crate) fn is_many(&self) -> bool {
        self.opening.is_none()
    }

    /// Whether the only file is text that isn't JSON, and begins so.
    pub(crate) fn text_begins(&self, begins: fn(&str) -> bool) -> bool {
        self.opening.as_deref().is_some_and(|text| !is_json(text) && begins(text))
    }

    /// Whether the only file has a line of this kind among those that are looked at.
    pub(crate) fn has_line(&self, kind: fn(&str) -> bool) -> bool {
        self.opening.as_deref().is_some_and(|text| text.lines().any(kind))
    }

    /// Whether the only file is JSON in which all these names stand.
    pub(crate) fn json_has(&self, names: &[&str]) -> bool {
        self.json().is_some_and(|text| names.iter().all(|name| text.contains(&format!("\"{name}\""))))
    }

    /// Whether the only file is a list in JSON.
    pub(crate) fn is_json_list(&self) -> bool {
        self.json().is_some_and(|text| text.trim_start().starts_with('['))
    }

    /// The bracket, or first letter, of the value of the first name in the only file, if that is JSON.
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
    fn a_layout_tells_more_than_a_mark_and_a_mark_more_than_a_shape() {
        assert!(Evidence::Layout > Evidence::Mark && Evidence::Mark > Evidence::Shape);
        assert_eq!(Evidence::Shape.when(false), None);
    }

    #[test]
    fn a_glance_parts_json_from_other_text() {
        let json = Files::one("a", b"\xef\xbb\xbf {\"a\": [1]}".to_vec());
        let glance = Glance::at(&json);
        assert!(glance.json_has(&["a"]) && !glance.json_has(&["a", "b"]) && !glance.text_begins(|_| true));
        assert_eq!(glance.first_of_json(), Some(b'['));
        let text = Files::one("a", b"a,b".to_vec());
        assert!(Glance::at(&text).text_begins(|text| text == "a,b") && !Glance::at(&text).json_has(&[]));
        assert!(Glance::at(&Files::directory("a", [])).is_many());
    }
}
