//! How busy the machine is right now: the CPU time of all its programs over a short stretch in which this process sleeps. A load average still
//! tells of a build that ended a minute ago.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Length of the stretch: thirty ticks, so that one is 0.03 CPUs.
const STRETCH: Duration = Duration::from_millis(300);

/// CPUs that programs use, on average over the stretch; none where Linux doesn't tell.
pub(super) fn busy_cpus() -> Option<f64> {
    let ticks = || busy_ticks(&fs::read_to_string("/proc/stat").ok()?);
    let (before, began) = (ticks()?, Instant::now());
    sleep(STRETCH);
    let (after, length) = (ticks()?, began.elapsed());
    let seconds = after.saturating_sub(before) as f64 / rustix::param::clock_ticks_per_second() as f64;
    Some(seconds / length.as_secs_f64())
}

/// Ticks in user mode and in the kernel, interrupts aside, of all CPUs since boot.
fn busy_ticks(stat: &str) -> Option<u64> {
    let (name, ticks) = stat.lines().next()?.split_once(' ')?;
    let ticks: Vec<u64> = ticks.split_whitespace().take(3).map(str::parse).collect::<Result<_, _>>().ok()?;
    // User, nice, system: these three are as old as the file.
    (name == "cpu" && ticks.len() == 3).then(|| ticks.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_nice_and_system_are_busy() {
        let stat = "cpu  100 20 3 9000 50 6 7 8 0 0\ncpu0 1 1 1 1\n";
        assert_eq!(busy_ticks(stat), Some(123));
        for other in ["", "cpu", "cpu  1 2", "cpu  1 x 3", "intr 1 2 3"] {
            assert_eq!(busy_ticks(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_busy_loop_is_seen() {
        let stop = std::sync::atomic::AtomicBool::new(false);
        let busy = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let busy = busy_cpus();
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            busy.unwrap()
        });
        assert!(busy > 0.5, "{busy}");
    }
}
