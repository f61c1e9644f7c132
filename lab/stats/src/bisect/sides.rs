//! The two sides of a step, measured alone after the search: whether they differ, and whether the
//! change is one of the code, of the layout, or of the environment.
//!
//! All values are differences of logarithms within blocks, so their intervals come from Wilcoxon's
//! signed ranks and need no shape of noise. Random layouts are drawn per block; differences of
//! blocks with the same layouts are averaged first, so that layouts are the sample. The largest
//! part of a step decides between code and layout, and between commits and environment.

use crate::bisect::gaps::Gap;
use crate::bisect::layouts::Layouts;
use crate::bisect::line::{Line, State};
use crate::bisect::{Build, Change, LayoutsTried, StepLabel};
use crate::two_sample::sign_shift;
use faultline_record::bisect::{BisectSettings, Noise};
use std::collections::BTreeMap;

/// Minimum number of blocks that confirm a step.
pub(super) const CONFIRMING_BLOCKS: usize = 8;

/// Standard deviations between the change and 0 for which a confirmation is planned.
const CONFIRMING_DEVIATIONS: f64 = 4.5;

/// Two-sided error of each test that confirms a step.
const CONFIRMED_ERROR: f64 = 0.01;

/// Blocks with layouts or environments before the first conclusion about the cause.
const LABEL_BLOCKS: usize = 12;

/// The evidence of the blocks with a step's sides alone.
pub(super) struct Sides<'a> {
    line: &'a Line<'a>,
    settings: &'a BisectSettings,
    plain: [Build; 2],
    noise: f64,
    /// The change that the search found, as a logarithm.
    searched: f64,
    /// Blocks of the sides alone.
    blocks: usize,
}

/// A commit in the environments of both sides.
struct Bridge {
    /// The commit in the environments before and after.
    ends: [Build; 2],
    /// Both commits in one environment, before and after.
    commits: [Build; 2],
}

impl<'a> Sides<'a> {
    pub(super) fn new(line: &'a Line<'a>, settings: &'a BisectSettings, gap: &Gap) -> Self {
        let plain = [gap.left.build, gap.right.build];
        let blocks = line.confirming_blocks(plain.map(|build| build.position)).len();
        let searched = gap.right.level - gap.left.level;
        // True for equal variance of both sides; counts vary each on their own.
        let noise = ((gap.left.noise.powi(2) + gap.right.noise.powi(2)) / 2.0).sqrt();
        Sides { line, settings, plain, noise, searched, blocks }
    }

    /// The commit and environment to try for a bridge; `None` if there is one, if it is impossible,
    /// or if none is needed.
    pub(super) fn to_try(&self) -> Option<(u32, u32)> {
        let candidates = self.bridging();
        let untried =
            |&(position, environment): &(u32, u32)| self.line.state_in(position, environment) == State::Untried;
        let usable = |&(position, environment): &(u32, u32)| {
            matches!(self.line.state_in(position, environment), State::Usable(_))
        };
        if candidates.iter().any(usable) { None } else { candidates.into_iter().find(untried) }
    }

    /// The later commit in the earlier environment, or vice versa; none if both environments are
    /// equal.
    fn bridging(&self) -> Vec<(u32, u32)> {
        let [before, after] = self.plain;
        if before.environment == after.environment {
            return Vec::new();
        }
        vec![(after.position, before.environment), (before.position, after.environment)]
    }

    fn bridge(&self) -> Option<Bridge> {
        let [before, after] = self.plain;
        self.bridging().into_iter().find_map(|(position, environment)| {
            let State::Usable(bridging) = self.line.state_in(position, environment) else { return None };
            Some(if position == after.position {
                Bridge { ends: [bridging, after], commits: [before, bridging] }
            } else {
                Bridge { ends: [before, bridging], commits: [bridging, after] }
            })
        })
    }

    /// Both commits in one environment; `None` if impossible.
    fn commits(&self) -> Option<[Build; 2]> {
        if self.bridging().is_empty() { Some(self.plain) } else { self.bridge().map(|bridge| bridge.commits) }
    }

    /// The builds to link with random layouts first.
    pub(super) fn to_relink(&self) -> Vec<Build> {
        let wanted = match self.settings.noise {
            Noise::None => self.settings.layouts,
            _ => self.settings.layouts.min(self.target() as u32),
        };
        self.layouts().map_or_else(Vec::new, |layouts| layouts.to_relink(self.line, wanted))
    }

    /// The random layouts of both commits; `None` if none are requested.
    fn layouts(&self) -> Option<Layouts> {
        if self.settings.layouts == 0 {
            None
        } else {
            Some(Layouts::new(self.line, self.commits()?, self.settings.layouts))
        }
    }

    /// The further blocks that the sides need.
    pub(super) fn blocks_needed(&self) -> Vec<Vec<Build>> {
        let layouts = self.layouts();
        match self.settings.noise {
            Noise::None => self.exact_blocks(layouts.as_ref()),
            _ => (self.blocks..self.target()).map(|i| self.block(i, layouts.as_ref())).collect(),
        }
    }

    /// The further seeds for the sides, other than those of the search.
    pub(super) fn seeds_needed(&self) -> Vec<(u32, Vec<Build>)> {
        let layouts = self.layouts();
        let with = |number: usize| {
            let seed = self.settings.most_blocks + number as u32;
            let mut builds = self.block(number, layouts.as_ref());
            // A commit may be a side of two steps.
            builds.retain(|build| !self.line.is_executed(*build, seed));
            (seed, builds)
        };
        (self.blocks..self.target()).map(with).filter(|(_, builds)| !builds.is_empty()).collect()
    }

    /// A block of noisy values: both sides, and both with the next layout.
    fn block(&self, number: usize, layouts: Option<&Layouts>) -> Vec<Build> {
        let mut builds = self.plain.to_vec();
        builds.extend(self.bridge().iter().flat_map(|bridge| bridge.ends));
        if let Some(layouts) = layouts.filter(|layouts| !layouts.distinct.is_empty()) {
            builds.extend(layouts.builds(layouts.distinct[number % layouts.distinct.len()]));
        }
        builds.sort();
        builds.dedup();
        builds
    }

    /// Blocks of exact values: missing executions. The first has both sides and the bridge between
    /// their environments.
    fn exact_blocks(&self, layouts: Option<&Layouts>) -> Vec<Vec<Build>> {
        let is_new = |builds: &[Build; 2]| builds.iter().any(|build| self.line.executions(*build).is_empty());
        let bridge = self.bridge().filter(|bridge| self.blocks == 0 && self.change(bridge.ends, 1.0).is_none());
        let with_bridge = bridge.map(|bridge| {
            let mut builds = [self.plain, bridge.ends].concat();
            builds.sort();
            builds.dedup();
            builds
        });
        let all = layouts.into_iter().flat_map(|layouts| layouts.distinct.iter().map(|layout| layouts.builds(*layout)));
        with_bridge.into_iter().chain(all.filter(is_new).map(|builds| builds.to_vec())).collect()
    }

    /// The planned total number of blocks of noisy values.
    fn target(&self) -> usize {
        let most = self.settings.most_blocks as usize;
        let needed = 2.0 * (CONFIRMING_DEVIATIONS * self.noise / self.searched).powi(2);
        let confirming = (needed.min(f64::from(self.settings.most_blocks)).ceil() as usize).max(CONFIRMING_BLOCKS);
        let can_label = self.layouts().is_some_and(|layouts| layouts.can_be_had()) || self.bridge().is_some();
        let fewest = if can_label { confirming.max(LABEL_BLOCKS) } else { confirming };
        let is_known = self.is_confirmed() && (!can_label || self.label() != StepLabel::Inconclusive);
        let mut look = fewest;
        while look <= self.blocks && !is_known {
            look *= 2;
        }
        look.min(most)
    }

    /// The measured change: from blocks of the sides alone; for exact values, from the search.
    pub(super) fn plain_change(&self) -> Option<Change> {
        match self.settings.noise {
            Noise::None => exact_change(self.searched),
            _ => self.change(self.plain, 1.0 - self.settings.level),
        }
    }

    /// The values before and after, for exact values.
    pub(super) fn exact_values(&self) -> Option<[f64; 2]> {
        match self.settings.noise {
            Noise::None => Some([self.line.value(self.plain[0])?, self.line.value(self.plain[1])?]),
            _ => None,
        }
    }

    /// True if the sides differ in blocks of their own.
    pub(super) fn is_confirmed(&self) -> bool {
        let differ = |change: Change| change.low > 1.0 || change.high < 1.0;
        match self.settings.noise {
            Noise::None => true,
            _ => self.change(self.plain, CONFIRMED_ERROR).is_some_and(differ),
        }
    }

    /// The change under random layouts, with the error `error`.
    fn under_layouts_at(&self, error: f64) -> Option<Change> {
        let differences = self.by_layout(self.commits()?);
        if differences.iter().all(|difference| difference.is_finite()) { shift(differences, error) } else { None }
    }

    /// The change under random layouts.
    pub(super) fn under_layouts(&self) -> Option<Change> {
        self.under_layouts_at(1.0 - self.settings.level)
    }

    /// The change of one commit between the environments.
    pub(super) fn of_environment(&self) -> Option<Change> {
        self.change(self.bridge()?.ends, 1.0 - self.settings.level)
    }

    /// The change between the commits in one environment, where their own differ.
    pub(super) fn of_commits(&self) -> Option<Change> {
        self.change(self.bridge()?.commits, 1.0 - self.settings.level)
    }

    /// The cause.
    pub(super) fn label(&self) -> StepLabel {
        let in_environment = match self.bridge() {
            None if self.bridging().is_empty() => AgainstHalf::Most,
            None => AgainstHalf::Unknown,
            Some(bridge) => self.part(self.change(bridge.commits, LABEL_ERROR)),
        };
        match (in_environment, self.settings.noise) {
            (AgainstHalf::Little, _) => StepLabel::Quirk,
            (AgainstHalf::Unknown, _) => StepLabel::Inconclusive,
            (AgainstHalf::Most, Noise::None) if self.settings.layouts == 0 => StepLabel::Code,
            (AgainstHalf::Most, Noise::None) => code_or_layout(self.exact_part()),
            (AgainstHalf::Most, _) => code_or_layout(self.part(self.under_layouts_at(LABEL_ERROR))),
        }
    }

    /// True if most of a change of exact values remains with random layouts. A value may be 0, so
    /// the comparison is of differences, not of ratios.
    fn exact_part(&self) -> AgainstHalf {
        let (Some(layouts), Some([from, to])) = (self.layouts(), self.commits()) else { return AgainstHalf::Unknown };
        let difference = |[from, to]: [Build; 2]| Some(self.line.value(to)? - self.line.value(from)?);
        let Some(whole) = difference([from, to]).filter(|whole| *whole != 0.0) else { return AgainstHalf::Unknown };
        let mut shares: Vec<f64> =
            layouts.distinct.iter().filter_map(|layout| Some(difference(layouts.builds(*layout))? / whole)).collect();
        shares.sort_by(f64::total_cmp);
        AgainstHalf::of_shares(&shares)
    }

    /// Results of random layouts; `None` without trials.
    pub(super) fn layouts_tried(&self) -> Option<LayoutsTried> {
        let layouts = self.layouts().filter(|layouts| layouts.tried > 0)?;
        let [between, within] = match self.settings.noise {
            Noise::None => [layouts.exact_spread(self.line), Some(0.0)],
            _ => {
                let within = self.within_layouts(&layouts);
                [within.and_then(|within| self.between_layouts(&layouts, within)), within]
            }
        };
        let Layouts { tried, unchanged, failed, .. } = layouts;
        Some(LayoutsTried { tried, distinct: layouts.distinct.len() as u32, unchanged, failed, between, within })
    }

    /// Standard deviation of executions of one layout within a block, from the differences between
    /// the sides in blocks with the same layout.
    fn within_layouts(&self, layouts: &Layouts) -> Option<f64> {
        let pairs = std::iter::once(self.plain).chain(layouts.distinct.iter().map(|layout| layouts.builds(*layout)));
        let (mut squares, mut free) = (0.0, 0.0);
        for [from, to] in pairs {
            let differences: Vec<f64> = self.differences(from, to).into_values().collect();
            squares += sum_of_squares(&differences);
            free += (differences.len() as f64 - 1.0).max(0.0);
        }
        // A difference has the variance of two executions.
        (free > 0.0).then(|| (squares / free / 2.0).sqrt())
    }

    /// Standard deviation between layouts of one commit: that of their mean differences from the
    /// commit's own layout in the same blocks, without the variance of executions of one layout.
    fn between_layouts(&self, layouts: &Layouts, within: f64) -> Option<f64> {
        let of_side = |side: usize| {
            let own = self.commits()?[side];
            let of = |layout: &u32| self.differences(own, own.with_layout(*layout)).into_values().collect::<Vec<f64>>();
            let groups: Vec<Vec<f64>> = layouts.distinct.iter().map(of).filter(|group| !group.is_empty()).collect();
            let number = groups.len() as f64;
            let means: Vec<f64> = groups.iter().map(|group| group.iter().sum::<f64>() / group.len() as f64).collect();
            let noise = groups.iter().map(|group| 2.0 * within.powi(2) / group.len() as f64).sum::<f64>() / number;
            (groups.len() > 1).then(|| sum_of_squares(&means) / (number - 1.0) - noise)
        };
        let variance = (of_side(0)? + of_side(1)?) / 2.0;
        Some(variance.max(0.0).sqrt())
    }

    /// True if `change` is most of the whole change.
    fn part(&self, change: Option<Change>) -> AgainstHalf {
        let whole = self.plain_change().map_or(self.searched, |whole| whole.ratio.ln());
        let (Some(change), true) = (change, whole != 0.0) else { return AgainstHalf::Unknown };
        AgainstHalf::of_interval([change.low.ln() / whole, change.high.ln() / whole])
    }

    /// The change from the first of two builds to the second, in blocks of the sides alone, with an
    /// interval that errs with the probability `error`.
    fn change(&self, [from, to]: [Build; 2], error: f64) -> Option<Change> {
        let differences: Vec<f64> = self.differences(from, to).into_values().collect();
        match self.settings.noise {
            Noise::None => exact_change(*differences.first()?),
            _ => shift(differences, error),
        }
    }

    /// Differences by block.
    fn differences(&self, from: Build, to: Build) -> BTreeMap<u32, f64> {
        let alone = self.line.confirming_blocks(self.plain.map(|build| build.position));
        let before = self.line.by_block(from);
        let after = self.line.by_block(to).into_iter();
        let difference = |(block, value): (u32, f64)| Some((block, value - before.get(&block)?));
        after.filter(|(block, _)| alone.contains(block)).filter_map(difference).collect()
    }

    /// Mean differences by layout.
    fn by_layout(&self, [from, to]: [Build; 2]) -> Vec<f64> {
        let of = |layout: u32| {
            let differences = self.differences(from.with_layout(layout), to.with_layout(layout));
            let number = differences.len() as f64;
            (number > 0.0).then(|| differences.values().sum::<f64>() / number)
        };
        self.layouts().map_or_else(Vec::new, |layouts| layouts.distinct.into_iter().filter_map(of).collect())
    }
}

/// The sum of squared deviations from the mean; 0 for none.
pub(crate) fn sum_of_squares(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// A difference of logarithms of exact values as a ratio; `None` if the value before was 0.
pub(super) fn exact_change(difference: f64) -> Option<Change> {
    let ratio = difference.exp();
    ratio.is_finite().then_some(Change { ratio, low: ratio, high: ratio, units: 1 })
}

/// The shift of differences of logarithms as a ratio with its interval; `None` with too few.
pub(super) fn shift(mut differences: Vec<f64>, error: f64) -> Option<Change> {
    differences.sort_by(f64::total_cmp);
    let (centre, low, high) = sign_shift(&differences, error)?;
    Some(Change { ratio: centre.exp(), low: low.exp(), high: high.exp(), units: differences.len() as u32 })
}

/// Two-sided error of each conclusion about the cause.
pub(crate) const LABEL_ERROR: f64 = 0.01;

/// Part of the change that decides between code and layout, and between commits and environment.
const MOST_OF_IT: f64 = 0.5;

/// A part of a change, compared with half of it.
pub(crate) enum AgainstHalf {
    Most,
    Little,
    Unknown,
}

impl AgainstHalf {
    /// Compares the part by its confidence interval, as a share of the whole, with the ends in any
    /// order.
    pub(super) fn of_interval(ends: [f64; 2]) -> Self {
        if ends.iter().all(|share| *share > MOST_OF_IT) {
            AgainstHalf::Most
        } else if ends.iter().all(|share| *share < MOST_OF_IT) {
            AgainstHalf::Little
        } else {
            AgainstHalf::Unknown
        }
    }

    /// Compares the part by independent measurements of it, each as a share of the whole,
    /// ascending.
    pub(crate) fn of_shares(shares: &[f64]) -> Self {
        sign_shift(shares, LABEL_ERROR)
            .map_or(AgainstHalf::Unknown, |(_, low, high)| AgainstHalf::of_interval([low, high]))
    }
}

/// The cause of a step, by the part of its change that remains under random layouts.
pub(crate) fn code_or_layout(remains: AgainstHalf) -> StepLabel {
    match remains {
        AgainstHalf::Most => StepLabel::Code,
        AgainstHalf::Little => StepLabel::Layout,
        AgainstHalf::Unknown => StepLabel::Inconclusive,
    }
}
