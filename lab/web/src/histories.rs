//! The histories in the database: for each subject, repository, number of tasks and measure its series, with the values of each commit.
//!
//! A series takes long to compute: the results of all its runs are read, and its steps are found. So it is kept until one of its runs changes. Runs are
//! looked for again only after a moment, however many clients ask meanwhile.

use crate::problem::Problem;
use crate::quirks::DeclaredQuirks;
use crate::reading::Reader;
use crate::said::SaidMark;
use crate::token::hex;
use faultline_experiment::stored::{self, StoredHistory};
use faultline_experiment::{Concluded, Error, ErrorKind, Places};
use faultline_model::commit::CommitLine;
use faultline_model::count::Count;
use faultline_model::history::change::PlacedEvent;
use faultline_model::history::{CommitOutcome, HistorySeries};
use faultline_model::named_change::SeriesName;
use faultline_model::plan::{KindOfRun, RunKind};
use faultline_model::record::{RunHead, RunId, RunLine, RunState};
use faultline_stats::history::{HistoryRun, StepSettings, series, states};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// How old the answer to a request may be.
const FRESH: Duration = Duration::from_secs(2);

/// Bytes of a history's identifier.
const ID_BYTES: usize = 8;

/// A history, and how it came to be.
#[derive(Debug, Clone)]
pub(crate) struct History {
    /// Names it in addresses. It stays the same as the history goes on.
    pub(crate) id: String,
    /// Its commits and steps.
    pub(crate) series: HistorySeries,
    /// The values of each commit that was measured, by its name.
    pub(crate) values: BTreeMap<String, Vec<f64>>,
    /// The runs that it came from, and how far each was. Another state makes another series.
    made_of: Vec<Mark>,
}

impl History {
    /// Whether one of its runs is not finished.
    pub(crate) fn goes_on(&self) -> bool {
        self.made_of.iter().any(|mark| mark.1 == RunState::Open)
    }

    /// Whether a run is one of those that measured it.
    pub(crate) fn has_run(&self, run: RunId) -> bool {
        self.made_of.iter().any(|mark| mark.0 == run)
    }
}

/// What is in the database, at one moment.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// All runs, the newest first.
    pub(crate) runs: Vec<RunLine>,
    /// All histories, by subject and number of tasks.
    pub(crate) histories: Vec<Arc<History>>,
    /// Runs of histories that cannot be read: another version saved them, or they are damaged.
    pub(crate) unreadable: Vec<RunId>,
    /// Up to where the states of changes were read.
    pub(crate) said: SaidMark,
}

impl Snapshot {
    /// The history with that identifier.
    pub(crate) fn history(&self, id: &str) -> Result<Arc<History>, Problem> {
        let found = self.histories.iter().find(|history| history.id == id);
        found.cloned().ok_or_else(|| Problem::not_found("there is no such history", "`/api/v1/histories` lists all"))
    }

    /// The history and those of the same subject and measure with other numbers of tasks, by tasks.
    pub(crate) fn siblings(&self, of: &History) -> Vec<Arc<History>> {
        let same = |one: &&Arc<History>| {
            let (a, b) = (&one.series, &of.series);
            (&a.subject, &a.repository, a.counted) == (&b.subject, &b.repository, b.counted)
        };
        self.histories.iter().filter(same).cloned().collect()
    }
}

/// The histories, kept.
pub(crate) struct Histories {
    reader: Reader,
    declared: Arc<DeclaredQuirks>,
    kept: Mutex<Option<Kept>>,
}

#[derive(Clone)]
struct Kept {
    /// When it was read; `None` if it has to be read again.
    at: Option<Instant>,
    snapshot: Arc<Snapshot>,
}

impl Histories {
    pub(crate) fn new(reader: Reader, declared: DeclaredQuirks) -> Self {
        Histories { reader, declared: Arc::new(declared), kept: Mutex::new(None) }
    }

    /// Lets the next request read again, because something was written.
    pub(crate) async fn expire(&self) {
        if let Some(kept) = self.kept.lock().await.as_mut() {
            kept.at = None;
        }
    }

    /// What is in the database now, or was a moment ago. One request reads, and those that come meanwhile get what it finds. Fails if the database cannot be read in time.
    pub(crate) async fn now(&self) -> Result<Arc<Snapshot>, Problem> {
        let mut kept = self.kept.lock().await;
        if let Some(kept) = kept.as_ref().filter(|kept| kept.at.is_some_and(|at| at.elapsed() < FRESH)) {
            return Ok(Arc::clone(&kept.snapshot));
        }
        let before = kept.as_ref().map(|kept| Arc::clone(&kept.snapshot)).unwrap_or_default();
        let declared = Arc::clone(&self.declared);
        let snapshot = Arc::new(self.reader.read(move |places| read(&before, &declared, places)).await?);
        *kept = Some(Kept { at: Some(Instant::now()), snapshot: Arc::clone(&snapshot) });
        Ok(snapshot)
    }
}

/// What makes runs belong to one history.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    subject: String,
    repository: String,
    measure: &'static str,
    tasks: u32,
}

impl Key {
    fn of(series: &HistorySeries) -> Self {
        Key {
            subject: series.subject.clone(),
            repository: series.repository.clone(),
            measure: measure(series.counted),
            tasks: series.tasks,
        }
    }

    fn of_run(head: &RunHead) -> Option<Self> {
        let history = head.settings.history()?;
        Some(Key {
            subject: history.subject.clone(),
            repository: history.repository.clone(),
            measure: measure(history.measure.counted().map(|counted| counted.what)),
            tasks: *head.settings.cpus.first()?,
        })
    }

    /// Texts come from outside, so the identifier has a hash of them.
    fn id(&self) -> String {
        let mut hash = Sha256::new();
        for part in [&self.subject, &self.repository, self.measure, &self.tasks.to_string()] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hex(&hash.finalize()[..ID_BYTES])
    }
}

/// The word for a measure.
pub(crate) fn measure(counted: Option<Count>) -> &'static str {
    match counted {
        None => "time",
        Some(Count::Instructions) => "instructions",
        Some(Count::Transfers) => "transfers",
    }
}

/// How far a run is.
type Mark = (RunId, RunState, u32);

fn mark(line: &RunLine) -> Mark {
    (line.id, line.state, line.ended)
}

/// A run of a history, with as much of it as its series needs.
struct Loaded {
    run: StoredHistory,
    mark: Mark,
}

/// What is in the database, with the histories that have not changed taken from `before`. Fails if the database cannot be read.
pub(crate) fn read(before: &Snapshot, declared: &DeclaredQuirks, places: &Places) -> Result<Snapshot, Error> {
    let runs = stored::runs(places)?;
    let said = SaidMark::now(&runs, places)?;
    let of_histories: BTreeMap<RunId, Mark> =
        runs.iter().filter(|run| run.kind == KindOfRun::History).map(|run| (run.id, mark(run))).collect();
    let is_unchanged =
        |history: &&Arc<History>| history.made_of.iter().all(|mark| of_histories.get(&mark.0) == Some(mark));
    let unchanged: Vec<&Arc<History>> = before.histories.iter().filter(is_unchanged).collect();
    let known: BTreeSet<RunId> = unchanged.iter().flat_map(|history| &history.made_of).map(|mark| mark.0).collect();

    let mut groups = Groups { places, by_key: BTreeMap::new(), unreadable: Vec::new() };
    of_histories.values().rev().filter(|mark| !known.contains(&mark.0)).for_each(|mark| groups.load(*mark));
    let mut histories = Vec::new();
    for history in unchanged {
        match groups.by_key.remove(&Key::of(&history.series)) {
            None => histories.push(Arc::clone(history)),
            Some(further) => {
                let all: BTreeSet<RunId> =
                    further.iter().map(|loaded| &loaded.mark).chain(&history.made_of).map(|mark| mark.0).collect();
                all.iter().rev().filter_map(|run| of_histories.get(run)).for_each(|mark| groups.load(*mark));
            }
        }
    }
    histories.extend(groups.by_key.into_iter().filter_map(|(key, runs)| history(&key, &runs, declared)).map(Arc::new));
    histories.sort_by_cached_key(|history| Key::of(&history.series));
    let histories = with_states(histories, before, &said, places)?;
    Ok(Snapshot { runs, histories, unreadable: groups.unreadable, said })
}

/// Runs of histories, those of each the newest first.
struct Groups<'a> {
    places: &'a Places,
    by_key: BTreeMap<Key, Vec<Loaded>>,
    unreadable: Vec<RunId>,
}

impl Groups<'_> {
    /// Loads a run into its group; the newer ones are there already.
    fn load(&mut self, mark: Mark) {
        let conclusion = match stored::conclusion(Some(mark.0), self.places) {
            Ok(conclusion) => conclusion,
            // It was deleted meanwhile.
            Err(error) if error.kind == ErrorKind::Usage => return,
            Err(_) => return self.unreadable.push(mark.0),
        };
        let (Some(key), Concluded::History(results)) = (Key::of_run(&conclusion.head), conclusion.what) else {
            return self.unreadable.push(mark.0);
        };
        let group = self.by_key.entry(key).or_default();
        let mut run = StoredHistory { head: conclusion.head, results: *results };
        lighten(&mut run.head, group.is_empty());
        group.push(Loaded { run, mark });
    }
}

/// Drops what a series does not need: thousands of subjects, and the line of commits except that of the newest run.
fn lighten(head: &mut RunHead, is_newest: bool) {
    head.subjects.clear();
    if let (RunKind::History(history), false) = (&mut head.settings.kind, is_newest) {
        history.measured.line = CommitLine { commits: Vec::new() };
        history.wanted.clear();
    }
}

/// The history that runs make, the newest run first.
fn history(key: &Key, loaded: &[Loaded], declared: &DeclaredQuirks) -> Option<History> {
    let runs: Vec<HistoryRun<'_>> =
        loaded.iter().map(|one| HistoryRun { head: &one.run.head, results: &one.run.results }).collect();
    let quirks = declared.of(&key.subject, &key.repository);
    let series = series(&runs, quirks, &StepSettings::default()).ok().flatten()?;
    let is_of_it = |one: &&Loaded| series.runs.contains(&one.mark.0);
    let mut values = BTreeMap::new();
    // The newest result of a commit counts, as in the series.
    for result in loaded.iter().filter(is_of_it).flat_map(|one| &one.run.results.commits) {
        let measured = match &result.outcome {
            CommitOutcome::Measured { values, .. } => values.clone(),
            CommitOutcome::Unusable(_) => Vec::new(),
        };
        values.entry(result.commit.clone()).or_insert(measured);
    }
    Some(History { id: key.id(), series, values, made_of: loaded.iter().map(|one| one.mark).collect() })
}

/// The histories with the states of their steps. Those of `before` have theirs, unless something was said since. Fails if the database cannot be read.
fn with_states(
    histories: Vec<Arc<History>>,
    before: &Snapshot,
    now: &SaidMark,
    places: &Places,
) -> Result<Vec<Arc<History>>, Error> {
    let is_kept = |history: &Arc<History>| {
        before.said == *now && before.histories.iter().any(|before| Arc::ptr_eq(before, history))
    };
    let names: Vec<SeriesName> =
        histories.iter().filter(|history| !is_kept(history)).map(|history| history.series.name()).collect();
    let mut said = stored::said_of_all(&names, places)?.into_iter();
    let with_states = |history: Arc<History>| match is_kept(&history) {
        true => history,
        false => with_said(history, &said.next().unwrap_or_default()),
    };
    Ok(histories.into_iter().map(with_states).collect())
}

/// The history with the states that follow from what was said.
fn with_said(history: Arc<History>, said: &[PlacedEvent]) -> Arc<History> {
    let mut history = Arc::unwrap_or_clone(history);
    states(&mut history.series, said);
    Arc::new(history)
}
