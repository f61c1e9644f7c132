//! Claims that are ranges, against the lowest and highest improvement of the tests that they cover.

use super::table::Table;
use crate::claims::{Agreement, Claim};
use serde::Serialize;

/// A range as claimed and as recomputed.
#[derive(Debug, Serialize)]
pub(super) struct Range {
    /// What the tests have in common: `16 CPUs`.
    pub load: String,
    /// As its author claims it.
    pub claim: Claim,
    /// Lowest improvement of the tests.
    pub lowest_percent: f64,
    /// Highest improvement of the tests.
    pub highest_percent: f64,
    /// Whether the lower and the upper end are as claimed.
    pub agreements: [Agreement; 2],
}

/// Every range that the table's author claims, over all tests that it covers, whichever were asked for.
pub(super) fn ranges(table: &Table) -> Vec<Range> {
    let covered = table.comparisons.iter().filter_map(|comparison| {
        let claim = comparison.claim.as_ref().filter(|claim| claim.is_range())?;
        Some((&comparison.subject.load, claim, comparison.percent(claim.definition)?))
    });
    let mut ranges: Vec<Range> = Vec::new();
    for (load, claim, percent) in covered {
        match ranges.iter_mut().find(|range| range.load == *load) {
            Some(range) => {
                range.lowest_percent = range.lowest_percent.min(percent);
                range.highest_percent = range.highest_percent.max(percent);
            }
            None => ranges.push(Range {
                load: load.clone(),
                claim: claim.clone(),
                lowest_percent: percent,
                highest_percent: percent,
                agreements: [Agreement::Differs; 2],
            }),
        }
    }
    for range in &mut ranges {
        range.agreements = range.claim.ends(range.lowest_percent, range.highest_percent);
    }
    ranges
}

/// The range in a sentence.
pub(super) fn sentence(range: &Range) -> String {
    let verdict = match range.agreements.map(|agreement| agreement != Agreement::Differs) {
        [true, true] => "borne out",
        [true, false] => "the upper end isn't borne out",
        [false, true] => "the lower end isn't borne out",
        [false, false] => "neither end is borne out",
    };
    let Range { load, claim, lowest_percent, highest_percent, .. } = range;
    format!(
        "All tests with {load}: {} % {} claimed, {lowest_percent:.1} to {highest_percent:.1} % recomputed: {verdict}.",
        claim.percent,
        claim.definition.word()
    )
}

#[cfg(test)]
mod tests {
    use super::super::table::tables;
    use super::*;

    #[test]
    fn ends_are_those_of_the_raw_values() {
        let table = &tables(Some("openbsd")).unwrap()[0];
        let found: Vec<_> = ranges(table).iter().map(sentence).collect();
        assert_eq!(
            found,
            [
                "All tests with 16 CPUs: 7 to 13 % saved claimed, 6.9 to 16.5 % recomputed: the upper end isn't borne out.",
                "All tests with 32 CPUs: 19 to 33 % saved claimed, 18.5 to 32.3 % recomputed: the upper end isn't borne out.",
            ]
        );
        let narrowed = tables(Some("libLLVM")).unwrap();
        assert_eq!(ranges(&narrowed[0]).len(), 2, "a range is about every test that it covers");
    }
}
