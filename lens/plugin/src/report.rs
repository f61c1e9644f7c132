// SPDX-License-Identifier: GPL-2.0-or-later
//! The report: the counts as JSON in the format `faultline-lens 3`. docs/FORMATS.md lists its fields.

use crate::address::{AddressSpace, DIRECT_MAP, KERNEL};
use crate::arguments::Arguments;
use crate::counter::Counter;
use crate::lens::{Run, Watched};
use crate::lockstep::{Stall, Stepping};
use crate::overlap::Times;
use crate::program::Program;
use faultline_coherence::{
    Cause, Count, CpuId, Distance, LINE_BYTES, LineReport, Machine, Report, SiteReport, Tally, Work,
};
use serde_json::{Map, Value, json};

/// Maximum number of lines and of sites in the report; the totals include all.
const MOST_LISTED: usize = 1000;

/// Maximum number of offsets of each line.
const MOST_OFFSETS: usize = 16;

/// The input of a report.
pub(crate) struct Facts<'a> {
    pub(crate) arguments: &'a Arguments,
    pub(crate) machine: &'a Machine,
    pub(crate) space: &'a AddressSpace,
    pub(crate) watched: Watched,
    pub(crate) run: Run,
    pub(crate) stepping: Stepping,
    pub(crate) times: Times,
    /// By CPU.
    pub(crate) clocks: Vec<u64>,
    /// By CPU.
    pub(crate) counters: Vec<&'a Counter>,
    pub(crate) program: Option<&'a Program>,
    /// Interrupts were recognised.
    pub(crate) knows_interrupts: bool,
}

/// The report.
pub(crate) fn to_json(facts: &Facts<'_>) -> Value {
    let selection = &facts.arguments.selection;
    let counted: Vec<_> = facts
        .counters
        .iter()
        .map(|counter| (counter.cpu.id(), counter.cpu.tally().only(|key| selection.counts(key.site))))
        .collect();
    let tallies = || counted.iter().map(|(cpu, tally)| (*cpu, tally));
    let report = Report::of(Work::Operation, facts.machine, tallies());
    let problems = problems(facts);
    // A line that is always on its way holds up all CPUs that want it, however many they are. Their clocks do not show
    // this.
    let busiest_line = Report::new(facts.machine, tallies()).lines.iter().map(|line| line.occupied).max().unwrap_or(0);
    let time = facts.clocks.iter().max().copied().unwrap_or(0).max(busiest_line);
    json!({
        "format": "faultline-lens",
        "version": 3,
        "target": if facts.watched.is_64_bit() { "x86_64" } else { "i386" },
        "mode": if facts.watched == Watched::Kernel && !selection.is_program() { "kernel" } else { "program" },
        "machine": machine(facts.arguments),
        "program": facts.program.map(program),
        "direct_map": (facts.watched == Watched::Kernel).then_some(DIRECT_MAP),
        "scope": if facts.arguments.whole { "whole" } else { "marks" },
        "regions": facts.run.regions,
        "forks": facts.run.forks,
        "forced_blocks": facts.stepping.forced,
        "problems": problems,
        "predicted_time": time,
        "busiest_line_time": busiest_line,
        "predicted_time_ns": u128::from(time) * u128::from(facts.arguments.costs.instruction_ps) / 1000,
        "busy_time": facts.times.busy,
        "overlapping_time": facts.times.overlapping,
        "totals": totals(facts, Work::Operation, &report),
        "cpus": cpus(facts, &counted),
        "lines_moved": report.lines.len(),
        "lines": lines(facts, &report),
        "sites_moving": report.sites.len(),
        "sites": sites(&report),
        "interrupt": facts.knows_interrupts
            .then(|| interrupt(facts, &Report::of(Work::Interrupt, facts.machine, tallies()))),
    })
}

/// The part of the counts that belongs to interrupts.
fn interrupt(facts: &Facts<'_>, report: &Report) -> Value {
    json!({
        "totals": totals(facts, Work::Interrupt, report),
        "lines_moved": report.lines.len(),
        "lines": lines(facts, report),
        "sites_moving": report.sites.len(),
        "sites": sites(report),
    })
}

fn lines(facts: &Facts<'_>, report: &Report) -> Vec<Value> {
    report.lines.iter().take(MOST_LISTED).map(|of| line(of, facts)).collect()
}

fn sites(report: &Report) -> Vec<Value> {
    let site = |site: &SiteReport| with_count(json!({"address": site.site}), &site.count);
    report.sites.iter().take(MOST_LISTED).map(site).collect()
}

/// Reasons why the counts fall short of what was requested: a word for programs, a sentence for people.
fn problems(facts: &Facts<'_>) -> Vec<Value> {
    let mut problems = Vec::new();
    let mut add = |kind: &str, text: String| problems.push(json!({"kind": kind, "text": text}));
    if facts.run.regions == 0 {
        add("no_mark", "the program executed no begin mark, so nothing was counted".into());
    }
    if let Some(threads) = facts.run.threads_beyond {
        let cpus = facts.arguments.topology.cpus();
        add(
            "too_many_threads",
            format!(
                "the program had {threads} threads at once, the machine has {cpus} CPUs; threads beyond were not counted"
            ),
        );
    }
    if let Some(Stall { cpu, clock }) = facts.stepping.stall {
        let seconds = facts.arguments.stall.as_secs();
        add(
            "stall",
            format!("CPU {cpu} stood at clock {clock} for {seconds} s; from then on CPUs were not kept in step"),
        );
    }
    problems
}

fn machine(arguments: &Arguments) -> Value {
    json!({
        "cpus": arguments.topology.cpus(),
        "sockets": arguments.sockets,
        "cpus_per_cache": arguments.cpus_per_cache,
        "line_bytes": LINE_BYTES,
        "quantum": arguments.quanta.contended,
        "private_quantum": arguments.quanta.private,
        "instruction_ps": arguments.costs.instruction_ps,
        "same_cache_ns": arguments.costs.same_cache_ns,
        "same_socket_ns": arguments.costs.same_socket_ns,
        "other_socket_ns": arguments.costs.other_socket_ns,
        "memory_ns": arguments.costs.memory_ns,
        "cache_lines": arguments.caches.map(|caches| caches.lines),
        "cache_ways": arguments.caches.map(|caches| caches.ways),
    })
}

fn program(program: &Program) -> Value {
    json!({"path": program.path.to_string_lossy(), "load_base": program.load_base})
}

fn totals(facts: &Facts<'_>, work: Work, report: &Report) -> Value {
    let sum = |of: fn(&Counter, Work) -> u64| facts.counters.iter().map(|counter| of(counter, work)).sum::<u64>();
    let causes = [("read", Cause::Read), ("write", Cause::Write)];
    let distances = [
        ("same_cache", Distance::SameCache),
        ("same_socket", Distance::SameSocket),
        ("other_socket", Distance::OtherSocket),
        ("several", Distance::Several),
    ];
    let by_cause = causes.map(|(name, cause)| (name, report.by_cause.get(&cause)));
    let by_distance = distances.map(|(name, distance)| (name, report.by_distance.get(&distance)));
    with_count(
        json!({
            "instructions": sum(|counter, work| counter.done(work).0),
            "accesses": sum(|counter, work| counter.done(work).1),
            "by_cause": named(&by_cause),
            "by_distance": named(&by_distance),
            "atomic": report.atomic,
            "user": report.user,
            "contents": report.contents,
            "capacity_misses": sum(|counter, work| counter.cpu.capacity_misses(work)),
        }),
        &report.count,
    )
}

fn named(counts: &[(&str, Option<&u64>)]) -> Value {
    let entry = |(name, count): &(&str, Option<&u64>)| ((*name).to_owned(), json!(count.copied().unwrap_or(0)));
    Value::Object(counts.iter().map(entry).collect::<Map<_, _>>())
}

/// `tallies`: of the code that is counted, by CPU.
fn cpus(facts: &Facts<'_>, tallies: &[(CpuId, Tally)]) -> Vec<Value> {
    facts
        .counters
        .iter()
        .zip(&facts.clocks)
        .zip(tallies)
        .map(|((counter, clock), (_, tally))| {
            let mut cpu = of_cpu(counter, tally, Work::Operation);
            cpu["cpu"] = json!(counter.cpu.id());
            cpu["clock"] = json!(clock);
            cpu["per_cpu_base"] = Value::Null;
            cpu["interrupt"] = json!(facts.knows_interrupts.then(|| of_cpu(counter, tally, Work::Interrupt)));
            cpu
        })
        .collect()
}

fn of_cpu(counter: &Counter, tally: &Tally, work: Work) -> Value {
    let (instructions, accesses) = counter.done(work);
    let transfers = tally.only(|key| key.context.work() == work).total();
    json!({"instructions": instructions, "accesses": accesses, "transfers": transfers})
}

fn line(line: &LineReport, facts: &Facts<'_>) -> Value {
    let by_cpu: Vec<_> = line.by_cpu.iter().map(|(cpu, count)| json!({"cpu": cpu, "transfers": count})).collect();
    let by_site: Vec<_> =
        line.by_site.iter().map(|(site, count)| json!({"address": site, "transfers": count})).collect();
    let by_offset: Vec<_> = line
        .by_offset
        .iter()
        .take(MOST_OFFSETS)
        .map(|(offset, size, count)| json!({"offset": offset, "size": size, "transfers": count}))
        .collect();
    let (address, space) = place(line.line, facts);
    with_count(
        json!({
            "address": address,
            "space": space,
            "contents": line.contents,
            "by_cpu": by_cpu,
            "by_site": by_site,
            "by_offset": by_offset,
        }),
        &line.count,
    )
}

/// Where a line is: the address at which a machine's program reached it, or that in the space in which it was counted.
fn place(line: u64, facts: &Facts<'_>) -> (u64, &'static str) {
    let counted = line * LINE_BYTES;
    let reached = facts.counters.iter().find_map(|counter| counter.reached.address(line));
    match (facts.space, reached) {
        (_, Some(address)) if facts.arguments.selection.is_program() => (address, "virtual"),
        (AddressSpace::Kernel(map), _) if counted < KERNEL => (map.physical(counted), "physical"),
        _ => (counted, "virtual"),
    }
}

fn with_count(mut object: Value, count: &Count) -> Value {
    object["transfers"] = json!(count.total());
    object["true_sharing"] = json!(count.true_sharing);
    object["false_sharing"] = json!(count.false_sharing);
    object
}
