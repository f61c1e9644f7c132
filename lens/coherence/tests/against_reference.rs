//! Random accesses by a few CPUs to a few lines: every single one must move a line exactly when the plain model says so, and
//! the sharing must be judged alike.

mod reference;

use faultline_coherence::{Access, Kind, LINE_BYTES, Machine, Report, Topology};
use proptest::prelude::*;
use reference::Reference;

const CPUS: u16 = 5;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_transfer_and_its_sharing_agree(
        steps in proptest::collection::vec((0..CPUS, 0u64..3, 0u64..4, 0u8..3), 1..120)
    ) {
        let machine = Machine::new(Topology::new(CPUS.into(), 1, CPUS.into()).unwrap());
        let mut cpus: Vec<_> = (0..CPUS).map(|id| machine.cpu(id)).collect();
        let mut reference = Reference::default();
        for (step, (cpu, line, field, kind)) in steps.into_iter().enumerate() {
            let kind = [Kind::Read, Kind::Write, Kind::Atomic][kind as usize];
            // Four fields of 16 bytes.
            let address = line * LINE_BYTES + field * 16;
            let bytes: Vec<u64> = (field * 16..field * 16 + 16).collect();
            let access = Access { address, size: 16, kind, site: field, user: false };
            let moved = cpus[usize::from(cpu)].access(&access) == 1;
            let expected = reference.access(cpu, line, &bytes, kind != Kind::Read);
            prop_assert_eq!(moved, expected, "step {} by CPU {}: {:?}", step, cpu, access);
        }
        let report = Report::new(cpus.iter().map(|cpu| (cpu.id(), cpu.tally())));
        prop_assert_eq!(report.count.true_sharing, reference.sums.true_sharing);
        prop_assert_eq!(report.count.false_sharing, reference.sums.false_sharing);
        prop_assert_eq!(report.lines.iter().map(|line| line.count.total()).sum::<u64>(), report.count.total());
        prop_assert_eq!(report.by_cause.values().sum::<u64>(), report.count.total());
        prop_assert_eq!(report.by_distance.values().sum::<u64>(), report.count.total());
    }
}
