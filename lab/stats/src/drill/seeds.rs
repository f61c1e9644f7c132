//! Whether counts depend on their seed: what two seeds at both ends of a line show.

use super::line::{Line, State};
use super::samples::are_same;
use faultline_model::drill::{Build, DrillSettings, Evidence, Next, Noise};

/// Seeds at both ends that show whether counts depend on them.
const TRIED: u32 = 2;

/// Least change that samples of counts are searched for.
const LEAST: f64 = 0.001;

/// The settings with which a line is searched, given what its ends show; or what is to be counted there first.
pub(super) fn settled(line: &Line, settings: &DrillSettings) -> Result<DrillSettings, Next> {
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
    // A seed with which the commit fails tells nothing of its counts.
    let is_same =
        ends.iter().all(|build| values(build).len() >= TRIED as usize && are_same(&values(build), settings.least));
    Ok(match is_same {
        true => DrillSettings { noise: Noise::None, ..*settings },
        false => of_samples(settings),
    })
}

/// The settings with which the evidence is judged. As long as the ends do not show whether counts depend on their seed, they may.
pub(super) fn settled_or_samples(evidence: &Evidence, settings: &DrillSettings) -> DrillSettings {
    settled(&Line::new(evidence, settings), settings).unwrap_or_else(|_| of_samples(settings))
}

fn of_samples(settings: &DrillSettings) -> DrillSettings {
    DrillSettings { noise: Noise::Seeds, least: settings.least.max(LEAST), ..*settings }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::drill::{Measured, Trial, TrialResult};

    fn settings() -> DrillSettings {
        DrillSettings { noise: Noise::FromEnds, level: 0.95, least: 0.02, most_blocks: 24, layouts: 0, thorough: false }
    }

    /// A line of five commits whose ends were counted with these seeds.
    fn ends(counts: &[(u32, u32, f64)]) -> Evidence {
        let mut evidence = Evidence::new(4, Vec::new());
        evidence.trials =
            [0, 4].map(|position| Trial { position, surroundings: 0, result: TrialResult::Usable }).to_vec();
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
