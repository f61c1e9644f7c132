// Two counters in one structure.
use std::sync::atomic::{AtomicU64, Ordering};

#[repr(C)]
struct Counters {
    first: AtomicU64,
    second: AtomicU64,
}

static HITS: Counters = Counters { first: AtomicU64::new(1), second: AtomicU64::new(2) };

#[unsafe(no_mangle)]
#[inline(never)]
fn bump_both() -> u64 {
    HITS.first.fetch_add(1, Ordering::Relaxed) + HITS.second.fetch_add(1, Ordering::Relaxed)
}

fn main() {
    println!("{}", bump_both());
}
