// SPDX-License-Identifier: GPL-2.0-or-later
//! The report: the counts as JSON in the format `faultline-lens 4`. docs/FORMATS.md lists its fields.

use crate::address::{AddressSpace, Addresses, Chunks, DIRECT_MAP, KERNEL};
use crate::arguments::Arguments;
use crate::counter::Counter;
use crate::overlap::Times;
use crate::samples::{Sample, Samples};
use crate::turns::Spent;
use faultline_coherence::{
    AccessKey, Cause, Count, CpuId, Distance, LINE_BYTES, LineReport, Machine, Report, SiteReport, Tally, WORD_BYTES,
    Work,
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
    /// Number of regions of interest begun; 0 if no mark was seen.
    pub(crate) regions: u32,
    pub(crate) times: Times,
    pub(crate) spent: Spent,
    /// By CPU.
    pub(crate) clocks: Vec<u64>,
    /// By CPU.
    pub(crate) counters: Vec<&'a Counter>,
    /// A sample of the transfers, without those of interrupts.
    pub(crate) samples: &'a Samples,
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
    let places = Places::new(facts);
    // A line that is always on its way holds up all CPUs that want it, however many they are. Their clocks show this only
    // if it is modelled when lines move.
    let busiest_line = Report::new(facts.machine, tallies()).lines.iter().map(|line| line.occupied).max().unwrap_or(0);
    let longest = facts.clocks.iter().max().copied().unwrap_or(0);
    let time = if facts.arguments.delays.is_some() { longest } else { longest.max(busiest_line) };
    json!({
        "format": "faultline-lens",
        "version": 4,
        "target": "x86_64",
        "mode": if selection.is_program() { "program" } else { "kernel" },
        "machine": machine(facts.arguments),
        "direct_map": (facts.arguments.addresses == Addresses::Linux).then_some(DIRECT_MAP),
        "scope": if facts.arguments.whole { "whole" } else { "marks" },
        "regions": facts.regions,
        "problems": problems,
        "predicted_time": time,
        "busiest_line_time": busiest_line,
        "predicted_time_ns": u128::from(time) * u128::from(facts.arguments.costs.instruction_ps) / 1000,
        "busy_time": facts.times.busy,
        "overlapping_time": facts.times.overlapping,
        "spent": spent(facts, busiest_line),
        "totals": totals(facts, Work::Operation, &report),
        "cpus": cpus(facts, &counted),
        "lines_moved": report.lines.len(),
        "lines": lines(&places, &report),
        "accesses": accesses(&places, &report),
        "sites_moving": report.sites.len(),
        "sites": sites(&report),
        "interrupt": facts.knows_interrupts
            .then(|| interrupt(&places, &Report::of(Work::Interrupt, facts.machine, tallies()))),
        "samples": facts.samples.is_wanted().then(|| samples(&places, facts.samples)),
    })
}

/// The part of the counts that belongs to interrupts.
fn interrupt(places: &Places<'_>, report: &Report) -> Value {
    json!({
        "totals": totals(places.facts, Work::Interrupt, report),
        "lines_moved": report.lines.len(),
        "lines": lines(places, report),
        "sites_moving": report.sites.len(),
        "sites": sites(report),
    })
}

fn lines(places: &Places<'_>, report: &Report) -> Vec<Value> {
    report.lines.iter().take(MOST_LISTED).map(|of| line(of, places)).collect()
}

/// The sample of the transfers, each with the state of its CPU.
fn samples(places: &Places<'_>, samples: &Samples) -> Value {
    let kept: Vec<Value> = samples.kept().map(|kept| sample(places, kept)).collect();
    json!({"transfers": samples.transfers(), "one_in": samples.one_in(), "kept": kept})
}

fn sample(places: &Places<'_>, sample: &Sample) -> Value {
    let (line, space) = places.of(sample.line);
    let words: Vec<String> = sample.stack.iter().map(|word| format!("{word:x}")).collect();
    json!({
        "cpu": sample.cpu,
        "site": sample.site,
        "line": line,
        "space": space,
        "registers": sample.registers,
        "stack": words.join(" "),
    })
}

/// Every line that moved, with the accesses that moved it.
fn accesses(places: &Places<'_>, report: &Report) -> Vec<Value> {
    let of = |line: &LineReport| {
        let (address, space) = places.of(line.line);
        let by_access: Vec<Value> = line.by_access.iter().map(|(key, count)| access(key, count)).collect();
        json!({"address": address, "space": space, "contents": line.contents, "by_access": by_access})
    };
    report.lines.iter().map(of).collect()
}

/// An access as a list of numbers, because there are many: docs/FORMATS.md has their order.
fn access(key: &AccessKey, count: &Count) -> Value {
    let is_write = u64::from(key.cause == Cause::Write);
    let fixed =
        [u64::from(key.offset), u64::from(key.size), key.site, is_write, count.true_sharing, count.false_sharing];
    let others = (0u64..).zip(count.others).filter(|(_, transfers)| *transfers > 0);
    let others = others.flat_map(|(word, transfers)| [word * WORD_BYTES, u64::from(transfers)]);
    fixed.into_iter().chain(others).collect()
}

fn sites(report: &Report) -> Vec<Value> {
    let site = |site: &SiteReport| with_count(json!({"address": site.site}), &site.count);
    report.sites.iter().take(MOST_LISTED).map(site).collect()
}

/// Reasons why the counts fall short of what was requested.
fn problems(facts: &Facts<'_>) -> Vec<Value> {
    match facts.regions {
        0 => vec![json!({"kind": "no_mark"})],
        _ => Vec::new(),
    }
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
        "atomic_ps": arguments.delays.map(|delays| delays.atomic_ps),
        "request_percent": arguments.delays.map(|delays| delays.request_percent),
        "wake_ns": arguments.delays.map(|delays| delays.wake_ns),
        "interrupt_ns": arguments.delays.map(|delays| delays.interrupt_ns),
        "entry_ns": arguments.delays.map(|delays| delays.entry_ns),
        "cache_lines": arguments.caches.map(|caches| caches.lines),
        "cache_ways": arguments.caches.map(|caches| caches.ways),
    })
}

/// Clocks of all CPUs together, by what they were spent on. The rest are instructions, and time in which CPUs waited or were idle.
fn spent(facts: &Facts<'_>, busiest_line: u64) -> Value {
    let Spent { transfers, holds, atomics, wakes, interrupts, entries, times_woken, times_interrupted } = facts.spent;
    json!({
        "transfers": transfers,
        "holds": holds,
        "atomics": atomics,
        "wakes": wakes,
        "interrupts": interrupts,
        "entries": entries,
        "times_woken": times_woken,
        "times_interrupted": times_interrupted,
        "busiest_line": busiest_line,
    })
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
            "capacity_misses": sum(|counter, work| counter.capacity_misses(work)),
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

fn line(line: &LineReport, places: &Places<'_>) -> Value {
    let by_cpu: Vec<_> = line.by_cpu.iter().map(|(cpu, count)| json!({"cpu": cpu, "transfers": count})).collect();
    let by_site: Vec<_> =
        line.by_site.iter().map(|(site, count)| json!({"address": site, "transfers": count})).collect();
    let by_offset: Vec<_> = line
        .by_offset
        .iter()
        .take(MOST_OFFSETS)
        .map(|(offset, size, count)| json!({"offset": offset, "size": size, "transfers": count}))
        .collect();
    let (address, space) = places.of(line.line);
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

/// Where lines are.
struct Places<'a> {
    facts: &'a Facts<'a>,
    chunks: Chunks,
}

impl<'a> Places<'a> {
    fn new(facts: &'a Facts<'a>) -> Self {
        Places { facts, chunks: facts.space.learnt() }
    }

    /// The address at which a machine's program, or a kernel without rules for its addresses, reached a line; or that in
    /// the space in which it was counted.
    fn of(&self, line: u64) -> (u64, &'static str) {
        let counted = line * LINE_BYTES;
        let reached = || self.facts.counters.iter().find_map(|counter| counter.reached.address(line));
        let arguments = self.facts.arguments;
        let is_reached = arguments.selection.is_program() || arguments.addresses == Addresses::Physical;
        match is_reached.then(reached).flatten() {
            Some(address) => (address, "virtual"),
            None if counted < KERNEL => (self.chunks.physical(counted), "physical"),
            None => (counted, "virtual"),
        }
    }
}

fn with_count(mut object: Value, count: &Count) -> Value {
    object["transfers"] = json!(count.total());
    object["true_sharing"] = json!(count.true_sharing);
    object["false_sharing"] = json!(count.false_sharing);
    object
}
