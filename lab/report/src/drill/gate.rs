//! What a gate found of a search along a line of commits, in words.

use super::{at, commit_words, percent, probability, short, step_change};
use crate::gate;
use crate::one_line::one_line;
use crate::quantity::Quantity;
use crate::style::{Style, Tone};
use faultline_model::commit::CommitLine;
use faultline_model::drill::DrillStep;
use faultline_model::drill::gate::Finding;
use faultline_model::gate::Gate;
use faultline_model::plan::LineSearch;

/// What a gate found of a search, for people.
pub fn drill_gate(gate: &Gate<Finding<'_>>, search: &LineSearch, style: &Style) -> String {
    told(gate, &search.line, Quantity::of(search), style)
}

fn told(gate: &Gate<Finding<'_>>, line: &CommitLine, quantity: Quantity, style: &Style) -> String {
    let (tone, text) = match gate.noted.as_slice() {
        [] => (Tone::Good, format!("no commit is known {}", quantity.to_worsen())),
        _ => (
            Tone::Middling,
            format!("but the search is inconclusive: a commit cannot be excluded {}", quantity.to_worsen()),
        ),
    };
    gate::told(gate, (tone, &text), |found| words(found, line, quantity), style)
}

fn words(found: &Finding<'_>, line: &CommitLine, quantity: Quantity) -> String {
    match *found {
        Finding::SlowerStep(step) => {
            let change = match step_change(step) {
                change if change.is_empty() => change,
                change if step.values.is_some() => format!(": {change}"),
                change => format!(" by {change}"),
            };
            format!("{}: {}{change}", step_words(step, line), quantity.worse())
        }
        Finding::SlowerSlope(slope) => format!(
            "{} … {}: {} by {}, but no step was found there",
            short(line, slope.from),
            short(line, slope.to),
            quantity.worse(),
            percent(slope.ratio - 1.0)
        ),
        Finding::UnusableEnd { end } => {
            format!("not searched: {} is an end of the line and cannot be measured", short(line, end))
        }
        Finding::Unfinished => "not searched to the end: `faultline resume` continues".to_owned(),
        Finding::Undirected(step) => {
            format!(
                "{}: inconclusive: a step was found with a probability of {}, but it may be slower or faster after it",
                step_words(step, line),
                probability(step.probability)
            )
        }
        Finding::Insensitive { detectable: Some(detectable), least } => format!(
            "inconclusive: 80 % power to detect a change of {} or more, but changes of {} or more were searched for; \
             {} or search for larger changes (`--least`)",
            percent(detectable),
            percent(least),
            quantity.more_executions()
        ),
        Finding::Insensitive { detectable: None, .. } => {
            "inconclusive: the smallest detectable change isn't known".to_owned()
        }
        Finding::PerhapsMore { probability, least } => format!(
            "inconclusive: a step of {} or more that was not found exists with a probability of {}; {}",
            percent(least),
            percent(probability),
            quantity.more_executions()
        ),
    }
}

/// The commit that made a step, with its subject.
fn step_words(step: &DrillStep, line: &CommitLine) -> String {
    let subject = match step.candidates.len() {
        1 => at(line, step.after).map(|commit| format!(" ({})", one_line(&commit.subject))),
        _ => None,
    };
    commit_words(step, line) + &subject.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::commit::CommitInfo;
    use faultline_model::drill::{Change, Slope, StepLabel};

    fn line() -> CommitLine {
        let commit = |number: u32| CommitInfo {
            id: format!("{number:040}"),
            subject: format!("commit {number}"),
            ..CommitInfo::default()
        };
        CommitLine { commits: (0..4).map(commit).collect() }
    }

    fn step(change: Option<Change>) -> DrillStep {
        DrillStep {
            before: 1,
            after: 2,
            candidates: vec![2],
            probability: 0.99,
            confirmed: true,
            change,
            values: None,
            label: StepLabel::Inconclusive,
            under_layouts: None,
            layouts: None,
            of_surroundings: None,
            of_commits: None,
            reverted: None,
            explained: None,
            moved: None,
            counters: Vec::new(),
        }
    }

    #[test]
    fn each_reason_is_one_line() {
        let slower = step(Some(Change { ratio: 1.1, low: 1.05, high: 1.2, units: 8 }));
        let undirected = step(None);
        let slope = Slope { from: 0, to: 3, ratio: 1.04 };
        let closed_by = vec![
            Finding::SlowerStep(&slower),
            Finding::SlowerSlope(&slope),
            Finding::Undirected(&undirected),
            Finding::Insensitive { detectable: Some(0.092), least: 0.02 },
            Finding::Insensitive { detectable: None, least: 0.02 },
            Finding::PerhapsMore { probability: 0.31, least: 0.02 },
            Finding::UnusableEnd { end: 3 },
            Finding::Unfinished,
        ];
        let gate = Gate { closed_by, noted: Vec::new() };
        let lines = [
            "gate: closed",
            "  000000000000 (commit 2): slower by +10.0 % (+5.0 … +20.0)",
            "  000000000000 … 000000000000: slower by 4.0 %, but no step was found there",
            "  000000000000 (commit 2): inconclusive: a step was found with a probability of 99.0 %, but it may be slower or faster after it",
            "  inconclusive: 80 % power to detect a change of 9.2 % or more, but changes of 2.0 % or more were searched for; \
             allow more executions (`--repeats`) or search for larger changes (`--least`)",
            "  inconclusive: the smallest detectable change isn't known",
            "  inconclusive: a step of 2.0 % or more that was not found exists with a probability of 31.0 %; allow more executions (`--repeats`)",
            "  not searched: 000000000000 is an end of the line and cannot be measured",
            "  not searched to the end: `faultline resume` continues",
        ];
        assert_eq!(told(&gate, &line(), Quantity::TIME, &Style::PLAIN).lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn counts_are_told_before_and_after() {
        let told_of = |values: [f64; 2]| {
            let [before, after] = values;
            let ratio = after / before;
            let change = (before > 0.0).then_some(Change { ratio, low: ratio, high: ratio, units: 1 });
            let more = DrillStep { values: Some(values), ..step(change) };
            let gate = Gate { closed_by: vec![Finding::SlowerStep(&more)], noted: Vec::new() };
            told(&gate, &line(), Quantity::TRANSFERS, &Style::PLAIN)
        };
        let from_12 = told_of([12.0, 36.0]);
        assert!(from_12.ends_with("  000000000000 (commit 2): more transfers: 12 → 36 (+200.0 %)\n"), "{from_12}");
        let from_0 = told_of([0.0, 36.0]);
        assert!(from_0.ends_with("  000000000000 (commit 2): more transfers: 0 → 36\n"), "{from_0}");
    }

    #[test]
    fn an_open_gate_says_what_it_does_not_know() {
        let open = Gate { closed_by: Vec::new(), noted: Vec::new() };
        assert_eq!(
            told(&open, &line(), Quantity::TIME, &Style::PLAIN),
            "gate: open, no commit is known to have made it slower\n"
        );
        let noted = Gate { noted: vec![Finding::PerhapsMore { probability: 0.31, least: 0.02 }], ..open };
        let words = told(&noted, &line(), Quantity::TIME, &Style::PLAIN);
        assert!(words.starts_with("gate: open, but the search is inconclusive"), "{words}");
        assert!(
            words.contains("\n  passes: inconclusive: a step of 2.0 % or more that was not found exists"),
            "{words}"
        );
    }
}
