//! Texts with the character NUL in PostgreSQL, whose texts cannot hold it: SUB and a digit stand for it. SUB itself is written in the same way, so every text
//! reads back as it was saved. Neither occurs in JSON, which escapes control characters.

use std::borrow::Cow;

const NUL: char = '\0';
const SUB: char = '\u{1A}';

/// The text without NUL.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    if text.contains([NUL, SUB]) { text.replace(SUB, "\u{1A}1").replace(NUL, "\u{1A}0").into() } else { text.into() }
}

/// The text as it was before [`escaped`].
pub(super) fn unescaped(text: &str) -> Cow<'_, str> {
    if text.contains(SUB) { text.replace("\u{1A}0", "\0").replace("\u{1A}1", "\u{1A}").into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_text_reads_back_and_has_no_nul(text in "[\0\u{1A}01a]{0,12}") {
            let saved = escaped(&text);
            prop_assert!(!saved.contains(NUL));
            prop_assert_eq!(unescaped(&saved), text.as_str());
        }
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        assert_eq!(escaped("it's \"x\"; \\0 \u{1B}"), "it's \"x\"; \\0 \u{1B}");
    }
}
