//! What to do next, as a function of what is recorded.
//!
//! First the ends, with two seeds if these are to show whether counts depend on their seed; then, in every gap with a step, the commit that is expected to tell most; then blocks for what is not precise enough; then each step
//! by itself; then, if asked for, stretches with equal ends. Each of these makes the record longer, and each is bounded, so the search ends.

use super::gaps::{FIRST_BLOCKS, Gap, Known, Verdict};
use super::line::{Line, State};
use super::pick::pick;
use super::seeds::settled;
use super::sides::Sides;
use faultline_model::drill::{Build, DrillSettings, Evidence, Next, Noise};
use std::collections::{BTreeMap, BTreeSet};

/// Further blocks for an open gap, as a part of those that it has.
const GROWTH: f64 = 0.35;

/// Fewest further blocks.
const FEWEST_BLOCKS: usize = 4;

/// Parts of the line within which stretches with equal ends are not searched further.
const STRETCHES: u32 = 16;

/// What to do next, given all that is recorded.
pub fn next(evidence: &Evidence, settings: &DrillSettings) -> Next {
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

/// What to do with the ends of the line; `None` if both are usable.
pub(super) fn for_ends(line: &Line) -> Option<Next> {
    [0, line.evidence.last].into_iter().find_map(|end| match line.state(end) {
        State::Untried => Some(to_try(line, end)),
        State::Broken => Some(Next::Nothing),
        State::Usable(_) => None,
    })
}

/// What to do with the rest of the line.
pub(super) fn for_rest(line: &Line, known: &Known, settings: &DrillSettings) -> Next {
    let narrowed = known.gaps.iter().find_map(|gap| narrowing(line, known, gap));
    narrowed
        .map(|position| to_try(line, position))
        .or_else(|| match settings.noise {
            Noise::None | Noise::Any => blocks_for_search(line, known, settings),
            Noise::Seeds | Noise::FromEnds => seeds_for_search(line, known, settings),
        })
        .or_else(|| for_sides(line, known, settings))
        .or_else(|| if settings.thorough { unseen(line, known, settings) } else { None })
        .unwrap_or(Next::Nothing)
}

fn to_try(line: &Line, position: u32) -> Next {
    Next::Try { position, surroundings: line.evidence.own_surroundings(position) }
}

/// The commit to try in a gap with a step; `None` if one in it is still to be measured, or if it can't be narrowed.
fn narrowing(line: &Line, known: &Known, gap: &Gap) -> Option<u32> {
    let (left, right) = (gap.left.position, gap.right.position);
    let is_awaited = known.pending.iter().any(|(position, _)| (left..right).contains(position));
    if gap.verdict != Verdict::Differs || is_awaited { None } else { pick(line, left, right) }
}

/// Whether a gap has a step that no commit can narrow.
pub(super) fn is_narrow(line: &Line, known: &Known, gap: &Gap) -> bool {
    gap.verdict == Verdict::Differs && narrowing(line, known, gap).is_none()
}

/// Blocks for positions that were not measured enough, and for both sides of open gaps, beside their neighbours.
fn blocks_for_search(line: &Line, known: &Known, settings: &DrillSettings) -> Option<Next> {
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
fn further(fewest: usize, settings: &DrillSettings) -> usize {
    let rest = (settings.most_blocks as usize).saturating_sub(fewest).max(1);
    ((GROWTH * fewest as f64) as usize).max(FEWEST_BLOCKS).min(rest)
}

/// Seeds for positions that were not counted with enough of them, and for both sides of open gaps. Nothing drifts, so neighbours are not counted again.
fn seeds_for_search(line: &Line, known: &Known, settings: &DrillSettings) -> Option<Next> {
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

/// What the first step needs whose sides were not measured enough by themselves.
fn for_sides(line: &Line, known: &Known, settings: &DrillSettings) -> Option<Next> {
    known.gaps.iter().filter(|gap| is_narrow(line, known, gap)).find_map(|gap| {
        let sides = Sides::new(line, settings, gap);
        if let Some((position, surroundings)) = sides.to_try() {
            return Some(Next::Try { position, surroundings });
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

/// The commit to try in the longest stretch with equal ends, if the builds allowed for the steps found so far are not used up.
fn unseen(line: &Line, known: &Known, settings: &DrillSettings) -> Option<Next> {
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

/// Builds that a search may use for each step.
fn builds_per_step(commits: u32, noise: Noise) -> f64 {
    let halvings = f64::from(commits.max(1)).log2();
    match noise {
        Noise::None => halvings.ceil() + 2.0,
        Noise::Any | Noise::Seeds | Noise::FromEnds => 1.5 * halvings + 4.0,
    }
}
