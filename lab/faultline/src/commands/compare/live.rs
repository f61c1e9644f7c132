//! A live comparison: both sides by turns in random order, looked at as it goes on, until each workload has its answer or the time is used up.

use crate::arguments::compare::{Compare, USUAL_LEVEL};
use crate::arguments::{Conduct, OnMachine};
use crate::commands::{measure, resume};
use crate::failure::{self, Failure};
use crate::sides::{self, Preparing, Sides};
use crate::variants::Variants;
use crate::{places, progress};
use faultline_model::plan::PlanItem;
use faultline_model::record::{RunId, RunRecord};
use faultline_model::subject::SubjectIndex;
use faultline_runner::{ComparisonRequest, Completion, PlannedRun, Request, SideMachine, Targets, plan_comparison};
use faultline_stats::sequential::{is_hopeless, is_settled, planned_looks, spent_ms};
use faultline_store::{MeasuringLock, NewRun, Store};
use faultline_targets::{SettingsGuard, StopFlag, Target};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Blocks after which a side that never ended well is given up.
const HOPELESS_BLOCKS: u32 = 3;

/// What a comparison is begun with.
pub(crate) struct Begin<'a> {
    /// What was asked for, but for the machine.
    pub(crate) request: Request,
    /// Its sides.
    pub(crate) comparison: ComparisonRequest,
    /// The machine of sides that name none.
    pub(crate) machine: &'a OnMachine,
    /// Where things are.
    pub(crate) conduct: &'a Conduct,
    /// Sources of the workloads.
    pub(crate) sources: Option<&'a Path>,
    /// Seed of the order.
    pub(crate) seed: Option<u64>,
    /// A name for people.
    pub(crate) label: Option<&'a str>,
}

/// How a comparison went.
pub(crate) enum Went {
    /// It is finished and saved.
    Finished(Store, RunId),
    /// The user stopped it; it can be resumed.
    Stopped,
}

/// The sides that the arguments name, as a comparison.
pub(super) fn comparison(arguments: &Compare) -> Result<ComparisonRequest, Failure> {
    let variants = Variants::read(arguments.config.as_deref())?;
    let side = |text: &Option<String>| variants.setup(text.as_deref().unwrap_or_default());
    Ok(ComparisonRequest {
        sides: [side(&arguments.a)?, side(&arguments.b)?],
        level: arguments.certainty.level.unwrap_or(USUAL_LEVEL),
        precision: arguments.certainty.precision,
    })
}

/// Plans a comparison, saves the plan, and measures.
pub(crate) fn begin(mut begin: Begin<'_>, db: Option<&Path>) -> Result<Went, Failure> {
    let stop = measure::stop_on_signals()?;
    measure::put_back_leftovers()?;
    let preparing =
        Preparing { machine: Some(begin.machine), conduct: begin.conduct, sources: begin.sources, stop: &stop };
    let sides = sides::prepare(&mut begin.comparison.sides, &preparing)?;
    let workloads = sides.targets().map(|target| target.workloads());
    let [workloads_a, workloads_b] = workloads;
    let (workloads_a, workloads_b) = (workloads_a?, workloads_b?);
    let [target_a, target_b] = sides.targets();
    let machine = |target: &dyn Target, workloads| SideMachine { workloads, usable_cpus: target.cpus().len() as u32 };
    let machines = [machine(target_a, &workloads_a), machine(target_b, &workloads_b)];
    let seed = begin.seed.unwrap_or_else(measure::any_seed);
    let plan = plan_comparison(&begin.request, &begin.comparison, machines, seed)?;

    let path = places::database(db)?;
    let mut store = Store::open_or_create(&path)?;
    let lock = MeasuringLock::take(&path)?;
    let session = measure::session(&sides.targets());
    let new = NewRun {
        label: begin.label,
        settings: &plan.settings,
        subjects: &begin.comparison.sides,
        workloads: &workloads_a,
        plan: &plan.items,
        session: &session,
    };
    let (run, went) = with_settings(&sides, || {
        let run = store.begin_run(&new)?;
        Ok((run, follow(&mut store, run, &sides, begin.conduct, &stop)?))
    })?;
    drop(lock);
    Ok(if went { Went::Finished(store, run) } else { Went::Stopped })
}

/// Goes on with a comparison that was stopped or killed. The caller holds the lock.
pub(crate) fn resume(mut store: Store, record: &RunRecord, conduct: &Conduct) -> Result<ExitCode, Failure> {
    let stop = measure::stop_on_signals()?;
    measure::put_back_leftovers()?;
    let [Some(a), Some(b)] = SubjectIndex::SIDES.map(|side| record.subject(side).cloned()) else {
        unreachable!("a comparison is saved with both its sides")
    };
    let sides = sides::prepare(&mut [a, b], &Preparing { machine: None, conduct, sources: None, stop: &stop })?;
    for (side, target) in SubjectIndex::SIDES.into_iter().zip(sides.targets()) {
        resume::check(record, side, target)?;
    }
    let went = with_settings(&sides, || {
        store.resume_run(record.id, &measure::session(&sides.targets()))?;
        follow(&mut store, record.id, &sides, conduct, &stop)
    })?;
    if went { measure::conclude(&store, record.id, conduct) } else { Ok(failure::stopped()) }
}

/// Measures while the settings of this machine that the sides change are ours, and sees at the end that they are as they were.
fn with_settings<T>(sides: &Sides, measured: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    if sides.host_settings().is_empty() {
        return measured();
    }
    let (guard, put_back) = SettingsGuard::take(sides.host_settings()).map_err(Failure::from)?;
    measure::tell_put_back(&put_back);
    let came = measured();
    let released = guard.release().map_err(Failure::from);
    came.and_then(|came| released.map(|()| came))
}

/// Measures from look to look; whether it came to an end.
fn follow(store: &mut Store, run: RunId, sides: &Sides, conduct: &Conduct, stop: &StopFlag) -> Result<bool, Failure> {
    let planned = store.load_run(run)?;
    let limit = conduct.limit.or(planned.settings.limit_ms.map(Duration::from_millis));
    // Over all sessions: whoever stopped it may have seen how it stood, and must not have a say in when the time is over.
    let budget = planned
        .settings
        .timed()
        .and_then(|timed| timed.budget_ms)
        .map(|budget_ms| Duration::from_millis(budget_ms.saturating_sub(spent_ms(&planned))));
    let began = Instant::now();
    let targets = sides.targets();
    let looks: Vec<u32> = planned_looks(&planned).iter().map(|look| look.blocks).collect();
    let first_sight = looks.first().map(|&blocks| blocks.min(HOPELESS_BLOCKS));
    for blocks in first_sight.into_iter().chain(looks) {
        let items: Vec<PlanItem> =
            measure::missing(&store.load_run(run)?).into_iter().filter(|item| item.block < blocks).collect();
        let stretch = PlannedRun {
            targets: Targets::new(&targets),
            settings: &planned.settings,
            subjects: &planned.subjects,
            items: &items,
            budget: budget.map(|budget| budget.saturating_sub(began.elapsed())),
            limit,
            lens: None,
        };
        let mut shown = progress::shown(&planned, conduct.quiet);
        let ran = faultline_runner::run(&stretch, &mut store.journal(run), shown.as_mut(), stop);
        drop(shown);
        match ran? {
            Completion::Stopped => {
                failure::warn(&format!("stopped; what was measured is saved as run {run}"));
                failure::warn(&format!("hint: `faultline resume {run}` goes on"));
                return Ok(false);
            }
            Completion::LeftChanged(text) => return Err(measure::left_changed(&text, run)),
            Completion::BudgetUsed(_) => break,
            Completion::Finished => {}
        }
        let record = store.load_run(run)?;
        if is_hopeless(&record) || is_settled(&record) {
            break;
        }
    }
    let left: Vec<u32> = measure::missing(&store.load_run(run)?).iter().map(|item| item.ordinal).collect();
    store.skip_items(run, &left)?;
    store.finish_run(run)?;
    Ok(true)
}
