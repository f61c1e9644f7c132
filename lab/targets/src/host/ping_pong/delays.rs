//! Times other than those of instructions and transfers: atomic operations, uncontended and
//! contended; waking a thread; interrupting a CPU; a system call.

use super::bounce::{Failure, tie_to};
use super::quartiles;
use crate::StopFlag;
use faultline_record::lens::calibration::{Delays, Time};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::hint::black_box;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread;
use std::time::{Duration, Instant};

/// Samples of each time.
const SAMPLES: u32 = 31;

/// Sample length, short enough that most samples are not interrupted.
const ATOMICS: u32 = 20_000;
const TURNS: u32 = 20;
const CALLS: u32 = 2000;
const PROTECTIONS: u32 = 50;

/// Size of a page in bytes, or a multiple of it.
const PAGE: usize = 1 << 16;

/// A word with a cache line of its own.
#[repr(align(128))]
struct Line(AtomicU64);

/// Measures between two CPUs. Fails if a CPU cannot be used, and on a stop.
pub(super) fn measure(cpus: [u32; 2], stop: &StopFlag) -> Result<Delays, Failure> {
    Ok(Delays {
        atomic: time(stop, || alone(cpus[0]))?,
        contended: time(stop, || contended(cpus))?,
        wake: time(stop, || woken(cpus))?,
        interrupt: beyond(time(stop, || protected(cpus, true))?, time(stop, || protected(cpus, false))?),
        call: time(stop, || called(cpus[0]))?,
    })
}

/// Difference of two times, at least 0.
fn beyond(one: Time, other: Time) -> Time {
    let ((low, high), (other_low, other_high)) = (one.quartiles_ns, other.quartiles_ns);
    let least_0 = |value: f64| value.max(0.0);
    Time {
        median_ns: least_0(one.median_ns - other.median_ns),
        quartiles_ns: (least_0(low - other_high), least_0(high - other_low)),
    }
}

fn time(stop: &StopFlag, sample_ns: impl Fn() -> Result<f64, Failure>) -> Result<Time, Failure> {
    let mut samples = Vec::new();
    for _ in 0..SAMPLES {
        if stop.is_set() {
            return Err(Failure::Stopped);
        }
        samples.push(sample_ns()?);
    }
    let [low, median_ns, high] = quartiles(samples).unwrap_or([f64::NAN; 3]);
    Ok(Time { median_ns, quartiles_ns: (low, high) })
}

fn tied(cpu: u32) -> Result<(), Failure> {
    if tie_to(cpu) { Ok(()) } else { Err(Failure::CanNotBeTied(cpu)) }
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Time of one of `operations`, in nanoseconds.
fn each(elapsed: Duration, operations: u32) -> f64 {
    elapsed.as_nanos() as f64 / f64::from(operations)
}

fn add_often(line: &Line) {
    for _ in 0..ATOMICS {
        // SeqCst: on x86 any ordering is the same instruction.
        line.0.fetch_add(1, SeqCst);
    }
}

/// Atomic addition to a line that the CPU owns.
fn alone(cpu: u32) -> Result<f64, Failure> {
    let line = Line(AtomicU64::new(0));
    thread::scope(|scope| {
        join(scope.spawn(|| {
            tied(cpu)?;
            let begin = Instant::now();
            add_often(&line);
            Ok(each(begin.elapsed(), ATOMICS))
        }))
    })
}

/// Atomic additions by two CPUs at once; the time per addition.
fn contended(cpus: [u32; 2]) -> Result<f64, Failure> {
    let (line, ready) = (Line(AtomicU64::new(0)), Line(AtomicU64::new(0)));
    let add = |cpu| {
        let is_tied = tied(cpu);
        // SeqCst: both begin after both are ready.
        ready.0.fetch_add(1, SeqCst);
        while ready.0.load(SeqCst) < 2 {
            std::hint::spin_loop();
        }
        let begin = Instant::now();
        add_often(&line);
        is_tied.map(|()| (begin, Instant::now()))
    };
    let (one, other) = thread::scope(|scope| {
        let other = scope.spawn(|| add(cpus[1]));
        (join(scope.spawn(|| add(cpus[0]))), join(other))
    });
    let ((one_began, one_ended), (other_began, other_ended)) = (one?, other?);
    Ok(each(one_ended.max(other_ended) - one_began.min(other_began), 2 * ATOMICS))
}

/// Time from a thread that wakes another one to the woken thread's first instruction, on an idle
/// CPU. The two wake each other alternately.
fn woken(cpus: [u32; 2]) -> Result<f64, Failure> {
    thread::scope(|scope| {
        join(scope.spawn(|| {
            tied(cpus[0])?;
            wake_in_turn(cpus[1])
        }))
    })
}

/// Wake-ups between this thread and one on another CPU.
fn wake_in_turn(cpu: u32) -> Result<f64, Failure> {
    let turn = Line(AtomicU64::new(0));
    let wait_for = |number| {
        // SeqCst: the waker changes the turn before it wakes.
        while turn.0.load(SeqCst) < number {
            thread::park();
        }
    };
    let first = thread::current();
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let is_tied = tied(cpu);
            for number in 0..u64::from(TURNS) {
                wait_for(2 * number + 1);
                turn.0.store(2 * number + 2, SeqCst);
                first.unpark();
            }
            is_tied
        });
        let begin = Instant::now();
        for number in 0..u64::from(TURNS) {
            turn.0.store(2 * number + 1, SeqCst);
            other.thread().unpark();
            wait_for(2 * number + 2);
        }
        let elapsed = begin.elapsed();
        join(other)?;
        Ok(each(elapsed, 2 * TURNS))
    })
}

/// Time of protecting a page and making it writable again. If another thread of the process runs on
/// another CPU (`is_shared`), the kernel interrupts that CPU.
fn protected(cpus: [u32; 2], is_shared: bool) -> Result<f64, Failure> {
    let (is_over, is_running) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let is_tied = tied(cpus[1]);
            // Relaxed: flags without other data.
            is_running.store(true, Relaxed);
            while is_shared && !is_over.load(Relaxed) {
                std::hint::spin_loop();
            }
            is_tied
        });
        let one = scope.spawn(|| {
            let is_tied = tied(cpus[0]);
            while !is_running.load(Relaxed) {
                std::hint::spin_loop();
            }
            let time = is_tied.map(|()| protect());
            is_over.store(true, Relaxed);
            time
        });
        let time = join(one)?;
        join(other)?;
        Ok(time)
    })
}

/// Time of protecting a page and making it writable again, in nanoseconds; NaN if the system has no
/// memory for it.
fn protect() -> f64 {
    // SAFETY: a mapping of its own, at an address that the kernel chooses.
    let Ok(page) =
        (unsafe { mmap_anonymous(std::ptr::null_mut(), PAGE, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE) })
    else {
        return f64::NAN;
    };
    let begin = Instant::now();
    for _ in 0..PROTECTIONS {
        // SAFETY: 1. the page was mapped above, and no other code knows it; 2. it is written only
        // while it is writable.
        unsafe {
            page.cast::<u8>().write_volatile(1);
            let _ = mprotect(page, PAGE, MprotectFlags::READ);
            let _ = mprotect(page, PAGE, MprotectFlags::READ | MprotectFlags::WRITE);
        }
    }
    let elapsed = begin.elapsed();
    // SAFETY: as above; the page is no longer used.
    let _ = unsafe { munmap(page, PAGE) };
    each(elapsed, PROTECTIONS)
}

/// A trivial system call.
fn called(cpu: u32) -> Result<f64, Failure> {
    thread::scope(|scope| {
        join(scope.spawn(|| {
            tied(cpu)?;
            let begin = Instant::now();
            for _ in 0..CALLS {
                let _ = rustix::process::getppid();
            }
            Ok(each(begin.elapsed(), CALLS))
        }))
    })
}

const INSTRUCTION_SAMPLES: usize = 15;
const STEPS: u32 = 200_000;

/// Shifts and exclusive-ors of a step, each of which depends on the previous one.
const OPERATIONS: u32 = 6;

/// Time of one operation in a dependent chain, in picoseconds. The chain is Marsaglia's xorshift
/// ("Xorshift RNGs", Journal of Statistical Software 8 (14), 2003), which no compiler can shorten.
pub(super) fn samples_ps() -> Vec<f64> {
    (0..INSTRUCTION_SAMPLES).map(|_| sample_ps()).collect()
}

fn sample_ps() -> f64 {
    let mut state: u64 = black_box(88_172_645_463_325_252);
    let begin = Instant::now();
    for _ in 0..STEPS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
    begin.elapsed().as_nanos() as f64 * 1000.0 / f64::from(STEPS * OPERATIONS)
}
