// SPDX-License-Identifier: GPL-2.0-or-later
//! The clock that QEMU asks for a machine's time: [`GuestTime`] in the place of QEMU's own.

use crate::guest_time::GuestTime;
use crate::icount::{Icount, NoClock, Shift};
use crate::lens::LENS;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

static CLOCK: OnceLock<GuestClock> = OnceLock::new();

struct GuestClock {
    icount: Icount,
    time: Mutex<(GuestTime, Shift)>,
    /// A timer that is due so soon is due now.
    soon_ns: i64,
    /// Number of calls.
    asked: AtomicU32,
}

/// Longest time before a timer that is left out.
const MOST_SOON_NS: u64 = 8_000;

thread_local! {
    /// This thread looks for the next timer, for which QEMU asks for the time again.
    static IS_LOOKING: Cell<bool> = const { Cell::new(false) };
}

/// Lets the guest's time take the place of QEMU's. `round_ps`: what all CPUs do in a round of turns, one after the other.
///
/// # Errors
/// If QEMU does not ask for the time where it is expected to.
///
/// # Safety
/// Call it once, when the first CPU is created or starts, on that thread.
pub(crate) unsafe fn install(icount: Icount, instruction_ps: u32, round_ps: u64) -> Result<(), NoClock> {
    // SAFETY: as the caller promises: no CPU runs yet, and the other thread waits for QEMU's lock.
    let shift = unsafe { icount.shift() }?;
    let time = Mutex::new((GuestTime::new(instruction_ps), shift));
    // In this time before a timer QEMU's shares are smaller than a quantum.
    let soon_ns = (round_ps / 1000).min(MOST_SOON_NS) as i64;
    let clock = CLOCK.get_or_init(|| GuestClock { icount, time, soon_ns, asked: AtomicU32::new(0) });
    // SAFETY: as above.
    unsafe { icount.replace(read, &clock.asked) }
}

/// The guest's time. Within a region it advances between rounds of turns, not during them: otherwise a timer would become
/// due in the middle of a round, and CPUs would miss their turns in it.
extern "C" fn read() -> i64 {
    let Some(clock) = CLOCK.get() else { return 0 };
    // Relaxed: a count.
    clock.asked.fetch_add(1, Relaxed);
    if !clock.icount.is_between_rounds() || IS_LOOKING.get() {
        return clock.lock().0.now(clock.icount.own_time());
    }
    let (now_ns, is_within) = clock.advance();
    if !is_within {
        return now_ns;
    }
    IS_LOOKING.set(true);
    let until_ns = clock.icount.until_timer();
    IS_LOOKING.set(false);
    if until_ns <= 0 || until_ns > clock.soon_ns {
        return now_ns;
    }
    clock.lock().0.leap(until_ns);
    now_ns + until_ns
}

impl GuestClock {
    fn lock(&self) -> MutexGuard<'_, (GuestTime, Shift)> {
        self.time.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Advances the guest's time. Returns it, and whether this is within a region.
    fn advance(&self) -> (i64, bool) {
        let (time, shift) = &mut *self.lock();
        // SAFETY: this is the thread of the CPUs. No callback runs, because callbacks do not ask for the time.
        let region = LENS.get().and_then(|lens| unsafe { lens.turns_in_region() });
        let is_within = region.is_some();
        // QEMU's own time counts outside a region only, and has to be that of the shift there.
        shift.set(is_within && time.is_within());
        let now_ns = time.advance(self.icount.own_time(), region);
        shift.set(is_within);
        (now_ns, is_within)
    }
}
