//! `faultline history work`: each job requested on the pages is done once, also if a worker is
//! killed during it.

use crate::lab::repository::{Repository, git};
use crate::lab::{await_that, kill, output_text};
use crate::postgres::Server;
use faultline_record::direction::Effect;
use faultline_record::job::{Job, JobState, JobWork};
use faultline_record::named_change::{ChangePlace, SeriesName};
use faultline_record::record::RunId;
use faultline_record::time::UnixMillis;
use faultline_stats::history::conditions;
use faultline_store::Store;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const DECLARED: &str = "[subject.app]\nrepository = \"repository\"\nwork = \"work\"\nbuild = \"true\"\ncommand = \"./prog\"\nrepeats = 3\nseed = 1\n";

/// The first commit that sleeps longer.
const STEP: usize = 7;

trait JobCommits {
    fn commit(&mut self, sleep_ms: u32);
    fn history(&self, arguments: &[&str]) -> Command;
    fn work(&self) -> Output;
    fn store(&self) -> Store;
    /// The series measured by the first run of a database.
    fn series(store: &Store) -> SeriesName;
    fn ask(&self, series: &SeriesName, work: &JobWork);
    /// A search of the commits between two.
    fn search(&self, from: usize, by: usize, to: usize) -> JobWork;
    fn jobs(&self) -> Vec<Job>;
}

impl JobCommits for Repository {
    fn commit(&mut self, sleep_ms: u32) {
        let number = self.commits.len();
        self.write_programs(&[("prog", &format!("#!/bin/sh\n# {number}\nsleep 0.{sleep_ms:03}\n"))]);
        git(&self.path(), &["add", "--all"]);
        git(&self.path(), &["commit", "--quiet", "--message", &format!("commit {number}")]);
        self.commits.push(git(&self.path(), &["rev-parse", "HEAD"]).trim().to_owned());
    }

    fn history(&self, arguments: &[&str]) -> Command {
        let mut command = self.lab.command(&[&["history"], arguments].concat());
        command.current_dir(self.lab.path(""));
        command
    }

    fn work(&self) -> Output {
        self.history(&["work", "--quiet"]).output().unwrap()
    }

    fn store(&self) -> Store {
        Store::open_existing(&self.lab.db()).unwrap()
    }

    fn series(store: &Store) -> SeriesName {
        let settings = store.load_head(RunId(1)).unwrap().settings;
        let history = settings.history().unwrap();
        SeriesName {
            subject: history.subject.clone(),
            repository: history.repository.clone(),
            tasks: 1,
            quantity: faultline_record::quantity::Quantity::Time,
            conditions: conditions(&settings, history),
        }
    }

    fn ask(&self, series: &SeriesName, work: &JobWork) {
        self.store().add_job(series, work, "A\u{1b}[31m", UnixMillis(5)).unwrap();
    }

    fn search(&self, from: usize, by: usize, to: usize) -> JobWork {
        let [earliest, by, latest] = [from, by, to].map(|number| self.commits[number].clone());
        JobWork::Bisect { place: ChangePlace { earliest, by, latest, effect: Effect::Worse, levels: [20.0, 150.0] } }
    }

    fn jobs(&self) -> Vec<Job> {
        self.store().jobs(None, 100).unwrap()
    }
}

#[test]
fn what_readers_asked_for_is_done_once() {
    let mut repository = Repository::new();
    (0..14).for_each(|number| repository.commit(if number < STEP { 20 } else { 150 }));
    fs::write(repository.lab.path("faultline.toml"), DECLARED).unwrap();
    let measured = repository.history(&["run", "--quiet"]).output().unwrap();
    assert!(measured.status.success(), "{}", output_text(&measured));
    assert!(repository.work().status.success(), "there is nothing to do");

    let series = Repository::series(&repository.store());
    let again = JobWork::Measure { commit: repository.commits[3].clone() };
    repository.ask(&series, &again);
    repository.ask(&series, &repository.search(STEP - 1, STEP, STEP));
    // A job of another machine's series, and one for a step that does not exist.
    repository.ask(&SeriesName { conditions: "of another machine".to_owned(), ..series.clone() }, &again);
    repository.ask(&series, &repository.search(1, 2, 3));

    // The worker is killed during the search.
    let worker = repository.history(&["work", "--quiet"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    await_that("a search", || repository.store().list_runs().unwrap().len() == 3);
    kill(worker);
    let states = |jobs: &[Job]| jobs.iter().rev().map(|job| job.state).collect::<Vec<_>>();
    use JobState::{Done, Failed, Taken, Waiting};
    assert_eq!(states(&repository.jobs()), [Done, Taken, Waiting, Waiting]);

    let output = repository.work();
    assert_eq!(output.status.code(), Some(1), "a job failed: {}", output_text(&output));
    assert!(output_text(&output).contains("the history does not have this step any more"), "{}", output_text(&output));
    assert!(!output_text(&output).contains('\u{1b}'), "{}", output_text(&output));
    let jobs = repository.jobs();
    assert_eq!(states(&jobs), [Done, Done, Waiting, Failed], "{jobs:#?}");
    assert_eq!((jobs[3].run, jobs[2].run), (Some(RunId(2)), Some(RunId(3))));
    // Only the requested commit was measured, and the killed search continued.
    assert_eq!(repository.lab.record(2).attempts.len(), 3);
    assert_eq!(repository.store().list_runs().unwrap().len(), 3);
    let shown = repository.history(&["changes", "--format", "json"]).output().unwrap();
    let changes: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    let state = &changes[0]["steps"][0]["state"];
    assert_eq!(state["now"], "confirmed", "{changes:#}");
    repository.lab.assert_nothing_left();
}

#[test]
fn a_worker_measures_into_a_database_on_a_server() {
    let (mut repository, server) = (Repository::new(), Server::start());
    (0..2).for_each(|_| repository.commit(20));
    fs::write(repository.lab.path("faultline.toml"), DECLARED).unwrap();
    let url = server.url("postgres", "public");
    let history = |arguments: &[&str]| repository.history(arguments).env("FAULTLINE_DB", &url).output().unwrap();
    let measured = history(&["run", "--quiet"]);
    assert!(measured.status.success(), "{}", output_text(&measured));
    let mut store = Store::open_existing(Path::new(&url)).unwrap();
    let again = JobWork::Measure { commit: repository.commits[1].clone() };
    store.add_job(&Repository::series(&store), &again, "A. Uthor", UnixMillis(5)).unwrap();
    let worked = history(&["work", "--quiet"]);
    assert!(worked.status.success(), "{}", output_text(&worked));
    let job = &store.jobs(None, 1).unwrap()[0];
    assert_eq!((job.state, job.run), (JobState::Done, Some(RunId(2))), "{job:?}");
}
