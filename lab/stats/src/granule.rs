//! The granule of a cell's counts.

use crate::gather::CellRepeats;
use crate::thresholds::GRANULE_COUNTS;

/// The number of operations that a task counts at once: the greatest common divisor of the cell's
/// counts, or 1 if they are too few, or too similar, to determine it.
pub(crate) fn granule(cell: &CellRepeats<'_>) -> u64 {
    let attempts = cell.repeats.iter().map(|repeat| repeat.attempt);
    let intervals = attempts.flat_map(|attempt| attempt.warmup.iter().chain(&attempt.window));
    let counts = intervals.flat_map(|interval| interval.operations.iter().copied());
    let counts: Vec<u64> = counts.filter(|&count| count > 0).collect();
    let alike = counts.iter().all(|count| counts.first() == Some(count));
    if counts.len() < GRANULE_COUNTS || alike { 1 } else { counts.into_iter().fold(0, greatest_common_divisor) }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{attempt, interval};
    use crate::repeat::Repeat;
    use faultline_record::describe::Style;

    fn granule_of(counts: &[u64]) -> u64 {
        let mut attempt = attempt(1, 1);
        attempt.window = counts.iter().zip(0..).map(|(&count, second)| interval(second, &[count])).collect();
        let repeats = vec![Repeat::of(Style::Loop, 0, &attempt).unwrap()];
        granule(&CellRepeats { tasks: 1, repeats, failures: Vec::new() })
    }

    #[test]
    fn batches_show_in_the_counts() {
        assert_eq!(granule_of(&[2048, 1024, 3072, 2048, 0, 1024, 2048, 1024, 2048]), 1024);
        assert_eq!(granule_of(&[2048, 1024, 3072, 2048, 0, 1024, 2048, 1024, 2049]), 1);
    }

    #[test]
    fn few_counts_or_all_alike_tell_nothing() {
        assert_eq!(granule_of(&[2048, 1024, 2048]), 1);
        assert_eq!(granule_of(&[1000; 20]), 1);
    }

    #[test]
    fn the_divisor_is_the_greatest() {
        assert_eq!(greatest_common_divisor(0, 12), 12);
        assert_eq!(greatest_common_divisor(18, 12), 6);
    }
}
