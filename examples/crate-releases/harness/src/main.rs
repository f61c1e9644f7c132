//! Threads that read one shared value, as servers read their configuration: `load THREADS [LOADS]`.
//! The value does not change meanwhile. The region of interest begins when all threads have
//! started, and ends when all have done their loads. The used API exists in each release since
//! 0.3.0.

use arc_swap::ArcSwap;
use std::sync::{Arc, Barrier};
use std::thread;

/// Default number of loads of each thread.
const USUAL_LOADS: u64 = 2_000;

/// The value on cache lines of its own, whatever the releases place beside it.
#[repr(align(4096))]
struct Shared(ArcSwap<u64>);

fn main() {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u64>().expect("a number"));
    let threads = numbers.next().expect("load THREADS [LOADS]");
    let loads = numbers.next().unwrap_or(USUAL_LOADS);
    let shared = Shared(ArcSwap::from(Arc::new(1)));
    let here = Barrier::new(threads as usize + 1);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                // A thread's set-up at its first load is not counted.
                let first = read(&shared);
                here.wait();
                here.wait();
                let sum: u64 = (0..loads).map(|_| read(&shared)).sum();
                assert_eq!(sum, loads * first);
                here.wait();
            });
        }
        here.wait();
        mark_begin();
        here.wait();
        here.wait();
        mark_end();
    });
}

/// A load returns an `Arc` in some releases, and a guard in others. Both give access to the value.
#[inline(never)]
fn read(shared: &Shared) -> u64 {
    let now = shared.0.load();
    let value: &u64 = &now;
    *value
}

/// The region marks of workloads/harness/faultline_mark.h: instructions without effect.
fn mark_begin() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is a no-operation: it reads, writes and changes nothing.
    unsafe {
        std::arch::asm!(".byte 0x0f, 0x1f, 0x80, 0x01, 0x41, 0x46, 0x00");
    }
}

fn mark_end() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as in `mark_begin`.
    unsafe {
        std::arch::asm!(".byte 0x0f, 0x1f, 0x80, 0x02, 0x41, 0x46, 0x00");
    }
}
