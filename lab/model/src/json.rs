//! Numbers that JSON has no form for: written as `null`, and read back as no number.

use serde::{Deserialize, Deserializer};

/// Reads a number; `null` is NaN.
pub(crate) fn not_a_number_when_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::NAN))
}
