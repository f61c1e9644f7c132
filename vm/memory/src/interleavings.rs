//! Interleavings of two CPUs, explored by `loom`; only `pages` limits preemptions. A space has 4
//! pages here, and nodes and tables 2 entries.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p faultline-memory --lib interleavings`

mod large;
mod nodes;
mod own_tables;
mod pages;
mod pieces;

use crate::address::{PageRange, Rights, VirtualPage};
use crate::cpu_set::{ActiveCpus, CpuSet};
use crate::hosted::{Hosted, PageTable, RetiredTables};
use crate::machine::Pmap;
use crate::memory::{Cpu, Memory};
use crate::object::{Backing, Leaf, Object};
use crate::page_word::{PageStep, PageWord};
use crate::primitive::{AtomicBool, relax};
use crate::space::Space;
use crate::test_frames::List;
use core::sync::atomic::Ordering::Relaxed;
use faultline_numbers::{CpuNumber, FrameNumber};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use std::boxed::Box;

fn explore(run: impl Fn() + Sync + Send + 'static) {
    explore_up_to(None, run);
}

/// Explores with at most this many preemptions.
fn explore_up_to(preemptions: Option<usize>, run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 100_000;
    builder.check(run);
}

/// A page's word and its contents.
struct Page {
    word: PageWord,
    contents: UnsafeCell<u32>,
}

// SAFETY: loom reports an access that is not ordered.
unsafe impl Sync for Page {}

fn page() -> Arc<Page> {
    let page = Page { word: PageWord::new(), contents: UnsafeCell::new(0) };
    page.word.step(PageStep::Claim).unwrap();
    Arc::new(page)
}

/// Two CPUs want the same page of an object: one makes it, and the other finds it with its
/// contents.
#[test]
fn a_page_is_made_once_and_found_filled() {
    explore(|| {
        let (object, pages) = (Arc::new(Object::try_new(1, Backing::Zeroes).unwrap()), [page(), page()]);
        let want = |mine: u32, object: Arc<Object>, pages: [Arc<Page>; 2]| {
            let found = match object.publish(0, Leaf::Nothing, mine).unwrap() {
                Ok(_) => {
                    let page = &pages[mine as usize];
                    // SAFETY: the page is busy, so it is this CPU's.
                    page.contents.with_mut(|contents| unsafe { *contents = 7 });
                    page.word.step(PageStep::Filled).unwrap();
                    mine
                }
                Err(Leaf::Page(other)) => other,
                Err(found) => unreachable!("{found:?}"),
            };
            let page = &pages[found as usize];
            while !page.word.state().is_valid() {
                relax();
            }
            // SAFETY: it is filled, and only read from now on.
            assert_eq!(page.contents.with(|contents| unsafe { *contents }), 7);
            found
        };
        let (its, its_pages) = (object.clone(), pages.clone());
        let other = thread::spawn(move || want(1, its, its_pages));
        let mine = want(0, object, pages);
        assert_eq!(mine, other.join().unwrap(), "both have the same page");
    });
}

/// An owner has copied a page and releases it, while the other waits until it may write the page in
/// place.
#[test]
fn the_last_owner_writes_in_place() {
    explore(|| {
        let page = page();
        page.word.step(PageStep::Filled).unwrap();
        page.word.step(PageStep::Share).unwrap();
        let its = page.clone();
        let other = thread::spawn(move || {
            // SAFETY: an owner may read while no CPU writes.
            let copied = its.contents.with(|contents| unsafe { *contents });
            assert_eq!(its.word.release(), Ok(false));
            copied
        });
        while page.word.state().owners() != 1 {
            relax();
        }
        // SAFETY: the only owner.
        page.contents.with_mut(|contents| unsafe { *contents = 1 });
        assert_eq!(other.join().unwrap(), 0, "what was copied is from before");
        assert_eq!(page.word.release(), Ok(true));
    });
}

/// A CPU activates a space and reads a page-table entry, while another removes the entry and
/// decides which CPUs to shoot down.
#[test]
fn an_activation_and_a_shoot_down() {
    explore(|| {
        let (active, entry) = (Arc::new(ActiveCpus::<()>::try_new(2).unwrap()), Arc::new(AtomicBool::new(true)));
        let (its_active, its_entry) = (active.clone(), entry.clone());
        let other = thread::spawn(move || {
            its_active.enter(CpuNumber(1));
            its_entry.load(Relaxed)
        });
        entry.store(false, Relaxed);
        let is_shot = !active.others_than(CpuNumber(0), &CpuSet::ALL).is_empty();
        let has_seen = other.join().unwrap();
        assert!(is_shot || !has_seen, "a CPU has the entry in its TLB, and is not shot down");
    });
}

/// A page-table entry is made in a table whose last other entry goes.
#[test]
fn an_entry_and_the_last_removal() {
    explore(|| {
        let table = Arc::new(PageTable::try_new(crate::hosted::PAGES).unwrap());
        let mut retired = RetiredTables::default();
        table.enter(VirtualPage(0), FrameNumber(1), Rights::READ, &mut retired).unwrap();
        let its = table.clone();
        let other = thread::spawn(move || {
            let mut retired = RetiredTables::default();
            its.enter(VirtualPage(1), FrameNumber(2), Rights::READ, &mut retired).unwrap();
            retired
        });
        assert!(table.remove(VirtualPage(0), &mut retired).is_some());
        let its_retired = other.join().unwrap();
        assert_eq!(table.query(VirtualPage(1)).map(|entry| entry.frame), Some(FrameNumber(2)));
        assert_eq!(table.tables(), 1);
        table.free(retired);
        table.free(its_retired);
    });
}

/// Two CPUs make the first entries of one table.
#[test]
fn two_first_entries() {
    explore(|| {
        let table = Arc::new(PageTable::try_new(crate::hosted::PAGES).unwrap());
        let enter = |page: u64, table: &PageTable| {
            let mut retired = RetiredTables::default();
            table.enter(VirtualPage(page), FrameNumber(page), Rights::READ, &mut retired).unwrap();
            retired
        };
        let its = table.clone();
        let other = thread::spawn(move || enter(1, &its));
        let mut retired = enter(0, &table);
        table.free(other.join().unwrap());
        assert!([0, 1].iter().all(|page| table.query(VirtualPage(*page)).is_some()));
        assert!([0, 1].iter().all(|page| table.remove(VirtualPage(*page), &mut retired).is_some()));
        assert_eq!(table.tables(), 0);
        table.free(retired);
    });
}

type TestCpu = Cpu<'static, Hosted, List>;

/// A machine with two CPUs, on which a space is active. Leaks a few hundred bytes.
fn boot(frames: u32) -> ([TestCpu; 2], Space<'static, Hosted>, List) {
    boot_as(List::of(frames), |machine| machine)
}

/// Uses the frames of a list.
fn boot_as(list: List, made: impl Fn(Hosted) -> Hosted) -> ([TestCpu; 2], Space<'static, Hosted>, List) {
    let frames = list.free();
    let machine = made(Hosted::new(2, FrameNumber(0), frames.into(), 1).unwrap());
    let memory: &'static Memory<Hosted> = Box::leak(Box::new(Memory::new(machine, 2, frames).unwrap()));
    list.watch(memory);
    // SAFETY: each number has one handle; the frames are one list's.
    let cpus = [0, 1].map(|number| unsafe { memory.cpu(CpuNumber(number), list.clone()) }.unwrap());
    let space = cpus[0].new_space().unwrap();
    cpus.iter().for_each(|cpu| cpu.activate(&space).unwrap());
    (cpus, space, list)
}

fn pages(first: u64, pages: u64) -> PageRange {
    PageRange::new(VirtualPage(first), pages).unwrap()
}

/// A fault on a page while another CPU unmaps it with its neighbour: the frame is freed, and no
/// translation is left.
#[test]
fn a_fault_and_an_unmap() {
    explore(|| {
        let ([mine, its], space, list) = boot(2);
        mine.map(&space, pages(0, 2), Rights::READ).unwrap();
        let space = Arc::new(space);
        let its_space = space.clone();
        let other = thread::spawn(move || {
            // Resolved before the unmap, or refused after it.
            let _ = its.fault(&its_space, VirtualPage(0), Rights::READ);
            its.deactivate(&its_space);
        });
        mine.unmap(&space, pages(0, 2)).unwrap();
        other.join().unwrap();
        let pmap = space.pmap(mine.number()).unwrap();
        assert!(pmap.query(VirtualPage(0)).is_none());
        assert_eq!((pmap.tables(), list.free()), (0, 2));
        mine.deactivate(&space);
        assert!(mine.exit(Arc::try_unwrap(space).ok().unwrap()).is_ok());
    });
}
