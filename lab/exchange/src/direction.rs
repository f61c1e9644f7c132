//! Which way a figure gets better, as far as its unit tells.

use faultline_model::direction::Direction;

/// A time, or a time per operation, is better when less; a rate when more. Of others nothing is known.
pub(crate) fn of_unit(unit: &str) -> Option<Direction> {
    match unit.split_once('/') {
        None if is_time(unit) => Some(Direction::Lower),
        None => None,
        Some((per, each)) => match (is_time(per), is_time(each)) {
            (true, false) => Some(Direction::Lower),
            (false, true) => Some(Direction::Higher),
            _ => None,
        },
    }
}

/// Whether values in this unit are times, or times per operation.
pub(crate) fn is_time_or_per_operation(unit: &str) -> bool {
    of_unit(unit) == Some(Direction::Lower)
}

fn is_time(unit: &str) -> bool {
    matches!(
        unit,
        "s" | "sec"
            | "secs"
            | "second"
            | "seconds"
            | "ms"
            | "msec"
            | "milliseconds"
            | "us"
            | "µs"
            | "μs"
            | "usec"
            | "microseconds"
            | "ns"
            | "nsec"
            | "nanoseconds"
            | "min"
            | "minutes"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_better_when_less_and_rates_when_more() {
        for unit in ["s", "seconds", "ns/op", "ms/request"] {
            assert_eq!(of_unit(unit), Some(Direction::Lower), "{unit}");
        }
        for unit in ["fault/s", "bits/sec", "MB/s", "1/sec"] {
            assert_eq!(of_unit(unit), Some(Direction::Higher), "{unit}");
        }
        for unit in ["", "B/op", "percent", "ns/s", "bytes"] {
            assert_eq!(of_unit(unit), None, "{unit}");
        }
    }
}
