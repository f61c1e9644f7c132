//! The next work, as a function of the record.
//!
//! The order: the ends, with two seeds if these are to show whether counts depend on their seed; in
//! every gap with a step, the commit with the most expected information; blocks for imprecise
//! levels; each step alone; on request, stretches with equal ends. Each of these makes the record
//! longer and is bounded, so the search ends.
//!
//! A step is equally likely at each commit of its gap, so a position yields the entropy of its
//! split, if it is usable. Broken commits come in runs: the closer a position is to broken ones,
//! and the longer their run, the less likely it is usable.

use crate::bisect::gaps::{FIRST_BLOCKS, Gap, Known, Verdict};
use crate::bisect::line::{Line, State, are_same};
use crate::bisect::sides::Sides;
use crate::bisect::{Build, LineEvidence, Next};
use faultline_record::bisect::{BisectSettings, Noise};
use std::collections::{BTreeMap, BTreeSet};

/// Further blocks for an open gap, as a part of its blocks.
const GROWTH: f64 = 0.35;

/// Minimum number of further blocks.
const FEWEST_BLOCKS: usize = 4;

/// Number of parts of the line below which stretches with equal ends are not searched further.
const STRETCHES: u32 = 16;

/// The next work, given the record.
pub fn next(evidence: &LineEvidence, settings: &BisectSettings) -> Next {
    let line = Line::new(evidence, settings);
    if let Some(next) = for_ends(&line) {
        return next;
    }
    match settled(&line, settings) {
        Err(next) => next,
        Ok(settings) => {
            let line = Line::new(evidence, &settings);
            for_rest(&line, &Known::new(&line, &settings), &settings)
        }
    }
}

/// The next work on the ends of the line; `None` if both are usable.
pub(super) fn for_ends(line: &Line) -> Option<Next> {
    [0, line.evidence.last].into_iter().find_map(|end| match line.state(end) {
        State::Untried => Some(to_try(line, end)),
        State::Broken => Some(Next::Nothing),
        State::Usable(_) => None,
    })
}

/// The next work on the rest of the line.
pub(super) fn for_rest(line: &Line, known: &Known, settings: &BisectSettings) -> Next {
    for_search(line, known, settings)
        .or_else(|| for_sides(line, known, settings))
        .or_else(|| if settings.thorough { unseen(line, known, settings) } else { None })
        .unwrap_or(Next::Nothing)
}

/// The next work that finds steps; `None` if all gaps are decided.
fn for_search(line: &Line, known: &Known, settings: &BisectSettings) -> Option<Next> {
    let narrowed = known.gaps.iter().find_map(|gap| narrowing(line, known, gap));
    narrowed.map(|position| to_try(line, position)).or_else(|| match settings.noise {
        Noise::None | Noise::Any => blocks_for_search(line, known, settings),
        Noise::Seeds | Noise::FromEnds => seeds_for_search(line, known, settings),
    })
}

fn to_try(line: &Line, position: u32) -> Next {
    Next::Try { position, environment: line.evidence.own_environment(position) }
}

/// The commit to try in a gap with a step; `None` if one in it is still to be measured, or if no
/// commit can narrow it.
fn narrowing(line: &Line, known: &Known, gap: &Gap) -> Option<u32> {
    let (left, right) = (gap.left.position, gap.right.position);
    let is_awaited = known.pending.iter().any(|(position, _)| (left..right).contains(position));
    if gap.verdict != Verdict::Differs || is_awaited { None } else { pick(line, left, right) }
}

/// True for a gap with a step that no commit can narrow.
pub(super) fn is_narrow(line: &Line, known: &Known, gap: &Gap) -> bool {
    gap.verdict == Verdict::Differs && narrowing(line, known, gap).is_none()
}

/// Blocks for positions with too few, and for both sides of open gaps, with their neighbours.
fn blocks_for_search(line: &Line, known: &Known, settings: &BisectSettings) -> Option<Next> {
    let mut builds: BTreeSet<Build> = known.pending.iter().map(|(_, build)| *build).collect();
    let executed = |build: &Build| line.executions(*build).len();
    let lacking = known.pending.iter().map(|(_, build)| FIRST_BLOCKS.saturating_sub(executed(build)).max(1)).min();
    if settings.noise == Noise::None {
        return lacking.map(|_| Next::Measure { blocks: vec![builds.into_iter().collect()] });
    }
    let open = known.gaps.iter().filter(|gap| gap.verdict == Verdict::Open);
    let more = |gap: &Gap| further(executed(&gap.left.build).min(executed(&gap.right.build)), settings);
    let blocks = lacking.into_iter().chain(open.clone().map(more)).min()?;
    for (position, _) in &known.pending {
        builds.extend(neighbours(known, *position, *position));
    }
    for gap in open {
        builds.extend([gap.left.build, gap.right.build]);
        builds.extend(neighbours(known, gap.left.position, gap.right.position));
    }
    Some(Next::Measure { blocks: vec![builds.into_iter().collect(); blocks] })
}

/// Further blocks for a gap whose sides have `fewest` or more.
fn further(fewest: usize, settings: &BisectSettings) -> usize {
    let rest = (settings.most_blocks as usize).saturating_sub(fewest).max(1);
    ((GROWTH * fewest as f64) as usize).max(FEWEST_BLOCKS).min(rest)
}

/// Seeds for positions with too few, and for both sides of open gaps. Counts do not drift, so
/// neighbours are not counted again.
fn seeds_for_search(line: &Line, known: &Known, settings: &BisectSettings) -> Option<Next> {
    let most = settings.most_blocks;
    let mut wanted: BTreeMap<Build, u32> = BTreeMap::new();
    for (_, build) in &known.pending {
        wanted.insert(*build, (FIRST_BLOCKS as u32).max(line.next_seed(*build) + 1));
    }
    for gap in known.gaps.iter().filter(|gap| gap.verdict == Verdict::Open) {
        let builds = [gap.left.build, gap.right.build];
        let fewest = builds.map(|build| line.next_seed(build)).into_iter().min().unwrap_or(0);
        let all = fewest + further(fewest as usize, settings) as u32;
        for build in builds {
            let seeds = wanted.entry(build).or_default();
            *seeds = all.min(most).max(*seeds);
        }
    }
    let last = wanted.values().copied().max().unwrap_or(0);
    let with = |seed: u32| {
        let lacks = |(build, seeds): &(&Build, &u32)| **seeds > seed && !line.is_executed(**build, seed);
        (seed, wanted.iter().filter(lacks).map(|(build, _)| *build).collect::<Vec<Build>>())
    };
    let seeds: Vec<(u32, Vec<Build>)> = (0..last).map(with).filter(|(_, builds)| !builds.is_empty()).collect();
    (!seeds.is_empty()).then_some(Next::Count { seeds })
}

/// The nearest measured builds outside of two positions.
fn neighbours(known: &Known, left: u32, right: u32) -> impl Iterator<Item = Build> {
    let before = known.places.iter().rfind(|place| place.position < left);
    let after = known.places.iter().find(|place| place.position > right);
    before.into_iter().chain(after).map(|place| place.build)
}

/// The next work on the first step whose sides have too few blocks of their own.
fn for_sides(line: &Line, known: &Known, settings: &BisectSettings) -> Option<Next> {
    known.gaps.iter().filter(|gap| is_narrow(line, known, gap)).find_map(|gap| {
        let sides = Sides::new(line, settings, gap);
        if let Some((position, environment)) = sides.to_try() {
            return Some(Next::Try { position, environment });
        }
        let builds = sides.to_relink();
        if !builds.is_empty() {
            return Some(Next::Relink { builds });
        }
        match settings.noise {
            Noise::None | Noise::Any => {
                let blocks = sides.blocks_needed();
                (!blocks.is_empty()).then_some(Next::Measure { blocks })
            }
            Noise::Seeds | Noise::FromEnds => {
                let seeds = sides.seeds_needed();
                (!seeds.is_empty()).then_some(Next::Count { seeds })
            }
        }
    })
}

/// The commit to try in the longest stretch with equal ends, within the limit of builds for the
/// found steps.
fn unseen(line: &Line, known: &Known, settings: &BisectSettings) -> Option<Next> {
    let last = line.evidence.last;
    let steps = known.gaps.iter().filter(|gap| gap.verdict == Verdict::Differs).count().max(1);
    if f64::from(line.trials().0) >= steps as f64 * builds_per_step(last, settings.noise) {
        return None;
    }
    let width = |gap: &&Gap| gap.right.position - gap.left.position;
    let mut gaps: Vec<&Gap> = known.gaps.iter().filter(|gap| gap.verdict == Verdict::Same).collect();
    gaps.retain(|gap| gap.left.build != gap.right.build && width(gap) > last.div_ceil(STRETCHES).max(1));
    gaps.sort_by_key(|gap| std::cmp::Reverse(width(gap)));
    gaps.into_iter().find_map(|gap| pick(line, gap.left.position, gap.right.position)).map(|at| to_try(line, at))
}

/// Maximum number of builds for each step.
fn builds_per_step(commits: u32, noise: Noise) -> f64 {
    let halvings = f64::from(commits.max(1)).log2();
    match noise {
        Noise::None => halvings.ceil() + 2.0,
        Noise::Any | Noise::Seeds | Noise::FromEnds => 1.5 * halvings + 4.0,
    }
}

/// Broken positions of a gap after which it is not narrowed further, beyond the steps of a binary
/// search.
const BROKEN_ALLOWED: u32 = 2;

/// The untried position between `left` and `right` with the most expected information; `None` if
/// there is none, or after too many broken ones.
pub(super) fn pick(line: &Line, left: u32, right: u32) -> Option<u32> {
    let inside = left + 1..right;
    let is_broken = |position: &u32| line.state(*position) == State::Broken;
    let broken: Vec<u32> = inside.clone().filter(is_broken).collect();
    let width = right - left;
    if broken.len() as u32 >= width.ilog2() + 1 + BROKEN_ALLOWED {
        return None;
    }
    let untried = inside.filter(|position| line.state(*position) == State::Untried);
    let tells = |position: u32| split_entropy(position - left, width) * usable(position, &broken);
    let mut best: Option<(u32, f64)> = None;
    for position in untried {
        let score = tells(position);
        if best.is_none_or(|(_, most)| score > most) {
            best = Some((position, score));
        }
    }
    best.map(|(position, _)| position)
}

/// Information, in bits, of a split of `whole` into `part` and the rest.
fn split_entropy(part: u32, whole: u32) -> f64 {
    let share = f64::from(part) / f64::from(whole);
    let bits = |p: f64| if p > 0.0 { -p * p.log2() } else { 0.0 };
    bits(share) + bits(1.0 - share)
}

/// Probability of a usable position: 1 far from `broken` ones, less within a distance like their
/// run's length.
fn usable(position: u32, broken: &[u32]) -> f64 {
    let Some(distance) = broken.iter().map(|other| other.abs_diff(position)).min() else { return 1.0 };
    let run = broken[broken.len() - 1] - broken[0] + 1;
    f64::from(distance) / f64::from(distance + run)
}

/// Number of seeds at both ends that show whether counts depend on them.
const TRIED: u32 = 2;

/// Minimum least change for samples of counts.
const LEAST: f64 = 0.001;

/// The settings of the search, given the counts of the ends; or the counts needed there first.
pub(super) fn settled(line: &Line, settings: &BisectSettings) -> Result<BisectSettings, Next> {
    if settings.noise != Noise::FromEnds {
        return Ok(*settings);
    }
    let mut ends: Vec<Build> = [0, line.evidence.last]
        .into_iter()
        .filter_map(|end| match line.state(end) {
            State::Usable(build) => Some(build),
            State::Untried | State::Broken => None,
        })
        .collect();
    ends.dedup();
    let lacking = |seed: u32| ends.iter().copied().filter(|build| !line.is_executed(*build, seed)).collect();
    let mut seeds: Vec<(u32, Vec<Build>)> = (0..TRIED).map(|seed| (seed, lacking(seed))).collect();
    seeds.retain(|(_, builds)| !builds.is_empty());
    if !seeds.is_empty() {
        return Err(Next::Count { seeds });
    }
    let values = |build: &Build| -> Vec<f64> {
        line.executions(*build).iter().filter_map(|(_, value)| *value).map(f64::exp).collect()
    };
    // A failed execution is no evidence about the seed's effect.
    let is_same =
        ends.iter().all(|build| values(build).len() >= TRIED as usize && are_same(&values(build), settings.least));
    Ok(match is_same {
        true => BisectSettings { noise: Noise::None, ..*settings },
        false => of_samples(settings),
    })
}

/// The settings for conclusions. Counts may depend on their seed until the ends show that they do
/// not.
pub(super) fn settled_or_samples(evidence: &LineEvidence, settings: &BisectSettings) -> BisectSettings {
    settled(&Line::new(evidence, settings), settings).unwrap_or_else(|_| of_samples(settings))
}

fn of_samples(settings: &BisectSettings) -> BisectSettings {
    BisectSettings { noise: Noise::Seeds, least: settings.least.max(LEAST), ..*settings }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisect::{Measured, Trial, TrialResult};
    use faultline_record::bisect::Unusable;

    const SETTINGS: BisectSettings =
        BisectSettings { noise: Noise::Any, level: 0.95, least: 0.02, most_blocks: 60, layouts: 0, thorough: false };

    fn with_broken(last: u32, broken: impl Iterator<Item = u32>) -> LineEvidence {
        let result = TrialResult::Unusable { why: Unusable::Build };
        let mut evidence = LineEvidence::new(last, Vec::new());
        evidence.trials = broken.map(|position| Trial { position, environment: 0, result }).collect();
        evidence
    }

    #[test]
    fn without_broken_commits_it_is_the_middle() {
        let evidence = with_broken(101, std::iter::empty());
        assert_eq!(pick(&Line::new(&evidence, &SETTINGS), 0, 101), Some(50));
        assert_eq!(pick(&Line::new(&evidence, &SETTINGS), 7, 9), Some(8));
        assert_eq!(pick(&Line::new(&evidence, &SETTINGS), 7, 8), None);
    }

    #[test]
    fn a_run_of_broken_commits_is_left_in_a_few_tries() {
        let is_broken = |position: u32| (60..140).contains(&position);
        let mut broken = Vec::new();
        let outside = loop {
            let evidence = with_broken(200, broken.iter().copied());
            let position = pick(&Line::new(&evidence, &SETTINGS), 0, 200).unwrap();
            if !is_broken(position) {
                break position;
            }
            broken.push(position);
        };
        assert!(broken.len() <= 5 && (20..180).contains(&outside), "{broken:?}, {outside}");
    }

    #[test]
    fn a_gap_of_broken_commits_is_given_up() {
        let evidence = with_broken(10, 1..10);
        assert_eq!(pick(&Line::new(&evidence, &SETTINGS), 0, 10), None);
        let evidence = with_broken(1000, 480..492);
        assert_eq!(pick(&Line::new(&evidence, &SETTINGS), 0, 1000), None);
    }

    fn settings() -> BisectSettings {
        BisectSettings {
            noise: Noise::FromEnds,
            level: 0.95,
            least: 0.02,
            most_blocks: 24,
            layouts: 0,
            thorough: false,
        }
    }

    /// A line of five commits with ends counted with these seeds.
    fn ends(counts: &[(u32, u32, f64)]) -> LineEvidence {
        let mut evidence = LineEvidence::new(4, Vec::new());
        evidence.trials =
            [0, 4].map(|position| Trial { position, environment: 0, result: TrialResult::Usable }).to_vec();
        let measured = |&(position, block, value): &(u32, u32, f64)| Measured {
            build: Build::plain(position, 0),
            block,
            value: Some(value),
        };
        evidence.measured = counts.iter().map(measured).collect();
        evidence
    }

    fn noise(counts: &[(u32, u32, f64)]) -> Result<Noise, Next> {
        let evidence = ends(counts);
        settled(&Line::new(&evidence, &settings()), &settings()).map(|settled| settled.noise)
    }

    #[test]
    fn both_ends_are_counted_with_two_seeds_first() {
        let [old, new] = [0, 4].map(|position| Build::plain(position, 0));
        let asked = noise(&[(0, 0, 5.0), (4, 0, 9.0)]);
        assert_eq!(asked, Err(Next::Count { seeds: vec![(1, vec![old, new])] }));
        let asked = noise(&[(0, 0, 5.0), (4, 0, 9.0), (0, 1, 5.0)]);
        assert_eq!(asked, Err(Next::Count { seeds: vec![(1, vec![new])] }));
    }

    #[test]
    fn counts_depend_on_the_seed_if_those_of_one_end_do() {
        let at = |new: f64| noise(&[(0, 0, 5.0), (4, 0, 9.0), (0, 1, 5.0), (4, 1, new)]);
        assert_eq!((at(9.0), at(9.005), at(9.1)), (Ok(Noise::None), Ok(Noise::None), Ok(Noise::Seeds)));
    }
}
