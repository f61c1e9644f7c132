//! Text from outside, prepared for one line.

/// Text without control characters, so that text from outside cannot break a line or control the terminal.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// At most so many letters of a text, the last of which says that there are more.
pub(crate) fn cut(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    text.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}
