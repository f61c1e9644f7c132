//! A live comparison: interleaves both sides in random order, with interim looks, until each
//! workload has its answer or the time is used up. A check compares this machine with itself.

use crate::around::before_the_first;
use crate::conclusion::{Ended, Measured};
use crate::database::MeasuringStore;
use crate::error::Error;
use crate::lab::Lab;
use crate::measure::{Stretch, millis};
use crate::partners::{Partners, Planned};
use crate::run::with_usual_pin;
use crate::sides::Sides;
use crate::target::memory_bytes;
use crate::{measure, sides};
use faultline_record::describe::WorkloadInfo;
use faultline_record::machine::Machine;
use faultline_record::plan::{ComparisonPurpose, USUAL_MARGIN};
use faultline_record::quantity::Quantity;
use faultline_record::record::{RunHead, RunId, RunRecord};
use faultline_record::setup::Setup;
use faultline_record::subject::{Subject, SubjectIndex};
use faultline_runner::{ComparisonRequest, PlannedRun, Request, SideMachine, SubjectTargets, Targets, plan_comparison};
use faultline_stats::sequential::{is_hopeless, is_settled, planned_looks, spent_ms};
use faultline_store::{NewRun, Store};
use faultline_targets::{SettingsGuard, Target};
use std::num::NonZeroUsize;
use std::time::Duration;

/// Default confidence level.
pub const USUAL_LEVEL: f64 = 0.95;

/// Number of blocks after which a side without any success is given up.
const HOPELESS_BLOCKS: u32 = 3;

/// The request for a live comparison.
#[derive(Debug, Clone)]
pub struct LiveComparisonRequest {
    /// Workloads, duration and number of repeats.
    pub request: Request,
    /// The sides, and the required confidence. The sides' machines follow from their setups.
    pub comparison: ComparisonRequest,
    /// The machine of sides whose setups name none.
    pub machine: Machine,
    /// Seed of the order; random if `None`.
    pub seed: Option<u64>,
    /// Label of the run.
    pub label: Option<String>,
}

/// Plans a comparison, saves the plan, measures, and concludes. Fails if the request is impossible,
/// a machine or setting is not available, or the database cannot be written.
pub fn compare(request: &LiveComparisonRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    lab.put_back_leftovers()?;
    let mut comparison = request.comparison.clone();
    comparison.sides.iter_mut().for_each(|side| side.machine = request.machine.clone());
    let sides = sides::prepare(&mut comparison.sides, lab)?;
    let [target_a, target_b] = sides.targets();
    let (workloads_a, workloads_b) = (target_a.workloads()?, target_b.workloads()?);
    let machines = [side_machine(target_a, &workloads_a), side_machine(target_b, &workloads_b)];
    let seed = request.seed.unwrap_or_else(measure::any_seed);
    let plan = plan_comparison(&with_usual_pin(&request.request), &comparison, machines, seed)?;
    let planned = |subject| Planned { items: &plan.items, subject, workloads: &workloads_a };
    for (index, side) in SubjectIndex::SIDES.into_iter().zip(&comparison.sides) {
        planned(index).check(&side.setup)?;
    }
    let partners = partners(&mut comparison.sides, planned, lab)?;

    let mut database = MeasuringStore::open_or_create(lab.places)?;
    let store = &mut database.store;
    let session = measure::session(&sides.targets(), lab.clock);
    let new = NewRun {
        label: request.label.as_deref(),
        settings: &plan.settings,
        subjects: &comparison.sides,
        workloads: &workloads_a,
        plan: &plan.items,
        session: &session,
    };
    let targets = &sides.with_partners(&partners);
    let (ended, record) = with_settings(&sides, lab, |lab| {
        let by_subject = Targets::by_subject(targets, &plan.items)?;
        let first = PlannedRun::timed(by_subject, &plan.settings, &comparison.sides, &workloads_a, &plan.items);
        before_the_first(&first, lab)?;
        let run = store.begin_run(&new)?;
        follow(store, run, targets, None, lab)
    })?;
    Measured::of_record(&ended, store, &record)
}

fn side_machine<'a>(target: &dyn Target, workloads: &'a [WorkloadInfo]) -> SideMachine<'a> {
    SideMachine { workloads, usable_cpus: target.cpus().len() as u32, memory_bytes: memory_bytes(target) }
}

/// Continues a comparison that was stopped or killed. `limit_ms`: time limit of each execution
/// instead of the run's own. Fails if its machines or settings are not available, or if the
/// database cannot be written.
pub(crate) fn go_on(
    store: &mut Store,
    head: &RunHead,
    limit_ms: Option<u64>,
    lab: &mut Lab<'_>,
) -> Result<Measured, Error> {
    let [a, b] = SubjectIndex::SIDES;
    let mut subjects = [measure::subject(head, a)?.clone(), measure::subject(head, b)?.clone()];
    let sides = sides::prepare(&mut subjects, lab)?;
    let missing = store.missing_items(head.id)?;
    for (side, target) in SubjectIndex::SIDES.into_iter().zip(sides.targets()) {
        measure::check_resumable(head, &missing, side, target)?;
    }
    let planned = |subject| Planned { items: &missing, subject, workloads: &head.workloads };
    let partners = partners(&mut subjects, planned, lab)?;
    let targets = &sides.with_partners(&partners);
    let (ended, record) = with_settings(&sides, lab, |lab| {
        let by_subject = Targets::by_subject(targets, &missing)?;
        let first = PlannedRun::timed(by_subject, &head.settings, &head.subjects, &head.workloads, &missing);
        before_the_first(&PlannedRun { limit: measure::limit(limit_ms, head), ..first }, lab)?;
        store.resume_run(head.id, &measure::session(&sides.targets(), lab.clock))?;
        follow(store, head.id, targets, limit_ms, lab)
    })?;
    Measured::of_record(&ended, store, &record)
}

/// The partners of both sides, ready to run.
fn partners<'a>(
    sides: &mut [Subject; 2],
    planned: impl Fn(SubjectIndex) -> Planned<'a>,
    lab: &Lab<'_>,
) -> Result<[Partners; 2], Error> {
    let [a, b] = sides;
    let [index_a, index_b] = SubjectIndex::SIDES;
    let prepared = |index, side: &mut Subject| planned(index).prepare(&side.machine, &mut side.setup, lab);
    Ok([prepared(index_a, a)?, prepared(index_b, b)?])
}

/// Measures while we hold the lock on this machine's settings. At the end, checks that they are
/// restored.
fn with_settings<'a, T>(
    sides: &Sides,
    lab: &mut Lab<'a>,
    measured: impl FnOnce(&mut Lab<'a>) -> Result<T, Error>,
) -> Result<T, Error> {
    if sides.host_settings().is_empty() {
        return measured(lab);
    }
    let (guard, put_back) = SettingsGuard::take(sides.host_settings())?;
    lab.tell_put_back(put_back);
    let came = measured(lab);
    let released = guard.release().map_err(Error::from);
    came.and_then(|came| released.map(|()| came))
}

/// Measures from look to look, and returns the record too. Each look adds to the record what was
/// measured since the last one.
fn follow(
    store: &mut Store,
    run: RunId,
    targets: &[SubjectTargets<'_>; 2],
    limit_ms: Option<u64>,
    lab: &mut Lab<'_>,
) -> Result<(Ended, RunRecord), Error> {
    let mut record = store.load_run(run)?;
    let limit = measure::limit(limit_ms, &record);
    // The total over all sessions: a user who stopped the run may have seen results, and must not
    // influence when the time ends.
    let spent_ms = spent_ms(&record);
    let budget_ms = record.settings.timed().and_then(|timed| timed.budget_ms);
    let budget = budget_ms.map(|budget_ms| Duration::from_millis(budget_ms.saturating_sub(spent_ms)));
    let began = lab.clock.monotonic();
    let looks = planned_looks(&record.settings, &record.plan);
    let mut missing = store.missing_items(run)?;
    // Before the first look, checks whether it makes sense to continue.
    let first_sight = looks.first().filter(|look| look.blocks > HOPELESS_BLOCKS).map(|_| (HOPELESS_BLOCKS, false));
    for (blocks, is_look) in first_sight.into_iter().chain(looks.iter().map(|look| (look.blocks, true))) {
        let (items, later): (Vec<_>, Vec<_>) = missing.into_iter().partition(|item| item.block < blocks);
        missing = later;
        let planned = PlannedRun {
            targets: Targets::by_subject(targets, &items)?,
            settings: &record.settings,
            subjects: &record.subjects,
            workloads: &record.workloads,
            items: &items,
            budget: budget.map(|budget| budget.saturating_sub(lab.clock.monotonic() - began)),
            limit,
            jobs: NonZeroUsize::MIN,
        };
        let ended = measure::stretch(store, &record, &planned, lab)?;
        store.load_further(&mut record)?;
        match ended {
            Stretch::Stopped => return Ok((Ended::Stopped, record)),
            Stretch::ConnectionLost(error) => return Err(error),
            Stretch::LeftOut(_) => break,
            Stretch::Whole if is_hopeless(&record) || (is_look && is_settled(&record)) => break,
            Stretch::Whole => {}
        }
    }
    let left: Vec<u32> = store.missing_items(run)?.iter().map(|item| item.ordinal).collect();
    store.skip_items(run, &left)?;
    store.finish_run(run)?;
    store.load_further(&mut record)?;
    Ok((Ended::ToTheEnd, record))
}

/// Workloads that test the machine: memory, processes and names, which different things disturb.
const WORKLOADS: [&str; 3] = ["zero_fill:base", "fork_exit:small", "path_stat:distinct"];

/// The request for a check.
#[derive(Debug, Clone)]
pub struct CheckRequest {
    /// Workloads as `name` or `name:variant`; empty for the default.
    pub workloads: Vec<String>,
    /// Time budget.
    pub time: Duration,
    /// Time limit of each execution in milliseconds.
    pub limit_ms: Option<u64>,
    /// The machine.
    pub machine: Machine,
    /// Seed of the order; random if `None`.
    pub seed: Option<u64>,
}

/// Measures the machine against itself, and concludes whether it is fit.
pub fn check(request: &CheckRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let chosen = &request.workloads;
    let workloads = if chosen.is_empty() { WORKLOADS.map(str::to_owned).to_vec() } else { chosen.clone() };
    let same = |name: &str| Subject::on(name.to_owned(), Machine::Host, Setup::default());
    let comparison = LiveComparisonRequest {
        request: Request {
            workloads,
            budget_ms: Some(millis(request.time)),
            limit_ms: request.limit_ms,
            ..Request::default()
        },
        // One look, when the time is over.
        comparison: ComparisonRequest {
            sides: [same("this machine"), same("itself")],
            quantity: Quantity::Time,
            level: USUAL_LEVEL,
            margin: USUAL_MARGIN,
            once: true,
            purpose: ComparisonPurpose::Check,
        },
        machine: request.machine.clone(),
        seed: request.seed,
        label: Some("check".to_owned()),
    };
    compare(&comparison, lab)
}
