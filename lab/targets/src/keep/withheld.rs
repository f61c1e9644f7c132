//! Time that a busy host withheld from a program: its threads were ready to run, and others ran. On Linux the kernel counts it
//! (`/proc/PID/task/TID/schedstat`); elsewhere nothing is known of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often to look. More often would cost too much with many threads.
const INTERVAL: Duration = Duration::from_millis(100);

/// After a longer gap we were stopped, and so was the program.
const AWAY: Duration = Duration::from_secs(1);

/// Follows the processes that a keeper started.
#[derive(Debug)]
pub(crate) struct Withheld {
    keeper: u32,
    looked: Instant,
    threads: BTreeMap<PathBuf, Times>,
}

/// How long a thread ran, and how long it waited for a CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Times {
    ran: Duration,
    waited: Duration,
}

impl Withheld {
    /// For the processes of a keeper that has just started.
    pub(crate) fn new(keeper: u32) -> Self {
        Withheld { keeper, looked: Instant::now(), threads: BTreeMap::new() }
    }

    /// The time withheld since the last call; zero if that was only just now.
    pub(crate) fn since_last(&mut self) -> Duration {
        let passed = self.looked.elapsed();
        if passed < INTERVAL {
            return Duration::ZERO;
        }
        self.looked = Instant::now();
        let before = std::mem::replace(&mut self.threads, threads_below(self.keeper));
        if passed > AWAY {
            return Duration::ZERO;
        }
        let since = self.threads.iter().map(|(thread, now)| now.since(before.get(thread).copied().unwrap_or_default()));
        withheld(passed, since)
    }
}

/// A program that keeps one CPU busy or more has all the time. Otherwise it lacks what the thread that waited longest would have had.
fn withheld(passed: Duration, threads: impl Iterator<Item = Times>) -> Duration {
    let (mut ran, mut waited) = (Duration::ZERO, Duration::ZERO);
    for thread in threads {
        ran += thread.ran;
        waited = waited.max(thread.waited);
    }
    passed.saturating_sub(ran).min(waited)
}

impl Times {
    fn since(self, before: Times) -> Times {
        Times { ran: self.ran.saturating_sub(before.ran), waited: self.waited.saturating_sub(before.waited) }
    }

    /// From nanoseconds run, nanoseconds waited, and more.
    fn parse(schedstat: &str) -> Option<Times> {
        let mut words = schedstat.split_ascii_whitespace();
        let mut next = || words.next()?.parse().ok().map(Duration::from_nanos);
        Some(Times { ran: next()?, waited: next()? })
    }
}

/// The threads of the keeper's children. None if the keeper is gone, or where the system does not tell.
fn threads_below(keeper: u32) -> BTreeMap<PathBuf, Times> {
    let children = tasks(keeper).into_iter().filter_map(|task| fs::read_to_string(task.join("children")).ok());
    let pids: Vec<u32> = children.flat_map(|text| words_of(&text)).collect();
    let threads = pids.into_iter().flat_map(tasks);
    threads.filter_map(|thread| times_of(&thread).map(|times| (thread, times))).collect()
}

fn words_of(text: &str) -> Vec<u32> {
    text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn tasks(pid: u32) -> Vec<PathBuf> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    entries.flatten().map(|entry| entry.path()).collect()
}

fn times_of(thread: &Path) -> Option<Times> {
    Times::parse(&fs::read_to_string(thread.join("schedstat")).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(ran_ms: u64, waited_ms: u64) -> Times {
        Times { ran: Duration::from_millis(ran_ms), waited: Duration::from_millis(waited_ms) }
    }

    #[track_caller]
    fn assert_withheld(threads: &[Times], expected_ms: u64) {
        let found = withheld(Duration::from_millis(100), threads.iter().copied());
        assert_eq!(found, Duration::from_millis(expected_ms), "{threads:?}");
    }

    #[test]
    fn only_time_in_which_it_wanted_to_run_is_withheld() {
        assert_withheld(&[], 0);
        // It sleeps, runs alone, shares the CPU with others.
        assert_withheld(&[times(0, 0)], 0);
        assert_withheld(&[times(100, 0)], 0);
        assert_withheld(&[times(20, 80)], 80);
        assert_withheld(&[times(20, 30), times(10, 60)], 60);
        // Its own threads are the others.
        assert_withheld(&[times(50, 50), times(50, 50), times(50, 50)], 0);
    }

    #[test]
    fn the_kernel_s_counts_are_read() {
        assert_eq!(Times::parse("20000000 80000000 17\n"), Some(times(20, 80)));
        assert_eq!(Times::parse("20000000\n"), None);
        assert_eq!(Times::parse(""), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_that_runs_is_seen() {
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        let ran = |threads: &BTreeMap<PathBuf, Times>| threads.values().map(|times| times.ran).sum::<Duration>();
        while ran(&threads_below(std::process::id())) < Duration::from_millis(30) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        let seen = ran(&threads_below(std::process::id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(seen >= Duration::from_millis(30), "{seen:?}");
    }
}
