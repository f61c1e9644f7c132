//! Signals that ask us to end.

use crate::failure::Failure;
use faultline_targets::StopFlag;

/// A flag that Ctrl-C and other requests to end set. Call it once. Fails if the handler cannot be installed.
pub(crate) fn stop_flag() -> Result<StopFlag, Failure> {
    let stop = StopFlag::default();
    let flag = stop.clone();
    ctrlc::set_handler(move || flag.set())
        .map_err(|error| Failure::new(format!("cannot take signals: {error}"), "check the system's limits"))?;
    Ok(stop)
}
