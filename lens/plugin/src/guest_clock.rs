// SPDX-License-Identifier: GPL-2.0-or-later
//! The clock that QEMU asks for a machine's time: [`GuestTime`] in the place of QEMU's own.

use crate::guest_time::GuestTime;
use crate::icount::{Icount, NoClock, Shift};
use crate::lens::LENS;
use crate::waiting::{LEAP_NS, Waiting};
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

static CLOCK: OnceLock<GuestClock> = OnceLock::new();

struct GuestClock {
    icount: Icount,
    cpus: u16,
    state: Mutex<State>,
    /// A timer that is due so soon is due now.
    soon_ns: i64,
    /// Number of calls.
    asked: AtomicU32,
}

struct State {
    time: GuestTime,
    shift: Shift,
    waiting: Waiting,
}

/// Number of pauses of the machine's CPUs outside regions.
static PAUSES: AtomicU64 = AtomicU64::new(0);

/// A CPU is about to pause, outside a region.
pub(crate) fn note_pause() {
    // Relaxed: the thread that counts is the one that reads.
    PAUSES.fetch_add(1, Relaxed);
}

/// Longest time before a timer that is left out.
const MOST_SOON_NS: u64 = 8_000;

thread_local! {
    /// This thread looks for the next timer, for which QEMU asks for the time again.
    static IS_LOOKING: Cell<bool> = const { Cell::new(false) };
}

/// Lets the guest's time take the place of QEMU's, on a machine of that many CPUs. `quantum_ps`: how long one of them may run in
/// a round of turns.
///
/// # Errors
/// If QEMU does not ask for the time where it is expected to.
///
/// # Safety
/// Call it once, when the first CPU is created or starts, on that thread.
pub(crate) unsafe fn install(icount: Icount, cpus: u16, instruction_ps: u32, quantum_ps: u64) -> Result<(), NoClock> {
    // SAFETY: as the caller promises: no CPU runs yet, and the other thread waits for QEMU's lock.
    let shift = unsafe { icount.shift() }?;
    shift.set(false, cpus);
    let state = Mutex::new(State { time: GuestTime::new(instruction_ps), shift, waiting: Waiting::default() });
    // In this time before a timer QEMU's shares are smaller than a quantum.
    let soon_ns = (u64::from(cpus) * quantum_ps / 1000).min(MOST_SOON_NS) as i64;
    let clock = CLOCK.get_or_init(|| GuestClock { icount, cpus, state, soon_ns, asked: AtomicU32::new(0) });
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
        return clock.now();
    }
    let (now_ns, leaps) = clock.advance();
    if leaps == Leaps::No {
        return now_ns;
    }
    IS_LOOKING.set(true);
    let until_ns = clock.icount.until_timer();
    IS_LOOKING.set(false);
    let by_ns = match leaps {
        Leaps::ToTimer if (1..=clock.soon_ns).contains(&until_ns) => until_ns,
        // Without a timer it is negative.
        Leaps::While if until_ns < 0 => LEAP_NS,
        Leaps::While => until_ns.min(LEAP_NS),
        _ => 0,
    };
    clock.lock().time.leap(by_ns);
    now_ns + by_ns
}

/// Whether time leaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaps {
    No,
    /// If a timer is due soon, to it.
    ToTimer,
    /// For a while, at most to the next timer.
    While,
}

impl GuestClock {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> i64 {
        let state = self.lock();
        state.time.now(self.icount.own_time(state.shift.given()))
    }

    /// Advances the guest's time. Returns it, and whether it is to leap.
    fn advance(&self) -> (i64, Leaps) {
        let State { time, shift, waiting } = &mut *self.lock();
        // SAFETY: this is the thread of the CPUs. No callback runs, because callbacks do not ask for the time.
        let region = LENS.get().and_then(|lens| unsafe { lens.turns_in_region() });
        let is_within = region.is_some();
        let own = self.icount.own_time(shift.given());
        let now_ns = time.advance(own, region);
        shift.set(is_within, self.cpus);
        // Relaxed: see `note_pause`.
        let is_waiting = waiting.is_all(own.instructions, PAUSES.load(Relaxed));
        let leaps = match is_within {
            true => Leaps::ToTimer,
            false if is_waiting => Leaps::While,
            false => Leaps::No,
        };
        (now_ns, leaps)
    }
}
