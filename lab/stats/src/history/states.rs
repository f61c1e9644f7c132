//! States of a series' steps, from marks by people and searches, and from later steps that undo
//! them.

use crate::bisect::{BisectResult, FoundStep, StepLabel};
use crate::changes::Status;
use crate::history::causes::CauseLabel;
use crate::history::{HistorySeries, HistoryStep};
use crate::thresholds::CHANGE_UNDONE_SHARE;
use faultline_record::bisect::BisectSettings;
use faultline_record::change_event::{ChangeEvent, ChangeState, PlacedEvent, Source};
use faultline_record::commit::{CommitInfo, CommitLine};
use faultline_record::direction::Effect;
use faultline_record::named_change::ChangePlace;
use faultline_record::plan::CommitOrder;
use faultline_record::record::RunHead;
use std::collections::{BTreeMap, BTreeSet};

/// Sets the state and marks of each step. `said`: in any order. A person's mark holds until the
/// next one, except that a confirmation by hand yields to a later step that undoes the change.
/// Otherwise the last search decides. `order`: that of the commits.
pub fn states(series: &mut HistorySeries, said: &[PlacedEvent], order: CommitOrder) {
    let mut logs: Vec<Vec<ChangeEvent>> = vec![Vec::new(); series.steps.steps.len()];
    let mut unplaced = 0;
    for one in said {
        match series.step_meant(&one.place) {
            Some(step) => logs[step].push(one.event.clone()),
            None if matches!(one.event.source, Source::Person { .. }) => unplaced += 1,
            None => {}
        }
    }
    series.steps.unplaced = unplaced;
    for (number, mut log) in logs.into_iter().enumerate() {
        log.sort_by_key(|event| event.at);
        let (now, _) = log.iter().fold((ChangeState::Found, false), after);
        let fixed_by = undone_by(series, number, order);
        let state = &mut series.steps.steps[number].state;
        state.now = if fixed_by.is_some() && !now.is_settled() { ChangeState::Fixed } else { now };
        state.fixed_by = fixed_by;
        state.log = log;
    }
}

/// The state after a mark, and true if a person set it.
fn after((before, by_person): (ChangeState, bool), said: &ChangeEvent) -> (ChangeState, bool) {
    match said.source {
        Source::Person { .. } => (said.state, true),
        Source::Search { .. } if before.is_settled() || said.is_inconclusive => (before, by_person),
        // A search without a result does not revoke a person's confirmation.
        Source::Search { .. } if by_person && said.state == ChangeState::Found => (before, by_person),
        Source::Search { .. } => (said.state, false),
    }
}

/// The first commit after later steps that undo most of a step for the worse; `None` without such
/// steps, or for a step for the better.
fn undone_by(series: &HistorySeries, number: usize, order: CommitOrder) -> Option<u32> {
    let steps = &series.steps.steps;
    let step = &steps[number];
    if step.effect != Effect::Worse {
        return None;
    }
    let mut taken_back = 0.0;
    let follows = |later: &HistoryStep| order == CommitOrder::Line || descends(series, later.by, step.by);
    let later = steps[number + 1..].iter().filter(|later| is_certainly_of_code(later) && follows(later));
    let most = CHANGE_UNDONE_SHARE * (step.to - step.from);
    let mut undone = later.filter(|later| {
        let lower = later.from - later.to;
        // A merge rises to the level of one of its branches, which is no further step for the
        // worse, so the level decides too.
        taken_back += if order == CommitOrder::Line { lower } else { lower.max(0.0) };
        taken_back >= most && (order == CommitOrder::Line || step.to - later.to >= most)
    });
    undone.next().map(|later| later.by)
}

/// True if a commit contains another one, by the parents of the series' commits. A commit of a
/// parallel branch does not, and so undoes nothing.
fn descends(series: &HistorySeries, later: u32, earlier: u32) -> bool {
    let positions: BTreeMap<&str, u32> =
        (0..).zip(&series.points).map(|(position, point)| (point.commit.id.as_str(), position)).collect();
    let (mut next, mut seen) = (vec![later], BTreeSet::new());
    while let Some(position) = next.pop() {
        if position == earlier {
            return true;
        }
        if seen.insert(position) {
            let parents = series.commit(position).map_or(&[][..], |commit| &commit.parents);
            next.extend(parents.iter().filter_map(|parent| positions.get(parent.as_str())));
        }
    }
    false
}

/// True if neither environment, layout nor time made a step, and further commits cannot remove it.
fn is_certainly_of_code(step: &HistoryStep) -> bool {
    let is_of_code = step.cause.as_ref().is_none_or(|cause| cause.label == CauseLabel::Code);
    let is_of_code = is_of_code && step.layouts.is_none_or(|layouts| layouts.label == StepLabel::Code);
    is_of_code && !step.between_runs && step.status != Some(Status::Provisional)
}

/// The mark of a finished search about the change that it was to confirm; `None` without one. The
/// change is confirmed if the search confirmed steps with the same effect that make up most of it.
/// The greatest of them names the commits, and the mark belongs to the points of the series around
/// these.
pub fn mark_of_search(head: &RunHead, found: &BisectResult, series: &HistorySeries) -> Option<PlacedEvent> {
    let search = head.settings.bisect()?;
    let place = &search.of.as_ref()?.place;
    let step = greatest_part(found, place);
    let commits = step.map_or(&[][..], |step| &step.candidates);
    let id = |position: &u32| search.line.commits.get(*position as usize).map(|commit| commit.id.clone());
    let event = ChangeEvent {
        at: head.sessions.last()?.started,
        source: Source::Search { run: head.id },
        state: if step.is_some() { ChangeState::Confirmed } else { ChangeState::Found },
        is_inconclusive: step.is_none() && !excludes(found, &search.search, place),
        reason: None,
        commits: commits.iter().filter_map(id).collect(),
    };
    let narrowed = step.and_then(|step| narrowed(place, step, &search.line, series));
    Some(PlacedEvent { place: narrowed.unwrap_or_else(|| place.clone()), event })
}

/// The greatest confirmed step with the effect of a change; `None` if these steps together are less
/// than half of the change.
fn greatest_part<'a>(found: &'a BisectResult, place: &ChangePlace) -> Option<&'a FoundStep> {
    let parts = || found.steps.iter().filter(|step| step.confirmed && effect(step) == Some(place.effect));
    let found: f64 = parts().map(size).sum();
    let is_most = found >= 0.5 * ratio(place).ln().abs();
    parts().max_by(|one, other| size(one).total_cmp(&size(other))).filter(|_| is_most)
}

/// The ratio of the levels after and before a change.
fn ratio(place: &ChangePlace) -> f64 {
    let [from, to] = place.levels;
    to / from
}

/// The size of a step as the absolute value of a logarithm of a ratio; infinite from or to 0.
fn size(step: &FoundStep) -> f64 {
    let ratio = step.change.map(|change| change.ratio).or(step.values.map(|[before, after]| after / before));
    ratio.map_or(0.0, |ratio| ratio.ln().abs())
}

/// True if a search without a confirmed step excludes such a change: it could have found one of
/// that size, and found no candidate.
fn excludes(found: &BisectResult, search: &BisectSettings, place: &ChangePlace) -> bool {
    let may_be_it = found.steps.iter().any(|step| effect(step).is_none_or(|effect| effect == place.effect));
    let is_worse = place.effect == Effect::Worse;
    let has_slope = found.slopes.iter().any(|slope| (slope.ratio > 1.0) == is_worse);
    let size = ratio(place).ln().abs().exp_m1();
    let could_see_it = found.detectable.is_some_and(|detectable| detectable <= size);
    let is_searched = found.finished && found.unusable_end.is_none() && found.undetected <= 1.0 - search.level;
    is_searched && could_see_it && !may_be_it && !has_slope
}

/// The place between the points of a series nearest to the candidate commits of a step; `None` if a
/// side has no point.
fn narrowed(place: &ChangePlace, step: &FoundStep, line: &CommitLine, series: &HistorySeries) -> Option<ChangePlace> {
    let points: BTreeSet<&str> = series.points.iter().map(|point| point.commit.id.as_str()).collect();
    let is_point = |commit: &&CommitInfo| points.contains(commit.id.as_str());
    let earliest = line.commits.get(..=step.before as usize)?.iter().rev().find(is_point)?;
    let latest = line.commits.get(step.after as usize..)?.iter().find(is_point)?;
    Some(ChangePlace {
        earliest: earliest.id.clone(),
        by: latest.id.clone(),
        latest: latest.id.clone(),
        ..place.clone()
    })
}

/// True for a step to lower, better values.
fn effect(step: &FoundStep) -> Option<Effect> {
    let is_lower = match (step.change, step.values) {
        (Some(change), _) => change.ratio < 1.0,
        (None, Some([before, after])) => after < before,
        (None, None) => return None,
    };
    Some(if is_lower { Effect::Better } else { Effect::Worse })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisect::Change;
    use crate::history::causes::StepCause;
    use crate::history::example;
    use faultline_record::bisect::Noise;
    use faultline_record::record::RunId;
    use faultline_record::time::UnixMillis;

    fn place(earliest: u32, latest: u32) -> ChangePlace {
        let id = |position| example::commit(position).id;
        ChangePlace {
            earliest: id(earliest),
            by: id(latest),
            latest: id(latest),
            effect: Effect::Worse,
            levels: [10.0, 15.0],
        }
    }

    fn event_by(at: i64, source: Source, state: ChangeState) -> PlacedEvent {
        let event = ChangeEvent {
            at: UnixMillis(at),
            source,
            state,
            is_inconclusive: false,
            reason: None,
            commits: Vec::new(),
        };
        PlacedEvent { place: place(1, 2), event }
    }

    fn person() -> Source {
        Source::Person { name: "p".to_owned() }
    }

    fn search() -> Source {
        Source::Search { run: RunId(7) }
    }

    fn now(values: &[f64], events: &[PlacedEvent]) -> Vec<ChangeState> {
        let mut series = example::exact_series(values);
        states(&mut series, events, CommitOrder::Line);
        series.steps.steps.iter().map(|step| step.state.now).collect()
    }

    const SLOWER: [f64; 4] = [10.0, 10.0, 15.0, 15.0];

    #[test]
    fn the_last_search_decides_until_a_person_does() {
        use ChangeState::{Confirmed, Fixed, Found, Ignored};
        assert_eq!(now(&SLOWER, &[]), [Found]);
        assert_eq!(now(&SLOWER, &[event_by(1, search(), Confirmed)]), [Confirmed]);
        // By time, not by the list's order.
        assert_eq!(now(&SLOWER, &[event_by(2, search(), Found), event_by(1, search(), Confirmed)]), [Found]);
        assert_eq!(now(&SLOWER, &[event_by(1, person(), Ignored), event_by(2, search(), Confirmed)]), [Ignored]);
        assert_eq!(now(&SLOWER, &[event_by(1, person(), Fixed), event_by(2, search(), Confirmed)]), [Fixed]);
        let reopened = [event_by(1, person(), Ignored), event_by(2, person(), Found), event_by(3, search(), Confirmed)];
        assert_eq!(now(&SLOWER, &reopened), [Confirmed]);
        assert_eq!(now(&SLOWER, &[event_by(1, person(), Confirmed), event_by(2, search(), Found)]), [Confirmed]);
    }

    #[test]
    fn a_step_that_is_taken_back_is_fixed_and_one_that_is_taken_back_in_part_is_not() {
        use ChangeState::{Confirmed, Fixed, Found, Ignored};
        assert_eq!(now(&[10.0, 10.0, 15.0, 15.0, 11.0], &[]), [Fixed, Found]);
        assert_eq!(now(&[10.0, 10.0, 15.0, 15.0, 12.0], &[]), [Found, Found]);
        assert_eq!(now(&[10.0, 10.0, 15.0, 12.0, 10.5], &[]), [Fixed, Found, Found], "in two steps");
        assert_eq!(now(&[10.0, 10.0, 5.0, 10.0], &[]), [Found, Found], "what became better is not fixed");
        assert_eq!(now(&[10.0, 10.0, 15.0, 10.0], &[event_by(1, person(), Confirmed)]), [Fixed, Found]);
        assert_eq!(now(&[10.0, 10.0, 15.0, 10.0], &[event_by(1, person(), Ignored)]), [Ignored, Found]);
    }

    #[test]
    fn a_quirk_fixes_nothing() {
        let mut series = example::exact_series(&[10.0, 10.0, 15.0, 10.0]);
        let cause = |label| StepCause { quirks: vec!["A".to_owned()], label, of_environment: None, of_commits: None };
        for (label, expected) in [
            (CauseLabel::Quirk, ChangeState::Found),
            (CauseLabel::Inconclusive, ChangeState::Found),
            (CauseLabel::Code, ChangeState::Fixed),
        ] {
            series.steps.steps[1].cause = Some(cause(label));
            states(&mut series, &[], CommitOrder::Line);
            assert_eq!(series.steps.steps[0].state.now, expected, "{label:?}");
        }
        // The program undoes a small part after that.
        let mut series = example::exact_series(&[10.0, 10.0, 15.0, 11.0, 10.8]);
        series.steps.steps[1].cause = Some(cause(CauseLabel::Quirk));
        states(&mut series, &[], CommitOrder::Line);
        assert_eq!(series.steps.steps[0].state.now, ChangeState::Found);
        series.steps.steps[1].cause = None;
        series.steps.steps[1].between_runs = true;
        states(&mut series, &[], CommitOrder::Line);
        assert_eq!(series.steps.steps[0].state.now, ChangeState::Found, "the machine may have changed");
    }

    #[test]
    fn a_commit_of_a_parallel_branch_fixes_nothing() {
        // 0 – 1 – 2 (slower) – 4 (merge) – 5 (faster), and beside it 1 – 3, as fast as before.
        let mut series = example::exact_series(&[10.0, 10.0, 15.0, 10.0, 15.0, 10.0]);
        let parents: [&[u32]; 6] = [&[], &[0], &[1], &[1], &[2, 3], &[4]];
        for (point, parents) in series.points.iter_mut().zip(parents) {
            point.commit.parents = parents.iter().map(|position| example::commit(*position).id).collect();
        }
        let fixed_by = |series: &HistorySeries| series.steps.steps[0].state.fixed_by;
        states(&mut series, &[], CommitOrder::Branches);
        assert_eq!(fixed_by(&series), Some(5));
        states(&mut series, &[], CommitOrder::Line);
        assert_eq!(fixed_by(&series), Some(3));
        series.points[4].commit.parents.clear();
        states(&mut series, &[], CommitOrder::Branches);
        assert_eq!(fixed_by(&series), None, "a commit between them was not measured");
    }

    /// A finished search of a line of commits, every other of which the series has.
    fn searched(steps: Vec<FoundStep>, detectable: f64) -> BisectResult {
        BisectResult {
            format: BisectResult::FORMAT.to_owned(),
            finished: true,
            ends_show: None,
            unusable_end: None,
            unusable_because: None,
            budget_used: false,
            remaining: Vec::new(),
            by_cpu_time: None,
            load: None,
            steps,
            slopes: Vec::new(),
            course: Vec::new(),
            probability_by_position: Vec::new(),
            detectable: Some(detectable),
            undetected: 0.01,
            longest_unseen: 0,
            trials: 2,
            known: 0,
            unusable: 0,
            blocks: 6,
            executions: 12,
        }
    }

    fn searched_step(ratio: f64, confirmed: bool) -> FoundStep {
        FoundStep {
            before: 2,
            after: 3,
            candidates: vec![3],
            probability: 0.97,
            found: true,
            confirmed,
            change: Some(Change { ratio, low: ratio - 0.01, high: ratio + 0.01, units: 8 }),
            values: None,
            label: StepLabel::Code,
            under_layouts: None,
            layouts: None,
            of_environment: None,
            of_commits: None,
            reverted: None,
            explained: None,
            moved: None,
            counters: Vec::new(),
        }
    }

    #[test]
    fn a_search_that_could_have_missed_a_change_is_inconclusive() {
        let place = ChangePlace { levels: [10.0, 11.0], ..place(0, 4) };
        let settings = BisectSettings {
            noise: Noise::Any,
            level: 0.95,
            least: 0.02,
            most_blocks: 60,
            layouts: 0,
            thorough: false,
        };
        let excluded = |found: &BisectResult| excludes(found, &settings, &place);
        assert!(excluded(&searched(Vec::new(), 0.09)));
        assert!(!excluded(&searched(Vec::new(), 0.12)), "too noisy for a change of 10 %");
        assert!(!excluded(&BisectResult { undetected: 0.2, ..searched(Vec::new(), 0.02) }));
        assert!(!excluded(&BisectResult { unusable_end: Some(4), ..searched(Vec::new(), 0.02) }));
        assert!(!excluded(&searched(vec![searched_step(1.1, false)], 0.02)), "a step that was not confirmed may be it");
        assert!(excluded(&searched(vec![searched_step(0.9, true)], 0.02)), "the other direction");
        let slope = crate::bisect::Slope { from: 0, to: 4, ratio: 1.05 };
        assert!(!excluded(&BisectResult { slopes: vec![slope], ..searched(Vec::new(), 0.02) }));
        // It undoes nothing.
        let mut inconclusive = event_by(2, search(), ChangeState::Found);
        inconclusive.event.is_inconclusive = true;
        let events = [event_by(1, search(), ChangeState::Confirmed), inconclusive];
        assert_eq!(now(&SLOWER, &events), [ChangeState::Confirmed]);
    }

    #[test]
    fn the_greatest_step_of_a_search_names_the_commit_and_small_ones_confirm_no_great_change() {
        let place = ChangePlace { levels: [72.0, 41_217.0], ..place(0, 4) };
        let counted = |values: [f64; 2], after: u32| FoundStep {
            before: after - 1,
            after,
            candidates: vec![after],
            change: None,
            values: Some(values),
            ..searched_step(1.0, true)
        };
        let [small, great] = [counted([72.0, 74.0], 2), counted([74.0, 41_217.0], 3)];
        let named = |steps: &[FoundStep]| greatest_part(&searched(steps.to_vec(), 0.0), &place).map(|step| step.after);
        assert_eq!(named(&[small.clone(), great.clone()]), Some(3));
        assert_eq!(named(&[great.clone(), small.clone()]), Some(3));
        assert_eq!(named(&[small]), None);
        assert_eq!(named(&[FoundStep { confirmed: false, ..great }]), None);
        let from_nothing = ChangePlace { levels: [0.0, 8.0], ..place.clone() };
        assert!(greatest_part(&searched(vec![counted([0.0, 8.0], 3)], 0.0), &from_nothing).is_some());
    }

    #[test]
    fn what_a_search_found_belongs_to_the_points_around_its_commit() {
        let line = CommitLine { commits: (0..5).map(example::commit).collect() };
        let mut series = example::exact_series(&[10.0, 10.0, 15.0, 15.0, 20.0]);
        let narrow = |series: &HistorySeries| narrowed(&place(0, 4), &searched_step(1.1, true), &line, series).unwrap();
        assert_eq!((narrow(&series).earliest, narrow(&series).by), (example::commit(2).id, example::commit(3).id));
        series.points.remove(3);
        series.points.remove(1);
        assert_eq!((narrow(&series).earliest, narrow(&series).by), (example::commit(2).id, example::commit(4).id));
    }

    #[test]
    fn marks_of_vanished_changes_are_counted() {
        let mut series = example::exact_series(&[10.0, 10.0, 10.0, 10.0]);
        states(
            &mut series,
            &[event_by(1, person(), ChangeState::Ignored), event_by(2, search(), ChangeState::Confirmed)],
            CommitOrder::Line,
        );
        assert_eq!(series.steps.unplaced, 1, "a search is repeated when the change comes back");
    }
}
