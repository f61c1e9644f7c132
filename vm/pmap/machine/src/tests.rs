//! Tests on the machine, in order.

use crate::hardware::{LEVELS, cpu, flush_here, repeats, say, shoot, ticks};
use crate::kernel::{BareSpace, FIRST, RUNNING, check, enter, fail, fetch, handle, leave, read, write};
use crate::{start, wait};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};
use faultline_frames::Frames;
use faultline_memory::{Event, PageRange, Pmap, Rights, VirtualPage};
use faultline_pmap::RetiredTables;

const BOTH: fn() -> Rights = || Rights::READ | Rights::WRITE;
fn range(first: u64, pages: u64) -> PageRange {
    PageRange::new(VirtualPage(FIRST + first), pages).unwrap_or_else(|_| fail("a range"))
}

/// Address of a page of the tests.
fn at(page: u64) -> u64 {
    (FIRST + page) << 12
}

/// The space of a test, for the second CPU.
static SPACE: AtomicPtr<BareSpace> = AtomicPtr::new(core::ptr::null_mut());
static STAGE: AtomicUsize = AtomicUsize::new(0);

fn space() -> &'static BareSpace {
    // SAFETY: the test ends it after the second CPU is done.
    unsafe { &*SPACE.load(Acquire) }
}

/// Waits for the other CPU.
fn reach(stage: usize) {
    while STAGE.load(Acquire) < stage {
        core::hint::spin_loop();
    }
}

fn pass(stage: usize) {
    STAGE.store(stage, Release);
}

/// Runs a test in a new space, which both CPUs may use; all frames are free afterwards.
fn with_space(frames: &Frames<'static, ()>, name: &str, act: impl FnOnce()) {
    let free = frames.free();
    let Ok(made) = handle().new_space() else { fail("no space") };
    SPACE.store((&raw const made).cast_mut(), Release);
    pass(0);
    enter(&made);
    act();
    wait();
    leave();
    check(handle().exit(made).is_ok(), "the space ends");
    check(frames.free() == free, "all frames are free again");
    say!("ok {name}");
}

pub fn run(frames: &Frames<'static, ()>) {
    say!("{LEVELS} levels");
    kernel_pages();
    with_space(frames, "faults: zero-fill, protection, no-execute, unmap", faults);
    with_space(frames, "bits: the MMU sets accessed and dirty, and harvests clear them", bits);
    with_space(frames, "large pages: made, divided, written through", large);
    with_space(frames, "forks: copied on write", forks);
    with_space(frames, "stale: the other CPU's TLB keeps a page until it is shot down", stale);
    with_space(frames, "shoot-down: an unmapped page faults on the other CPU", unmap_beside);
    for round in 0..repeats() {
        ROUND.store(round, Release);
        with_space(frames, "both CPUs map, write, protect and unmap at once", at_once);
    }
    with_space(frames, "instructions", measure);
    forgotten(frames);
}

/// A GiB of the kernel is divided for one page, and merged again.
fn kernel_pages() {
    let tables = &handle().memory().machine().kernel;
    let page = VirtualPage(200 << 8);
    let flush = |range: PageRange| {
        flush_here(range.first().0, range.pages());
        shoot(range);
    };
    let Ok(one) = PageRange::new(page, 1) else { fail("a range") };
    check(write(page.0 << 12, 5), "memory can be written");
    check(tables.set_rights(one, Rights::READ, flush).is_ok(), "a page loses a right");
    check(tables.leaf(page).is_some_and(|(level, _)| level == 0), "it is a small page now");
    check(!write(page.0 << 12, 6) && read(page.0 << 12) == Some(5), "it cannot be written");
    check(write((page.0 + 1) << 12, 6), "its neighbour can");
    let all = Rights::READ | Rights::WRITE | Rights::EXECUTE;
    check(tables.set_rights(one, all, flush).is_ok(), "a page gets a right");
    check(tables.merge(page, 1, flush) && tables.merge(page, 2, flush), "pages are merged");
    check(tables.leaf(page).is_some_and(|(level, _)| level == 2), "it is in a GiB again");
    check(write(page.0 << 12, 7), "it can be written again");
    say!("ok kernel: 1 GiB divided for a page of 4 KiB, and merged");
}

fn faults() {
    let cpu = handle();
    check(read(at(0)).is_none(), "nothing is mapped");
    check(cpu.map(space(), range(0, 16), BOTH()).is_ok(), "map");
    let before = RUNNING[0].faults.load(Relaxed);
    (0..16).for_each(|page| check(read(at(page)) == Some(0) && write(at(page), page as u8), "a zeroed page"));
    let faulted = RUNNING[0].faults.load(Relaxed) - before;
    check((16..=32).contains(&faulted), "a fault for each page");
    (0..16).for_each(|page| check(read(at(page)) == Some(page as u8), "its byte"));
    check(RUNNING[0].faults.load(Relaxed) - before == faulted, "no fault on a page that is mapped");
    check(cpu.protect(space(), range(3, 1), Rights::READ).is_ok(), "protect");
    check(!write(at(3), 9) && read(at(3)) == Some(3), "a protected page");
    check(write(at(4), 0xc3), "code: a return");
    check(!fetch(at(4)), "no-execute");
    check(cpu.protect(space(), range(4, 1), Rights::READ | Rights::EXECUTE).is_ok(), "protect");
    check(fetch(at(4)) && !write(at(4), 1), "code runs, and is not written");
    check(cpu.protect(space(), range(5, 1), Rights::NONE).is_ok() && read(at(5)).is_none(), "no rights");
    check(cpu.protect(space(), range(5, 1), BOTH()).is_ok() && read(at(5)) == Some(5), "its byte is still there");
    check(cpu.unmap(space(), range(0, 8)).is_ok(), "unmap");
    check((0..16).all(|page| read(at(page)).is_some() == (page >= 8)), "half is unmapped");
}

fn bits() {
    let cpu = handle();
    check(cpu.map(space(), range(0, 2), BOTH()).is_ok() && write(at(0), 1), "a page");
    let Some(tables) = space().pmap(faultline_memory::CpuNumber(0)) else { fail("page tables") };
    let page = VirtualPage(FIRST);
    let harvest = || {
        let found = tables.harvest(page).map(|found| (found.accessed, found.dirty));
        flush_here(page.0, 1);
        found
    };
    check(harvest() == Some((true, true)), "written");
    check(harvest() == Some((false, false)), "not used since");
    check(read(at(0)) == Some(1) && harvest() == Some((true, false)), "read");
    check(write(at(0), 2) && harvest() == Some((true, true)), "written again");
}

fn large() {
    let cpu = handle();
    let memory = cpu.memory();
    let filled = || memory.counters().of(Event::LargeFill);
    let before = filled();
    check(cpu.map(space(), range(0, 1024), BOTH()).is_ok() && write(at(600), 3), "map");
    check(filled() == before + 1, "a large page");
    let faults = RUNNING[0].faults.load(Relaxed);
    (512..1024).for_each(|page| check(write(at(page), page as u8), "a page of it"));
    check(RUNNING[0].faults.load(Relaxed) == faults, "no faults in a large page");
    check(cpu.unmap(space(), range(700, 1)).is_ok() && read(at(700)).is_none(), "a part of it");
    let rest = (512..1024).filter(|page| *page != 700);
    check(rest.clone().all(|page| read(at(page)) == Some(page as u8)), "the rest has its bytes");
    check(cpu.protect(space(), range(512, 100), Rights::READ).is_ok(), "protect");
    check(!write(at(512), 1) && write(at(612), 1), "a part is protected");
}

fn forks() {
    let cpu = handle();
    check(cpu.map(space(), range(0, 512), BOTH()).is_ok(), "map");
    (0..512).for_each(|page| check(write(at(page), page as u8), "parent"));
    let Ok(child) = cpu.fork(space()) else { fail("fork") };
    leave();
    enter(&child);
    (0..512).step_by(2).for_each(|page| check(write(at(page), 77), "child"));
    check(
        (0..512).all(|page| read(at(page)) == Some(if page % 2 == 0 { 77 } else { page as u8 })),
        "the child's bytes",
    );
    leave();
    enter(space());
    check((0..512).all(|page| read(at(page)) == Some(page as u8)), "the parent's bytes");
    check(cpu.exit(child).is_ok(), "the child ends");
    check((0..512).all(|page| write(at(page), 1)), "the parent writes again");
}

/// An entry is removed below the memory system, without a shoot-down.
fn stale() {
    let cpu = handle();
    check(cpu.map(space(), range(0, 2), BOTH()).is_ok() && write(at(0), 42) && write(at(1), 1), "map");
    start(|| {
        enter(space());
        check(read(at(0)) == Some(42), "the page");
        pass(1);
        reach(2);
        check(read(at(0)) == Some(42), "the TLB keeps the translation");
        pass(3);
        reach(4);
        let faults = RUNNING[1].faults.load(Relaxed);
        check(read(at(0)) == Some(42), "the memory system enters it again");
        check(RUNNING[1].faults.load(Relaxed) == faults + 1, "after a shoot-down, a fault");
        leave();
    });
    reach(1);
    let Some(tables) = space().pmap(faultline_memory::CpuNumber(0)) else { fail("page tables") };
    let (page, mut retired) = (VirtualPage(FIRST), RetiredTables::default());
    check(tables.remove(page, &mut retired).is_some(), "remove");
    pass(2);
    reach(3);
    flush_here(FIRST, 1);
    shoot(range(0, 1));
    tables.free(retired);
    pass(4);
}

fn unmap_beside() {
    let cpu = handle();
    check(cpu.map(space(), range(0, 64), BOTH()).is_ok(), "map");
    (0..64).for_each(|page| check(write(at(page), page as u8 + 1), "write"));
    start(|| {
        enter(space());
        (0..64).for_each(|page| check(read(at(page)) == Some(page as u8 + 1), "shared bytes"));
        pass(1);
        reach(2);
        (0..64).for_each(|page| check(read(at(page)).is_some() == (page >= 32), "what was unmapped faults"));
        leave();
    });
    reach(1);
    check(cpu.unmap(space(), range(0, 32)).is_ok(), "unmap");
    pass(2);
}

/// Seed of a CPU's program.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

const OPERATIONS: u64 = 4000;
/// Number of the programs before: each has a seed of its own.
static ROUND: AtomicU64 = AtomicU64::new(0);

/// Random calls in ranges that interleave with the other CPU's, page by page, so both use the same
/// tables.
fn program() {
    let (number, cpu) = (cpu() as u64, handle());
    let mut state = 0x9e37_79b9_7f4a_7c15 + number + 2 * ROUND.load(Acquire);
    // Byte of each page: none, or a value and whether it can be written.
    let mut model = [None::<(u8, bool)>; 96];
    for _ in 0..OPERATIONS {
        let random = next(&mut state);
        let (index, value) = (random as usize % model.len(), (random >> 32) as u8);
        // Its own pages of all: in three tables.
        let page = (index as u64 * 2 + number) * 11;
        let one = range(page, 1);
        let found = read(at(page));
        check(found == model[index].map(|(byte, _)| byte), "a page has its byte");
        match random >> 16 & 7 {
            0 => {
                check(cpu.map(space(), one, BOTH()).is_ok(), "map");
                model[index] = Some((0, true));
            }
            1 => {
                check(cpu.unmap(space(), one).is_ok(), "unmap");
                model[index] = None;
            }
            2 => {
                let may_write = value % 2 == 0;
                let rights = if may_write { BOTH() } else { Rights::READ };
                check(cpu.protect(space(), one, rights).is_ok() == model[index].is_some(), "protect");
                model[index] = model[index].map(|(byte, _)| (byte, may_write));
            }
            _ => {
                let writes = model[index].is_some_and(|(_, may_write)| may_write);
                check(write(at(page), value) == writes, "a write");
                if writes {
                    model[index] = Some((value, true));
                }
            }
        }
    }
}

fn at_once() {
    let memory = handle().memory();
    let sent = memory.counters().of(Event::ShootDown);
    start(|| {
        enter(space());
        program();
        leave();
    });
    program();
    wait();
    let sent = memory.counters().of(Event::ShootDown) - sent;
    say!("   program {}: {} operations, {sent} shoot-downs", ROUND.load(Acquire), 2 * OPERATIONS);
    check(sent > 0, "shoot-downs");
}

/// Ticks per call: instructions, if the emulator counts those as time.
fn measure() {
    let Some(tables) = space().pmap(faultline_memory::CpuNumber(0)) else { fail("page tables") };
    let (mut retired, frame) = (RetiredTables::default(), faultline_memory::FrameNumber(1 << 14));
    let per = |name: &str, act: &mut dyn FnMut(u64)| {
        act(512);
        let begin = ticks();
        (0..512).for_each(&mut *act);
        say!("   {name}: {} ticks", (ticks() - begin) / 512);
    };
    let page = |page: u64| VirtualPage(FIRST + page);
    let ok = AtomicU64::new(0);
    per("(an empty call)", &mut |index| ok.store(index, Relaxed));
    per("enter", &mut |index| check(tables.enter(page(index), frame, BOTH(), &mut retired).is_ok(), "enter"));
    per("query", &mut |index| check(tables.query(page(index)).is_some(), "query"));
    per("harvest", &mut |index| check(tables.harvest(page(index)).is_some(), "harvest"));
    per("protect", &mut |index| check(tables.protect(page(index), Rights::READ).is_some(), "protect"));
    per("remove", &mut |index| check(tables.remove(page(index), &mut retired).is_some(), "remove"));
    let large = page(1 << 18);
    let mut timed = |name: &str, act: &mut dyn FnMut(&mut RetiredTables) -> bool| {
        let begin = ticks();
        check(act(&mut retired), name);
        say!("   {name}: {} ticks", ticks() - begin);
    };
    let frame = faultline_memory::FrameNumber(1 << 15);
    timed("enter_large, with 2 tables", &mut |retired| tables.enter_large(large, frame, BOTH(), retired).is_ok());
    timed("remove_large, with 2 tables", &mut |retired| tables.remove_large(large, retired).is_some());
    timed("enter_large again", &mut |retired| tables.enter_large(large, frame, BOTH(), retired).is_ok());
    timed("divide", &mut |_| tables.divide(large));
    (0..512).for_each(|index| check(tables.remove(VirtualPage(large.0 + index), &mut retired).is_some(), "divided"));
    tables.free(core::mem::take(&mut retired));
    let cpu = handle();
    check(cpu.map(space(), range(0, 512), BOTH()).is_ok(), "map");
    cpu.set_large_pages(space(), false);
    per("fault that fills a page with zeroes, trap included", &mut |index| {
        check(index == 512 || write(at(index), 1), "a fault");
    });
    check(cpu.unmap(space(), range(0, 512)).is_ok(), "unmap");
}

/// Without shoot-downs the test of an unmapped page would fail: the other CPU still reads it.
fn forgotten(frames: &Frames<'static, ()>) {
    static STILL_READ: AtomicUsize = AtomicUsize::new(0);
    let machine = handle().memory().machine();
    with_space(frames, "without shoot-downs the other CPU still reads what was unmapped", || {
        check(handle().map(space(), range(0, 1), BOTH()).is_ok() && write(at(0), 8), "map");
        start(|| {
            enter(space());
            check(read(at(0)) == Some(8), "the page");
            pass(1);
            reach(2);
            STILL_READ.store(usize::from(read(at(0)).is_some()), Release);
            leave();
        });
        reach(1);
        machine.forgets_shoots.store(true, Release);
        check(handle().unmap(space(), range(0, 1)).is_ok(), "unmap");
        machine.forgets_shoots.store(false, Release);
        pass(2);
        wait();
        check(STILL_READ.load(Acquire) == 1, "a missing shoot-down shows");
    });
}
