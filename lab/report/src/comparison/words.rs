//! Words about a comparison, equal in text, Markdown and on pages, and the result of its gate.

use super::change::{Change, chance, level, percent};
use crate::escape::{cut, one_line};
use crate::figure::Scale;
use crate::run::words::counted;
use crate::sheet::gate_result;
use crate::style::{Signs, Style, Tone};
use crate::{figure, sentences};
use faultline_stats::comparison::{
    ComparedWorkload, Comparison, CounterDifference, Described, Details, UntestedFigure, UntestedReason,
};
use faultline_stats::gate::{Finding, Gate};
use faultline_stats::workload_comparison::{Answer, Caution, CautionCode, Inconclusive, Unit, WorkloadComparison};

/// Names listed; the others are counted.
const NAMED: usize = 4;

/// The title of a comparison: `before → after`.
pub(crate) fn title(compared: &Comparison, signs: &Signs) -> String {
    format!("{} {} {}", one_line(&compared.a.name), signs.arrow, one_line(&compared.b.name))
}

/// Letters of a side's name in a sentence.
const SIDE_LETTERS: usize = 40;

/// The answer in one sentence.
pub(crate) fn sentence(compared: &Comparison, signs: &Signs) -> (Tone, String) {
    let [a, b] = [&compared.a, &compared.b].map(|side| cut(&one_line(&side.name), SIDE_LETTERS));
    let all = &compared.workloads;
    let has = |answer: Answer| all.iter().any(|workload| workload.comparison.answer == answer);
    let tone = match [Answer::Slower, Answer::Faster, Answer::Inconclusive].into_iter().find(|answer| has(*answer)) {
        Some(answer) => answer_tone(answer),
        None => Tone::Quiet,
    };
    let sentence = match all.as_slice() {
        [] => "The sides have nothing in common".to_owned(),
        [one] => {
            let comparison = &one.comparison;
            match comparison.answer {
                Answer::Faster | Answer::Slower => {
                    let word = answer_word(comparison.answer);
                    format!("{b} is {word} than {a}: {}", basis(comparison, signs))
                }
                Answer::Equal => {
                    let margin = margin(comparison, signs);
                    format!("{b} and {a} are equal within {margin}: {}", basis(comparison, signs))
                }
                Answer::Inconclusive => format!("{b} against {a}: {}", answer_of(one, signs)),
            }
        }
        _ => {
            let greatest = greatest(compared, signs).map_or_else(String::new, |greatest| format!("; most: {greatest}"));
            format!("{b} against {a}, {} workloads: {}{greatest}", all.len(), tally(compared, signs))
        }
    };
    (tone, sentence.trim_end_matches('.').to_owned() + ".")
}

/// The workload with the greatest change among those that differ: `zero_fill:base at 4 tasks
/// −11.1 %`.
fn greatest(compared: &Comparison, signs: &Signs) -> Option<String> {
    let differs = |workload: &&ComparedWorkload| matches!(workload.comparison.answer, Answer::Faster | Answer::Slower);
    let changes = compared.workloads.iter().filter(differs).filter_map(|workload| {
        Some((workload, Change::of(&workload.comparison).filter(|change| change.value.is_finite())?))
    });
    let (workload, change) = changes.max_by(|(_, a), (_, b)| a.value.abs().total_cmp(&b.value.abs()))?;
    Some(format!("{} {}", name(workload), change.words(signs)))
}

/// The set-up of a side; `None` if unknown, as for results of other tools.
pub(crate) fn setup(side: &Described) -> Option<String> {
    match side.setup.is_empty() {
        true => side.run.map(|_| "no changes to the machine".to_owned()),
        false => Some(one_line(&side.setup.join("; "))),
    }
}

/// The run of a side and its start: `run 12, began 2026-11-21 09:18 UTC`; `None` if neither is
/// known.
pub(crate) fn origin(side: &Described) -> Option<String> {
    let run = side.run.map(|run| format!("run {run}"));
    let began = side.started.map(|at| format!("began {}", figure::date_time(at)));
    let parts: Vec<String> = [run, began].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// A side in one line, without its letter, and without a machine that both sides share
/// ([`machine`]).
pub(crate) fn side(compared: &Comparison, side: &Described) -> String {
    let own = side.machine.as_ref().filter(|_| machine(compared).is_none()).map(|machine| one_line(machine));
    let parts: Vec<String> = [setup(side), own, origin(side)].into_iter().flatten().collect();
    let name = one_line(&side.name);
    if parts.is_empty() { name } else { format!("{name}: {}", parts.join("; ")) }
}

/// The common machine of both sides, if they share one.
pub(crate) fn machine(compared: &Comparison) -> Option<String> {
    compared.a.machine.as_ref().filter(|machine| compared.b.machine.as_ref() == Some(machine)).map(|m| one_line(m))
}

/// A workload with its number of tasks: `zero_fill:base at 4 tasks`.
pub(crate) fn name(workload: &ComparedWorkload) -> String {
    with_tasks(&workload.comparison.name, workload.details.tasks)
}

fn with_tasks(name: &str, tasks: Option<u32>) -> String {
    let name = one_line(name);
    match tasks {
        Some(1) => format!("{name} at 1 task"),
        Some(tasks) => format!("{name} at {tasks} tasks"),
        None => name,
    }
}

/// An answer in a word.
pub(crate) fn answer_word(answer: Answer) -> &'static str {
    match answer {
        Answer::Faster => "faster",
        Answer::Slower => "slower",
        Answer::Equal => "equal",
        Answer::Inconclusive => "inconclusive",
    }
}

/// The reason for no answer, for files: `past-margin`.
pub(crate) fn inconclusive_word(why: Inconclusive) -> &'static str {
    match why {
        Inconclusive::FewValues => "few-values",
        Inconclusive::Failures => "failures",
        Inconclusive::ConfoundedBoots => "confounded-boots",
        Inconclusive::NotInterleaved => "not-interleaved",
        Inconclusive::TooNoisy => "too-noisy",
        Inconclusive::PastMargin => "past-margin",
    }
}

/// An answer for people: `faster`, `equal within ±2 %`.
pub(crate) fn answer_words(comparison: &WorkloadComparison, signs: &Signs) -> String {
    match comparison.answer {
        Answer::Equal => format!("equal within {}", margin(comparison, signs)),
        answer => answer_word(answer).to_owned(),
    }
}

/// The margin of equality: `±2 %`.
pub(crate) fn margin(comparison: &WorkloadComparison, signs: &Signs) -> String {
    format!("{}{}", signs.plus_minus, percent(comparison.margin))
}

/// The tone of an answer.
pub(crate) fn answer_tone(answer: Answer) -> Tone {
    match answer {
        Answer::Faster => Tone::Good,
        Answer::Slower => Tone::Bad,
        Answer::Equal => Tone::Quiet,
        Answer::Inconclusive => Tone::Middling,
    }
}

/// An answer with its basis, or the reason for no answer.
pub(crate) fn answer(comparison: &WorkloadComparison, signs: &Signs) -> String {
    format!("{}: {}", answer_words(comparison, signs), basis(comparison, signs))
}

/// The answer about a workload; beside an inconclusive one, that of its CPU time.
pub(crate) fn answer_of(workload: &ComparedWorkload, signs: &Signs) -> String {
    let by_cpu_time = by_cpu_time(&workload.details, signs).map(|text| format!("; {text}"));
    answer(&workload.comparison, signs) + &by_cpu_time.unwrap_or_default()
}

/// The answer of the CPU time beside an inconclusive one: `by CPU time slower: +5.1 % (…), p
/// 0.0012`.
pub(crate) fn by_cpu_time(details: &Details, signs: &Signs) -> Option<String> {
    details.by_cpu_time.as_ref().map(|cpu_time| format!("by CPU time {}", answer(cpu_time, signs)))
}

/// The basis of an answer: `+12.3 % (+11.0 … +13.6 %), p 0.0012`; or the reason for no answer.
pub(crate) fn basis(comparison: &WorkloadComparison, signs: &Signs) -> String {
    match (comparison.answer, comparison.inconclusive) {
        (Answer::Faster | Answer::Slower, _) => {
            let p = comparison.p_corrected.map(|p| format!("p {}", chance(p)));
            let margin = comparison.within_margin.then(|| format!("within {}", margin(comparison, signs)));
            [change(comparison, signs), p, margin].into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
        (Answer::Equal, _) => change(comparison, signs).unwrap_or_default(),
        (Answer::Inconclusive, Some(why)) => reason(comparison, why, signs),
        (Answer::Inconclusive, None) => "unknown reason".to_owned(),
    }
}

/// The change with its interval: `+12.3 % (+11.0 … +13.6 %)`.
fn change(comparison: &WorkloadComparison, signs: &Signs) -> Option<String> {
    Change::of(comparison).map(|change| format!("{} ({})", change.words(signs), change.span(signs)))
}

/// The answer of each workload. Workloads with equal answers are named together. `with_system`: no
/// column shows the shares of system time.
pub(crate) fn answers(compared: &Comparison, signs: &Signs, with_system: bool) -> Vec<String> {
    let mut told: Vec<(String, Vec<String>)> = Vec::new();
    for workload in &compared.workloads {
        let system = system(&workload.details, signs).filter(|_| with_system);
        let system = system.map_or_else(String::new, |system| format!("; system {system}"));
        let text = format!("{}{system}", answer_of(workload, signs));
        let name = name(workload);
        match told.iter_mut().find(|(other, _)| *other == text) {
            Some((_, names)) => names.push(name),
            None => told.push((text, vec![name])),
        }
    }
    told.into_iter().map(|(text, names)| format!("{} {} {text}", list(&names), signs.dash)).collect()
}

/// The smallest change detectable with 80 % power: `1.3 %`.
pub(crate) fn detectable(comparison: &WorkloadComparison) -> Option<String> {
    let percent = comparison.detectable.filter(|ratio| ratio.is_finite()).map(|ratio| (ratio - 1.0) * 100.0)?;
    Some(match percent {
        _ if percent < 0.01 => "0.01 %".to_owned(),
        _ if percent < 1.0 => format!("{percent:.2} %"),
        _ if percent < 100.0 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    })
}

/// The reason for an inconclusive workload.
fn reason(comparison: &WorkloadComparison, why: Inconclusive, signs: &Signs) -> String {
    match why {
        Inconclusive::FewValues | Inconclusive::ConfoundedBoots => caution_texts(comparison),
        Inconclusive::Failures => "executions failed, and the others may be a biased selection".to_owned(),
        Inconclusive::NotInterleaved => {
            let change = change(comparison, signs).unwrap_or_default();
            format!("not interleaved; {change} holds only if the machine was equally busy during both sides")
        }
        Inconclusive::TooNoisy => {
            let span = Change::of_ratio(comparison).map(|change| format!(" ({})", change.span(signs)));
            format!("the machine is too noisy, the interval says nothing{}", span.unwrap_or_default())
        }
        Inconclusive::PastMargin => {
            let change = change(comparison, signs).unwrap_or_default();
            format!("{change} reaches past {}; {}", margin(comparison, signs), power(comparison))
        }
    }
}

/// The power of a comparison.
pub(crate) fn power(comparison: &WorkloadComparison) -> String {
    match detectable(comparison) {
        Some(least) => format!("80 % power to detect a change of {least} or more"),
        None => "the smallest detectable change is unknown".to_owned(),
    }
}

/// The cautions that explain why there is no answer.
fn caution_texts(comparison: &WorkloadComparison) -> String {
    let reasons = comparison.cautions.iter().filter(|caution| is_reason(comparison, caution));
    let texts: Vec<String> = reasons.map(|caution| one_line(&sentences::caution(caution))).collect();
    if texts.is_empty() { "there are too few values".to_owned() } else { texts.join(" ") }
}

/// True for a caution that explains why there is no answer.
pub(super) fn is_reason(comparison: &WorkloadComparison, caution: &Caution) -> bool {
    match comparison.inconclusive {
        Some(Inconclusive::FewValues) => caution.code() == CautionCode::FewUnits,
        Some(Inconclusive::ConfoundedBoots) => matches!(caution.code(), CautionCode::FewUnits | CautionCode::OneBoot),
        _ => false,
    }
}

/// The number of answers of each kind: `1 faster, 2 equal within ±2 %`.
pub(crate) fn tally(compared: &Comparison, signs: &Signs) -> String {
    let parts: Vec<String> =
        counts(compared).into_iter().map(|(first, count)| format!("{count} {}", answer_words(first, signs))).collect();
    parts.join(", ")
}

/// The first workload with each answer, and the number of workloads with it.
pub(crate) fn counts(compared: &Comparison) -> Vec<(&WorkloadComparison, usize)> {
    let of = |answer: Answer| {
        let mut same =
            compared.workloads.iter().map(|workload| &workload.comparison).filter(|one| one.answer == answer);
        same.next().map(|first| (first, 1 + same.count()))
    };
    [Answer::Faster, Answer::Slower, Answer::Equal, Answer::Inconclusive].into_iter().filter_map(of).collect()
}

/// The geometric mean of all changes; `None` for fewer than two workloads.
pub(crate) fn overall(compared: &Comparison, signs: &Signs) -> Option<String> {
    let workloads = compared.workloads.len();
    if workloads < 2 {
        return None;
    }
    Some(match compared.improvement.map(Change::of_improvement) {
        Some(change) => format!(
            "Overall: {} ({} at {}), geometric mean over {workloads} workloads",
            change.words(signs),
            change.span(signs),
            level(change.level)
        ),
        None => "Overall: none, as not every workload has an estimate that holds".to_owned(),
    })
}

/// Number and kind of independent values on each side: `12 + 12 runs`.
pub(crate) fn units(comparison: &WorkloadComparison) -> String {
    let unit = match comparison.independent {
        Unit::Boot => "boots",
        Unit::Run => "runs",
        Unit::Summary => "summaries",
    };
    format!("{} + {} {unit}", comparison.a.units, comparison.b.units)
}

/// A workload's further figures: `CPU time: 24.1 → 24.8 ms, +2.9 % (+2.1 … +3.6 %): more`.
pub(crate) fn figures(details: &Details, signs: &Signs) -> Vec<String> {
    details.figures.iter().map(|figure| figure_words(figure, signs)).collect()
}

/// True if any workload has further figures.
pub(crate) fn has_figures(compared: &Comparison) -> bool {
    compared.workloads.iter().any(|workload| !workload.details.figures.is_empty())
}

fn figure_words(figure: &WorkloadComparison, signs: &Signs) -> String {
    let [a, b] = medians(figure, &one_line(&figure.unit), signs);
    let is_shown = figure.inconclusive.is_none_or(Inconclusive::has_estimate);
    let change = Change::of_ratio(figure).filter(|_| is_shown);
    let change = change.map(|change| format!(", {} ({})", change.words(signs), change.span(signs)));
    let answer = match (figure.answer, figure.inconclusive) {
        (Answer::Faster | Answer::Slower, _) => moved(figure).to_owned(),
        (_, Some(Inconclusive::FewValues | Inconclusive::ConfoundedBoots)) => "inconclusive".to_owned(),
        (_, Some(Inconclusive::Failures)) => "inconclusive, executions failed".to_owned(),
        (_, Some(Inconclusive::TooNoisy)) => "inconclusive, the interval is too wide".to_owned(),
        (_, Some(Inconclusive::NotInterleaved)) => "inconclusive, not interleaved".to_owned(),
        (_, Some(Inconclusive::PastMargin)) => {
            format!("inconclusive, the interval reaches past {}", margin(figure, signs))
        }
        (_, None) => answer_words(figure, signs),
    };
    format!("{}: {a} {} {b}{}: {answer}", figure_name(&figure.name), signs.arrow, change.unwrap_or_default())
}

/// The direction of a figure that differs.
fn moved(figure: &WorkloadComparison) -> &'static str {
    if figure.ratio.is_some_and(|ratio| ratio.value > 1.0) { "more" } else { "less" }
}

/// The name of a further figure.
fn figure_name(name: &str) -> String {
    match name {
        "cpu_s" => "CPU time".to_owned(),
        "real_s" => "time".to_owned(),
        "user_s" => "user time".to_owned(),
        "system_s" => "system time".to_owned(),
        "largest_process_bytes" => "memory of the largest process".to_owned(),
        other => one_line(other),
    }
}

/// Both medians, in a common scale if they differ by less than a factor of 10.
pub(crate) fn medians(comparison: &WorkloadComparison, unit: &str, signs: &Signs) -> [String; 2] {
    in_one_scale([comparison.a.median, comparison.b.median], unit, signs)
}

/// An untested figure: `sort user: 1.20 → 1.22 s (a side has a single value)`.
pub(crate) fn untested(figure: &UntestedFigure, signs: &Signs) -> String {
    let [a, b] = in_one_scale([figure.a, figure.b], &one_line(&figure.unit), signs);
    let reason = match figure.reason {
        UntestedReason::SingleValue => "a side has a single value",
        UntestedReason::NoRatio => "some values are 0, or too small or large for a ratio",
    };
    let further = figure.figure.as_deref().map(|name| format!(", {}", figure_name(name))).unwrap_or_default();
    format!("{}{further}: {a} {} {b} ({reason})", with_tasks(&figure.name, figure.tasks), signs.arrow)
}

fn in_one_scale(medians: [f64; 2], unit: &str, signs: &Signs) -> [String; 2] {
    let greater = medians[0].abs().max(medians[1].abs());
    let shared = medians.iter().all(|median| median.abs() * 10.0 > greater);
    medians.map(|median| match median.is_finite() {
        true => Scale::of(if shared { greater } else { median }, unit, signs).quantity(median),
        false => signs.none.to_owned(),
    })
}

/// The kernel's shares of the tasks' CPU time: `38.2 → 31.0 %`; `None` if neither is known.
pub(crate) fn system(details: &Details, signs: &Signs) -> Option<String> {
    Some(match details.system_share.map(|share| share.map(|share| share.median * 100.0)) {
        [Some(a), Some(b)] => format!("{a:.1} {} {b:.1} %", signs.arrow),
        [Some(a), None] => format!("{a:.1} % {} {}", signs.arrow, signs.none),
        [None, Some(b)] => format!("{} {} {b:.1} %", signs.none, signs.arrow),
        [None, None] => return None,
    })
}

/// The ratio B/A of a counter; `None` if it is not finite.
pub(crate) fn counter_ratio(counter: &CounterDifference) -> Option<f64> {
    Some(counter.b / counter.a).filter(|ratio| ratio.is_finite())
}

/// The first few names, and the number of others.
pub(crate) fn list(names: &[String]) -> String {
    match names.len() {
        more if more > NAMED => format!("{}, and {} more", names[..NAMED].join(", "), more - NAMED),
        _ => names.join(", "),
    }
}

/// The failures of each side: `A, zero_fill:base at 4 tasks: mmap: Cannot allocate memory (2×)`.
pub(crate) fn failures(compared: &Comparison, signs: &Signs) -> Vec<String> {
    let mut texts = Vec::new();
    for workload in &compared.workloads {
        for (letter, failures) in ["A", "B"].into_iter().zip(&workload.details.failures) {
            for failure in counted(failures, signs) {
                texts.push(format!("{letter}, {}: {failure}", name(workload)));
            }
        }
    }
    texts
}

/// The result of a gate, for people.
pub fn comparison_gate(gate: &Gate<Finding<'_>>, style: &Style) -> String {
    let (tone, text) = open_gate(gate);
    gate_result(gate, (tone, &text), |found| finding(found, style.signs()), style)
}

/// Tone and words of an open gate; inconclusive workloads that pass are mentioned.
fn open_gate(gate: &Gate<Finding<'_>>) -> (Tone, String) {
    let workloads = match gate.noted.iter().filter(|found| matches!(found, Finding::Inconclusive(_))).count() {
        0 => return (Tone::Good, "nothing is slower by more than the margin".to_owned()),
        1 => "1 inconclusive workload".to_owned(),
        count => format!("{count} inconclusive workloads"),
    };
    (Tone::Middling, format!("but {workloads} may be slower by more than the margin"))
}

fn finding(found: &Finding<'_>, signs: &Signs) -> String {
    match found {
        Finding::Slower(workload) | Finding::SlowerWithinMargin(workload) => named_answer(workload, signs),
        Finding::Inconclusive(workload) => {
            // The reason `PastMargin` already states the power.
            let comparison = &workload.comparison;
            let has_it = comparison.detectable.is_none() || comparison.inconclusive == Some(Inconclusive::PastMargin);
            let power = (!has_it).then(|| format!("; {}", power(comparison)));
            format!(
                "{}: {}{}{}",
                name(workload),
                answer(comparison, signs),
                power.unwrap_or_default(),
                by_cpu_time(&workload.details, signs).map_or_else(String::new, |text| format!("; {text}"))
            )
        }
        Finding::Unmatched(unmatched) => format!("not compared: {}", one_line(&sentences::unmatched(unmatched))),
    }
}

fn named_answer(workload: &ComparedWorkload, signs: &Signs) -> String {
    format!("{}: {}", name(workload), answer_of(workload, signs))
}
