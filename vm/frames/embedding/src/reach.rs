//! Calls that the example does not use, so that `no-panic.sh` can link them, too. A kernel does not
//! need this file.

use crate::ThisCpu;
use core::fmt::{self, Write};
use faultline_frames::{
    CpuNumber, DomainId, FrameNumber, Frames, HugeFrame, Mistake, Order, RangeRequest, Record, Urgency, Watch, Watched,
};

/// Counts the bytes that are printed.
struct Length(usize);

impl Write for Length {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

/// Calls each of them once. The arguments come from the caller, so the compiler does not know their
/// values.
#[unsafe(no_mangle)]
pub extern "C" fn frames_reach(frames: &Frames<'static, ThisCpu>, number: u64, range: &RangeRequest) -> u64 {
    let frame = FrameNumber(number);
    let put =
        frames.put_batch(&[frame, FrameNumber(number / 2)]).is_ok() & frames.put_range(frame, range.frames).is_ok();
    let got = [
        frames.get_as(Urgency::Reserve).ok(),
        frames.get_range(range).ok(),
        frames.try_get(Urgency::Normal).ok(),
        frames.get_in(DomainId(number as u8), Urgency::Normal).ok(),
        frames.get_below(frame, Urgency::Normal).ok(),
        frames.get_run(Order(number as u8)).ok(),
        frames.nearest(DomainId(number as u8)).next().map(|domain| FrameNumber(domain.0.into())),
        frames.try_get_huge(Urgency::Normal).ok().map(HugeFrame::first),
        frames.try_get_range(range, Urgency::Normal).ok(),
        frames.get_zeroed().ok().map(|frame| frame.number),
    ];
    let reserved = frames.reserve_range(frame, range.frames).is_ok() & frames.put_online_range(frame, number).is_ok();
    let tuned = frames.set_stock_most(CpuNumber(number as u32), number as u8).is_ok();
    let online = tuned & frames.put_offline(frame.huge()).is_ok() & frames.put_online(frame.huge()).is_ok();
    let changed = reserved & online & frames.split_huge(frame.huge()).is_ok() & frames.join_huge(frame.huge()).is_ok();
    let mut batch = [frame; 4];
    let filled = frames.get_batch(Urgency::Normal, &mut batch).unwrap_or(0) as u64;
    // SAFETY: linked and never called.
    let drained = unsafe { frames.drain_offline(CpuNumber(number as u32)) };
    let moved = drained + frames.drain_own() + frames.age() + frames.fill_zeroed(number, leave_as_it_is);
    let seen = frames.free() + frames.free_in(DomainId(number as u8)) + frames.census().free;
    let mut length = Length(0);
    let printed =
        write!(length, "{}{}{:?}", frames.counters(), frames.table(), frames.counters_of(CpuNumber(number as u32)))
            .is_ok();
    got.iter().flatten().count() as u64
        + u64::from(changed)
        + filled
        + moved
        + seen
        + length.0 as u64
        + u64::from(put & printed)
}

struct Ignores;

impl Watch for Ignores {
    fn found(&self, mistake: &Mistake) {
        core::hint::black_box(mistake);
    }
}

/// As `frames_reach`, for the calls that detect mistakes.
#[unsafe(no_mangle)]
pub extern "C" fn frames_watched(
    frames: &Frames<'static, ThisCpu>,
    record: &'static Record,
    number: u64,
    range: &RangeRequest,
) -> bool {
    let records = core::slice::from_ref(record);
    let Ok(watched) = Watched::new(frames, records, &Ignores) else { return false };
    let frame = FrameNumber(number);
    let got = [
        watched.get().is_ok(),
        watched.get_huge_as(Urgency::Normal).is_ok(),
        watched.get_run_as(Order(number as u8), Urgency::Normal).is_ok(),
        watched.get_range_as(range, Urgency::Normal).is_ok(),
        watched.get_zeroed_as(Urgency::Normal).is_ok(),
        watched.fill_zeroed(number, leave_as_it_is) > 0,
    ];
    let put = [
        watched.put(frame).is_ok(),
        watched.put_huge(frame.huge()).is_ok(),
        watched.put_range(frame, range.frames).is_ok(),
        watched.put_batch(&[frame]).is_ok(),
    ];
    got.iter().chain(&put).all(|is_ok| *is_ok) & watched.owner(frame).is_some()
}

fn leave_as_it_is(frame: FrameNumber) {
    core::hint::black_box(frame);
}
