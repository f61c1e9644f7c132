//! What was recorded otherwise after a step, in words: the lines and the code that moved, or the kernel's counters.

use crate::comparison::counter_words;
use crate::explained::Item;
use crate::lens::difference_words;
use crate::style::Signs;
use faultline_model::comparison::CounterDifference;
use faultline_model::history::{HistorySeries, HistoryStep};
use faultline_model::lens::comparison::{CellComparison, Difference};

/// Differences of each kind that are shown.
pub(crate) const SHOWN: usize = 5;

/// What moves are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Per {
    /// An operation of a workload.
    Operation,
    /// A run of a program, or of its marked region.
    Run,
}

impl Per {
    /// By what those of workloads, or of programs, are counted.
    pub(crate) fn of(is_workload: bool) -> Self {
        if is_workload { Per::Operation } else { Per::Run }
    }
}

/// What was recorded otherwise after a step; nothing if that was not looked up, or if nothing differs.
pub(super) fn items(series: &HistorySeries, step: &HistoryStep, signs: &Signs) -> Vec<Item> {
    let of_step = series.moved.iter().find(|moved| (moved.after, moved.by) == (step.after, step.by));
    let per = Per::of(series.workload.is_some());
    of_step.map_or_else(Vec::new, |moved| {
        let counts = moved.counts.iter().flat_map(|counts| differences(counts, per, SHOWN, signs));
        counts.chain(counters(&moved.counters, SHOWN, signs)).collect()
    })
}

/// The data and the code whose transfers differ, up to `most` of each.
pub(crate) fn differences(counts: &CellComparison, per: Per, most: usize, signs: &Signs) -> Vec<Item> {
    let kinds = [("Data", &counts.data), ("Code", &counts.code)];
    kinds.into_iter().flat_map(|(kind, differences)| of_kind(kind, differences, per, most, signs)).collect()
}

fn of_kind(kind: &str, differences: &[Difference], per: Per, most: usize, signs: &Signs) -> Vec<Item> {
    if differences.is_empty() {
        return Vec::new();
    }
    let per = match per {
        Per::Operation => "transfers per operation",
        Per::Run => "transfers of a run",
    };
    let title = format!("{kind} that moved more or less, {per} ({}):", shown(differences.len(), most));
    let words = |difference| Item::new(1, difference_words(difference, signs));
    std::iter::once(Item::new(0, title)).chain(differences.iter().take(most).map(words)).collect()
}

/// The kernel's counters that differ, the most telling first, up to `most`.
pub(crate) fn counters(counters: &[CounterDifference], most: usize, signs: &Signs) -> Vec<Item> {
    if counters.is_empty() {
        return Vec::new();
    }
    let title = format!("Kernel counters that differ, per operation ({}):", shown(counters.len(), most));
    let words = |counter| Item::new(1, counter_words(counter, signs));
    std::iter::once(Item::new(0, title)).chain(counters.iter().take(most).map(words)).collect()
}

/// How many of all are shown.
fn shown(all: usize, most: usize) -> String {
    if all <= most { format!("{all}") } else { format!("the greatest {most} of {all}") }
}
