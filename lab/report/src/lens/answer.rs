//! The answer of a lens run in one sentence: what moves between CPUs, where, and what to do.

use super::words::{cpus, data, place, tone};
use crate::escape::one_line;
use crate::figure;
use crate::style::Tone;
use faultline_stats::lens::summary::{LensCurve, LensPoint, LensSummary, LensVerdict, LineFigures};

/// Transfers per operation below which a case has none worth a fix.
const FEW_TRANSFERS: f64 = 0.01;

/// Share of all transfers below which a line or a place in code does not matter.
const LEAST_SHARE: f64 = 0.01;

/// Lines or places listed although none matters.
const AT_LEAST: usize = 3;

/// Share of a line's transfers from which its false sharing is the problem.
const MOSTLY: f64 = 0.5;

/// Share of a line's transfers from which its false sharing is named beside true sharing.
const PARTLY: f64 = 0.1;

/// The answer. With several cases, that of the case with the most transfers per operation.
pub(crate) fn answer(lens: &LensSummary) -> (Tone, String) {
    let most = |curve: &LensCurve| at_most_cpus(curve).and_then(transfers).unwrap_or(-1.0);
    let Some(curve) = lens.curves.iter().max_by(|a, b| most(a).total_cmp(&most(b))) else {
        return (Tone::Quiet, "There are no figures yet.".to_owned());
    };
    let (tone, sentence) = of_curve(curve);
    let several = lens.curves.len() > 1 && tone != Tone::Quiet;
    let case = several.then(|| format!("{} has the most transfers of {} cases: ", curve.case, lens.curves.len()));
    (tone, one_line(&(case.unwrap_or_default() + &sentence)))
}

/// The point with the most CPUs among those with a figure.
fn at_most_cpus(curve: &LensCurve) -> Option<&LensPoint> {
    curve.points.iter().rev().find(|point| point.transfers.is_some())
}

fn transfers(point: &LensPoint) -> Option<f64> {
    point.transfers.map(|transfers| transfers.median)
}

fn of_curve(curve: &LensCurve) -> (Tone, String) {
    let operation = one_line(&curve.operation);
    let Some((point, all)) = at_most_cpus(curve).and_then(|point| Some((point, transfers(point)?))) else {
        return (Tone::Quiet, "No execution gave a figure.".to_owned());
    };
    let at = cpus(point.cpus);
    if point.cpus == 1 {
        return (Tone::Quiet, format!("Only {at} was counted, and lines move between CPUs: count 2 or more."));
    }
    if all < FEW_TRANSFERS {
        let few = figure::transfers(all);
        return (Tone::Good, format!("No line matters: {few} transfers per {operation} at {at}."));
    }
    let extent = extent(curve, point, all, &operation);
    // The case's own verdict decides whether anything is worth a fix.
    let tone = match tone(curve) {
        Tone::Good => return (Tone::Good, format!("{extent}; they cost little.")),
        Tone::Quiet => Tone::Bad,
        tone => tone,
    };
    let Some(first) = point.lines.first() else { return (tone, format!("{extent}.")) };
    let sentence = match first.false_share >= MOSTLY {
        true => false_sharing(first, point),
        false => true_sharing(first),
    };
    (tone, format!("{extent}; {sentence}"))
}

/// The transfers, with their change over CPUs if it is known up to this point.
fn extent(curve: &LensCurve, point: &LensPoint, all: f64, operation: &str) -> String {
    let (at, all) = (cpus(point.cpus), figure::transfers(all));
    let verb = match curve.verdict {
        LensVerdict::Grows { .. } => "grow",
        LensVerdict::Falls { .. } => "fall",
        _ => return format!("{all} transfers per {operation} at {at}"),
    };
    match curve.verdict.reach().filter(|reach| reach.to_cpus == point.cpus) {
        Some(reach) => {
            let from = figure::transfers(reach.from);
            format!("Transfers per {operation} {verb} from {from} at {} to {all} at {at}", cpus(reach.from_cpus))
        }
        None => format!("{all} transfers per {operation} at {at}"),
    }
}

/// The lines that the same code moves by false sharing, with the first of them named.
fn false_sharing(first: &LineFigures, point: &LensPoint) -> String {
    let mover = |line: &LineFigures| line.code.first().map(|code| code.name.clone());
    let alike = matter(&point.lines, |line| line.share)
        .iter()
        .filter(|line| line.false_share >= MOSTLY && mover(line) == mover(first));
    let (lines, share) =
        alike.fold((0, 0.0), |(lines, share), line| (lines + 1, share + line.share * line.false_share));
    let shared = match (lines, first.held.len()) {
        (..=1, ..=1) => format!("different bytes of one cache line ({})", data(first)),
        (..=1, several) => format!("{several} items on one cache line ({})", data(first)),
        (several, _) => format!("items on {several} cache lines (the first: {})", data(first)),
    };
    format!(
        "{} of them are false sharing of {shared}{}: align each to a cache line of its own, or keep one per CPU.",
        figure::percent(share),
        by(first)
    )
}

fn true_sharing(first: &LineFigures) -> String {
    let part = (first.false_share >= PARTLY)
        .then(|| format!(" ({} of that by false sharing)", figure::percent(first.false_share)));
    format!(
        "{} of them move {}, which the CPUs really share{}{}: keep it per CPU, or write it less often.",
        figure::percent(first.share),
        data(first),
        part.unwrap_or_default(),
        by(first)
    )
}

/// The code that moves a line most.
fn by(line: &LineFigures) -> String {
    line.code.first().map_or_else(String::new, |code| format!(", moved by {}", place(code)))
}

/// The rows that matter, of those with the greatest shares first; a few if none does.
pub(crate) fn matter<T>(rows: &[T], share: impl Fn(&T) -> f64) -> &[T] {
    let number = rows.iter().take_while(|row| share(row) >= LEAST_SHARE).count();
    &rows[..if number == 0 { AT_LEAST.min(rows.len()) } else { number }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_stats::estimate::Estimate;
    use faultline_stats::lens::code_site::CodeSite;
    use faultline_stats::lens::summary::Held;

    fn line(name: &str, held: &[&str], share: f64, false_share: f64) -> LineFigures {
        let code = CodeSite {
            name: "work counters.c:19".to_owned(),
            library: None,
            inlined_into: Some("member".to_owned()),
            between: Vec::new(),
            transfers: share,
            share: 1.0,
            false_share: None,
        };
        let held = held.iter().map(|name| Held { name: (*name).to_owned(), offset: 0, share: 0.25 }).collect();
        LineFigures {
            name: name.to_owned(),
            address: "0x40".to_owned(),
            transfers: share,
            share,
            false_share,
            read_share: None,
            held,
            by_cpu: Vec::new(),
            code: vec![code],
        }
    }

    fn curve(cpus: u32, all: f64, lines: Vec<LineFigures>) -> LensCurve {
        let transfers = Estimate { median: all, low: all, high: all, coverage: 0.0, n: 1 };
        LensCurve {
            case: serde_json::from_value(
                serde_json::json!({"workload": "counters", "variant": "program", "mode": "thread"}),
            )
            .unwrap(),
            operation: "operation".to_owned(),
            text: String::new(),
            points: vec![LensPoint { cpus, transfers: Some(transfers), lines, ..LensPoint::default() }],
            verdict: LensVerdict::TooFewPoints,
            against_one: None,
        }
    }

    #[test]
    fn false_sharing_of_one_line_is_named_with_its_source_line_and_a_fix() {
        let held = ["counter[0].hits", "counter[1].hits", "counter[2].hits", "counter[3].hits"];
        let lines = vec![line("counter[0].hits", &held, 1.0, 1.0), line("stack", &["stack"], 0.0001, 0.0)];
        let (tone, sentence) = of_curve(&curve(8, 1.0, lines));
        assert_eq!(tone, Tone::Bad);
        assert_eq!(
            sentence,
            "1.000 transfers per operation at 8 CPUs; 100.0 % of them are false sharing of 4 items on one cache line \
             (counter[0].hits and 3 more), moved by work counters.c:19 in member: align each to a cache line of its own, \
             or keep one per CPU."
        );
    }

    #[test]
    fn lines_of_one_array_are_counted_together() {
        let lines = vec![line("a", &["a", "b"], 0.5, 0.9), line("c", &["c", "d"], 0.4, 1.0)];
        let (_, sentence) = of_curve(&curve(8, 1.0, lines));
        assert!(
            sentence.contains("85.0 % of them are false sharing of items on 2 cache lines (the first: a and b)"),
            "{sentence}"
        );
    }

    #[test]
    fn true_sharing_and_missing_figures_have_other_sentences() {
        let (_, sentence) = of_curve(&curve(8, 2.0, vec![line("lock", &["lock"], 0.9, 0.0)]));
        assert!(sentence.contains("90.0 % of them move lock, which the CPUs really share"), "{sentence}");
        assert_eq!(of_curve(&curve(8, 0.0004, Vec::new())).0, Tone::Good);
        assert!(of_curve(&curve(1, 0.0, Vec::new())).1.contains("count 2 or more"));
        assert_eq!(of_curve(&LensCurve { points: Vec::new(), ..curve(1, 0.0, Vec::new()) }).0, Tone::Quiet);
    }

    #[test]
    fn rows_below_one_percent_are_left_out() {
        assert_eq!(matter(&[0.7, 0.2, 0.005], |share| *share), [0.7, 0.2]);
        assert_eq!(matter(&[0.005, 0.004, 0.003, 0.002], |share| *share).len(), AT_LEAST);
    }
}
