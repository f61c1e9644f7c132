//! The improvements that authors claim, whether the recomputed ones agree, and remarks on those that do not.

use super::raw::{Metric, Subject, records};
use super::sources::{DRAGONFLY_5_6, DRAGONFLY_2011, Definition, OPENBSD_2024};
use serde::{Deserialize, Serialize};

const DRAGONFLY_2011_CSV: &str = include_str!("../../../published/dragonfly-2011-vm-token-claims.csv");
const DRAGONFLY_5_6_CSV: &str = include_str!("../../../published/dragonfly-5.4-vs-5.6-claims.csv");
const OPENBSD_2024_CSV: &str = include_str!("../../../published/openbsd-percpu-page-cache-claims.csv");

/// An improvement as its author prints it, in percent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Claim {
    /// As printed: `13.7`, or `7 to 13` for all tests at that number of CPUs.
    pub percent: String,
    /// Lowest improvement that the claim covers, in percent.
    pub low_percent: f64,
    /// Highest; the same as the lowest unless a range is claimed.
    pub high_percent: f64,
    /// One unit in the last digit printed, in percent: 0.1 for `13.7`. Half of it is the tolerance.
    pub last_digit_percent: f64,
    /// What the author means by an improvement.
    pub definition: Definition,
}

/// Whether the raw values agree with a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Agreement {
    /// Rounded to the printed digits, it is the claimed value, or it lies in the claimed range.
    AsClaimed,
    /// Truncated after the printed digits, it is the claimed value.
    CutOff,
    /// It is another value.
    Differs,
}

impl Agreement {
    /// The word in files.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Agreement::AsClaimed => "as-claimed",
            Agreement::CutOff => "cut-off",
            Agreement::Differs => "differs",
        }
    }
}

impl Claim {
    fn exact(printed: &str, definition: Definition) -> Self {
        let value = percent(printed);
        Claim {
            percent: printed.to_owned(),
            low_percent: value,
            high_percent: value,
            last_digit_percent: last_digit(printed),
            definition,
        }
    }

    fn range(low: &str, high: &str, definition: Definition) -> Self {
        Claim {
            percent: format!("{low} to {high}"),
            low_percent: percent(low),
            high_percent: percent(high),
            last_digit_percent: last_digit(low),
            definition,
        }
    }

    /// Decimals with which a figure is shown next to it: enough to see the rounding.
    pub(crate) fn decimals(&self) -> usize {
        if self.last_digit_percent < 1.0 { 2 } else { 1 }
    }

    /// Whether it is a range, for several tests.
    pub(crate) fn is_range(&self) -> bool {
        self.low_percent != self.high_percent
    }

    /// How the lowest and the highest improvement of the tests of a range agree with its ends.
    pub(crate) fn ends(&self, lowest: f64, highest: f64) -> [Agreement; 2] {
        let end = |percent| Claim { low_percent: percent, high_percent: percent, ..self.clone() };
        [end(self.low_percent).agreement(lowest), end(self.high_percent).agreement(highest)]
    }

    /// How `recomputed`, in percent by the claim's definition, agrees with it.
    pub(crate) fn agreement(&self, recomputed: f64) -> Agreement {
        let half = self.last_digit_percent / 2.0;
        if recomputed >= self.low_percent - half && recomputed < self.high_percent + half {
            Agreement::AsClaimed
        } else if !self.is_range()
            && (recomputed / self.last_digit_percent).floor() == (self.low_percent / self.last_digit_percent).round()
        {
            Agreement::CutOff
        } else {
            Agreement::Differs
        }
    }
}

/// A claimed range and its recomputed values.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Range {
    /// What the tests have in common: `16 CPUs`.
    pub load: String,
    /// As its author claims it.
    pub claim: Claim,
    /// Lowest improvement of the tests.
    pub lowest_percent: f64,
    /// Highest improvement of the tests.
    pub highest_percent: f64,
    /// Whether the lower and the upper end agree.
    pub agreements: [Agreement; 2],
}

/// The claimed ranges, each with the improvements of all tests that it covers. `claimed`: load, claim, and the recomputed improvement in percent.
pub(crate) fn ranges<'a>(claimed: impl Iterator<Item = (&'a str, &'a Claim, f64)>) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    for (load, claim, percent) in claimed.filter(|(_, claim, _)| claim.is_range()) {
        match ranges.iter_mut().find(|range| range.load == load) {
            Some(range) => {
                range.lowest_percent = range.lowest_percent.min(percent);
                range.highest_percent = range.highest_percent.max(percent);
            }
            None => ranges.push(Range {
                load: load.to_owned(),
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

/// The author's claim about the measurement, if there is one: about the rate, otherwise about the real time.
pub(crate) fn claim(subject: &Subject, metric: Metric) -> Option<Claim> {
    match (subject.source, metric) {
        (name, Metric::Real) if name == DRAGONFLY_2011.name => claim_of_2011(subject),
        (name, Metric::Real | Metric::Rate) if name == DRAGONFLY_5_6.name => claim_of_2019(subject),
        (name, Metric::Real) if name == OPENBSD_2024.name => claim_of_2024(subject),
        _ => None,
    }
}

fn claim_of_2011(subject: &Subject) -> Option<Claim> {
    #[derive(Deserialize)]
    struct Row {
        test: String,
        machine: String,
        jobs: u32,
        copies: u32,
        improvement_percent: String,
    }
    records::<Row>(DRAGONFLY_2011_CSV)
        .into_iter()
        .find(|row| {
            (&row.test, &row.machine, row.jobs, row.copies)
                == (&subject.test, &subject.machine, subject.tasks, subject.copies)
        })
        .map(|row| Claim::exact(&row.improvement_percent, Definition::Saved))
}

fn claim_of_2019(subject: &Subject) -> Option<Claim> {
    #[derive(Deserialize)]
    struct Row {
        test: String,
        haswell_improvement_percent: String,
        xeon_improvement_percent: String,
    }
    let row = records::<Row>(DRAGONFLY_5_6_CSV).into_iter().find(|row| row.test == subject.test)?;
    let haswell = subject.machine.starts_with("haswell");
    let printed = if haswell { row.haswell_improvement_percent } else { row.xeon_improvement_percent };
    Some(Claim::exact(&printed, Definition::Gain))
}

fn claim_of_2024(subject: &Subject) -> Option<Claim> {
    #[derive(Deserialize)]
    struct Row {
        cpus: u32,
        lowest_improvement_percent: String,
        highest_improvement_percent: String,
    }
    records::<Row>(OPENBSD_2024_CSV)
        .into_iter()
        .find(|row| row.cpus == subject.tasks)
        .map(|row| Claim::range(&row.lowest_improvement_percent, &row.highest_improvement_percent, Definition::Saved))
}

/// A remark on one row: source, test, machine, tasks, sentence.
type Remark = (&'static str, &'static str, &'static str, u32, &'static str);

const REMARKS: [Remark; 5] = [
    (
        DRAGONFLY_2011.name,
        "buildworld",
        "opteron-48",
        40,
        "the second run before the patch alone (2999.20 s) gives 13.7 %",
    ),
    (DRAGONFLY_2011.name, "buildkernel", "opteron-48", 48, "from whole seconds, 167 and 110, it is 34.1 %"),
    (DRAGONFLY_5_6.name, "zero-fill", "xeon-16c32t", 32, "medians in place of means give 14.4 %"),
    (
        DRAGONFLY_5_6.name,
        "native-kernel-build",
        "haswell-2c4t",
        8,
        "neither means nor medians nor either definition gives 5.1 %",
    ),
    (OPENBSD_2024.name, "kernel-build", "ampere-80", 16, "lies above the range claimed for 16 CPUs"),
];

/// The remark on this row's claim.
pub(crate) fn remark(subject: &Subject) -> Option<&'static str> {
    REMARKS
        .iter()
        .find(|(source, test, machine, tasks, _)| {
            *source == subject.source && *test == subject.test && *machine == subject.machine && *tasks == subject.tasks
        })
        .map(|remark| remark.4)
}

fn percent(printed: &str) -> f64 {
    printed.parse().expect("a number in an embedded file, read by the tests")
}

/// One unit in the last digit: 0.1 for `13.7`, 1 for `23`.
fn last_digit(printed: &str) -> f64 {
    let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    10f64.powi(-(decimals as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_and_cutting_are_told_apart() {
        let claim = Claim::exact("18", Definition::Gain);
        assert_eq!(claim.agreement(18.4), Agreement::AsClaimed);
        assert_eq!(claim.agreement(18.6), Agreement::CutOff);
        assert_eq!(claim.agreement(19.1), Agreement::Differs);
        assert_eq!(claim.agreement(17.4), Agreement::Differs);
        let claim = Claim::exact("9.87", Definition::Saved);
        assert_eq!(claim.agreement(9.8743), Agreement::AsClaimed);
        assert_eq!(claim.agreement(9.884), Agreement::Differs);
    }

    #[test]
    fn a_range_covers_what_rounds_into_it() {
        let claim = Claim::range("7", "13", Definition::Saved);
        assert_eq!(claim.agreement(6.87), Agreement::AsClaimed);
        assert_eq!(claim.agreement(13.6), Agreement::Differs);
        assert_eq!(claim.ends(6.87, 12.9), [Agreement::AsClaimed, Agreement::AsClaimed]);
        assert_eq!(claim.ends(7.4, 12.4), [Agreement::AsClaimed, Agreement::Differs]);
    }
}
