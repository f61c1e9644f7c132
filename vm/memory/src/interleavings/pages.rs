//! Faults, forks, exits, maps and truncation against a CPU that takes a page away, running a CPU's
//! whole code. Each takes a few hundred interruptible steps, so all orders with at most three
//! preemptions are explored (two where that took minutes): a bug of two CPUs that interrupt each
//! other once needs two. `pieces` explores the parts without a limit.

use super::{TestCpu, explore_up_to, pages};
use crate::address::{Rights, VirtualPage};
use crate::error::{FaultError, SpaceError};
use crate::hosted::{FrameBytes, Hosted, Outcome};
use crate::memory::Memory;
use crate::memory_object::MemoryObject;
use crate::object::pager::{CLUSTER, Pager, Started, Then, Transfer};
use crate::reverse::Shots;
use crate::space::Space;
use crate::test_frames::List;
use faultline_numbers::{CpuNumber, FrameNumber};
use loom::sync::Arc;
use loom::thread;
use std::boxed::Box;
use std::sync::Mutex;
use std::vec::Vec;

const BOTH: Rights = Rights::from_bits(3);

type TestSpace = Space<'static, Hosted>;
type TestObject = MemoryObject<'static, Hosted>;

fn explore(run: impl Fn() + Sync + Send + 'static) {
    explore_up_to(Some(3), run);
}

/// A store of one-byte pages, whose steps are not explored.
#[derive(Debug)]
struct Store {
    bytes: FrameBytes,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    pages: [u8; 4],
    fails: bool,
    is_late: bool,
    late: Vec<Transfer>,
}

impl Store {
    fn page(&self, index: usize) -> u8 {
        self.state.lock().unwrap().pages[index]
    }

    fn start(&self, first: u64, frames: &[FrameNumber], transfer: Transfer, is_write: bool) -> Started {
        let mut state = self.state.lock().unwrap();
        if state.fails {
            return Started::Done(transfer, 0);
        }
        for (index, frame) in (first as usize..).zip(frames) {
            let mut byte = [state.pages[index]];
            if is_write {
                self.bytes.read(*frame, &mut byte);
                state.pages[index] = byte[0];
            } else {
                self.bytes.write(*frame, &byte);
            }
        }
        if state.is_late {
            state.late.push(transfer);
            return Started::Later;
        }
        Started::Done(transfer, frames.len())
    }
}

impl Pager for Store {
    fn read(&self, first: u64, frames: &[FrameNumber], transfer: Transfer) -> Started {
        self.start(first, frames, transfer, false)
    }

    fn write(&self, first: u64, frames: &[FrameNumber], transfer: Transfer) -> Started {
        self.start(first, frames, transfer, true)
    }
}

/// Two CPUs on which a space is active, frames, and a store, which is also the swap area. Leaks a
/// few hundred bytes.
pub(super) struct Board {
    pub(super) cpus: [TestCpu; 2],
    pub(super) space: TestSpace,
    pub(super) list: List,
    store: std::sync::Arc<Store>,
}

fn boot(frames: u32) -> Board {
    boot_with(List::of(frames))
}

/// Uses the frames of a list.
pub(super) fn boot_with(list: List) -> Board {
    let frames = list.free();
    let machine = Hosted::new(2, FrameNumber(0), frames.into(), 1).unwrap();
    let state = State { pages: [0; 4], fails: false, is_late: false, late: Vec::new() };
    let store = std::sync::Arc::new(Store { bytes: machine.bytes().clone(), state: Mutex::new(state) });
    let memory = Memory::new(machine, 2, frames).unwrap().with_swap(store.clone(), 2).unwrap();
    let memory: &'static Memory<Hosted> = Box::leak(Box::new(memory));
    list.watch(memory);
    // SAFETY: each number has one handle; the frames are one list's.
    let cpus = [0, 1].map(|number| unsafe { memory.cpu(CpuNumber(number), list.clone()) }.unwrap());
    let space = cpus[0].new_space().unwrap();
    cpus[0].activate(&space).unwrap();
    Board { cpus, space, list, store }
}

pub(super) fn access(cpu: &TestCpu, space: &TestSpace, page: u64, write: Option<u8>) -> Result<u8, FaultError> {
    let rights = if write.is_some() { Rights::WRITE } else { Rights::READ };
    loop {
        match cpu.memory().machine().access(cpu.number(), space, VirtualPage(page), 0, write) {
            Outcome::Done(before) => return Ok(before),
            Outcome::Fault => cpu.fault(space, VirtualPage(page), rights)?,
        }
    }
}

/// True for the expected byte, or a page that is being transferred.
fn is_or_waits(found: Result<u8, FaultError>, expected: u8) {
    assert!(found == Ok(expected) || matches!(found, Err(FaultError::Wait(_))), "{found:?}");
}

/// Takes a page away like the page daemon, if it can be held: writes it to the swap area if
/// `is_swapped`, then releases it.
pub(super) fn take_away(cpu: &TestCpu, page: u32, is_swapped: bool) -> bool {
    let Some(hold) = cpu.hold(page, |_| true) else { return false };
    let mut shots = Shots::none();
    cpu.take_translations(&hold, &mut shots);
    cpu.fire(&mut shots);
    if let Some(area) = cpu.swap().filter(|_| is_swapped) {
        let (first, _) = area.take(1).unwrap();
        let mut holds = [const { None }; CLUSTER];
        holds[0] = Some(hold);
        cpu.write(&*area.pager, first.into(), holds, Then::Reclaim, Some(first));
    } else {
        cpu.detach(&hold, None);
        cpu.drop_hold(hold);
    }
    true
}

/// Ends spaces and objects, and checks that all frames are free.
pub(super) fn end(
    cpu: &TestCpu,
    spaces: impl IntoIterator<Item = TestSpace>,
    objects: impl IntoIterator<Item = TestObject>,
    list: &List,
    frames: u32,
) {
    for space in spaces {
        cpu.deactivate(&space);
        assert!(cpu.exit(space).is_ok());
    }
    objects.into_iter().for_each(|object| cpu.drop_object(object));
    assert_eq!((list.free(), cpu.memory().swapped()), (frames, 0), "all frames and slots of the swap area are back");
}

/// The value of an `Arc` whose other owners have ended.
pub(super) fn alone<T>(shared: Arc<T>) -> T {
    Arc::try_unwrap(shared).ok().unwrap()
}

/// A fault on a resident page of an object, which another CPU takes away: its frame is freed when
/// nothing translates to it, and the fault finds the page or makes another.
#[test]
fn a_fault_and_a_page_that_is_taken_away() {
    explore(|| {
        let Board { cpus: [mine, its], space, list, store } = boot(2);
        let object = mine.new_paged_object(1, store.clone()).unwrap();
        mine.map_object(&space, pages(0, 1), Rights::READ, &object, 0).unwrap();
        store.state.lock().unwrap().pages[0] = 7;
        assert_eq!(access(&mine, &space, 0, None), Ok(7));
        let page = object.page(0).unwrap();
        mine.dont_need(&space, pages(0, 1)).unwrap();
        let other = thread::spawn(move || {
            take_away(&its, page, false);
        });
        is_or_waits(access(&mine, &space, 0, None), 7);
        other.join().unwrap();
        assert_eq!(access(&mine, &space, 0, None), Ok(7));
        end(&mine, [space], [object], &list, 2);
    });
}

/// As above, except that the frame is another page's before the fault looks at it.
#[test]
fn a_fault_and_a_frame_that_is_used_again() {
    explore(|| {
        let Board { cpus: [mine, its], space, list, store } = boot(2);
        let object = mine.new_paged_object(1, store.clone()).unwrap();
        mine.map_object(&space, pages(0, 1), Rights::READ, &object, 0).unwrap();
        store.state.lock().unwrap().pages[0] = 7;
        assert_eq!(access(&mine, &space, 0, None), Ok(7));
        let page = object.page(0).unwrap();
        mine.dont_need(&space, pages(0, 1)).unwrap();
        let second = mine.new_space().unwrap();
        let other = thread::spawn(move || {
            its.activate(&second).unwrap();
            its.map(&second, pages(0, 1), BOTH).unwrap();
            // The page that went last comes first.
            take_away(&its, page, false);
            assert_eq!(access(&its, &second, 0, Some(9)), Ok(0));
            its.deactivate(&second);
            second
        });
        // Its frame may be the private page's by now.
        is_or_waits(access(&mine, &space, 0, None), 7);
        let second = other.join().unwrap();
        end(&mine, [space, second], [object], &list, 2);
    });
}

/// As above, with pages that could not be read: two CPUs find one, and its frame is another page's
/// before the second one looks.
#[test]
fn two_faults_on_a_page_that_could_not_be_read() {
    explore(|| {
        let Board { cpus: [mine, its], space, list, store } = boot(1);
        let object = mine.new_paged_object(1, store.clone()).unwrap();
        mine.map_object(&space, pages(0, 1), Rights::READ, &object, 0).unwrap();
        mine.map_object(&space, pages(1, 1), Rights::READ, &object, 0).unwrap();
        mine.map(&space, pages(2, 1), BOTH).unwrap();
        its.activate(&space).unwrap();
        store.state.lock().unwrap().is_late = true;
        assert!(matches!(mine.fault(&space, VirtualPage(0), Rights::READ), Err(FaultError::Wait(_))));
        let transfer = store.state.lock().unwrap().late.pop().unwrap();
        mine.finish(transfer, 0);
        store.state.lock().unwrap().fails = true;
        let space = Arc::new(space);
        let its_space = space.clone();
        let other = thread::spawn(move || {
            let _ = its.fault(&its_space, VirtualPage(1), Rights::READ);
            let is_written = its.fault(&its_space, VirtualPage(2), Rights::WRITE).is_ok();
            if is_written {
                assert_eq!(access(&its, &its_space, 2, Some(9)), Ok(0));
            }
            its.deactivate(&its_space);
            is_written
        });
        assert!(mine.fault(&space, VirtualPage(0), Rights::READ).is_err());
        if other.join().unwrap() {
            assert_eq!(access(&mine, &space, 2, None), Ok(9));
        }
        end(&mine, [alone(space)], [object], &list, 1);
    });
}

/// A fault makes a page of an object while another CPU truncates it: the page is gone afterwards.
#[test]
fn a_fault_and_a_truncation() {
    explore(|| {
        let Board { cpus: [mine, its], space, list, .. } = boot(1);
        let object = Arc::new(mine.new_object(1).unwrap());
        mine.map_object(&space, pages(0, 1), BOTH, &object, 0).unwrap();
        let its_object = object.clone();
        let other = thread::spawn(move || its.truncate(&its_object, 0).unwrap());
        let found = access(&mine, &space, 0, Some(1));
        assert!([Ok(0), Err(FaultError::BeyondObject)].contains(&found), "{found:?}");
        other.join().unwrap();
        assert_eq!(access(&mine, &space, 0, None), Err(FaultError::BeyondObject));
        assert_eq!(list.free(), 1, "no page is left");
        end(&mine, [space], [alone(object)], &list, 1);
    });
}

/// A map and a fault on a resident page of an object that is being taken away: either the taker
/// finds the mapping, or the fault finds the page gone.
#[test]
fn a_new_mapping_and_a_page_that_is_taken_away() {
    explore_up_to(Some(2), || {
        let Board { cpus: [mine, its], space, list, store } = boot(2);
        let object = mine.new_paged_object(1, store.clone()).unwrap();
        store.state.lock().unwrap().pages[0] = 7;
        mine.map_object(&space, pages(3, 1), Rights::READ, &object, 0).unwrap();
        assert_eq!(access(&mine, &space, 3, None), Ok(7));
        mine.unmap(&space, pages(3, 1)).unwrap();
        let page = object.page(0).unwrap();
        let other = thread::spawn(move || {
            take_away(&its, page, false);
        });
        mine.map_object(&space, pages(0, 1), Rights::READ, &object, 0).unwrap();
        is_or_waits(access(&mine, &space, 0, None), 7);
        other.join().unwrap();
        assert_eq!(access(&mine, &space, 0, None), Ok(7));
        end(&mine, [space], [object], &list, 2);
    });
}

/// A fork copies a slot whose page is being swapped out: the swapper finds the child, so the frame
/// is freed.
#[test]
fn a_fork_and_a_page_that_is_swapped() {
    explore(|| {
        let Board { cpus: [mine, its], space, list, .. } = boot(2);
        mine.map(&space, pages(0, 1), BOTH).unwrap();
        assert_eq!(access(&mine, &space, 0, Some(5)), Ok(0));
        // The list's last.
        let other = thread::spawn(move || assert!(take_away(&its, 1, true)));
        let child = mine.fork(&space).unwrap();
        other.join().unwrap();
        assert_eq!(list.free(), 2, "the page is in no space");
        mine.activate(&child).unwrap();
        assert_eq!((access(&mine, &space, 0, None), access(&mine, &child, 0, None)), (Ok(5), Ok(5)));
        end(&mine, [space, child], [], &list, 2);
    });
}

/// A child that shares the page ends meanwhile.
#[test]
fn an_exit_and_a_page_that_is_swapped() {
    explore(|| {
        let Board { cpus: [mine, its], space, list, .. } = boot(1);
        mine.map(&space, pages(0, 1), BOTH).unwrap();
        assert_eq!(access(&mine, &space, 0, Some(5)), Ok(0));
        let child = mine.fork(&space).unwrap();
        let other = thread::spawn(move || {
            take_away(&its, 0, true);
        });
        assert!(mine.exit(child).is_ok());
        other.join().unwrap();
        assert_eq!(access(&mine, &space, 0, None), Ok(5));
        end(&mine, [space], [], &list, 1);
    });
}

/// A space ends whose page tables alone say that an object's page was written.
#[test]
fn an_exit_and_who_asks_whether_a_page_is_dirty() {
    explore(|| {
        let Board { cpus: [mine, its], space, list, store } = boot(1);
        let object = mine.new_paged_object(1, store.clone()).unwrap();
        mine.map_object(&space, pages(0, 1), BOTH, &object, 0).unwrap();
        assert_eq!(access(&mine, &space, 0, Some(5)), Ok(0));
        mine.deactivate(&space);
        let other = thread::spawn(move || {
            let hold = its.hold(0, |_| true)?;
            let said = its.take_translations(&hold, &mut Shots::none());
            let is_dirty = said.dirty || its.word(0).state().is_dirty();
            its.drop_hold(hold);
            Some(is_dirty)
        });
        assert!(mine.exit(space).is_ok());
        assert_ne!(other.join().unwrap(), Some(false), "the page was written, and would go as a clean one");
        end(&mine, [], [object], &list, 1);
    });
}

/// A write to a private page that goes to the swap area.
#[test]
fn a_write_and_a_page_that_is_swapped() {
    explore(|| {
        let Board { cpus: [mine, its], space, list, .. } = boot(2);
        mine.map(&space, pages(0, 1), BOTH).unwrap();
        assert_eq!(access(&mine, &space, 0, Some(5)), Ok(0));
        let other = thread::spawn(move || assert!(take_away(&its, 1, true)));
        let found = access(&mine, &space, 0, Some(6));
        is_or_waits(found, 5);
        other.join().unwrap();
        assert_eq!(access(&mine, &space, 0, None), Ok(if found.is_ok() { 6 } else { 5 }));
        end(&mine, [space], [], &list, 2);
    });
}

/// A private page is unmapped while another CPU holds it to take it away.
#[test]
fn an_unmap_and_a_page_that_is_swapped() {
    explore(|| {
        let Board { cpus: [mine, its], space, list, .. } = boot(1);
        mine.map(&space, pages(0, 1), BOTH).unwrap();
        assert_eq!(access(&mine, &space, 0, Some(5)), Ok(0));
        let other = thread::spawn(move || {
            take_away(&its, 0, true);
        });
        mine.unmap(&space, pages(0, 1)).unwrap();
        other.join().unwrap();
        end(&mine, [space], [], &list, 1);
    });
}

/// A page is read for a slot that is unmapped when the read ends.
#[test]
fn an_unmap_and_the_end_of_a_read() {
    explore(|| {
        let Board { cpus: [mine, its], space, list, store } = boot(1);
        mine.map(&space, pages(0, 1), BOTH).unwrap();
        assert_eq!(access(&mine, &space, 0, Some(5)), Ok(0));
        assert!(take_away(&mine, 0, true));
        store.state.lock().unwrap().is_late = true;
        assert_eq!(mine.fault(&space, VirtualPage(0), Rights::READ), Err(FaultError::Wait(0)));
        let transfer = store.state.lock().unwrap().late.pop().unwrap();
        let other = thread::spawn(move || its.finish(transfer, 1));
        mine.unmap(&space, pages(0, 1)).unwrap();
        other.join().unwrap();
        end(&mine, [space], [], &list, 1);
    });
}

/// A write-back that meets a page held by another CPU: the page is written, or the caller gets
/// `Wait`.
#[test]
fn a_write_back_and_who_looks_at_the_page() {
    explore(|| {
        let Board { cpus: [mine, its], space, list, store } = boot(1);
        let object = mine.new_paged_object(1, store.clone()).unwrap();
        mine.map_object(&space, pages(0, 1), BOTH, &object, 0).unwrap();
        assert_eq!(access(&mine, &space, 0, Some(5)), Ok(0));
        let other = thread::spawn(move || {
            if let Some(hold) = its.hold(0, |_| true) {
                its.drop_hold(hold);
            }
        });
        let written = mine.write_back(&object, 0, 1);
        other.join().unwrap();
        assert!(matches!(written, Err(SpaceError::Wait(0))) || (written, store.page(0)) == (Ok(()), 5), "{written:?}");
        end(&mine, [space], [object], &list, 1);
    });
}
