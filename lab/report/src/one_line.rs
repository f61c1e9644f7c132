//! Text that comes from outside, made fit for a line.

/// Text without control characters: what comes from outside never breaks a line or speaks to the terminal.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
