//! Threads that read one shared value, as servers read their configuration: `load THREADS [LOADS]`. Nobody writes it meanwhile. The region of interest begins when
//! all threads are there, and ends when all have done their loads. The API that is used is in each release from 0.3.0 on.

use arc_swap::ArcSwap;
use std::sync::{Arc, Barrier};
use std::thread;

/// Loads of each thread if no other number is given.
const USUAL_LOADS: u64 = 2_000;

/// The value on lines of its own, whatever the releases put beside it.
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
                // What a thread sets up with its first load is not counted.
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

/// A load gives an `Arc` in some releases, and a guard in others. Both lead to the value.
#[inline(never)]
fn read(shared: &Shared) -> u64 {
    let now = shared.0.load();
    let value: &u64 = &now;
    *value
}

/// The region marks of workloads/harness/faultline_mark.h: operations that do nothing.
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
