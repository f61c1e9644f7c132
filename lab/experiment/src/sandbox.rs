//! The choice of a sandbox for builds and programs of commits: on unless it is turned off, where
//! this system has namespaces.

use crate::error::Error;
use faultline_record::recipe::Recipe;
use faultline_targets::sandbox::Sandbox;
use std::sync::{Arc, OnceLock};

/// The choice, and the result of the first attempt. Clones share the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandboxing {
    is_wanted: bool,
    /// The reason why there is no sandbox, if there is none.
    lack: Arc<OnceLock<Option<String>>>,
    /// Set when the reason was reported.
    reported: Arc<OnceLock<()>>,
    /// The sandbox of the programs that this host runs; none for the user's own.
    of_programs: Option<Sandbox>,
}

impl Sandboxing {
    /// On or off.
    pub fn wanted(is_wanted: bool) -> Self {
        Sandboxing { is_wanted, lack: Arc::default(), reported: Arc::default(), of_programs: None }
    }

    /// True unless it was turned off.
    pub fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// True unless it was turned off for all builds, or for those of a recipe.
    pub(crate) fn is_wanted_for(&self, recipe: &Recipe) -> bool {
        self.is_wanted && !recipe.outside_sandbox
    }

    /// The reason why this system gives no sandbox; `None` if it gives one. `attempt` finds it, and
    /// is not repeated after it has succeeded. Fails if it does.
    pub(crate) fn lack(&self, attempt: impl FnOnce() -> Result<Option<String>, Error>) -> Result<Option<&str>, Error> {
        if self.lack.get().is_none() {
            let found = attempt()?;
            return Ok(self.lack.get_or_init(|| found).as_deref());
        }
        Ok(self.lack.get().and_then(Option::as_deref))
    }

    /// True for the first call.
    pub(crate) fn is_unreported(&self) -> bool {
        self.reported.set(()).is_ok()
    }

    /// This choice, with a sandbox for programs that this host runs.
    pub(crate) fn with_programs_in(&self, sandbox: Option<Sandbox>) -> Self {
        Sandboxing { of_programs: sandbox, ..self.clone() }
    }

    /// The sandbox of programs that this host runs.
    pub(crate) fn of_programs(&self) -> Option<&Sandbox> {
        self.of_programs.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_can_be_turned_off_for_all_or_for_a_recipe() {
        let outside = Recipe { outside_sandbox: true, ..Recipe::default() };
        assert!(Sandboxing::wanted(true).is_wanted_for(&Recipe::default()));
        assert!(!Sandboxing::wanted(true).is_wanted_for(&outside));
        assert!(!Sandboxing::wanted(false).is_wanted_for(&Recipe::default()));
    }

    #[test]
    fn one_attempt_decides_and_one_report_follows() {
        let sandboxing = Sandboxing::wanted(true);
        let clone = sandboxing.clone();
        assert!(clone.lack(|| Err(Error::failed("out of memory", "try again"))).is_err());
        assert_eq!(sandboxing.lack(|| Ok(Some("why".to_owned()))), Ok(Some("why")));
        assert_eq!(clone.lack(|| unreachable!("it is known")), Ok(Some("why")));
        assert!(clone.is_unreported() && !sandboxing.is_unreported());
    }
}
