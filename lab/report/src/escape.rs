//! Text from outside, made safe for a line, a table cell and Markdown.

/// A replacement of a character that could break a line, control the terminal, or show text in
/// another order than it has (CVE-2021-42574); `None` for all other characters.
pub fn unsafe_replaced(c: char) -> Option<char> {
    match c {
        '\u{2028}' | '\u{2029}' => Some(' '),
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some('\u{fffd}'),
        c => c.is_control().then_some(' '),
    }
}

/// Text without characters that are unsafe in a line.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| unsafe_replaced(c).unwrap_or(c)).collect()
}

/// The first `letters` letters of a text. The last one is `…` if the text is longer.
pub(crate) fn cut(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    text.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}

/// Markdown that shows the text itself, also within a pipe table's cell.
///
/// Characters without effect at their place, as in `zero_fill` and `p < 0.1`, are not escaped:
/// mails show Markdown as plain text.
pub fn escape_markdown(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut escaped = String::with_capacity(text.len());
    for (index, &c) in letters.iter().enumerate() {
        if let Some(replaced) = unsafe_replaced(c) {
            escaped.push(replaced);
            continue;
        }
        let special = match c {
            '\\' | '|' | '~' | '`' | '*' | '[' | ']' => true,
            '_' => !is_within_word(&letters, index),
            '<' | '&' => letters.get(index + 1).is_some_and(|next| !next.is_whitespace()),
            _ => false,
        };
        if special {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Like [`escape_markdown`], but keeps code between backticks.
pub(crate) fn escape_markdown_around_code(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let is_paired = parts.len() % 2 == 1;
    let is_empty = parts.iter().skip(1).step_by(2).any(|code| code.is_empty());
    if !is_paired || is_empty {
        return escape_markdown(text);
    }
    let part = |(index, part): (usize, &&str)| match index % 2 {
        0 => escape_markdown(part),
        _ => format!("`{part}`"),
    };
    parts.iter().enumerate().map(part).collect()
}

/// True for an underscore between letters or digits, which gives no emphasis.
fn is_within_word(letters: &[char], index: usize) -> bool {
    let before = letters[..index].iter().rev().find(|c| **c != '_');
    let after = letters[index..].iter().find(|c| **c != '_');
    [before, after].into_iter().all(|end| end.is_some_and(|c| c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_escapes_only_what_would_be_taken_for_more() {
        assert_eq!(escape_markdown("zero_fill:base, p < 0.1, a & b"), "zero_fill:base, p < 0.1, a & b");
        assert_eq!(escape_markdown("_a_ <b> &lt; *c* __d"), r"\_a\_ \<b> \&lt; \*c\* \_\_d");
    }

    #[test]
    fn text_cannot_be_reordered() {
        let hostile = "a\u{202e}b\u{2066}c\u{200f}d\u{2028}e\u{1b}[31m";
        for shown in [one_line(hostile), escape_markdown(hostile)] {
            assert!(shown.starts_with("a\u{fffd}b\u{fffd}c\u{fffd}d e "), "{shown:?}");
        }
        assert_eq!(one_line("naïve – 日本語"), "naïve – 日本語");
    }

    #[test]
    fn markdown_keeps_commands_as_code() {
        let escape = escape_markdown_around_code;
        assert_eq!(escape("*stop* it: `top -b | x`, or `a_b`"), r"\*stop\* it: `top -b | x`, or `a_b`");
        assert_eq!(escape("`a` `*b*"), r"\`a\` \`\*b\*", "one is left open");
        assert_eq!(escape("``*b*"), r"\`\`\*b\*", "there is nothing between them");
    }
}
