//! Start, growth, resume, end and deletion of runs, and their conclusions.

use crate::checksum;
use crate::connection::{Connection, Purpose, Result, json, params};
use crate::lock::{hold_run, hold_run_in};
use crate::server::Held;
use crate::{Store, StoreError};
use faultline_record::describe::WorkloadInfo;
use faultline_record::explained::StepExplained;
use faultline_record::facts::{FactValue, Facts};
use faultline_record::journal::AttemptId;
use faultline_record::outcome::Outcome;
use faultline_record::plan::{PlanItem, Settings};
use faultline_record::record::{Conclusion, RunId, Session};
use faultline_record::subject::{Subject, SubjectIndex};

/// A run about to start.
#[derive(Debug)]
pub struct NewRun<'a> {
    /// Label, if given.
    pub label: Option<&'a str>,
    /// Settings of the run.
    pub settings: &'a Settings,
    /// Subjects, at least one.
    pub subjects: &'a [Subject],
    /// Descriptions that the workloads printed.
    pub workloads: &'a [WorkloadInfo],
    /// Planned items, in order.
    pub plan: &'a [PlanItem],
    /// Its first session: start, and facts of its machines.
    pub session: &'a Session,
}

impl Store {
    /// Saves a new run with its plan, before anything runs. Fails if the database cannot be
    /// written.
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
            // No other process knows the number yet, so none holds the lock.
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

    /// Adds subjects and items to a run with a growing plan. The ordinals must be new. Fails if the
    /// database cannot be written.
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

    /// Replaces the settings of a run whose quantity was open. Fails if the database cannot be
    /// written.
    pub fn settle_run(&mut self, run: RunId, settings: &Settings) -> Result<(), StoreError> {
        self.write("save the run in", |transaction| {
            transaction.execute("UPDATE run SET settings = ?2 WHERE id = ?1", params![run.0, json(settings)]).map(drop)
        })
    }

    /// Starts another session of a run. Attempts without an end become interrupted. Fails if there
    /// is no such run, if another process is measuring it, or if the database cannot be written.
    pub fn resume_run(&mut self, run: RunId, session: &Session) -> Result<(), StoreError> {
        self.hold_run(run)?;
        // Another machine may have deleted it before it was held.
        self.load_head(run)?;
        self.write("save the session in", |transaction| {
            let open = "SELECT id FROM attempt WHERE run_id = ?1 AND outcome IS NULL";
            for attempt in transaction.rows(open, params![run.0], |row| Ok(AttemptId(row.get(0)?)))? {
                transaction.execute(
                    "UPDATE attempt SET outcome = ?2, outcome_kind = ?3, ended_ms = ?4 WHERE id = ?1",
                    params![attempt.0, json(&Outcome::Interrupted), kind_of(&Outcome::Interrupted), session.started.0],
                )?;
                checksum::save(transaction, attempt)?;
            }
            insert_session(transaction, run, session)
        })
    }

    /// Marks items as skipped because the time budget is used up, or a failure ended the run. Fails
    /// if the database cannot be written.
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

    /// Saves details of the steps of a search or history, and replaces earlier ones. Fails if the
    /// database cannot be written.
    pub fn save_explained(&mut self, run: RunId, explained: &[StepExplained]) -> Result<(), StoreError> {
        self.write("save the run in", |transaction| {
            // The trigger that drops the conclusion needs an insert.
            transaction.execute("DELETE FROM explained WHERE run_id = ?1", params![run.0])?;
            let insert = "INSERT INTO explained (run_id, json) VALUES (?1, ?2)";
            transaction.execute(insert, params![run.0, json(explained)]).map(drop)
        })
    }

    /// Marks a run as finished. Fails if the database cannot be written.
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

/// The `kind` of an outcome's JSON.
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

/// Host and kernel for the list of runs, as far as they are known.
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

/// Tables with an attempt's rows.
const OF_ATTEMPTS: [&str; 7] = ["sample", "note", "usage", "counter", "measure", "reading", "console"];

/// Tables with a run's rows, each before those that it refers to.
const OF_RUN: [&str; 7] = ["attempt", "item", "session_facts", "session", "subject", "conclusion", "explained"];

impl Store {
    /// Deletes all of these runs, or none. An empty row of each remains, so that its number is not
    /// used again. Fails if one does not exist, if another machine is measuring one, or if the
    /// database cannot be written.
    pub fn delete_runs(&mut self, runs: &[RunId]) -> Result<(), StoreError> {
        for &run in runs {
            self.load_head(run)?;
        }
        let in_use = self.write("delete runs from", |transaction| {
            for &run in runs {
                if let Held::ByOther(holder) = hold_run_in(transaction, run)? {
                    return Ok(Some((run, holder)));
                }
            }
            runs.iter().try_for_each(|&run| delete(transaction, run)).map(|()| None)
        })?;
        in_use.map_or(Ok(()), |(run, holder)| Err(StoreError::run_is_measured(run, &holder)))
    }
}

/// Deletes a run's rows and empties its row of `run`.
fn delete(transaction: &Connection, run: RunId) -> Result<()> {
    for table in OF_ATTEMPTS {
        let query = format!("DELETE FROM {table} WHERE attempt_id IN (SELECT id FROM attempt WHERE run_id = ?1)");
        transaction.execute(&query, params![run.0])?;
    }
    for table in OF_RUN {
        transaction.execute(&format!("DELETE FROM {table} WHERE run_id = ?1"), params![run.0])?;
    }
    transaction.execute(
        "UPDATE run SET label = NULL, settings = '{}', workloads = '[]', finished = 1, kind = 'deleted', suite = NULL,
                        cpus = '[]', machine = '' WHERE id = ?1",
        params![run.0],
    )?;
    Ok(())
}

impl Store {
    /// The saved conclusion of a run by this version of the method; `None` if there is none or it
    /// cannot be parsed. It can be computed again from the record; triggers drop it when the record
    /// changes. Fails if the database cannot be read.
    pub fn load_conclusion<T: Conclusion>(&self, run: RunId, method: u32) -> Result<Option<T>, StoreError> {
        let query = "SELECT json FROM conclusion WHERE run_id = ?1 AND kind = ?2 AND method = ?3";
        let text = self.connection.optional_row(query, params![run.0, T::KIND, method], |row| row.get::<String>(0));
        let text = text.map_err(self.failed("read a run from"))?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Saves the conclusion of a finished run, and replaces one of another version. Does nothing
    /// for an unfinished run. Fails if the database cannot be written, or if another process is
    /// writing.
    pub fn save_conclusion<T: Conclusion>(
        &mut self,
        run: RunId,
        method: u32,
        conclusion: &T,
    ) -> Result<(), StoreError> {
        let saved = self.connection.without_waiting(|connection| {
            connection.execute(
                "INSERT INTO conclusion (run_id, kind, method, json)
                 SELECT id, ?2, ?3, ?4 FROM run WHERE id = ?1 AND finished = 1
                 ON CONFLICT (run_id, kind) DO UPDATE SET method = excluded.method, json = excluded.json",
                params![run.0, T::KIND, method, json(conclusion)],
            )
        });
        saved.map(drop).map_err(self.failed("save a conclusion in"))
    }
}
