//! Loaded runs: complete, without attempts, or updated with later additions.

use crate::connection::{
    Connection, Failure, Purpose, Result, Row, Value, from_bounded_json, from_json, from_word, params,
};
use crate::{Store, StoreError, checksum};
use faultline_record::bounds::Bounded;
use faultline_record::cell::{Case, Cell, TaskMode};
use faultline_record::direction::Direction;
use faultline_record::explained::StepExplained;
use faultline_record::journal::AttemptId;
use faultline_record::lens::reading::Reading;
use faultline_record::plan::{PlanItem, Settings, Timing};
use faultline_record::protocol::{Interval, Measure, Usage, UsageScope};
use faultline_record::record::{Attempt, RunHead, RunId, RunRecord, RunState, Session};
use faultline_record::subject::{Commit, Subject, SubjectIndex};
use faultline_record::time::UnixMillis;
use std::collections::BTreeMap;

impl Store {
    /// Details of the steps of a search or history; empty if none are saved. Fails if the database
    /// cannot be read.
    pub fn explained(&self, run: RunId) -> Result<Vec<StepExplained>, StoreError> {
        read_explained(&self.connection, run).map_err(self.failed("read the run from"))
    }

    /// A complete run. Fails if there is no such run, or if the database cannot be read.
    pub fn load_run(&self, run: RunId) -> Result<RunRecord, StoreError> {
        self.load(run, Intervals::Each)
    }

    /// A run with one interval per phase of an attempt: total length, and total operations of each
    /// task. Rates are the same, and a run with millions of samples needs little memory. Fails if
    /// there is no such run, or if the database cannot be read.
    pub fn load_run_without_samples(&self, run: RunId) -> Result<RunRecord, StoreError> {
        self.load(run, Intervals::Together)
    }

    /// A run with the items and attempts of two subjects only, for comparing two commits of a long
    /// history. The subjects may be equal. Intervals are combined as in
    /// [`Store::load_run_without_samples`]. Without items and attempts if the run was deleted.
    /// Fails if the database cannot be read.
    pub fn load_subjects_of(&self, head: &RunHead, subjects: [SubjectIndex; 2]) -> Result<RunRecord, StoreError> {
        read_subjects_of(&self.connection, head, subjects).map_err(self.failed("read a run from"))
    }

    /// The settings of a run. Fails if there is no such run, or if the database cannot be read.
    pub fn load_settings(&self, run: RunId) -> Result<Settings, StoreError> {
        let query = "SELECT settings FROM run WHERE id = ?1 AND kind <> 'deleted'";
        let settings = self.connection.optional_row(query, params![run.0], |row| from_bounded_json(row, 0));
        settings.map_err(self.failed("read a run from"))?.ok_or_else(|| StoreError::no_run(run, &self.location))
    }

    fn load(&self, run: RunId, intervals: Intervals) -> Result<RunRecord, StoreError> {
        let record = read_run(&self.connection, run, intervals).map_err(self.failed("read a run from"))?;
        record.ok_or_else(|| StoreError::no_run(run, &self.location))
    }

    /// Updates a loaded record to that of [`Store::load_run`]. Reads only additions, because an
    /// ended attempt is never altered. Fails if the run was deleted or the database cannot be read,
    /// and then leaves the record as it was.
    pub fn load_further(&self, record: &mut RunRecord) -> Result<(), StoreError> {
        let further = read_further(&self.connection, record).map_err(self.failed("read a run from"))?;
        further.map(|further| further.add_to(record)).ok_or_else(|| StoreError::no_run(record.id, &self.location))
    }

    /// A run without its plan and attempts. Fails if there is no such run, or if the database
    /// cannot be read.
    pub fn load_head(&self, run: RunId) -> Result<RunHead, StoreError> {
        let head = read_head(&self.connection, run).map_err(self.failed("read a run from"))?;
        head.ok_or_else(|| StoreError::no_run(run, &self.location))
    }
}

pub(crate) fn state(finished: bool) -> RunState {
    if finished { RunState::Finished } else { RunState::Open }
}

/// Form in which intervals are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Intervals {
    /// As saved.
    Each,
    /// Combined to one per phase.
    Together,
}

impl Intervals {
    /// Adds an interval to its phase.
    fn add(self, further: Interval, to: &mut Vec<Interval>) {
        let length_ns = further.to_ns.saturating_sub(further.from_ns);
        match (self, to.last_mut()) {
            (Intervals::Together, Some(all)) => {
                all.to_ns = all.to_ns.saturating_add(length_ns);
                all.operations.resize(all.operations.len().max(further.operations.len()), 0);
                for (sum, count) in all.operations.iter_mut().zip(&further.operations) {
                    *sum = sum.saturating_add(*count);
                }
            }
            (Intervals::Together, None) => {
                to.push(Interval { from_ns: 0, to_ns: length_ns, operations: further.operations });
            }
            (Intervals::Each, _) => to.push(further),
        }
    }
}

fn read_run(connection: &Connection, run: RunId, intervals: Intervals) -> Result<Option<RunRecord>> {
    // One snapshot for all queries, because a run may write at the same time.
    connection.transaction(Purpose::Read, |snapshot| {
        let Some(head) = empty_head(snapshot, run)? else { return Ok(None) };
        let mut record =
            RunRecord { head, plan: Vec::new(), skipped: Vec::new(), attempts: Vec::new(), explained: Vec::new() };
        Further::of_record(snapshot, &record, intervals)?.add_to(&mut record);
        Ok(Some(record))
    })
}

fn read_head(connection: &Connection, run: RunId) -> Result<Option<RunHead>> {
    connection.transaction(Purpose::Read, |snapshot| {
        let Some(mut head) = empty_head(snapshot, run)? else { return Ok(None) };
        head.subjects = read_subjects(snapshot, run, 0)?;
        head.sessions = read_sessions(snapshot, run, 0)?;
        Ok(Some(head))
    })
}

/// A run with the items and attempts of two subjects.
fn read_subjects_of(connection: &Connection, head: &RunHead, subjects: [SubjectIndex; 2]) -> Result<RunRecord> {
    connection.transaction(Purpose::Read, |snapshot| {
        let mut plan = read_plan(snapshot, head.id, 0)?;
        plan.retain(|item| subjects.contains(&item.subject));
        let attempts = read_attempts(snapshot, head.id, &Those::OfSubjects(subjects), Intervals::Together)?;
        let skipped = read_skipped(snapshot, head.id)?;
        Ok(RunRecord { head: head.clone(), plan, skipped, attempts, explained: Vec::new() })
    })
}

/// The additions to a record; `None` if its run was deleted.
fn read_further(connection: &Connection, record: &RunRecord) -> Result<Option<Further>> {
    connection.transaction(Purpose::Read, |snapshot| {
        let there = "SELECT finished FROM run WHERE id = ?1 AND kind <> 'deleted'";
        let is_there = snapshot.optional_row(there, params![record.id.0], |_| Ok(()))?.is_some();
        if is_there { Further::of_record(snapshot, record, Intervals::Each).map(Some) } else { Ok(None) }
    })
}

/// Additions to a run since its record was loaded.
struct Further {
    state: RunState,
    subjects: Vec<Subject>,
    sessions: Vec<Session>,
    plan: Vec<PlanItem>,
    /// All skipped items.
    skipped: Vec<u32>,
    /// Number of attempts at the start of the record that are unchanged.
    kept: usize,
    attempts: Vec<Attempt>,
    /// All details of steps.
    explained: Vec<StepExplained>,
}

impl Further {
    fn of_record(snapshot: &Connection, record: &RunRecord, intervals: Intervals) -> Result<Self> {
        let run = record.id;
        let query = "SELECT finished FROM run WHERE id = ?1";
        let finished = snapshot.row(query, params![run.0], |row| row.get(0))?;
        let is_open = |attempt: &Attempt| attempt.outcome.is_none();
        let kept = record.attempts.iter().position(is_open).unwrap_or(record.attempts.len());
        let after = record.attempts[..kept].last().map_or(0, |attempt| attempt.id.0);
        Ok(Further {
            state: state(finished),
            subjects: read_subjects(snapshot, run, record.subjects.len())?,
            sessions: read_sessions(snapshot, run, record.sessions.len())?,
            plan: read_plan(snapshot, run, record.plan.last().map_or(0, |last| last.ordinal + 1))?,
            skipped: read_skipped(snapshot, run)?,
            kept,
            attempts: read_attempts(snapshot, run, &Those::After(after), intervals)?,
            explained: read_explained(snapshot, run)?,
        })
    }

    fn add_to(self, record: &mut RunRecord) {
        record.head.state = self.state;
        record.head.subjects.extend(self.subjects);
        record.head.sessions.extend(self.sessions);
        record.plan.extend(self.plan);
        record.skipped = self.skipped;
        record.attempts.truncate(self.kept);
        record.attempts.extend(self.attempts);
        record.explained = self.explained;
    }
}

/// The head of a run, without subjects and sessions.
fn empty_head(snapshot: &Connection, run: RunId) -> Result<Option<RunHead>> {
    let query = "SELECT label, settings, workloads, finished FROM run WHERE id = ?1 AND kind <> 'deleted'";
    snapshot.optional_row(query, params![run.0], |row| {
        Ok(RunHead {
            id: run,
            label: row.get(0)?,
            settings: from_bounded_json(row, 1)?,
            subjects: Vec::new(),
            workloads: from_json(row, 2)?,
            state: state(row.get(3)?),
            sessions: Vec::new(),
        })
    })
}

/// The subjects from a number on.
fn read_subjects(connection: &Connection, run: RunId, from: usize) -> Result<Vec<Subject>> {
    let query = "SELECT name, what, commit_id, repository, setup, machine, build FROM subject
                 WHERE run_id = ?1 AND number >= ?2 ORDER BY number";
    connection.rows(query, params![run.0, from as i64], |row| {
        let repository = row.get(3)?;
        let commit = row.get::<Option<String>>(2)?.map(|id| Commit { id, repository });
        let build = match row.value(6)? {
            Value::Null => None,
            _ => Some(from_json(row, 6)?),
        };
        let (what, setup, machine) = (from_json(row, 1)?, from_json(row, 4)?, from_json(row, 5)?);
        Ok(Subject { name: row.get(0)?, what, commit, build, setup, machine })
    })
}

/// Details of a run's steps; empty if they cannot be parsed.
fn read_explained(connection: &Connection, run: RunId) -> Result<Vec<StepExplained>> {
    let query = "SELECT json FROM explained WHERE run_id = ?1";
    let text = connection.optional_row(query, params![run.0], |row| row.get::<String>(0))?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

/// The sessions from a number on.
fn read_sessions(connection: &Connection, run: RunId, from: usize) -> Result<Vec<Session>> {
    let query = "SELECT started_ms FROM session WHERE run_id = ?1 AND number >= ?2 ORDER BY number";
    let those = params![run.0, from as i64];
    let mut sessions =
        connection.rows(query, those, |row| Ok(Session { started: UnixMillis(row.get(0)?), facts: Vec::new() }))?;
    let query =
        "SELECT session, facts FROM session_facts WHERE run_id = ?1 AND session >= ?2 ORDER BY session, subject";
    for (session, facts) in connection.rows(query, those, |row| Ok((row.get::<u32>(0)?, from_json(row, 1)?)))? {
        if let Some(session) = sessions.get_mut(session as usize - from) {
            session.facts.push(facts);
        }
    }
    Ok(sessions)
}

/// The items from an ordinal on.
fn read_plan(connection: &Connection, run: RunId, from: u32) -> Result<Vec<PlanItem>> {
    let query =
        "SELECT ordinal, block, workload, variant, mode, tasks, warmup_ms, window_ms, interval_ms, subject, seed
                 FROM item WHERE run_id = ?1 AND ordinal >= ?2 ORDER BY ordinal";
    connection.rows(query, params![run.0, from], item)
}

fn read_skipped(connection: &Connection, run: RunId) -> Result<Vec<u32>> {
    let by_index = connection.spelled("INDEXED BY item_skipped", "");
    let query = format!("SELECT ordinal FROM item {by_index} WHERE run_id = ?1 AND skipped = 1 ORDER BY ordinal");
    connection.rows(&query, params![run.0], |row| row.get(0))
}

/// An item from its columns: ordinal, block, workload, variant, mode, tasks, the three times,
/// subject, seed. Fails if a column has another type.
pub(crate) fn item(row: &Row<'_>) -> Result<PlanItem> {
    let case = Case { workload: row.get(2)?, variant: row.get(3)?, mode: from_word(row, 4, TaskMode::from_word)? };
    let timing = match row.get::<Option<i64>>(6)? {
        None => None,
        Some(warmup_ms) => Some(Timing {
            warmup_ms: warmup_ms as u64,
            window_ms: row.get::<i64>(7)? as u64,
            interval_ms: row.get::<i64>(8)? as u64,
        }),
    };
    let cell = Cell { case, tasks: row.get(5)? };
    let seed = row.get::<Option<i64>>(10)?.map(|seed| seed as u64);
    let subject = SubjectIndex(row.get(9)?);
    let item = PlanItem { ordinal: row.get(0)?, block: row.get(1)?, subject, cell, timing, seed };
    match item.out_of_bounds() {
        Some(number) => Err(Failure::unreadable(5, number)),
        None => Ok(item),
    }
}

/// A selection of a run's attempts.
enum Those {
    /// Attempts after this id.
    After(i64),
    /// Attempts of these subjects.
    OfSubjects([SubjectIndex; 2]),
}

impl Those {
    /// The condition on the table `a`.
    fn condition(&self) -> &'static str {
        match self {
            Those::After(_) => "a.run_id = ?1 AND a.id > ?2",
            Those::OfSubjects(_) => {
                "a.run_id = ?1 AND a.ordinal IN (SELECT ordinal FROM item WHERE run_id = ?1 AND subject IN (?2, ?3))"
            }
        }
    }

    /// The condition's parameters.
    fn parameters(&self, run: RunId) -> Vec<Value<'static>> {
        match self {
            Those::After(after) => params![run.0, *after].to_vec(),
            Those::OfSubjects([a, b]) => params![run.0, a.0, b.0].to_vec(),
        }
    }
}

/// Selected attempts of a run, by id.
struct Attempts<'a> {
    connection: &'a Connection,
    run: RunId,
    those: &'a Those,
    by_id: BTreeMap<i64, Attempt>,
}

/// The selected attempts of a run, ordered by id.
fn read_attempts(connection: &Connection, run: RunId, those: &Those, intervals: Intervals) -> Result<Vec<Attempt>> {
    let query = format!(
        "SELECT id, ordinal, session, started_ms, outcome, bytes_per_operation FROM attempt a WHERE {} ORDER BY id",
        those.condition()
    );
    let attempts = connection.rows(&query, &those.parameters(run), |row| {
        let mut attempt = Attempt::begun(AttemptId(row.get(0)?), row.get(1)?, row.get(2)?, UnixMillis(row.get(3)?));
        if row.get::<Option<String>>(4)?.is_some() {
            attempt.outcome = Some(from_json(row, 4)?);
        }
        attempt.bytes_per_operation = row.get::<Option<i64>>(5)?.map(|bytes| bytes as u64);
        Ok((attempt.id.0, attempt))
    })?;
    let mut attempts = Attempts { connection, run, those, by_id: attempts.into_iter().collect() };
    // First, because a damaged value may not be readable.
    checksum::check(connection, run, (those.condition(), those.parameters(run).as_slice()))?;
    add_samples(&mut attempts, intervals)?;
    add_figures(&mut attempts)?;
    add_readings(&mut attempts)?;
    Ok(attempts.by_id.into_values().collect())
}

/// Adds the rows of a table to their attempts.
fn add<T>(
    attempts: &mut Attempts<'_>,
    (columns, table, order): (&str, &str, &str),
    read: impl Fn(&Row<'_>) -> Result<T>,
    put: impl Fn(&mut Attempt, T),
) -> Result<()> {
    // With CROSS JOIN, SQLite scans the attempts and looks up the rows of each.
    let join = attempts.connection.spelled("CROSS JOIN", "JOIN");
    let query = format!(
        "SELECT t.attempt_id, {columns} FROM attempt a {join} {table} t ON t.attempt_id = a.id
         WHERE {} ORDER BY t.attempt_id, {order}",
        attempts.those.condition()
    );
    let Attempts { connection, run, those, by_id } = attempts;
    connection.each_row(&query, &those.parameters(*run), |row| {
        if let Some(attempt) = by_id.get_mut(&row.get::<i64>(0)?) {
            put(attempt, read(row)?);
        }
        Ok(())
    })
}

fn add_samples(attempts: &mut Attempts<'_>, intervals: Intervals) -> Result<()> {
    let columns = ("t.phase = 'window', t.from_ns, t.to_ns, t.operations", "sample", "t.phase, t.number");
    let read = |row: &Row<'_>| {
        let interval = Interval {
            from_ns: row.get::<i64>(2)? as u64,
            to_ns: row.get::<i64>(3)? as u64,
            operations: from_json(row, 4)?,
        };
        Ok((row.get::<bool>(1)?, interval))
    };
    add(attempts, columns, read, |attempt, (in_window, interval)| {
        intervals.add(interval, if in_window { &mut attempt.window } else { &mut attempt.warmup });
    })
}

fn add_figures(attempts: &mut Attempts<'_>) -> Result<()> {
    let pair = |row: &Row<'_>| Ok((row.get::<String>(1)?, row.get::<String>(2)?));
    add(attempts, ("t.key, t.text", "note", "t.key"), pair, |attempt, (key, text)| {
        attempt.notes.insert(key, text);
    })?;
    let counter = |row: &Row<'_>| Ok((row.get::<String>(1)?, row.get::<i64>(2)?));
    add(attempts, ("t.name, t.delta", "counter", "t.name"), counter, |attempt, (name, delta)| {
        attempt.counters.insert(name, delta);
    })?;
    let columns = ("t.name, t.unit, t.direction, t.value", "measure", "t.number");
    add(attempts, columns, read_measure, |attempt, measure| attempt.measures.push(measure))?;
    let columns =
        "t.scope, t.user_ns, t.system_ns, t.minor_faults, t.major_faults, t.voluntary_switches, t.involuntary_switches";
    add(attempts, (columns, "usage", "1"), read_usage, |attempt, usage| attempt.usage = Some(usage))
}

/// Adds the lens's readings. A reading of another version is an error, because a partial figure is
/// worse than none.
fn add_readings(attempts: &mut Attempts<'_>) -> Result<()> {
    let read = |row: &Row<'_>| {
        from_word(row, 1, |format| (format == Reading::FORMAT).then_some(()))?;
        from_bounded_json::<Reading>(row, 2)
    };
    add(attempts, ("t.format, t.json", "reading", "1"), read, |attempt, reading| {
        attempt.reading = Some(Box::new(reading));
    })
}

pub(crate) fn read_measure(row: &Row<'_>) -> Result<Measure> {
    Ok(Measure {
        name: row.get(1)?,
        unit: row.get(2)?,
        direction: from_word(row, 3, Direction::from_word)?,
        value: row.get(4)?,
    })
}

fn read_usage(row: &Row<'_>) -> Result<Usage> {
    let number = |column: usize| row.get::<i64>(column).map(|value| value as u64);
    let scope = from_word(row, 1, |word| match word {
        "window" => Some(UsageScope::Window),
        "life" => Some(UsageScope::Life),
        _ => None,
    })?;
    Ok(Usage {
        scope,
        user_ns: number(2)?,
        system_ns: number(3)?,
        minor_faults: number(4)?,
        major_faults: number(5)?,
        voluntary_switches: number(6)?,
        involuntary_switches: number(7)?,
    })
}
