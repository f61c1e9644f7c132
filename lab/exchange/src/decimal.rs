//! Numbers in text.

use crate::error::ReadError;
use crate::text::quoted;

/// A finite number in decimal notation. Fails on anything else; `what` says in the error which number was expected.
pub(crate) fn finite(file: &str, line: u64, text: &str, what: &str) -> Result<f64, ReadError> {
    // Rust also accepts `inf` and `nan`, which no benchmark measures.
    text.parse::<f64>()
        .ok()
        .filter(|value| value.is_finite())
        .ok_or_else(|| ReadError::new(file, line, quoted(text), format!("{what}: a finite number")))
}
