//! The experiment of a seed: what is asked for, and how much goes wrong.

use crate::fault::Fault;
use crate::history::History;
use crate::workload::SPEED;
use faultline_experiment::{CheckRequest, Error, Lab, LiveComparisonRequest, Measured, RunRequest};
use faultline_history::bisect::{BisectRequest, bisect_in};
use faultline_history::declared::HistorySubject;
use faultline_history::history_run::{Ran, run as measure};
use faultline_history::over::{Asked, Over};
use faultline_history::request::{LineRequest, MeasureRequest};
use faultline_history::{Commits, Pick, Walk, Which};
use faultline_record::artefact::Artefact;
use faultline_record::machine::Machine;
use faultline_record::plan::{ComparisonPurpose, PinPolicy, WhenInconclusive};
use faultline_record::quantity::Quantity;
use faultline_record::recipe::Recipe;
use faultline_record::relink::LayoutKind;
use faultline_record::setup::Setup;
use faultline_record::subject::Subject;
use faultline_runner::{ComparisonRequest, Request};
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::time::Duration;

/// Duration of a guest's boot.
pub(crate) const BOOT: Duration = Duration::from_secs(1);

/// Difference between the second side of a comparison and the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// Not at all.
    None,
    /// A third faster.
    Faster,
    /// A third slower.
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

/// The sides of a comparison.
#[derive(Debug, Clone, Copy)]
struct Compared {
    difference: Difference,
    margin: f64,
    once: bool,
    purpose: ComparisonPurpose,
}

/// Kind of an experiment.
#[derive(Debug, Clone)]
enum Kind {
    Run,
    Comparison(Compared),
    Check,
    Search(History),
    /// Each commit of a history is measured that often.
    History(History, u32),
}

/// The experiment of a seed.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    request: Request,
    machine: Machine,
    seed: u64,
    kind: Kind,
    /// Share of the executions with a fault.
    pub(crate) fault_share: f64,
    /// Share of the second side's executions with a fault, in a comparison.
    pub(crate) fault_share_b: f64,
    /// The database is there already.
    pub(crate) has_database: bool,
    /// Number of lives in which an event may happen.
    pub(crate) troubled_lives: u32,
}

impl Scenario {
    pub(crate) fn of(seed: u64, random: &mut ChaCha8Rng) -> Self {
        let kind = match random.random_range(0..100) {
            0..4 => Kind::History(History::any(random), random.random_range(1..=4)),
            4..50 => Kind::Run,
            50..80 => Kind::Comparison(Compared::any(random)),
            80..90 => Kind::Check,
            _ => Kind::Search(History::any(random)),
        };
        let shares: &[f64] = match kind {
            Kind::Run => &[0.0, 0.1, 0.3, 0.9],
            Kind::Comparison(_) | Kind::Check => &[0.0, 0.0, 0.05, 0.2],
            Kind::Search(_) | Kind::History(..) => &[0.0, 0.0, 0.02, 0.1],
        };
        let fault_share = *shares.choose(random).unwrap_or(&0.0);
        let machine = machine(random);
        Scenario {
            request: request(&kind, &machine, random),
            machine,
            seed,
            fault_share_b: if random.random_bool(0.05) { 1.0 } else { fault_share },
            kind,
            fault_share,
            has_database: random.random_bool(0.9),
            troubled_lives: random.random_range(0..5),
        }
    }

    /// A comparison of two equal sides in that many blocks that no look settles, without events and
    /// faults.
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
        let (difference, purpose) = (Difference::None, ComparisonPurpose::Answer);
        Self::calm(Kind::Comparison(Compared { difference, margin: 0.0, once: false, purpose }), request)
    }

    /// A search of that many commits, of which every tenth is slower than the one before, without
    /// events and faults.
    pub(crate) fn calm_search(commits: u32) -> Self {
        Self::calm(Kind::Search(History::calm(commits)), Request::default())
    }

    fn calm(kind: Kind, request: Request) -> Self {
        Scenario {
            request,
            machine: Machine::Host,
            seed: 1,
            kind,
            fault_share: 0.0,
            fault_share_b: 0.0,
            has_database: false,
            troubled_lives: 0,
        }
    }

    /// Begins it. `commits`: those of its history, if it has one.
    pub(crate) fn begin(&self, commits: &dyn Commits, lab: &mut Lab<'_>) -> Result<Measured, Error> {
        let (request, machine) = (self.request.clone(), self.machine.clone());
        let (seed, label) = (Some(self.seed), Some(format!("seed {}", self.seed)));
        match &self.kind {
            Kind::Run => {
                let request = RunRequest { request, machine, seed, label, ..RunRequest::default() };
                faultline_experiment::run(&request, lab)
            }
            Kind::Comparison(compared) => {
                let comparison = compared.request();
                let request = LiveComparisonRequest { request, comparison, machine, seed, label };
                faultline_experiment::compare(&request, lab)
            }
            Kind::Check => {
                let time = Duration::from_millis(request.budget_ms.unwrap_or_default());
                let Request { workloads, limit_ms, .. } = request;
                faultline_experiment::check(&CheckRequest { workloads, time, limit_ms, machine, seed }, lab)
            }
            Kind::Search(history) => bisect_in(&self.search_request(history), commits, lab),
            Kind::History(_, repeats) => {
                let subject = self.subject(*repeats);
                let over = Over { subject: &subject, measure: &subject.measures[0] };
                match measure(&over, Asked::Missing { retry: false, measured: 0 }, commits, lab)? {
                    Ran::Measured { measured, .. } | Ran::Continued(measured) => Ok(measured),
                    Ran::Nothing { picked } => {
                        Err(Error::failed(format!("{picked} commits have results"), "start a new run"))
                    }
                }
            }
        }
    }

    /// The subject of a history of which every commit is measured.
    fn subject(&self, repeats: u32) -> HistorySubject {
        HistorySubject {
            name: "simulated".to_owned(),
            table: "simulated".to_owned(),
            line: self.line(),
            which: Which::Branch {
                newest: "new".to_owned(),
                since: Some("old".to_owned()),
                pick: Pick::Every(1),
                walk: Walk::FirstParent,
            },
            measures: vec![MeasureRequest::Executions {
                quantity: Some(Quantity::Time),
                pin: PinPolicy::None,
                tasks: 1,
            }],
            repeats,
            seeds_by_ends: false,
            layouts: 0,
            commit_layouts: 0,
            quirks: Vec::new(),
        }
    }

    fn line(&self) -> LineRequest {
        LineRequest {
            repository: "/simulated".into(),
            work: None,
            releases: Vec::new(),
            recipe: recipe(),
            artefact: Artefact::Command(vec!["./program".to_owned()]),
            on: None,
            release_file: None,
            layout_kind: LayoutKind::default(),
            limit_ms: Some(5_000),
            seed: Some(self.seed),
        }
    }

    fn search_request(&self, history: &History) -> BisectRequest {
        BisectRequest {
            line: self.line(),
            old: "old".to_owned(),
            new: "new".to_owned(),
            search: history.settings,
            also: Vec::new(),
            measure: MeasureRequest::Executions { quantity: Some(Quantity::Time), pin: PinPolicy::None, tasks: 1 },
            label: Some(format!("seed {}", self.seed)),
            gate: history.gate,
            // The simulated clock is fast.
            time: Some(Duration::from_secs(1 << 30)),
            revert: false,
        }
    }

    /// True if two sides are compared.
    pub(crate) fn is_comparison(&self) -> bool {
        matches!(self.kind, Kind::Comparison(_) | Kind::Check)
    }

    /// Difference between the sides of a comparison.
    pub(crate) fn difference(&self) -> Option<Difference> {
        match &self.kind {
            Kind::Comparison(compared) => Some(compared.difference),
            Kind::Check => Some(Difference::None),
            Kind::Run | Kind::Search(_) | Kind::History(..) => None,
        }
    }

    /// Number of executions of each commit of a history; `None` for other experiments.
    pub(crate) fn repeats_of_history(&self) -> Option<u32> {
        match &self.kind {
            Kind::History(_, repeats) => Some(*repeats),
            Kind::Run | Kind::Comparison(_) | Kind::Check | Kind::Search(_) => None,
        }
    }

    /// The commits of a search, or of a history.
    pub(crate) fn history(&self) -> Option<&History> {
        match &self.kind {
            Kind::Search(history) | Kind::History(history, _) => Some(history),
            Kind::Run | Kind::Comparison(_) | Kind::Check => None,
        }
    }

    /// The random numbers of an item of a search, or of a history. They depend on nothing else, so
    /// one that was killed measures the same as one that was not.
    pub(crate) fn random_of_item(&self, ordinal: u32) -> ChaCha8Rng {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(1 + u64::from(ordinal));
        random
    }

    /// The fault of an execution in a search, if any.
    pub(crate) fn fault_in_search(&self, random: &mut ChaCha8Rng) -> Option<Fault> {
        random.random_bool(self.fault_share).then(|| Fault::any(false, random))
    }

    /// The time budget: of a plain run for each life, of a comparison for all.
    pub(crate) fn budget(&self) -> Option<Duration> {
        self.request.budget_ms.map(Duration::from_millis)
    }
}

fn recipe() -> Recipe {
    Recipe {
        command: vec!["make".to_owned()],
        environment: Vec::new(),
        limit_s: 60,
        kept: Vec::new(),
        is_clean: false,
        ..Recipe::default()
    }
}

impl Compared {
    fn any(random: &mut ChaCha8Rng) -> Self {
        let differences = [Difference::None, Difference::None, Difference::Faster, Difference::Slower];
        let purposes = [
            ComparisonPurpose::Answer,
            ComparisonPurpose::Gate(WhenInconclusive::Fail),
            ComparisonPurpose::Gate(WhenInconclusive::Pass),
        ];
        Compared {
            difference: *differences.choose(random).unwrap_or(&Difference::None),
            margin: *[0.005, 0.02, 0.1].choose(random).unwrap_or(&0.02),
            once: random.random_bool(0.25),
            purpose: *purposes.choose(random).unwrap_or(&ComparisonPurpose::Answer),
        }
    }

    fn request(&self) -> ComparisonRequest {
        let environment = [(SPEED.to_owned(), self.difference.speed().to_string())].into();
        let side = |name: &str, setup| Subject::on(name.to_owned(), Machine::Host, setup);
        let sides = [side("old", Setup::default()), side("new", Setup { environment, ..Setup::default() })];
        ComparisonRequest {
            sides,
            quantity: Quantity::Time,
            level: 0.95,
            margin: self.margin,
            once: self.once,
            purpose: self.purpose,
        }
    }
}

fn request(kind: &Kind, machine: &Machine, random: &mut ChaCha8Rng) -> Request {
    let is_comparison = matches!(kind, Kind::Comparison(_) | Kind::Check);
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
        budget_ms: match kind {
            Kind::Check => Some(random.random_range(10_000..30_000)),
            Kind::Search(_) | Kind::History(..) => None,
            Kind::Run | Kind::Comparison(_) => {
                random.random_bool(0.3).then(|| random.random_range(block_ms.max(500)..20_000))
            }
        },
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
