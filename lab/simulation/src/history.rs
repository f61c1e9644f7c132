//! A history of which it is known how fast its commits are, and which of them cannot be built or run.

use crate::fault::Fault;
use faultline_history::build::Build;
use faultline_model::commit::{CommitInfo, CommitLine};
use faultline_model::drill::{DrillSettings, Noise};
use faultline_model::explained::{FileChange, FilesChanged, LinesChanged};
use faultline_model::plan::WhenInconclusive;
use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use std::path::{Path, PathBuf};

/// The directory of builds.
const BUILDS: &str = "/simulated/builds";

/// What is true of a commit.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Truth {
    /// Commits with the same number have the same files.
    tree: u32,
    /// How it can be measured.
    fate: Fate,
    /// Its time, as a multiple of the first commit's.
    factor: f64,
}

/// How a commit can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It can.
    Works,
    /// It does not build.
    DoesNotBuild,
    /// It ends with a status.
    Fails,
    /// It does not end.
    Hangs,
}

/// A line of commits, and how it is searched.
#[derive(Debug, Clone)]
pub(crate) struct History {
    commits: Vec<Truth>,
    pub(crate) settings: DrillSettings,
    pub(crate) gate: Option<WhenInconclusive>,
}

impl History {
    /// Any history.
    pub(crate) fn any(random: &mut ChaCha8Rng) -> Self {
        let length = random.random_range(2..=16);
        let broken = *[0.0, 0.0, 0.1, 0.3].choose(random).unwrap_or(&0.0);
        let mut steps = *[0, 0, 1, 1, 1, 2].choose(random).unwrap_or(&0);
        let mut commits = vec![Truth { tree: 0, fate: Fate::Works, factor: 1.0 }];
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
            commits.push(Truth { tree: last.tree + 1, fate: fate(broken, random), factor: last.factor * size });
        }
        History {
            commits,
            settings: DrillSettings {
                noise: Noise::Any,
                level: 0.95,
                least: *[0.01, 0.02, 0.1].choose(random).unwrap_or(&0.02),
                most_blocks: random.random_range(8..=16),
                layouts: 0,
                thorough: random.random_bool(0.3),
            },
            gate: [None, Some(WhenInconclusive::Fail), Some(WhenInconclusive::Pass)].choose(random).copied().flatten(),
        }
    }

    /// A line of that many commits that work, in which every tenth is slower than the one before.
    pub(crate) fn calm(length: u32) -> Self {
        let commit = |tree| Truth { tree, fate: Fate::Works, factor: 1.1_f64.powi((tree / 10) as i32) };
        let noise = Noise::Any;
        let settings = DrillSettings { noise, level: 0.95, least: 0.02, most_blocks: 60, layouts: 0, thorough: true };
        History { commits: (0..length).map(commit).collect(), settings, gate: None }
    }

    /// The line, as a repository describes it.
    pub(crate) fn line(&self) -> CommitLine {
        let commit = |(position, truth): (usize, &Truth)| CommitInfo {
            id: format!("{position:040x}"),
            tree: format!("{:040x}", truth.tree),
            parents: Vec::new(),
            committed_s: position as i64,
            author: "A".to_owned(),
            subject: "simulated".to_owned(),
        };
        CommitLine { commits: self.commits.iter().enumerate().map(commit).collect() }
    }

    /// What comes of the build of a commit.
    pub(crate) fn build(&self, commit: &CommitInfo) -> Build {
        let position = usize::from_str_radix(&commit.id, 16).ok();
        match position.and_then(|position| self.commits.get(position)) {
            Some(truth) if truth.fate != Fate::DoesNotBuild => {
                Build::Built { directory: directory(truth.tree), is_old: false }
            }
            _ => Build::Failed { how: "it ends with status 2".to_owned(), output: "it was to be".to_owned() },
        }
    }

    /// What differs between two commits: a file, unless they have the same.
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

    /// The speed of what is built in a directory, as a multiple of the first commit's; 1 of any other directory.
    pub(crate) fn speed(&self, directory: &Path) -> f64 {
        self.built_in(directory).map_or(1.0, |truth| 1.0 / truth.factor)
    }

    /// The fault of every execution of what is built in a directory.
    pub(crate) fn fault(&self, directory: &Path) -> Option<Fault> {
        match self.built_in(directory)?.fate {
            Fate::Works | Fate::DoesNotBuild => None,
            Fate::Fails => Some(Fault::Status),
            Fate::Hangs => Some(Fault::Hang),
        }
    }

    fn built_in(&self, directory: &Path) -> Option<&Truth> {
        self.commits.iter().find(|truth| self::directory(truth.tree) == directory)
    }
}

fn fate(broken: f64, random: &mut ChaCha8Rng) -> Fate {
    if !random.random_bool(broken) {
        return Fate::Works;
    }
    *[Fate::DoesNotBuild, Fate::Fails, Fate::Hangs].choose(random).unwrap_or(&Fate::Fails)
}

/// All paths have the same length.
fn directory(tree: u32) -> PathBuf {
    Path::new(BUILDS).join(format!("{tree:08}"))
}
