//! The environment of every experiment.

use crate::error::Error;
use crate::observer::{Notice, Observer};
use crate::places::Places;
use crate::target::Machines;
use faultline_runner::Clock;
use faultline_targets::{SettingsGuard, StopFlag};

/// The environment of an experiment, provided by the front end that starts it.
pub struct Lab<'a> {
    /// The paths.
    pub places: &'a Places,
    /// Makes machines ready, for every kind of run.
    pub machines: &'a dyn Machines,
    /// The clock for budgets, and for the times that are saved.
    pub clock: &'a dyn Clock,
    /// Ends the experiment when it is set; everything measured so far remains saved.
    pub stop: &'a StopFlag,
    /// Receives events.
    pub observer: &'a mut dyn Observer,
}

impl Lab<'_> {
    /// Restores system settings that a killed comparison left changed. A running comparison keeps its own. Fails if one cannot be restored.
    pub(crate) fn put_back_leftovers(&mut self) -> Result<(), Error> {
        self.tell_put_back(SettingsGuard::put_back_leftovers()?);
        Ok(())
    }

    /// Reports the settings that were restored after a kill.
    pub(crate) fn tell_put_back(&mut self, settings: Vec<String>) {
        for setting in settings {
            self.observer.notice(&Notice::SettingPutBack { setting });
        }
    }
}
