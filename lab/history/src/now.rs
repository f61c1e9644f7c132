//! What a run of a history would be asked now, and the surroundings in which it would measure.

use faultline_experiment::stored::StoredHistory;
use faultline_model::facts::Facts;
use faultline_model::plan::Settings;
use faultline_model::recipe::BuildTools;
use faultline_model::time::UnixMillis;
use faultline_stats::history::Surroundings;

/// A request, without commits, and the machine.
pub(crate) struct Now {
    /// What is asked.
    pub(crate) settings: Settings,
    /// Facts of the machine on which time is measured; `None` of counts.
    pub(crate) facts: Option<Facts>,
    /// The time.
    pub(crate) at: UnixMillis,
}

impl Now {
    pub(crate) fn surroundings(&self) -> Surroundings<'_> {
        Surroundings { tools: tools(&self.settings), facts: self.facts.as_ref(), began: self.at }
    }

    /// Whether a run has built with the tools of now.
    pub(crate) fn has_tools_of(&self, run: &StoredHistory) -> bool {
        let [own, other] =
            [&self.settings, &run.head.settings].map(|settings| tools(settings).map(|tools| &tools.digest));
        own == other
    }
}

fn tools(settings: &Settings) -> Option<&BuildTools> {
    settings.measured_line().and_then(|line| line.tools.as_ref())
}
