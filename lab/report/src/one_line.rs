//! Text from outside, prepared for one line.

/// Text without control characters, so that text from outside cannot break a line or control the terminal.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
