//! Commits, steps and quirks of a history as marks of a timeline, with texts.

use crate::escape::{cut, one_line};
use crate::history::causes::{holds, quirk_sentence};
use crate::history::words;
use crate::style::UNICODE;
use faultline_record::direction::Effect;
use faultline_record::outcome::Outcome;
use faultline_record::subject::SubjectIndex;
use faultline_stats::history::{HistoryPoint, HistorySeries, HistoryStep, LayoutSample, PointResult, Quirk};
use faultline_stats::timeline::{CommitMark, QuirkMark, StepMark};

/// Lines of a message, and characters per line.
const MESSAGE_LINES: usize = 3;
const MESSAGE_LETTERS: usize = 160;

/// The name that distinguishes a history.
pub fn history_name(series: &HistorySeries) -> String {
    one_line(&format!("{}: {}", series.subject, words::measured(series)))
}

/// The executions of a commit.
#[derive(Debug, Clone, Default)]
pub struct Executed {
    /// Values of successful executions.
    pub values: Vec<f64>,
    /// The boot of each; empty if all executions were in one boot.
    pub boots: Vec<u32>,
    /// Values in random layouts, which the commit's value excludes.
    pub in_layouts: Vec<LayoutSample>,
    /// The executed subject of the run, if any.
    pub subject: Option<SubjectIndex>,
}

impl Executed {
    /// The number of values.
    pub fn number(&self) -> usize {
        self.values.len() + self.in_layouts.len()
    }
}

/// A commit. `has_values`: include the values of executions; otherwise only their number.
pub fn commit_mark(position: u32, point: &HistoryPoint, executed: &Executed, has_values: bool) -> CommitMark {
    let none = Executed::default();
    let shown = if has_values { executed } else { &none };
    let value = match &point.result {
        PointResult::Measured { estimate, .. } => Some(*estimate),
        PointResult::Unusable(_) | PointResult::None => None,
    };
    CommitMark {
        position,
        commit: point.commit.id.clone(),
        committed_s: point.commit.committed_s,
        author: point.commit.author.clone(),
        subject: point.commit.subject.clone(),
        run: point.run,
        value,
        values: shown.values.clone(),
        boots: shown.boots.clone(),
        layout_values: shown.in_layouts.iter().map(|sample| sample.value).collect(),
        layouts: shown.in_layouts.iter().map(|sample| sample.layout).collect(),
        executions: executed.number() as u32,
        files: point.commit.files.clone(),
        why: words::why(&point.result).to_owned(),
        message: message(&point.result),
        executed_as: executed.subject,
    }
}

/// Lines of the output of a failed build or execution: from the first one with an error, or the
/// last lines.
fn message(result: &PointResult) -> String {
    let PointResult::Unusable(why) = result else { return String::new() };
    let output = why.build.as_ref().map(|build| build.output.as_str());
    let output = output.or_else(|| why.execution.as_ref().and_then(Outcome::last_output)).unwrap_or_default();
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.len().saturating_sub(MESSAGE_LINES);
    // Compilers state errors before `make` reports that they failed.
    let first = lines.iter().position(|line| line.to_ascii_lowercase().contains("error")).unwrap_or(last).min(last);
    lines[first..]
        .iter()
        .take(MESSAGE_LINES)
        .map(|line| cut(&one_line(line), MESSAGE_LETTERS))
        .collect::<Vec<_>>()
        .join("\n")
}

/// A step.
pub fn step_mark(series: &HistorySeries, step: &HistoryStep) -> StepMark {
    let id = |position| series.commit(position).map_or_else(String::new, |commit| commit.id.clone());
    StepMark {
        after: step.after,
        by: step.by,
        earliest: step.earliest,
        latest: step.latest,
        from: step.from,
        to: step.to,
        commits: [id(step.after), id(step.by)],
        change: words::change(step, &UNICODE),
        what: words::kind(step),
        is_better: step.effect == Effect::Better,
        certainty: step.certainty(),
        state: step.state.now.word().to_owned(),
        said: words::log(series, step, &UNICODE),
    }
}

/// The quirks of a history.
pub fn quirk_marks(series: &HistorySeries) -> Vec<QuirkMark> {
    let mark = |(number, quirk): (usize, &Quirk)| QuirkMark {
        letter: quirk.letter.clone(),
        what: quirk_sentence(series, quirk, &UNICODE),
        ranges: ranges(series, number, quirk),
    };
    series.quirks.iter().enumerate().map(mark).collect()
}

/// Ranges of commits with results in which the quirk holds.
fn ranges(series: &HistorySeries, number: usize, quirk: &Quirk) -> Vec<[u32; 2]> {
    let mut ranges: Vec<[u32; 2]> = Vec::new();
    let mut goes_on = false;
    for (position, point) in (0..).zip(&series.points).filter(|(_, point)| point.run.is_some()) {
        let holds = holds(number, quirk, position, point);
        match ranges.last_mut().filter(|_| goes_on) {
            Some(range) if holds => range[1] = position,
            _ if holds => ranges.push([position, position]),
            _ => {}
        }
        goes_on = holds;
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::bisect::Unusable;
    use faultline_stats::history::{FailedBuild, NotMeasured};

    #[test]
    fn a_message_begins_with_the_first_error() {
        let shown = |output: &str| {
            let build = Some(FailedBuild { how: "it exited with status 2".to_owned(), output: output.to_owned() });
            message(&PointResult::Unusable(NotMeasured { why: Unusable::Build, build, execution: None }))
        };
        let compiler = "cc -c a.c\na.c:3:9: error: 'x' undeclared\n  3 | x;\n    | ^\na.c:3:9: note: once\nmake: *** [a.o] Error 1\n";
        assert!(shown(compiler).starts_with("a.c:3:9: error: 'x' undeclared\n"), "{}", shown(compiler));
        assert_eq!(shown(compiler).lines().count(), MESSAGE_LINES);
        assert_eq!(shown("one\n\ntwo\nthree\nfour\n"), "two\nthree\nfour");
        assert_eq!(shown("one\ntwo\nError 1\n"), "one\ntwo\nError 1");
        assert_eq!(shown(""), "");
    }
}
