//! Random accesses by a few CPUs to a few lines. Each access must cost what the reference model
//! says, and both must agree on the sharing.

use crate::reference::{Needed, Reference};
use faultline_coherence::{Access, Caches, Context, Costs, Grant, Kind, LINE_BYTES, Machine, Report, Topology, Work};
use proptest::prelude::*;
use std::collections::BTreeMap;

const CPUS: u16 = 5;
const TRANSFER: u64 = 1;
const MEMORY: u64 = 1000;

/// CPU, line, field of the line, kind.
type Step = (u16, u64, u64, u8);

/// Steps over a few lines, each of four fields of 16 bytes.
fn steps(lines: u64, most: usize) -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec((0..CPUS, 0..lines, 0u64..4, 0u8..3), 1..most)
}

/// Placement of the lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    /// Next to each other.
    Near,
    /// So far apart that they evict each other from the table of recent lines.
    Far,
}

fn agree(
    steps: Vec<Step>,
    lines: Lines,
    caches: Option<Caches>,
    mut reference: Reference,
) -> Result<(), TestCaseError> {
    let costs = Costs { same_cache: TRANSFER, same_socket: TRANSFER, other_socket: TRANSFER, memory: MEMORY };
    let machine = Machine::with(Topology::new(CPUS.into(), 1, CPUS.into()).unwrap(), costs, caches).unwrap();
    let mut cpus: Vec<_> = (0..CPUS).map(|id| machine.cpu(id)).collect();
    for (step, (cpu, line, field, kind)) in steps.into_iter().enumerate() {
        let line = if lines == Lines::Near { line } else { line << 40 };
        let kind = [Kind::Read, Kind::Write, Kind::Atomic][kind as usize];
        let bytes: Vec<u64> = (field * 16..field * 16 + 16).collect();
        let address = line * LINE_BYTES + field * 16;
        let access = Access { address, size: 16, kind, site: field, context: Context::Kernel, contents: false };
        let expected = match reference.access(cpu, line, &bytes, kind != Kind::Read) {
            Needed::Nothing => 0,
            Needed::Transfer => TRANSFER,
            Needed::Memory => MEMORY,
        };
        let cost = cpus[usize::from(cpu)].access(&access);
        prop_assert_eq!(cost, expected, "step {} by CPU {}: {:?}", step, cpu, access);
    }
    let report = Report::new(&machine, cpus.iter().map(|cpu| (cpu.id(), cpu.tally())));
    let total = report.count.total();
    prop_assert_eq!(total, reference.sums.true_sharing + reference.sums.false_sharing);
    prop_assert_eq!(report.count.true_sharing, reference.sums.true_sharing);
    prop_assert_eq!(
        cpus.iter().map(|cpu| cpu.capacity_misses(Work::Operation)).sum::<u64>(),
        reference.sums.capacity_misses
    );
    prop_assert_eq!(cpus.iter().map(|cpu| cpu.transfers(Work::Operation)).sum::<u64>(), total);
    prop_assert_eq!(report.lines.iter().map(|line| line.count.total()).sum::<u64>(), total);
    prop_assert_eq!(report.by_cause.values().sum::<u64>(), total);
    prop_assert_eq!(report.by_distance.values().sum::<u64>(), total);
    for line in &report.lines {
        prop_assert_eq!(line.by_access.iter().map(|(_, count)| count.total()).sum::<u64>(), line.count.total());
    }
    Ok(())
}

/// Runs the same steps twice, a few at a time for each CPU: once executing every access, once
/// skipping granted accesses, including those granted in earlier turns. The results must be equal.
fn settled_accesses_affect_no_cpu(turns: Vec<(u16, Vec<Step>)>, caches: Option<Caches>) -> Result<(), TestCaseError> {
    let outcome = |leaves_out: bool| {
        let topology = Topology::new(CPUS.into(), 1, CPUS.into()).unwrap();
        let machine = Machine::with(topology, Costs { memory: MEMORY, ..Costs::ONE_EACH }, caches).unwrap();
        let mut cpus: Vec<_> = (0..CPUS).map(|id| machine.cpu(id)).collect();
        let (mut costs, mut left_out) = (Vec::new(), 0);
        let mut grants = BTreeMap::new();
        for &(id, ref steps) in &turns {
            let cpu = &mut cpus[usize::from(id)];
            for &(_, line, field, kind) in steps {
                let kind = [Kind::Read, Kind::Write, Kind::Atomic][kind as usize];
                let address = line * LINE_BYTES + field * 16;
                let access = Access { address, size: 16, kind, site: field, context: Context::Kernel, contents: false };
                let bytes = 0xFFFF << (field * 16);
                let grant = grants.get_mut(&(id, line)).filter(|_| leaves_out);
                if grant.is_some_and(|grant: &mut Grant<'_>| grant.allows(bytes, kind != Kind::Read)) {
                    left_out += 1;
                    continue;
                }
                let cost = cpu.access(&access);
                costs.extend((cost != 0).then_some((cpu.id(), address, cost)));
                grants.retain(|&(other, line), _| other != id || !cpu.evicted().contains(&line));
                for disturbance in cpu.disturbed() {
                    let is_disturbed = |other, line| {
                        line == disturbance.line && other != id && disturbance.cpu.is_none_or(|cpu| cpu == other)
                    };
                    grants.retain(|&(other, line), _| !(disturbance.is_lost && is_disturbed(other, line)));
                    for (_, grant) in grants.iter_mut().filter(|((other, line), _)| is_disturbed(*other, *line)) {
                        grant.end_writing();
                    }
                }
                grants.insert((id, line), cpu.grant(line));
            }
        }
        let report = Report::new(&machine, cpus.iter().map(|cpu| (cpu.id(), cpu.tally())));
        (costs, format!("{report:?}"), left_out)
    };
    let (all, some) = (outcome(false), outcome(true));
    prop_assert_eq!((&all.0, &all.1), (&some.0, &some.1));
    let steps: usize = turns.iter().map(|(_, steps)| steps.len()).sum();
    let is_crowded = caches.is_some_and(|caches| caches.lines < 3);
    prop_assert!(some.2 * 10 > steps || steps < 100 || is_crowded, "{} of {} left out", some.2, steps);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn settled_accesses_may_be_left_out(
        turns in proptest::collection::vec((0..CPUS, steps(3, 40)), 1..30)
    ) {
        settled_accesses_affect_no_cpu(turns, None)?;
    }

    #[test]
    fn settled_accesses_may_be_left_out_until_their_line_is_evicted(
        turns in proptest::collection::vec((0..CPUS, steps(3, 40)), 1..30),
        (sets, ways) in (1u32..3, 1u32..3),
    ) {
        settled_accesses_affect_no_cpu(turns, Some(Caches { lines: sets * ways, ways }))?;
    }

    #[test]
    fn infinite_caches_agree(steps in steps(3, 120)) {
        agree(steps, Lines::Near, None, Reference::default())?;
    }

    #[test]
    fn one_line_for_long_agrees(steps in steps(1, 900)) {
        agree(steps, Lines::Near, None, Reference::default())?;
    }

    #[test]
    fn bounded_caches_agree((sets, ways) in (1u64..4, 1usize..4), steps in steps(9, 200)) {
        let caches = Caches { lines: sets as u32 * ways as u32, ways: ways as u32 };
        agree(steps, Lines::Near, Some(caches), Reference::bounded(sets, ways))?;
    }

    #[test]
    fn a_cache_that_is_large_enough_is_as_good_as_an_infinite_one(steps in steps(9, 200)) {
        agree(steps, Lines::Near, Some(Caches { lines: 9, ways: 9 }), Reference::default())?;
    }

    #[test]
    fn lines_that_lose_their_place_agree(ways in proptest::option::of(1usize..6), steps in steps(6, 200)) {
        let caches = ways.map(|ways| Caches { lines: ways as u32, ways: ways as u32 });
        let reference = ways.map_or_else(Reference::default, |ways| Reference::bounded(1, ways));
        agree(steps, Lines::Far, caches, reference)?;
    }
}
