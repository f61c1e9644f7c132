//! Words about lens runs, equal in text, Markdown and on pages.

use crate::escape::one_line;
use crate::lens::seeds;
use crate::style::{Signs, Tone, UNICODE};
use crate::{figure, sentences};
use faultline_record::lens::by_object::Owner;
use faultline_record::lens::by_type::Untypeable;
use faultline_record::lens::reading::CpuTransfers;
use faultline_record::subject::SubjectKind;
use faultline_stats::lens::code_site::CodeSite;
use faultline_stats::lens::summary::{
    AgainstOne, CutShort, Growth, InterruptFigures, LensCurve, LensPoint, LensSummary, LensVerdict, LineFigures,
    LineLimit, Loss, ObjectFigures, ProcessFigures, Reach, Withheld,
};
use faultline_stats::said::Said;

/// Lines and places in code named in a sentence.
const NAMED: usize = 3;

/// Subject and modelled machine of a run in one line.
pub(crate) fn subject(lens: &LensSummary, signs: &Signs) -> String {
    let settings = &lens.settings;
    let what = match &lens.subject {
        SubjectKind::System => "the system".to_owned(),
        SubjectKind::Program { argv } => format!("program {}", argv.join(" ")),
        SubjectKind::Kernel { image, .. } => format!("kernel {image}"),
        SubjectKind::Machine { image, .. } => format!("machine with {image}"),
    };
    let sockets = if settings.sockets == 1 { "1 socket".to_owned() } else { format!("{} sockets", settings.sockets) };
    let dot = signs.dot;
    let seeds = seeds::of_run(lens, signs).map_or_else(String::new, |seeds| format!(" {dot} {seeds}"));
    let predicts = settings.again.delays.is_some();
    let predicts = if predicts { ", for predictions" } else { "" };
    one_line(&format!("under the lens: {what} {dot} {sockets} {dot} costs: {}{predicts}{seeds}", settings.costs))
}

/// The verdict with its figures: `grows with CPUs: 4.800 transfers per fault at 2 CPUs, 13.10 at
/// 64; …`.
pub(crate) fn verdict(curve: &LensCurve) -> String {
    let (words, basis) = (curve.verdict.words(), verdict_basis(curve));
    match curve.verdict {
        LensVerdict::Grows { .. } | LensVerdict::Falls { .. } => format!("{words} {basis}"),
        LensVerdict::Free { .. }
        | LensVerdict::Flat { .. }
        | LensVerdict::Contended { .. }
        | LensVerdict::Costs { .. }
        | LensVerdict::Uneven { .. }
        | LensVerdict::TooFewPoints => format!("{words}: {basis}"),
    }
}

/// The basis of a verdict: `with CPUs: 4.800 transfers per fault at 2 CPUs, 13.10 at 64, 0 at 1;
/// …`.
pub(crate) fn verdict_basis(curve: &LensCurve) -> String {
    let Some(reach) = curve.verdict.reach() else {
        return "no number of CPUs from 2 on has a figure".to_owned();
    };
    let ends = ends(curve, reach);
    let against = against_one(curve);
    match curve.verdict {
        LensVerdict::Grows { growth, .. } => {
            let law = match growth {
                Growth::Unknown => growth.words().to_owned(),
                _ => format!("growth {}", growth.words()),
            };
            format!(
                "with CPUs: {ends}; {} more with each doubling; {law}; {against}",
                figure::transfers(reach.per_doubling)
            )
        }
        LensVerdict::Falls { .. } => format!("with CPUs: {ends}; {against}"),
        LensVerdict::Contended { limit, .. } => format!("{ends}; {}; {against}", line_limit(curve, reach, &limit)),
        LensVerdict::Costs { .. } => format!("{ends}; another number of CPUs shows whether it grows; {against}"),
        LensVerdict::Free { .. }
        | LensVerdict::Flat { .. }
        | LensVerdict::Uneven { .. }
        | LensVerdict::TooFewPoints => format!("{ends}; {against}"),
    }
}

/// The transfers at the smallest and the largest number of CPUs, and on one.
fn ends(curve: &LensCurve, reach: &Reach) -> String {
    let from = format!(
        "{} transfers per {} at {} CPUs",
        figure::transfers(reach.from),
        one_line(&curve.operation),
        reach.from_cpus
    );
    let to = match reach.to_cpus == reach.from_cpus {
        true => String::new(),
        false => format!(", {} at {}", figure::transfers(reach.to), reach.to_cpus),
    };
    let one = curve.points.iter().find(|point| point.cpus == 1).and_then(|point| point.transfers);
    let one = one.map_or_else(String::new, |one| format!(", {} at 1", figure::transfers(one.median)));
    from + &to + &one
}

/// The line that sets the limit, and the limit: `each operation moves counter 0.9998 times, one
/// move after another: it cannot scale beyond one CPU`.
fn line_limit(curve: &LensCurve, reach: &Reach, limit: &LineLimit) -> String {
    let point = curve.points.iter().find(|point| point.cpus == reach.to_cpus);
    let line = point.and_then(|point| point.lines.first()).map_or_else(|| "one line".to_owned(), data);
    let cpus = match limit.cpus {
        few if few <= 1.0 => "one CPU".to_owned(),
        many => format!("{} CPUs", figure::plain(many)),
    };
    let (times, operation) = (figure::transfers(limit.transfers), one_line(&curve.operation));
    format!("each {operation} moves {line} {times} times, one move after another: it cannot scale beyond {cpus}")
}

/// The loss of many CPUs compared with one.
fn against_one(curve: &LensCurve) -> String {
    let Some(AgainstOne { cpus, speedup, lost, .. }) = curve.against_one else {
        return match curve.points.iter().any(|point| point.withheld.is_some()) {
            true => "no rate predicted".to_owned(),
            false => "not compared with 1 CPU, which has no figure".to_owned(),
        };
    };
    let lost = match lost {
        lost if lost > 0.0 => format!(", {} of their rate lost", figure::percent(lost)),
        _ => ", nothing lost".to_owned(),
    };
    format!("predicted: {cpus} CPUs do {} times as much as 1{lost}", figure::plain(speedup))
}

/// The tone of a case: good only if neither transfers nor predicted rate show a loss.
pub(crate) fn tone(curve: &LensCurve) -> Tone {
    let loss = curve.against_one.map(|against| against.loss);
    match (&curve.verdict, loss) {
        (_, Some(Loss::Most)) => Tone::Bad,
        (LensVerdict::TooFewPoints, None) => Tone::Quiet,
        (LensVerdict::Grows { .. } | LensVerdict::Contended { .. }, None | Some(Loss::Part)) => Tone::Bad,
        (LensVerdict::Free { .. }, None | Some(Loss::Little)) => Tone::Good,
        (
            LensVerdict::Flat { .. }
            | LensVerdict::Costs { .. }
            | LensVerdict::Falls { .. }
            | LensVerdict::TooFewPoints,
            Some(Loss::Little),
        ) => Tone::Good,
        (_, Some(Loss::Part | Loss::Little) | None) => Tone::Middling,
    }
}

/// The reasons for missing rates, each with the numbers of CPUs to which it applies, and in the
/// words for the last of these.
pub(crate) fn withheld(curve: &LensCurve) -> Vec<String> {
    let mut reasons: Vec<(Vec<u32>, &Said<Withheld>)> = Vec::new();
    for (cpus, why) in curve.points.iter().filter_map(|point| Some((point.cpus, point.withheld.as_ref()?))) {
        let is_alike = |other: &Withheld| std::mem::discriminant(other) == std::mem::discriminant(&**why);
        match reasons.iter_mut().find(|(_, other)| is_alike(other)) {
            Some((all, last)) => {
                all.push(cpus);
                *last = why;
            }
            None => reasons.push((vec![cpus], why)),
        }
    }
    let at = |numbers: &[u32]| match numbers {
        &[one] => cpus(one),
        several => format!("{} CPUs", several.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
    };
    let words = |(numbers, why): &(Vec<u32>, &Said<Withheld>)| {
        format!("no rate predicted at {}: {}", at(numbers), sentences::withheld(why))
    };
    reasons.iter().map(words).collect()
}

/// Further words about a point: page faults and interrupts.
pub(crate) fn beside(operation: &str, point: &LensPoint) -> Vec<String> {
    let at = cpus(point.cpus);
    let operation = one_line(operation);
    let faults =
        point.faults.map(|faults| format!("page faults at {at}: {} per {operation}", figure::transfers(faults)));
    let interrupts = point.interrupts.as_ref().map(|figures| format!("interrupts at {at}: {}", interrupts(figures)));
    [faults, interrupts].into_iter().flatten().collect()
}

/// The effect of interrupts: `0.4000 transfers, 150 instructions; most by tick_sched_do_timer 64 %,
/// …`.
fn interrupts(figures: &InterruptFigures) -> String {
    let instructions = figure::quantity(figures.instructions.median, "", &UNICODE);
    let code: Vec<String> = figures
        .code
        .iter()
        .take(NAMED)
        .map(|code| format!("{} {}", place(code), figure::percent(code.share)))
        .collect();
    let most = if code.is_empty() { String::new() } else { format!("; most by {}", code.join(", ")) };
    format!("{} transfers, {instructions} instructions{most}", figure::transfers(figures.transfers.median))
}

/// A program that processes ran: `redis-server`, `sh (not counted)`.
pub(crate) fn process(of: &ProcessFigures) -> String {
    let name = if of.name.is_empty() { "unknown" } else { &of.name };
    one_line(&format!("{name}{}", if of.is_counted { "" } else { " (not counted)" }))
}

/// A number of CPUs: `8 CPUs`.
pub(crate) fn cpus(cpus: u32) -> String {
    if cpus == 1 { "1 CPU".to_owned() } else { format!("{cpus} CPUs") }
}

/// The point with shown lines: that with the most CPUs and any lines or code.
pub(crate) fn shown_point(curve: &LensCurve) -> Option<&LensPoint> {
    curve.points.iter().rev().find(|point| !point.lines.is_empty() || !point.code.is_empty())
}

/// The problems of a point: missing figures, failed attempts, incomplete counts.
pub(crate) fn amiss(point: &LensPoint) -> Vec<String> {
    let mut amiss = Vec::new();
    let failures =
        point.failures.iter().map(|failure| one_line(&sentences::cause(&failure.cause))).collect::<Vec<_>>().join("; ");
    match (point.transfers.is_some(), failures.is_empty()) {
        (true, true) => {}
        (true, false) => amiss.push(format!("failed, not counted: {failures}")),
        (false, true) => {
            let endings = point
                .cut_short
                .iter()
                .map(|cut| one_line(&sentences::outcome(&cut.ending)))
                .collect::<Vec<_>>()
                .join("; ");
            amiss.push(format!("no figure: {}", if endings.is_empty() { "not run" } else { &endings }));
        }
        (false, false) => amiss.push(format!("no figure: {failures}")),
    }
    amiss.extend(point.cut_short.iter().map(counted_until_then));
    amiss.extend(
        point.problems.iter().map(|problem| format!("incomplete count: {}", one_line(&sentences::problem(problem)))),
    );
    amiss.extend(point.untyped.iter().map(sentences::no_names));
    amiss
}

/// The counts up to the end of an attempt that was cut short: totals, the CPUs' clocks, and what
/// moved most.
fn counted_until_then(cut: &CutShort) -> String {
    let count = |count: u64| match count {
        0..10_000 => count.to_string(),
        many => figure::quantity(many as f64, "", &UNICODE),
    };
    let mut text =
        format!("counts up to then: {} transfers in {} instructions", count(cut.transfers), count(cut.instructions));
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

/// The kind of sharing: `true`, `false` or a share of false sharing.
pub(crate) fn sharing(false_share: f64) -> String {
    match false_share {
        share if share < 0.005 => "true".to_owned(),
        share if share > 0.995 => "false".to_owned(),
        share => format!("{:.0} % false", share * 100.0),
    }
}

/// Maximum number of ranges in a list of CPUs.
const MOST_RANGES: usize = 3;

/// The CPUs to which a line moved, as Linux lists CPUs: `0-3,6`. Their number if the list is long.
pub(crate) fn cpu_list(by_cpu: &[CpuTransfers]) -> String {
    let mut all: Vec<u32> = by_cpu.iter().map(|of| of.cpu).collect();
    all.sort_unstable();
    let ranges: Vec<&[u32]> = all.chunk_by(|before, next| before + 1 == *next).collect();
    if ranges.len() > MOST_RANGES {
        return format!("{} CPUs", all.len());
    }
    let text = |range: &&[u32]| match **range {
        [first, .., last] => format!("{first}-{last}"),
        _ => range.iter().map(u32::to_string).collect(),
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}

/// The data on a line: its name, and the number of other items.
pub(crate) fn data(line: &LineFigures) -> String {
    let others = line.held.iter().filter(|held| held.name != line.name).count();
    let more = match others {
        0 => String::new(),
        1 => format!(" and {}", line.held.iter().find(|held| held.name != line.name).map_or("", |held| &held.name)),
        _ => format!(" and {others} more"),
    };
    one_line(&format!("{}{more}", line.name))
}

/// A line's address, and what else is on the line.
pub(crate) fn held(line: &LineFigures) -> String {
    let others = line.held.iter().filter(|held| held.name != line.name && held.share >= ZERO_ROUNDED);
    let others: Vec<String> = others.map(|held| format!("{} {:.0} %", held.name, held.share * 100.0)).collect();
    let others = if others.is_empty() { String::new() } else { format!(", with {}", others.join(", ")) };
    one_line(&format!("{}{others}", line.address))
}

/// Share below which a percentage with one decimal is 0.0 %.
const ZERO: f64 = 0.0005;

/// Share below which a percentage without decimals is 0 %.
const ZERO_ROUNDED: f64 = 0.005;

/// True for a share that is more than 0.0 % in text.
pub(crate) fn is_above_zero(share: f64) -> bool {
    share >= ZERO
}

/// The rows that are more than 0.0 %, and the first.
pub(crate) fn above_zero<T>(rows: &[T], share: impl Fn(&T) -> f64) -> impl Iterator<Item = &T> {
    rows.iter().enumerate().filter(move |(index, row)| *index == 0 || is_above_zero(share(row))).map(|(_, row)| row)
}

/// The code that is more than 0 % without decimals, and the first.
pub(crate) fn above_zero_rounded(code: &[CodeSite]) -> impl Iterator<Item = &CodeSite> {
    code.iter().enumerate().filter(|(index, place)| *index == 0 || place.share >= ZERO_ROUNDED).map(|(_, place)| place)
}

/// A place in code, with the functions into which it was inlined, and library code inlined there:
/// `bump main.rs:12 in work (fetch_add atomic.rs:3150)`.
pub(crate) fn place(place: &CodeSite) -> String {
    let around = place.between.iter().chain(&place.inlined_into).map(|outer| format!(" in {outer}"));
    let library = place.library.iter().map(|library| format!(" ({library})"));
    one_line(&around.chain(library).fold(place.name.clone(), |text, part| text + &part))
}

/// An object: `pool`, `mm_struct objects`, `heap, most by find`.
pub(crate) fn object(of: &ObjectFigures) -> String {
    let text = match &of.owner {
        Owner::Variable { name } => name.clone(),
        Owner::Type { name } => format!("{name} objects"),
        Owner::Memory { of, function: None } => untypeable(of),
        Owner::Memory { of, function: Some(function) } => format!("{}, most by {function}", untypeable(of)),
    };
    one_line(&text)
}

/// The name of untyped data.
pub(crate) fn untypeable(what: &Untypeable) -> String {
    match what {
        Untypeable::Variables => "variables without a type".to_owned(),
        Untypeable::PerCpuVariables => "CPUs' variables without a type".to_owned(),
        Untypeable::Cache { name } => format!("{name}, type unknown"),
        Untypeable::PageContents => "contents of pages".to_owned(),
        Untypeable::PageTables => "page tables".to_owned(),
        Untypeable::FreePages => "pages free at the end".to_owned(),
        Untypeable::Stacks => "stacks".to_owned(),
        Untypeable::KernelMemory => "other kernel memory".to_owned(),
        Untypeable::Heap => "heap".to_owned(),
        Untypeable::Mapped => "stacks and mappings".to_owned(),
        Untypeable::Unknown => "unknown".to_owned(),
    }
}

/// The code that moves a line: `do_fault mm.c:12 61 %, unlock 38 %`.
pub(crate) fn movers(line: &LineFigures, named: usize) -> String {
    code(&line.code, named)
}

/// Code with its shares: `do_fault mm.c:12 61 %, unlock 38 %`.
pub(crate) fn code(code: &[CodeSite], named: usize) -> String {
    let code = above_zero_rounded(code).take(named);
    let names = code.map(|code| format!("{} {:.0} %", place(code), code.share * 100.0));
    names.collect::<Vec<_>>().join(", ")
}

/// The legend, with sentences about ranges and seeds if the run has any.
pub(crate) fn legend(lens: &LensSummary) -> impl Iterator<Item = &'static str> {
    let has_ranges = lens.curves.iter().flat_map(|curve| &curve.points).any(|point| point.speedup_range.is_some());
    let ranges = has_ranges.then_some(RANGES);
    LEGEND.into_iter().chain(ranges).chain((!lens.seeds.is_empty()).then_some(SEEDS))
}

const RANGES: &str =
    "interval of a speed-up: by the quartiles of the calibrated times alone. Errors of the model are not in it.";

const SEEDS: &str =
    "seed: source of the guest's random numbers. exact: a run with the same seed has the same counts on any host.";

const LEGEND: [&str; 4] = [
    "transfers: cache lines that moved between CPUs because one of them wrote. instructions: executed by all CPUs. Both are \
     counted, not sampled, and per operation.",
    "interrupts: transfers caused by timer, devices and inter-processor interrupts, per operation. No other figure includes \
     them.",
    "predicted: operations per second of all CPUs by the modelled costs, without bandwidth or prefetching. speed-up: predicted \
     rate divided by that of the smallest number of CPUs.",
    "true sharing: the CPUs use the same bytes. false sharing: the CPUs use different bytes of one line, which padding would \
     separate.",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_listed_as_ranges_unless_there_are_many() {
        let list = |cpus: &[u32]| {
            let by_cpu: Vec<_> = cpus.iter().map(|&cpu| CpuTransfers { cpu, transfers: 1 }).collect();
            cpu_list(&by_cpu)
        };
        assert_eq!(list(&[0, 1, 2, 3, 6]), "0-3,6");
        assert_eq!([list(&[5]), list(&[4, 5]), list(&[])], ["5", "4-5", ""]);
        assert_eq!([list(&[0, 2, 4]), list(&[0, 2, 4, 6])], ["0,2,4", "4 CPUs"]);
    }
}
