//! The system's time.

use faultline_model::time::UnixMillis;
use std::time::{SystemTime, UNIX_EPOCH};

/// What the system's clock says; 1970 if it is set before that.
pub(crate) fn now() -> UnixMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMillis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
