//! Sentences around the table of a comparison: the legend, how an early-stopping comparison ended,
//! and the cautions.

use super::change::{Change, level, percent};
use super::words;
use crate::escape::one_line;
use crate::sentences;
use crate::style::Signs;
use crate::table::Form;
use faultline_record::direction::Direction;
use faultline_stats::comparison::{ComparedWorkload, Comparison, Ended, Look, Sequential};
use faultline_stats::workload_comparison::{Answer, Caution, CautionCode, Inconclusive, Unit};

/// The legend of a table in this form, without sentences that do not apply to the comparison.
pub(crate) fn sentences(compared: &Comparison, form: Form, signs: &Signs) -> Vec<String> {
    let mut sentences = Vec::new();
    if compared.workloads.is_empty() {
        return sentences;
    }
    sentences.push(medians(compared));
    sentences.push(format!(
        "change: of cost, worse is positive: for times B/A {minus} 1, for rates A/B {minus} 1, estimated from pairs of \
         values. The ratio of the medians may differ slightly.",
        minus = signs.minus
    ));
    sentences.push(better(compared));
    sentences.extend(intervals(compared, form));
    sentences.extend(correction(compared));
    sentences.extend(equality(compared, signs));
    if has(compared, Answer::Inconclusive) {
        sentences.push("inconclusive: neither a difference nor equality was shown.".to_owned());
    }
    if compared.workloads.iter().any(|workload| workload.comparison.inconclusive == Some(Inconclusive::NotInterleaved))
    {
        sentences.push(
            "not interleaved: compare live (`faultline compare './old' './new'`), or add `--assume-quiet` if nothing else ran on the machine."
                .to_owned(),
        );
    }
    if compared.workloads.iter().any(|workload| workload.comparison.inconclusive == Some(Inconclusive::TooNoisy)) {
        sentences.push("too noisy: `faultline check` shows what disturbs the machine.".to_owned());
    }
    if words::has_figures(compared) {
        sentences.push(
            "Further figures: change as above. They are corrected among themselves and change no answer and no gate."
                .to_owned(),
        );
    }
    if compared.workloads.iter().any(|workload| workload.details.by_cpu_time.is_some()) {
        let level = compared.sequential.as_ref().map_or(compared.level, |sequential| sequential.level);
        sentences.push(format!(
            "by CPU time: of the same executions, tested as a suite of its own with a familywise false-positive rate of at most {}. \
             It changes no answer and no gate; `--by cpu-time` decides by it.",
            percent(1.0 - level)
        ));
    }
    if compared.workloads.iter().any(|workload| words::system(&workload.details, signs).is_some()) {
        sentences.push("system: kernel's share of the tasks' own CPU time, median on A and on B.".to_owned());
    }
    sentences
}

/// The meaning of equal.
fn equality(compared: &Comparison, signs: &Signs) -> Option<String> {
    let first = compared.workloads.first().filter(|_| has(compared, Answer::Equal))?;
    let margin = words::margin(&first.comparison, signs);
    Some(format!("equal within {margin}: the interval lies within that margin."))
}

fn has(compared: &Comparison, answer: Answer) -> bool {
    compared.workloads.iter().any(|workload| workload.comparison.answer == answer)
}

fn medians(compared: &Comparison) -> String {
    let is = |unit| compared.workloads.iter().any(|workload| workload.comparison.independent == unit);
    if !is(Unit::Boot) && !is(Unit::Run) {
        return "A, B: medians over n summaries, each another tool's figure for several runs.".to_owned();
    }
    let unit = match (is(Unit::Boot), is(Unit::Run)) {
        (true, false) => "a boot's value being the median of its runs",
        (false, _) => "a run's value being the median of its intervals",
        (true, true) => "a run's value being the median of its intervals, a boot's that of its runs",
    };
    format!("A, B: medians over n runs or boots, {unit}.")
}

/// The better direction.
fn better(compared: &Comparison) -> String {
    let is_lower = |workload: &&ComparedWorkload| workload.comparison.direction == Direction::Lower;
    let lower: Vec<String> = compared.workloads.iter().filter(is_lower).map(words::name).collect();
    match lower.len() {
        0 => "Higher is better everywhere.".to_owned(),
        all if all == compared.workloads.len() => "Lower is better everywhere.".to_owned(),
        _ => format!("Lower is better for {}, higher for the rest.", words::list(&lower)),
    }
}

/// The changes of all workloads.
fn changes(compared: &Comparison) -> impl Iterator<Item = Change> {
    compared.workloads.iter().filter_map(|workload| Change::of(&workload.comparison))
}

/// The common level of all intervals, if they have one.
pub(crate) fn shared_level(compared: &Comparison) -> Option<f64> {
    let mut levels = changes(compared).map(|change| change.level);
    let first = levels.next()?;
    levels.all(|other| (other - first).abs() < 1e-9).then_some(first)
}

/// True if the intervals have different levels.
pub(crate) fn levels_differ(compared: &Comparison) -> bool {
    shared_level(compared).is_none() && changes(compared).next().is_some()
}

/// The coverage of the intervals. Different levels have a column of their own.
fn intervals(compared: &Comparison, form: Form) -> Option<String> {
    changes(compared).next()?;
    let interval = match form {
        Form::Narrow => "interval: the longer half-width follows the change;",
        Form::Wide | Form::Medium | Form::Markdown | Form::Page => "interval:",
    };
    Some(match shared_level(compared) {
        Some(shared) => format!("{interval} covers the true change with a probability of {}.", level(shared)),
        None => format!("{interval} covers the true change with the probability in the column level."),
    })
}

/// The correction for several workloads; `None` for one workload.
pub(crate) fn correction(compared: &Comparison) -> Option<String> {
    let workloads = compared.workloads.len();
    (workloads > 1).then(|| {
        format!(
            "Answers are corrected for {workloads} workloads: {} familywise confidence level, for differences and for equalities each.",
            level(compared.level)
        )
    })
}

/// The end of a comparison with interim looks: `Ended after 12 of at most 48 blocks, at look 4 of
/// 9: …`.
pub(crate) fn sequential(sequential: &Sequential) -> String {
    let at_most = sequential.looks.last().map_or(0, |look| look.blocks);
    let planned = sequential.looks.len();
    let place = match last_look(sequential) {
        // Later looks are unknown: the time budget moved the last look.
        Some(look) if sequential.ended == Ended::Budget => {
            format!("Ended after {} blocks, at look {}", look.blocks, sequential.taken)
        }
        Some(look) => {
            format!(
                "Ended after {} of at most {at_most} blocks, at look {} of {planned}",
                look.blocks, sequential.taken
            )
        }
        None => format!("Before the first of {planned} looks, with at most {at_most} blocks planned"),
    };
    let kept = format!(
        "The familywise false-positive rate over all workloads and interim looks is at most {}, for differences and for equalities each.",
        percent(1.0 - sequential.level)
    );
    format!("{place}: {}. {kept}", why(sequential))
}

/// The look that gave the answers.
fn last_look(sequential: &Sequential) -> Option<&Look> {
    sequential.looks.get((sequential.taken as usize).checked_sub(1)?)
}

/// The reason for the end.
fn why(sequential: &Sequential) -> &'static str {
    match sequential.ended {
        Ended::Settled if sequential.taken as usize == sequential.looks.len() => "all planned blocks were measured",
        Ended::Settled => "each measurable workload had its answer, a difference or equality",
        Ended::Budget => "the time budget was used up",
        Ended::Planned => "all planned blocks were measured",
        Ended::Stopped => "it was stopped, or is still running",
    }
}

/// A caution with the names of its workloads; without names if it concerns all.
pub(crate) struct Grouped {
    /// Code.
    pub(crate) code: CautionCode,
    /// Text.
    pub(crate) text: String,
    /// Workloads concerned.
    pub(crate) names: Option<String>,
}

/// Each caution once, in the order of the codes, without those that the answers mention.
pub(crate) fn cautions(compared: &Comparison) -> Vec<Grouped> {
    let mut groups: Vec<(CautionCode, String, Vec<String>)> = Vec::new();
    for workload in &compared.workloads {
        let comparison = &workload.comparison;
        for caution in comparison.cautions.iter().filter(|caution| !words::is_reason(comparison, caution)) {
            let (name, said) = (words::name(workload), sentences::caution(&greatest(compared, caution)));
            match groups.iter_mut().find(|(code, text, _)| *code == caution.code() && *text == said) {
                Some((_, _, names)) => names.push(name),
                None => groups.push((caution.code(), said, vec![name])),
            }
        }
    }
    groups.sort_by_key(|(code, _, _)| *code);
    let all = compared.workloads.len();
    let named = |(code, text, names): (CautionCode, String, Vec<String>)| Grouped {
        code,
        text: one_line(&text),
        names: (names.len() < all).then(|| words::list(&names)),
    };
    groups.into_iter().map(named).collect()
}

/// Load and steal cautions with the greatest figures of all workloads, so each is shown once. Other
/// cautions are unchanged.
fn greatest(compared: &Comparison, caution: &Caution) -> Caution {
    let most = |figures: fn(&Caution) -> Option<[Option<f64>; 2]>| {
        let cautions = compared.workloads.iter().flat_map(|workload| &workload.comparison.cautions);
        let all = cautions.filter_map(|caution| figures(caution));
        all.fold([None, None], |most: [Option<f64>; 2], these| {
            [0, 1].map(|side| most[side].into_iter().chain(these[side]).reduce(f64::max))
        })
    };
    match caution {
        Caution::Load { .. } => {
            let [a, b] = most(|caution| if let Caution::Load { a, b } = caution { Some([*a, *b]) } else { None });
            Caution::Load { a, b }
        }
        Caution::Steal { .. } => {
            let [a, b] = most(|caution| if let Caution::Steal { a, b } = caution { Some([*a, *b]) } else { None });
            Caution::Steal { a, b }
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(taken: u32, ended: Ended) -> Sequential {
        let looks = (1..=9).map(|look| Look { blocks: look * 5 + 3, alpha: 0.005 }).collect();
        Sequential { level: 0.95, looks, taken, ended }
    }

    #[test]
    fn the_end_is_reported_with_its_reason_and_the_level() {
        let text = sequential(&ended(4, Ended::Settled));
        assert!(
            text.starts_with("Ended after 23 of at most 48 blocks, at look 4 of 9: each measurable workload"),
            "{text}"
        );
        assert!(
            text.contains("a difference or equality. The familywise false-positive rate")
                && text.contains("at most 5 %"),
            "{text}"
        );
    }

    #[test]
    fn an_end_before_any_look_is_one() {
        for taken in [0, 10] {
            let text = sequential(&ended(taken, Ended::Stopped));
            assert!(text.starts_with("Before the first of 9 looks, with at most 48"), "{text}");
        }
        let none = Sequential { looks: Vec::new(), ..ended(0, Ended::Budget) };
        assert!(sequential(&none).contains("the time budget was used up"));
    }
}
