//! Sentences about what a bisection leaves open: ranges with a possible step, the answer by CPU
//! time, and the load of the machine.

use super::{percent, probability};
use crate::names::short_commit;
use faultline_record::commit::CommitLine;
use faultline_record::plan::LineSearch;
use faultline_stats::bisect::{BisectResult, ByCpuTime, SuspectedRange};
use faultline_stats::mean_load::MeanLoad;

/// The steps by CPU time, beside an inconclusive answer by time.
pub(super) fn by_cpu_time(by: &ByCpuTime, line: &CommitLine) -> String {
    let steps = match by.steps.as_slice() {
        [] => {
            by.detectable.map_or_else(|| "no step".to_owned(), |least| format!("no step of {} or more", percent(least)))
        }
        steps => list(steps, line),
    };
    format!(
        "By the CPU time of the same executions: {steps}. Its false-positive rate is at most {}, apart from that of the time; \
         `--by cpu-time` searches by it.",
        percent(1.0 - by.level)
    )
}

/// The ranges in which an unfinished search leaves a step possible.
pub(super) fn remains(found: &BisectResult, search: &LineSearch) -> Option<String> {
    if found.finished && !found.budget_used {
        return None;
    }
    let what = match found.remaining.as_slice() {
        [] => "no further step is suspected".to_owned(),
        ranges => format!("a step remains possible {}", list(ranges, &search.line)),
    };
    Some(match search.budget_ms.filter(|_| found.budget_used) {
        Some(budget) => {
            format!("The time budget of {} for executions was used up: {what}. `--time` allows more.", time(budget))
        }
        None => format!("So far, {what}."),
    })
}

/// A time in minutes or seconds.
fn time(ms: u64) -> String {
    if ms.is_multiple_of(60_000) { format!("{} min", ms / 60_000) } else { format!("{:.1} s", ms as f64 / 1e3) }
}

/// Ranges of commits, each with its change and probability.
fn list(ranges: &[SuspectedRange], line: &CommitLine) -> String {
    let one = |range: &SuspectedRange| {
        let commits = range.after - range.before;
        let which = match commits {
            1 => format!("at {}", short_commit(line, range.after)),
            several => format!(
                "in {several} commits after {} up to {}",
                short_commit(line, range.before),
                short_commit(line, range.after)
            ),
        };
        format!("{which} ({:+.1} %, probability {})", 100.0 * (range.ratio - 1.0), probability(range.probability))
    };
    ranges.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// The use of the machine by other programs.
pub(crate) fn load(load: &MeanLoad) -> String {
    format!("While measuring, other programs used {:.1} of {} CPUs on average.", load.others_cpus, load.cpus)
}
