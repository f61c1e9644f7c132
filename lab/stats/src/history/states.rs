//! States of a series' steps: from what people and searches said of them, and from later steps that undo them.

use crate::thresholds::CHANGE_UNDONE_SHARE;
use faultline_model::changes::{Effect, Status};
use faultline_model::drill::{Drill, DrillStep};
use faultline_model::history::change::{ChangeEvent, ChangeState, PlacedEvent, Source};
use faultline_model::history::quirk::CauseLabel;
use faultline_model::history::{HistorySeries, HistoryStep};
use faultline_model::record::RunHead;

/// Gives each step its state, with what was said of it. `said`: in any order. What a person said holds until a person says something else, except that a
/// confirmation by hand gives way to a later step that undoes the change. Otherwise the last search decides.
pub fn states(series: &mut HistorySeries, said: &[PlacedEvent]) {
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
        let fixed_by = undone_by(&series.steps.steps, number);
        let state = &mut series.steps.steps[number].state;
        state.now = if fixed_by.is_some() && !now.is_settled() { ChangeState::Fixed } else { now };
        state.fixed_by = fixed_by;
        state.log = log;
    }
}

/// The state after something was said, and whether a person said it.
fn after((before, by_person): (ChangeState, bool), said: &ChangeEvent) -> (ChangeState, bool) {
    match said.source {
        Source::Person { .. } => (said.state, true),
        Source::Search { .. } if before.is_settled() => (before, by_person),
        // A search that finds nothing does not take back what a person confirmed.
        Source::Search { .. } if by_person && said.state == ChangeState::Found => (before, by_person),
        Source::Search { .. } => (said.state, false),
    }
}

/// The first commit after later steps that take back most of a step for the worse; `None` if there are none, or if the step is for the better.
fn undone_by(steps: &[HistoryStep], number: usize) -> Option<u32> {
    let step = &steps[number];
    if step.effect != Effect::Worse {
        return None;
    }
    let mut taken_back = 0.0;
    let later = steps[number + 1..].iter().filter(|later| is_certainly_of_code(later));
    let mut undone = later.filter(|later| {
        taken_back += later.from - later.to;
        taken_back >= CHANGE_UNDONE_SHARE * (step.to - step.from)
    });
    undone.next().map(|later| later.by)
}

/// Whether neither the surroundings nor the time of measuring made a step, and no further commits may show that it is none.
fn is_certainly_of_code(step: &HistoryStep) -> bool {
    let is_of_code = step.cause.as_ref().is_none_or(|cause| cause.label == CauseLabel::Code);
    is_of_code && !step.between_runs && step.status != Some(Status::Provisional)
}

/// What a finished search says of the change that it was to confirm; `None` of a search that was to confirm none. The change is confirmed if the search
/// confirmed a step with the same effect.
pub fn said_by_search(head: &RunHead, found: &Drill) -> Option<PlacedEvent> {
    let search = head.settings.drill()?;
    let place = &search.of.as_ref()?.place;
    let step = found.steps.iter().find(|step| step.confirmed && effect(step) == Some(place.effect));
    let commits = step.map_or(&[][..], |step| &step.candidates);
    let id = |position: &u32| search.line.commits.get(*position as usize).map(|commit| commit.id.clone());
    let event = ChangeEvent {
        at: head.sessions.last()?.started,
        source: Source::Search { run: head.id },
        state: if step.is_some() { ChangeState::Confirmed } else { ChangeState::Found },
        reason: None,
        commits: commits.iter().filter_map(id).collect(),
    };
    Some(PlacedEvent { place: place.clone(), event })
}

/// Whether a step makes the program better: lower values are.
fn effect(step: &DrillStep) -> Option<Effect> {
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
    use crate::history::example;
    use faultline_model::history::quirk::StepCause;
    use faultline_model::named_change::ChangePlace;
    use faultline_model::record::RunId;
    use faultline_model::time::UnixMillis;

    fn place(earliest: u32, latest: u32) -> ChangePlace {
        let id = |position| example::commit(position).id;
        ChangePlace { earliest: id(earliest), by: id(latest), latest: id(latest), effect: Effect::Worse, levels: None }
    }

    fn said(at: i64, source: Source, state: ChangeState) -> PlacedEvent {
        let event = ChangeEvent { at: UnixMillis(at), source, state, reason: None, commits: Vec::new() };
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
        states(&mut series, events);
        series.steps.steps.iter().map(|step| step.state.now).collect()
    }

    const SLOWER: [f64; 4] = [10.0, 10.0, 15.0, 15.0];

    #[test]
    fn the_last_search_decides_until_a_person_does() {
        use ChangeState::{Confirmed, Fixed, Found, Ignored};
        assert_eq!(now(&SLOWER, &[]), [Found]);
        assert_eq!(now(&SLOWER, &[said(1, search(), Confirmed)]), [Confirmed]);
        // In the order of time, not that of the list.
        assert_eq!(now(&SLOWER, &[said(2, search(), Found), said(1, search(), Confirmed)]), [Found]);
        assert_eq!(now(&SLOWER, &[said(1, person(), Ignored), said(2, search(), Confirmed)]), [Ignored]);
        assert_eq!(now(&SLOWER, &[said(1, person(), Fixed), said(2, search(), Confirmed)]), [Fixed]);
        let reopened = [said(1, person(), Ignored), said(2, person(), Found), said(3, search(), Confirmed)];
        assert_eq!(now(&SLOWER, &reopened), [Confirmed]);
        assert_eq!(now(&SLOWER, &[said(1, person(), Confirmed), said(2, search(), Found)]), [Confirmed]);
    }

    #[test]
    fn a_step_that_is_taken_back_is_fixed_and_one_that_is_taken_back_in_part_is_not() {
        use ChangeState::{Confirmed, Fixed, Found, Ignored};
        assert_eq!(now(&[10.0, 10.0, 15.0, 15.0, 11.0], &[]), [Fixed, Found]);
        assert_eq!(now(&[10.0, 10.0, 15.0, 15.0, 12.0], &[]), [Found, Found]);
        assert_eq!(now(&[10.0, 10.0, 15.0, 12.0, 10.5], &[]), [Fixed, Found, Found], "in two steps");
        assert_eq!(now(&[10.0, 10.0, 5.0, 10.0], &[]), [Found, Found], "what became better is not fixed");
        assert_eq!(now(&[10.0, 10.0, 15.0, 10.0], &[said(1, person(), Confirmed)]), [Fixed, Found]);
        assert_eq!(now(&[10.0, 10.0, 15.0, 10.0], &[said(1, person(), Ignored)]), [Ignored, Found]);
    }

    #[test]
    fn a_quirk_fixes_nothing() {
        let mut series = example::exact_series(&[10.0, 10.0, 15.0, 10.0]);
        let cause = |label| StepCause { quirks: vec!["A".to_owned()], label, of_surroundings: None, of_commits: None };
        for (label, expected) in [
            (CauseLabel::Quirk, ChangeState::Found),
            (CauseLabel::Inconclusive, ChangeState::Found),
            (CauseLabel::Code, ChangeState::Fixed),
        ] {
            series.steps.steps[1].cause = Some(cause(label));
            states(&mut series, &[]);
            assert_eq!(series.steps.steps[0].state.now, expected, "{label:?}");
        }
        // The program takes back a small part after that.
        let mut series = example::exact_series(&[10.0, 10.0, 15.0, 11.0, 10.8]);
        series.steps.steps[1].cause = Some(cause(CauseLabel::Quirk));
        states(&mut series, &[]);
        assert_eq!(series.steps.steps[0].state.now, ChangeState::Found);
        series.steps.steps[1].cause = None;
        series.steps.steps[1].between_runs = true;
        states(&mut series, &[]);
        assert_eq!(series.steps.steps[0].state.now, ChangeState::Found, "the machine may have changed");
    }

    #[test]
    fn what_was_said_of_a_change_that_is_gone_is_counted() {
        let mut series = example::exact_series(&[10.0, 10.0, 10.0, 10.0]);
        states(&mut series, &[said(1, person(), ChangeState::Ignored), said(2, search(), ChangeState::Confirmed)]);
        assert_eq!(series.steps.unplaced, 1, "a search is repeated when the change comes back");
    }
}
