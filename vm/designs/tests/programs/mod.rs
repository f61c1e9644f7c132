//! Random programs of several spaces, CPUs and objects, short of frames, compared with the model.
//! One thread drives all CPUs. A failing program is shrunk and printed.

use crate::posix::{BYTES, Objects, Space};
use crate::{BOTH, access, pages};
use faultline_frame_designs::systems::{Cpu, Shape, System, on_machine};
use faultline_frames::Policy;
use faultline_memory::hosted::PAGES;
use faultline_memory::{FaultError, PageRange, Rights, SpaceError, VirtualPage};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;

const CPUS: usize = 3;
/// Fewer than programs want.
const FRAMES: u64 = 256;
/// Free frames that a CPU cannot get: other CPUs' current magazines.
const STRANDED: u64 = 32 * (CPUS as u64 - 1);
const MOST_SPACES: usize = 5;
const OBJECT_PAGES: u64 = 150;
/// Programs of 1 to 1,500 operations: 60,000 operations for each design.
const PROGRAMS: u32 = 80;
/// Time limit for shrinking a failing program: more takes long and shows little.
const SHRINK_MS: u32 = 20_000;

/// An operation. Numbers are taken modulo what exists, so removing operations leaves a valid
/// program.
#[derive(Debug, Clone)]
pub struct Operation {
    kind: Kind,
    cpu: usize,
    space: usize,
    first: u64,
    pages: u64,
    number: usize,
    rights: Rights,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Access,
    Map,
    MapObject,
    Unmap,
    Protect,
    DontNeed,
    Fork,
    Exit,
    Activate,
    Deactivate,
    NewObject,
}

fn kind() -> impl Strategy<Value = Kind> {
    use Kind::{Access, Activate, Deactivate, DontNeed, Exit, Fork, Map, MapObject, NewObject, Protect, Unmap};
    prop_oneof![
        60 => Just(Access), 8 => Just(Map), 5 => Just(MapObject), 5 => Just(Unmap), 5 => Just(Protect), 3 => Just(DontNeed),
        4 => Just(Fork), 3 => Just(Exit), 3 => Just(Activate), 2 => Just(Deactivate), 2 => Just(NewObject),
    ]
}

prop_compose! {
    /// Around the borders of nodes and page tables.
    fn operation()(
        kind in kind(), cpu in 0..CPUS, space in 0..64_usize, number in 0..10_000_usize,
        near in prop::sample::select(vec![0, 64, 512, 4096, 1 << 18, 1 << 27]), offset in 0..90_u64,
        pages in prop_oneof![12 => 1..10_u64, 6 => 1..150_u64, 1 => Just(64), 1 => Just(600)],
        rights in prop_oneof![1 => Just(Rights::NONE), 2 => Just(Rights::READ), 3 => Just(BOTH)],
    ) -> Operation {
        Operation { kind, cpu, space, first: (near + offset).saturating_sub(40), pages, number, rights }
    }
}

/// A space and its model.
struct Pair<'m, S: System> {
    ours: S::Space<'m>,
    model: Space,
    active: BTreeSet<usize>,
}

struct Run<'r, 'm, S: System> {
    system: &'r S,
    cpus: &'r [Cpu<'m>],
    pairs: Vec<Pair<'m, S>>,
    objects: Vec<Option<S::Object<'m>>>,
    contents: Objects,
}

impl<'m, S: System> Run<'_, 'm, S> {
    fn step(&mut self, operation: &Operation) {
        let &Operation { kind, cpu: on, first, pages, number, rights, .. } = operation;
        let which = operation.space % self.pairs.len();
        let (system, cpu) = (self.system, &self.cpus[on]);
        let range = PageRange::new(VirtualPage(first), pages).unwrap();
        let spaces = self.pairs.len();
        let pair = &mut self.pairs[which];
        if !matches!(kind, Kind::NewObject | Kind::Exit) && pair.active.insert(on) {
            system.activate(cpu, &pair.ours).unwrap();
        }
        match kind {
            Kind::Access => self.accesses(which, operation),
            Kind::Map => {
                system.map(cpu, &pair.ours, range, rights).unwrap();
                pair.model.map(first..first + pages, rights);
            }
            Kind::MapObject => self.map_object(which, operation),
            Kind::Unmap => {
                system.unmap(cpu, &pair.ours, range).unwrap();
                pair.model.unmap(first..first + pages);
            }
            Kind::Protect => {
                let found = system.protect(cpu, &pair.ours, range, rights);
                assert_eq!(found, pair.model.protect(first..first + pages, rights));
            }
            Kind::DontNeed => {
                system.dont_need(cpu, &pair.ours, range).unwrap();
                pair.model.dont_need(first..first + pages);
            }
            Kind::Fork if spaces < MOST_SPACES => {
                let (ours, model) = (system.fork(cpu, &pair.ours).unwrap(), pair.model.clone());
                self.pairs.push(Pair { ours, model, active: BTreeSet::new() });
            }
            Kind::Exit if spaces > 1 => self.end(which, on),
            Kind::Fork | Kind::Exit | Kind::Activate => {}
            Kind::Deactivate => {
                system.deactivate(cpu, &pair.ours);
                pair.active.remove(&on);
            }
            Kind::NewObject if self.objects.iter().flatten().count() < 4 => {
                self.contents.add(self.objects.len(), OBJECT_PAGES, |_| 0);
                self.objects.push(Some(system.new_object(cpu, OBJECT_PAGES).unwrap()));
            }
            Kind::NewObject => {
                let place = number % self.objects.len();
                self.objects[place].take().into_iter().for_each(|object| system.drop_object(cpu, object));
            }
        }
    }

    fn accesses(&mut self, which: usize, operation: &Operation) {
        let &Operation { first, pages, number, cpu, .. } = operation;
        let pair = &mut self.pairs[which];
        for index in 0..pages.min(12) {
            let (page, byte) = (first + index, (number + index as usize) % BYTES);
            let write = (number % 2 == 0).then_some((number / 2 + index as usize) as u8);
            let found = access(self.system, &self.cpus[cpu], &pair.ours, page, byte, write);
            if found == Err(FaultError::NoMemory) {
                assert!(self.cpus[cpu].frames().free() <= STRANDED, "a lack of memory while frames are free");
                return;
            }
            let expected = pair.model.access(&mut self.contents, page, byte, write, 0);
            assert_eq!(found, expected, "page {page:#x} byte {byte} of space {which}");
        }
    }

    fn map_object(&mut self, which: usize, operation: &Operation) {
        let &Operation { first, pages, number, rights, cpu, .. } = operation;
        let place = number % self.objects.len().max(1);
        let Some(Some(object)) = self.objects.get(place) else { return };
        let begin = number as u64 % OBJECT_PAGES;
        let range = PageRange::new(VirtualPage(first), pages).unwrap();
        let pair = &mut self.pairs[which];
        let mapped = self.system.map_object(&self.cpus[cpu], &pair.ours, range, rights, object, begin);
        if begin + pages > OBJECT_PAGES {
            assert_eq!(mapped, Err(SpaceError::BeyondObject));
        } else {
            mapped.unwrap();
            pair.model.map_object(first..first + pages, rights, place, begin);
        }
    }

    fn end(&mut self, which: usize, on: usize) {
        let Pair { ours, active, .. } = self.pairs.swap_remove(which);
        active.iter().for_each(|cpu| self.system.deactivate(&self.cpus[*cpu], &ours));
        self.system.exit(&self.cpus[on], ours).unwrap();
    }

    /// Compares all readable bytes, and ends.
    fn finish(mut self) {
        let cpu = &self.cpus[0];
        for pair in &mut self.pairs {
            self.system.activate(cpu, &pair.ours).unwrap();
            pair.active.insert(0);
            for page in pair.model.mapped().collect::<Vec<_>>() {
                for byte in 0..BYTES {
                    let found = access(self.system, cpu, &pair.ours, page, byte, None);
                    if found == Err(FaultError::NoMemory) {
                        break;
                    }
                    let expected = pair.model.access(&mut self.contents, page, byte, None, 0);
                    assert_eq!(found, expected, "page {page:#x} byte {byte} at the end");
                }
            }
        }
        // One space is unmapped as a whole, the others keep their mappings.
        let all = PAGES;
        self.system.unmap(cpu, &self.pairs[0].ours, all).unwrap();
        while !self.pairs.is_empty() {
            self.end(self.pairs.len() - 1, 0);
        }
        self.objects.drain(..).flatten().for_each(|object| self.system.drop_object(cpu, object));
    }
}

fn shape(cpus: usize, frames: u64) -> Shape {
    Shape { cpus: cpus as u32, frames, frame_bytes: BYTES, policy: Policy::default().with_stock_most(1) }
}

pub fn run<S: System>(operations: &[Operation]) {
    let ((), free) = on_machine::<S, _>(&shape(CPUS, FRAMES), |system, cpus| {
        let first =
            Pair { ours: system.new_space(&cpus[0]).unwrap(), model: Space::default(), active: BTreeSet::new() };
        let mut run =
            Run { system, cpus: &cpus, pairs: vec![first], objects: Vec::new(), contents: Objects::default() };
        operations.iter().for_each(|operation| run.step(operation));
        run.finish();
    })
    .unwrap();
    assert_eq!(free, FRAMES, "all frames are back");
}

pub fn agree_with_the_model<S: System>() {
    let cases = ProptestConfig {
        failure_persistence: None,
        max_shrink_time: SHRINK_MS,
        ..ProptestConfig::with_cases(PROGRAMS)
    };
    proptest!(cases, |(operations in vec(operation(), 1..1500))| run::<S>(&operations));
}

/// Each space writes one page of its own; the other page stays shared.
pub fn forks_in_a_row<S: System>() {
    let ((), free) = on_machine::<S, _>(&shape(1, 1024), |system, cpus| {
        let cpu = &cpus[0];
        let mut generations = vec![system.new_space(cpu).unwrap()];
        system.activate(cpu, &generations[0]).unwrap();
        system.map(cpu, &generations[0], pages(0, 2), BOTH).unwrap();
        assert_eq!(access(system, cpu, &generations[0], 1, 0, Some(77)), Ok(0));
        for generation in 1..=100 {
            let child = system.fork(cpu, generations.last().unwrap()).unwrap();
            system.activate(cpu, &child).unwrap();
            assert_eq!(access(system, cpu, &child, 0, 0, Some(generation)), Ok(generation - 1));
            assert_eq!(access(system, cpu, &child, 1, 0, None), Ok(77));
            generations.push(child);
        }
        for (space, generation) in generations.into_iter().zip(0..) {
            assert_eq!(access(system, cpu, &space, 0, 0, None), Ok(generation));
            system.deactivate(cpu, &space);
            system.exit(cpu, space).unwrap();
        }
    })
    .unwrap();
    assert_eq!(free, 1024, "all frames are back");
}
