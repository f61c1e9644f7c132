//! A history of which it is known how fast its commits are, and which of them cannot be built or
//! run.

use crate::fault::Fault;
use faultline_history::{Build, Relink, Relinked};
use faultline_record::bisect::{BisectSettings, Noise, Unusable};
use faultline_record::commit::{CommitInfo, CommitLine};
use faultline_record::explained::{FileChange, FilesChanged, LinesChanged};
use faultline_record::plan::WhenInconclusive;
use faultline_record::relink::RelinkResult;
use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use std::path::{Path, PathBuf};

/// The directory of builds.
const BUILDS: &str = "/simulated/builds";

/// The truth about a commit.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Truth {
    /// Commits with the same number have the same files.
    tree: u32,
    /// Its fate.
    fate: Fate,
    /// Its time, as a multiple of the first commit's.
    factor: f64,
    /// Its time in random layouts, as a multiple of the first commit's: without changes of the
    /// layout alone.
    code: f64,
}

/// The fate of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Can be measured.
    Works,
    /// Does not build.
    DoesNotBuild,
    /// Ends with a failure status.
    Fails,
    /// Does not end.
    Hangs,
}

/// A line of commits, and how it is searched.
#[derive(Debug, Clone)]
pub(crate) struct History {
    commits: Vec<Truth>,
    /// True if random layouts reach the program.
    is_movable: bool,
    pub(crate) settings: BisectSettings,
    pub(crate) gate: Option<WhenInconclusive>,
}

impl History {
    /// Any history.
    pub(crate) fn any(random: &mut ChaCha8Rng) -> Self {
        let length = random.random_range(2..=16);
        let broken = *[0.0, 0.0, 0.1, 0.3].choose(random).unwrap_or(&0.0);
        let mut steps = *[0, 0, 1, 1, 1, 2].choose(random).unwrap_or(&0);
        let mut commits = vec![Truth { tree: 0, fate: Fate::Works, factor: 1.0, code: 1.0 }];
        while commits.len() < length {
            let last = commits[commits.len() - 1];
            let is_step =
                steps > 0 && random.random_bool((f64::from(steps) / (length - commits.len()) as f64).min(1.0));
            if !is_step && random.random_bool(0.1) {
                commits.push(last);
                continue;
            }
            steps -= u32::from(is_step);
            let size = if is_step { *[0.7, 0.95, 1.05, 1.2, 1.5].choose(random).unwrap_or(&1.5) } else { 1.0 };
            let of_code = if random.random_bool(0.3) { 1.0 } else { size };
            let fate = fate(broken, random);
            commits.push(Truth { tree: last.tree + 1, fate, factor: last.factor * size, code: last.code * of_code });
        }
        History {
            commits,
            is_movable: random.random_bool(0.8),
            settings: BisectSettings {
                noise: Noise::Any,
                level: 0.95,
                least: *[0.01, 0.02, 0.1].choose(random).unwrap_or(&0.02),
                most_blocks: random.random_range(8..=16),
                layouts: *[0, 0, 8].choose(random).unwrap_or(&0),
                thorough: random.random_bool(0.3),
            },
            gate: [None, Some(WhenInconclusive::Fail), Some(WhenInconclusive::Pass)].choose(random).copied().flatten(),
        }
    }

    /// A line of that many commits that work, in which every tenth is slower than the one before.
    pub(crate) fn calm(length: u32) -> Self {
        let commit = |tree| {
            let factor = 1.1_f64.powi((tree / 10) as i32);
            Truth { tree, fate: Fate::Works, factor, code: factor }
        };
        let noise = Noise::Any;
        let settings = BisectSettings { noise, level: 0.95, least: 0.02, most_blocks: 60, layouts: 0, thorough: true };
        History { commits: (0..length).map(commit).collect(), is_movable: false, settings, gate: None }
    }

    /// The line, as a repository describes it.
    pub(crate) fn line(&self) -> CommitLine {
        let commit = |(position, truth): (usize, &Truth)| CommitInfo {
            id: format!("{position:040x}"),
            tree: format!("{:040x}", truth.tree),
            committed_s: position as i64,
            author: "A".to_owned(),
            subject: "simulated".to_owned(),
            ..CommitInfo::default()
        };
        CommitLine { commits: self.commits.iter().enumerate().map(commit).collect() }
    }

    /// The result of building a commit.
    pub(crate) fn build(&self, commit: &CommitInfo) -> Build {
        let position = usize::from_str_radix(&commit.id, 16).ok();
        match position.and_then(|position| self.commits.get(position)) {
            Some(truth) if truth.fate != Fate::DoesNotBuild => {
                Build::Built { directory: directory(truth.tree, None), is_old: false }
            }
            _ => Build::Failed { how: "it exited with status 2".to_owned(), output: "it was to be".to_owned() },
        }
    }

    /// The result of linking a commit in another layout.
    pub(crate) fn relink(&self, asked: &Relink<'_>) -> Relinked {
        let position = usize::from_str_radix(&asked.commit.id, 16).ok();
        match position.and_then(|position| self.commits.get(position)) {
            Some(truth) if self.is_movable => Relinked {
                directory: Some(directory(truth.tree, Some(asked.layout.seed))),
                result: RelinkResult::Placed { places: asked.layout.seed.to_string() },
            },
            _ => Relinked { directory: None, result: RelinkResult::Unchanged },
        }
    }

    /// True if random layouts reach the program.
    pub(crate) fn is_movable(&self) -> bool {
        self.is_movable
    }

    /// True if the code changed at a position, not only the layout.
    pub(crate) fn is_code(&self, position: u32) -> bool {
        let position = position as usize;
        position > 0 && self.commits.get(position).is_some_and(|truth| truth.code != self.commits[position - 1].code)
    }

    /// Files that differ between two commits: one file, or none if their trees are equal.
    pub(crate) fn files(&self, from: &CommitInfo, to: &CommitInfo) -> FilesChanged {
        let lines = Some(LinesChanged { added: 2, removed: 1 });
        let file = FileChange { path: format!("file {}", to.tree), lines };
        FilesChanged::of(if from.tree == to.tree { Vec::new() } else { vec![file] })
    }

    /// The positions at which the time changes, with the ratio.
    pub(crate) fn steps(&self) -> Vec<(u32, f64)> {
        let pairs = (1..).zip(self.commits.windows(2));
        let ratios = pairs.map(|(position, pair)| (position, pair[1].factor / pair[0].factor));
        ratios.filter(|(_, ratio)| (ratio - 1.0).abs() > 1e-9).collect()
    }

    /// The speed of what is built in a directory, as a multiple of the first commit's; 1 of any
    /// other directory.
    pub(crate) fn speed(&self, directory: &Path) -> f64 {
        let Some(truth) = self.built_in(directory) else { return 1.0 };
        match layout(directory) {
            None => 1.0 / truth.factor,
            Some(layout) => (1.0 + 0.004 * f64::from((layout * 7 + truth.tree * 3) % 5)) / truth.code,
        }
    }

    /// The fault of every execution of what is built in a directory.
    pub(crate) fn fault(&self, directory: &Path) -> Option<Fault> {
        match self.built_in(directory)?.fate {
            Fate::Works | Fate::DoesNotBuild => None,
            Fate::Fails => Some(Fault::Status),
            Fate::Hangs => Some(Fault::Hang),
        }
    }

    /// Reason why a commit has no value without further faults; `None` if it has one.
    pub(crate) fn unusable(&self, position: usize) -> Option<Unusable> {
        match self.commits[position].fate {
            Fate::Works => None,
            Fate::DoesNotBuild => Some(Unusable::Build),
            Fate::Fails => Some(Unusable::Run),
            Fate::Hangs => Some(Unusable::Hang),
        }
    }

    fn built_in(&self, directory: &Path) -> Option<&Truth> {
        let layout = layout(directory);
        self.commits.iter().find(|truth| self::directory(truth.tree, layout) == directory)
    }
}

fn fate(broken: f64, random: &mut ChaCha8Rng) -> Fate {
    if !random.random_bool(broken) {
        return Fate::Works;
    }
    *[Fate::DoesNotBuild, Fate::Fails, Fate::Hangs].choose(random).unwrap_or(&Fate::Fails)
}

/// The directory of a build, perhaps with a layout. All paths have the same length.
fn directory(tree: u32, layout: Option<u32>) -> PathBuf {
    Path::new(BUILDS).join(format!("{tree:04}{:04}", layout.map_or(0, |layout| layout + 1)))
}

/// The layout of what is built in a directory; `None` of its own.
fn layout(directory: &Path) -> Option<u32> {
    directory.file_name()?.to_str()?.get(4..)?.parse::<u32>().ok()?.checked_sub(1)
}
