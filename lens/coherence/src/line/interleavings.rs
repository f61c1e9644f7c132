//! Interleavings of a few CPUs' accesses to one line, with stale relaxed loads. `loom` explores all
//! interleavings with few preemptions.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p faultline-coherence --lib interleavings`
//!
//! The tests check three properties. Each version is begun by exactly one CPU. The word that ends a
//! version has the exact number of CPUs that have fetched the line and still hold it, and whether
//! its owner still holds it. So a write is a transfer exactly if another CPU holds the line, and a
//! read is counted once for each version that the CPU did not hold.

use super::Line;
use crate::topology::CpuId;
use crate::word::{Readers, Version, Word};
use loom::sync::Arc;
use loom::thread;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Read,
    Write,
    /// Drops the line because the cache is full.
    Drop,
}

/// A step of a CPU, with the word before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Fetched(Word),
    Began(Word),
    WroteAgain(Word),
    WroteBack(Version),
    Dropped(Version),
}

/// Executes a CPU's steps, and tracks its copy as a CPU of the model does.
fn run(line: &Line, cpu: CpuId, steps: &[Step]) -> Vec<Deed> {
    let mut held: Option<Version> = None;
    let mut deeds = Vec::new();
    for step in steps {
        match step {
            Step::Read => {
                let word = line.fetch(cpu, held);
                if held != Some(word.version()) {
                    deeds.push(Deed::Fetched(word));
                }
                held = Some(word.version());
            }
            Step::Write => {
                let word = line.own(cpu);
                if word.is_exclusive_to(cpu) {
                    deeds.push(Deed::WroteAgain(word));
                } else {
                    deeds.push(Deed::Began(word));
                    held = Some(word.version() + 1);
                }
            }
            Step::Drop => {
                let found = held.take().and_then(|version| line.drop_copy(cpu, version));
                deeds.extend(found.map(|word| match word.owner() == Some(cpu) {
                    true => Deed::WroteBack(word.version()),
                    false => Deed::Dropped(word.version()),
                }));
            }
        }
    }
    deeds
}

fn check(deeds: &[(CpuId, Deed)], last: Word) {
    let mut begun: BTreeMap<Version, CpuId> = BTreeMap::new();
    let mut fetched: BTreeMap<Version, u16> = BTreeMap::new();
    let mut dropped: BTreeMap<Version, u16> = BTreeMap::new();
    let mut written_back: BTreeSet<Version> = BTreeSet::new();
    for &(cpu, deed) in deeds {
        match deed {
            Deed::Began(found) => assert_eq!(begun.insert(found.version() + 1, cpu), None, "begun twice: {deeds:?}"),
            Deed::Fetched(found) => *fetched.entry(found.version()).or_default() += 1,
            Deed::Dropped(version) => *dropped.entry(version).or_default() += 1,
            Deed::WroteBack(version) => assert!(written_back.insert(version), "written back twice: {deeds:?}"),
            Deed::WroteAgain(_) => {}
        }
    }
    assert_eq!(last.version(), begun.len() as u64, "a version was lost: {deeds:?}");
    let number = |of: &BTreeMap<Version, u16>, version| of.get(&version).copied().unwrap_or(0);
    let readers = |version: Version| number(&fetched, version) - number(&dropped, version);
    let owner = |version: Version| begun.get(&version).copied().filter(|_| !written_back.contains(&version));
    let is_complete = |word: Word| {
        let version = word.version();
        let found = match word.readers() {
            Readers::Nobody => 0,
            Readers::One(_) => 1,
            Readers::Unnamed(number) => number,
        };
        assert_eq!((word.owner(), found), (owner(version), readers(version)), "{deeds:?}");
    };
    is_complete(last);
    for &(cpu, deed) in deeds {
        match deed {
            Deed::Began(found) => is_complete(found),
            Deed::WroteAgain(found) => assert_eq!(begun.get(&found.version()), Some(&cpu), "{deeds:?}"),
            Deed::Fetched(_) | Deed::WroteBack(_) | Deed::Dropped(_) => {}
        }
    }
}

/// Maximum number of preemptions. Without a bound, three CPUs take hours.
const MOST_INTERRUPTIONS: usize = 3;

fn explore(scripts: &'static [&'static [Step]]) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(MOST_INTERRUPTIONS);
    builder.check(move || {
        let line = Arc::new(Line::default());
        let threads: Vec<_> = scripts[1..]
            .iter()
            .zip(1..)
            .map(|(steps, cpu)| {
                let line = line.clone();
                thread::spawn(move || run(&line, cpu, steps))
            })
            .collect();
        let mut deeds: Vec<(CpuId, Deed)> = run(&line, 0, scripts[0]).into_iter().map(|deed| (0, deed)).collect();
        for (thread, cpu) in threads.into_iter().zip(1..) {
            deeds.extend(thread.join().unwrap().into_iter().map(|deed| (cpu, deed)));
        }
        check(&deeds, line.word());
    });
}

use Step::{Drop, Read, Write};

#[test]
fn two_writers() {
    explore(&[&[Write, Write, Write], &[Write, Write, Write]]);
}

#[test]
fn two_that_read_and_write() {
    explore(&[&[Read, Write, Read], &[Write, Read, Write]]);
}

#[test]
fn a_writer_and_two_readers() {
    explore(&[&[Write, Write], &[Read, Read], &[Read, Read]]);
}

#[test]
fn three_that_read_and_write() {
    explore(&[&[Read, Write], &[Write, Read], &[Read, Write]]);
}

#[test]
fn two_without_room() {
    explore(&[&[Write, Drop, Read, Write], &[Read, Write, Drop]]);
}

#[test]
fn three_of_which_the_readers_have_no_room() {
    explore(&[&[Write, Write], &[Read, Drop, Read], &[Read, Drop]]);
}

#[test]
fn three_of_which_the_writer_has_no_room() {
    explore(&[&[Write, Drop], &[Read, Write], &[Read, Drop, Read]]);
}
