//! Texts about a lens run, the same in the table, in Markdown and on the page.

use crate::figure;
use crate::lens::seeds;
use crate::one_line::one_line;
use crate::style::{Signs, Tone, UNICODE};
use faultline_model::lens::summary::{
    CutShort, Growth, LensCurve, LensPoint, LensSummary, LensVerdict, LineFigures, Place,
};
use faultline_model::subject::SubjectKind;

/// Lines and places in code that are named in a sentence.
const NAMED: usize = 3;

/// What ran, and on what kind of machine: one line.
pub(crate) fn subject(lens: &LensSummary, signs: &Signs) -> String {
    let settings = &lens.settings;
    let what = match &lens.subject {
        SubjectKind::System => "the system".to_owned(),
        SubjectKind::Program { argv } => format!("program {}", argv.join(" ")),
        SubjectKind::Kernel { image, .. } => format!("kernel {image}"),
    };
    let sockets = if settings.sockets == 1 { "1 socket".to_owned() } else { format!("{} sockets", settings.sockets) };
    let dot = signs.dot;
    let seeds = seeds::of_run(lens, signs).map_or_else(String::new, |seeds| format!(" {dot} {seeds}"));
    one_line(&format!("under the lens: {what} {dot} {sockets} {dot} costs: {}{seeds}", settings.costs))
}

/// The verdict with its figures: `grows with CPUs: 4.800 transfers per fault at 2 CPUs, 13.10 at 64; …`.
pub(crate) fn verdict(curve: &LensCurve) -> String {
    let (words, basis) = (curve.verdict.words(), verdict_basis(curve));
    match curve.verdict {
        LensVerdict::Grows { .. } | LensVerdict::Falls { .. } => format!("{words} {basis}"),
        LensVerdict::Flat { .. } | LensVerdict::Uneven { .. } | LensVerdict::TooFewPoints => {
            format!("{words}: {basis}")
        }
    }
}

/// The figures behind a verdict: `with CPUs: 4.800 transfers per fault at 2 CPUs, 13.10 at 64; …`.
pub(crate) fn verdict_basis(curve: &LensCurve) -> String {
    let Some(reach) = curve.verdict.reach() else {
        return "fewer than two points with 2 or more CPUs have a figure".to_owned();
    };
    let ends = format!(
        "{} transfers per {} at {} CPUs, {} at {}",
        transfers(reach.from),
        one_line(&curve.operation),
        reach.from_cpus,
        transfers(reach.to),
        reach.to_cpus
    );
    match curve.verdict {
        LensVerdict::Grows { growth, .. } => {
            let law = match growth {
                Growth::Unknown => growth.words().to_owned(),
                _ => format!("growth {}", growth.words()),
            };
            format!("with CPUs: {ends}; {} more with each doubling; {law}", transfers(reach.per_doubling))
        }
        LensVerdict::Falls { .. } => format!("with CPUs: {ends}"),
        LensVerdict::Flat { .. } | LensVerdict::Uneven { .. } | LensVerdict::TooFewPoints => ends,
    }
}

/// The tone of a verdict.
pub(crate) fn tone(verdict: &LensVerdict) -> Tone {
    match verdict {
        LensVerdict::Flat { .. } | LensVerdict::Falls { .. } => Tone::Good,
        LensVerdict::Grows { .. } => Tone::Bad,
        LensVerdict::Uneven { .. } => Tone::Middling,
        LensVerdict::TooFewPoints => Tone::Quiet,
    }
}

/// Transfers per operation: four significant digits, at most four decimals.
pub(crate) fn transfers(value: f64) -> String {
    const LEAST: f64 = 1e-4;
    match value {
        0.0 => "0".to_owned(),
        value if value.abs() < LEAST => format!("<{LEAST}"),
        value if value.abs() < 1.0 => format!("{value:.4}"),
        value => figure::plain(value),
    }
}

/// `8 CPUs`.
pub(crate) fn cpus(cpus: u32) -> String {
    if cpus == 1 { "1 CPU".to_owned() } else { format!("{cpus} CPUs") }
}

/// The point whose lines are shown: the greatest number of CPUs that has any.
pub(crate) fn shown_point(curve: &LensCurve) -> Option<&LensPoint> {
    curve.points.iter().rev().find(|point| !point.lines.is_empty() || !point.code.is_empty())
}

/// The problems of a point: why it has no figure, which attempts failed, and what its counts lack.
pub(crate) fn amiss(point: &LensPoint) -> Vec<String> {
    let mut amiss = Vec::new();
    let failures =
        point.failures.iter().map(|failure| one_line(&failure.cause.to_string())).collect::<Vec<_>>().join("; ");
    match (point.transfers.is_some(), failures.is_empty()) {
        (true, true) => {}
        (true, false) => amiss.push(format!("failed, not counted: {failures}")),
        (false, true) => {
            let endings =
                point.cut_short.iter().map(|cut| one_line(&cut.ending.to_string())).collect::<Vec<_>>().join("; ");
            amiss.push(format!("no figure: {}", if endings.is_empty() { "not run" } else { &endings }));
        }
        (false, false) => amiss.push(format!("no figure: {failures}")),
    }
    amiss.extend(point.cut_short.iter().map(counted_until_then));
    amiss.extend(point.problems.iter().map(|problem| format!("incomplete count: {}", one_line(&problem.text))));
    amiss
}

/// What was counted until an attempt was cut short: how much, the positions of the CPUs' clocks, and what moved most.
fn counted_until_then(cut: &CutShort) -> String {
    let count = |count: u64| match count {
        0..10_000 => count.to_string(),
        many => figure::quantity(many as f64, "", &UNICODE),
    };
    let mut text =
        format!("counted until then: {} transfers in {} instructions", count(cut.transfers), count(cut.instructions));
    let ran = || cut.clocks.iter().filter(|at| at.clock > 0);
    if let (Some(slowest), Some(fastest)) = (ran().min_by_key(|at| at.clock), ran().max_by_key(|at| at.clock)) {
        text.push_str(&match slowest.cpu == fastest.cpu {
            true => format!("; the clock of CPU {} stood at {}", slowest.cpu, slowest.clock),
            false => format!(
                "; clocks stood at {} (CPU {}) to {} (CPU {})",
                slowest.clock, slowest.cpu, fastest.clock, fastest.cpu
            ),
        });
        match cut.clocks.len() - ran().count() {
            0 => {}
            idle => text.push_str(&format!(", {} idle throughout", cpus(idle as u32))),
        }
    }
    let most = |names: Vec<String>, before: &str| match names.is_empty() {
        true => String::new(),
        false => format!("{before}{}", names.join(", ")),
    };
    let lines = cut.lines.iter().take(NAMED).map(|line| format!("{} {}", data(line), figure::percent(line.share)));
    text.push_str(&most(lines.collect(), "; moved most: "));
    let code = cut.code.iter().take(NAMED).map(|code| format!("{} {}", place(code), figure::percent(code.share)));
    text.push_str(&most(code.collect(), "; by "));
    text
}

/// Whether a line's transfers are true or false sharing.
pub(crate) fn sharing(false_share: f64) -> String {
    match false_share {
        share if share < 0.005 => "true".to_owned(),
        share if share > 0.995 => "false".to_owned(),
        share => format!("{:.0} % false", share * 100.0),
    }
}

/// What a line holds: its name, and how many other items share the line.
pub(crate) fn data(line: &LineFigures) -> String {
    let others = line.held.iter().filter(|held| held.name != line.name).count();
    let more = match others {
        0 => String::new(),
        1 => format!(" and {}", line.held.iter().find(|held| held.name != line.name).map_or("", |held| &held.name)),
        _ => format!(" and {others} more"),
    };
    one_line(&format!("{}{more}", line.name))
}

/// Code by name, with the function that it was inlined into.
pub(crate) fn place(place: &Place) -> String {
    one_line(&match &place.inlined_into {
        Some(outer) => format!("{} in {outer}", place.name),
        None => place.name.clone(),
    })
}

/// The code that moves a line, with shares: `do_fault mm.c:12 61 %, unlock 38 %`.
pub(crate) fn movers(line: &LineFigures, named: usize) -> String {
    let names = line.code.iter().take(named).map(|code| format!("{} {:.0} %", place(code), code.share * 100.0));
    names.collect::<Vec<_>>().join(", ")
}

/// Sentences that explain the columns, and the seeds if there are any.
pub(crate) fn legend(lens: &LensSummary) -> impl Iterator<Item = &'static str> {
    LEGEND.into_iter().chain((!lens.seeds.is_empty()).then_some(SEEDS))
}

const SEEDS: &str = "seed: where the guest's random numbers come from; exact: with the same seed another run counts the same, on any host.";

const LEGEND: [&str; 3] = [
    "transfers: cache lines that moved between CPUs because one of them wrote; instructions: executed by all CPUs; both per operation, counted, not sampled.",
    "predicted: operations per second of all CPUs by the modelled costs, without bandwidth or prefetching; speed-up: predicted rate divided by that of the smallest number of CPUs.",
    "true sharing: the CPUs use the same bytes; false sharing: neighbouring bytes of one line, which padding would separate.",
];
