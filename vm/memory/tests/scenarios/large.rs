//! Large pages: conditions for making and dividing them.

use crate::host::{BOTH_TABLES, HostCpu, Tables, access, on_machine};
use crate::store::{Store, on_swapping_machine_with};
use crate::{BOTH, counted, pages};
use faultline_memory::hosted::Hosted;
use faultline_memory::{CpuNumber, Event, FaultError, Hand, Pmap, Rights, Space, VirtualPage};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier};

/// Pages of a large page, and where one begins.
const LARGE: u64 = 512;
const FIRST: u64 = 3 * LARGE;

/// Runs `run` with the CPUs of a machine, on which a space is active whose pages from `FIRST` on
/// are mapped and have room for two large ones.
fn on_mapped(cpus: u32, frames: u64, mut run: impl for<'m> FnMut(&[HostCpu<'m, '_>], &Space<'m, Hosted>)) {
    // With page tables of its own a second CPU that uses a large page divides it.
    let kinds = if cpus == 1 { &BOTH_TABLES[..] } else { &[Tables::Shared] };
    for tables in kinds {
        on_swapping_machine_with(*tables, cpus, frames, 16, |cpus| {
            let space = cpus[0].new_space().unwrap();
            cpus.iter().for_each(|cpu| cpu.activate(&space).unwrap());
            cpus[0].map(&space, pages(FIRST, 2 * LARGE), BOTH).unwrap();
            run(cpus, &space);
            end(cpus, space);
        });
    }
}

fn end<'m>(cpus: &[HostCpu<'m, '_>], space: Space<'m, Hosted>) {
    cpus.iter().for_each(|cpu| cpu.deactivate(&space));
    assert!(cpus[0].exit(space).is_ok());
}

fn at<'m>(cpu: &HostCpu<'m, '_>, space: &Space<'m, Hosted>, page: u64, write: Option<u8>) -> Result<u8, FaultError> {
    access(cpu, cpu.memory(), space, page, 3, write)
}

/// Number of large pages made and divided.
fn large(cpu: &HostCpu<'_, '_>) -> (u64, u64) {
    (counted(cpu, Event::LargeFill), counted(cpu, Event::Divided))
}

#[test]
fn a_write_to_untouched_memory_makes_a_large_page() {
    on_mapped(1, 2048, |cpus, space| {
        let cpu = &cpus[0];
        assert_eq!(at(cpu, space, FIRST + 100, Some(1)), Ok(0));
        assert_eq!((large(cpu), counted(cpu, Event::ZeroFill), counted(cpu, Event::Fault)), ((1, 0), LARGE, 1));
        for page in 0..LARGE {
            assert_eq!(at(cpu, space, FIRST + page, Some(page as u8)), Ok(u8::from(page == 100)));
        }
        assert_eq!((counted(cpu, Event::Fault), cpu.frames().free()), (1, 2048 - LARGE));
        let frame = |page| space.pmap(CpuNumber(0)).unwrap().query(VirtualPage(page)).unwrap().frame.0;
        assert!(frame(FIRST).is_multiple_of(LARGE) && frame(FIRST + 511) == frame(FIRST) + 511);
        // A page of the other range was read before.
        assert_eq!(at(cpu, space, FIRST + LARGE + 5, None), Ok(0));
        assert_eq!(at(cpu, space, FIRST + LARGE, Some(1)), Ok(0));
        assert_eq!((large(cpu), counted(cpu, Event::ZeroFill)), ((1, 0), LARGE + 2));
        // When both are given up, both are untouched.
        cpu.dont_need(space, pages(FIRST, 2 * LARGE)).unwrap();
        assert_eq!(cpu.frames().free(), 2048);
        cpu.frames().drain_own();
        (0..2 * LARGE).for_each(|page| assert_eq!(at(cpu, space, FIRST + page, Some(7)), Ok(0)));
        assert_eq!((large(cpu), cpu.frames().free()), ((3, 0), 2048 - 2 * LARGE));
    });
}

#[test]
fn none_is_made_where_it_does_not_fit_or_is_not_wanted() {
    type Spoil = for<'m> fn(&HostCpu<'m, '_>, &Space<'m, Hosted>);
    let spoils: [(&str, Spoil); 7] = [
        ("a hole", |cpu, space| cpu.unmap(space, pages(FIRST + LARGE - 1, 1)).unwrap()),
        ("other rights", |cpu, space| cpu.protect(space, pages(FIRST + 7, 1), Rights::READ).unwrap()),
        ("a guard", |cpu, space| cpu.guard(space, pages(FIRST, 1)).unwrap()),
        ("a stack", |cpu, space| cpu.map_stack(space, pages(FIRST, 1), BOTH).unwrap()),
        ("an object", |cpu, space| {
            let object = cpu.new_object(1).unwrap();
            cpu.map_object(space, pages(FIRST + 70, 1), BOTH, &object, 0).unwrap();
            cpu.drop_object(object);
        }),
        ("locked pages", |cpu, space| assert_eq!(cpu.lock_pages(space, pages(FIRST, 1)), Ok(()))),
        ("an owner's wish", |cpu, space| cpu.set_large_pages(space, false)),
    ];
    for (what, spoil) in spoils {
        on_mapped(1, 2048, |cpus, space| {
            let cpu = &cpus[0];
            spoil(cpu, space);
            assert_eq!(at(cpu, space, FIRST + 99, Some(1)), Ok(0));
            assert_eq!((large(cpu), at(cpu, space, FIRST + 99, None)), ((0, 0), Ok(1)), "{what}");
            // Nothing is wrong with the next range.
            let is_made = at(cpu, space, FIRST + LARGE, Some(1)) == Ok(0) && large(cpu).0 == 1;
            assert_eq!(is_made, what != "an owner's wish");
            let child = cpu.fork(space).unwrap();
            cpu.activate(&child).unwrap();
            cpu.map(&child, pages(0, LARGE), BOTH).unwrap();
            assert_eq!(at(cpu, &child, 0, Some(1)), Ok(0));
            assert_eq!(large(cpu).0, if is_made { 2 } else { 0 }, "a child does as its parent: {what}");
            end(&cpus[..1], child);
        });
    }
}

#[test]
fn none_is_made_while_frames_are_short() {
    on_mapped(1, 3 * LARGE, |cpus, space| {
        let cpu = &cpus[0];
        cpu.map(space, pages(0, 2), BOTH).unwrap();
        assert_eq!(at(cpu, space, 0, Some(1)), Ok(0), "a block is opened for single frames");
        assert_eq!(at(cpu, space, FIRST, Some(1)), Ok(0));
        assert_eq!(at(cpu, space, FIRST + LARGE, Some(1)), Ok(0));
        assert_eq!((large(cpu), cpu.frames().free()), ((2, 0), LARGE - 1));
        cpu.map(space, pages(9 * LARGE, LARGE), BOTH).unwrap();
        assert_eq!(at(cpu, space, 9 * LARGE, Some(1)), Ok(0));
        assert_eq!((large(cpu), cpu.frames().free()), ((2, 0), LARGE - 2), "no block is whole");
    });
}

#[test]
fn what_changes_all_of_a_large_page_leaves_it_whole() {
    on_mapped(2, 3072, |cpus, space| {
        let cpu = &cpus[0];
        for page in [FIRST, FIRST + LARGE] {
            assert_eq!(at(cpu, space, page, Some(1)), Ok(0));
        }
        cpu.protect(space, pages(FIRST, 2 * LARGE), Rights::READ).unwrap();
        assert_eq!(at(&cpus[1], space, FIRST + 9, Some(1)), Err(FaultError::NotAllowed));
        assert_eq!((at(&cpus[1], space, FIRST, None), large(cpu)), (Ok(1), (2, 0)));
        let child = cpu.fork(space).unwrap();
        assert_eq!(large(cpu), (2, 0));
        assert!(cpu.exit(child).is_ok());
        let shot = counted(cpu, Event::ShootDown);
        assert_eq!(at(&cpus[1], space, FIRST + LARGE + 511, None), Ok(0));
        cpu.unmap(space, pages(0, 5 * LARGE)).unwrap();
        assert!((large(cpu), cpu.frames().free()) == ((2, 0), 3072) && counted(cpu, Event::ShootDown) > shot);
        for page in [FIRST, FIRST + LARGE, FIRST + LARGE + 511] {
            assert_eq!(at(&cpus[1], space, page, None), Err(FaultError::NotMapped));
        }
        assert_eq!(space.pmap(CpuNumber(0)).unwrap().tables(), 0);
    });
}

#[test]
fn what_changes_a_part_divides_it_and_the_rest_stays() {
    type Change = for<'m> fn(&HostCpu<'m, '_>, &Space<'m, Hosted>);
    // Changes of the page `FIRST + 70`; true if its contents are gone afterwards.
    let changes: [(&str, bool, Change); 6] = [
        ("protect", false, |cpu, space| cpu.protect(space, pages(FIRST + 70, 1), Rights::READ).unwrap()),
        ("unmap", true, |cpu, space| {
            cpu.unmap(space, pages(FIRST + 70, 1)).unwrap();
            cpu.map(space, pages(FIRST + 70, 1), BOTH).unwrap();
        }),
        ("dont_need", true, |cpu, space| cpu.dont_need(space, pages(FIRST + 70, 1)).unwrap()),
        ("guard", true, |cpu, space| {
            cpu.guard(space, pages(FIRST + 70, 1)).unwrap();
            assert_eq!(at(cpu, space, FIRST + 70, None), Err(FaultError::Guarded));
            cpu.unguard(space, pages(FIRST + 70, 1)).unwrap();
        }),
        ("move", false, |cpu, space| {
            cpu.move_to(space, pages(FIRST + 70, 1), pages(9, 1)).unwrap();
            assert_eq!(at(cpu, space, FIRST + 70, None), Err(FaultError::NotMapped));
            cpu.move_to(space, pages(9, 1), pages(FIRST + 70, 1)).unwrap();
        }),
        ("give_up", false, |cpu, space| cpu.give_up(space, pages(FIRST + 70, 1)).unwrap()),
    ];
    for (what, is_emptied, change) in changes {
        on_mapped(2, 2048, |cpus, space| {
            let cpu = &cpus[0];
            (0..LARGE).for_each(|page| assert_eq!(at(cpu, space, FIRST + page, Some(page as u8)), Ok(0)));
            assert_eq!(at(&cpus[1], space, FIRST + 70, None), Ok(70));
            change(cpu, space);
            assert_eq!(large(cpu), (1, 1), "{what}");
            let faults = counted(cpu, Event::Fault);
            for page in (0..LARGE).filter(|page| *page != 70) {
                assert_eq!(at(&cpus[1], space, FIRST + page, Some(1)), Ok(page as u8), "{what}");
            }
            assert_eq!(counted(cpu, Event::Fault), faults, "the others have their entries: {what}");
            assert_eq!(at(&cpus[1], space, FIRST + 70, None), Ok(if is_emptied { 0 } else { 70 }), "{what}");
        });
    }
}

#[test]
fn a_copy_on_write_copies_a_page_and_the_last_owner_takes_pages_over() {
    on_mapped(1, 2048, |cpus, space| {
        let cpu = &cpus[0];
        (0..LARGE).for_each(|page| assert_eq!(at(cpu, space, FIRST + page, Some(page as u8)), Ok(0)));
        let child = cpu.fork(space).unwrap();
        cpu.activate(&child).unwrap();
        assert_eq!(at(cpu, &child, FIRST + 7, Some(1)), Ok(7));
        assert_eq!((large(cpu), counted(cpu, Event::Copy), cpu.frames().free()), ((1, 0), 1, 2048 - LARGE - 1));
        assert_eq!(at(cpu, space, FIRST + 8, Some(2)), Ok(8));
        assert_eq!((large(cpu), counted(cpu, Event::Copy)), ((1, 1), 2));
        assert_eq!((at(cpu, space, FIRST + 7, None), at(cpu, &child, FIRST + 8, None)), (Ok(7), Ok(8)));
        end(&cpus[..1], child);
        (9..LARGE).for_each(|page| assert_eq!(at(cpu, space, FIRST + page, Some(3)), Ok(page as u8)));
        assert_eq!((counted(cpu, Event::Copy), counted(cpu, Event::TakenOver)), (2, LARGE - 8), "one is the child's");
        assert_eq!(cpu.frames().free(), 2048 - LARGE);
    });
}

#[test]
fn the_page_daemon_divides_it_and_each_page_has_its_second_chance() {
    on_mapped(1, 2048, |cpus, space| {
        let cpu = &cpus[0];
        (0..LARGE).for_each(|page| assert_eq!(at(cpu, space, FIRST + page, Some(page as u8)), Ok(0)));
        cpu.lock_pages(space, pages(FIRST + 70, 2)).unwrap();
        let index = |page| {
            cpu.frames().index_of(space.pmap(CpuNumber(0)).unwrap().query(VirtualPage(page)).unwrap().frame).unwrap()
        };
        let frames: Vec<_> = (FIRST..FIRST + LARGE).map(index).collect();
        let state = |page: usize| cpu.memory().page_state(frames[page]).unwrap();
        // One page of it goes, after it was found used, and later unused.
        let swept = cpu.sweep(&mut Hand::new(frames[200]..frames[200] + 1), 1);
        assert_eq!((swept.reclaimed, swept.used, large(cpu)), (1, 1, (1, 1)));
        assert!((0..512).all(|page| state(page).is_referenced() == (page != 200)), "all were used, as far as is known");
        let mut hand = Hand::new(0..cpu.frames().index_count());
        (0..3).for_each(|_| assert!(cpu.sweep(&mut hand, 2048).scanned > 0));
        cpu.frames().drain_own();
        assert_eq!(cpu.frames().free(), 2048 - 2, "two are locked");
        assert_eq!((state(70).wired(), state(71).wired()), (1, 1));
        (0..LARGE).for_each(|page| assert_eq!(at(cpu, space, FIRST + page, None), Ok(page as u8)));
        assert_eq!(counted(cpu, Event::PageIn), LARGE - 2);
    });
}

/// Threads make first writes into one range, each to pages of its own; one discards, protects and
/// locks its pages; and a page daemon runs. No write is lost, and all frames are free at the end.
#[test]
fn threads_begin_in_one_range_at_once() {
    const WRITERS: u64 = 3;
    for tables in BOTH_TABLES.into_iter().cycle().take(if cfg!(miri) { 1 } else { 30 }) {
        let swap = |bytes| Arc::new(Store::new(bytes, |_| 0));
        on_machine(tables, WRITERS as u32 + 1, 8 * LARGE, 16, swap, |cpus, _| {
            let space = cpus[0].new_space().unwrap();
            cpus.iter().for_each(|cpu| cpu.activate(&space).unwrap());
            cpus[0].map(&space, pages(FIRST, 2 * LARGE), BOTH).unwrap();
            let (memory, shared, start) = (cpus[0].memory(), &space, Barrier::new(cpus.len()));
            let (start, working) = (&start, &AtomicU64::new(WRITERS));
            let cpus: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..)
                    .zip(cpus)
                    .map(|(number, cpu)| {
                        scope.spawn(move || {
                            start.wait();
                            match number {
                                WRITERS => daemon(&cpu, working),
                                // Relaxed: only tells the daemon to stop.
                                _ => write_own(&cpu, shared, number, WRITERS).min(working.fetch_sub(1, Relaxed)),
                            };
                            cpu
                        })
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let counters = memory.counters();
            assert!(counters.of(Event::LargeFill) > 0, "{counters}");
            end(&cpus, space);
        });
    }
}

fn write_own<'m>(cpu: &HostCpu<'m, '_>, space: &Space<'m, Hosted>, number: u64, writers: u64) -> u64 {
    let at = |page, write| loop {
        match at(cpu, space, page, write) {
            Ok(found) => return found,
            Err(FaultError::NoMemory | FaultError::Wait(_)) => std::thread::yield_now(),
            Err(error) => panic!("page {page:#x}: {error}"),
        }
    };
    let own = || (FIRST..FIRST + 2 * LARGE).skip((number * 97) as usize).filter(|page| page % writers == number);
    for page in own() {
        assert_eq!(at(page, Some(page as u8)), 0, "page {page:#x}");
        match (number, page % 8) {
            (0, 0) => cpu.protect(space, pages(page, 1), Rights::READ).unwrap(),
            (0, 1) => cpu.dont_need(space, pages(page, 1)).unwrap(),
            (0, 2) => cpu.lock_pages(space, pages(page, 1)).unwrap(),
            _ => {}
        }
    }
    for page in own() {
        let expected = if (number, page % 8) == (0, 1) { 0 } else { page as u8 };
        assert_eq!(at(page, None), expected, "page {page:#x}");
    }
    number
}

fn daemon(cpu: &HostCpu<'_, '_>, working: &AtomicU64) -> u64 {
    let mut hand = Hand::new(0..cpu.frames().index_count());
    let mut sweeps = 0;
    while working.load(Relaxed) > 0 {
        cpu.sweep(&mut hand, 16);
        sweeps += 1;
    }
    sweeps
}
