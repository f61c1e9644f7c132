//! The experiment of a seed: what is asked for, and how much goes wrong.

use crate::workload::SPEED;
use faultline_experiment::{Error, Lab, LiveComparisonRequest, Measured, RunRequest};
use faultline_model::machine::Machine;
use faultline_model::plan::ComparisonPurpose;
use faultline_model::setup::Setup;
use faultline_model::subject::Subject;
use faultline_runner::{ComparisonRequest, Request};
use rand::Rng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;
use std::time::Duration;

/// Duration of a guest's boot.
pub(crate) const BOOT: Duration = Duration::from_secs(1);

/// How the second side of a comparison differs from the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// Not at all.
    None,
    /// It is a third faster.
    Faster,
    /// It is a third slower.
    Slower,
}

impl Difference {
    fn speed(self) -> f64 {
        match self {
            Difference::None => 1.0,
            Difference::Faster => 4.0 / 3.0,
            Difference::Slower => 3.0 / 4.0,
        }
    }
}

/// What is compared.
#[derive(Debug, Clone, Copy)]
struct Compared {
    difference: Difference,
    margin: f64,
    once: bool,
}

/// The experiment of a seed.
#[derive(Debug)]
pub(crate) struct Scenario {
    request: Request,
    machine: Machine,
    seed: u64,
    compared: Option<Compared>,
    /// Share of the executions that something befalls.
    pub(crate) fault_share: f64,
    /// The same of a comparison's second side.
    pub(crate) fault_share_b: f64,
    /// The database is there already.
    pub(crate) has_database: bool,
    /// Lives that something may befall.
    pub(crate) troubled_lives: u32,
}

impl Scenario {
    pub(crate) fn of(seed: u64, random: &mut ChaCha8Rng) -> Self {
        let is_comparison = random.random_bool(0.4);
        let differences = [Difference::None, Difference::None, Difference::Faster, Difference::Slower];
        let compared = is_comparison.then(|| Compared {
            difference: *differences.choose(random).unwrap_or(&Difference::None),
            margin: *[0.005, 0.02, 0.1].choose(random).unwrap_or(&0.02),
            once: random.random_bool(0.25),
        });
        let shares: [f64; 4] = if is_comparison { [0.0, 0.0, 0.05, 0.2] } else { [0.0, 0.1, 0.3, 0.9] };
        let fault_share = *shares.choose(random).unwrap_or(&0.0);
        let machine = machine(random);
        Scenario {
            request: request(is_comparison, &machine, random),
            machine,
            seed,
            compared,
            fault_share,
            fault_share_b: if random.random_bool(0.05) { 1.0 } else { fault_share },
            has_database: random.random_bool(0.9),
            troubled_lives: random.random_range(0..5),
        }
    }

    /// A comparison of two equal sides in that many blocks that no look settles, and that nothing befalls.
    pub(crate) fn calm_comparison(blocks: u32) -> Self {
        let request = Request {
            workloads: vec!["spin".to_owned()],
            cpus: Some(vec![1]),
            repeats: Some(blocks),
            warmup_ms: Some(0),
            window_ms: Some(100),
            interval_ms: Some(50),
            ..Request::default()
        };
        Scenario {
            request,
            machine: Machine::Host,
            seed: 1,
            compared: Some(Compared { difference: Difference::None, margin: 0.0, once: false }),
            fault_share: 0.0,
            fault_share_b: 0.0,
            has_database: false,
            troubled_lives: 0,
        }
    }

    /// Begins it.
    pub(crate) fn begin(&self, lab: &mut Lab<'_>) -> Result<Measured, Error> {
        let (request, machine) = (self.request.clone(), self.machine.clone());
        let (seed, label) = (Some(self.seed), Some(format!("seed {}", self.seed)));
        let Some(Compared { difference, margin, once }) = self.compared else {
            return faultline_experiment::run(
                &RunRequest { request, machine, seed, label, ..RunRequest::default() },
                lab,
            );
        };
        let environment = [(SPEED.to_owned(), difference.speed().to_string())].into();
        let side = |name: &str, setup| Subject::on(name.to_owned(), Machine::Host, setup);
        let sides = [side("old", Setup::default()), side("new", Setup { environment, ..Setup::default() })];
        let comparison = ComparisonRequest { sides, level: 0.95, margin, once, purpose: ComparisonPurpose::Answer };
        faultline_experiment::compare(&LiveComparisonRequest { request, comparison, machine, seed, label }, lab)
    }

    /// Whether two sides are compared.
    pub(crate) fn is_comparison(&self) -> bool {
        self.compared.is_some()
    }

    /// How the sides differ, where two are compared.
    pub(crate) fn difference(&self) -> Option<Difference> {
        self.compared.map(|compared| compared.difference)
    }

    /// The time budget: of a plain run for each life, of a comparison for all.
    pub(crate) fn budget(&self) -> Option<Duration> {
        self.request.budget_ms.map(Duration::from_millis)
    }
}

fn request(is_comparison: bool, machine: &Machine, random: &mut ChaCha8Rng) -> Request {
    let mut names = ["spin", "shuffle:near", "shuffle:far", "assemble"];
    names.shuffle(random);
    let count = random.random_range(1..=2);
    let cpus = if is_comparison {
        vec![1]
    } else {
        [vec![1], vec![2], vec![1, 2]].choose(random).cloned().unwrap_or_default()
    };
    let repeats = if is_comparison { random.random_range(8..=12) } else { random.random_range(2..=4) };
    let interval_ms = 50;
    let (warmup_ms, window_ms) = (interval_ms * random.random_range(0..2), interval_ms * random.random_range(2..5));
    let boot_ms = if machine.guest().is_some() { BOOT.as_millis() as u64 } else { 0 };
    // Less time than one block takes is refused. A block of a comparison holds both sides.
    let sides = if is_comparison { 2 } else { 1 };
    let block_ms = (sides * count * cpus.len()) as u64 * (warmup_ms + window_ms + boot_ms);
    Request {
        workloads: names[..count].iter().map(|&name| name.to_owned()).collect(),
        cpus: Some(cpus),
        repeats: Some(repeats),
        budget_ms: random.random_bool(0.3).then(|| random.random_range(block_ms.max(500)..20_000)),
        limit_ms: random.random_bool(0.3).then(|| random.random_range(3_000..60_000)),
        warmup_ms: Some(warmup_ms),
        window_ms: Some(window_ms),
        interval_ms: Some(interval_ms),
        ..Request::default()
    }
}

/// The host, or a guest, which boots for each execution.
fn machine(random: &mut ChaCha8Rng) -> Machine {
    let guest = "qemu:cpus=2".parse();
    if random.random_bool(0.2) { guest.unwrap_or_default() } else { Machine::Host }
}
