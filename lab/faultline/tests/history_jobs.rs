//! `faultline history work`: work that readers of the pages asked for is done once, also by a worker that is killed in the midst.

mod lab;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "../../store/tests/place/server.rs"]
mod server;

use faultline_model::changes::Effect;
use faultline_model::job::{Job, JobState, JobWork};
use faultline_model::named_change::{ChangePlace, SeriesName};
use faultline_model::record::RunId;
use faultline_model::time::UnixMillis;
use faultline_stats::history::conditions;
use faultline_store::Store;
use lab::repository::{Repository, git};
use lab::{await_that, kill};
use server::Server;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const DECLARED: &str = "[subject.app]\nrepository = \"repository\"\nwork = \"work\"\nbuild = \"true\"\ncommand = \"./prog\"\nrepeats = 3\nseed = 1\n";

/// The first commit that sleeps longer.
const STEP: usize = 7;

impl Repository {
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

    /// The series that the first run of a database measured.
    fn series(store: &Store) -> SeriesName {
        let settings = store.load_head(RunId(1)).unwrap().settings;
        let history = settings.history().unwrap();
        SeriesName {
            subject: history.subject.clone(),
            repository: history.repository.clone(),
            tasks: 1,
            counted: None,
            conditions: conditions(&settings, history),
        }
    }

    fn ask(&self, series: &SeriesName, work: &JobWork) {
        self.store().add_job(series, work, "A\u{1b}[31m", UnixMillis(5)).unwrap();
    }

    /// A search of the commits between two.
    fn search(&self, from: usize, by: usize, to: usize) -> JobWork {
        let [earliest, by, latest] = [from, by, to].map(|number| self.commits[number].clone());
        JobWork::Drill { place: ChangePlace { earliest, by, latest, effect: Effect::Worse, levels: None } }
    }

    fn jobs(&self) -> Vec<Job> {
        self.store().jobs(None, 100).unwrap()
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn what_readers_asked_for_is_done_once() {
    let mut repository = Repository::new();
    (0..14).for_each(|number| repository.commit(if number < STEP { 20 } else { 150 }));
    fs::write(repository.lab.path("faultline.toml"), DECLARED).unwrap();
    let measured = repository.history(&["run", "--quiet"]).output().unwrap();
    assert!(measured.status.success(), "{}", said(&measured));
    assert!(repository.work().status.success(), "there is nothing to do");

    let series = Repository::series(&repository.store());
    let again = JobWork::Measure { commit: repository.commits[3].clone() };
    repository.ask(&series, &again);
    repository.ask(&series, &repository.search(STEP - 1, STEP, STEP));
    // Another machine's, and a step that is not there.
    repository.ask(&SeriesName { conditions: "of another machine".to_owned(), ..series.clone() }, &again);
    repository.ask(&series, &repository.search(1, 2, 3));

    // Killed while it searches.
    let worker = repository.history(&["work", "--quiet"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    await_that("a search", || repository.store().list_runs().unwrap().len() == 3);
    kill(worker);
    let states = |jobs: &[Job]| jobs.iter().rev().map(|job| job.state).collect::<Vec<_>>();
    use JobState::{Done, Failed, Taken, Waiting};
    assert_eq!(states(&repository.jobs()), [Done, Taken, Waiting, Waiting]);

    let output = repository.work();
    assert_eq!(output.status.code(), Some(1), "a job failed: {}", said(&output));
    assert!(said(&output).contains("the history does not have this step any more"), "{}", said(&output));
    assert!(!said(&output).contains('\u{1b}'), "{}", said(&output));
    let jobs = repository.jobs();
    assert_eq!(states(&jobs), [Done, Done, Waiting, Failed], "{jobs:#?}");
    assert_eq!((jobs[3].run, jobs[2].run), (Some(RunId(2)), Some(RunId(3))));
    // The commit was measured alone, and the search that was killed went on.
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
    assert!(measured.status.success(), "{}", said(&measured));
    let mut store = Store::open_existing(Path::new(&url)).unwrap();
    let again = JobWork::Measure { commit: repository.commits[1].clone() };
    store.add_job(&Repository::series(&store), &again, "A. Uthor", UnixMillis(5)).unwrap();
    let worked = history(&["work", "--quiet"]);
    assert!(worked.status.success(), "{}", said(&worked));
    let job = &store.jobs(None, 1).unwrap()[0];
    assert_eq!((job.state, job.run), (JobState::Done, Some(RunId(2))), "{job:?}");
}
