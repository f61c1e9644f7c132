//! `faultline history` and `faultline bisect SUBJECT` in repositories made by the tests. Programs
//! sleep, because a busy host changes the length of a sleep less than the time of a computation.

mod generated;

use crate::lab::repository::{Repository, git};
use crate::lab::{Lab, assert_refused, await_that, kill, output_text};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

/// A branch name with characters that are special in a shell, in HTML and in a table.
const BRANCH: &str = "x|\"<b>'$(touch-harm)";

/// Commits of a program that sleeps, and the file that declares it.
trait HistoryCommits {
    fn on_branch() -> Self;
    /// Declares the program with these additional keys. Each selected commit is measured three
    /// times.
    fn declare(&self, keys: &str);
    /// Declares the program with these additional keys and number of repeats.
    fn declare_repeated(&self, repeats: u32, keys: &str);
    /// Adds a commit whose program sleeps for `sleep_ms`. The build makes the program if `builds`.
    fn commit(&mut self, sleep_ms: u32, builds: bool);
    /// Adds a commit whose program sleeps for `sleep_ms`, and is built by the command `make`.
    fn commit_built(&mut self, sleep_ms: u32, make: &str);
    fn command(&self, arguments: &[&str]) -> Command;
    fn run(&self, arguments: &[&str]) -> Output;
    fn bisect(&self, arguments: &[&str]) -> Output;
    /// Runs the command, asserts success, and parses its output as JSON.
    fn json(&self, arguments: &[&str]) -> Value;
    /// Results of the points of the only series.
    fn results(&self) -> Vec<String>;
}

impl HistoryCommits for Repository {
    fn on_branch() -> Self {
        let repository = Repository::new();
        git(&repository.path(), &["checkout", "--quiet", "-b", BRANCH]);
        repository
    }

    fn declare(&self, keys: &str) {
        self.declare_repeated(3, keys);
    }

    fn declare_repeated(&self, repeats: u32, keys: &str) {
        let branch = BRANCH.replace('"', "\\\"");
        let text = format!(
            "[subject.app]\nrepository = \"repository\"\nwork = \"work\"\nbranch = \"{branch}\"\nbuild = \"./build\"\n\
             keep = [\"prog\"]\ncommand = \"./prog\"\nrepeats = {repeats}\nseed = 1\n{keys}\n[variant.other]\nenvironment = {{ X = 1 }}\n"
        );
        fs::write(self.lab.path("faultline.toml"), text).unwrap();
    }

    fn commit(&mut self, sleep_ms: u32, builds: bool) {
        self.commit_built(
            sleep_ms,
            if builds { "cp source prog && chmod +x prog" } else { "echo it cannot build >&2; exit 3" },
        );
    }

    fn commit_built(&mut self, sleep_ms: u32, make: &str) {
        let number = self.commits.len();
        self.write_programs(&[
            ("source", &format!("#!/bin/sh\n# {number}\nsleep 0.{sleep_ms:03}\n")),
            ("build", &format!("#!/bin/sh\n{make}\n")),
            ("a\tb\u{1b}[31m<i>", &format!("{number}\n")),
        ]);
        let subject = format!("commit {number} | \"<b>\" \u{1b}[31m$(touch harm)\n\nsecond line");
        git(&self.path(), &["add", "--all"]);
        let author = ["-c", "user.name=A <i>\u{1b}[31m|\"'", "commit", "--quiet", "--message", &subject];
        git(&self.path(), &author);
        self.commits.push(git(&self.path(), &["rev-parse", "HEAD"]).trim().to_owned());
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.lab.command(&[&["history"], arguments].concat());
        command.current_dir(self.lab.path(""));
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn bisect(&self, arguments: &[&str]) -> Output {
        let mut command = self.lab.command(&[&["bisect"], arguments].concat());
        command.current_dir(self.lab.path("")).output().unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--format", "json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", output_text(&output)))
    }

    fn results(&self) -> Vec<String> {
        let series = self.json(&["show"]);
        let points = series[0]["points"].as_array().unwrap();
        points.iter().map(|point| point["result"].as_str().unwrap().to_owned()).collect()
    }
}

/// The output as one line, with single spaces.
fn words(output: &Output) -> String {
    output_text(output).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_example_is_written_once_and_is_right() {
    let mut repository = Repository::on_branch();
    (0..3).for_each(|_| repository.commit(10, true));
    let init = |lab: &Lab| lab.command(&["history", "init"]).current_dir(repository.path()).output().unwrap();
    assert_eq!(init(&repository.lab).status.code(), Some(0));
    let mut commits = repository.lab.command(&["history", "commits"]);
    commits.current_dir(repository.path()).env("XDG_CACHE_HOME", repository.lab.path("cache"));
    let shown = commits.output().unwrap();
    assert_eq!(shown.status.code(), Some(0), "{}", output_text(&shown));
    assert!(words(&shown).contains("3 of 3 would be measured by `faultline history run`."), "{}", output_text(&shown));
    assert!(words(&shown).contains(&repository.commits[2][..12]), "{}", output_text(&shown));
    let text = fs::read_to_string(repository.path().join("faultline.toml")).unwrap();
    assert_refused(&init(&repository.lab), 2, "faultline.toml exists already, and was not changed");
    assert_eq!(fs::read_to_string(repository.path().join("faultline.toml")).unwrap(), text);
}

#[test]
fn commits_that_were_rewritten_and_pruned_are_forgotten() {
    let mut repository = Repository::on_branch();
    (0..3).for_each(|_| repository.commit(10, true));
    repository.declare("");
    assert_eq!(repository.run(&["run", "--quiet"]).status.code(), Some(0));
    let path = repository.path();
    git(&path, &["commit", "--quiet", "--amend", "--message", "rewritten"]);
    git(&path, &["reflog", "expire", "--expire=now", "--all"]);
    git(&path, &["gc", "--quiet", "--prune=now"]);
    let again = repository.run(&["run", "--quiet"]);
    assert_eq!(again.status.code(), Some(0), "{}", output_text(&again));
    assert_eq!(repository.results(), ["measured"; 3]);
    let newest = git(&path, &["rev-parse", "HEAD"]);
    assert_ne!(newest.trim(), repository.commits[2]);
}

#[test]
fn a_file_that_is_wrong_is_refused_with_its_line() {
    let repository = Repository::on_branch();
    let file = repository.lab.path("faultline.toml");
    let nowhere = repository.lab.path("scratch");
    let refused = repository.lab.command(&["history", "show"]).current_dir(&nowhere).output().unwrap();
    assert_refused(&refused, 2, "there is no faultline.toml here, nor above within the repository");
    let wrong = |text: &str, problem: &str| {
        fs::write(&file, text).unwrap();
        assert_refused(&repository.run(&["run"]), 2, problem);
    };
    wrong("[subject.app]\ncommand = './x'\nbrnach = 'main'\n", "faultline.toml:3: unknown field `brnach`");
    wrong("[subject.app]\ncommand = './x'\npick = 'often'\n", "faultline.toml:3: 'often' picks no commits");
    wrong("[variant.x]\n", "faultline.toml declares no subject");
    repository.declare("");
    assert_refused(&repository.run(&["show", "nonsense"]), 2, "faultline.toml declares no subject 'nonsense'");
    assert_refused(&repository.run(&["show"]), 1, "these subjects have no results yet");
    assert!(!repository.lab.db().exists());
    // Variants are declared in the same file.
    let compared =
        repository.lab.command(&["compare", "--b", "nonsense"]).current_dir(repository.lab.path("")).output();
    assert!(output_text(&compared.unwrap()).contains("faultline.toml declares other"));
}

#[test]
fn commits_are_measured_once_and_their_step_is_found_explained_and_searched() {
    let mut repository = Repository::on_branch();
    for number in 0..29 {
        repository.commit(if number < 17 { 20 } else { 150 }, number != 4);
    }
    repository.declare("pick = \"every 2\"\n[notify]\ncommand = [\"./tell\", \"a b\"]\nlimit = \"20s\"");
    let output = repository.run(&["run", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    assert!(words(&output).contains("does not build"), "{}", output_text(&output));
    let results = repository.results();
    assert_eq!(results.len(), 15);
    assert_eq!(results.iter().filter(|result| *result == "measured").count(), 14, "{results:?}");
    assert_eq!(results[2], "unusable");

    // Nothing is measured twice.
    let again = repository.run(&["run", "--quiet"]);
    assert!(words(&again).contains("app at 1: all 15 selected commits have results"), "{}", output_text(&again));
    (0..2).for_each(|_| repository.commit(150, true));
    let planned = repository.json(&["commits"]);
    let wanted = planned.as_array().unwrap().iter().filter(|commit| commit["is_wanted"] == true).count();
    assert_eq!(wanted, 1);
    let output = repository.run(&["run", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    assert_eq!(repository.lab.record(2).attempts.len(), 3, "one commit three times");
    assert_eq!(repository.results().len(), 16);

    let [before, after] = [16, 18].map(|number: usize| repository.commits[number].as_str());
    let changes = repository.json(&["changes"]);
    let steps = changes[0]["steps"].as_array().unwrap();
    let [step] = steps.as_slice() else { panic!("{changes:#}") };
    assert_eq!([&changes[0]["commits"][0][0]["id"], &changes[0]["commits"][0][1]["id"]], [before, after]);
    assert_eq!((step["effect"].as_str(), step["between_runs"].as_bool()), (Some("worse"), Some(false)));
    let between = &step["between"];
    assert_eq!((&between["count"], &between["files"]["number"]), (&2.into(), &2.into()), "{between:#}");
    assert!(between["commits"][1]["subject"].as_str().unwrap().starts_with("commit 17 "), "{between:#}");
    assert_eq!(between["authors"][0]["commits"], 2);

    harmless(&repository);
    explained_on_its_page(&repository);
    gated(&repository);
    marked(&repository);

    // A bisect of the subject finds the commit between the measured ones.
    let (tell, told) = (repository.lab.path("tell"), repository.lab.path("told"));
    fs::write(&tell, "#!/bin/sh\ntest -e ready || { echo not ready >&2; exit 3; }\necho \"$1\" >>told\ncat >>told\n")
        .unwrap();
    fs::set_permissions(&tell, fs::Permissions::from_mode(0o755)).unwrap();
    let searched = repository.bisect(&["app", "--quiet", "--layouts", "8", "--revert", "--format", "json"]);
    let problem =
        "the notification of a confirmed change of app failed: `./tell a b`: it exited with status 3: not ready";
    assert!(String::from_utf8_lossy(&searched.stderr).contains(problem), "{}", output_text(&searched));
    let progress = String::from_utf8_lossy(&searched.stderr);
    assert!(!progress.contains("building") && !progress.contains("linking"), "shown despite `--quiet`: {progress}");
    let found: Value =
        serde_json::from_slice(&searched.stdout).unwrap_or_else(|_| panic!("{}", output_text(&searched)));
    let candidates = &found["commits"][0]["candidates"];
    assert_eq!(candidates[0]["id"], repository.commits[17].as_str(), "{found:#}");
    assert_eq!(candidates.as_array().unwrap().len(), 1, "{found:#}");
    // Nothing links this program, so the first two layouts show that it cannot be relinked.
    let layouts = &found["steps"][0]["layouts"];
    assert_eq!((&layouts["tried"], &layouts["unchanged"]), (&2.into(), &2.into()), "{found:#}");
    let reverted = &found["steps"][0]["reverted"];
    assert_eq!((&reverted["on"], &reverted["outcome"]), (&repository.commits[30].as_str().into(), &"conflict".into()));
    // The history shows the step as confirmed, with its commit.
    let (now, log) = state(&repository);
    let search = log.last().unwrap();
    assert_eq!((now.as_str(), &search["source"]["kind"]), ("confirmed", &"search".into()), "{log:#?}");
    assert_eq!(search["commits"], Value::from(vec![repository.commits[17].as_str()]));
    assert!(
        words(&repository.run(&["show"])).contains("worse, confirmed"),
        "{}",
        output_text(&repository.run(&["show"]))
    );

    // The failed notification is retried, and delivered once.
    fs::write(repository.lab.path("ready"), "").unwrap();
    for _ in 0..2 {
        assert_eq!(repository.run(&["run", "--quiet"]).status.code(), Some(0));
        let told = fs::read_to_string(&told).unwrap();
        let (argument, notice) = told.split_once('\n').unwrap();
        assert_eq!(argument, "a b");
        let notice: Value = serde_json::from_str(notice).unwrap();
        assert_eq!((&notice["effect"], &notice["confirmed"]["state"]), (&"worse".into(), &"confirmed".into()));
        assert_eq!(notice["by"]["id"], after);
        assert_eq!(notice["confirmed"]["commits"][0], repository.commits[17].as_str());
    }

    // Runs of a history are shown and compared like others.
    let listed = repository.lab.run(&["list"]);
    assert!(words(&listed).contains("history of app: prog, time"), "{}", output_text(&listed));
    let shown = repository.lab.run(&["show", "2"]);
    assert!(words(&shown).contains("1 of 1 commits are measured"), "{}", output_text(&shown));
    let compared = repository.lab.run(&["compare", before, after]);
    assert!(compared.status.success(), "{}", output_text(&compared));
    let page = repository.lab.run(&["show", "1", "-o", repository.lab.path("x.html").to_str().unwrap()]);
    assert_refused(&page, 2, "a history of commits has no page");
    let status = git(&repository.path(), &["status", "--porcelain", "--ignored"]);
    assert!(status.is_empty(), "the user's checkout is not touched: {status}");
    assert!(!repository.path().join("harm").exists() && !repository.lab.path("harm").exists());
    repository.lab.assert_nothing_left();
}

/// The comparison of a step's sides lists the files changed by its commits. They come from the run,
/// not from a search.
fn explained_on_its_page(repository: &Repository) {
    let site = repository.lab.path("site");
    let exported = repository.lab.run(&["serve", "--export", site.to_str().unwrap()]);
    assert_eq!(exported.status.code(), Some(0), "{}", output_text(&exported));
    let history = fs::read_dir(site.join("histories")).unwrap().map(|entry| entry.unwrap().path());
    let history = history.into_iter().find(|path| path.is_dir()).unwrap();
    let page = fs::read_to_string(history.join("compare/8-9.html")).unwrap();
    let (_, known) =
        page.split_once("The files and the built programs that differ").unwrap_or_else(|| panic!("{page}"));
    let (known, _) = known.split_once("</pre>").unwrap();
    assert!(
        known.contains("2 files") && known.contains("source") && known.contains("neither has a linked program"),
        "{known}"
    );
    assert!(!known.contains("<b>") && !known.contains('\u{1b}'), "{known}");
}

/// Names of branches, paths, authors and subjects do not break any output format.
fn harmless(repository: &Repository) {
    for command in ["show", "changes", "commits"] {
        for format in ["table", "markdown", "csv", "json"] {
            let output = repository.run(&[command, "--format", format]);
            assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
            assert!(!output_text(&output).contains('\u{1b}'), "{command} {format}: {}", output_text(&output));
        }
    }
    let markdown = output_text(&repository.run(&["changes", "--format", "markdown"]));
    assert!(markdown.contains("\\<b>") && !markdown.contains(" <b>") && !markdown.contains("\"<b>"), "{markdown}");
    let csv = output_text(&repository.run(&["show", "--format", "csv"]));
    assert_eq!(csv.lines().count(), 17, "a header and a record for each commit: {csv}");
}

/// Only new changes close the gate.
fn gated(repository: &Repository) {
    let open = repository.run(&["changes", "--gate"]);
    assert_eq!(open.status.code(), Some(0), "{}", output_text(&open));
    assert!(output_text(&open).contains("gate: open, no new step for the worse is known"), "{}", output_text(&open));
    let closed = repository.run(&["changes", "--gate", "--since", &repository.commits[10][..12]]);
    assert_eq!(closed.status.code(), Some(1), "{}", output_text(&closed));
    let slower = format!("by {}: +", &repository.commits[18][..12]);
    assert!(
        output_text(&closed).contains("\ngate: closed\n") && output_text(&closed).contains(&slower),
        "{}",
        output_text(&closed)
    );
    let unknown = repository.run(&["changes", "--gate", "--since", "0000000"]);
    assert_eq!(unknown.status.code(), Some(2), "{}", output_text(&unknown));
}

/// The state of the only step, and its recorded events.
fn state(repository: &Repository) -> (String, Vec<Value>) {
    let changes = repository.json(&["changes"]);
    let state = &changes[0]["steps"][0]["state"];
    (state["now"].as_str().unwrap().to_owned(), state["log"].as_array().unwrap().clone())
}

/// A change that is ignored with a reason does not close the gate until the mark is withdrawn.
fn marked(repository: &Repository) {
    let at = &repository.commits[18][..12];
    let mark = |arguments: &[&str]| repository.run(&[&["mark", "app"], arguments].concat());
    assert_refused(&mark(&["ignored", "--at", at]), 2, "--reason <TEXT>");
    assert_refused(&mark(&["ignored", "--at", at, "--reason", ""]), 2, "a value is required for '--reason <TEXT>'");
    assert_refused(&mark(&["ignored", "--at", at, "--reason", " "]), 2, "a change is ignored only for a reason");
    assert_refused(&mark(&["fixed"]), 2, "--at <COMMIT>");
    assert_refused(&mark(&["fixed", "--at", &repository.commits[16][..12]]), 2, "has no step at a measured commit");
    assert_refused(&mark(&["fixed", "--step", "2"]), 2, "app has 1 steps");
    assert_eq!(state(repository), ("found".to_owned(), Vec::new()));

    let ignored = mark(&["ignored", "--at", at, "--reason", "on purpose \u{1b}[31m<b>"]);
    assert_eq!(ignored.status.code(), Some(0), "{}", output_text(&ignored));
    assert!(output_text(&ignored).ends_with("is marked as ignored\n"), "{}", output_text(&ignored));
    let (now, log) = state(repository);
    assert_eq!((now.as_str(), log.len(), &log[0]["reason"]), ("ignored", 1, &"on purpose \u{1b}[31m<b>".into()));
    harmless(repository);
    let since = &repository.commits[10][..12];
    let open = repository.run(&["changes", "--gate", "--since", since]);
    assert_eq!(open.status.code(), Some(0), "{}", output_text(&open));
    assert!(output_text(&open).contains("worse, ignored (on purpose "), "{}", output_text(&open));

    assert_eq!(mark(&["found", "--step", "1"]).status.code(), Some(0));
    assert_eq!(state(repository).0, "found");
    assert_eq!(repository.run(&["changes", "--gate", "--since", since]).status.code(), Some(1));
}

#[test]
fn a_history_that_is_killed_goes_on_where_it_was() {
    let mut repository = Repository::on_branch();
    (0..6).for_each(|_| repository.commit(30, true));
    repository.declare("");
    let begin = || repository.command(&["run", "--quiet"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let child = begin();
    await_that("a build", || {
        let record = repository.lab.attempts().map(|_| repository.lab.record(1));
        record.is_some_and(|record| record.subjects.len() > 1)
    });
    kill(child);
    let mut resumed = repository.lab.command(&["resume", "--quiet"]).stdout(Stdio::null()).spawn().unwrap();
    await_that("an execution", || repository.lab.attempts().is_some_and(|attempts| attempts > 3));
    resumed.kill().unwrap();
    resumed.wait().unwrap();
    // A new run finishes the old one first, and then has nothing to measure.
    let output = repository.run(&["run", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    assert!(words(&output).contains("all 6 selected commits have results"), "{}", output_text(&output));
    let record = repository.lab.record(1);
    let mut names: Vec<&str> = record.subjects.iter().map(|subject| subject.name.as_str()).collect();
    names.dedup();
    assert_eq!((names.len(), record.plan.len()), (6, 18));
    assert_eq!(repository.results(), ["measured"; 6]);
    repository.lab.assert_nothing_left();
}

#[test]
fn what_a_run_can_conclude_is_said_before_it_measures() {
    let mut repository = Repository::on_branch();
    (0..14).for_each(|_| repository.commit(10, true));
    repository.declare_repeated(1, "pick = \"every 10\"");
    let progress = |arguments: &[&str]| String::from_utf8_lossy(&repository.run(arguments).stderr).into_owned();
    let too_few = "app at 1: no step can be found yet: that needs 12 measured commits, and after this run there are 3; \
        `pick = \"all\"` in faultline.toml picks 14";
    let listed = progress(&["commits"]);
    assert!(listed.contains(too_few), "{listed}");
    let first = progress(&["run"]);
    assert!(first.find(too_few) < first.find("building commit") && first.contains(too_few), "{first}");
    repository.declare_repeated(1, "pick = \"adaptive\"");
    let all = progress(&["run"]);
    let enough = "app at 1: steps can be found: 14 commits (12 are required); smallest detectable step";
    assert!(all.contains(enough) && all.contains("times the noise between commits"), "{all}");
    assert_eq!(repository.results(), ["measured"; 14]);
    assert!(!progress(&["run"]).contains("steps can be found"), "there is nothing left to measure");
}

#[test]
fn adaptive_picking_narrows_a_step_down_to_its_commit() {
    let mut repository = Repository::on_branch();
    for number in 0..60 {
        repository.commit(if number < 33 { 20 } else { 400 }, number != 31);
    }
    repository.declare("pick = \"adaptive\"\ncommits = 26");
    let output = repository.run(&["run", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let series = repository.json(&["show"]);
    let points = series[0]["points"].as_array().unwrap();
    assert_eq!(points.len(), 26, "{}", output_text(&output));
    for side in [0, 32, 33, 59] {
        let is_it = |point: &&Value| point["commit"]["id"] == repository.commits[side].as_str();
        assert_eq!(points.iter().find(is_it).map(|point| &point["result"]), Some(&"measured".into()), "{side}");
    }
    // Both sides of the step were measured in one run.
    let runs = |side: usize| {
        let commit = &repository.commits[side];
        let measured = |run: &i64| repository.lab.record(*run).subjects.iter().any(|subject| subject.name == *commit);
        let all = series[0]["runs"].as_array().unwrap().iter().filter_map(Value::as_i64);
        all.filter(measured).collect::<Vec<_>>()
    };
    assert!(runs(32).iter().any(|run| runs(33).contains(run)), "{:?} and {:?}", runs(32), runs(33));
    repository.lab.assert_nothing_left();
}

/// A build with a compiler made by the test, whose second version makes slow programs.
const COMPILED: &str = "{ cat source; test \"$(\"$CC\")\" = 1 || echo sleep 1; } >prog && chmod +x prog";

#[test]
fn a_compilers_step_is_bridged_and_labelled_as_a_quirk() {
    let mut repository = Repository::on_branch();
    let compiler = repository.lab.path("compiler");
    let install = |version: u32| {
        fs::write(&compiler, format!("#!/bin/sh\necho {version}\n")).unwrap();
        fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    };
    install(1);
    (0..8).for_each(|_| repository.commit_built(20, COMPILED));
    // With fewer repeats, the result would be inconclusive: the confidence interval of the median
    // covers too little.
    let with_compiler = format!(
        "environment = {{ CC = \"{}\" }}\n[[quirk]]\nwhat = \"never <b>\"\nsince = \"2001-01-01\"",
        compiler.display()
    );
    repository.declare_repeated(6, &with_compiler);
    let run = |repository: &Repository| {
        let output = repository.run(&["run", "--quiet"]);
        assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    };
    run(&repository);
    install(2);
    (0..6).for_each(|_| repository.commit_built(20, COMPILED));
    run(&repository);
    // The last commit built with the old compiler is measured again.
    let record = repository.lab.record(2);
    let built: Vec<&str> = record.subjects.iter().map(|subject| subject.name.as_str()).collect();
    assert_eq!(built, repository.commits[7..].iter().map(String::as_str).collect::<Vec<_>>());

    // The step is fiftyfold. So few measurements do not exclude an additional change of the program
    // by a few per cent. `--min-change` sets the smallest change that matters.
    let changes = repository.json(&["changes", "--min-change", "50%"]);
    let [step] = changes[0]["steps"].as_array().unwrap().as_slice() else { panic!("{changes:#}") };
    assert_eq!(changes[0]["commits"][0][1]["id"], repository.commits[7].as_str());
    let label = step["cause"]["label"].as_str().unwrap();
    assert!(label.ends_with("quirk") && step["cause"]["quirks"][0] == "A", "{step:#}");
    let quirk = &changes[0]["quirks"][0];
    let key = format!("{} --version", compiler.display());
    assert_eq!(quirk["changed"][0], serde_json::json!({"key": key, "before": "1", "now": "2"}), "{quirk:#}");
    assert!(quirk["bridge"]["change"]["ratio"].as_f64() > Some(2.0), "{quirk:#}");
    assert_eq!(changes[0]["quirks"].as_array().unwrap().len(), 1, "what was declared is no time between the runs");
    let gate = |least: &str| {
        let since = &repository.commits[0][..12];
        repository.run(&["changes", "--gate", "--since", since, "--min-change", least])
    };
    let open = gate("200%");
    assert_eq!(open.status.code(), Some(0), "{}", output_text(&open));
    assert!(output_text(&open).contains(", quirk A"), "{}", output_text(&open));
    // With `--min-change 0%`, noise leaves the change of the program inconclusive, except in the
    // 2.5 % of cases whose whole interval lies above 0.
    let closed = gate("0%");
    assert_eq!(closed.status.code(), Some(1), "{}", output_text(&closed));
    let labels = [", mostly quirk A: inconclusive: ", ", code (not quirk A)"];
    assert!(labels.iter().any(|label| output_text(&closed).contains(label)), "{}", output_text(&closed));
    let shown = words(&repository.run(&["show"]));
    assert!(shown.contains("Quirk A, since run 2 (") && shown.contains("Bridged by "), "{shown}");

    // After the bridge, nothing is measured again.
    let again = repository.run(&["run", "--quiet"]);
    assert!(words(&again).contains("all 14 selected commits have results"), "{}", output_text(&again));
    repository.lab.assert_nothing_left();
}

/// Number of commits of a history that is saved without being measured.
const MANY: u32 = 1000;

#[test]
fn a_thousand_commits_with_results_are_shown_with_their_steps() {
    let lab = Lab::new();
    let repository = lab.path("repository");
    fs::create_dir(&repository).unwrap();
    fs::write(lab.path("faultline.toml"), "[subject.app]\nrepository = \"repository\"\ncommand = \"./prog\"\n")
        .unwrap();
    generated::save(&lab.db(), &repository, MANY, "./prog", 1);
    let history = |arguments: &[&str]| {
        let mut command = lab.command(&[&["history"], arguments].concat());
        let began = std::time::Instant::now();
        let output = command.current_dir(lab.path("")).output().unwrap();
        println!("{arguments:?}: {:.2} s", began.elapsed().as_secs_f64());
        assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
        output
    };
    // The first call computes the conclusion, and saves it.
    for _ in 0..2 {
        let shown = history(&["show"]);
        assert!(words(&shown).contains("1000 of 1000 commits are measured"), "{}", output_text(&shown));
        assert!(words(&shown).contains("2 steps were found"), "{}", output_text(&shown));
    }
    let changes: Value = serde_json::from_slice(&history(&["changes", "--format", "json"]).stdout).unwrap();
    let places: Vec<&Value> = changes[0]["steps"].as_array().unwrap().iter().map(|step| &step["by"]).collect();
    assert_eq!(places, [300, 700]);
}

#[test]
fn a_mark_belongs_to_the_command_that_was_measured() {
    let lab = Lab::new();
    let repository = lab.path("repository");
    fs::create_dir(&repository).unwrap();
    fs::write(lab.path("faultline.toml"), "[subject.app]\nrepository = \"repository\"\ncommand = \"./prog\"\n")
        .unwrap();
    let measured = |command: &str, started| generated::save(&lab.db(), &repository, 300, command, started);
    let history = |arguments: &[&str]| {
        let mut command = lab.command(&[&["history"], arguments].concat());
        command.current_dir(lab.path("")).output().unwrap()
    };
    let state = || {
        let changes = history(&["changes", "--format", "json"]);
        let changes: Value =
            serde_json::from_slice(&changes.stdout).unwrap_or_else(|_| panic!("{}", output_text(&changes)));
        assert_eq!(changes[0]["steps"].as_array().unwrap().len(), 2, "{changes:#}");
        changes[0]["steps"][0]["state"]["now"].as_str().unwrap().to_owned()
    };
    let gate = || history(&["changes", "--gate"]).status.code();
    measured("./prog", 1);
    assert_eq!(gate(), Some(1));
    let marked = history(&["mark", "app", "ignored", "--step", "1", "--reason", "x"]);
    assert_eq!(marked.status.code(), Some(0), "{}", output_text(&marked));
    assert_eq!((state().as_str(), gate()), ("ignored", Some(0)));

    // The run with the other command is the first of its series, so all of its steps are new.
    let later = 4_000_000_000_000;
    measured("./other", later);
    assert_eq!((state().as_str(), gate()), ("found", Some(1)));
    let marked = history(&["mark", "app", "fixed", "--step", "1"]);
    assert_eq!(marked.status.code(), Some(0), "{}", output_text(&marked));
    assert_eq!(state(), "fixed");
    measured("./prog", later + 1);
    assert_eq!(state(), "ignored", "the command of before is measured again");

    // With two numbers of tasks, a step's number or commit is ambiguous.
    generated::save_with(&lab.db(), &repository, 300, "./prog", later + 2, 4);
    let two = "[subject.app]\nrepository = \"repository\"\ncommand = \"./prog\"\ntasks = [1, 4]\n";
    fs::write(lab.path("faultline.toml"), two).unwrap();
    let ambiguous = "several series may have the step: with 1 and with 4 tasks";
    assert_refused(&history(&["mark", "app", "fixed", "--step", "1"]), 2, ambiguous);
    let bisect = |arguments: &[&str]| {
        let mut command = lab.command(&[&["bisect"], arguments].concat());
        command.current_dir(lab.path("")).output().unwrap()
    };
    assert_refused(&bisect(&["app", "--step", "1"]), 2, ambiguous);
    assert_refused(&bisect(&["app", "--tasks", "2"]), 1, "no step of app is known");
    assert_refused(
        &bisect(&["app", "v2", "--step", "1", "--", "./prog"]),
        2,
        "the argument '[NEW]' cannot be used with '--step <N>'",
    );
    assert_refused(&bisect(&["app", "v2"]), 2, "the following required arguments were not provided");
    let marked = history(&["mark", "app", "fixed", "--step", "1", "--tasks", "4"]);
    assert_eq!(marked.status.code(), Some(0), "{}", output_text(&marked));
    assert_eq!(state(), "ignored", "the other series");
}

#[test]
fn adaptive_picking_keeps_what_other_tools_built_in_the_history() {
    let mut repository = Repository::on_branch();
    let compiler = repository.lab.path("compiler");
    let install = |version: u32| {
        fs::write(&compiler, format!("#!/bin/sh\necho {version}\n")).unwrap();
        fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    };
    install(1);
    (0..14).for_each(|_| repository.commit(10, true));
    let keys = format!("pick = \"adaptive\"\ncommits = 13\nenvironment = {{ CC = \"{}\" }}", compiler.display());
    repository.declare_repeated(1, &keys);
    let measured = |repository: &Repository| {
        let output = repository.run(&["run", "--quiet"]);
        assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
        let series = repository.json(&["show"]);
        let is_measured = |point: &&Value| point["result"] == "measured";
        let points = series[0]["points"].as_array().unwrap().iter().filter(is_measured);
        points.map(|point| point["commit"]["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let old = measured(&repository);
    assert_eq!(old.len(), 13);
    install(2);
    (0..20).for_each(|_| repository.commit(10, true));
    let new = measured(&repository);
    assert!(new.len() > 13 && old.iter().all(|commit| new.contains(commit)), "{old:?} {new:?}");
    let quirks = repository.json(&["changes"])[0]["quirks"].clone();
    assert!(quirks[0]["bridge"]["commit"].is_u64(), "{quirks:#}");
}
