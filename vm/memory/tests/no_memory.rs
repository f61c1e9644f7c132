//! Allocations of the crate's own tables. Failing ones, one by one in each call: the call fails,
//! changes nothing, and leaks nothing. And nodes of the tree: an unmap frees them, touched or not.

mod host;
#[expect(dead_code, reason = "this test cuts no store off")]
mod store;

use faultline_memory::hosted::Hosted;
use faultline_memory::{
    Anywhere, Event, FaultError, Machine, MemoryObject, PageRange, Rights, Space, SpaceError, VirtualPage,
};
use host::{HostCpu, access};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use store::{Store, on_swapping_machine};

/// The system's allocator, with injected failures and a count of allocations.
struct Scarce;

thread_local! {
    /// Number of allocations of this thread that will succeed.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    /// Number of live allocations of this thread.
    static HELD: Cell<i64> = const { Cell::new(0) };
}

// SAFETY: all is done by the system's allocator, or nothing.
unsafe impl GlobalAlloc for Scarce {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(left) = LEFT.get().checked_sub(1) else { return std::ptr::null_mut() };
        LEFT.set(left);
        HELD.set(HELD.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        HELD.set(HELD.get() - 1);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static SCARCE: Scarce = Scarce;

const BOTH: Rights = Rights::from_bits(3);

/// Makes a call with 0 allowed allocations, 1, and so on, until it succeeds. Returns the number of
/// failures.
fn until_it_succeeds<R, E>(mut call: impl FnMut() -> Result<R, E>) -> (R, u64) {
    for most in 0.. {
        LEFT.set(most);
        let result = call();
        LEFT.set(u64::MAX);
        if let Ok(result) = result {
            return (result, most);
        }
    }
    unreachable!()
}

fn pages(first: u64, pages: u64) -> PageRange {
    PageRange::new(VirtualPage(first), pages).unwrap()
}

/// Runs with a file of 8 pages. Checks that nothing leaks.
fn on_one_cpu(frames: u64, mut run: impl FnMut(&HostCpu<'_, '_>, &Space<'_, Hosted>, &MemoryObject<'_, Hosted>)) {
    on_swapping_machine(1, frames, 16, |cpus| {
        let [cpu] = cpus else { unreachable!() };
        let held = HELD.get();
        let file = Arc::new(Store::new(cpu.memory().machine().bytes().clone(), |_| 7));
        let object = cpu.new_paged_object(8, file).unwrap();
        let space = cpu.new_space().unwrap();
        cpu.activate(&space).unwrap();
        run(cpu, &space, &object);
        cpu.deactivate(&space);
        assert!(cpu.exit(space).is_ok());
        cpu.drop_object(object);
        assert_eq!(HELD.get(), held, "what is left behind");
    });
}

#[test]
fn a_mapping_that_has_no_room_gives_its_object_back() {
    on_one_cpu(64, |cpu, space, object| {
        for map in [HostCpu::map_object, HostCpu::map_private] {
            let (_, failed) = until_it_succeeds(|| map(cpu, space, pages(3, 5), BOTH, object, 0));
            assert!(failed > 0);
            assert_eq!(access(cpu, cpu.memory(), space, 3, 0, None), Ok(7));
            cpu.unmap(space, pages(0, 64)).unwrap();
        }
    });
}

#[test]
fn a_space_and_a_fork_that_have_no_room_leave_nothing() {
    on_one_cpu(64, |cpu, space, object| {
        cpu.map(space, pages(0, 70), BOTH).unwrap();
        cpu.map_object(space, pages(100, 8), BOTH, object, 0).unwrap();
        assert_eq!(access(cpu, cpu.memory(), space, 69, 0, Some(3)), Ok(0));
        assert_eq!(access(cpu, cpu.memory(), space, 101, 0, Some(4)), Ok(7));
        let (child, failed) = until_it_succeeds(|| cpu.fork(space));
        assert!(failed > 2, "{failed}");
        assert_eq!(access(cpu, cpu.memory(), space, 69, 0, Some(5)), Ok(3));
        let (_, failed) = until_it_succeeds(|| cpu.activate(&child));
        // Page tables of the CPU's own.
        assert_eq!(failed > 0, cpu.memory().machine().has_tables_of_each_cpu(), "{failed}");
        assert_eq!(access(cpu, cpu.memory(), &child, 69, 0, None), Ok(3));
        cpu.deactivate(&child);
        assert!(cpu.exit(child).is_ok());
        let (other, failed) = until_it_succeeds(|| cpu.new_space());
        assert!(failed > 1, "{failed}");
        assert!(cpu.exit(other).is_ok());
    });
}

#[test]
fn a_large_page_that_has_no_room_becomes_a_small_one_and_dividing_one_takes_none() {
    on_one_cpu(2048, |cpu, space, _| {
        let at = |page, write| access(cpu, cpu.memory(), space, page, 0, write);
        let counted = |event| cpu.memory().counters().of(event);
        let mut most = 0;
        loop {
            cpu.map(space, pages(512, 512), BOTH).unwrap();
            LEFT.set(most);
            let found = at(520, Some(3));
            LEFT.set(u64::MAX);
            assert!(matches!(found, Ok(0) | Err(FaultError::NoMemory)), "{found:?}");
            if counted(Event::LargeFill) > 0 {
                break;
            }
            assert_eq!(cpu.frames().free(), 2048 - u64::from(found.is_ok()));
            cpu.unmap(space, pages(0, 1 << 20)).unwrap();
            assert_eq!(cpu.frames().free(), 2048);
            // Provides a block that is free as a whole.
            cpu.frames().drain_own();
            most += 1;
        }
        assert!(most >= 8 && cpu.frames().free() == 2048 - 512, "eight leaves, at least: {most}");
        LEFT.set(0);
        cpu.dont_need(space, pages(600, 3)).unwrap();
        assert_eq!(counted(Event::Divided), 1);
        assert_eq!((at(520, None), at(600, Some(1))), (Ok(3), Ok(0)));
        LEFT.set(u64::MAX);
    });
}

/// Leaves that a CPU remembers, and nodes that wait for a shoot-down: a CPU's share of a space.
const LEFT_MOST: i64 = 100;

/// Number of the tree's nodes: live allocations since `before`.
fn nodes_since(before: i64) -> i64 {
    HELD.get() - before
}

const MANY: u64 = 20_000;
/// A leaf of its own for each mapping.
const APART: u64 = 64;

#[test]
fn an_unmap_of_all_frees_nodes_of_memory_that_was_never_touched() {
    const UNTOUCHED: u64 = 10 * MANY;
    on_one_cpu(64, |cpu, space, _| {
        let fork = || {
            // Takes out empty nodes, which may make the CPU free those that it keeps.
            assert!(cpu.exit(cpu.fork(space).unwrap()).is_ok());
            let before = HELD.get();
            let child = cpu.fork(space).unwrap();
            let copied = nodes_since(before);
            assert!(cpu.exit(child).is_ok());
            copied
        };
        let (before, copied) = (HELD.get(), fork());
        for number in 0..UNTOUCHED {
            cpu.map(space, pages(5 + number * APART, 1), BOTH).unwrap();
        }
        assert!(nodes_since(before) >= UNTOUCHED as i64);
        cpu.unmap(space, pages(3, 10 + UNTOUCHED * APART)).unwrap();
        assert!(nodes_since(before) <= LEFT_MOST, "{} of {UNTOUCHED} nodes", nodes_since(before));
        assert_eq!(fork(), copied, "as if nothing had been mapped");
    });
}

#[test]
fn small_mappings_at_ever_new_places_leave_few_nodes() {
    on_one_cpu(64, |cpu, space, object| {
        let before = HELD.get();
        for number in 0..MANY {
            let page = 5 + number * APART;
            match number % 4 {
                0 => cpu.map(space, pages(page, 1), BOTH).unwrap(),
                1 => cpu.map_object(space, pages(page, 7), BOTH, object, 0).unwrap(),
                // Across two leaves.
                2 => cpu.map(space, pages(page, 63), BOTH).unwrap(),
                _ => drop(cpu.map_anywhere(space, Anywhere::new(3).within(pages(page, 9)), BOTH).unwrap()),
            }
            if number % 4 == 2 {
                cpu.unmap(space, pages(page, 20)).unwrap();
                cpu.unmap(space, pages(page + 20, 43)).unwrap();
            } else {
                cpu.unmap(space, pages(page, 9)).unwrap();
            }
            assert!(nodes_since(before) <= LEFT_MOST, "{} nodes after {number} mappings", nodes_since(before));
        }
        // All mapped first, then unmapped in another order.
        let few = MANY / 4;
        (0..few).for_each(|number| cpu.map(space, pages(number * APART, 1), BOTH).unwrap());
        (0..few).for_each(|number| cpu.unmap(space, pages(number * 7 % few * APART, 1)).unwrap());
        assert!(nodes_since(before) <= LEFT_MOST, "{} of {few} nodes", nodes_since(before));
    });
}

#[test]
fn calls_that_find_nothing_mapped_leave_few_nodes() {
    on_one_cpu(64, |cpu, space, object| {
        let before = HELD.get();
        cpu.map(space, pages(1 << 30, 2), BOTH).unwrap();
        for number in 0..MANY {
            let range = pages(5 + number * APART, 2);
            let refused = match number % 10 {
                0 => cpu.protect(space, range, BOTH).err(),
                1 => cpu.guard(space, range).err(),
                2 => cpu.lock_pages(space, range).err(),
                3 => cpu.resize(space, range, 40).err(),
                4 => cpu.move_to(space, pages(range.first().0, 9), pages(1 << 31, 70)).err(),
                5 => cpu.dont_need(space, range).err().or(Some(SpaceError::NotMapped)),
                6 => cpu.give_up(space, range).err().or(Some(SpaceError::NotMapped)),
                7 => cpu.unguard(space, range).err().or(Some(SpaceError::NotMapped)),
                8 => cpu.unlock_pages(space, range).err().or(Some(SpaceError::NotMapped)),
                // Moves to and fro: only holes are left at all places but one.
                _ => {
                    let from = pages(1 << 30, 2);
                    cpu.move_to(space, from, range).unwrap();
                    cpu.move_to(space, range, from).err().or(Some(SpaceError::NotMapped))
                }
            };
            assert_eq!(refused, Some(SpaceError::NotMapped), "{number}");
            assert!(nodes_since(before) <= LEFT_MOST, "{} nodes after {number} calls", nodes_since(before));
        }
        let found = until_it_succeeds(|| cpu.map_private(space, pages(1 << 20, 3), BOTH, object, 0));
        assert!(found.1 > 0);
        // A stack looks at the gap below it.
        for number in 0..MANY / 10 {
            let page = (1 << 21) + number * 1024;
            cpu.map_stack(space, pages(page, 1), BOTH).unwrap();
            assert_eq!(access(cpu, cpu.memory(), space, page - 40, 0, None), Ok(0));
            cpu.unmap(space, pages(page - 40, 41)).unwrap();
            assert!(nodes_since(before) <= LEFT_MOST, "{} nodes after {number} stacks", nodes_since(before));
        }
    });
}
