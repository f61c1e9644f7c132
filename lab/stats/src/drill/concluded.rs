//! What was found on a line, as a function of what is recorded.

use super::gaps::{Gap, Known, Place, Verdict, least_log};
use super::line::{Line, State};
use super::next::{for_ends, for_rest, is_narrow};
use super::seeds::{settled, settled_or_samples};
use super::sides::Sides;
use faultline_model::drill::{Drill, DrillSettings, DrillStep, Evidence, Next, Noise, Slope};

/// Standard deviations by which a step exceeds the noise if it is found with the probability `POWER`: those of the probability at which a gap counts as
/// one with a step, and 0.84.
pub(crate) const DETECTABLE_DEVIATIONS: f64 = 3.5 + 0.84;

/// What is found, given all that is recorded. While the search goes on, it is what is known so far.
pub fn concluded(evidence: &Evidence, settings: &DrillSettings) -> Drill {
    let of_ends = settled(&Line::new(evidence, settings), settings);
    let is_told_by_ends = settings.noise == Noise::FromEnds && of_ends.is_ok();
    let settings = &settled_or_samples(evidence, settings);
    let line = Line::new(evidence, settings);
    let known = Known::new(&line, settings);
    let further = for_ends(&line).or(of_ends.err()).unwrap_or_else(|| for_rest(&line, &known, settings));
    let (trials, unusable) = line.trials();
    let slope = |(from, to): (Place, Place)| Slope {
        from: from.position,
        to: to.position,
        ratio: (to.level - from.level).exp(),
    };
    let narrow = known.gaps.iter().filter(|gap| is_narrow(&line, &known, gap));
    Drill {
        format: Drill::FORMAT.to_owned(),
        finished: further == Next::Nothing,
        ends_show: is_told_by_ends.then_some(settings.noise),
        unusable_end: [0, evidence.last].into_iter().find(|end| line.state(*end) == State::Broken),
        steps: narrow.map(|gap| step(&line, settings, gap)).collect(),
        slopes: known.slopes(least_log(settings)).map(slope).collect(),
        probability_by_position: by_position(&known, evidence.last),
        detectable: detectable(&known, settings),
        undetected: undetected(&line, &known),
        longest_unseen: longest_unseen(&known),
        trials,
        known: 0,
        unusable,
        blocks: line.blocks() as u32,
        executions: evidence.measured.len() as u32,
    }
}

fn step(line: &Line, settings: &DrillSettings, gap: &Gap) -> DrillStep {
    let sides = Sides::new(line, settings, gap);
    let (before, after) = (gap.left.position, gap.right.position);
    DrillStep {
        before,
        after,
        candidates: (before + 1..=after).collect(),
        probability: gap.probability,
        confirmed: sides.is_confirmed(),
        change: sides.plain_change(),
        values: sides.exact_values(),
        label: sides.label(),
        under_layouts: sides.under_layouts(),
        layouts: sides.layouts_tried(),
        of_surroundings: sides.of_surroundings(),
        of_commits: sides.of_commits(),
        reverted: None,
        explained: None,
        moved: None,
        counters: Vec::new(),
    }
}

/// Each gap's probability, in equal parts for its commits.
fn by_position(known: &Known, last: u32) -> Vec<f64> {
    let mut all = vec![0.0; last as usize];
    for gap in &known.gaps {
        let (left, right) = (gap.left.position as usize, gap.right.position as usize);
        all[left..right].fill(gap.probability / (right - left) as f64);
    }
    all
}

fn detectable(known: &Known, settings: &DrillSettings) -> Option<f64> {
    let of_noise = |gap: &Gap| DETECTABLE_DEVIATIONS * (gap.left.variance + gap.right.variance).sqrt();
    let greatest = known.gaps.iter().map(of_noise).reduce(f64::max)?;
    Some(greatest.exp_m1().max(settings.least))
}

/// Of several, their expected number, but at most 1.
fn undetected(line: &Line, known: &Known) -> f64 {
    let others = known.gaps.iter().filter(|gap| !is_narrow(line, known, gap));
    others.map(|gap| gap.of_least).sum::<f64>().min(1.0)
}

fn longest_unseen(known: &Known) -> u32 {
    let same = known.gaps.iter().filter(|gap| gap.verdict == Verdict::Same && gap.left.build != gap.right.build);
    same.map(|gap| gap.right.position - gap.left.position - 1).max().unwrap_or(0)
}
