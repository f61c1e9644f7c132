//! Data as JSON for programs.

use serde::Serialize;

/// Indented JSON with a line end. Numbers that are not finite become `null`.
pub fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string_pretty(value).expect("plain data with text keys") + "\n"
}
