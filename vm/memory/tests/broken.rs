//! Broken invariants: each is reported and counted in every build, and the step is left out. Here
//! the source of frames breaks its promises.

use faultline_frames::ZeroedFrame;
use faultline_memory::hosted::{Hosted, PageTable, Pinned};
use faultline_memory::{
    Broken, Cpu, CpuNumber, CpuSet, Event, FaultError, Flush, FrameNumber, FrameSource, Machine, Memory, NoMemory,
    PageRange, PageState, Rights, Space, VirtualPage,
};
use std::cell::{Cell, RefCell};

const BOTH: Rights = Rights::from_bits(3);
const FRAMES: u32 = 1024;

/// Records what is reported.
struct Reporting(Hosted, RefCell<Vec<Broken>>);

// SAFETY: as `Hosted`.
unsafe impl Machine for Reporting {
    type Pmap = PageTable;
    type Pinned<'a> = Pinned<'a>;

    fn pin(&self, cpu: CpuNumber) -> Pinned<'_> {
        self.0.pin(cpu)
    }
    fn pages(&self) -> PageRange {
        self.0.pages()
    }
    fn new_pmap(&self) -> Result<PageTable, NoMemory> {
        self.0.new_pmap()
    }
    fn flush(&self, cpu: CpuNumber, flush: &Flush) {
        self.0.flush(cpu, flush);
    }
    fn shoot(&self, cpus: &CpuSet, flush: &Flush) {
        self.0.shoot(cpus, flush);
    }
    fn zero(&self, frame: FrameNumber) {
        self.0.zero(frame);
    }
    fn copy(&self, from: FrameNumber, to: FrameNumber) {
        self.0.copy(from, to);
    }
    fn broken(&self, broken: &Broken) {
        self.1.borrow_mut().push(*broken);
    }
}

/// Gives these frames, the last first.
struct Bad {
    next: RefCell<Vec<u64>>,
    large: Cell<Option<u64>>,
    put: RefCell<Vec<FrameNumber>>,
    takes_back: Cell<bool>,
    knows_frames: Cell<bool>,
}

// SAFETY: it breaks the promises, as a test: no contents are used.
unsafe impl FrameSource for &Bad {
    fn get(&self) -> Result<ZeroedFrame, NoMemory> {
        let number = self.next.borrow_mut().pop().map(FrameNumber).ok_or(NoMemory)?;
        Ok(ZeroedFrame { number, zeroed: true })
    }
    fn get_large(&self, _: u64) -> Option<ZeroedFrame> {
        Some(ZeroedFrame { number: FrameNumber(self.large.take()?), zeroed: true })
    }
    fn put(&self, frames: &[FrameNumber]) -> bool {
        self.put.borrow_mut().extend(frames);
        self.takes_back.get()
    }
    fn index_of(&self, frame: FrameNumber) -> Option<u32> {
        (frame.0 != 77).then_some(frame.0 as u32)
    }
    fn frame_at(&self, index: u32) -> Option<FrameNumber> {
        self.knows_frames.get().then_some(FrameNumber(index.into()))
    }
    fn index_count(&self) -> u32 {
        FRAMES
    }
}

type BadCpu<'m, 'b> = Cpu<'m, Reporting, &'b Bad>;

/// Runs `run` in a space with mapped memory; then ends the space. Returns the reports.
fn reports(next: &[u64], run: impl for<'m> FnOnce(&BadCpu<'m, '_>, &Space<'m, Reporting>, &Bad)) -> Vec<Broken> {
    let machine = Reporting(Hosted::new(1, FrameNumber(0), FRAMES.into(), 16).unwrap(), RefCell::default());
    let memory = Memory::new(machine, 1, FRAMES).unwrap();
    let source = Bad {
        next: RefCell::new(next.to_vec()),
        large: Cell::new(None),
        put: RefCell::default(),
        takes_back: Cell::new(true),
        knows_frames: Cell::new(true),
    };
    // SAFETY: 1. One handle. 2. It breaks its promises, and no contents are used.
    let cpu = unsafe { memory.cpu(CpuNumber(0), &source) }.unwrap();
    let space = cpu.new_space().unwrap();
    cpu.activate(&space).unwrap();
    cpu.map(&space, PageRange::new(VirtualPage(512), 1024).unwrap(), BOTH).unwrap();
    run(&cpu, &space, &source);
    cpu.deactivate(&space);
    assert!(cpu.exit(space).is_ok());
    let reports = memory.machine().1.take();
    assert_eq!(memory.counters().of(Event::Broken), reports.len() as u64);
    reports
}

fn fault<'m>(cpu: &BadCpu<'m, '_>, space: &Space<'m, Reporting>, page: u64) -> Result<(), FaultError> {
    cpu.fault(space, VirtualPage(page), Rights::READ)
}

#[test]
fn a_frame_that_is_given_twice_keeps_its_owner() {
    let found = reports(&[4, 3, 3], |cpu, space, source| {
        assert_eq!([600, 601, 601].map(|page| fault(cpu, space, page)), [Ok(()), Err(FaultError::NoMemory), Ok(())]);
        assert!(source.put.borrow().is_empty());
        assert_eq!([3, 4].map(|page| cpu.memory().page_state(page).unwrap().owners()), [1, 1]);
    });
    assert!(matches!(found[..], [Broken::GivenTwice { page: 3, state }] if state.owners() == 1), "{found:?}");
    assert!(found[0].to_string().starts_with("frame 3 was given out, but has owners"));
}

#[test]
fn a_frame_without_an_index_or_a_record_is_not_used() {
    let found = reports(&[5, 2000, 77], |cpu, space, _| {
        let faults = [600, 600, 600].map(|page| fault(cpu, space, page));
        assert_eq!(faults, [Err(FaultError::NoMemory), Err(FaultError::NoMemory), Ok(())]);
    });
    assert_eq!(found, [Broken::NoIndex(FrameNumber(77)), Broken::NoIndex(FrameNumber(2000))]);
}

#[test]
fn a_frame_that_is_not_taken_back_or_not_known_is_lost() {
    let found = reports(&[5], |cpu, space, source| {
        assert_eq!(fault(cpu, space, 600), Ok(()));
        source.takes_back.set(false);
    });
    assert_eq!(found, [Broken::Refused(FrameNumber(5))]);
    let found = reports(&[5], |cpu, space, source| {
        assert_eq!(fault(cpu, space, 600), Ok(()));
        source.knows_frames.set(false);
    });
    assert_eq!(found, [Broken::NoFrame(5)]);
}

#[test]
fn a_large_page_with_a_frame_that_has_an_owner_is_not_made() {
    let found = reports(&[1, 600], |cpu, space, source| {
        assert_eq!(fault(cpu, space, 512), Ok(()));
        source.large.set(Some(512));
        assert_eq!(cpu.fault(space, VirtualPage(1100), Rights::WRITE), Ok(()));
        assert_eq!(source.put.borrow().len(), 600 - 512);
        assert_eq!(cpu.memory().page_state(601), Some(PageState::FREE));
    });
    assert!(matches!(found[..], [Broken::GivenTwice { page: 600, .. }]), "{found:?}");
}
