//! Signals that ask us to end.

use crate::failure::Failure;
use faultline_targets::StopFlag;

/// A flag that Ctrl-C sets, and whatever else asks us to end. To be called once.
pub(crate) fn stop_flag() -> Result<StopFlag, Failure> {
    let stop = StopFlag::default();
    let flag = stop.clone();
    ctrlc::set_handler(move || flag.set())
        .map_err(|error| Failure::new(format!("cannot take signals: {error}"), "check the system's limits"))?;
    Ok(stop)
}
