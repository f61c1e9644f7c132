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
    account: Account<PathBuf>,
}

impl Withheld {
    /// For the processes of a keeper that has just started.
    pub(crate) fn new(keeper: u32) -> Self {
        Withheld { keeper, looked: Instant::now(), account: Account::default() }
    }

    /// The time withheld since the last call; zero if that was only just now.
    pub(crate) fn since_last(&mut self) -> Duration {
        let passed = self.looked.elapsed();
        if passed < INTERVAL {
            return Duration::ZERO;
        }
        self.looked = Instant::now();
        let threads = threads_below(self.keeper);
        if passed > AWAY {
            self.account.restart(threads);
            return Duration::ZERO;
        }
        self.account.note(passed, threads)
    }
}

/// What is known of a program's threads, and the time that was withheld from it so far.
///
/// The kernel counts a wait when it is over. While a busy host lets a thread wait for several intervals, nothing changes, and then all of it
/// is told at once.
#[derive(Debug)]
struct Account<Name> {
    threads: BTreeMap<Name, Thread>,
    now: Moment,
    withheld: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Thread {
    times: Times,
    /// The beginning of the last interval in which it ran or had waited.
    active: Moment,
}

/// A moment of a program's life: the time that had passed, and for how long its threads had run.
#[derive(Debug, Clone, Copy, Default)]
struct Moment {
    passed: Duration,
    ran: Duration,
}

/// How long a thread ran, and how long it waited for a CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Times {
    ran: Duration,
    waited: Duration,
}

impl<Name> Default for Account<Name> {
    fn default() -> Self {
        Account { threads: BTreeMap::new(), now: Moment::default(), withheld: Duration::ZERO }
    }
}

impl<Name: Ord> Account<Name> {
    /// Notes the threads after some time. Returns the time that was withheld from the program.
    ///
    /// A program that keeps one CPU busy or more has all the time. Otherwise it lacks what the thread that waited longest would have had.
    fn note(&mut self, passed: Duration, threads: BTreeMap<Name, Times>) -> Duration {
        let (before, began) = (std::mem::take(&mut self.threads), self.now);
        let times_before = |name: &Name| before.get(name).map(|thread| thread.times).unwrap_or_default();
        self.now.passed += passed;
        self.now.ran += threads.iter().map(|(name, times)| times.since(times_before(name)).ran).sum::<Duration>();
        let mut longest = Duration::ZERO;
        for (name, times) in threads {
            let since = times.since(times_before(&name));
            let last = before.get(&name).map_or(began, |thread| thread.active);
            let is_active = since != Times::default();
            if is_active {
                longest = longest.max(since.waited.min(self.now.idle().saturating_sub(last.idle())));
            }
            self.threads.insert(name, Thread { times, active: if is_active { began } else { last } });
        }
        // Waits of several threads that were told one after the other may have been at the same time.
        let withheld = longest.min(self.now.idle().saturating_sub(self.withheld));
        self.withheld += withheld;
        withheld
    }

    /// Begins anew with these threads.
    fn restart(&mut self, threads: BTreeMap<Name, Times>) {
        let active = Moment::default();
        let threads = threads.into_iter().map(|(name, times)| (name, Thread { times, active })).collect();
        *self = Account { threads, ..Account::default() };
    }
}

impl Moment {
    /// The time in which no thread ran, if at most one did at a time.
    fn idle(self) -> Duration {
        self.passed.saturating_sub(self.ran)
    }
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

    /// After each interval of 100 ms the threads have these times in all. Returns what was withheld, in milliseconds.
    fn withheld(intervals: &[&[Times]]) -> Vec<u128> {
        let mut account = Account::default();
        let note = |threads: &&[Times]| {
            account.note(Duration::from_millis(100), threads.iter().copied().enumerate().collect())
        };
        intervals.iter().map(note).map(|time| time.as_millis()).collect()
    }

    #[test]
    fn only_time_in_which_it_wanted_to_run_is_withheld() {
        assert_eq!(withheld(&[&[]]), [0]);
        // It sleeps, runs alone, shares the CPU with others.
        assert_eq!(withheld(&[&[times(0, 0)]]), [0]);
        assert_eq!(withheld(&[&[times(100, 0)]]), [0]);
        assert_eq!(withheld(&[&[times(20, 80)]]), [80]);
        assert_eq!(withheld(&[&[times(20, 30), times(10, 60)]]), [60]);
        // Its own threads are the others.
        assert_eq!(withheld(&[&[times(50, 50), times(50, 50), times(50, 50)]]), [0]);
    }

    #[test]
    fn a_wait_of_several_intervals_is_told_at_its_end() {
        let waits = times(3, 0);
        assert_eq!(withheld(&[&[waits], &[waits], &[waits], &[times(6, 390)], &[times(6, 390)]]), [0, 0, 0, 390, 0]);
        // Another thread runs now and then, which takes nothing from this one but that time.
        let beside = |ran| [waits, times(ran, 0)];
        assert_eq!(withheld(&[&beside(1), &beside(2), &beside(3), &[times(6, 350), times(3, 0)]]), [0, 0, 0, 350]);
    }

    #[test]
    fn no_more_is_withheld_than_has_passed() {
        // Two waits at the same time, told one after the other.
        let intervals = [[times(0, 0), times(0, 0)], [times(1, 199), times(0, 0)], [times(1, 199), times(1, 299)]];
        let found = withheld(&intervals.each_ref().map(|threads| &threads[..]));
        assert!(found[1] == 199 && found[2] <= 100, "{found:?}");
        // It slept, and then its threads kept each other waiting.
        let mut intervals = vec![[times(0, 0); 3]; 50];
        intervals.extend((1..50).map(|n| [times(50 * n, 50 * n); 3]));
        let intervals: Vec<_> = intervals.iter().map(|threads| &threads[..]).collect();
        assert!(withheld(&intervals).iter().sum::<u128>() <= 50);
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
