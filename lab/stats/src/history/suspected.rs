//! Changes at the newest commits of a series that may be steps, and the commits that would show it.

use super::steps::StepSettings;
use crate::changes::CALIBRATED;
use crate::history::{HistorySeries, HistoryStep, HistorySteps};

/// Factor of the false-positive rate at which a step is suspected.
const LOOSER: f64 = 3.0;

/// Highest such rate: a search refuses a higher one, for which it is not calibrated.
const LOOSEST: f64 = *CALIBRATED.end();

/// Maximum number of measured commits from a suspected step on.
const RECENT: usize = 6;

/// Maximum number of measured commits before a suspected step that are measured again.
const BEFORE: usize = 2;

/// The settings by which steps are suspected.
pub fn suspicion(settings: &StepSettings) -> StepSettings {
    StepSettings { false_alarms: (LOOSER * settings.false_alarms).min(LOOSEST), ..*settings }
}

/// Commits that show whether suspected changes are steps, by their full names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suspected {
    /// Measured commits around the changes, in order.
    pub commits: Vec<String>,
    /// For each change, the measured commits before and after it.
    pub between: Vec<[String; 2]>,
}

impl Suspected {
    /// True without a suspected change.
    pub fn is_empty(&self) -> bool {
        self.between.is_empty()
    }
}

/// The suspected changes at the newest commits of a series. `loose`: the steps by [`suspicion`]. A
/// step that the series has is not suspected, nor one with many commits after it, which would have
/// shown it.
pub fn suspected(found: &HistorySeries, loose: &HistorySteps) -> Suspected {
    let has = |step: &&HistoryStep| {
        found.steps.steps.iter().any(|own| own.earliest < step.latest && step.earliest < own.latest)
    };
    let measured: Vec<u32> =
        (0..).zip(&found.points).filter(|(_, point)| point.value().is_some()).map(|(at, _)| at).collect();
    let id = |position: u32| found.points[position as usize].commit.id.clone();
    let mut all = Suspected::default();
    let mut positions = Vec::new();
    for step in loose.steps.iter().filter(|step| !has(step)) {
        let (before, after): (Vec<u32>, Vec<u32>) = measured.iter().partition(|at| **at <= step.after);
        if after.len() <= RECENT {
            positions.extend(before.iter().rev().take(BEFORE).chain(&after));
            all.between.push([id(step.after), id(step.by)]);
        }
    }
    positions.sort_unstable();
    positions.dedup();
    all.commits = positions.into_iter().map(id).collect();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::{Observation, Settings, changes};
    use crate::history::example::exact_series;
    use faultline_record::direction::Direction;

    /// For values with these suspected steps: the numbers of commits, and of changes. `is_found`:
    /// the series has the steps itself.
    fn around(values: &[f64], is_found: bool) -> (Vec<usize>, usize) {
        let mut found = exact_series(values);
        let loose = found.steps.clone();
        if !is_found {
            found.steps.steps.clear();
        }
        let suspected = suspected(&found, &loose);
        let number = |id: &String| usize::from_str_radix(id, 16).unwrap();
        assert_eq!(suspected.is_empty(), suspected.commits.is_empty());
        (suspected.commits.iter().map(number).collect(), suspected.between.len())
    }

    #[test]
    fn a_recent_change_that_is_not_found_is_suspected() {
        let recent = [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0];
        assert_eq!(around(&recent, false), (vec![3, 4, 5, 6], 1));
        assert_eq!(around(&recent, true), (vec![], 0));
        let old = [1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0];
        assert_eq!(around(&old, false), (vec![], 0), "later commits would have shown it");
    }

    #[test]
    fn the_rate_is_looser_and_no_search_refuses_it() {
        let loose = |false_alarms| suspicion(&StepSettings { false_alarms, ..StepSettings::default() }).false_alarms;
        assert!((loose(0.05) - 0.15).abs() < 1e-12 && loose(0.1) == LOOSEST);
        let settings = suspicion(&StepSettings::default());
        let points: Vec<Observation> = (0..40).map(|at| Observation { position: at, value: 1.0 }).collect();
        let settings = Settings { false_alarms: settings.false_alarms, ..Settings::new(Direction::Lower) };
        assert_eq!(changes(&points, &settings).map(|found| found.steps), Ok(Vec::new()));
    }
}
