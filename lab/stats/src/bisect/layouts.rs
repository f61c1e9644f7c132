//! Random layouts of the commits on both sides of a step: tried layouts, usable ones, next ones.
//!
//! A layout counts once: with the places of another layout in both commits it adds no evidence. A
//! layout without effect is not a layout.

use super::line::Line;
use crate::bisect::{Build, LayoutResult};
use std::collections::BTreeSet;

/// Number of layouts tried first. If none of them is usable, layouts do not reach the program, and
/// no others are tried.
pub(crate) const FIRST: u32 = 2;

/// Random layouts of two commits.
pub(super) struct Layouts {
    /// The commits with their own layouts.
    commits: [Build; 2],
    /// Maximum number of tried layouts.
    most: u32,
    /// Layouts tried for both, without a gap from the first on.
    pub(super) tried: u32,
    /// Layouts with new places in both commits.
    pub(super) distinct: Vec<u32>,
    /// Layouts without effect in at least one commit.
    pub(super) unchanged: u32,
    /// Layouts with which at least one commit failed.
    pub(super) failed: u32,
}

impl Layouts {
    pub(super) fn new(line: &Line, commits: [Build; 2], most: u32) -> Self {
        let mut layouts = Layouts { commits, most, tried: 0, distinct: Vec::new(), unchanged: 0, failed: 0 };
        let mut seen = BTreeSet::new();
        for layout in 0..most {
            let [before, after] = layouts.builds(layout).map(|build| line.layout(build));
            let (Some(before), Some(after)) = (before, after) else { break };
            layouts.tried += 1;
            match (places(before, layout), places(after, layout)) {
                (Some(before), Some(after)) if seen.insert((before, after)) => layouts.distinct.push(layout),
                (Some(_), Some(_)) => {}
                _ if [before, after].contains(&LayoutResult::Failed) => layouts.failed += 1,
                _ => layouts.unchanged += 1,
            }
        }
        layouts
    }

    /// Both commits with a layout.
    pub(super) fn builds(&self, layout: u32) -> [Build; 2] {
        self.commits.map(|build| build.with_layout(layout))
    }

    /// True unless all first layouts were unusable.
    pub(super) fn can_be_had(&self) -> bool {
        self.tried < FIRST.min(self.most) || !self.distinct.is_empty()
    }

    /// The untried builds of the first `wanted` layouts, those of the earlier commit first.
    pub(super) fn to_relink(&self, line: &Line, wanted: u32) -> Vec<Build> {
        if !self.can_be_had() || wanted == 0 {
            return Vec::new();
        }
        let number = if self.tried < FIRST { FIRST } else { wanted };
        let all = self
            .commits
            .into_iter()
            .flat_map(|build| (0..number.min(self.most)).map(move |layout| build.with_layout(layout)));
        all.filter(|build| line.layout(*build).is_none()).collect()
    }

    /// Standard deviation between layouts of one commit, for exact values; `None` with a missing or
    /// zero value, or with fewer than two.
    pub(super) fn exact_spread(&self, line: &Line) -> Option<f64> {
        let of_side = |build: Build| {
            let logarithm =
                |layout: &u32| Some(line.value(build.with_layout(*layout))?.ln()).filter(|value| value.is_finite());
            let values: Vec<f64> = self.distinct.iter().map(logarithm).collect::<Option<_>>()?;
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            (values.len() > 1).then(|| squares / (values.len() as f64 - 1.0))
        };
        let [before, after] = self.commits;
        Some(((of_side(before)? + of_side(after)?) / 2.0).sqrt())
    }
}

/// The first layout with the same places; `None` if it is unusable.
fn places(result: LayoutResult, layout: u32) -> Option<u32> {
    match result {
        LayoutResult::Placed => Some(layout),
        LayoutResult::SameAs { layout } => Some(layout),
        LayoutResult::Unchanged | LayoutResult::Failed => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisect::{LayoutTrial, LineEvidence};
    use faultline_record::bisect::{BisectSettings, Noise};

    const COMMITS: [Build; 2] =
        [Build { position: 3, environment: 0, layout: None }, Build { position: 4, environment: 0, layout: None }];

    /// The results of the first layouts, before and after.
    fn tried(results: &[[LayoutResult; 2]]) -> LineEvidence {
        let mut evidence = LineEvidence::new(9, Vec::new());
        for (layout, pair) in (0..).zip(results) {
            let trial = |side: usize| LayoutTrial { build: COMMITS[side].with_layout(layout), result: pair[side] };
            evidence.layouts.extend([0, 1].map(trial));
        }
        evidence
    }

    fn with<T>(results: &[[LayoutResult; 2]], used: impl FnOnce(&Layouts, &Line) -> T) -> T {
        let evidence = tried(results);
        let settings = BisectSettings {
            noise: Noise::Any,
            level: 0.95,
            least: 0.02,
            most_blocks: 60,
            layouts: 8,
            thorough: false,
        };
        let line = Line::new(&evidence, &settings);
        used(&Layouts::new(&line, COMMITS, 8), &line)
    }

    #[test]
    fn a_layout_that_another_was_already_counts_once() {
        use LayoutResult::{Failed, Placed, SameAs, Unchanged};
        let results = [
            [Placed, Placed],
            [SameAs { layout: 0 }, SameAs { layout: 0 }],
            [SameAs { layout: 0 }, Placed],
            [Unchanged, Placed],
            [Failed, Unchanged],
        ];
        with(&results, |layouts, _| {
            assert_eq!((layouts.tried, layouts.distinct.as_slice()), (5, &[0, 2][..]));
            assert_eq!((layouts.unchanged, layouts.failed), (1, 1));
        });
    }

    #[test]
    fn the_rest_is_tried_only_after_the_first_had_an_effect() {
        use LayoutResult::{Placed, Unchanged};
        let layouts_of =
            |builds: Vec<Build>| builds.iter().map(|build| (build.position, build.layout)).collect::<Vec<_>>();
        let first = with(&[], |layouts, line| layouts_of(layouts.to_relink(line, 8)));
        assert_eq!(first, [(3, Some(0)), (3, Some(1)), (4, Some(0)), (4, Some(1))]);
        let rest = with(&[[Placed; 2], [Unchanged; 2]], |layouts, line| layouts.to_relink(line, 8));
        assert_eq!(rest.len(), 2 * 6);
        with(&[[Unchanged; 2], [Unchanged, Placed]], |layouts, line| {
            assert!(!layouts.can_be_had() && layouts.to_relink(line, 8).is_empty());
        });
        assert!(with(&[[Placed; 2]; 8], |layouts, line| layouts.to_relink(line, 8)).is_empty());
    }
}
