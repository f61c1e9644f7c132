//! Simulated histories: some unmeasurable commits; steps of the code, the layout and the
//! environment; noise, drift and outliers. A value depends only on the seed, the build and the
//! block.

use faultline_record::bisect::{BisectSettings, Noise, Unusable};
use faultline_record::plan::WhenInconclusive;
use faultline_stats::bisect::{
    BisectResult, Build, FoundStep, LayoutResult, LayoutTrial, LineEvidence, Measured, Next, StepLabel, Trial,
    TrialResult, concluded, next,
};
use faultline_stats::gate::Gate;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A source of random numbers.
pub struct Random(ChaCha8Rng);

impl Random {
    /// A source that depends on all of `words`.
    pub fn of(words: &[u64]) -> Self {
        let mix = |seed: u64, word: &u64| (seed ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        Random(ChaCha8Rng::seed_from_u64(words.iter().fold(0x5851_f42d_4c95_7f2d, mix)))
    }

    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, n: u32) -> u32 {
        (self.uniform() * f64::from(n)) as u32
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }

    pub fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Student's t of 3 degrees of freedom, scaled to a standard deviation of 1.
    fn heavy_tailed(&mut self) -> f64 {
        let square: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / square.sqrt()
    }

    /// The logarithm of a random change of `low` to `high`, up or down; small ones are more
    /// frequent.
    pub fn change(&mut self, low: f64, high: f64) -> f64 {
        let size = (low * (high / low).powf(self.uniform())).ln_1p();
        if self.uniform() < 0.5 { -size } else { size }
    }
}

/// A true step of a history.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrueStep {
    /// The first position after it.
    pub at: u32,
    pub label: StepLabel,
    /// Change of the logarithm.
    pub change: f64,
}

/// A simulated history.
#[derive(Debug, Clone)]
pub struct World {
    pub seed: u64,
    pub last: u32,
    pub steps: Vec<TrueStep>,
    pub unusable: Vec<Option<Unusable>>,
    /// Standard deviation of one execution. 0 for exact values.
    pub noise: f64,
    /// Standard deviation between builds of the same code.
    pub between_builds: f64,
    /// Standard deviation between random layouts.
    pub between_layouts: f64,
    /// True if random layouts affect the program.
    pub is_movable: bool,
    /// Shift of the machine over the time of the search.
    pub drift: f64,
    /// For counts: the position from which tasks contend, and the standard deviation between seeds
    /// before it and from it on.
    pub contention: (u32, [f64; 2]),
}

impl World {
    /// Equal commits, of which the share `broken` cannot be measured.
    pub fn equal(seed: u64, last: u32, noise: f64, broken: f64) -> Self {
        let mut random = Random::of(&[seed, 1]);
        let kinds = [Unusable::Build, Unusable::Build, Unusable::Boot, Unusable::Hang];
        let mut unusable = vec![None; last as usize + 1];
        for state in &mut unusable[1..last as usize] {
            if random.uniform() < broken {
                *state = Some(kinds[random.below(4) as usize]);
            }
        }
        let between_builds = if noise > 0.0 { random.between(0.001, 0.005) } else { 0.0 };
        let steps = Vec::new();
        let is_movable = true;
        let contention = (0, [0.0; 2]);
        World {
            seed,
            last,
            steps,
            unusable,
            noise,
            between_builds,
            between_layouts: 0.015,
            is_movable,
            drift: 0.05,
            contention,
        }
    }

    /// Adds steps at random places, at least four commits apart.
    pub fn with_steps(mut self, kinds: &[(StepLabel, f64, f64)]) -> Self {
        let mut random = Random::of(&[self.seed, 2]);
        for &(label, low, high) in kinds {
            let at = loop {
                let at = 1 + random.below(self.last);
                if self.steps.iter().all(|step| step.at.abs_diff(at) >= 4) {
                    break at;
                }
            };
            self.steps.push(TrueStep { at, label, change: random.change(low, high) });
        }
        self.steps.sort_by_key(|step| step.at);
        self
    }

    /// The test bed: 200 commits, 8 % of them broken, three real steps of 3 to 30 %, two of the
    /// layout, one of the toolchain, noise of 1 to 5 %.
    pub fn test_bed(seed: u64) -> Self {
        let noise = Random::of(&[seed, 3]).between(0.01, 0.05);
        World::equal(seed, 200, noise, 0.08).with_steps(&[
            (StepLabel::Code, 0.03, 0.30),
            (StepLabel::Code, 0.03, 0.30),
            (StepLabel::Code, 0.03, 0.30),
            (StepLabel::Layout, 0.03, 0.10),
            (StepLabel::Layout, 0.03, 0.10),
            (StepLabel::Quirk, 0.03, 0.15),
        ])
    }

    /// A record without any evidence.
    pub fn evidence(&self) -> LineEvidence {
        let quirks = self.steps.iter().filter(|step| step.label == StepLabel::Quirk).map(|step| step.at);
        LineEvidence::new(self.last, quirks.collect())
    }

    /// The result of a trial.
    pub fn tried(&self, position: u32) -> TrialResult {
        self.unusable[position as usize].map_or(TrialResult::Usable, |why| TrialResult::Unusable { why })
    }

    /// The result of a random layout.
    pub fn linked(&self, _: Build) -> LayoutResult {
        if self.is_movable { LayoutResult::Placed } else { LayoutResult::Unchanged }
    }

    /// The value of an execution.
    pub fn value(&self, build: Build, block: u32) -> f64 {
        (self.level(build) + self.disturbance(build, block)).exp()
    }

    /// A count with a seed: exact for build and seed; builds differ as much as seeds.
    pub fn count(&self, build: Build, seed: u32) -> f64 {
        let (from, spreads) = self.contention;
        let spread = spreads[usize::from(build.position >= from)];
        let words = [self.seed, 7, build.position.into(), build.layout.map_or(u64::MAX, u64::from), seed.into()];
        (self.level(build) + spread * Random::of(&words).normal()).exp()
    }

    /// The logarithm without noise.
    fn level(&self, build: Build) -> f64 {
        let mut quirks = 0;
        let mut level = 5.0;
        for step in &self.steps {
            let is_after = match step.label {
                StepLabel::Quirk => {
                    quirks += 1;
                    quirks <= build.environment
                }
                StepLabel::Layout => build.position >= step.at && build.layout.is_none(),
                StepLabel::Code | StepLabel::Inconclusive => build.position >= step.at,
            };
            level += if is_after { step.change } else { 0.0 };
        }
        let words = [self.seed, 4, build.position.into(), build.environment.into()];
        level
            + match build.layout {
                None => self.between_builds * Random::of(&words).normal(),
                Some(layout) => {
                    let words: Vec<u64> = words.into_iter().chain([layout.into()]).collect();
                    if self.noise > 0.0 { self.between_layouts * Random::of(&words).normal() } else { 0.0 }
                }
            }
    }

    fn disturbance(&self, build: Build, block: u32) -> f64 {
        if self.noise == 0.0 {
            return 0.0;
        }
        let layout = build.layout.map_or(u64::MAX, u64::from);
        let words = [self.seed, 5, build.position.into(), build.environment.into(), layout, block.into()];
        let mut random = Random::of(&words);
        // Variation between boots, and between executions of one boot.
        let own = self.noise * (0.5 * random.normal() + 0.75f64.sqrt() * random.heavy_tailed());
        let outlier = if random.uniform() < 0.02 { 0.2 * random.exponential() } else { 0.0 };
        own + outlier + self.machine(block)
    }

    /// The common effect on all executions of a block: a slow rise, a cycle, and phases with a busy
    /// neighbour.
    fn machine(&self, block: u32) -> f64 {
        let time = f64::from(block);
        let is_busy = Random::of(&[self.seed, 6, u64::from(block / 25)]).uniform() < 0.2;
        self.drift * (time / 300.0 + (time / 17.0).sin() + f64::from(u8::from(is_busy)))
    }
}

/// Settings of a search with noise.
pub fn noisy() -> BisectSettings {
    BisectSettings { noise: Noise::Any, level: 0.95, least: 0.02, most_blocks: 400, layouts: 200, thorough: false }
}

/// Settings of a search with exact values.
pub fn exact() -> BisectSettings {
    BisectSettings { noise: Noise::None, level: 0.95, least: 0.0, most_blocks: 1, layouts: 0, thorough: false }
}

/// Settings of a search by counts: two seeds at both ends show whether counts depend on the seed.
pub fn counted() -> BisectSettings {
    BisectSettings { noise: Noise::FromEnds, level: 0.95, least: 0.02, most_blocks: 12, layouts: 0, thorough: false }
}

/// Does all requested work.
pub fn search(world: &World, settings: &BisectSettings) -> (LineEvidence, BisectResult) {
    search_from(world, settings, world.evidence())
}

/// Does all requested work, starting from the recorded evidence.
pub fn search_from(
    world: &World,
    settings: &BisectSettings,
    mut evidence: LineEvidence,
) -> (LineEvidence, BisectResult) {
    let mut block = evidence.measured.iter().map(|measured| measured.block + 1).max().unwrap_or(0);
    loop {
        match next(&evidence, settings) {
            Next::Nothing => break,
            Next::Try { position, environment } => {
                let trial = Trial { position, environment, result: world.tried(position) };
                assert!(!evidence.trials.contains(&trial), "{trial:?} was tried before");
                evidence.trials.push(trial);
                let counts = matches!(settings.noise, Noise::Seeds | Noise::FromEnds);
                if counts && trial.result == TrialResult::Usable {
                    let build = Build::plain(position, environment);
                    evidence.measured.push(Measured { build, block: 0, value: Some(world.count(build, 0)) });
                }
            }
            Next::Relink { builds } => {
                assert!(!builds.is_empty());
                for build in builds {
                    assert!(evidence.layouts.iter().all(|trial| trial.build != build), "{build:?} was linked before");
                    evidence.layouts.push(LayoutTrial { build, result: world.linked(build) });
                }
            }
            Next::Measure { blocks } => {
                assert!(!blocks.is_empty() && blocks.iter().all(|builds| !builds.is_empty()));
                for builds in blocks {
                    let measured = |build| Measured { build, block, value: Some(world.value(build, block)) };
                    evidence.measured.extend(builds.into_iter().map(measured));
                    block += 1;
                }
            }
            Next::Count { seeds } => {
                assert!(!seeds.is_empty() && seeds.iter().all(|(_, builds)| !builds.is_empty()));
                for (block, builds) in seeds {
                    for build in builds {
                        let is_new = |measured: &Measured| (measured.build, measured.block) != (build, block);
                        assert!(evidence.measured.iter().all(is_new), "{build:?} was counted with the seed {block}");
                        let value = Some(world.count(build, block));
                        evidence.measured.push(Measured { build, block, value });
                    }
                }
            }
        }
        assert!(block < 100_000, "the search does not end");
    }
    let result = concluded(&evidence, settings);
    (evidence, result)
}

/// True if `found` is at the step, or is a range that contains it and has no measurable commit.
pub fn is_at(world: &World, found: &FoundStep, step: &TrueStep) -> bool {
    let is_between = found.before < step.at && step.at <= found.after;
    is_between && (found.before + 1..found.after).all(|position| world.unusable[position as usize].is_some())
}

/// Score of searches.
#[derive(Debug, Default, Clone, Copy)]
pub struct Score {
    pub searches: u32,
    /// Searches that found every step of the history at its place, and nothing else.
    pub right: u32,
    /// Such searches in which every label is correct, too.
    pub labelled: u32,
    pub steps: u32,
    pub missed: u32,
    pub invented: u32,
    pub wrong_labels: u32,
    pub inconclusive: u32,
    pub unconfirmed: u32,
    pub trials: u32,
    pub blocks: u32,
    pub executions: u32,
    /// Searches that used more than 1.5·log₂(n) + 4 builds for each step.
    pub costly: u32,
    /// Searches with an open gate, if inconclusive ones close it.
    pub open_gates: u32,
}

impl Score {
    pub fn add(&mut self, world: &World, result: &BisectResult, settings: &BisectSettings) {
        let found = |step: &TrueStep| result.steps.iter().find(|found| is_at(world, found, step));
        let missed = world.steps.iter().filter(|step| found(step).is_none()).count() as u32;
        let is_true = |found: &&FoundStep| world.steps.iter().any(|step| is_at(world, found, step));
        let invented = result.steps.iter().filter(|found| !is_true(found)).count() as u32;
        let labels = || world.steps.iter().filter_map(|step| Some((step.label, found(step)?.label)));
        let inconclusive = labels().filter(|(_, label)| *label == StepLabel::Inconclusive).count() as u32;
        let wrong = labels().filter(|(truth, label)| label != truth).count() as u32 - inconclusive;
        let allowed = world.steps.len().max(1) as f64 * (1.5 * f64::from(world.last).log2() + 4.0);
        self.searches += 1;
        self.right += u32::from(missed + invented == 0);
        self.labelled += u32::from(missed + invented + wrong + inconclusive == 0);
        self.steps += world.steps.len() as u32;
        self.missed += missed;
        self.invented += invented;
        self.wrong_labels += wrong;
        self.inconclusive += inconclusive;
        self.unconfirmed += result.steps.iter().filter(|step| !step.confirmed).count() as u32;
        self.trials += result.trials;
        self.blocks += result.blocks;
        self.executions += result.executions;
        self.costly += u32::from(f64::from(result.trials) > allowed);
        self.open_gates += u32::from(Gate::of_search(result, settings, WhenInconclusive::Fail).is_open());
    }
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let of_searches = |number: u32| f64::from(number) / f64::from(self.searches);
        let of_steps = |number: u32| f64::from(number) / f64::from(self.steps.max(1));
        write!(
            f,
            "{} searches: {} have all steps right, {} all labels too; of {} steps {} missed, {} invented, {} labelled wrong, {} inconclusive, \
             {} unconfirmed; builds per search {:.1}, per step {:.1}, too many in {}; blocks {:.0}, executions {:.0}; {} open gates",
            self.searches,
            self.right,
            self.labelled,
            self.steps,
            self.missed,
            self.invented,
            self.wrong_labels,
            self.inconclusive,
            self.unconfirmed,
            of_searches(self.trials),
            of_steps(self.trials),
            self.costly,
            of_searches(self.blocks),
            of_searches(self.executions),
            self.open_gates,
        )
    }
}
