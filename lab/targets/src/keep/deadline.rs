//! A time limit that does not run while we are stopped: Ctrl-Z, or a suspended machine, is not the
//! workload's fault.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest gap between two checks unless we were stopped: there are many checks a second.
const AWAY: Duration = Duration::from_secs(1);

/// A time limit.
#[derive(Debug)]
pub(crate) struct Deadline {
    until: Instant,
    looked: Instant,
    /// The limit, if progress restarts it.
    renewable: Option<Duration>,
}

/// A limit that exceeds the clock's range never ends.
const FOREVER: Duration = Duration::from_secs(100 * 366 * 24 * 3600);

impl Deadline {
    /// Starts the limit.
    pub(crate) fn after(limit: Duration) -> Self {
        let now = Instant::now();
        Deadline { until: now + limit.min(FOREVER), looked: now, renewable: None }
    }

    /// Starts a limit for the time without progress.
    pub(crate) fn without_progress(limit: Duration) -> Self {
        Deadline { renewable: Some(limit), ..Deadline::after(limit) }
    }

    /// Records progress: restarts a limit for the time without it.
    pub(crate) fn renew(&mut self) {
        if let Some(limit) = self.renewable {
            *self = Deadline::without_progress(limit);
        }
    }

    /// Extends the limit by time in which the workload could not run.
    pub(crate) fn extend(&mut self, time: Duration) {
        self.until += time;
    }

    /// The remaining time; zero at the end. Call several times a second.
    pub(crate) fn left(&mut self) -> Duration {
        let now = Instant::now();
        let gap = now.saturating_duration_since(self.looked);
        if gap > AWAY {
            self.until += gap;
        }
        self.looked = now;
        self.until.saturating_duration_since(now)
    }
}

/// Interval between looks. A shorter one would cost too much with many threads.
const INTERVAL: Duration = Duration::from_millis(100);

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

    /// Time withheld since the last call; zero if that was less than an interval ago.
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

/// The state of a program's threads, and the time that was withheld from it so far.
///
/// The kernel counts a wait when it is over. While a busy host lets a thread wait for several
/// intervals, nothing changes; then the whole wait is reported at once.
#[derive(Debug)]
struct Account<Name> {
    threads: BTreeMap<Name, Thread>,
    now: Moment,
    withheld: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Thread {
    times: Times,
    /// Beginning of the last interval in which the thread ran or had waited.
    active: Moment,
}

/// A moment of a program's life: elapsed time, and the time that its threads had run.
#[derive(Debug, Clone, Copy, Default)]
struct Moment {
    passed: Duration,
    ran: Duration,
}

/// Time that a thread ran, and time that it waited for a CPU.
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
    /// Records the threads after an interval. Returns the time that was withheld from the program.
    ///
    /// Nothing was withheld from a program that keeps one CPU or more busy. Otherwise the program
    /// lacks the wait of the thread that waited longest.
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
        // Waits of several threads that were reported one after the other may have been
        // simultaneous.
        let withheld = longest.min(self.now.idle().saturating_sub(self.withheld));
        self.withheld += withheld;
        withheld
    }

    /// Restarts with these threads.
    fn restart(&mut self, threads: BTreeMap<Name, Times>) {
        let active = Moment::default();
        let threads = threads.into_iter().map(|(name, times)| (name, Thread { times, active })).collect();
        *self = Account { threads, ..Account::default() };
    }
}

impl Moment {
    /// Time in which no thread ran, if at most one ran at a time.
    fn idle(self) -> Duration {
        self.passed.saturating_sub(self.ran)
    }
}

impl Times {
    fn since(self, before: Times) -> Times {
        Times { ran: self.ran.saturating_sub(before.ran), waited: self.waited.saturating_sub(before.waited) }
    }

    /// Parses nanoseconds run, nanoseconds waited, and further numbers.
    fn parse(schedstat: &str) -> Option<Times> {
        let mut words = schedstat.split_ascii_whitespace();
        let mut next = || words.next()?.parse().ok().map(Duration::from_nanos);
        Some(Times { ran: next()?, waited: next()? })
    }
}

/// Threads of the keeper's children; empty if the keeper is gone, or if the system does not report
/// them.
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

    #[test]
    fn a_long_gap_does_not_count() {
        let mut deadline = Deadline::after(Duration::from_millis(1200));
        std::thread::sleep(Duration::from_millis(1300));
        assert!(deadline.left() > Duration::from_millis(500), "the gap counted");
    }

    #[test]
    fn short_gaps_do() {
        let mut deadline = Deadline::after(Duration::from_millis(30));
        let mut looks = 0;
        while !deadline.left().is_zero() {
            std::thread::sleep(Duration::from_millis(5));
            looks += 1;
            assert!(looks < 100, "it never ends");
        }
    }

    #[test]
    fn progress_renews_only_a_limit_for_the_time_without_it() {
        let limit = Duration::from_millis(200);
        let (mut one, mut other) = (Deadline::after(limit), Deadline::without_progress(limit));
        std::thread::sleep(Duration::from_millis(150));
        [&mut one, &mut other].into_iter().for_each(Deadline::renew);
        assert!(one.left() <= Duration::from_millis(50) && other.left() > Duration::from_millis(100));
        std::thread::sleep(Duration::from_millis(210));
        assert!(other.left().is_zero());
    }

    #[test]
    fn any_limit_can_be_set() {
        assert!(!Deadline::after(Duration::MAX).left().is_zero());
    }

    fn times(ran_ms: u64, waited_ms: u64) -> Times {
        Times { ran: Duration::from_millis(ran_ms), waited: Duration::from_millis(waited_ms) }
    }

    /// After each interval of 100 ms the threads have these times in all. Returns what was
    /// withheld, in milliseconds.
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
    fn a_wait_of_several_intervals_is_reported_at_its_end() {
        let waits = times(3, 0);
        assert_eq!(withheld(&[&[waits], &[waits], &[waits], &[times(6, 390)], &[times(6, 390)]]), [0, 0, 0, 390, 0]);
        // Another thread runs now and then, which takes nothing from this one but that time.
        let beside = |ran| [waits, times(ran, 0)];
        assert_eq!(withheld(&[&beside(1), &beside(2), &beside(3), &[times(6, 350), times(3, 0)]]), [0, 0, 0, 350]);
    }

    #[test]
    fn no_more_is_withheld_than_has_passed() {
        // Two simultaneous waits, reported one after the other.
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
