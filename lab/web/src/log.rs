//! Where it is written that something failed inside.

use std::sync::Arc;

/// Takes a line about something that failed inside.
pub(crate) type Log = Arc<dyn Fn(&str) + Send + Sync>;
