//! Starts, resumes and ends runs.

use crate::connection::{Connection, Purpose, Result, params};
use crate::lock::hold_run;
use crate::{Store, StoreError};
use faultline_model::describe::WorkloadInfo;
use faultline_model::explained::StepExplained;
use faultline_model::facts::{FactValue, Facts};
use faultline_model::outcome::Outcome;
use faultline_model::plan::{PlanItem, Settings};
use faultline_model::record::{RunId, Session};
use faultline_model::subject::{Subject, SubjectIndex};
use serde::Serialize;

/// A run that is about to start.
#[derive(Debug)]
pub struct NewRun<'a> {
    /// A name for people.
    pub label: Option<&'a str>,
    /// What was asked for.
    pub settings: &'a Settings,
    /// What is measured, at least one.
    pub subjects: &'a [Subject],
    /// The workloads as they described themselves.
    pub workloads: &'a [WorkloadInfo],
    /// What will run, in order.
    pub plan: &'a [PlanItem],
    /// Its start, and the facts of its machines.
    pub session: &'a Session,
}

impl Store {
    /// Saves a run's plan, before anything runs. Fails if the database cannot be written.
    pub fn begin_run(&mut self, new: &NewRun<'_>) -> Result<RunId, StoreError> {
        self.write("save the run in", |transaction| {
            let settings = new.settings;
            let run = transaction.row(
                "INSERT INTO run (label, settings, workloads, kind, suite, cpus, machine)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING id",
                params![
                    new.label,
                    json(settings),
                    json(new.workloads),
                    settings.kind.name().word(),
                    settings.timed().and_then(|timed| timed.suite.as_deref()),
                    json(&settings.cpus),
                    machine_words(new.session.facts_of(SubjectIndex::A)),
                ],
                |row| Ok(RunId(row.get(0)?)),
            )?;
            // Nobody knows the number yet, so nobody else holds it.
            hold_run(transaction, run)?;
            for (number, subject) in new.subjects.iter().enumerate() {
                insert_subject(transaction, run, number as i64, subject)?;
            }
            insert_session(transaction, run, new.session)?;
            for item in new.plan {
                insert_item(transaction, run, item)?;
            }
            Ok(run)
        })
    }

    /// Adds subjects and items to a run whose plan grows while it goes on. The items' ordinals must be new. Fails if the database cannot be written.
    pub fn extend_run(&mut self, run: RunId, subjects: &[Subject], items: &[PlanItem]) -> Result<(), StoreError> {
        self.write("save the run in", |transaction| {
            let count = "SELECT count(*) FROM subject WHERE run_id = ?1";
            let there: i64 = transaction.row(count, params![run.0], |row| row.get(0))?;
            for (number, subject) in subjects.iter().enumerate() {
                insert_subject(transaction, run, there + number as i64, subject)?;
            }
            items.iter().try_for_each(|item| insert_item(transaction, run, item))
        })
    }

    /// Opens another session of a run. Attempts that were running when the last session was killed become interrupted. Fails if there is no such run, if another process measures the run, or
    /// if the database cannot be written.
    pub fn resume_run(&mut self, run: RunId, session: &Session) -> Result<(), StoreError> {
        self.hold_run(run)?;
        // Held, it can no longer be deleted; on another machine it may have been since it was found.
        self.load_head(run)?;
        self.write("save the session in", |transaction| {
            transaction.execute(
                "UPDATE attempt SET outcome = ?2, outcome_kind = ?3, ended_ms = ?4 WHERE run_id = ?1 AND outcome IS NULL",
                params![run.0, json(&Outcome::Interrupted), kind_of(&Outcome::Interrupted), session.started.0],
            )?;
            insert_session(transaction, run, session)
        })
    }

    /// Saves that items will not run because the time budget is used up. Fails if the database cannot be written.
    pub fn skip_items(&mut self, run: RunId, ordinals: &[u32]) -> Result<(), StoreError> {
        self.write("save the run in", |transaction| {
            for ordinal in ordinals {
                transaction.execute(
                    "UPDATE item SET skipped = 1 WHERE run_id = ?1 AND ordinal = ?2",
                    params![run.0, *ordinal],
                )?;
            }
            Ok(())
        })
    }

    /// Saves what is known of the steps that a search found, or that lie between the commits of a history, instead of what was saved before. Fails if the database cannot be written.
    pub fn save_explained(&mut self, run: RunId, explained: &[StepExplained]) -> Result<(), StoreError> {
        self.write("save the run in", |transaction| {
            // An insert, and never an update: it drops the conclusion.
            transaction.execute("DELETE FROM explained WHERE run_id = ?1", params![run.0])?;
            let insert = "INSERT INTO explained (run_id, json) VALUES (?1, ?2)";
            transaction.execute(insert, params![run.0, json(explained)]).map(drop)
        })
    }

    /// Saves that the run is finished. Fails if the database cannot be written.
    pub fn finish_run(&mut self, run: RunId) -> Result<(), StoreError> {
        self.write("save the run in", |transaction| {
            transaction.execute("UPDATE run SET finished = 1 WHERE id = ?1", params![run.0])?;
            Ok(())
        })
    }

    pub(crate) fn write<T>(
        &mut self,
        action: &str,
        body: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T, StoreError> {
        self.connection.transaction(Purpose::Write, body).map_err(self.failed(action))
    }
}

/// The JSON of our own plain data, which always exists.
pub(crate) fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("plain data has a JSON form")
}

/// The `kind` of an outcome's JSON. SQLite's tables have a trigger that saves the same.
pub(crate) fn kind_of(outcome: &Outcome) -> Option<String> {
    let fields = serde_json::to_value(outcome).ok()?;
    fields.get("kind")?.as_str().map(str::to_owned)
}

fn insert_subject(transaction: &Connection, run: RunId, number: i64, subject: &Subject) -> Result<()> {
    transaction.execute(
        "INSERT INTO subject (run_id, number, name, what, commit_id, repository, setup, machine, build, kind)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            run.0,
            number,
            &subject.name,
            json(&subject.what),
            subject.commit.as_ref().map(|commit| &commit.id),
            subject.commit.as_ref().and_then(|commit| commit.repository.as_ref()),
            json(&subject.setup),
            json(&subject.machine),
            subject.build.as_ref().map(json),
            subject.what.kind().word(),
        ],
    )?;
    Ok(())
}

fn insert_session(transaction: &Connection, run: RunId, session: &Session) -> Result<()> {
    let count = "SELECT count(*) FROM session WHERE run_id = ?1";
    let number: i64 = transaction.row(count, params![run.0], |row| row.get(0))?;
    transaction.execute(
        "INSERT INTO session (run_id, number, started_ms) VALUES (?1, ?2, ?3)",
        params![run.0, number, session.started.0],
    )?;
    for (subject, facts) in session.facts.iter().enumerate() {
        transaction.execute(
            "INSERT INTO session_facts (run_id, session, subject, facts) VALUES (?1, ?2, ?3, ?4)",
            params![run.0, number, subject as i64, json(facts)],
        )?;
    }
    Ok(())
}

/// Host and kernel, as far as they are known, for the list of runs.
pub(crate) fn machine_words(facts: Option<&Facts>) -> String {
    let Some(facts) = facts else { return String::new() };
    let known = ["host.name", "kernel.name", "kernel.release"].map(|key| facts.0.get(key).map(FactValue::to_string));
    known.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn insert_item(transaction: &Connection, run: RunId, item: &PlanItem) -> Result<()> {
    let case = &item.cell.case;
    let insert = "INSERT INTO item
             (run_id, ordinal, block, workload, variant, mode, tasks, warmup_ms, window_ms, interval_ms, subject, seed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    let values = params![
        run.0,
        item.ordinal,
        item.block,
        &case.workload,
        &case.variant,
        case.mode.word(),
        item.cell.tasks,
        item.timing.map(|timing| timing.warmup_ms as i64),
        item.timing.map(|timing| timing.window_ms as i64),
        item.timing.map(|timing| timing.interval_ms as i64),
        item.subject.0,
        item.seed.map(|seed| seed as i64),
    ];
    transaction.execute(insert, values).map(drop)
}
