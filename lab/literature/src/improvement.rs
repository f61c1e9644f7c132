//! Before and after: means over the repeats, and the improvement by both definitions.

use super::claims::{Agreement, Claim, claim, remark};
use super::raw::{Metric, Series, Side, Subject, series};
use super::sources::Definition;
use faultline_model::direction::Direction;
use serde::Serialize;

/// One side of an improvement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Measured {
    /// The side's name: `5.4`, `postpatch`.
    pub release: String,
    /// Mean of the repeats.
    pub mean: f64,
    /// Lowest repeat.
    pub lowest: f64,
    /// Highest repeat.
    pub highest: f64,
    /// Number of repeats.
    pub n: usize,
    /// The repeats.
    pub repeats: Vec<f64>,
}

/// A metric of one measurement, before and after.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Improvement {
    /// What was measured.
    #[serde(flatten)]
    pub subject: Subject,
    /// What the figures are.
    pub metric: Metric,
    /// Their unit.
    pub unit: String,
    /// The old side.
    pub before: Option<Measured>,
    /// The new side.
    pub after: Option<Measured>,
    /// Gain in percent: new rate / old rate − 1, or old time / new time − 1.
    pub gain_percent: Option<f64>,
    /// Time saved in percent: (old − new) / old. For times only.
    pub saved_percent: Option<f64>,
    /// The author's claim.
    pub claim: Option<Claim>,
    /// Whether the means agree with the claim.
    pub agreement: Option<Agreement>,
    /// A remark on the claim.
    pub remark: Option<&'static str>,
}

impl Improvement {
    fn new(series: &Series) -> Self {
        Improvement {
            subject: series.subject.clone(),
            metric: series.metric,
            unit: series.unit.clone(),
            before: None,
            after: None,
            gain_percent: None,
            saved_percent: None,
            claim: claim(&series.subject, series.metric),
            agreement: None,
            remark: None,
        }
    }

    /// The improvement by `definition`, in percent.
    pub(crate) fn percent(&self, definition: Definition) -> Option<f64> {
        match definition {
            Definition::Gain => self.gain_percent,
            Definition::Saved => self.saved_percent,
        }
    }

    /// The old and the new side, if they exist.
    pub(crate) fn sides(&self) -> impl Iterator<Item = &Measured> {
        [&self.before, &self.after].into_iter().flatten()
    }

    /// Computes the improvements and compares the claim with them.
    fn reckon(&mut self) {
        let (Some(before), Some(after)) = (&self.before, &self.after) else { return };
        let (ratio, direction) = (after.mean / before.mean, self.metric.direction());
        self.gain_percent = Some(Definition::Gain.percent(ratio, direction));
        self.saved_percent = (direction == Direction::Lower).then(|| Definition::Saved.percent(ratio, direction));
        let claimed = self.claim.as_ref().and_then(|claim| Some((claim, self.percent(claim.definition)?)));
        self.agreement = claimed.map(|(claim, recomputed)| claim.agreement(recomputed));
        if self.agreement == Some(Agreement::Differs) {
            self.remark = remark(&self.subject);
        }
    }
}

/// Every improvement in the sources, including single sides. Subjects are in the order of the files, each with its metrics in their order.
pub(crate) fn improvements() -> Vec<Improvement> {
    let mut all: Vec<Improvement> = Vec::new();
    for series in series() {
        let same = |i: &Improvement| i.subject == series.subject && i.metric == series.metric && i.unit == series.unit;
        let index = all.iter().position(same).unwrap_or_else(|| {
            all.push(Improvement::new(&series));
            all.len() - 1
        });
        let side = match series.side {
            Side::Before => &mut all[index].before,
            Side::After => &mut all[index].after,
        };
        *side = Some(measured(&series));
    }
    all.iter_mut().for_each(Improvement::reckon);
    let mut subjects: Vec<Subject> = Vec::new();
    for improvement in &all {
        if !subjects.contains(&improvement.subject) {
            subjects.push(improvement.subject.clone());
        }
    }
    all.sort_by_key(|i| (subjects.iter().position(|subject| *subject == i.subject), i.metric));
    all
}

fn measured(series: &Series) -> Measured {
    let values = &series.values;
    Measured {
        release: series.release.clone(),
        mean: values.iter().sum::<f64>() / values.len() as f64,
        lowest: values.iter().copied().fold(f64::INFINITY, f64::min),
        highest: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        n: values.len(),
        repeats: values.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A claim that does not agree after rounding: test, machine, tasks; recomputed improvement in percent; how it differs.
    type Exception = (&'static str, &'static str, u32, f64, Agreement);

    const EXCEPTIONS: [Exception; 8] = [
        ("buildworld", "opteron-48", 40, 13.386, Agreement::Differs),
        ("buildkernel", "opteron-48", 48, 34.220, Agreement::Differs),
        ("self-exec-static-distinct", "xeon-16c32t", 64, 18.555, Agreement::CutOff),
        ("self-exec-static-shared", "xeon-16c32t", 64, 71.975, Agreement::CutOff),
        ("zero-fill", "xeon-16c32t", 32, 13.498, Agreement::Differs),
        ("native-kernel-build", "haswell-2c4t", 8, 5.245, Agreement::Differs),
        ("native-kernel-build", "xeon-16c32t", 64, 8.171, Agreement::CutOff),
        ("kernel-build", "ampere-80", 16, 16.455, Agreement::Differs),
    ];

    fn claimed() -> Vec<(Improvement, Claim, f64)> {
        improvements()
            .into_iter()
            .filter_map(|improvement| {
                let claim = improvement.claim.clone()?;
                let recomputed = improvement.percent(claim.definition)?;
                Some((improvement, claim, recomputed))
            })
            .collect()
    }

    /// The exception for a row. Builds in copies are not exceptions: they share test, machine and tasks with the single build.
    fn exception(improvement: &Improvement) -> Option<&'static Exception> {
        let subject = &improvement.subject;
        EXCEPTIONS.iter().find(|(test, machine, tasks, _, _)| {
            (*test, *machine, *tasks) == (subject.test.as_str(), subject.machine.as_str(), subject.tasks)
                && subject.copies == 1
        })
    }

    /// The tolerance of each claim is half a unit of the last digit that its author printed.
    #[test]
    fn every_claim_is_reproduced_within_rounding_or_a_known_exception() {
        for (improvement, claim, recomputed) in claimed() {
            let row = format!("{} on {}: {recomputed:.3} %", improvement.subject.test, improvement.subject.machine);
            match exception(&improvement) {
                Some((_, _, _, value, agreement)) => {
                    assert!((recomputed - value).abs() < 0.0005, "{row}, not {value}");
                    assert_eq!(improvement.agreement, Some(*agreement), "{row}");
                }
                None => {
                    let half = claim.last_digit_percent / 2.0;
                    assert!(recomputed >= claim.low_percent - half, "{row} below {}", claim.percent);
                    assert!(recomputed < claim.high_percent + half, "{row} above {}", claim.percent);
                }
            }
        }
    }

    #[test]
    fn every_claim_in_the_files_meets_its_raw_values() {
        let claimed = claimed();
        let of = |source: &str| claimed.iter().filter(|(c, _, _)| c.subject.source == source).count();
        assert_eq!(of("dragonfly-2011-vm-token"), 4);
        assert_eq!(of("dragonfly-5.4-vs-5.6"), 14);
        assert_eq!(of("openbsd-percpu-page-cache"), 5, "two tests at 16 CPUs, three at 32");
        assert_eq!(claimed.iter().filter(|(c, _, _)| exception(c).is_some()).count(), EXCEPTIONS.len());
    }

    /// The definition stated for each source is the one that reproduces more of its claims.
    #[test]
    fn the_other_definition_reproduces_fewer_claims() {
        for source in ["dragonfly-2011-vm-token", "dragonfly-5.4-vs-5.6", "openbsd-percpu-page-cache"] {
            let borne_out = |definition| {
                claimed()
                    .iter()
                    .filter(|(c, _, _)| c.subject.source == source && c.metric == Metric::Real)
                    .filter(|(c, claim, _)| {
                        c.percent(definition).is_some_and(|value| claim.agreement(value) != Agreement::Differs)
                    })
                    .count()
            };
            let stated = super::super::sources::SOURCES.iter().find(|s| s.name == source).unwrap().definition.unwrap();
            let other = if stated == Definition::Gain { Definition::Saved } else { Definition::Gain };
            assert!(borne_out(stated) > borne_out(other), "{source}: {} {}", borne_out(stated), borne_out(other));
        }
    }

    /// The facts in the remarks, from the raw values.
    #[test]
    fn the_remarks_are_true() {
        let saved = |old: f64, new: f64| (1.0 - new / old) * 100.0;
        assert!((saved(2999.20, 2587.42) - 13.7).abs() < 0.05);
        assert!((saved(167.0, 110.0) - 34.1).abs() < 0.05);
        assert!(((18.86 / 16.49 - 1.0) * 100.0_f64 - 14.4).abs() < 0.05, "medians of zero-fill");
        let means = (240.15 / 229.69 - 1.0) * 100.0;
        for value in [means, saved(240.15, 229.69), saved(241.0067, 228.9967), 5.245] {
            assert!((value - 5.1_f64).abs() > 0.05, "{value} would be 5.1");
        }
        let of_32 = claimed().into_iter().filter(|(c, _, _)| c.subject.tasks == 32 && c.subject.machine == "ampere-80");
        let greatest = of_32.map(|(_, _, recomputed)| recomputed).fold(0.0, f64::max);
        assert!((greatest - 32.315).abs() < 0.001, "{greatest}: the upper end of 33 % is not reached");
    }

    #[test]
    fn every_difference_has_its_remark_and_no_other_row_has_one() {
        for improvement in improvements() {
            assert_eq!(improvement.agreement == Some(Agreement::Differs), improvement.remark.is_some());
        }
    }
}
