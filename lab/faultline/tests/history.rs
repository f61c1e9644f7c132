//! `faultline init` and `faultline history` in repositories of this test's own. Programs sleep, because a busy host changes the length of a sleep less than the
//! time of a computation.

mod lab;

use lab::repository::{Repository, git};
use lab::{Lab, assert_refused, await_that, kill};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

/// A branch whose name would do harm in a shell, in HTML and in a table.
const BRANCH: &str = "x|\"<b>'$(touch-harm)";

/// Of a program that sleeps, and a file that declares it.
impl Repository {
    fn on_branch() -> Self {
        let repository = Repository::new();
        git(&repository.path(), &["checkout", "--quiet", "-b", BRANCH]);
        repository
    }

    /// Declares the program, measured three times at each commit that is picked, with these keys in addition.
    fn declare(&self, keys: &str) {
        self.declare_repeated(3, keys);
    }

    /// The same with another number of repeats.
    fn declare_repeated(&self, repeats: u32, keys: &str) {
        let branch = BRANCH.replace('"', "\\\"");
        let text = format!(
            "[subject.app]\nrepository = \"repository\"\nwork = \"work\"\nbranch = \"{branch}\"\nbuild = \"./build\"\n\
             keep = [\"prog\"]\ncommand = \"./prog\"\nrepeats = {repeats}\nseed = 1\n{keys}\n[variant.other]\nenvironment = {{ X = 1 }}\n"
        );
        fs::write(self.lab.path("faultline.toml"), text).unwrap();
    }

    /// A commit in which the program sleeps for so many milliseconds. It is made by the build, if `builds`.
    fn commit(&mut self, sleep_ms: u32, builds: bool) {
        self.commit_built(
            sleep_ms,
            if builds { "cp source prog && chmod +x prog" } else { "echo it cannot build >&2; exit 3" },
        );
    }

    /// A commit in which the program sleeps for so many milliseconds, and is made so.
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

    /// What a command prints as JSON, which must succeed.
    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--format", "json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(&output)))
    }

    /// Results of the points of the only series.
    fn results(&self) -> Vec<String> {
        let series = self.json(&["show"]);
        let points = series[0]["points"].as_array().unwrap();
        points.iter().map(|point| point["result"].as_str().unwrap().to_owned()).collect()
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// One line, with single blanks.
fn words(output: &Output) -> String {
    said(output).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_example_is_written_once_and_is_right() {
    let mut repository = Repository::on_branch();
    (0..3).for_each(|_| repository.commit(10, true));
    let init = |lab: &Lab| lab.command(&["init"]).current_dir(repository.path()).output().unwrap();
    assert_eq!(init(&repository.lab).status.code(), Some(0));
    let mut commits = repository.lab.command(&["history", "commits"]);
    commits.current_dir(repository.path()).env("XDG_CACHE_HOME", repository.lab.path("cache"));
    let shown = commits.output().unwrap();
    assert_eq!(shown.status.code(), Some(0), "{}", said(&shown));
    assert!(words(&shown).contains("2 of 2 would be measured by `faultline history run`."), "{}", said(&shown));
    assert!(words(&shown).contains(&repository.commits[2][..12]), "{}", said(&shown));
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
    assert_eq!(again.status.code(), Some(0), "{}", said(&again));
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
    assert_refused(&refused, 2, "there is no faultline.toml here, nor in a directory above");
    let wrong = |text: &str, problem: &str| {
        fs::write(&file, text).unwrap();
        assert_refused(&repository.run(&["run"]), 2, problem);
    };
    wrong("[subject.app]\ncommand = './x'\nbrnach = 'main'\n", "faultline.toml:3: unknown field `brnach`");
    wrong("[subject.app]\ncommand = './x'\npick = 'often'\n", "faultline.toml:3: 'often' picks no commits");
    wrong("[variant.x]\n", "faultline.toml declares no subject");
    repository.declare("");
    assert_refused(&repository.run(&["show", "nonsense"]), 2, "faultline.toml declares no subject 'nonsense'");
    assert_refused(&repository.run(&["show"]), 1, "nothing of these subjects is measured yet");
    assert!(!repository.lab.db().exists());
    // The same file has variants.
    let compared =
        repository.lab.command(&["compare", "--b", "nonsense"]).current_dir(repository.lab.path("")).output();
    assert!(said(&compared.unwrap()).contains("faultline.toml declares other"));
}

#[test]
fn commits_are_measured_once_and_their_step_is_found_explained_and_drilled() {
    let mut repository = Repository::on_branch();
    for number in 0..29 {
        repository.commit(if number < 17 { 20 } else { 150 }, number != 4);
    }
    repository.declare("pick = \"every 2\"\n[notify]\ncommand = [\"./tell\", \"a b\"]\nlimit = \"20s\"");
    let output = repository.run(&["run", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(words(&output).contains("does not build"), "{}", said(&output));
    let results = repository.results();
    assert_eq!(results.len(), 15);
    assert_eq!(results.iter().filter(|result| *result == "measured").count(), 14, "{results:?}");
    assert_eq!(results[2], "unusable");

    // Nothing is measured twice.
    let again = repository.run(&["run", "--quiet"]);
    assert!(words(&again).contains("app at 1: each of the 15 picked commits has a result"), "{}", said(&again));
    (0..2).for_each(|_| repository.commit(150, true));
    let planned = repository.json(&["commits"]);
    let wanted = planned.as_array().unwrap().iter().filter(|commit| commit["is_wanted"] == true).count();
    assert_eq!(wanted, 1);
    let output = repository.run(&["run", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
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

    // The bisect that exists finds the commit between those that were measured.
    let (tell, told) = (repository.lab.path("tell"), repository.lab.path("told"));
    fs::write(&tell, "#!/bin/sh\ntest -e ready || { echo not ready >&2; exit 3; }\necho \"$1\" >>told\ncat >>told\n")
        .unwrap();
    fs::set_permissions(&tell, fs::Permissions::from_mode(0o755)).unwrap();
    let drilled = repository.run(&["drill", "app", "--quiet", "--layouts", "8", "--revert", "--format", "json"]);
    let problem = "nobody was notified of a confirmed change of app: `./tell a b`: it ends with status 3: not ready";
    assert!(String::from_utf8_lossy(&drilled.stderr).contains(problem), "{}", said(&drilled));
    let progress = String::from_utf8_lossy(&drilled.stderr);
    assert!(!progress.contains("building") && !progress.contains("linking"), "shown despite `--quiet`: {progress}");
    let found: Value = serde_json::from_slice(&drilled.stdout).unwrap_or_else(|_| panic!("{}", said(&drilled)));
    let candidates = &found["commits"][0]["candidates"];
    assert_eq!(candidates[0]["id"], repository.commits[17].as_str(), "{found:#}");
    assert_eq!(candidates.as_array().unwrap().len(), 1, "{found:#}");
    // Nothing links this program, so the first two layouts show that there are none.
    let layouts = &found["steps"][0]["layouts"];
    assert_eq!((&layouts["tried"], &layouts["unchanged"]), (&2.into(), &2.into()), "{found:#}");
    let reverted = &found["steps"][0]["reverted"];
    assert_eq!((&reverted["on"], &reverted["outcome"]), (&repository.commits[30].as_str().into(), &"conflict".into()));
    // The history knows that the step is confirmed, and by which commit.
    let (now, log) = state(&repository);
    let search = log.last().unwrap();
    assert_eq!((now.as_str(), &search["source"]["kind"]), ("confirmed", &"search".into()), "{log:#?}");
    assert_eq!(search["commits"], Value::from(vec![repository.commits[17].as_str()]));
    assert!(words(&repository.run(&["show"])).contains("worse, confirmed"), "{}", said(&repository.run(&["show"])));

    // The notification that failed is tried again, and comes once.
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
    assert!(words(&listed).contains("history of app: prog, time"), "{}", said(&listed));
    let shown = repository.lab.run(&["show", "2"]);
    assert!(words(&shown).contains("1 of 1 commits are measured"), "{}", said(&shown));
    let compared = repository.lab.run(&["compare", before, after]);
    assert!(compared.status.success(), "{}", said(&compared));
    let page = repository.lab.run(&["report", "1", "-o", repository.lab.path("x.html").to_str().unwrap()]);
    assert_refused(&page, 2, "a history of commits has no page");
    let status = git(&repository.path(), &["status", "--porcelain", "--ignored"]);
    assert!(status.is_empty(), "the user's checkout is not touched: {status}");
    assert!(!repository.path().join("harm").exists() && !repository.lab.path("harm").exists());
    repository.lab.assert_nothing_left();
}

/// The comparison of a step's sides has the files that its commits changed: the run saved them, no search did.
fn explained_on_its_page(repository: &Repository) {
    let site = repository.lab.path("site");
    let exported = repository.lab.run(&["export-site", site.to_str().unwrap()]);
    assert_eq!(exported.status.code(), Some(0), "{}", said(&exported));
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

/// Names of branches, paths, authors and subjects change no form of output.
fn harmless(repository: &Repository) {
    for command in ["show", "changes", "commits"] {
        for format in ["table", "markdown", "csv", "json"] {
            let output = repository.run(&[command, "--format", format]);
            assert_eq!(output.status.code(), Some(0), "{}", said(&output));
            assert!(!said(&output).contains('\u{1b}'), "{command} {format}: {}", said(&output));
        }
    }
    let markdown = said(&repository.run(&["changes", "--format", "markdown"]));
    assert!(markdown.contains("\\<b>") && !markdown.contains(" <b>") && !markdown.contains("\"<b>"), "{markdown}");
    let csv = said(&repository.run(&["show", "--format", "csv"]));
    assert_eq!(csv.lines().count(), 17, "a header and a record for each commit: {csv}");
}

/// Only what is new closes the gate.
fn gated(repository: &Repository) {
    let open = repository.run(&["changes", "--gate"]);
    assert_eq!(open.status.code(), Some(0), "{}", said(&open));
    assert!(said(&open).contains("gate: open, no new step for the worse is known"), "{}", said(&open));
    let closed = repository.run(&["changes", "--gate", "--since", &repository.commits[10][..12]]);
    assert_eq!(closed.status.code(), Some(1), "{}", said(&closed));
    let slower = format!("by {}: +", &repository.commits[18][..12]);
    assert!(said(&closed).contains("\ngate: closed\n") && said(&closed).contains(&slower), "{}", said(&closed));
    let unknown = repository.run(&["changes", "--gate", "--since", "0000000"]);
    assert_eq!(unknown.status.code(), Some(2), "{}", said(&unknown));
}

/// The state of the only step, and what was said of it.
fn state(repository: &Repository) -> (String, Vec<Value>) {
    let changes = repository.json(&["changes"]);
    let state = &changes[0]["steps"][0]["state"];
    (state["now"].as_str().unwrap().to_owned(), state["log"].as_array().unwrap().clone())
}

/// A change that is ignored, for a reason, does not close the gate, until that is taken back.
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
    assert_eq!(ignored.status.code(), Some(0), "{}", said(&ignored));
    assert!(said(&ignored).ends_with("is marked as ignored\n"), "{}", said(&ignored));
    let (now, log) = state(repository);
    assert_eq!((now.as_str(), log.len(), &log[0]["reason"]), ("ignored", 1, &"on purpose \u{1b}[31m<b>".into()));
    harmless(repository);
    let since = &repository.commits[10][..12];
    let open = repository.run(&["changes", "--gate", "--since", since]);
    assert_eq!(open.status.code(), Some(0), "{}", said(&open));
    assert!(said(&open).contains("worse, ignored (on purpose "), "{}", said(&open));

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
    // A new run ends the old one first, and then has nothing to measure.
    let output = repository.run(&["run", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(words(&output).contains("each of the 6 picked commits has a result"), "{}", said(&output));
    let record = repository.lab.record(1);
    let mut names: Vec<&str> = record.subjects.iter().map(|subject| subject.name.as_str()).collect();
    names.dedup();
    assert_eq!((names.len(), record.plan.len()), (6, 18));
    assert_eq!(repository.results(), ["measured"; 6]);
    repository.lab.assert_nothing_left();
}

#[test]
fn adaptive_picking_narrows_a_step_down_to_its_commit() {
    let mut repository = Repository::on_branch();
    for number in 0..60 {
        repository.commit(if number < 33 { 20 } else { 400 }, number != 31);
    }
    repository.declare("pick = \"adaptive\"\ncommits = 26");
    let output = repository.run(&["run", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let series = repository.json(&["show"]);
    let points = series[0]["points"].as_array().unwrap();
    assert_eq!(points.len(), 26, "{}", said(&output));
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

/// A build with a compiler of this test's own, whose second version makes slow programs.
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
    // Fewer would leave it inconclusive: the interval of their median covers too little.
    let with_compiler = format!(
        "environment = {{ CC = \"{}\" }}\n[[quirk]]\nwhat = \"never <b>\"\nsince = \"2001-01-01\"",
        compiler.display()
    );
    repository.declare_repeated(6, &with_compiler);
    let run = |repository: &Repository| {
        let output = repository.run(&["run", "--quiet"]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    };
    run(&repository);
    install(2);
    (0..6).for_each(|_| repository.commit_built(20, COMPILED));
    run(&repository);
    // The newest commit of the old compiler is measured again.
    let record = repository.lab.record(2);
    let built: Vec<&str> = record.subjects.iter().map(|subject| subject.name.as_str()).collect();
    assert_eq!(built, repository.commits[7..].iter().map(String::as_str).collect::<Vec<_>>());

    // The step is fiftyfold. What was measured so few times does not exclude that the program changed by a few per cent too: `--min-change` says how much of that matters.
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
    assert_eq!(open.status.code(), Some(0), "{}", said(&open));
    assert!(said(&open).contains(", quirk A"), "{}", said(&open));
    // Noise excludes no change of the program of any size, and in 2.5 % of cases the interval is above every size.
    let closed = gate("0%");
    assert_eq!(closed.status.code(), Some(1), "{}", said(&closed));
    let labels = [", mostly quirk A: inconclusive: ", ", code (not quirk A)"];
    assert!(labels.iter().any(|label| said(&closed).contains(label)), "{}", said(&closed));
    let shown = words(&repository.run(&["show"]));
    assert!(shown.contains("Quirk A, since run 2 (") && shown.contains("Bridged by "), "{shown}");

    // Nothing is measured again once it is bridged.
    let again = repository.run(&["run", "--quiet"]);
    assert!(words(&again).contains("each of the 14 picked commits has a result"), "{}", said(&again));
    repository.lab.assert_nothing_left();
}

/// Commits of a history that is saved without being measured.
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
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        output
    };
    // The first one concludes the run; after that its conclusion is saved.
    for _ in 0..2 {
        let shown = history(&["show"]);
        assert!(words(&shown).contains("1000 of 1000 commits are measured"), "{}", said(&shown));
        assert!(words(&shown).contains("2 steps were found"), "{}", said(&shown));
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
        let changes: Value = serde_json::from_slice(&changes.stdout).unwrap_or_else(|_| panic!("{}", said(&changes)));
        assert_eq!(changes[0]["steps"].as_array().unwrap().len(), 2, "{changes:#}");
        changes[0]["steps"][0]["state"]["now"].as_str().unwrap().to_owned()
    };
    let gate = || history(&["changes", "--gate"]).status.code();
    measured("./prog", 1);
    assert_eq!(gate(), Some(1));
    let marked = history(&["mark", "app", "ignored", "--step", "1", "--reason", "x"]);
    assert_eq!(marked.status.code(), Some(0), "{}", said(&marked));
    assert_eq!((state().as_str(), gate()), ("ignored", Some(0)));
    // What older versions saved belongs to the run that was the newest at that time.
    let older = "UPDATE change_event SET conditions = '', json = json_remove(json, '$.place.levels')";
    assert_eq!(rusqlite::Connection::open(lab.db()).unwrap().execute(older, []).unwrap(), 1);
    assert_eq!((state().as_str(), gate()), ("ignored", Some(0)));

    // The run with the other command is the first of its series, so all of its steps are new.
    let later = 4_000_000_000_000;
    measured("./other", later);
    assert_eq!((state().as_str(), gate()), ("found", Some(1)));
    let marked = history(&["mark", "app", "fixed", "--step", "1"]);
    assert_eq!(marked.status.code(), Some(0), "{}", said(&marked));
    assert_eq!(state(), "fixed");
    measured("./prog", later + 1);
    assert_eq!(state(), "ignored", "the command of before is measured again");

    // With two numbers of CPUs a step's number and commit mean one of each.
    generated::save_with(&lab.db(), &repository, 300, "./prog", later + 2, 4);
    let two = "[subject.app]\nrepository = \"repository\"\ncommand = \"./prog\"\ncpus = [1, 4]\n";
    fs::write(lab.path("faultline.toml"), two).unwrap();
    let ambiguous = "the step may be that of several series: with 1 and with 4 CPUs";
    assert_refused(&history(&["mark", "app", "fixed", "--step", "1"]), 2, ambiguous);
    assert_refused(&history(&["drill", "app", "--step", "1"]), 2, ambiguous);
    let marked = history(&["mark", "app", "fixed", "--step", "1", "--cpus", "4"]);
    assert_eq!(marked.status.code(), Some(0), "{}", said(&marked));
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
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
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

/// A run that measured many commits.
mod generated {
    use faultline_model::artefact::Artefact;
    use faultline_model::cell::{Case, Cell, TaskMode};
    use faultline_model::commit::{CommitInfo, CommitLine};
    use faultline_model::describe::{Style, VariantInfo, WorkloadInfo};
    use faultline_model::direction::Direction;
    use faultline_model::facts::Facts;
    use faultline_model::journal::Journal;
    use faultline_model::machine::Machine;
    use faultline_model::outcome::Outcome;
    use faultline_model::plan::{
        CommitOrder, HistorySettings, LineMeasure, MeasuredLine, PinPolicy, PlanItem, RunKind, Settings, TimedSettings,
    };
    use faultline_model::protocol::{Event, parse};
    use faultline_model::recipe::{BuildTools, Recipe};
    use faultline_model::record::Session;
    use faultline_model::setup::Setup;
    use faultline_model::subject::{BuildResult, Commit, Subject, SubjectIndex};
    use faultline_model::time::UnixMillis;
    use faultline_store::{NewRun, Store};
    use std::collections::BTreeMap;
    use std::path::Path;

    /// Executions of a commit.
    const REPEATS: u32 = 3;

    /// Saves the run: each commit takes a second or so, after three tenths of them a tenth more, and after seven tenths a little less than that.
    pub fn save(database: &Path, repository: &Path, commits: u32, command: &str, started: i64) {
        save_with(database, repository, commits, command, started, 1);
    }

    /// The same with a number of copies that run at once.
    pub fn save_with(database: &Path, repository: &Path, commits: u32, command: &str, started: i64, tasks: u32) {
        let mut store = Store::open_or_create(database).unwrap();
        let (settings, workloads) = (settings(repository, commits, command, tasks), [workload()]);
        let subjects: Vec<Subject> = (0..commits).map(|position| subject(position, command)).collect();
        let plan: Vec<PlanItem> = (0..commits * REPEATS).map(|ordinal| item(ordinal, commits, tasks)).collect();
        let session = Session { started: UnixMillis(started), facts: vec![Facts::default()] };
        let new = NewRun {
            label: None,
            settings: &settings,
            subjects: &subjects,
            workloads: &workloads,
            plan: &plan,
            session: &session,
        };
        let run = store.begin_run(&new).unwrap();
        let mut journal = store.journal(run);
        for item in &plan {
            let attempt = journal.begin_attempt(item.ordinal, UnixMillis(2)).unwrap();
            let printed = ["end 5".to_owned(), format!("measure real_s s lower {}", seconds(item, commits))];
            for line in printed {
                let event: Event = parse(line.as_bytes()).unwrap();
                journal.record(attempt, &event).unwrap();
            }
            journal.end_attempt(attempt, &Outcome::Done, UnixMillis(3)).unwrap();
        }
        store.finish_run(run).unwrap();
    }

    fn seconds(item: &PlanItem, commits: u32) -> f64 {
        let level = match 10 * item.subject.0 / commits {
            0..3 => 1.0,
            3..7 => 1.1,
            _ => 1.06,
        };
        let noise = (item.subject.0.wrapping_mul(2_654_435_761) >> 16) % 1000 + item.block * 7;
        level * (1.0 + 0.01 * f64::from(noise) / 1000.0)
    }

    fn id(position: u32) -> String {
        format!("{:08x}{position:032x}", position.wrapping_mul(2_654_435_761))
    }

    fn settings(repository: &Path, commits: u32, command: &str, tasks: u32) -> Settings {
        let commit = |position| CommitInfo {
            id: id(position),
            tree: id(position),
            committed_s: 1_700_000_000 + i64::from(position) * 3600,
            author: "A. Uthor".to_owned(),
            subject: format!("commit {position}"),
            ..CommitInfo::default()
        };
        let recipe =
            Recipe { command: Vec::new(), environment: Vec::new(), limit_s: 1800, kept: Vec::new(), is_clean: false };
        let measured = MeasuredLine {
            measure: LineMeasure::Timed(TimedSettings::pinned(PinPolicy::Each)),
            // As it is saved: the directory of the file, and what the file says.
            repository: repository.to_str().unwrap().to_owned(),
            work: None,
            line: CommitLine { commits: (0..commits).map(commit).collect() },
            recipe,
            tools: Some(BuildTools { digest: "1".to_owned(), versions: BTreeMap::new() }),
            on: None,
            releases: Vec::new(),
            artefact: Artefact::Command(vec![command.to_owned()]),
        };
        let history = HistorySettings {
            measured,
            subject: "app".to_owned(),
            wanted: (0..commits).collect(),
            machine: "here".to_owned(),
            order: CommitOrder::Line,
            seeds_by_ends: false,
            layouts: 0,
            layout_kind: Default::default(),
        };
        let kind = RunKind::History(Box::new(history));
        Settings { cpus: vec![tasks], repeats: REPEATS, seed: 1, limit_ms: None, size: None, kind }
    }

    fn subject(position: u32, command: &str) -> Subject {
        let directory = Some(format!("/builds/{position}"));
        let setup = Setup { command: vec![command.to_owned()], directory, ..Setup::default() };
        Subject {
            commit: Some(Commit { id: id(position), repository: None }),
            build: Some(BuildResult::Built),
            ..Subject::on(id(position), Machine::Host, setup)
        }
    }

    fn item(ordinal: u32, commits: u32, tasks: u32) -> PlanItem {
        let case = Case { workload: "program".into(), variant: "given".into(), mode: TaskMode::Process };
        let subject = SubjectIndex(ordinal % commits);
        let cell = Cell { case, tasks };
        PlanItem { ordinal, block: ordinal / commits, subject, cell, timing: None, seed: None }
    }

    fn workload() -> WorkloadInfo {
        let variant = VariantInfo {
            name: "given".into(),
            modes: vec![TaskMode::Process],
            text: "a command".to_owned(),
            lens_operations: None,
        };
        WorkloadInfo {
            name: "program".to_owned(),
            summary: "a command".into(),
            operation: "run".into(),
            unit: "s".into(),
            direction: Direction::Lower,
            style: Style::Once,
            window_ms: 0,
            size: None,
            size_ranges: Vec::new(),
            variants: vec![variant],
            lens_operations: None,
            suites: Vec::new(),
            roles: Vec::new(),
            optional_roles: Vec::new(),
        }
    }
}
