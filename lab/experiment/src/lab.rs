//! What every experiment works with.

use crate::error::Error;
use crate::observer::{Notice, Observer};
use crate::places::Places;
use crate::target::Machines;
use faultline_runner::Clock;
use faultline_targets::{SettingsGuard, StopFlag};

/// What an experiment works with: given by the face that begins it.
pub struct Lab<'a> {
    /// Where things are.
    pub places: &'a Places,
    /// Makes machines ready to be measured. Runs under the lens make their own.
    pub machines: &'a dyn Machines,
    /// The clock that budgets go by and whose times are saved.
    pub clock: &'a dyn Clock,
    /// Ends the experiment when it is set: what is measured by then stays saved.
    pub stop: &'a StopFlag,
    /// Is told what happens.
    pub observer: &'a mut dyn Observer,
}

impl Lab<'_> {
    /// Puts back settings of the system that a comparison which was killed has left. One that is under way keeps its own.
    pub(crate) fn put_back_leftovers(&mut self) -> Result<(), Error> {
        self.tell_put_back(SettingsGuard::put_back_leftovers()?);
        Ok(())
    }

    /// Says which settings were put back after a kill.
    pub(crate) fn tell_put_back(&mut self, settings: Vec<String>) {
        for setting in settings {
            self.observer.notice(&Notice::SettingPutBack { setting });
        }
    }
}
