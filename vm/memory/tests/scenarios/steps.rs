//! Long calls in pieces. Between two of them, and nowhere else, a hook runs: it counts what the
//! last piece has done, or makes calls as another thread would that gets the CPU. Calls hold
//! nothing then, so faults on all pages proceed.

use crate::{BOTH, pages};
use faultline_frames::{Config, DomainId, FixedCpu, Frames, MemoryArea};
use faultline_memory::hosted::{Hosted, Outcome};
use faultline_memory::{
    Anywhere, Cpu, CpuNumber, Event, FrameNumber, Memory, PageState, Rights, Space, SpaceError, VirtualPage,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

type TestCpu = Cpu<'static, Hosted, Frames<'static, FixedCpu>>;
type TestSpace = Space<'static, Hosted>;
type Hook = Arc<Mutex<Option<Box<dyn FnMut() + Send>>>>;

/// Pages of the long calls.
const PAGES: u64 = 6_000;
const FRAMES: u64 = 16_384;
/// The most slots of a piece that leaves large entries whole: `PIECE_SLOTS` and a leaf.
const PIECE: u64 = 128 + 64;
/// The most slots that a fork copies at once.
const COPIED: u64 = 512 + 64;

fn boot() -> ([TestCpu; 2], &'static TestSpace, Hook) {
    let (cpus, space, hook) = boot_with(2);
    (cpus.try_into().unwrap(), space, hook)
}

/// A machine with `cpus` CPUs that calls a hook in each pause. Leaks its memory, for the hook.
fn boot_with(cpus: u32) -> (Vec<TestCpu>, &'static TestSpace, Hook) {
    let hook = Hook::default();
    let its = hook.clone();
    let pause = Arc::new(move |_| {
        // A call of the hook itself pauses in vain.
        if let Ok(mut hook) = its.try_lock()
            && let Some(hook) = hook.as_mut()
        {
            hook();
        }
    });
    let area = [MemoryArea { first: FrameNumber(0x200), frames: FRAMES, domain: DomainId(0) }];
    let domains = vec![DomainId(0); cpus as usize];
    let config = Config::new(&area, &domains);
    let metadata = vec![MaybeUninit::uninit(); Frames::layout(&config).unwrap().size() + 127].leak();
    let frames = Frames::new(&config, metadata, ()).unwrap();
    let machine = Hosted::new(cpus, FrameNumber(0x200), FRAMES, 8).unwrap().with_pause(pause);
    let memory = Memory::new(machine, cpus, frames.index_count()).unwrap();
    let memory: &'static Memory<Hosted> = Box::leak(Box::new(memory));
    // SAFETY: each number has one handle; the frames are one allocator's.
    let cpu = |number| unsafe { memory.cpu(CpuNumber(number), frames.on(FixedCpu::new(CpuNumber(number)))) }.unwrap();
    let cpus: Vec<_> = (0..cpus).map(cpu).collect();
    let space: &'static TestSpace = Box::leak(Box::new(cpus[0].new_space().unwrap()));
    cpus.iter().for_each(|cpu| cpu.activate(space).unwrap());
    cpus[0].set_large_pages(space, false);
    (cpus, space, hook)
}

fn access(cpu: &TestCpu, space: &TestSpace, page: u64, write: Option<u8>) -> u8 {
    let rights = if write.is_some() { Rights::WRITE } else { Rights::READ };
    for _ in 0..10 {
        match cpu.memory().machine().access(cpu.number(), space, VirtualPage(page), 0, write) {
            Outcome::Done(before) => return before,
            Outcome::Fault => cpu.fault(space, VirtualPage(page), rights).unwrap(),
        }
    }
    panic!("ten faults on {page}")
}

/// Makes a call with a hook that counts the pages that are in a state. Returns the number of
/// pauses, and the largest change of the count between two of them.
fn steps(cpu: &TestCpu, hook: &Hook, is_in: fn(PageState) -> bool, call: impl FnOnce()) -> (u64, u64) {
    let memory = cpu.memory();
    let count = move || {
        let states = (0..FRAMES as u32 + 512).filter_map(|page| memory.page_state(page));
        states.filter(|state| is_in(*state)).count() as u64
    };
    let seen = Arc::new([const { AtomicU64::new(0) }; 3]);
    seen[2].store(count(), SeqCst);
    let its = seen.clone();
    let note = move || {
        let now = count();
        its[1].fetch_max(now.abs_diff(its[2].swap(now, SeqCst)), SeqCst);
    };
    let (its, each) = (seen.clone(), note.clone());
    *hook.lock().unwrap() = Some(Box::new(move || {
        its[0].fetch_add(1, SeqCst);
        each();
    }));
    call();
    *hook.lock().unwrap() = None;
    note();
    (seen[0].load(SeqCst), seen[1].load(SeqCst))
}

#[test]
fn a_long_call_changes_a_bounded_number_of_pages_between_two_pauses() {
    let ([cpu, _], space, hook) = boot();
    let range = pages(100, PAGES);
    let fill = || {
        cpu.map(space, range, BOTH).unwrap();
        (100..100 + PAGES).for_each(|page| assert_eq!(access(&cpu, space, page, Some(7)), 0));
    };
    let is_free = |state: PageState| state == PageState::FREE;
    let taking: [(&str, &dyn Fn()); 5] = [
        ("unmap", &|| cpu.unmap(space, range).unwrap()),
        ("unmap of more", &|| cpu.unmap(space, pages(0, 1 << 30)).unwrap()),
        ("map over", &|| cpu.map(space, range, Rights::READ).unwrap()),
        ("dont_need", &|| cpu.dont_need(space, range).unwrap()),
        ("guard", &|| cpu.guard(space, range).unwrap()),
    ];
    for (what, call) in taking {
        fill();
        let (pauses, most) = steps(&cpu, &hook, is_free, call);
        assert!(most > 0 && most <= PIECE, "{what}: {most} pages in one of {pauses} pieces");
    }
    fill();
    let mut child = None;
    let (pauses, most) = steps(&cpu, &hook, |state| state.owners() == 2, || child = Some(cpu.fork(space).unwrap()));
    assert!(most > 0 && most <= COPIED, "fork: {most} pages in one of {pauses} pieces");
    let (pauses, most) = steps(
        &cpu,
        &hook,
        |state| state.owners() == 2,
        || {
            assert!(cpu.exit(child.take().unwrap()).is_ok());
        },
    );
    assert!(most > 0 && most <= 256, "exit: {most}");
    assert!(pauses >= 2 * (PAGES / 256), "exit: {pauses} pauses for slots, and again for their nodes");
    let others: [(&str, &dyn Fn()); 6] = [
        ("protect", &|| cpu.protect(space, range, Rights::READ).unwrap()),
        ("protect again", &|| cpu.protect(space, range, BOTH).unwrap()),
        ("give_up", &|| cpu.give_up(space, range).unwrap()),
        ("lock_pages", &|| cpu.lock_pages(space, range).unwrap()),
        ("unlock_pages", &|| cpu.unlock_pages(space, range).unwrap()),
        ("unguard", &|| cpu.unguard(space, range).unwrap()),
    ];
    for (what, call) in others {
        let (pauses, _) = steps(&cpu, &hook, is_free, call);
        assert!(pauses >= PAGES / PIECE - 1, "{what}: {pauses} pauses");
    }
    // A short range is one piece.
    let short: [&dyn Fn(); 4] = [
        &|| cpu.protect(space, pages(110, 90), Rights::READ).unwrap(),
        &|| cpu.unmap(space, pages(100, 100)).unwrap(),
        &|| cpu.map(space, pages(100, 100), BOTH).unwrap(),
        &|| assert!(cpu.map_anywhere(space, Anywhere::new(512), BOTH).is_ok()),
    ];
    for call in short {
        assert_eq!(steps(&cpu, &hook, is_free, call).0, 0);
    }
    // A hole at the end: nothing changes.
    cpu.unmap(space, pages(100 + PAGES, 1)).unwrap();
    assert_eq!(cpu.protect(space, pages(100, PAGES + 1), Rights::NONE), Err(SpaceError::NotMapped));
    assert_eq!(access(&cpu, space, 100, Some(1)), 0);
    cpu.unmap(space, pages(0, 1 << 36)).unwrap();
    assert_eq!(cpu.frames().free(), FRAMES);
}

/// Writes of another CPU between the pieces of a fork: to a part that is copied, and to one that is
/// not. The child never has a later write to a part that was copied, and both spaces keep apart.
#[test]
fn faults_proceed_on_both_sides_of_a_fork() {
    let ([cpu, other], space, hook) = boot();
    cpu.map(space, pages(0, PAGES), BOTH).unwrap();
    (0..PAGES).for_each(|page| assert_eq!(access(&cpu, space, page, Some(1)), 0));
    (0..PAGES).for_each(|page| assert_eq!(access(&other, space, page, None), 1));
    for page in [0, PAGES - 1] {
        assert_eq!(access(&other, space, page, Some(1)), 1, "in its TLB, writable");
    }
    let pauses = Arc::new(AtomicU64::new(0));
    let its = pauses.clone();
    *hook.lock().unwrap() = Some(Box::new(move || {
        let number = its.fetch_add(1, SeqCst);
        let value = 2 + number as u8;
        let before = if number == 0 { 1 } else { value - 1 };
        assert_eq!(access(&other, space, 0, Some(value)), before, "copied");
        assert_eq!(access(&other, space, PAGES - 1, Some(value)), before, "not copied at first");
        assert_eq!(access(&other, space, number, None), if number == 0 { value } else { 1 });
    }));
    let child = cpu.fork(space).unwrap();
    *hook.lock().unwrap() = None;
    let last = 1 + pauses.load(SeqCst) as u8;
    assert!(u64::from(last) > PAGES / COPIED, "{last} pieces");
    cpu.activate(&child).unwrap();
    assert_eq!([0, PAGES - 1].map(|page| access(&cpu, space, page, None)), [last; 2]);
    assert_eq!(access(&cpu, &child, 0, None), 1, "as it was when it was copied");
    let found = access(&cpu, &child, PAGES - 1, None);
    assert!((3..=last).contains(&found), "written before it was copied, the last time perhaps after: {found}");
    for page in (0..PAGES).step_by(7) {
        access(&cpu, &child, page, Some(90));
        assert_ne!(access(&cpu, space, page, Some(80)), 90);
        assert_eq!(access(&cpu, &child, page, None), 90);
    }
    cpu.deactivate(&child);
    assert!(cpu.exit(child).is_ok());
    cpu.unmap(space, pages(0, PAGES)).unwrap();
    assert_eq!(cpu.frames().free(), FRAMES);
}

/// Moves a page from a part that is not copied yet to one that is: the move waits, so the child has
/// the page at its old place, and nothing is lost. It locks nothing while it waits.
#[test]
fn a_move_waits_for_a_fork() {
    let ([cpu, other], space, hook) = boot();
    cpu.map(space, pages(100, PAGES), BOTH).unwrap();
    (100..100 + PAGES).for_each(|page| assert_eq!(access(&cpu, space, page, Some(1)), 0));
    assert_eq!(access(&cpu, space, 99 + PAGES, Some(5)), 1);
    let moved = Arc::new(AtomicBool::new(false));
    let (memory, number) = (cpu.memory(), other.number());
    let count = move |event| memory.counters_of(number).unwrap().of(event);
    let (waits, splits) = (count(Event::Wait), count(Event::Split));
    let mut other = Some(other);
    let (its, thread) = (moved.clone(), Arc::new(Mutex::new(None::<JoinHandle<()>>)));
    let its_thread = thread.clone();
    *hook.lock().unwrap() = Some(Box::new(move || {
        if let Some(other) = other.take() {
            let moved = its.clone();
            *its_thread.lock().unwrap() = Some(std::thread::spawn(move || {
                other.move_to(space, pages(99 + PAGES, 1), pages(50, 1)).unwrap();
                moved.store(true, SeqCst);
            }));
        }
        // The fork holds no slot now, so the move waits for the fork, or is done soon.
        let has_failed = || its_thread.lock().unwrap().as_ref().is_some_and(JoinHandle::is_finished);
        while count(Event::Wait) == waits && !its.load(SeqCst) && !has_failed() {
            std::thread::yield_now();
        }
        assert!(!its.load(SeqCst), "moved during a fork");
        assert_eq!(count(Event::Split), splits, "divides no slot to lock a part of it");
    }));
    let child = cpu.fork(space).unwrap();
    *hook.lock().unwrap() = None;
    let thread = thread.lock().unwrap().take().expect("the fork has several pieces");
    thread.join().unwrap();
    cpu.activate(&child).unwrap();
    assert_eq!((access(&cpu, space, 50, None), access(&cpu, &child, 99 + PAGES, None)), (5, 5));
    assert!(cpu.fault(space, VirtualPage(99 + PAGES), Rights::READ).is_err());
    assert!(cpu.fault(&child, VirtualPage(50), Rights::READ).is_err());
    cpu.deactivate(&child);
    assert!(cpu.exit(child).is_ok());
    cpu.unmap(space, pages(0, 200 + PAGES)).unwrap();
    assert_eq!(cpu.frames().free(), FRAMES);
}

/// A free range with many nodes, which CPUs have made and left empty.
#[test]
fn a_search_through_many_empty_nodes_pauses() {
    const LEAF: u64 = 64;
    // A CPU leaves up to four.
    const LEFT: u64 = 4;
    let (cpus, space, hook) = boot_with(80);
    let leaves = cpus.len() as u64 * LEFT;
    for leaf in 0..leaves {
        let page = (1 + leaf) * LEAF + 1;
        cpus[(leaf / LEFT) as usize].unmap(space, pages(page, 1)).unwrap();
    }
    let wanted = Anywhere::new(leaves * LEAF);
    let find = || assert_eq!(cpus[0].map_anywhere(space, wanted, BOTH), Ok(pages(16, leaves * LEAF)));
    assert_eq!(steps(&cpus[0], &hook, |_| false, find).0, leaves / 256);
    cpus[0].unmap(space, pages(0, 1 << 20)).unwrap();
}

/// Holes that are too small: the first search passes each of them, the next ones whole nodes.
#[test]
fn a_search_among_many_mappings_takes_few_steps() {
    const MAPPINGS: u64 = 40_000;
    let ([cpu, _], space, hook) = boot();
    (0..MAPPINGS).for_each(|number| cpu.map(space, pages(1 + 2 * number, 1), BOTH).unwrap());
    let wanted = Anywhere::new(2).within(pages(1, 2 * MAPPINGS - 1));
    let search = |expected| {
        let found = AtomicBool::new(false);
        let (pauses, _) = steps(
            &cpu,
            &hook,
            |_| false,
            || {
                found.store(cpu.map_anywhere(space, wanted, BOTH) == expected, SeqCst);
            },
        );
        assert!(found.load(SeqCst), "{expected:?}");
        pauses
    };
    let none = Err(SpaceError::NoAddress);
    let first = search(none);
    assert!((MAPPINGS / 256..3 * MAPPINGS / 256).contains(&first), "{first} pauses of a search in each hole");
    assert_eq!(search(none), 0, "fewer than 256 steps");
    cpu.unmap(space, pages(60_001, 1)).unwrap();
    assert_eq!(search(Ok(pages(60_000, 2))), 0);
    assert_eq!(search(none), 0);
    cpu.unmap(space, pages(0, 1 << 20)).unwrap();
}

/// A search finds room exactly if there is some, however holes come and go, on two CPUs that note
/// what they have passed.
#[test]
fn a_search_finds_room_if_there_is_some() {
    const FIRST: u64 = 40;
    const WINDOW: u64 = 10_000;
    let ([cpu, other], space, _) = boot();
    let cpus = [cpu, other];
    let window = pages(FIRST, WINDOW);
    let mut mapped = vec![false; (FIRST + WINDOW) as usize];
    let mut random = SmallRng::seed_from_u64(7);
    for page in FIRST..FIRST + WINDOW {
        if random.random_ratio(3, 4) {
            cpus[0].map(space, pages(page, 1), BOTH).unwrap();
            mapped[page as usize] = true;
        }
    }
    let mut refused = 0;
    for _ in 0..2_000 {
        let cpu = &cpus[random.random_range(0..2)];
        let length = random.random_range(1..=9);
        if random.random_ratio(1, 4) {
            let (first, length) = (random.random_range(FIRST..FIRST + WINDOW - 100), random.random_range(1..=4));
            cpu.unmap(space, pages(first, length)).unwrap();
            mapped[first as usize..(first + length) as usize].fill(false);
            continue;
        }
        let has_room = mapped[FIRST as usize..].windows(length).any(|part| part.iter().all(|mapped| !mapped));
        match cpu.map_anywhere(space, Anywhere::new(length as u64).within(window), BOTH) {
            Ok(range) => {
                let found = &mut mapped[range.first().0 as usize..][..length];
                assert!(window.contains(range) && found.iter().all(|mapped| !mapped), "{range:?}");
                found.fill(true);
            }
            Err(error) => {
                assert_eq!((error, has_room), (SpaceError::NoAddress, false), "{length} pages");
                refused += 1;
            }
        }
    }
    assert!((100..1_500).contains(&refused), "{refused}");
    cpus[0].unmap(space, pages(0, 1 << 20)).unwrap();
}
