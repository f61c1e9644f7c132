//! The frequency of the emulated time stamp counter: on x86-64 an emulator passes on the host's counter.

use std::time::{Duration, Instant};

/// Long enough for four digits or more; the delay of a reading is well below a microsecond unless it is interrupted.
const SPAN: Duration = Duration::from_millis(20);

/// A reading that took longer than this was interrupted.
const UNDISTURBED: Duration = Duration::from_micros(20);

/// Number of readings before one that was interrupted is accepted.
const TRIALS: u32 = 100;

/// Frequency of the time stamp counter in kHz; `None` on hosts without one.
pub(super) fn tsc_khz() -> Option<u64> {
    let (from, from_ticks) = reading()?;
    std::thread::sleep(SPAN);
    let (to, to_ticks) = reading()?;
    let nanoseconds = to.duration_since(from).as_nanos().max(1);
    let ticks = u128::from(to_ticks.wrapping_sub(from_ticks));
    u64::try_from(ticks * 1_000_000 / nanoseconds).ok().filter(|&khz| khz > 0)
}

/// The clock and the counter at the same moment.
fn reading() -> Option<(Instant, u64)> {
    let mut last = None;
    for _ in 0..TRIALS {
        let before = Instant::now();
        let ticks = counter()?;
        let undisturbed = before.elapsed() < UNDISTURBED;
        last = Some((before, ticks));
        if undisturbed {
            break;
        }
    }
    last
}

#[cfg(target_arch = "x86_64")]
fn counter() -> Option<u64> {
    // SAFETY:
    // 1. Every x86-64 CPU has the instruction; it reads a counter and touches no memory.
    // 2. The kernel lets programs execute it unless a process asked for the contrary (PR_SET_TSC), which we do not.
    Some(unsafe { std::arch::x86_64::_rdtsc() })
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_counter_runs_as_fast_as_a_cpu_and_steadily() {
        let [one, other] = [tsc_khz().unwrap(), tsc_khz().unwrap()];
        assert!((100_000..20_000_000).contains(&one), "{one} kHz");
        assert!(one.abs_diff(other) < one / 100, "{one} and {other} kHz");
    }
}
