//! Users' mistakes that a `Watched` finds, with their places.

use crate::machine::{Machine, boot};
use faultline_frames::{
    ConfigError, FixedCpu, FrameNumber, Frames, HUGE_FRAMES, Mistake, MistakeKind, Order, Policy, PutError,
    RangeRequest, Record, Urgency, Watch, Watched,
};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

const FRAMES: u64 = 3 * HUGE_FRAMES;
const PATTERN: u8 = 0xde;

/// A byte for the contents of each frame, and the mistakes.
struct Memory {
    bytes: Vec<AtomicU8>,
    found: Mutex<Vec<Mistake>>,
}

impl Memory {
    fn byte(&self, frame: FrameNumber) -> &AtomicU8 {
        &self.bytes[frame.0 as usize]
    }

    fn take_found(&self) -> Vec<Mistake> {
        std::mem::take(&mut *self.found.lock().unwrap())
    }
}

impl Watch for Memory {
    fn found(&self, mistake: &Mistake) {
        self.found.lock().unwrap().push(*mistake);
    }

    fn fill(&self, frame: FrameNumber) {
        self.byte(frame).store(PATTERN, Relaxed);
    }

    fn is_filled(&self, frame: FrameNumber) -> bool {
        self.byte(frame).load(Relaxed) == PATTERN
    }
}

fn watch(run: impl FnOnce(&Watched<'_, '_, FixedCpu, Memory>, &Memory, &Frames<'_, FixedCpu>)) {
    boot!([frames], Machine::flat(0, FRAMES, 1).with_policy(Policy::default().with_zeroed_most(4)));
    let records: Vec<Record> = (0..FRAMES).map(|_| Record::new()).collect();
    let memory = Memory { bytes: (0..FRAMES).map(|_| AtomicU8::new(0)).collect(), found: Mutex::default() };
    run(&Watched::new(&frames, &records, &memory).unwrap(), &memory, &frames);
}

#[test]
fn a_double_free_has_both_places() {
    watch(|watched, memory, frames| {
        let frame = watched.get().unwrap();
        let got = line!() - 1;
        assert_eq!(watched.owner(frame).unwrap().line(), got);
        assert_eq!(watched.put(frame), Ok(()));
        let first = line!() - 1;
        assert_eq!(watched.owner(frame), None);
        assert_eq!(watched.put(frame), Err(PutError::AlreadyFree));
        let second = line!() - 1;
        let [mistake] = memory.take_found()[..] else { panic!() };
        assert_eq!((mistake.kind, mistake.frame), (MistakeKind::PutTwice, frame));
        assert_eq!((mistake.here.line(), mistake.before.unwrap().line()), (second, first));
        let text = format!("{frame} was put twice: put at {0}:{second}:28, put before at {0}:{first}:28", file!());
        assert_eq!(mistake.to_string(), text);
        // A frame that was never got.
        assert_eq!(watched.put(FrameNumber(FRAMES - 1)), Err(PutError::AlreadyFree));
        assert_eq!(memory.take_found()[0].before, None);
        assert_eq!(watched.put(FrameNumber(FRAMES)), Err(PutError::OutOfRange));
        assert_eq!(frames.free(), FRAMES);
    });
}

#[test]
fn a_frame_that_is_written_after_it_was_put_is_found() {
    watch(|watched, memory, _| {
        let frame = watched.get().unwrap();
        memory.byte(frame).store(1, Relaxed);
        watched.put(frame).unwrap();
        assert_eq!(watched.get(), Ok(frame));
        assert_eq!(memory.take_found(), [], "it has the pattern");
        watched.put(frame).unwrap();
        let put = line!() - 1;
        memory.byte(frame).store(2, Relaxed);
        assert_eq!(watched.get(), Ok(frame));
        let [mistake] = memory.take_found()[..] else { panic!() };
        assert_eq!(mistake.kind, MistakeKind::WrittenAfterPut);
        assert_eq!((mistake.here.line(), mistake.before.unwrap().line()), (put + 3, put));
    });
}

#[test]
fn sizes_are_not_mixed_and_owners_keep_their_contents() {
    watch(|watched, memory, frames| {
        let huge = watched.get_huge_as(Urgency::Normal).unwrap();
        let part = FrameNumber(huge.first().0 + 5);
        memory.byte(part).store(7, Relaxed);
        assert_eq!(watched.put(part), Err(PutError::WrongOrder));
        let run = watched.get_run_as(Order(3), Urgency::Normal).unwrap();
        assert_eq!(watched.put_huge(run.huge()), Err(PutError::WrongOrder));
        assert_eq!(
            memory.take_found().iter().map(|mistake| mistake.kind).collect::<Vec<_>>(),
            [MistakeKind::WrongOrder; 2]
        );
        assert_eq!(memory.byte(part).load(Relaxed), 7, "what is refused is not filled");
        watched.put_huge(huge).unwrap();
        assert_eq!(memory.byte(part).load(Relaxed), PATTERN);
        assert_eq!(watched.put_huge(huge), Err(PutError::AlreadyFree));
        let error = watched.put_range(run, 9).unwrap_err();
        assert_eq!((error.refused, error.frame), (1, FrameNumber(run.0 + 8)));
        let range = watched.get_range_as(&RangeRequest::of(20), Urgency::Normal).unwrap();
        let all: Vec<FrameNumber> = (range.0..range.0 + 20).map(FrameNumber).collect();
        assert_eq!(watched.put_batch(&all), Ok(()));
        assert_eq!(memory.take_found().len(), 2);
        assert_eq!(frames.free(), FRAMES);
    });
}

#[test]
fn zeroed_frames_need_no_pattern() {
    watch(|watched, memory, frames| {
        let got: Vec<FrameNumber> = (0..40).map(|_| watched.get().unwrap()).collect();
        watched.put_batch(&got).unwrap();
        assert_eq!(watched.fill_zeroed(3, |frame| memory.byte(frame).store(0, Relaxed)), 3);
        assert!(watched.get_zeroed_as(Urgency::Normal).unwrap().zeroed);
        frames.drain();
        while watched.get().is_ok() {}
        assert_eq!(memory.take_found(), []);
        assert!((0..FRAMES).all(|frame| watched.owner(FrameNumber(frame)).is_some()), "all of it has leaked");
        assert_eq!(Watched::new(frames, &[], memory).err(), Some(ConfigError::MetadataTooSmall));
    });
}
