//! The gate of histories: open, unless a new step is worse or a series is too short to find steps.

use super::{Blame, HistorySeries, HistoryStep, StepBasis};
use crate::gate::Gate;
use faultline_record::direction::Effect;
use faultline_record::plan::WhenInconclusive;

/// A finding about a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Finding<'a> {
    /// A new step for the worse.
    Worse {
        /// The series.
        series: &'a HistorySeries,
        /// The step.
        step: &'a HistoryStep,
    },
    /// A new step for the worse that is ignored or fixed, or made by the environment or the layout.
    Settled {
        /// The series.
        series: &'a HistorySeries,
        /// The step.
        step: &'a HistoryStep,
    },
    /// A new step for the worse of undecided cause.
    Inconclusive {
        /// The series.
        series: &'a HistorySeries,
        /// The step.
        step: &'a HistoryStep,
    },
    /// The series is too short to find steps in it.
    TooShort(&'a HistorySeries),
    /// At the newest measured commits no step can be found yet.
    Unjudged(&'a HistorySeries),
}

impl<'a> Gate<Finding<'a>> {
    /// Applies the gate to series. `is_new`: true for a new step of a series. Ignored and fixed
    /// changes, quirks and layouts pass if the part of the commits is certainly no step. Other
    /// steps that may be a quirk or a layout, or mostly are, are inconclusive; so are series that
    /// are too short.
    pub fn of_histories(
        all: &'a [HistorySeries],
        is_new: impl Fn(&HistorySeries, &HistoryStep) -> bool,
        when_inconclusive: WhenInconclusive,
    ) -> Self {
        let mut gate = Gate { closed_by: Vec::new(), noted: Vec::new() };
        for series in all {
            let new = |step: &&HistoryStep| step.effect == Effect::Worse && is_new(series, step);
            for step in series.steps.steps.iter().filter(new) {
                if step.is_settled() {
                    gate.noted.push(Finding::Settled { series, step });
                } else if step.blame() == Blame::Inconclusive {
                    gate.add_inconclusive(Finding::Inconclusive { series, step }, when_inconclusive);
                } else {
                    gate.closed_by.push(Finding::Worse { series, step });
                }
            }
            match &series.steps.basis {
                StepBasis::TooShort { .. } => gate.add_inconclusive(Finding::TooShort(series), when_inconclusive),
                _ if series.steps.unjudged > 0 => gate.noted.push(Finding::Unjudged(series)),
                _ => {}
            }
        }
        gate
    }

    fn add_inconclusive(&mut self, found: Finding<'a>, when_inconclusive: WhenInconclusive) {
        match when_inconclusive {
            WhenInconclusive::Fail => self.closed_by.push(found),
            WhenInconclusive::Pass => self.noted.push(found),
        }
    }
}

impl HistorySeries {
    /// True if this series shows a step of a newer series of the same subject: one with the same
    /// effect and a range that shares a commit with that of the step. A step that may have been a
    /// quirk does not count as a change that is now the program's.
    pub fn shows(&self, newer: &HistorySeries, step: &HistoryStep) -> bool {
        let positions = newer.positions();
        let place = |position: u32| positions.get(self.commit(position)?.id.as_str()).copied();
        // A range starts after its earliest commit.
        let is_it = |own: &HistoryStep| match (place(own.earliest), place(own.latest)) {
            (Some(earliest), Some(latest)) => earliest < step.latest && step.earliest < latest,
            _ => false,
        };
        let is_like_it = |own: &HistoryStep| own.effect == step.effect && own.blame() >= step.blame();
        self.steps.steps.iter().any(|own| is_like_it(own) && is_it(own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisect::{LayoutsTried, StepLabel};
    use crate::history::StepState;
    use crate::history::causes::StepLayouts;
    use crate::history::causes::{CauseLabel, StepCause};
    use crate::history::{HistoryPoint, HistorySteps, PointResult};
    use faultline_record::change_event::{ChangeEvent, ChangeState, Source};
    use faultline_record::commit::CommitInfo;
    use faultline_record::named_change::ChangePlace;
    use faultline_record::quantity::Quantity;
    use faultline_record::record::RunId;
    use faultline_record::time::UnixMillis;

    fn step((earliest, latest): (u32, u32), effect: Effect) -> HistoryStep {
        HistoryStep {
            after: earliest,
            by: latest,
            earliest,
            latest,
            from: 1.0,
            to: 2.0,
            effect,
            status: None,
            between_runs: false,
            cause: None,
            layouts: None,
            boots: None,
            state: StepState::default(),
            between: None,
        }
    }

    /// Commits of these numbers, with these steps.
    fn series(commits: &[u32], steps: Vec<HistoryStep>) -> HistorySeries {
        let point = |number: &u32| {
            let commit = CommitInfo { id: number.to_string(), ..CommitInfo::default() };
            HistoryPoint { commit, run: None, environment: 0, result: PointResult::None }
        };
        HistorySeries {
            format: HistorySeries::FORMAT.to_owned(),
            subject: "app".to_owned(),
            repository: String::new(),
            forge: None,
            command: Vec::new(),
            workload: None,
            has_releases: false,
            moved: Vec::new(),
            by_cpu_time: None,
            choice: None,
            load: None,
            quantity: Quantity::Time,
            unit: "s".to_owned(),
            tasks: 1,
            host: None,
            conditions: String::new(),
            runs: Vec::new(),
            left_out: Vec::new(),
            points: commits.iter().map(point).collect(),
            quirks: Vec::new(),
            unplaced_quirks: Vec::new(),
            steps: HistorySteps { basis: StepBasis::Exact, least_change: 0.01, steps, unjudged: 0, unplaced: 0 },
        }
    }

    #[test]
    fn a_step_is_shown_by_an_older_series_with_other_commits_between() {
        // Commits 0, 4 and 8 were measured, then 6: the step between 4 and 8 is now between 6 and
        // 8.
        let old = series(&[0, 4, 8], vec![step((1, 2), Effect::Worse)]);
        let new = series(&[0, 4, 6, 8, 9], Vec::new());
        assert!(old.shows(&new, &step((2, 3), Effect::Worse)));
        assert!(!old.shows(&new, &step((2, 3), Effect::Better)), "another effect");
        assert!(!old.shows(&new, &step((0, 1), Effect::Worse)), "it ends where the other begins");
        assert!(!old.shows(&new, &step((3, 4), Effect::Worse)), "after the other");
        let elsewhere = series(&[0, 5, 9], Vec::new());
        assert!(!old.shows(&elsewhere, &step((0, 1), Effect::Worse)), "its commits are not there");
    }

    #[test]
    fn a_mark_means_its_change_alone_after_more_commits_were_measured() {
        let old = series(&[0, 4, 8], vec![step((0, 2), Effect::Worse)]);
        let place = old.place_of(&old.steps.steps[0]).unwrap();
        assert_eq!(place.by, "8");
        let worse = |range| step(range, Effect::Worse);
        let new = series(&[0, 2, 4, 6, 8, 9], vec![worse((0, 1)), worse((3, 4)), worse((4, 5))]);
        assert_eq!(new.step_meant(&place), Some(1), "the nearest of two in its range");
        let better = ChangePlace { effect: Effect::Better, ..place.clone() };
        assert_eq!(new.step_meant(&better), None);
        assert_eq!(series(&[0, 4], vec![worse((0, 1))]).step_meant(&place), None, "its commits are gone");
    }

    #[test]
    fn a_mark_means_no_change_of_another_size_at_the_same_place() {
        let old = series(&[0, 8], vec![step((0, 1), Effect::Worse)]);
        let place = old.place_of(&old.steps.steps[0]).unwrap();
        let sized = |range, to| HistoryStep { to, ..step(range, Effect::Worse) };
        let new = |steps| series(&[0, 2, 4, 8], steps);
        // A step of 100 % became two: neither is the marked one, unless it has nearly all of the
        // change.
        assert_eq!(new(vec![sized((0, 1), 1.4), sized((2, 3), 1.45)]).step_meant(&place), None);
        assert_eq!(new(vec![sized((0, 1), 1.05), sized((2, 3), 1.9)]).step_meant(&place), Some(1));
    }

    /// A step for the worse with this label.
    fn labelled(label: CauseLabel) -> HistoryStep {
        let cause = StepCause { quirks: vec!["A".to_owned()], label, of_environment: None, of_commits: None };
        HistoryStep { cause: Some(cause), ..step((0, 1), Effect::Worse) }
    }

    #[test]
    fn only_a_quirk_whose_commits_made_no_step_passes() {
        use CauseLabel::{Code, Inconclusive, MostlyQuirk, Quirk};
        let opens = |step: HistoryStep| {
            let all = [series(&[0, 1, 2], vec![step])];
            [WhenInconclusive::Fail, WhenInconclusive::Pass]
                .map(|when| Gate::of_histories(&all, |_, _| true, when).is_open())
        };
        assert_eq!(opens(labelled(Quirk)), [true, true]);
        assert_eq!(opens(labelled(MostlyQuirk)), [false, true]);
        assert_eq!(opens(labelled(Inconclusive)), [false, true]);
        assert_eq!(opens(labelled(Code)), [false, false]);
        let state = StepState { now: ChangeState::Confirmed, ..StepState::default() };
        assert_eq!(
            opens(HistoryStep { state, ..labelled(Quirk) }),
            [false, false],
            "a search measured both sides together"
        );
    }

    /// The gate's state for a step with this label by random layouts, if inconclusive results fail,
    /// and if they pass.
    fn opens_for_layouts(label: StepLabel, is_no_step: bool, state: &StepState) -> [bool; 2] {
        let tried = LayoutsTried { tried: 8, distinct: 8, unchanged: 0, failed: 0, between: None, within: None };
        let layouts = Some(StepLayouts { label, remains: None, of_commits: None, is_no_step, tried });
        let all =
            [series(&[0, 1, 2], vec![HistoryStep { layouts, state: state.clone(), ..step((0, 1), Effect::Worse) }])];
        [WhenInconclusive::Fail, WhenInconclusive::Pass]
            .map(|when| Gate::of_histories(&all, |_, _| true, when).is_open())
    }

    #[test]
    fn a_step_of_the_layout_passes_even_if_a_search_confirmed_that_both_sides_differ() {
        for now in [ChangeState::Found, ChangeState::Confirmed] {
            let state = StepState { now, ..StepState::default() };
            assert_eq!(opens_for_layouts(StepLabel::Layout, true, &state), [true, true]);
            assert_eq!(opens_for_layouts(StepLabel::Layout, false, &state), [false, true], "mostly the layout");
            assert_eq!(opens_for_layouts(StepLabel::Inconclusive, false, &state), [false, true]);
            assert_eq!(opens_for_layouts(StepLabel::Inconclusive, true, &state), [false, true]);
            assert_eq!(opens_for_layouts(StepLabel::Code, false, &state), [false, false]);
        }
    }

    #[test]
    fn what_a_person_confirmed_closes_a_gate_whatever_layouts_and_quirks_say() {
        let event = |at: i64, source: Source, state| ChangeEvent {
            at: UnixMillis(at),
            source,
            state,
            is_inconclusive: false,
            reason: None,
            commits: Vec::new(),
        };
        let person = || Source::Person { name: "ada".to_owned() };
        let by_person = event(1, person(), ChangeState::Confirmed);
        let by_search = event(2, Source::Search { run: RunId(1) }, ChangeState::Confirmed);
        let taken_back = event(3, person(), ChangeState::Found);
        let of =
            |now, log: &[&ChangeEvent]| StepState { now, fixed_by: None, log: log.iter().copied().cloned().collect() };
        let confirmed = of(ChangeState::Confirmed, &[&by_person]);
        for label in [StepLabel::Layout, StepLabel::Inconclusive, StepLabel::Code] {
            assert_eq!(opens_for_layouts(label, true, &confirmed), [false, false], "{label:?}");
        }
        let all = [series(&[0, 1, 2], vec![HistoryStep { state: confirmed, ..labelled(CauseLabel::Quirk) }])];
        assert!(!Gate::of_histories(&all, |_, _| true, WhenInconclusive::Pass).is_open());
        let by_both = of(ChangeState::Confirmed, &[&by_person, &by_search]);
        assert_eq!(opens_for_layouts(StepLabel::Layout, true, &by_both), [false, false]);
        let by_search_now = of(ChangeState::Confirmed, &[&by_person, &taken_back, &by_search]);
        assert_eq!(opens_for_layouts(StepLabel::Layout, true, &by_search_now), [true, true]);
        let ignored = event(4, person(), ChangeState::Ignored);
        let now_ignored = of(ChangeState::Ignored, &[&by_person, &ignored]);
        assert_eq!(opens_for_layouts(StepLabel::Code, false, &now_ignored), [true, true]);
    }

    #[test]
    fn a_step_that_may_have_been_a_quirk_is_new_once_it_is_code() {
        let old = |label| series(&[0, 1, 2], vec![labelled(label)]);
        let is_known = |old: &HistorySeries, label| old.shows(&series(&[0, 1, 2], Vec::new()), &labelled(label));
        let doubtful = old(CauseLabel::MostlyQuirk);
        assert!(is_known(&doubtful, CauseLabel::Inconclusive) && is_known(&doubtful, CauseLabel::Quirk));
        assert!(!is_known(&doubtful, CauseLabel::Code) && is_known(&old(CauseLabel::Code), CauseLabel::Code));
        assert!(!is_known(&old(CauseLabel::Quirk), CauseLabel::MostlyQuirk));
    }

    #[test]
    fn an_ignored_change_passes_and_is_noted() {
        let mut all = [series(&[0, 1, 2], vec![step((0, 1), Effect::Worse), step((1, 2), Effect::Worse)])];
        all[0].steps.steps[0].state.now = ChangeState::Ignored;
        let gate = Gate::of_histories(&all, |_, _| true, WhenInconclusive::Fail);
        assert_eq!(gate.noted, [Finding::Settled { series: &all[0], step: &all[0].steps.steps[0] }]);
        assert_eq!(gate.closed_by, [Finding::Worse { series: &all[0], step: &all[0].steps.steps[1] }]);
    }
}
