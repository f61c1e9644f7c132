//! The specification of the operations: the model of POSIX memory of `vm/memory/tests/posix`, with
//! the active CPUs of each space. It alone decides which pairs commute.

#[allow(dead_code, reason = "private mappings and truncation are for tests of `vm/memory`")]
#[path = "../../../memory/tests/posix/mod.rs"]
mod posix;

use super::operation::{Operation, Pages};
use faultline_memory::{FaultError, SpaceError};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The byte of a page that programs read and write.
pub(super) const BYTE: usize = 3;
/// Pages of each object.
pub(super) const OBJECT_PAGES: u64 = 512;

/// Result of an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Returned {
    Done,
    /// The byte before the access.
    Byte(u8),
    Refused(SpaceError),
    Faulted(FaultError),
    /// The space or object does not exist.
    Gone,
}

impl From<Result<(), SpaceError>> for Returned {
    fn from(result: Result<(), SpaceError>) -> Self {
        result.map_or_else(Self::Refused, |()| Self::Done)
    }
}

impl From<Result<u8, FaultError>> for Returned {
    fn from(result: Result<u8, FaultError>) -> Self {
        result.map_or_else(Self::Faulted, Self::Byte)
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Space {
    memory: posix::Space,
    active: BTreeSet<usize>,
}

/// The state that programs can observe.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct State {
    spaces: BTreeMap<usize, Space>,
    objects: BTreeSet<usize>,
    contents: posix::Objects,
}

fn range(pages: Pages) -> Range<u64> {
    pages.first..pages.end()
}

impl State {
    /// Mapped pages of a space.
    pub(super) fn mapped(&self, space: usize) -> impl Iterator<Item = u64> {
        self.spaces.get(&space).into_iter().flat_map(|space| space.memory.mapped())
    }

    pub(super) fn is_active(&self, cpu: usize, space: usize) -> bool {
        self.spaces.get(&space).is_some_and(|space| space.active.contains(&cpu))
    }

    /// Performs an operation on a CPU.
    pub(super) fn apply(&mut self, cpu: usize, operation: &Operation) -> Returned {
        use Operation::*;
        match *operation {
            NewObject { object } => {
                self.objects.insert(object);
                self.contents.add(object, OBJECT_PAGES, |_| 0);
                return Returned::Done;
            }
            DropObject { object } => {
                return if self.objects.remove(&object) { Returned::Done } else { Returned::Gone };
            }
            NewSpace { space } => {
                self.spaces.insert(space, Space::default());
                return Returned::Done;
            }
            _ => {}
        }
        let Some((number, _)) = operation.place() else { return Returned::Gone };
        let Some(space) = self.spaces.get_mut(&number) else { return Returned::Gone };
        match *operation {
            Activate { .. } => {
                space.active.insert(cpu);
                return Returned::Done;
            }
            Deactivate { .. } => {
                space.active.remove(&cpu);
                return Returned::Done;
            }
            Exit { .. } if !space.active.is_empty() => return Returned::Refused(SpaceError::Active),
            Exit { .. } => {
                self.spaces.remove(&number);
                return Returned::Done;
            }
            Read { .. } | Write { .. } if !space.active.contains(&cpu) => {
                return Returned::Faulted(FaultError::NotActive);
            }
            _ if !space.active.contains(&cpu) => return Returned::Refused(SpaceError::NotActive),
            _ => {}
        }
        match *operation {
            Map { pages, rights, .. } => space.memory.map(range(pages), rights),
            MapObject { object, .. } if !self.objects.contains(&object) => return Returned::Gone,
            MapObject { pages, rights, object, from, .. } => {
                space.memory.map_object(range(pages), rights, object, from);
            }
            Unmap { pages, .. } => space.memory.unmap(range(pages)),
            Protect { pages, rights, .. } => return space.memory.protect(range(pages), rights).into(),
            DontNeed { pages, .. } => space.memory.dont_need(range(pages)),
            Read { page, .. } => return space.memory.access(&mut self.contents, page, BYTE, None, 0).into(),
            Write { page, value, .. } => {
                return space.memory.access(&mut self.contents, page, BYTE, Some(value), 0).into();
            }
            Fork { child, .. } => {
                let memory = space.memory.clone();
                self.spaces.insert(child, Space { memory, active: BTreeSet::new() });
            }
            Exit { .. } | Activate { .. } | Deactivate { .. } => {}
            NewSpace { .. } | NewObject { .. } | DropObject { .. } => {}
        }
        Returned::Done
    }

    /// Checks if two operations, the first on CPU 0 and the second on CPU 1, commute in this state:
    /// in both orders each returns equal results, and both leave equal states. If so, their results
    /// in the given order.
    pub(super) fn commute(&self, [first, second]: &[Operation; 2]) -> Option<[Returned; 2]> {
        let (mut one, mut other) = (self.clone(), self.clone());
        let returned = [one.apply(0, first), one.apply(1, second)];
        let second_before = other.apply(1, second);
        let first_after = other.apply(0, first);
        (returned == [first_after, second_before] && one == other).then_some(returned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Operation::*;
    use faultline_memory::Rights;

    const PAGES: Pages = Pages { first: 8, count: 4 };
    const BOTH: Rights = Rights::from_bits(3);

    /// A space that is active on both CPUs, with four pages, and an unmapped object.
    fn state() -> State {
        let mut state = State::default();
        for operation in [NewSpace { space: 0 }, NewObject { object: 0 }, Activate { space: 0 }] {
            assert_eq!(state.apply(0, &operation), Returned::Done);
        }
        assert_eq!(state.apply(1, &Activate { space: 0 }), Returned::Done);
        assert_eq!(state.apply(0, &Map { space: 0, pages: PAGES, rights: BOTH }), Returned::Done);
        state
    }

    #[test]
    fn operations_that_do_not_commute_are_recognised() {
        let protect = Protect { space: 0, pages: PAGES, rights: Rights::READ };
        let [unmap, write] = [Unmap { space: 0, pages: PAGES }, Write { space: 0, page: 9, value: 1 }];
        let read = Read { space: 0, page: 9 };
        let map = Map { space: 0, pages: PAGES, rights: Rights::READ };
        let drop = DropObject { object: 0 };
        let object = MapObject { space: 0, pages: PAGES, rights: BOTH, object: 0, from: 0 };
        let other_write = Write { space: 0, page: 9, value: 2 };
        for pair in [
            [protect, write],
            [unmap, read],
            [write, read],
            [write, other_write],
            [map, unmap],
            [map, write],
            [drop, drop],
            [drop, object],
            [write, Fork { space: 0, child: 5 }],
        ] {
            assert_eq!(state().commute(&pair), None, "{pair:?}");
        }
    }

    #[test]
    fn what_commutes_is_found() {
        let [read, write] = [Read { space: 0, page: 9 }, Write { space: 0, page: 9, value: 1 }];
        let beside = Write { space: 0, page: 10, value: 2 };
        let unmap = Unmap { space: 0, pages: Pages { first: 11, count: 2 } };
        let exit = Exit { space: 0 };
        for (pair, returned) in [
            ([read, read], [Returned::Byte(0); 2]),
            ([write, beside], [Returned::Byte(0); 2]),
            ([unmap, write], [Returned::Done, Returned::Byte(0)]),
            ([unmap, unmap], [Returned::Done; 2]),
            ([Fork { space: 0, child: 4 }, Fork { space: 0, child: 5 }], [Returned::Done; 2]),
            ([exit, exit], [Returned::Refused(SpaceError::Active); 2]),
        ] {
            assert_eq!(state().commute(&pair), Some(returned), "{pair:?}");
        }
    }
}
