//! Average use of a machine by other programs while a run was measured.

use crate::gather::about;
use crate::machine::Cpus;
use crate::progress::{Standing, standings};
use crate::repeat::Repeat;
use crate::warnings::{by_others_ns, region_ns};
use faultline_record::record::RunRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Average use of a machine by other programs while commits were measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct MeanLoad {
    /// CPUs that other programs used.
    pub others_cpus: f64,
    /// CPUs of the machine.
    pub cpus: u32,
}

/// Average use of the machine by other programs over all executions that recorded it; `None`
/// without any.
pub(crate) fn mean_load(record: &RunRecord) -> Option<MeanLoad> {
    let cpus = Cpus::of(record).logical?;
    let (mut others_ns, mut length_ns) = (0.0_f64, 0.0_f64);
    for (item, standing) in standings(record) {
        let Standing::Done(attempt) = standing else { continue };
        let style = about(&record.workloads, item).style;
        let Some(repeat) = Repeat::of(style, item.block, attempt) else { continue };
        if let Some((others, length)) = by_others_ns(&repeat).zip(region_ns(style, &repeat, Some(cpus))) {
            others_ns += others;
            length_ns += length;
        }
    }
    (length_ns > 0.0).then(|| MeanLoad { others_cpus: (others_ns / length_ns).clamp(0.0, f64::from(cpus)), cpus })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn the_cpu_time_of_others_is_averaged_over_all_executions() {
        let mut record = example::Run::new(&["load"]).tasks(&[1]).repeats(4).record();
        assert_eq!(mean_load(&record), None, "nothing was recorded");
        for attempt in &mut record.attempts {
            // Executions of six seconds; the task uses one CPU, others use half of one on average.
            let others_s = if attempt.ordinal % 2 == 0 { 6 } else { 0 };
            attempt.usage = Some(example::usage(6_000_000_000, 0));
            attempt.counters = [("stat.user_ns".to_owned(), (6 + others_s) * 1_000_000_000)].into();
        }
        let load = mean_load(&record).unwrap();
        assert_eq!(load.cpus, 4);
        assert!((load.others_cpus - 0.5).abs() < 1e-9, "{load:?}");
    }
}
