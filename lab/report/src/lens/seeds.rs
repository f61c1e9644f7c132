//! Words about seeds: those counted, and conclusions about others.

use crate::figure::{self, transfers};
use crate::style::{Signs, Tone};
use faultline_stats::estimate::Estimate;
use faultline_stats::lens::comparison::{Basis, CellComparison, Change, InGeneral};
use faultline_stats::lens::summary::{LensPoint, LensSummary};
use std::collections::BTreeSet;

/// Maximum number of non-consecutive seeds listed one by one.
const LISTED: usize = 5;

/// `seed 1`, `seeds 1 … 3`, `seeds 1, 3, 7`; many non-consecutive seeds are `8 seeds from 1 to 99`.
/// `seeds`: ascending.
pub(crate) fn named(seeds: &[u64], signs: &Signs) -> String {
    let [first, .., last] = seeds else {
        return seeds.first().map_or_else(|| "no seed".to_owned(), |seed| format!("seed {seed}"));
    };
    let follow_each_other = last - first == seeds.len() as u64 - 1;
    match seeds.len() {
        2 => format!("seeds {first}, {last}"),
        _ if follow_each_other => format!("seeds {first} {} {last}", signs.to),
        ..=LISTED => format!("seeds {}", seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
        count => format!("{count} seeds from {first} to {last}"),
    }
}

/// Seeds for CSV: `1;2;3`.
pub(crate) fn joined(seeds: &[u64]) -> String {
    seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(";")
}

/// Words for counts that repeat exactly: `exact, seed 1`.
pub(crate) fn exact(seeds: &[u64], signs: &Signs) -> String {
    format!("exact, {}", named(seeds, signs))
}

/// The seeds of a run, marked if its counts are exact; `None` without seeds.
pub(crate) fn of_run(lens: &LensSummary, signs: &Signs) -> Option<String> {
    if lens.seeds.is_empty() {
        return None;
    }
    let mut counted = lens.curves.iter().flat_map(|curve| &curve.points).flat_map(|point| &point.seeds).peekable();
    let are_exact = counted.peek().is_some() && counted.all(Option::is_some);
    Some(if are_exact { exact(&lens.seeds, signs) } else { named(&lens.seeds, signs) })
}

/// The seeds of a point's exact repeats.
pub(crate) fn of_point(point: &LensPoint, signs: &Signs) -> String {
    let seeds: BTreeSet<u64> = point.seeds.iter().copied().flatten().collect();
    match seeds.is_empty() {
        true => signs.none.to_owned(),
        false => named(&seeds.into_iter().collect::<Vec<_>>(), signs),
    }
}

/// The common seeds of a cell's sides; `None` without any.
pub(crate) fn in_common(cell: &CellComparison) -> Option<Vec<u64>> {
    match &cell.basis {
        Basis::Repeats => None,
        Basis::Seeds { pairs, .. } => Some(pairs.iter().map(|pair| pair.seed).collect()),
    }
}

/// True if both sides have equal counts with every seed.
pub(crate) fn is_identical(cell: &CellComparison) -> bool {
    matches!(&cell.basis, Basis::Seeds { pairs, .. } if pairs.iter().all(|pair| pair.identical))
}

/// The change of a cell's transfers: a word, or with common seeds the exact difference and the
/// conclusion about other seeds.
pub(crate) fn transfers_change(cell: &CellComparison, signs: &Signs) -> String {
    match &cell.basis {
        Basis::Repeats => match cell.transfers_change {
            Change::Same => "no difference".to_owned(),
            other => other.word().to_owned(),
        },
        Basis::Seeds { .. } if is_identical(cell) => format!("identical; {}", exact_in(cell, signs)),
        Basis::Seeds { in_general, .. } => {
            let difference = signed(cell.transfers_difference, signs);
            let said = match in_general {
                InGeneral::OneSeed { .. } => difference,
                InGeneral::TooFewSeeds { difference: range, .. } => {
                    format!("{difference}, range {}", span(range, signs))
                }
                InGeneral::More { difference } => format!("more in general: {}", with_interval(difference, signs)),
                InGeneral::Less { difference } => format!("less in general: {}", with_interval(difference, signs)),
                InGeneral::Same { difference } => {
                    format!("no difference in general: {}", with_interval(difference, signs))
                }
                InGeneral::Inconclusive { difference } => {
                    format!("inconclusive in general: {}", with_interval(difference, signs))
                }
            };
            format!("{said}; {}", exact_in(cell, signs))
        }
    }
}

/// `exact, seed 1` for a cell with common seeds; empty for others.
pub(crate) fn exact_in(cell: &CellComparison, signs: &Signs) -> String {
    in_common(cell).map_or_else(String::new, |seeds| exact(&seeds, signs))
}

/// The tone of a cell's change; `None` if too few seeds were counted for a conclusion about others.
pub(crate) fn tone(cell: &CellComparison) -> Option<Tone> {
    match (&cell.basis, cell.transfers_change) {
        (Basis::Repeats, Change::Came | Change::More) => Some(Tone::Bad),
        (Basis::Repeats, Change::Went | Change::Less) => Some(Tone::Good),
        (Basis::Repeats, Change::Same) => Some(Tone::Quiet),
        (Basis::Seeds { in_general, .. }, _) => match in_general {
            InGeneral::More { .. } => Some(Tone::Bad),
            InGeneral::Less { .. } => Some(Tone::Good),
            InGeneral::Same { .. } => Some(Tone::Quiet),
            InGeneral::OneSeed { .. } | InGeneral::TooFewSeeds { .. } | InGeneral::Inconclusive { .. } => None,
        },
    }
}

/// The repeats of a cell that are left out, if any.
pub(crate) fn left_out(cell: &CellComparison) -> Option<String> {
    let Basis::Seeds { left_out, .. } = &cell.basis else { return None };
    let repeats = |count: u32| if count == 1 { "1 repeat".to_owned() } else { format!("{count} repeats") };
    let of = match left_out {
        (0, 0) => return None,
        (before, 0) => format!("{} before", repeats(*before)),
        (0, after) => format!("{} after", repeats(*after)),
        (before, after) => format!("{} before and {after} after", repeats(*before)),
    };
    Some(format!("left out: {of}, with seeds that the other side does not have"))
}

/// Advice for cells with differences and too few seeds.
pub(crate) fn needed(cells: &[CellComparison]) -> Option<String> {
    let needed = cells.iter().filter(|cell| !is_identical(cell)).find_map(|cell| match &cell.basis {
        Basis::Seeds { in_general: InGeneral::OneSeed { needed } | InGeneral::TooFewSeeds { needed, .. }, .. } => {
            Some(needed)
        }
        _ => None,
    })?;
    Some(format!(
        "Differences are exact for the counted seeds. Another seed changes the layout of the kernel's memory and may change the \
         difference. A conclusion for all seeds needs {needed} or more on both sides: `--repeats {needed}`."
    ))
}

/// A difference with its interval and the interval's coverage.
fn with_interval(difference: &Estimate, signs: &Signs) -> String {
    let coverage = figure::percent(difference.coverage);
    format!("{}, {coverage} interval {}", signed(difference.median, signs), span(difference, signs))
}

fn span(difference: &Estimate, signs: &Signs) -> String {
    format!("{} {} {}", signed(difference.low, signs), signs.to, signed(difference.high, signs))
}

/// A signed difference per operation.
pub(crate) fn signed(difference: f64, signs: &Signs) -> String {
    let sign = match difference {
        0.0 => "",
        difference if difference > 0.0 => "+",
        _ => signs.minus,
    };
    format!("{sign}{}", transfers(difference.abs()))
}

/// The difference of instructions per operation, for a cell with common seeds that is not
/// identical.
pub(crate) fn instructions_change(cell: &CellComparison, signs: &Signs) -> Option<String> {
    in_common(cell).filter(|_| !is_identical(cell)).map(|_| signed(cell.instructions_difference, signs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::UNICODE;

    #[test]
    fn seeds_are_named_in_few_words() {
        let said = |seeds: &[u64]| named(seeds, &UNICODE);
        assert_eq!(said(&[]), "no seed");
        assert_eq!(said(&[7]), "seed 7");
        assert_eq!(said(&[1, 2]), "seeds 1, 2");
        assert_eq!(said(&[1, 2, 3]), "seeds 1 … 3");
        assert_eq!(said(&[1, 3, 7]), "seeds 1, 3, 7");
        assert_eq!(said(&[1, 2, 3, 4, 5, 7]), "6 seeds from 1 to 7");
        assert_eq!(said(&[0, u64::MAX]), "seeds 0, 18446744073709551615");
    }

    #[test]
    fn differences_have_a_sign() {
        let said = |difference| signed(difference, &UNICODE);
        assert_eq!([said(0.94), said(-0.94), said(0.0), said(-12.5)], ["+0.9400", "−0.9400", "0", "−12.50"]);
    }
}
