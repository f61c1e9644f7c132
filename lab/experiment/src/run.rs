//! A run: a request, its saved plan, its measurement, its conclusion; begun or continued.

use crate::around::before_the_first;
use crate::command_words::command_words;
use crate::conclusion::Measured;
use crate::database::MeasuringStore;
use crate::error::Error;
use crate::installed::{InstallRequest, install};
use crate::lab::Lab;
use crate::measure;
use crate::partners::{Planned, check_joined};
use crate::sides;
use crate::target::memory_bytes;
use faultline_record::machine::Machine;
use faultline_record::plan::{GivenTree, PinPolicy};
use faultline_record::record::RunHead;
use faultline_record::role::Role;
use faultline_record::setup::Setup;
use faultline_record::subject::{Commit, Subject, SubjectIndex};
use faultline_runner::{PlannedRun, Request, Targets, given_command, plan};
use faultline_store::{NewRun, Store};
use faultline_targets::search_path::program_file;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The request for a run.
#[derive(Debug, Clone, Default)]
pub struct RunRequest {
    /// Workloads, durations and repeats. The tree and the time of a boot follow from the other
    /// fields.
    pub request: Request,
    /// A real source tree to build.
    pub tree: Option<TreeRequest>,
    /// The command to measure instead of workloads. Its machine follows from the other fields.
    pub command: Option<Subject>,
    /// The machine.
    pub machine: Machine,
    /// The file to install on the machine before it reboots and is measured.
    pub install: Option<InstallRequest>,
    /// The machines of the partners.
    pub partners: BTreeMap<Role, Machine>,
    /// Seed of the order; a random one if `None`.
    pub seed: Option<u64>,
    /// Label of the run.
    pub label: Option<String>,
    /// The commit of the subject; `None` if unknown.
    pub commit: Option<Commit>,
}

/// A real source tree to build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeRequest {
    /// Its directory.
    pub directory: PathBuf,
    /// The command that builds it, which is split into words as in a shell.
    pub command: String,
}

/// Plans a run, saves the plan, measures, and concludes. Fails if the request is impossible, if the
/// machine or workloads are not available, or if the database cannot be written.
pub fn run(request: &RunRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let tree = request.tree.as_ref().map(|tree| given_tree(tree, &request.machine)).transpose()?;
    let (name, mut setup) = given(request)?;
    sides::check(&setup, &request.machine)?;
    lab.put_back_leftovers()?;
    if let Some(installed) = &request.install {
        install(installed, &request.machine, lab)?;
    }
    check_joined(&request.machine, request.partners.values(), lab)?;
    lab.note_machine(&request.machine, lab.places);
    let ready = lab.machines.ready(&request.machine, lab.places, lab.stop)?;
    let target = ready.target.as_ref();
    let workloads = target.workloads().map_err(Error::target_as_usage)?;
    let seed = request.seed.unwrap_or_else(measure::any_seed);
    let boot_ms = measure::millis(target.overhead());
    let mut asked = Request { tree, boot_ms, memory_bytes: memory_bytes(target), ..with_usual_pin(&request.request) };
    if name.is_some() {
        let pin = request.request.pin.or_else(|| is_alone(&request.request).then_some(PinPolicy::None)).or(asked.pin);
        asked = Request { workloads: vec![given_command()], command_given: true, pin, ..asked };
    }
    let plan = plan(&asked, &workloads, target.cpus().len() as u32, seed)?;
    let planned = Planned { items: &plan.items, subject: SubjectIndex::A, workloads: &workloads };
    planned.check(&setup)?;
    let partners = planned.prepare(&request.machine, &mut setup, lab)?;
    let machine = ready.machine;
    let name = name.unwrap_or_else(|| machine.to_string());
    let subjects = [Subject { commit: request.commit.clone(), ..Subject::on(name, machine, setup) }];
    let targets = partners.beside(target);
    let by_subject = Targets::shared(&targets);

    let mut database = MeasuringStore::open_or_create(lab.places)?;
    before_the_first(&PlannedRun::timed(by_subject, &plan.settings, &subjects, &workloads, &plan.items), lab)?;
    let new = NewRun {
        label: request.label.as_deref(),
        settings: &plan.settings,
        subjects: &subjects,
        workloads: &workloads,
        plan: &plan.items,
        session: &measure::session(&[target], lab.clock),
    };
    let run = database.store.begin_run(&new)?;
    let ended = measure::to_the_end(&mut database.store, run, &targets, None, None, lab)?;
    Measured::of(&ended, &mut database.store, run)
}

/// Continues a run that was stopped or killed. `limit_ms`: time limit of each execution instead of
/// the run's own. Fails if its machine or workloads are not available, or if the database cannot be
/// written.
pub(crate) fn go_on(
    store: &mut Store,
    head: &RunHead,
    limit_ms: Option<u64>,
    lab: &mut Lab<'_>,
) -> Result<Measured, Error> {
    let run = head.id;
    let subject = measure::subject(head, SubjectIndex::A)?;
    check_joined(&subject.machine, subject.setup.partners.values(), lab)?;
    lab.note_machine(&subject.machine, lab.places);
    let ready = lab.machines.ready(&subject.machine, lab.places, lab.stop)?;
    let target = ready.target.as_ref();
    let missing = store.missing_items(run)?;
    measure::check_resumable(head, &missing, SubjectIndex::A, target)?;
    let planned = Planned { items: &missing, subject: SubjectIndex::A, workloads: &head.workloads };
    let partners = planned.prepare(&subject.machine, &mut subject.setup.clone(), lab)?;
    let targets = partners.beside(target);
    let first = PlannedRun::timed(Targets::shared(&targets), &head.settings, &head.subjects, &head.workloads, &missing);
    before_the_first(&PlannedRun { limit: measure::limit(limit_ms, head), ..first }, lab)?;
    store.resume_run(run, &measure::session(&[target], lab.clock))?;
    let ended = measure::to_the_end(store, run, &targets, limit_ms, None, lab)?;
    Measured::of(&ended, store, run)
}

/// True for a command without copies. It may use all CPUs.
fn is_alone(request: &Request) -> bool {
    request.cpus.as_ref().is_none_or(|counts| counts.iter().all(|count| *count == 1))
}

/// Name and setup of the subject. Without a command the name is that of the machine: `None`. A
/// command runs in the present directory, also after a resume from another one.
fn given(request: &RunRequest) -> Result<(Option<String>, Setup), Error> {
    let partners = request.partners.clone();
    let Some(command) = &request.command else { return Ok((None, Setup { partners, ..Setup::default() })) };
    let directory = sides::absolute(Path::new("."), "the command's directory")?;
    let directory = Some(directory.to_string_lossy().into_owned());
    Ok((Some(command.name.clone()), Setup { partners, directory, ..command.setup.clone() }))
}

/// The request with its pin policy filled in. OpenBSD cannot bind a task to a CPU.
pub(crate) fn with_usual_pin(request: &Request) -> Request {
    let usual = if cfg!(target_os = "openbsd") { PinPolicy::None } else { PinPolicy::Each };
    Request { pin: Some(request.pin.unwrap_or(usual)), ..request.clone() }
}

/// The tree in its saved form. A user's tree exists on this host only.
fn given_tree(tree: &TreeRequest, machine: &Machine) -> Result<GivenTree, Error> {
    let TreeRequest { directory, command } = tree;
    let whole = directory.canonicalize().map_err(|error| {
        Error::usage(
            format!("cannot use the tree {}: {error}", directory.display()),
            "`--tree` takes a directory with sources",
        )
    })?;
    let Some(whole_text) = whole.to_str() else {
        return Err(Error::usage(
            format!("the name of the tree {} is not UTF-8", whole.display()),
            "rename it; the name is saved with the run as text",
        ));
    };
    let words = command_words(command, "for example `--command 'make -j{tasks}'`")?;
    if !words[0].contains('{') {
        program_file(&words[0], &whole, None).map_err(Error::target_as_usage)?;
    }
    if !machine.is_here() {
        return Err(Error::usage(
            format!("the tree {} is on this host only", directory.display()),
            "build it on this host, without `--on`",
        ));
    }
    Ok(GivenTree { directory: whole_text.to_owned(), command: words })
}
