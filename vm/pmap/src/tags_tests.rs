//! Tests of numbers of spaces.

use crate::tags::{CpuTag, Switch, Tag, Tags};
use faultline_memory::CpuNumber;
use std::collections::BTreeSet;
use std::vec::Vec;

#[test]
fn a_space_keeps_its_number_while_there_are_free_ones() {
    let cpus = [CpuTag::default(), CpuTag::default()];
    let count = if cfg!(miri) { 64 } else { 4096 };
    let tags = Tags::<_, 64>::new(&cpus[..], count).unwrap();
    let spaces: Vec<_> = (1..count).map(|_| Tag::default()).collect();
    let numbers: BTreeSet<_> = spaces.iter().map(|tag| tags.switch(CpuNumber(0), tag).unwrap().number).collect();
    let last = count as u16 - 1;
    assert_eq!((numbers.len() as u16, numbers.first(), numbers.last()), (last, Some(&1), Some(&last)));
    let again = spaces.iter().map(|tag| tags.switch(CpuNumber(1), tag).unwrap());
    assert!(again.zip(1..).all(|(switch, number)| switch == Switch { number, must_flush: false }));
    assert_eq!(tags.switch(CpuNumber(2), &spaces[0]), None);
    assert!(Tags::<_, 64>::new(&cpus[..], 4097).is_none() && Tags::<_, 64>::new(&cpus[..], 3).is_none());
}

/// TLBs that keep everything: a number with translations of another space is never used before a
/// flush, and spaces that run on several CPUs have one number.
#[test]
fn no_cpu_uses_a_number_with_translations_of_another_space() {
    const CPUS: usize = 3;
    let cpus: Vec<_> = (0..CPUS).map(|_| CpuTag::default()).collect();
    let tags = Tags::<_, 1>::new(&cpus[..], 6).unwrap();
    let spaces: Vec<_> = (0..40).map(|_| Tag::default()).collect();
    // Of each CPU: the space whose translations each number has, and the space that runs.
    let (mut tlbs, mut running) = ([[None; 6]; CPUS], [None; CPUS]);
    let (mut state, mut flushes) = (12_345_u64, 0);
    let switches = if cfg!(miri) { 2_000 } else { 100_000 };
    for _ in 0..switches {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Some spaces run more often than others.
        let (cpu, space) = ((state >> 33) as usize % CPUS, ((state >> 40) % 40 * ((state >> 50) % 3) / 2) as usize);
        let Switch { number, must_flush } = tags.switch(CpuNumber(cpu as u32), &spaces[space]).unwrap();
        if must_flush {
            tlbs[cpu] = [None; 6];
            flushes += 1;
        }
        let of = &mut tlbs[cpu][usize::from(number)];
        assert!(number > 0 && of.is_none_or(|other| other == space));
        *of = Some(space);
        running[cpu] = Some((space, number));
        for (other, its) in running.iter().flatten() {
            assert_eq!(*other == space, *its == number, "spaces that run have numbers of their own");
        }
    }
    assert!(flushes > switches / 1000 && flushes < switches * 9 / 10, "{flushes}");
}
