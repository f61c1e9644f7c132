// SPDX-License-Identifier: GPL-2.0-or-later
//! A machine without progress, such as a kernel that panicked before it could print: it is ended
//! long before its time limit.
//!
//! A machine makes progress when it executes code for the first time. Code that is translated again
//! is not new: QEMU does that often for a loop, with other lengths of a block. A machine that waits
//! for nothing shows in one of three ways:
//! - Its clock advances and no code is new. From the first region on only idle time counts, because
//!   counted loops may be long.
//! - Before the first region, the emulator works and no code is new.
//! - Its clock and the emulator both stand: all CPUs are halted and there is no timer.
//!
//! The first two are measured in the guest's time and in CPU time, which hardly depend on the
//! host's load. The third is measured in the host's time: a host that does not run the emulator for
//! as long, for example because its own CPUs were taken away, looks like a halted machine.

use crate::guest_clock::{self, Passed};
use crate::lens::LENS;
use faultline_lens_format::{Stall, Stalled};
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// Interval between two looks at the machine.
const INTERVAL: Duration = Duration::from_millis(500);

/// Guest's time or idle time without new code, in multiples of the patience. A boot may wait for a
/// device.
const GUEST_TIMES: u32 = 6;

/// The emulator stands if it works less than this between two looks.
const STANDS: Duration = Duration::from_millis(2);

static CODE: OnceLock<Mutex<Code>> = OnceLock::new();

static STALLED: OnceLock<Stalled> = OnceLock::new();

/// The reason why the watch ended the machine; `None` if it did not.
pub(crate) fn found() -> Option<Stalled> {
    STALLED.get().copied()
}

/// The code that the machine has executed.
#[derive(Debug, Default)]
struct Code {
    blocks: HashSet<u64>,
    /// The block that was new last.
    last: u64,
}

/// Notes that a block at an address is about to be executed.
pub(crate) fn note(address: u64) {
    let Some(code) = CODE.get() else { return };
    let mut code = locked(code);
    if code.blocks.insert(address) {
        code.last = address;
    }
}

fn locked(code: &Mutex<Code>) -> MutexGuard<'_, Code> {
    code.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Watches the machine from now on, and ends it if it makes no progress. Call once the guest's
/// clock is installed. Fails if no thread can be created.
pub(crate) fn watch(patience: Duration) -> std::io::Result<()> {
    let code = CODE.get_or_init(Mutex::default);
    let look = move || {
        let mut progress = Progress::new(patience);
        loop {
            thread::sleep(INTERVAL);
            let (blocks, last) = {
                let code = locked(code);
                (code.blocks.len(), code.last)
            };
            let state = State {
                blocks,
                guest: guest_clock::passed().unwrap_or_default(),
                worked: worked(),
                is_before_region: LENS.get().is_none_or(|lens| lens.regions() == 0),
            };
            if let Some(stall) = progress.look(state) {
                STALLED.get_or_init(|| Stalled { stall, last_new_code: last });
                // SAFETY: as for the end of the first region (`Lens::stop`).
                unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
                return;
            }
        }
    };
    thread::Builder::new().name("faultline-stall".to_owned()).spawn(look).map(drop)
}

/// CPU time of the emulator.
fn worked() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes the time to `time`.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The state of a machine at a look.
#[derive(Debug, Clone, Copy)]
struct State {
    /// Number of blocks executed, each counted once.
    blocks: usize,
    guest: Passed,
    /// CPU time of the emulator.
    worked: Duration,
    /// No region has begun.
    is_before_region: bool,
}

/// The last progress of a machine.
#[derive(Debug)]
struct Progress {
    patience: Duration,
    /// The state when code was new last.
    at: Option<State>,
    /// The state at the last look.
    before: Option<State>,
    /// Looks in a row at which the machine stood.
    stood: u32,
}

impl Progress {
    fn new(patience: Duration) -> Self {
        Progress { patience, at: None, before: None, stood: 0 }
    }

    /// Notes the state at a look. Returns the reason if the machine has lost the watch's patience.
    fn look(&mut self, state: State) -> Option<Stall> {
        let before = self.before.replace(state);
        let at = *self.at.get_or_insert(state);
        if state.blocks != at.blocks || state.is_before_region != at.is_before_region {
            (self.at, self.stood) = (Some(state), 0);
            return None;
        }
        let stands = before.is_some_and(|before| {
            state.guest.now_ns == before.guest.now_ns && state.worked.saturating_sub(before.worked) < STANDS
        });
        self.stood = if stands { self.stood + 1 } else { 0 };
        let since = |from: i64, to: i64| Duration::from_nanos(u64::try_from(to - from).unwrap_or(0));
        let guest = since(at.guest.now_ns, state.guest.now_ns);
        let idle = since(at.guest.idle_ns, state.guest.idle_ns);
        let emulator = state.worked.saturating_sub(at.worked);
        let guest_patience = self.patience * GUEST_TIMES;
        if INTERVAL * self.stood >= self.patience {
            Some(Stall::Halted)
        } else if state.is_before_region && guest >= guest_patience {
            Some(Stall::Guest { seconds: guest_patience.as_secs() })
        } else if !state.is_before_region && idle >= guest_patience {
            Some(Stall::Idle { seconds: guest_patience.as_secs() })
        } else if state.is_before_region && emulator >= self.patience {
            Some(Stall::Emulator { seconds: self.patience.as_secs() })
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    /// The reason after `looks` looks, each with the next state.
    fn after(looks: u32, mut next: impl FnMut(u32) -> State) -> Option<Stall> {
        let mut progress = Progress::new(PATIENCE);
        (0..=looks).find_map(|look| progress.look(next(look)))
    }

    /// A state of a machine that is never idle.
    fn state(blocks: u32, guest_s: u32, worked_ms: u32, is_before_region: bool) -> State {
        State {
            blocks: blocks as usize,
            guest: Passed { now_ns: i64::from(guest_s) * 1_000_000_000, idle_ns: 0 },
            worked: Duration::from_millis(worked_ms.into()),
            is_before_region,
        }
    }

    #[test]
    fn new_code_is_progress_however_long_it_takes() {
        assert_eq!(after(10_000, |look| state(look, look, 500 * look, true)), None);
        assert_eq!(after(10_000, |look| state(look / 30, look, 500 * look, true)), None, "new code every 15 s");
    }

    #[test]
    fn a_loop_ends_by_the_emulators_time_before_the_region_only() {
        assert_eq!(after(39, |look| state(7, 0, 500 * look, true)), None);
        assert_eq!(after(40, |look| state(7, 0, 500 * look, true)), Some(Stall::Emulator { seconds: 20 }));
        assert_eq!(after(10_000, |look| state(7, look, 500 * look, false)), None, "a region takes long");
        assert_eq!(
            after(400, |look| state(7, 0, 50 * look, true)),
            Some(Stall::Emulator { seconds: 20 }),
            "on a loaded host"
        );
    }

    #[test]
    fn an_idle_machine_ends_by_its_own_time() {
        let idle = |look: u32, is_before_region| {
            let state = state(7, 10 * look, 10 * look, is_before_region);
            // Its CPUs are idle for half of the time.
            State { guest: Passed { idle_ns: state.guest.now_ns / 2, ..state.guest }, ..state }
        };
        assert_eq!(after(11, |look| idle(look, true)), None);
        assert_eq!(after(12, |look| idle(look, true)), Some(Stall::Guest { seconds: 120 }));
        assert_eq!(after(23, |look| idle(look, false)), None, "it worked for half of the time");
        assert_eq!(after(24, |look| idle(look, false)), Some(Stall::Idle { seconds: 120 }));
    }

    #[test]
    fn a_halted_machine_without_a_timer_ends_too() {
        for is_before_region in [true, false] {
            assert_eq!(after(39, |_| state(7, 3, 900, is_before_region)), None);
            assert_eq!(after(40, |_| state(7, 3, 900, is_before_region)), Some(Stall::Halted));
        }
        assert_eq!(after(100, |look| state(7, 3, 5 * look, true)), None, "it works, if seldom");
    }
}
