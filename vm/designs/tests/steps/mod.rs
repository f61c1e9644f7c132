//! Random sequences of operations, for the trials of all designs.

use faultline_frame_designs::Memory;
use faultline_frame_designs::trial::Step;
use proptest::prelude::*;

/// Memory of the trials.
pub const MEMORY: Memory = Memory { frames: 4096, cpus: 3, sockets: 1 };

/// An operation.
pub fn step() -> impl Strategy<Value = Step> {
    let (cpu, pick) = (0..MEMORY.cpus, any::<usize>());
    let few_or_many = prop_oneof![4 => 1..40_usize, 1 => 1..1500_usize];
    prop_oneof![
        8 => (cpu.clone(), few_or_many.clone()).prop_map(|(cpu, count)| Step::Get { cpu, count }),
        8 => (cpu.clone(), pick, few_or_many, any::<bool>())
            .prop_map(|(cpu, pick, count, batch)| Step::Put { cpu, pick, count, batch }),
        2 => cpu.clone().prop_map(|cpu| Step::GetHuge { cpu }),
        2 => (cpu.clone(), any::<usize>()).prop_map(|(cpu, pick)| Step::PutHuge { cpu, pick }),
        1 => cpu.prop_map(|cpu| Step::Drain { cpu }),
    ]
}
