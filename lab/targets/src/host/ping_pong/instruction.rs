//! The time of an instruction.

use std::hint::black_box;
use std::time::Instant;

const SAMPLES: usize = 15;
const STEPS: u32 = 200_000;

/// Shifts and exclusive-ors of a step, each of which depends on the one before.
const OPERATIONS: u32 = 6;

/// Times of one operation in a chain of them, in picoseconds. The chain is Marsaglia's xorshift ("Xorshift RNGs", Journal of
/// Statistical Software 8 (14), 2003), which no compiler can shorten.
pub(super) fn samples_ps() -> Vec<f64> {
    (0..SAMPLES).map(|_| sample_ps()).collect()
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
