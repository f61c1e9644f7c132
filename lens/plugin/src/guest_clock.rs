// SPDX-License-Identifier: GPL-2.0-or-later
//! The clock of the machine: [`GuestTime`] in place of QEMU's own.

use crate::guest_time::{GuestTime, LEAP_NS, Waiting};
use crate::icount::{Icount, NoClock, Shift};
use crate::lens::LENS;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

static CLOCK: OnceLock<GuestClock> = OnceLock::new();

struct GuestClock {
    icount: Icount,
    cpus: u16,
    state: Mutex<State>,
    /// Time before a timer within which the clock leaps to it.
    soon_ns: i64,
    /// Number of calls by QEMU.
    asked: AtomicU32,
}

struct State {
    time: GuestTime,
    shift: Shift,
    waiting: Waiting,
}

/// The guest's time, and the part of it in which all CPUs were idle.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Passed {
    pub(crate) now_ns: i64,
    pub(crate) idle_ns: i64,
}

/// The time that has passed, on any thread; `None` before the clock is installed.
pub(crate) fn passed() -> Option<Passed> {
    CLOCK.get().map(GuestClock::passed)
}

/// Number of pauses of the machine's CPUs outside regions.
static PAUSES: AtomicU64 = AtomicU64::new(0);

/// Notes that a CPU is about to pause, outside a region.
pub(crate) fn note_pause() {
    // Relaxed: the same thread writes and reads it.
    PAUSES.fetch_add(1, Relaxed);
}

/// Maximum of [`GuestClock::soon_ns`].
const MOST_SOON_NS: u64 = 8_000;

thread_local! {
    /// This thread is reading the next timer, for which QEMU asks for the time again.
    static IS_LOOKING: Cell<bool> = const { Cell::new(false) };
}

/// Replaces QEMU's time by the guest's time, on a machine of that many CPUs. `quantum_ps`: the time
/// that a CPU may run in a round of turns.
///
/// # Errors
/// If QEMU does not ask for the time in the expected places.
///
/// # Safety
/// Call once, when the first CPU is created or starts, on that thread.
pub(crate) unsafe fn install(icount: Icount, cpus: u16, instruction_ps: u32, quantum_ps: u64) -> Result<(), NoClock> {
    // SAFETY: as the caller promises: no CPU runs yet, and the other thread waits for QEMU's lock.
    let shift = unsafe { icount.shift() }?;
    shift.set(false, cpus);
    let state = Mutex::new(State { time: GuestTime::new(instruction_ps), shift, waiting: Waiting::default() });
    // Within this time before a timer, QEMU's shares are smaller than a quantum.
    let soon_ns = (u64::from(cpus) * quantum_ps / 1000).min(MOST_SOON_NS) as i64;
    let clock = CLOCK.get_or_init(|| GuestClock { icount, cpus, state, soon_ns, asked: AtomicU32::new(0) });
    // SAFETY: as above.
    unsafe { icount.replace(read, &clock.asked) }
}

/// The guest's time. Within a region it advances between rounds of turns, not during them:
/// otherwise a timer would become due in the middle of a round, and CPUs would miss their turns in
/// it.
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
        // Negative without a timer.
        Leaps::While if until_ns < 0 => LEAP_NS,
        Leaps::While => until_ns.min(LEAP_NS),
        _ => 0,
    };
    clock.lock().time.leap(by_ns);
    now_ns + by_ns
}

/// A leap of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaps {
    No,
    /// To the next timer, if it is due soon.
    ToTimer,
    /// By [`LEAP_NS`], at most to the next timer.
    While,
}

impl GuestClock {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> i64 {
        self.passed().now_ns
    }

    fn passed(&self) -> Passed {
        let state = self.lock();
        let own = self.icount.own_time(state.shift.given());
        Passed { now_ns: state.time.now(own), idle_ns: own.skipped_ns }
    }

    /// Advances the guest's time. Returns it, and the leap to make.
    fn advance(&self) -> (i64, Leaps) {
        let State { time, shift, waiting } = &mut *self.lock();
        // SAFETY: this is the thread of the CPUs. No callback runs, because callbacks do not ask
        // for the time.
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
