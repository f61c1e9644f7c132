//! Huge frames: got and put, split and joined, taken out of memory and added to it.

use super::Frames;
use crate::counters::Event;
use crate::cpu::CurrentCpu;
use crate::error::{GetError, PutError};
use crate::pressure::Urgency;
use crate::scan::Scan;
use crate::search::Search;
use faultline_numbers::{FrameNumber, HugeFrame};

impl<'m, C: CurrentCpu> Frames<'m, C> {
    /// Returns a huge frame, to be put as one. If the index has none, drains caches and scans memory, in steps.
    pub fn get_huge(&self) -> Result<HugeFrame, GetError> {
        self.get_huge_as(Urgency::Normal)
    }

    /// Returns a huge frame. With [`Urgency::Reserve`] it may go below the min watermark.
    pub fn get_huge_as(&self, urgency: Urgency) -> Result<HugeFrame, GetError> {
        match self.huge_from_index(urgency) {
            Err(GetError::NotAtHand | GetError::AtMinimum) => {
                self.huge_from_anywhere(urgency).inspect_err(|_| self.count_exhausted())
            }
            got => got,
        }
    }

    /// As [`get_huge_as`](Self::get_huge_as), but drains no cache and scans no memory: fails if the index has no whole
    /// block, and says whether a watermark is the reason.
    pub fn try_get_huge(&self, urgency: Urgency) -> Result<HugeFrame, GetError> {
        self.huge_from_index(urgency).inspect_err(|_| self.count_exhausted())
    }

    fn huge_from_index(&self, urgency: Urgency) -> Result<HugeFrame, GetError> {
        let mut search = Search::default();
        let got = self.by_steps(|layers, local| layers.get_huge(local, urgency, &mut search))?;
        got.map(FrameNumber::huge).ok_or_else(|| search.error())
    }

    #[cold]
    fn huge_from_anywhere(&self, urgency: Urgency) -> Result<HugeFrame, GetError> {
        self.drain_own_magazine();
        let got = self.after_drains(|search| self.by_steps(|layers, local| layers.get_huge(local, urgency, search)))?;
        if let Some(first) = got {
            return Ok(first.huge());
        }
        let mut scan = Scan::default();
        let got = self.by_steps(|layers, local| layers.scan_huge(local, urgency, &mut scan))?;
        got.map(FrameNumber::huge).ok_or_else(|| scan.error())
    }

    /// Takes a huge frame back.
    pub fn put_huge(&self, frame: HugeFrame) -> Result<(), PutError> {
        self.held(|layers, local| layers.put_huge(local, frame).inspect_err(|_| local.count(Event::Refused, 1)))
            .unwrap_or(Err(PutError::NoSuchCpu))
    }

    /// Takes a huge frame out of memory, for memory that is to be removed or has gone bad. Get it first: `get_range` with
    /// its place as bounds, then [`join_huge`](Self::join_huge). Its place in the metadata stays.
    pub fn put_offline(&self, frame: HugeFrame) -> Result<(), PutError> {
        self.layers.range.put_offline(frame)
    }

    /// Adds a huge frame to memory, free: one of [`Config::offline`](crate::Config::offline), or one that
    /// [`put_offline`](Self::put_offline) has taken out. Fails with [`PutError::Absent`] in a hole, and otherwise if the
    /// frame is there already.
    pub fn put_online(&self, frame: HugeFrame) -> Result<(), PutError> {
        self.held(|layers, local| layers.put_online(local, frame)).unwrap_or(Err(PutError::NoSuchCpu))
    }

    /// Turns a huge frame into 512 taken frames, to be put one by one, in batches or as a range.
    pub fn split_huge(&self, frame: HugeFrame) -> Result<(), PutError> {
        self.layers.range.split(frame)
    }

    /// Turns the 512 taken frames of a huge frame's place into that huge frame, to be put as one. Fails if one of them is not
    /// taken singly; then nothing has changed.
    pub fn join_huge(&self, frame: HugeFrame) -> Result<(), PutError> {
        self.layers.range.join(frame)
    }
}
