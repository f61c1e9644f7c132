//! Numbers that JSON cannot represent: they are written as `null`, and read back as NaN.

use serde::{Deserialize, Deserializer};

/// Reads a number; `null` is NaN. Fails on anything else.
pub(crate) fn not_a_number_when_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::NAN))
}
