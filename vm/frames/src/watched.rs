//! Detects users' mistakes: a frame that is put twice, with both places in the source; a frame that
//! is written after it was put; frames that are never put, with the places that got them.
//!
//! A [`Watched`] wraps [`Frames`], so programs that do not use it pay nothing. It needs a word for
//! each frame. Calls that bypass it are not seen; where it then disagrees with the frames, the
//! frames are right.

use crate::cpu::CurrentCpu;
use crate::error::{BatchError, ConfigError, GetError, PutError, Refused};
use crate::frame::{RangeRequest, ZeroedFrame};
use crate::frames::Frames;
use crate::layers::Urgency;
use core::fmt::{self, Display};
use core::panic::Location;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use faultline_numbers::{FrameNumber, HUGE_FRAMES, HugeFrame, Order};

type CallSite = &'static Location<'static>;

/// Flags in the bits of a record's pointer that its alignment leaves free. The place has put the
/// frame; otherwise it has got it.
const PUT: usize = 1;
/// The place has got the frame as part of a huge frame.
const HUGE: usize = 2;
const _: () = assert!(align_of::<Location<'static>>() >= 4);

/// The last place that got or put a frame: memory that the embedder provides for a [`Watched`].
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Record(AtomicPtr<Location<'static>>);

/// The value of a record.
#[derive(Debug, Clone, Copy)]
struct Last(*mut Location<'static>);

impl Last {
    fn of(place: CallSite, flags: usize) -> Self {
        Self(ptr::from_ref(place).cast_mut().map_addr(|address| address | flags))
    }

    fn has(self, flag: usize) -> bool {
        self.0.addr() & flag != 0
    }

    fn place(self) -> Option<CallSite> {
        // SAFETY: without the flags it is null, or it was made from such a reference.
        unsafe { self.0.map_addr(|address| address & !(PUT | HUGE)).as_ref() }
    }

    /// The place that got the frame, if it was not put since.
    fn owner(self) -> Option<CallSite> {
        self.place().filter(|_| !self.has(PUT))
    }
}

// Orderings: all relaxed. A place never changes, so nothing is read through a record that another
// CPU writes.
impl Record {
    /// The record of a frame that was never got.
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    fn last(&self) -> Last {
        Last(self.0.load(Relaxed))
    }

    fn set(&self, last: Last) {
        self.0.store(last.0, Relaxed);
    }

    /// Got, with these flags → put. If two CPUs put a frame concurrently, only one succeeds. The
    /// error is the record's value.
    fn put(&self, flags: usize, here: CallSite) -> Result<(), Last> {
        let mut old = self.last();
        loop {
            if old.owner().is_none() || old.has(HUGE) != (flags & HUGE != 0) {
                return Err(old);
            }
            match self.0.compare_exchange_weak(old.0, Last::of(here, PUT).0, Relaxed, Relaxed) {
                Ok(_) => return Ok(()),
                Err(found) => old = Last(found),
            }
        }
    }
}

/// Receives the mistakes that a [`Watched`] finds, and fills and checks the contents of frames.
pub trait Watch: Sync {
    /// A mistake was found. May panic.
    fn found(&self, mistake: &Mistake);

    /// Fills a frame that was put with a pattern. Default: does nothing.
    fn fill(&self, frame: FrameNumber) {
        let _ = frame;
    }

    /// True if a frame still has the pattern.
    fn is_filled(&self, frame: FrameNumber) -> bool {
        let _ = frame;
        true
    }
}

/// The kind of a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MistakeKind {
    /// Put, but not allocated: it was put before, or never got. Unchanged.
    PutTwice,
    /// Put in another size than it was got in. Unchanged.
    WrongOrder,
    /// Written between a put and the get that found it.
    WrittenAfterPut,
}

/// A mistake, with the places in the source that caused it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mistake {
    /// The kind of mistake.
    pub kind: MistakeKind,
    /// The frame.
    pub frame: FrameNumber,
    /// The call that found it.
    pub here: CallSite,
    /// The call that got or put the frame before, if any.
    pub before: Option<CallSite>,
}

impl Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, call, before) = match self.kind {
            MistakeKind::PutTwice => ("was put twice", "put", "put before"),
            MistakeKind::WrongOrder => ("was put in another size", "put", "got"),
            MistakeKind::WrittenAfterPut => ("was written after it was put", "got", "put"),
        };
        write!(f, "{} {what}: {call} at {}", self.frame, self.here)?;
        self.before.map_or(Ok(()), |place| write!(f, ", {before} at {place}"))
    }
}

/// [`Frames`] with checks: records the place of each frame's last get or put.
#[derive(Debug)]
pub struct Watched<'a, 'm, C, W> {
    frames: &'a Frames<'m, C>,
    records: &'a [Record],
    watch: &'a W,
}

impl<'a, 'm, C: CurrentCpu, W: Watch> Watched<'a, 'm, C, W> {
    /// Wraps frames. All handles of the same frames share the records, at least
    /// [`Frames::index_count`], all new. Fails with [`ConfigError::MetadataTooSmall`] if there are
    /// fewer.
    pub fn new(frames: &'a Frames<'m, C>, records: &'a [Record], watch: &'a W) -> Result<Self, ConfigError> {
        if records.len() < frames.index_count() as usize {
            return Err(ConfigError::MetadataTooSmall);
        }
        Ok(Self { frames, records, watch })
    }

    fn record(&self, frame: FrameNumber) -> Option<&'a Record> {
        self.records.get(self.frames.index_of(frame)? as usize)
    }

    /// The place that got a frame that was not put since, for a list of leaks.
    pub fn owner(&self, frame: FrameNumber) -> Option<CallSite> {
        self.record(frame)?.last().owner()
    }

    /// Records the owner of frames that were got, and checks their contents.
    fn got(&self, first: FrameNumber, frames: u64, flags: usize, here: CallSite) {
        for frame in (first.0..first.0.saturating_add(frames)).map(FrameNumber) {
            let Some(record) = self.record(frame) else { continue };
            let before = record.last();
            if before.has(PUT) && !self.watch.is_filled(frame) {
                let kind = MistakeKind::WrittenAfterPut;
                self.watch.found(&Mistake { kind, frame, here, before: before.place() });
            }
            record.set(Last::of(here, flags));
        }
    }

    /// Ends the ownership of a frame and fills it, before it is put.
    fn give_up(&self, frame: FrameNumber, flags: usize, here: CallSite) -> Result<(), PutError> {
        let Some(record) = self.record(frame) else { return Err(PutError::OutOfRange) };
        record.put(flags, here).map_err(|last| {
            let (kind, error) = match last.owner() {
                Some(_) => (MistakeKind::WrongOrder, PutError::WrongOrder),
                None => (MistakeKind::PutTwice, PutError::AlreadyFree),
            };
            self.watch.found(&Mistake { kind, frame, here, before: last.place() });
            error
        })?;
        self.watch.fill(frame);
        Ok(())
    }

    /// See [`Frames::get`].
    #[track_caller]
    pub fn get(&self) -> Result<FrameNumber, GetError> {
        self.get_as(Urgency::Normal)
    }

    /// See [`Frames::get_as`].
    #[track_caller]
    pub fn get_as(&self, urgency: Urgency) -> Result<FrameNumber, GetError> {
        let here = Location::caller();
        self.frames.get_as(urgency).inspect(|frame| self.got(*frame, 1, 0, here))
    }

    /// See [`Frames::put`].
    #[track_caller]
    pub fn put(&self, frame: FrameNumber) -> Result<(), PutError> {
        self.give_up(frame, 0, Location::caller())?;
        self.frames.put(frame)
    }

    /// See [`Frames::put_batch`]. Puts the frames one by one.
    #[track_caller]
    pub fn put_batch(&self, frames: &[FrameNumber]) -> Result<(), BatchError> {
        self.put_all(frames.iter().copied(), Location::caller())
    }

    fn put_all(&self, frames: impl Iterator<Item = FrameNumber>, here: CallSite) -> Result<(), BatchError> {
        let mut refused = Refused::default();
        for frame in frames {
            if let Err(error) = self.give_up(frame, 0, here).and_then(|()| self.frames.put(frame)) {
                refused.add(1, frame, error);
            }
        }
        refused.result()
    }

    /// See [`Frames::get_huge_as`].
    #[track_caller]
    pub fn get_huge_as(&self, urgency: Urgency) -> Result<HugeFrame, GetError> {
        let here = Location::caller();
        self.frames.get_huge_as(urgency).inspect(|frame| {
            self.got(frame.first(), HUGE_FRAMES, HUGE, here);
        })
    }

    /// See [`Frames::put_huge`].
    #[track_caller]
    pub fn put_huge(&self, frame: HugeFrame) -> Result<(), PutError> {
        let here = Location::caller();
        frame.frames().try_for_each(|frame| self.give_up(frame, HUGE, here))?;
        self.frames.put_huge(frame)
    }

    /// See [`Frames::get_run_as`].
    #[track_caller]
    pub fn get_run_as(&self, order: Order, urgency: Urgency) -> Result<FrameNumber, GetError> {
        let here = Location::caller();
        let frames = order.frames().unwrap_or(0);
        self.frames.get_run_as(order, urgency).inspect(|first| self.got(*first, frames, 0, here))
    }

    /// See [`Frames::get_range_as`].
    #[track_caller]
    pub fn get_range_as(&self, request: &RangeRequest, urgency: Urgency) -> Result<FrameNumber, GetError> {
        let here = Location::caller();
        self.frames.get_range_as(request, urgency).inspect(|first| self.got(*first, request.frames, 0, here))
    }

    /// See [`Frames::put_range`]. Puts the frames one by one, except whole huge frames.
    #[track_caller]
    pub fn put_range(&self, first: FrameNumber, frames: u64) -> Result<(), BatchError> {
        let (here, end) = (Location::caller(), first.0.saturating_add(frames));
        let mut refused = Refused::default();
        let is_huge = |frame| self.record(frame).is_some_and(|record| record.last().has(HUGE));
        let mut next = first;
        while next.0 < end {
            let huge = HugeFrame::beginning_at(next).filter(|_| end - next.0 >= HUGE_FRAMES);
            if let Some(huge) = huge.filter(|huge| huge.frames().all(is_huge)) {
                if let Err(error) = huge.frames().try_for_each(|frame| self.give_up(frame, HUGE, here)) {
                    refused.add(HUGE_FRAMES, next, error);
                } else if let Err(error) = self.frames.put_huge(huge) {
                    refused.add(HUGE_FRAMES, next, error);
                }
                next = FrameNumber(next.0 + HUGE_FRAMES);
                continue;
            }
            let flags = if is_huge(next) { HUGE } else { 0 };
            let given_up = self.give_up(next, flags, here);
            if given_up.is_ok() && flags == HUGE {
                // The rest of it is put by itself, too.
                next.huge().frames().for_each(|frame| self.split_record(frame));
            }
            match given_up.map(|()| self.frames.put_range(next, 1)) {
                Err(error) => refused.add(1, next, error),
                Ok(Err(error)) => refused.add(1, next, error.error),
                Ok(Ok(())) => {}
            }
            next = FrameNumber(next.0 + 1);
        }
        refused.result()
    }

    /// Records that a frame is no longer part of a huge one.
    fn split_record(&self, frame: FrameNumber) {
        if let Some(record) = self.record(frame)
            && let Some(place) = record.last().owner()
        {
            record.set(Last::of(place, 0));
        }
    }

    /// See [`Frames::get_zeroed_as`].
    #[track_caller]
    pub fn get_zeroed_as(&self, urgency: Urgency) -> Result<ZeroedFrame, GetError> {
        let here = Location::caller();
        self.frames.get_zeroed_as(urgency).inspect(|frame| self.got(frame.number, 1, 0, here))
    }

    /// See [`Frames::fill_zeroed`]. Zeroed frames have no pattern, so they are checked before.
    #[track_caller]
    pub fn fill_zeroed(&self, most: u64, mut zero: impl FnMut(FrameNumber)) -> u64 {
        let here = Location::caller();
        self.frames.fill_zeroed(most, |frame| {
            self.got(frame, 1, 0, here);
            zero(frame);
            if let Some(record) = self.record(frame) {
                record.set(Last(ptr::null_mut()));
            }
        })
    }
}
