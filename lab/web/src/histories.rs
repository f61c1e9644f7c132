//! Histories in the database: a series with the values of each commit, by subject, repository,
//! measure, number of tasks and host.
//!
//! A series is slow to compute from the results of all its runs, so it is kept until one of them
//! changes. The database is read again only after a while, for any number of clients.

use crate::database::{READ, Reader};
use crate::problem::Problem;
use crate::token::hex;
use faultline_experiment::stored::{self, StoredHistory};
use faultline_experiment::{Concluded, Error, ErrorKind, Places};
use faultline_record::change_event::PlacedEvent;
use faultline_record::commit::CommitLine;
use faultline_record::job::{Job, JobState, JobWork};
use faultline_record::plan::{CommitOrder, KindOfRun, RunKind};
use faultline_record::quirk::DeclaredQuirk;
use faultline_record::record::{RunHead, RunId, RunLine, RunProgress, RunState};
use faultline_record::subject::{BuildResult, SubjectIndex};
use faultline_report::site::Executed;
use faultline_stats::history::{
    CommitOutcome, HistoryRun, HistorySeries, SeriesEvidence, StepSettings, evidence, measuring_host, series, states,
};
use faultline_stats::machine_facts::KnownMachine;
use faultline_stats::machines::machines as machines_of;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch::{Receiver, channel};
use tokio::time::timeout;

/// Minimum time between two reads.
const FRESH: Duration = Duration::from_secs(2);
/// The time between two reads as a multiple of a read's duration, so that reads take little of the
/// machine.
const TIMES_READING: u32 = 4;
/// Maximum time between two reads.
const OLDEST: Duration = Duration::from_secs(60);

/// Sessions whose facts are read for the overview.
const STARTS: u32 = 50;

/// Bytes of a history's identifier.
const ID_BYTES: usize = 8;

/// Quirks that only `faultline.toml` declares, by subject and repository. The database does not
/// have them.
#[derive(Debug, Clone, Default)]
pub struct DeclaredQuirks(BTreeMap<(String, String), Vec<DeclaredQuirk>>);

impl DeclaredQuirks {
    /// Adds those of a subject. `repository` is its directory, as saved with runs.
    pub fn add(&mut self, subject: String, repository: String, quirks: Vec<DeclaredQuirk>) {
        self.0.insert((subject, repository), quirks);
    }

    /// The quirks of a subject.
    pub(crate) fn of(&self, subject: &str, repository: &str) -> &[DeclaredQuirk] {
        self.0.get(&(subject.to_owned(), repository.to_owned())).map_or(&[], Vec::as_slice)
    }
}

/// Mark of the newest state of a change. Another mark means that a person or a search set a state
/// since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SaidMark {
    newest: i64,
    searches: Vec<(RunId, RunState)>,
}

impl SaidMark {
    /// The current mark. Fails if the database cannot be read.
    pub(crate) fn now(runs: &[RunLine], places: &Places) -> Result<Self, Error> {
        let searches = runs.iter().filter(|run| run.kind == KindOfRun::Bisect);
        let searches = searches.map(|run| (run.id, run.state)).collect();
        Ok(SaidMark { newest: stored::newest_mark(places)?, searches })
    }
}

/// A history with its origin.
#[derive(Debug, Clone)]
pub(crate) struct History {
    /// Identifier in addresses, which stays the same when the history grows.
    pub(crate) id: String,
    /// Commits and steps.
    pub(crate) series: HistorySeries,
    /// Executions of each commit with a result, by its name.
    pub(crate) executed: BTreeMap<String, Executed>,
    /// Evidence for its steps other than the values of its commits.
    pub(crate) evidence: SeriesEvidence,
    /// Its runs and their progress. Other progress makes another series.
    made_of: Vec<RunProgress>,
    /// Order of its commits, from the newest run.
    order: CommitOrder,
}

impl History {
    /// True if one of its runs is unfinished.
    pub(crate) fn goes_on(&self) -> bool {
        self.made_of.iter().any(|mark| mark.state == RunState::Open)
    }

    /// True if a run measured it.
    pub(crate) fn has_run(&self, run: RunId) -> bool {
        self.made_of.iter().any(|mark| mark.id == run)
    }
}

/// Contents of the database at one moment.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// All runs, newest first.
    pub(crate) runs: Vec<RunLine>,
    /// Machines of the newest runs.
    pub(crate) machines: Vec<KnownMachine>,
    /// All histories, by subject and number of tasks.
    pub(crate) histories: Vec<Arc<History>>,
    /// Runs of histories that cannot be read, because they are damaged or of another version.
    pub(crate) unreadable: Vec<RunId>,
    /// Mark of the newest state that was read.
    pub(crate) said: SaidMark,
}

impl Snapshot {
    /// The history with an identifier.
    pub(crate) fn history(&self, id: &str) -> Result<Arc<History>, Problem> {
        let found = self.histories.iter().find(|history| history.id == id);
        found.cloned().ok_or_else(|| Problem::not_found("there is no such history", "`/api/v1/histories` lists all"))
    }

    /// The history of a job; `None` if its runs were deleted.
    pub(crate) fn named(&self, job: &Job) -> Option<&History> {
        self.histories.iter().map(Arc::as_ref).find(|history| history.series.name() == job.series)
    }

    /// The run that measures a commit for a job, if a machine does: the newest unfinished one of
    /// the history. Runs do not name their job, but one at a time measures a history; older
    /// unfinished ones were killed.
    pub(crate) fn run_of(&self, job: &Job) -> Option<&RunLine> {
        let is_measured = job.state == JobState::Taken && matches!(job.work, JobWork::Measure { .. });
        let history = self.named(job).filter(|_| is_measured)?;
        let open = self.runs.iter().filter(|run| run.state == RunState::Open && history.has_run(run.id));
        open.max_by_key(|run| run.id)
    }

    /// The histories of the same subject and measure, with this one, by number of tasks.
    pub(crate) fn siblings(&self, of: &History) -> Vec<Arc<History>> {
        let same = |one: &&Arc<History>| {
            let (a, b) = (&one.series, &of.series);
            (&a.subject, &a.repository, a.quantity) == (&b.subject, &b.repository, b.quantity)
        };
        self.histories.iter().filter(same).cloned().collect()
    }
}

/// The cache of histories.
pub(crate) struct Histories {
    reader: Reader,
    declared: Arc<DeclaredQuirks>,
    /// Longest wait of a request for a read.
    patience: Duration,
    keeping: Arc<Mutex<Keeping>>,
}

/// The last read, and the one in progress.
#[derive(Default)]
struct Keeping {
    kept: Option<Kept>,
    reading: Option<Receiver<Ended>>,
    /// Number of announced writes.
    writes: u64,
}

struct Kept {
    /// Time at which it becomes too old.
    until: Instant,
    snapshot: Arc<Snapshot>,
}

/// Result of a read; `None` until it has ended.
type Ended = Option<Result<Arc<Snapshot>, Problem>>;

impl Histories {
    pub(crate) fn new(reader: Reader, declared: DeclaredQuirks) -> Self {
        Histories { reader, declared: Arc::new(declared), patience: READ, keeping: Arc::default() }
    }

    /// Announces a write: the next request reads again. A read in progress may lack the write.
    pub(crate) fn expire(&self) {
        let mut keeping = lock(&self.keeping);
        keeping.writes += 1;
        keeping.reading = None;
        if let Some(kept) = keeping.kept.as_mut() {
            kept.until = Instant::now();
        }
    }

    /// The contents of the database, which may be slightly out of date. Concurrent requests share a
    /// read. Fails if the database cannot be read in time; the read then continues for later
    /// requests. Failures are not kept.
    pub(crate) async fn now(&self) -> Result<Arc<Snapshot>, Problem> {
        let mut reading = {
            let mut keeping = lock(&self.keeping);
            if let Some(kept) = keeping.kept.as_ref().filter(|kept| Instant::now() < kept.until) {
                return Ok(Arc::clone(&kept.snapshot));
            }
            match &keeping.reading {
                Some(reading) => reading.clone(),
                None => self.begin(&mut keeping),
            }
        };
        match timeout(self.patience, reading.wait_for(Option::is_some)).await {
            Err(_) => Err(Problem::still_reading()),
            Ok(ended) => ended.ok().and_then(|ended| ended.clone()).unwrap_or_else(|| Err(Problem::internal())),
        }
    }

    /// Starts a read on a separate task, which no request can end.
    fn begin(&self, keeping: &mut Keeping) -> Receiver<Ended> {
        let before = keeping.kept.as_ref().map(|kept| Arc::clone(&kept.snapshot)).unwrap_or_default();
        let (sender, receiver) = channel(None);
        keeping.reading = Some(receiver.clone());
        let (reader, shared) = (self.reader.clone(), Arc::clone(&self.keeping));
        let (declared, writes) = (Arc::clone(&self.declared), keeping.writes);
        tokio::spawn(async move {
            let begun = Instant::now();
            let read = reader.read_to_the_end(move |places| read(&before, &declared, places)).await.map(Arc::new);
            let mut keeping = lock(&shared);
            if keeping.writes == writes {
                keeping.reading = None;
                if let Ok(snapshot) = &read {
                    let fresh = (begun.elapsed() * TIMES_READING).clamp(FRESH, OLDEST);
                    keeping.kept = Some(Kept { until: Instant::now() + fresh, snapshot: Arc::clone(snapshot) });
                }
            }
            drop(keeping);
            // The requests may have ended.
            let _ = sender.send(Some(read));
        });
        receiver
    }
}

/// No code panics while it holds the lock.
fn lock(keeping: &Mutex<Keeping>) -> MutexGuard<'_, Keeping> {
    keeping.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Identity of a history, common to its runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    subject: String,
    repository: String,
    measure: &'static str,
    tasks: u32,
    /// Host, because each machine that measures a subject has a separate history.
    host: Option<String>,
}

impl Key {
    fn of(series: &HistorySeries) -> Self {
        Key {
            subject: series.subject.clone(),
            repository: series.repository.clone(),
            measure: series.quantity.word(),
            tasks: series.tasks,
            host: series.host.clone(),
        }
    }

    fn of_run(head: &RunHead) -> Option<Self> {
        let history = head.settings.history()?;
        Some(Key {
            subject: history.subject.clone(),
            repository: history.repository.clone(),
            measure: history.measure.quantity().word(),
            tasks: *head.settings.cpus.first()?,
            host: measuring_host(head),
        })
    }

    /// The identifier: a hash, because the texts come from outside.
    fn id(&self) -> String {
        let mut hash = Sha256::new();
        let tasks = self.tasks.to_string();
        // Counts have no host.
        let parts = [&self.subject, &self.repository, self.measure, &tasks];
        for part in parts.into_iter().chain(self.host.as_deref()) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hex(&hash.finalize()[..ID_BYTES])
    }
}

/// A run of a history, without the parts that a series does not need.
struct Loaded {
    run: StoredHistory,
    /// The run's subject built from each commit, if its build succeeded.
    subjects: BTreeMap<String, SubjectIndex>,
    mark: RunProgress,
}

/// The contents of the database, with unchanged histories from `before`. Fails if the database
/// cannot be read.
pub(crate) fn read(before: &Snapshot, declared: &DeclaredQuirks, places: &Places) -> Result<Snapshot, Error> {
    // Progress comes first: a run that continues meanwhile is read again next time.
    let progress = stored::progress_of_histories(places)?;
    let runs = stored::described_runs(&before.runs, &progress, places)?;
    let said = SaidMark::now(&runs, places)?;
    let of_histories: BTreeMap<RunId, RunProgress> = progress.into_iter().map(|mark| (mark.id, mark)).collect();
    let is_unchanged =
        |history: &&Arc<History>| history.made_of.iter().all(|mark| of_histories.get(&mark.id) == Some(mark));
    let unchanged: Vec<&Arc<History>> = before.histories.iter().filter(is_unchanged).collect();
    let known: BTreeSet<RunId> = unchanged.iter().flat_map(|history| &history.made_of).map(|mark| mark.id).collect();

    let mut groups = Groups { places, by_key: BTreeMap::new(), unreadable: Vec::new() };
    for mark in of_histories.values().rev().filter(|mark| !known.contains(&mark.id)) {
        groups.load(*mark)?;
    }
    let mut histories = Vec::new();
    for history in unchanged {
        match groups.by_key.remove(&Key::of(&history.series)) {
            None => histories.push(Arc::clone(history)),
            Some(further) => {
                let all: BTreeSet<RunId> =
                    further.iter().map(|loaded| &loaded.mark).chain(&history.made_of).map(|mark| mark.id).collect();
                for mark in all.iter().rev().filter_map(|run| of_histories.get(run)) {
                    groups.load(*mark)?;
                }
            }
        }
    }
    histories.extend(groups.by_key.into_iter().filter_map(|(key, runs)| history(&key, &runs, declared)).map(Arc::new));
    histories.sort_by_cached_key(|history| Key::of(&history.series));
    let histories = with_states(histories, before, &said, places)?;
    // A run saves facts when it starts or is resumed.
    let may_have_changed = runs.iter().any(|run| run.state == RunState::Open) || runs.len() != before.runs.len();
    let machines = match may_have_changed || before.machines.is_empty() {
        true => machines_of(&stored::newest_facts(STARTS, places)?),
        false => before.machines.clone(),
    };
    Ok(Snapshot { runs, machines, histories, unreadable: groups.unreadable, said })
}

/// Runs by history, newest first in each.
struct Groups<'a> {
    places: &'a Places,
    by_key: BTreeMap<Key, Vec<Loaded>>,
    unreadable: Vec<RunId>,
}

impl Groups<'_> {
    /// Loads a run into its group, after the newer ones. Fails if the database cannot be read.
    fn load(&mut self, mark: RunProgress) -> Result<(), Error> {
        let conclusion = match stored::conclusion(Some(mark.id), self.places) {
            Ok(conclusion) => conclusion,
            // Deleted meanwhile.
            Err(error) if error.kind == ErrorKind::Usage => return Ok(()),
            Err(error) if error.kind == ErrorKind::Unanswerable => {
                self.unreadable.push(mark.id);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let (Some(key), Concluded::History(results)) = (Key::of_run(&conclusion.head), conclusion.what) else {
            self.unreadable.push(mark.id);
            return Ok(());
        };
        let group = self.by_key.entry(key).or_default();
        let mut run = StoredHistory { head: conclusion.head, results: *results };
        let subjects = built_subjects(&run.head);
        lighten(&mut run.head, group.is_empty());
        group.push(Loaded { run, subjects, mark });
        Ok(())
    }
}

/// The subject built from each commit itself: not relinked, and without a reverted commit.
fn built_subjects(head: &RunHead) -> BTreeMap<String, SubjectIndex> {
    let mut built = BTreeMap::new();
    for (index, subject) in (0..).map(SubjectIndex).zip(&head.subjects) {
        if let (Some(commit), None | Some(BuildResult::Built)) = (&subject.commit, &subject.build) {
            built.entry(commit.id.clone()).or_insert(index);
        }
    }
    built
}

/// Drops parts that a series does not need: thousands of subjects, and the commits of older runs.
fn lighten(head: &mut RunHead, is_newest: bool) {
    head.subjects.clear();
    if let (RunKind::History(history), false) = (&mut head.settings.kind, is_newest) {
        history.measured.line = CommitLine { commits: Vec::new() };
        history.wanted.clear();
    }
}

/// The history of runs, given newest first.
fn history(key: &Key, loaded: &[Loaded], declared: &DeclaredQuirks) -> Option<History> {
    let runs: Vec<HistoryRun<'_>> =
        loaded.iter().map(|one| HistoryRun { head: &one.run.head, results: &one.run.results }).collect();
    let quirks = declared.of(&key.subject, &key.repository);
    let series = series(&runs, quirks, &StepSettings::default()).ok().flatten()?;
    let is_of_it = |one: &&Loaded| series.runs.contains(&one.mark.id);
    let mut executed = BTreeMap::new();
    // The newest result of a commit counts, as in the series.
    for (one, result) in
        loaded.iter().filter(is_of_it).flat_map(|one| one.run.results.commits.iter().map(move |result| (one, result)))
    {
        let measured = match &result.outcome {
            CommitOutcome::Measured { values, boots, layouts, same_as } => Executed {
                values: values.clone(),
                boots: boots.clone(),
                in_layouts: layouts.as_ref().map_or_else(Vec::new, |layouts| layouts.samples.clone()),
                subject: one.subjects.get(same_as.as_ref().unwrap_or(&result.commit)).copied(),
            },
            CommitOutcome::Unusable(_) => {
                Executed { subject: one.subjects.get(&result.commit).copied(), ..Executed::default() }
            }
        };
        executed.entry(result.commit.clone()).or_insert(measured);
    }
    let newest = loaded.iter().find(is_of_it).and_then(|one| one.run.head.settings.history());
    let order = newest.map(|history| history.order).unwrap_or_default();
    let of_it: Vec<HistoryRun<'_>> = loaded
        .iter()
        .filter(is_of_it)
        .map(|one| HistoryRun { head: &one.run.head, results: &one.run.results })
        .collect();
    Some(History {
        order,
        evidence: evidence(&series, &of_it),
        id: key.id(),
        series,
        executed,
        made_of: loaded.iter().map(|one| one.mark).collect(),
    })
}

/// The histories with the states of their steps. Histories from `before` keep theirs, unless a
/// state was set since. Fails if the database cannot be read.
fn with_states(
    histories: Vec<Arc<History>>,
    before: &Snapshot,
    now: &SaidMark,
    places: &Places,
) -> Result<Vec<Arc<History>>, Error> {
    let is_kept = |history: &Arc<History>| {
        before.said == *now && before.histories.iter().any(|before| Arc::ptr_eq(before, history))
    };
    let changed: Vec<_> = histories.iter().filter(|history| !is_kept(history)).map(|history| &history.series).collect();
    let mut said = stored::marks_of_all(&changed, places)?.into_iter();
    let with_states = |history: Arc<History>| match is_kept(&history) {
        true => history,
        false => with_marks(history, &said.next().unwrap_or_default()),
    };
    Ok(histories.into_iter().map(with_states).collect())
}

/// The history with the states of its steps.
fn with_marks(history: Arc<History>, said: &[PlacedEvent]) -> Arc<History> {
    let mut history = Arc::unwrap_or_clone(history);
    let order = history.order;
    states(&mut history.series, said, order);
    Arc::new(history)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::StatusCode;
    use faultline_store::Store;
    use std::path::Path;

    fn places(database: &Path) -> Places {
        Places { database: Some(database.to_owned()), ..Places::find().unwrap() }
    }

    #[test]
    fn a_read_that_takes_long_is_kept_for_the_next_request() {
        // Reads wait for the only thread on which they can run.
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
        let (release, released) = std::sync::mpsc::channel::<()>();
        runtime.spawn_blocking(move || released.recv());
        runtime.block_on(refused_then_kept(release));
    }

    async fn refused_then_kept(release: std::sync::mpsc::Sender<()>) {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("db.sqlite");
        drop(Store::open_or_create(&database).unwrap());
        let histories = Histories {
            patience: Duration::ZERO,
            ..Histories::new(Reader::new(places(&database), Arc::new(|_: &str| {})), DeclaredQuirks::default())
        };
        let refused = histories.now().await.unwrap_err();
        assert_eq!(
            (refused.status, refused.problem.as_str()),
            (StatusCode::SERVICE_UNAVAILABLE, "the histories are still being read")
        );
        drop(release);
        let until = Instant::now() + Duration::from_secs(60);
        while lock(&histories.keeping).kept.is_none() {
            assert!(Instant::now() < until, "the read does not end");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(histories.now().await.is_ok());
    }

    #[tokio::test]
    async fn a_read_that_fails_is_not_kept() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("db.sqlite");
        let histories =
            Histories::new(Reader::new(places(&database), Arc::new(|_: &str| {})), DeclaredQuirks::default());
        assert_eq!(histories.now().await.unwrap_err().status, StatusCode::SERVICE_UNAVAILABLE);
        drop(Store::open_or_create(&database).unwrap());
        assert!(histories.now().await.is_ok());
    }

    #[test]
    fn a_run_whose_database_cannot_be_reached_is_neither_deleted_nor_unreadable() {
        let nowhere = places(Path::new("postgres://x@127.0.0.1:1/x"));
        let mut groups = Groups { places: &nowhere, by_key: BTreeMap::new(), unreadable: Vec::new() };
        let mark = RunProgress {
            id: RunId(1),
            state: RunState::Open,
            subjects: 1,
            sessions: 1,
            planned: 1,
            first_block: 1,
            skipped: 0,
            attempts: 0,
            ended: 0,
        };
        assert_eq!(groups.load(mark).unwrap_err().kind, ErrorKind::Unusable);
        assert_eq!(groups.unreadable, []);
    }
}
