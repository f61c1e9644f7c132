// SPDX-License-Identifier: GPL-2.0-or-later
//! The report: filled from the counts, and written to its file. `faultline_lens_format` declares
//! it.

use crate::address::{AddressSpace, Addresses, Chunks, DIRECT_MAP, KERNEL};
use crate::arguments::Arguments;
use crate::counter::Counter;
use crate::overlap::Times;
use crate::processes::{Processes, Program, ProgramId};
use crate::samples::{Sample, Samples};
use crate::turns;
use faultline_coherence::{AccessKey, Cause, Count, CpuId, Distance, LineReport, Machine, Report, Tally, Work};
use faultline_lens_format::{
    ByCause, ByDistance, CpuInterrupts, CpuTotals, FORMAT, LINE_BYTES, LensMode, RawAccess, RawCounts, RawLine,
    RawProcesses, RawReport, RawSample, RawSamples, Scope, Space, Spent, Stack, Stalled, Totals, VERSION, WORD_BYTES,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The input of a report.
pub(crate) struct Facts<'a> {
    pub(crate) arguments: &'a Arguments,
    pub(crate) machine: &'a Machine,
    pub(crate) space: &'a AddressSpace,
    /// Number of regions of interest begun; 0 if no mark was executed.
    pub(crate) regions: u32,
    /// Number of regions that ended with a call; `None` without a function for it.
    pub(crate) ended_by_call: Option<u32>,
    /// Set if the machine was ended because it made no progress.
    pub(crate) stalled: Option<Stalled>,
    pub(crate) times: Times,
    pub(crate) spent: turns::Spent,
    /// By CPU.
    pub(crate) clocks: Vec<u64>,
    /// By CPU.
    pub(crate) counters: Vec<&'a Counter>,
    /// A sample of the transfers, without those of interrupts.
    pub(crate) samples: &'a Samples,
    /// The programs of the machine.
    pub(crate) processes: &'a Processes,
    /// Interrupts were recognised.
    pub(crate) knows_interrupts: bool,
}

/// The report.
pub(crate) fn report(facts: &Facts<'_>) -> RawReport {
    let Arguments { machine, selection, .. } = facts.arguments;
    let all: Vec<_> = facts
        .counters
        .iter()
        .map(|counter| (counter.cpu.id(), counter.cpu.tally().only(|key| selection.counts(key.site))))
        .collect();
    let counted: Vec<_> = all.iter().map(|(cpu, tally)| (*cpu, tally.only(|key| facts.chooses(key.program)))).collect();
    let tallies = || counted.iter().map(|(cpu, tally)| (*cpu, tally));
    let places = Places::new(facts);
    let counts = |work| counts(&places, work, &Report::of(work, facts.machine, tallies()));
    // A line that is always moving delays all CPUs that want it, however many they are. Their
    // clocks show this only if requests for lines are modelled.
    let busiest_line = Report::new(facts.machine, tallies()).lines.iter().map(|line| line.occupied).max().unwrap_or(0);
    let longest = facts.clocks.iter().max().copied().unwrap_or(0);
    RawReport {
        format: FORMAT.to_owned(),
        version: VERSION,
        target: "x86_64".to_owned(),
        mode: if selection.is_program() { LensMode::Program } else { LensMode::Kernel },
        scope: if facts.arguments.whole && facts.arguments.to.is_none() { Scope::Whole } else { Scope::Marks },
        regions: facts.regions.into(),
        ended_by_call: facts.ended_by_call.map(u64::from),
        stalled: facts.stalled,
        machine: machine.clone(),
        direct_map: (facts.arguments.addresses == Addresses::Linux).then_some(DIRECT_MAP),
        predicted_time: if machine.delays.is_some() { longest } else { longest.max(busiest_line) },
        busy_time: facts.times.busy,
        overlapping_time: facts.times.overlapping,
        spent: spent(facts.spent, busiest_line),
        cpus: cpus(facts, &counted),
        processes: processes(facts, &all),
        operation: counts(Work::Operation),
        interrupt: facts.knows_interrupts.then(|| counts(Work::Interrupt)),
        samples: facts.samples.is_wanted().then(|| samples(&places, facts.samples)),
    }
}

fn spent(spent: turns::Spent, busiest_line: u64) -> Spent {
    let turns::Spent { transfers, holds, waits, atomics, wakes, interrupts, entries, times_woken, times_interrupted } =
        spent;
    Spent { transfers, holds, waits, atomics, wakes, interrupts, entries, times_woken, times_interrupted, busiest_line }
}

/// The counts of each CPU. `tallies`: of counted code, by CPU.
fn cpus(facts: &Facts<'_>, tallies: &[(CpuId, Tally)]) -> Vec<CpuTotals> {
    let all = facts.counters.iter().zip(&facts.clocks).zip(tallies);
    all.map(|((counter, &clock), (_, tally))| {
        let of = |work| {
            let (instructions, accesses) = counter.done(work, |program| facts.chooses(program));
            let transfers = tally.only(|key| key.context.work() == work).total();
            CpuInterrupts { instructions, accesses, transfers }
        };
        let CpuInterrupts { instructions, accesses, transfers } = of(Work::Operation);
        let interrupt = facts.knows_interrupts.then(|| of(Work::Interrupt));
        CpuTotals { cpu: counter.cpu.id().into(), instructions, accesses, transfers, clock, interrupt }
    })
    .collect()
}

fn counts(places: &Places<'_>, work: Work, report: &Report) -> RawCounts {
    RawCounts {
        totals: totals(places.facts, work, report),
        lines: report.lines.iter().map(|of| line(of, places)).collect(),
    }
}

fn totals(facts: &Facts<'_>, work: Work, report: &Report) -> Totals {
    let done = facts.counters.iter().map(|counter| counter.done(work, |program| facts.chooses(program)));
    let (instructions, accesses) = done.fold((0, 0), |sum, done| (sum.0 + done.0, sum.1 + done.1));
    let by_cause = |cause| report.by_cause.get(&cause).copied().unwrap_or(0);
    let by_distance = |distance| report.by_distance.get(&distance).copied().unwrap_or(0);
    Totals {
        instructions,
        accesses,
        transfers: report.count.total(),
        true_sharing: report.count.true_sharing,
        false_sharing: report.count.false_sharing,
        by_cause: ByCause { read: by_cause(Cause::Read), write: by_cause(Cause::Write) },
        by_distance: ByDistance {
            same_cache: by_distance(Distance::SameCache),
            same_socket: by_distance(Distance::SameSocket),
            other_socket: by_distance(Distance::OtherSocket),
            several: by_distance(Distance::Several),
        },
        atomic: report.atomic,
        user: report.user,
        contents: report.contents,
        capacity_misses: facts.counters.iter().map(|counter| counter.capacity_misses(work)).sum(),
    }
}

fn line(line: &LineReport, places: &Places<'_>) -> RawLine {
    let (address, space) = places.of(line.line);
    RawLine {
        address,
        space,
        contents: line.contents,
        by_cpu: line.by_cpu.iter().map(|(&cpu, &transfers)| (cpu.into(), transfers)).collect(),
        accesses: line.by_access.iter().map(|(key, count)| access(key, count)).collect(),
    }
}

fn access(key: &AccessKey, count: &Count) -> RawAccess {
    let others = (0u64..).zip(count.others).filter(|(_, transfers)| *transfers > 0);
    RawAccess {
        offset: key.offset.into(),
        size: key.size.into(),
        site: key.site,
        is_write: key.cause == Cause::Write,
        true_sharing: count.true_sharing,
        false_sharing: count.false_sharing,
        others: others.map(|(word, transfers)| (word * WORD_BYTES, transfers.into())).collect(),
    }
}

fn samples(places: &Places<'_>, samples: &Samples) -> RawSamples {
    RawSamples {
        transfers: samples.transfers(),
        one_in: samples.one_in(),
        kept: samples.kept().map(|kept| sample(places, kept)).collect(),
    }
}

fn sample(places: &Places<'_>, sample: &Sample) -> RawSample {
    let (line, space) = places.of(sample.line);
    let Sample { cpu, site, registers, .. } = *sample;
    RawSample { cpu, site, line, space, registers, stack: Stack(sample.stack.clone()) }
}

/// The addresses of lines.
struct Places<'a> {
    facts: &'a Facts<'a>,
    chunks: Chunks,
}

impl Facts<'_> {
    /// True if the processes that run a program are counted.
    fn chooses(&self, program: ProgramId) -> bool {
        self.arguments.chooses(self.processes, program)
    }
}

/// The counts of each program's processes, without interrupts, most transfers first; none for a
/// machine, whose programs are not recognised. `tallies`: of all programs, by CPU.
fn processes(facts: &Facts<'_>, tallies: &[(CpuId, Tally)]) -> Vec<RawProcesses> {
    if !facts.arguments.selection.is_program() {
        return Vec::new();
    }
    let mut counts: BTreeMap<ProgramId, Count> = BTreeMap::new();
    for (key, count) in tallies.iter().flat_map(|(_, tally)| tally.iter()) {
        if key.context.work() == Work::Operation {
            counts.entry(key.program).or_default().add(&count);
        }
    }
    let of = |(number, program): (usize, &Program)| {
        let number = number as ProgramId;
        let done = facts.counters.iter().map(|counter| counter.done(Work::Operation, |of| of == number));
        let (instructions, accesses) = done.fold((0, 0), |sum, done| (sum.0 + done.0, sum.1 + done.1));
        let Count { true_sharing, false_sharing, .. } = counts.remove(&number).unwrap_or_default();
        RawProcesses {
            name: program.name.clone(),
            processes: program.processes,
            is_counted: facts.chooses(number),
            instructions,
            accesses,
            true_sharing,
            false_sharing,
        }
    };
    let mut all: Vec<RawProcesses> = facts.processes.programs().iter().enumerate().map(of).collect();
    all.retain(|of| of.instructions > 0 || of.transfers() > 0);
    all.sort_by_key(|of| (Reverse(of.transfers()), Reverse(of.instructions)));
    all
}

impl<'a> Places<'a> {
    fn new(facts: &'a Facts<'a>) -> Self {
        Places { facts, chunks: facts.space.learnt() }
    }

    /// The address at which a machine's program, or a kernel without rules for its addresses,
    /// reached a line; otherwise its address in the counted space.
    fn of(&self, line: u64) -> (u64, Space) {
        let counted = line * LINE_BYTES;
        let reached = || self.facts.counters.iter().find_map(|counter| counter.reached.address(line));
        let arguments = self.facts.arguments;
        let is_reached = arguments.selection.is_program() || arguments.addresses == Addresses::Physical;
        match is_reached.then(reached).flatten() {
            Some(address) => (address, Space::Virtual),
            None if counted < KERNEL => (self.chunks.physical(counted), Space::Physical),
            None => (counted, Space::Virtual),
        }
    }
}

/// Checks that a file can be created there. Leaves none behind.
pub(crate) fn check_path(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    NamedTempFile::new_in(directory(path)).map(drop)
}

/// Writes the report next to its final name, and then renames it: the file is either complete or
/// absent. Replaces an existing file with that name.
pub(crate) fn write(path: &Path, report: &RawReport) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(directory(path))?;
    let mut writer = BufWriter::new(&mut file);
    serde_json::to_writer(&mut writer, report)?;
    writer.write_all(b"\n")?;
    writer.flush()?;
    drop(writer);
    file.persist(path)?;
    Ok(())
}

fn directory(path: &Path) -> PathBuf {
    path.parent().unwrap_or(path).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_coherence::{Access, Context, Kind};

    const SITE: u64 = 0xffff_ffff_8100_0000;

    /// The report of two CPUs that alternately write the first word of a line, the second in
    /// interrupts.
    fn written_by_two(regions: u32) -> RawReport {
        let arguments = Arguments::parse(["cpus=2", "output=r.json", "samples=2"]).unwrap();
        let machine: &'static Machine = Box::leak(Box::new(arguments.model().unwrap()));
        let mut counters = [0, 1].map(|cpu| Counter::new(machine.cpu(cpu)));
        let contexts = [Context::Kernel, Context::Interrupt];
        for cpu in [0, 1, 0, 1, 0] {
            let context = contexts[cpu];
            let (address, kind) = (KERNEL + 0x1000, Kind::Write);
            let access = Access { address, size: 4, kind, site: SITE, context, contents: false };
            counters[cpu].access(&access, true);
        }
        let mut samples = Samples::new(2);
        for line in 0..2 {
            assert!(samples.note());
            samples.keep(Sample {
                cpu: 1,
                site: SITE,
                line: (KERNEL >> 6) + line,
                registers: [7; 16],
                stack: vec![1, 2],
            });
        }
        report(&Facts {
            space: &AddressSpace::new(arguments.addresses),
            arguments: &arguments,
            machine,
            regions,
            ended_by_call: None,
            stalled: None,
            times: Times { busy: 100, overlapping: 50 },
            spent: turns::Spent::default(),
            clocks: vec![900, 800],
            counters: counters.iter().collect(),
            samples: &samples,
            processes: &Processes::new(2),
            knows_interrupts: true,
        })
    }

    #[test]
    fn a_report_has_the_counts_of_each_part_and_is_read_as_it_was_written() {
        let report = written_by_two(1);
        let interrupt = report.interrupt.as_ref().unwrap();
        assert_eq!((report.operation.totals.transfers, interrupt.totals.transfers), (2, 2));
        assert_eq!(report.processes, [], "a machine has no programs that are recognised");
        let [line] = &report.operation.lines[..] else { panic!("{report:?}") };
        assert_eq!((line.address, line.space, &line.by_cpu[..]), (KERNEL + 0x1000, Space::Virtual, &[(0, 2)][..]));
        let [access] = &line.accesses[..] else { panic!("{line:?}") };
        assert_eq!((access.site, access.is_write, access.size, &access.others[..]), (SITE, true, 4, &[(0, 2)][..]));
        assert_eq!(report.cpus.iter().map(|cpu| (cpu.clock, cpu.transfers)).collect::<Vec<_>>(), [(900, 2), (800, 0)]);
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("report.json");
        write(&path, &report).unwrap();
        assert_eq!(RawReport::parse(&std::fs::read(&path).unwrap()), Ok(report));
    }

    #[test]
    fn a_report_replaces_the_old_one_and_leaves_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("report.json");
        check_path(&path).unwrap();
        assert!(!path.exists());
        write(&path, &written_by_two(1)).unwrap();
        write(&path, &written_by_two(2)).unwrap();
        assert_eq!(RawReport::parse(&std::fs::read(&path).unwrap()).unwrap().regions, 2);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
        assert_eq!(check_path(place.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(check_path(&place.path().join("no/r.json")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
