//! The lines and the code that moved otherwise after a step, in words.

use crate::explained::Item;
use crate::lens::difference_words;
use crate::style::Signs;
use faultline_model::history::{HistorySeries, HistoryStep};
use faultline_model::lens::comparison::{CellComparison, Difference};

/// Differences of each kind that are shown.
const SHOWN: usize = 5;

/// What moved otherwise after a step; nothing if that was not looked up, or if nothing differs.
pub(super) fn items(series: &HistorySeries, step: &HistoryStep, signs: &Signs) -> Vec<Item> {
    let of_step = series.moved.iter().find(|moved| (moved.after, moved.by) == (step.after, step.by));
    of_step.map_or_else(Vec::new, |moved| differences(&moved.counts, SHOWN, signs))
}

/// The data and the code whose transfers differ, up to `most` of each.
pub(crate) fn differences(counts: &CellComparison, most: usize, signs: &Signs) -> Vec<Item> {
    let kinds = [("Data", &counts.data), ("Code", &counts.code)];
    kinds.into_iter().flat_map(|(kind, differences)| of_kind(kind, differences, most, signs)).collect()
}

fn of_kind(kind: &str, differences: &[Difference], most: usize, signs: &Signs) -> Vec<Item> {
    if differences.is_empty() {
        return Vec::new();
    }
    let greatest = match differences.len() {
        all if all <= most => format!("{all}"),
        all => format!("the greatest {most} of {all}"),
    };
    let title = format!("{kind} that moved more or less, transfers per operation ({greatest}):");
    let words = |difference| Item::new(1, difference_words(difference, signs));
    std::iter::once(Item::new(0, title)).chain(differences.iter().take(most).map(words)).collect()
}
