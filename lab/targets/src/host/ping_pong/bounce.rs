//! Two threads that pass one cache line back and forth.

use super::Rounds;
use crate::StopFlag;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

/// Reason why a time is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// No thread can be bound to that CPU.
    CanNotBeTied(u32),
    /// The deadline passed while these CPUs were measured.
    TimedOut(u32, u32),
    /// A stop was requested.
    Stopped,
}

/// A round trip: to the other side and back. In each, one side takes the line to write, and the
/// other side reads it.
const HANDOVERS_PER_TRIP: u64 = 2;

/// Failed attempts between two readings of the clock.
const ATTEMPTS_PER_LOOK: u32 = 1 << 14;

/// Aligned to its own line, and to no line that is fetched together with another: some CPUs fetch
/// lines in pairs.
///
/// Relaxed throughout: the numbers carry no other data. Each number follows the one before because
/// a side writes the next number only after it has read the previous one, and the values of one
/// variable have one order under any memory ordering.
#[repr(align(128))]
struct Ball(AtomicU64);

/// State that both threads share.
struct Game<'a> {
    ball: Ball,
    /// A side has given up. Relaxed, like the ball: the other side must see it soon, but in no
    /// particular order.
    is_over: AtomicBool,
    deadline: Instant,
    stop: &'a StopFlag,
}

/// Times of a line from one of `cpus` to the other, in nanoseconds, one per sample. Fails if a CPU
/// cannot be used, at the deadline, and on a stop.
pub(super) fn measure(cpus: [u32; 2], rounds: Rounds, deadline: Instant, stop: &StopFlag) -> Result<Vec<f64>, Failure> {
    let game = Game { ball: Ball(AtomicU64::new(0)), is_over: AtomicBool::new(false), deadline, stop };
    let [one, other] = cpus;
    let (times, answer) = thread::scope(|scope| {
        let other = scope.spawn(|| game.play(other, |game| game.answer(cpus, rounds)));
        let one = scope.spawn(|| game.play(one, |game| game.serve(cpus, rounds)));
        (join(one), join(other))
    });
    // A thread that gives up because the other one did has no reason of its own.
    match (times, answer) {
        (Ok(Some(times)), Ok(Some(()))) => Ok(times),
        (Err(failure), _) | (_, Err(failure)) => Err(failure),
        _ => Err(Failure::TimedOut(cpus[0], cpus[1])),
    }
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

impl Game<'_> {
    /// Plays a side in this thread on `cpu`. A side that cannot continue ends the game for both.
    fn play<T>(&self, cpu: u32, side: impl FnOnce(&Self) -> Result<Option<T>, Failure>) -> Result<Option<T>, Failure> {
        let result = if tie_to(cpu) { side(self) } else { Err(Failure::CanNotBeTied(cpu)) };
        if !matches!(result, Ok(Some(_))) {
            self.is_over.store(true, Relaxed);
        }
        result
    }

    /// The side that starts and has the clock. The first sample is discarded, because the other
    /// thread may not be running yet.
    fn serve(&self, cpus: [u32; 2], rounds: Rounds) -> Result<Option<Vec<f64>>, Failure> {
        let round_trips = u64::from(rounds.round_trips.max(1));
        let mut times = Vec::new();
        for sample in 0..=u64::from(rounds.samples.max(1)) {
            let begin = Instant::now();
            for trip in sample * round_trips..(sample + 1) * round_trips {
                if !self.hand_over(2 * trip, cpus)? {
                    return Ok(None);
                }
            }
            times.push(begin.elapsed().as_nanos() as f64 / (HANDOVERS_PER_TRIP * round_trips) as f64);
        }
        times.remove(0);
        Ok(Some(times))
    }

    fn answer(&self, cpus: [u32; 2], rounds: Rounds) -> Result<Option<()>, Failure> {
        let trips = u64::from(rounds.round_trips.max(1)) * (u64::from(rounds.samples.max(1)) + 1);
        for trip in 0..trips {
            if !self.hand_over(2 * trip + 1, cpus)? {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }

    /// Waits until the ball has `number`, and sends it on with the next number. False if the other
    /// side has given up.
    fn hand_over(&self, number: u64, cpus: [u32; 2]) -> Result<bool, Failure> {
        let mut attempts = 0u32;
        // Relaxed: see `Ball`.
        while self.ball.0.load(Relaxed) != number {
            std::hint::spin_loop();
            attempts = attempts.wrapping_add(1);
            if attempts.is_multiple_of(ATTEMPTS_PER_LOOK) && !self.may_go_on(cpus)? {
                return Ok(false);
            }
        }
        self.ball.0.store(number + 1, Relaxed);
        // A game without problems may also exceed the limit.
        if number.is_multiple_of(ATTEMPTS_PER_LOOK.into()) { self.may_go_on(cpus) } else { Ok(true) }
    }

    fn may_go_on(&self, cpus: [u32; 2]) -> Result<bool, Failure> {
        if self.stop.is_set() {
            return Err(Failure::Stopped);
        }
        if Instant::now() >= self.deadline {
            return Err(Failure::TimedOut(cpus[0], cpus[1]));
        }
        Ok(!self.is_over.load(Relaxed))
    }
}

/// Binds this thread to a CPU. True on success.
#[cfg(target_os = "linux")]
pub(super) fn tie_to(cpu: u32) -> bool {
    use rustix::thread::{CpuSet, sched_setaffinity};
    if cpu as usize >= CpuSet::MAX_CPU {
        return false;
    }
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    sched_setaffinity(None, &set).is_ok()
}

/// On other systems this is not attempted.
#[cfg(not(target_os = "linux"))]
pub(super) fn tie_to(_cpu: u32) -> bool {
    false
}
