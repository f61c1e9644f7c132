//! Words about a bisection: its sentences, what random layouts and reverts showed, and the result
//! of its gate.

mod remains;

pub(crate) use remains::load;

use super::is_exact;
use crate::escape::{cut, one_line};
use crate::figure;
use crate::names::{commit_at, counted, short_commit};
use crate::quantity::{QuantityChoiceWords, QuantityWords};
use crate::sheet::gate_result;
use crate::style::{Style, Tone};
use faultline_record::bisect::{Noise, Unusable};
use faultline_record::commit::{CommitLine, short_name};
use faultline_record::plan::LineSearch;
use faultline_record::quantity::Quantity;
use faultline_record::record::RunHead;
use faultline_record::subject::{BuildResult, Subject};
use faultline_stats::bisect::gate::Finding;
use faultline_stats::bisect::{BisectResult, Change, FoundStep, LayoutsTried, StepLabel};
use faultline_stats::bisect::{RevertOutcome, Share};
use faultline_stats::gate::Gate;

/// The answer in one sentence: the steps with their commits, or the smallest detectable step.
pub(crate) fn answer(found: &BisectResult, head: &RunHead, search: &LineSearch) -> (Tone, String) {
    if let Some(end) = found.unusable_end {
        return (Tone::Middling, not_searched(end, found, head, search) + ".");
    }
    let quantity = search.measure.quantity().name();
    let so_far = if found.finished { "" } else { "So far: " };
    let of_step = |step: &FoundStep| {
        let verb = if step.found { "changed" } else { "probably changed" };
        let change = step_change(step);
        let change = if change.is_empty() { change } else { format!(": {change}") };
        format!("{} {verb} {quantity}{change}", step_words(step, &search.line))
    };
    match found.steps.as_slice() {
        [] => {
            let least = found.detectable.map_or_else(String::new, |least| format!(" by {} or more", percent(least)));
            let commits = counted(search.line.last(), "commit");
            (Tone::Quiet, format!("{so_far}No single commit of {commits} is known to have changed {quantity}{least}."))
        }
        steps => {
            let all: Vec<String> = steps.iter().map(of_step).collect();
            (tone(steps), format!("{so_far}{}.", all.join("; ")))
        }
    }
}

/// Bad if a step is for the worse. Every quantity is a cost.
fn tone(steps: &[FoundStep]) -> Tone {
    let ratio = |step: &FoundStep| match (step.change, step.values) {
        (Some(change), _) => change.ratio,
        (None, Some([before, after])) if after < before => 0.0,
        (None, _) => f64::INFINITY,
    };
    if steps.iter().any(|step| ratio(step) > 1.0) { Tone::Bad } else { Tone::Good }
}

/// The sentences below the table of steps.
pub(crate) fn sentences(found: &BisectResult, head: &RunHead, search: &LineSearch) -> Vec<String> {
    let (line, quantity) = (&search.line, search.measure.quantity());
    let mut sentences = vec![match found.unusable_end {
        Some(end) => not_searched(end, found, head, search),
        None => summary(found, search),
    }];
    sentences.extend(found.steps.iter().filter(|step| step.candidates.len() > 1).map(|step| candidates(step, line)));
    sentences.extend(found.slopes.iter().map(|slope| {
        format!(
            "From {} to {} {} changed by {:+.1} %, but no step was found there: many small changes{}.",
            short_commit(line, slope.from),
            short_commit(line, slope.to),
            quantity.name(),
            100.0 * (slope.ratio - 1.0),
            if is_exact(found, search) { "" } else { ", or noise" },
        )
    }));
    sentences.extend(search.choice.and_then(QuantityChoiceWords::reason));
    sentences.extend(found.by_cpu_time.as_ref().map(|by| remains::by_cpu_time(by, line)));
    if found.unusable_end.is_none() {
        sentences.extend(remains::remains(found, search));
        sentences.extend(found.load.as_ref().map(load));
        sentences.extend(found.detectable.map(|least| detectable(least, found, head, search)));
        let within = match found.longest_unseen {
            0 => None,
            1 => Some("1 commit".to_owned()),
            several => Some(format!("up to {several} commits")),
        };
        sentences.extend(within.map(|within| {
            format!("If both ends are equal, changes that cancel out within {within} cannot be detected.")
        }));
    }
    sentences.extend(of_layouts(found, search));
    sentences.extend(of_reverts(found, search));
    if found.steps.iter().any(|step| step.label == StepLabel::Inconclusive) {
        sentences.push(inconclusive(search.search.layouts).to_owned());
    }
    sentences
}

/// The comparison of commits, and the smallest detectable step `least`.
fn detectable(least: f64, found: &BisectResult, head: &RunHead, search: &LineSearch) -> String {
    let (seed, wanted) = (head.settings.seed, percent(search.search.least));
    let detectable = format!("80 % power to detect a single step of {} or more.", percent(least));
    let exact = |why: String| format!("{why} Commits differ if their counts differ by {wanted} or more.");
    match (search.search.noise, found.ends_show) {
        (Noise::Any, _) => detectable,
        (Noise::None, _) => exact(format!(
            "Each commit was executed once under the lens, with the seed {seed}. Its count is exact, and that of one schedule: \
             if tasks contend, another seed or commit may have another count for that reason alone."
        )),
        (Noise::FromEnds, Some(Noise::None)) => exact(format!(
            "Each commit was executed once under the lens, with the seed {seed}: both ends have equal counts with the seed {}.",
            seed + 1
        )),
        (Noise::Seeds | Noise::FromEnds, _) => format!(
            "Counts depend on the seed, so each commit was executed under the lens with several seeds from {seed} on, and commits are \
             compared by all of them. {detectable}"
        ),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Possible causes of an unlabelled step. `layouts`: number of requested random layouts.
fn inconclusive(layouts: u32) -> &'static str {
    if layouts == 0 {
        "code or layout: every build changes the places of code and data in memory, which can cause a step too. \
         `--layouts 12` measures both commits in random layouts. Read the commit before you blame it."
    } else {
        "code or layout: random layouts do not decide between them. Read the commit before you blame it."
    }
}

fn summary(found: &BisectResult, search: &LineSearch) -> String {
    let line = &search.line;
    let known_steps = found.steps.iter().filter(|step| step.found).count();
    let steps = match (known_steps, found.detectable) {
        (0, Some(least)) => format!("No step of {} or more was found", percent(least)),
        (0, None) => "No step was found".to_owned(),
        (1, _) => "1 step was found".to_owned(),
        (several, _) => format!("{several} steps were found"),
    };
    let suspected = match found.steps.len() - known_steps {
        0 => String::new(),
        1 => format!(", and 1 is suspected below the level of {}", percent(search.search.level)),
        several => format!(", and {several} are suspected below the level of {}", percent(search.search.level)),
    };
    let tried = match found.trials {
        1 => "1 commit was tried".to_owned(),
        several => format!("{several} commits were tried"),
    };
    let unfinished = match found.finished {
        true => "",
        false if found.budget_used => " within the time budget",
        false => " so far; the search is not finished",
    };
    let known = match found.known {
        0 => String::new(),
        1 => " The result of 1 commit was known from earlier runs.".to_owned(),
        several => format!(" The results of {several} commits were known from earlier runs."),
    };
    let of_them = if found.known == 0 { " of them" } else { "" };
    format!(
        "{steps}{suspected}{unfinished} in {} after {} up to {}: {} of `{}`. {tried}, {}{of_them} cannot be measured; {}.{known}",
        counted(line.last(), "commit"),
        short_commit(line, 0),
        short_commit(line, line.last()),
        search.measure.quantity().name(),
        one_line(&search.artefact.words()),
        found.unusable,
        counted(found.executions, "execution"),
    )
}

fn candidates(step: &FoundStep, line: &CommitLine) -> String {
    let names: Vec<String> = step.candidates.iter().map(|&position| short_commit(line, position)).collect();
    format!(
        "The step after {} is in one of these commits, because those in between cannot be measured: {}.",
        short_commit(line, step.before),
        names.join(", ")
    )
}

/// The reason for a bisection without a search: an end of the line cannot be measured.
fn not_searched(end: u32, found: &BisectResult, head: &RunHead, search: &LineSearch) -> String {
    let line = &search.line;
    let commits = format!(
        "{} after {} up to {}",
        counted(line.last(), "commit"),
        short_commit(line, 0),
        short_commit(line, line.last())
    );
    let which = if end == 0 { "first" } else { "last" };
    let why = match subject_at(head, search, end).and_then(|subject| subject.build.as_ref()) {
        Some(BuildResult::Failed { how, output }) => {
            let output = one_line(output);
            let cited = if output.is_empty() { String::new() } else { format!(": {output}") };
            format!("cannot be built or started: {}{cited}", one_line(how))
        }
        _ => match &found.unusable_because {
            Some(outcome) => format!("does not run: {}", one_line(&crate::outcome_words(outcome))),
            None => "does not run".to_owned(),
        },
    };
    format!("Not searched: {commits}. {}, the {which} commit, {why}", short_commit(line, end))
}

fn subject_at<'a>(head: &'a RunHead, search: &LineSearch, position: u32) -> Option<&'a Subject> {
    let id = &commit_at(&search.line, position)?.id;
    head.subjects.iter().find(|subject| subject.commit.as_ref().is_some_and(|commit| commit.id == *id))
}

/// Results of random layouts for the steps.
pub(super) fn of_layouts(found: &BisectResult, search: &LineSearch) -> impl Iterator<Item = String> {
    found.steps.iter().filter_map(|step| layout_sentence(step, &search.line))
}

/// Results of reverts of the steps' commits.
pub(super) fn of_reverts(found: &BisectResult, search: &LineSearch) -> impl Iterator<Item = String> {
    found.steps.iter().filter_map(|step| revert_sentence(step, search))
}

/// The commit of a step, or the number of candidates.
pub(super) fn commit_words(step: &FoundStep, line: &CommitLine) -> String {
    match step.candidates.len() {
        0 | 1 => short_commit(line, step.after),
        several => format!("one of {several} up to {}", short_commit(line, step.after)),
    }
}

/// Exact values before and after, or the change with its interval.
pub(super) fn step_change(step: &FoundStep) -> String {
    match (step.values, &step.change) {
        (Some([before, after]), change) => {
            let percent =
                change.map_or_else(String::new, |change| format!(" ({:+.1} %)", 100.0 * (change.ratio - 1.0)));
            format!("{} → {}{percent}", count(before), count(after))
        }
        (None, Some(change)) => change_words(change),
        (None, None) => String::new(),
    }
}

/// A count: per run exact, per operation with four digits.
fn count(value: f64) -> String {
    if value.fract() == 0.0 { value.to_string() } else { figure::transfers(value) }
}

/// The change of the value with its interval.
pub(crate) fn change_words(change: &Change) -> String {
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    format!("{:+.1} % ({:+.1} … {:+.1})", percent(change.ratio), percent(change.low), percent(change.high))
}

/// A probability, never rounded up to 100 %.
pub(super) fn probability(probability: f64) -> String {
    match 100.0 * probability {
        percent if percent > 99.9 => "> 99.9 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

/// The probability of a step; one below the requested level is only suspected.
pub(super) fn step_probability(step: &FoundStep) -> String {
    let suspected = if step.found { "" } else { ", suspected" };
    format!("{}{suspected}", probability(step.probability))
}

/// The label of a step.
pub(super) fn label(label: StepLabel) -> &'static str {
    match label {
        StepLabel::Code => "code",
        StepLabel::Layout => "layout",
        StepLabel::Quirk => "environment",
        StepLabel::Inconclusive => "code or layout",
    }
}

/// The result of random layouts, if any.
fn layout_sentence(step: &FoundStep, line: &CommitLine) -> Option<String> {
    let tried = step.layouts.as_ref()?;
    let commit = short_commit(line, step.after);
    if tried.distinct == 0 {
        return Some(format!("{commit} was not measured in other layouts: {}.", why_none(tried)));
    }
    let change = match &step.under_layouts {
        Some(change) => {
            format!("the change is {}, so the step is labelled {}", change_words(change), label(step.label))
        }
        None => format!("the change has no interval; the step is labelled {}", label(step.label)),
    };
    let left_out = left_out(tried);
    let left_out = if left_out.is_empty() { left_out } else { format!(" ({left_out})") };
    Some(format!("{commit}: in {} random layouts{left_out} {change}.{}", tried.distinct, spread(tried)))
}

/// The reason why no layout could be measured.
pub(crate) fn why_none(tried: &LayoutsTried) -> String {
    if tried.unchanged == 0 {
        return format!("with {} of {} layouts a commit cannot be linked or does not run", tried.failed, tried.tried);
    }
    format!(
        "with {} of {} layouts the linker's output had the same places of code and data: the linker is not GNU ld, has its own \
         script, or has nothing to move",
        tried.unchanged, tried.tried
    )
}

/// Layouts that were tried but not measured; empty if there are none.
pub(crate) fn left_out(tried: &LayoutsTried) -> String {
    let same = tried.tried.saturating_sub(tried.distinct + tried.unchanged + tried.failed);
    let kinds = [(same, "are the same as others"), (tried.unchanged, "changed nothing"), (tried.failed, "failed")];
    let shown: Vec<String> =
        kinds.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!("{number} more {what}")).collect();
    shown.join(", ")
}

/// The spread of values between layouts and within one; empty if unknown.
pub(crate) fn spread(tried: &LayoutsTried) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    match (tried.between, tried.within) {
        (Some(between), Some(within)) => format!(
            " Standard deviation between layouts of one commit: {}; between executions of one layout: {}.",
            percent(between),
            percent(within)
        ),
        _ => String::new(),
    }
}

/// Files named.
const NAMED: usize = 3;

/// Maximum letters of a text from outside.
const LETTERS: usize = 100;

/// The result of the revert, if requested.
fn revert_sentence(step: &FoundStep, search: &LineSearch) -> Option<String> {
    search.revert.as_ref()?;
    let commit = short_commit(&search.line, step.after);
    if step.candidates.len() > 1 {
        return Some(format!("{commit} was not reverted: one of {} commits made the step.", step.candidates.len()));
    }
    let reverted = step.reverted.as_ref()?;
    let on = short_name(&reverted.on);
    Some(match &reverted.outcome {
        RevertOutcome::Measured { change, values, taken_back } => {
            let change = match (values, change) {
                (Some([without, with]), _) => format!("{without} → {with}"),
                (None, Some(change)) => change_words(change),
                (None, None) => "too few values for an interval".to_owned(),
            };
            let part = taken_back.as_ref().map_or_else(String::new, |share| {
                format!(" The revert takes back {} of the step.", share_words(share, search))
            });
            format!("{on} with {commit} reverted, measured beside {on}: {change}.{part}")
        }
        RevertOutcome::Conflict { files } => {
            format!("The revert of {commit} does not apply to {on}: {}.", conflict(files))
        }
        RevertOutcome::Empty => format!("The revert of {commit} changes nothing in {on}: it is undone there already."),
        RevertOutcome::NotBuilt { how } => {
            format!("{on} with {commit} reverted does not build: {}.", cut(&one_line(how), LETTERS))
        }
        RevertOutcome::NotRun { why } => {
            format!("{on} with {commit} reverted was built, but {}.", why_not(*why))
        }
        RevertOutcome::NothingToCompare => {
            format!("{commit} was not reverted: {on} cannot be measured.")
        }
    })
}

/// The reason why a revert does not apply.
fn conflict(files: &[String]) -> String {
    if files.is_empty() {
        return "later commits added, removed or renamed the same files".to_owned();
    }
    let named: Vec<String> = files.iter().take(NAMED).map(|file| cut(&one_line(file), LETTERS)).collect();
    let more = files.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("later commits changed the same lines of {}{more}", named.join(", "))
}

fn why_not(why: Unusable) -> &'static str {
    match why {
        Unusable::Build => "does not build",
        Unusable::Boot => "does not boot",
        Unusable::Run => "fails",
        Unusable::Hang => "does not end",
    }
}

fn share_words(share: &Share, search: &LineSearch) -> String {
    let percent = |share: f64| format!("{:.0}", 100.0 * share);
    if share.low == share.high {
        return format!("{} %", percent(share.share));
    }
    format!(
        "{} % ({} % interval: {} … {})",
        percent(share.share),
        percent(search.search.level),
        percent(share.low),
        percent(share.high)
    )
}

/// The result of a gate, for people.
pub fn bisect_gate(gate: &Gate<Finding<'_>>, search: &LineSearch, style: &Style) -> String {
    gate_text(gate, &search.line, search.measure.quantity(), style)
}

fn gate_text(gate: &Gate<Finding<'_>>, line: &CommitLine, quantity: Quantity, style: &Style) -> String {
    let (tone, text) = match gate.noted.as_slice() {
        [] => (Tone::Good, format!("no commit is known {}", quantity.to_worsen())),
        _ => (
            Tone::Middling,
            format!("but the search is inconclusive: a commit cannot be excluded {}", quantity.to_worsen()),
        ),
    };
    gate_result(gate, (tone, &text), |found| finding(found, line, quantity), style)
}

fn finding(found: &Finding<'_>, line: &CommitLine, quantity: Quantity) -> String {
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
            short_commit(line, slope.from),
            short_commit(line, slope.to),
            quantity.worse(),
            percent(slope.ratio - 1.0)
        ),
        Finding::UnusableEnd { end } => {
            format!("not searched: {} is an end of the line and cannot be measured", short_commit(line, end))
        }
        Finding::Unfinished => {
            "not searched to the end: `faultline resume` continues an open search, `--time` allows more".to_owned()
        }
        Finding::Undirected(step) => {
            format!(
                "{}: inconclusive: a step is suspected with a probability of {}, but its direction is unknown",
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
            "inconclusive: the smallest detectable change is unknown".to_owned()
        }
        Finding::PerhapsMore { probability, least } => format!(
            "inconclusive: a step of {} or more that was not found exists with a probability of {}; {}",
            percent(least),
            percent(probability),
            quantity.more_executions()
        ),
    }
}

/// The commit of a step, with its subject.
fn step_words(step: &FoundStep, line: &CommitLine) -> String {
    let subject = match step.candidates.len() {
        1 => commit_at(line, step.after).map(|commit| format!(" ({})", one_line(&commit.subject))),
        _ => None,
    };
    commit_words(step, line) + &subject.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisect::made_up_step;
    use faultline_record::commit::CommitInfo;
    use faultline_stats::bisect::{Change, Slope, StepLabel};

    fn of_tried(tried: LayoutsTried, under_layouts: Option<Change>, label: StepLabel) -> String {
        let line = CommitLine { commits: Vec::new() };
        let step = FoundStep { label, under_layouts, layouts: Some(tried), ..made_up_step() };
        layout_sentence(&step, &line).unwrap()
    }

    #[test]
    fn the_change_in_random_layouts_and_both_spreads_are_reported() {
        let tried =
            LayoutsTried { tried: 12, distinct: 9, unchanged: 1, failed: 1, between: Some(0.014), within: Some(0.008) };
        let change = Change { ratio: 1.002, low: 0.99, high: 1.01, units: 9 };
        assert_eq!(
            of_tried(tried, Some(change), StepLabel::Layout),
            ": in 9 random layouts (1 more are the same as others, 1 more changed nothing, 1 more failed) the change is +0.2 % (-1.0 … +1.0), so the \
             step is labelled layout. Standard deviation between layouts of one commit: 1.4 %; between executions of one layout: 0.8 %."
        );
    }

    #[test]
    fn layouts_that_change_nothing_are_reported() {
        let tried = LayoutsTried { tried: 2, distinct: 0, unchanged: 2, failed: 0, between: None, within: None };
        let told = of_tried(tried, None, StepLabel::Inconclusive);
        assert!(told.contains("with 2 of 2 layouts the linker's output had the same places"), "{told}");
    }

    fn line() -> CommitLine {
        let commit = |number: u32| CommitInfo {
            id: format!("{number:040}"),
            subject: format!("commit {number}"),
            ..CommitInfo::default()
        };
        CommitLine { commits: (0..4).map(commit).collect() }
    }

    fn step(change: Option<Change>) -> FoundStep {
        FoundStep { change, ..made_up_step() }
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
            "  000000000000 (commit 2): inconclusive: a step is suspected with a probability of 99.0 %, but its direction is unknown",
            "  inconclusive: 80 % power to detect a change of 9.2 % or more, but changes of 2.0 % or more were searched for; \
             allow more executions (`--repeats`) or search for larger changes (`--least`)",
            "  inconclusive: the smallest detectable change is unknown",
            "  inconclusive: a step of 2.0 % or more that was not found exists with a probability of 31.0 %; allow more executions (`--repeats`)",
            "  not searched: 000000000000 is an end of the line and cannot be measured",
            "  not searched to the end: `faultline resume` continues an open search, `--time` allows more",
        ];
        assert_eq!(gate_text(&gate, &line(), Quantity::Time, &Style::PLAIN).lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn counts_are_reported_before_and_after() {
        let told_of = |values: [f64; 2]| {
            let [before, after] = values;
            let ratio = after / before;
            let change = (before > 0.0).then_some(Change { ratio, low: ratio, high: ratio, units: 1 });
            let more = FoundStep { values: Some(values), ..step(change) };
            let gate = Gate { closed_by: vec![Finding::SlowerStep(&more)], noted: Vec::new() };
            gate_text(&gate, &line(), Quantity::Transfers, &Style::PLAIN)
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
            gate_text(&open, &line(), Quantity::Time, &Style::PLAIN),
            "gate: open, no commit is known to have made it slower\n"
        );
        let noted = Gate { noted: vec![Finding::PerhapsMore { probability: 0.31, least: 0.02 }], ..open };
        let words = gate_text(&noted, &line(), Quantity::Time, &Style::PLAIN);
        assert!(words.starts_with("gate: open, but the search is inconclusive"), "{words}");
        assert!(
            words.contains("\n  passes: inconclusive: a step of 2.0 % or more that was not found exists"),
            "{words}"
        );
    }
}
