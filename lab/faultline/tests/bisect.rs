//! `faultline bisect` in repositories made by the tests. Programs sleep, because a busy host
//! changes the length of a sleep less than the time of a computation.

use crate::lab::repository::{Repository, git};
use crate::lab::{Lab, assert_refused, await_boot, await_that, kill, output_text};
use faultline_record::record::Attempt;
use faultline_record::subject::{BuildResult, RevertResult, Subject};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

/// Commits of a program that sleeps.
trait TimedCommits {
    /// Adds a commit whose program sleeps for `sleep_ms`. The build makes the program if `builds`.
    fn commit(&mut self, sleep_ms: u32, builds: bool, subject: &str);
    fn bisect(&self, arguments: &[&str]) -> Command;
    fn json(&self, output: &Output) -> Value;
}

impl TimedCommits for Repository {
    fn commit(&mut self, sleep_ms: u32, builds: bool, subject: &str) {
        let make = if builds { "cp source prog && chmod +x prog" } else { "echo it cannot build >&2; exit 3" };
        self.write_programs(&[
            ("source", &format!("#!/bin/sh\n# {subject}\nsleep 0.{sleep_ms:03}\n")),
            ("build", &format!("#!/bin/sh\n{make}\n")),
        ]);
        self.commit_all(subject);
    }

    fn bisect(&self, arguments: &[&str]) -> Command {
        self.bisect_built_by("./build", arguments)
    }

    fn json(&self, output: &Output) -> Value {
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", output_text(output)))
    }
}

/// Candidate commits of each confirmed step. On a busy host, unconfirmed steps may be reported too.
fn candidates<'a>(found: &'a Value) -> Vec<Vec<&'a str>> {
    let ids =
        |step: &'a Value| step["candidates"].as_array().unwrap().iter().map(|commit| commit["id"].as_str().unwrap());
    let [steps, commits] = ["steps", "commits"].map(|key| found[key].as_array().unwrap());
    let confirmed = steps.iter().zip(commits).filter(|(step, _)| step["confirmed"] == true);
    confirmed.map(|(_, commits)| ids(commits).collect()).collect()
}

/// One commit only sleeps longer, one only computes more, and one only needs more memory. Each
/// measure finds its own.
#[test]
fn each_measure_finds_the_commit_that_raised_it() {
    let mut repository = Repository::new();
    for number in 0..8 {
        let sleep_ms = if number < 2 { 0 } else { 80 };
        let turns = if number < 4 { 10_000 } else { 60_000 };
        let megabytes = if number < 6 { 8 } else { 24 };
        let program = format!(
            "#!/bin/sh\n# {number}\nsleep 0.{sleep_ms:03}\ni=0; while [ $i -lt {turns} ]; do i=$((i + 1)); done\n\
             dd if=/dev/zero of=/dev/null bs={megabytes}M count=1 2>/dev/null\n"
        );
        repository.write_programs(&[("prog", &program)]);
        repository.commit_all(&format!("commit {number}"));
    }
    // The pages of the last step cost CPU time too.
    for (measure, last, by) in [("cpu-time", 5, 4), ("memory", 7, 6)] {
        let [first, last] = [&repository.commits[0], &repository.commits[last]].map(String::as_str);
        let options = ["--by", measure, "--least", "30%", "--format", "json", "--gate", first, last];
        let output = repository.bisect_built_by("true", &options).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{measure}: {}", output_text(&output));
        let found = repository.json(&output);
        assert_eq!(candidates(&found), [[repository.commits[by].as_str()]], "{measure}: {found:#}");
    }
    let shown = crate::lab::stdout(&repository.lab.run(&["show", "2"]));
    assert!(shown.contains("the peak memory of `./prog`") && shown.contains("change of memory"), "{shown}");
}

#[test]
fn the_commit_that_made_it_slower_is_named_and_broken_ones_are_skipped() {
    let mut repository = Repository::new();
    for number in 0..16 {
        let sleep_ms = if number < 11 { 10 } else { 30 };
        let builds = ![7, 8, 12].contains(&number);
        repository.commit(sleep_ms, builds, &format!("commit {number} <b>\u{1b}[31m$(touch harm)"));
    }
    git(&repository.path(), &["remote", "add", "origin", "https://user:secret@github.com/owner/name.git"]);
    let [first, last] = [&repository.commits[0], &repository.commits[15]].map(String::as_str);
    let output = repository.bisect(&["--format", "json", "--gate", first, last]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "the gate is closed: {}", output_text(&output));
    let slower = format!("\n  {} (commit 11 ", &repository.commits[11][..12]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains("gate: closed\n") && words.contains(&slower) && !words.contains('\u{1b}'), "{words}");
    let found = repository.json(&output);
    assert_eq!(candidates(&found), [[repository.commits[11].as_str()]], "{found:#}");
    let step = found["steps"].as_array().unwrap().iter().find(|step| step["confirmed"] == true).unwrap();
    let ratio = step["change"]["ratio"].as_f64().unwrap();
    assert!((1.5..3.5).contains(&ratio), "{ratio}");
    assert!(step["probability"].as_f64().unwrap() > 0.95, "{step:#}");
    assert!(found["trials"].as_u64().unwrap() <= 10, "{found:#}");
    assert!(
        git(&repository.path(), &["status", "--porcelain", "--ignored"]).is_empty(),
        "the user's checkout is not touched"
    );

    // The stored result reads the same. Its texts are escaped.
    let shown = repository.lab.run(&["show"]);
    let words = String::from_utf8(shown.stdout).unwrap();
    assert!(words.contains(&repository.commits[11][..12]) && words.contains("1 step was found"), "{words}");
    assert!(!words.contains('\u{1b}'), "{words}");
    let markdown = String::from_utf8(repository.lab.run(&["show", "--format", "markdown"]).stdout).unwrap();
    assert!(markdown.contains("\\<b>"), "{markdown}");
    let csv = String::from_utf8(repository.lab.run(&["show", "--format", "csv"]).stdout).unwrap();
    assert_eq!(csv.lines().count(), 2, "{csv}");

    // Two of the commits are compared without new measurements.
    let compared = repository.lab.run(&["compare", first, &repository.commits[11]]);
    assert!(compared.status.success(), "{}", output_text(&compared));
    assert!(!output_text(&compared).contains("differ in"), "both ran on this machine: {}", output_text(&compared));
    let page = crate::lab::stdout(&repository.lab.run(&["show", "-o", "-"]));
    let name = format!("bisect {}..{}", &first[..12], &last[..12]);
    assert!(page.contains(&format!("<h1>{name}</h1>")) && page.contains("<figure class=\"search\""), "{page}");
    assert!(page.contains("class=\"answer bad\"") && page.contains("&lt;b&gt;"), "{page}");
    let of_commit = format!("href=\"https://github.com/owner/name/commit/{}\"", repository.commits[11]);
    assert!(page.contains(&of_commit) && !page.contains("secret"), "{page}");
    assert!(output_text(&repository.lab.run(&["list"])).contains(&name));
    repository.lab.assert_nothing_left();
}

#[test]
fn a_search_ends_with_its_time_and_names_what_remains_possible() {
    let mut repository = Repository::new();
    for number in 0..8 {
        repository.commit(if number < 5 { 150 } else { 350 }, true, &format!("commit {number}"));
    }
    let [first, last] = [&repository.commits[0], &repository.commits[7]].map(String::as_str);
    // Each execution takes 0.15 s or more, so the time is used up before a commit is found.
    let output = repository.bisect(&["--time", "1s", "--format", "json", "--gate", first, last]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", output_text(&output));
    let found = repository.json(&output);
    assert_eq!((&found["budget_used"], &found["finished"]), (&true.into(), &false.into()), "{found:#}");
    assert!(!found["remaining"].as_array().unwrap().is_empty(), "{found:#}");
    let shown = output_text(&repository.lab.run(&["show"])).split_whitespace().collect::<Vec<_>>().join(" ");
    let ended = "The time budget of 1.0 s for executions was used up: a step remains possible";
    assert!(shown.contains(ended), "{shown}");
}

/// A repository of three commits without a program, only its source.
#[test]
fn first_mistakes_get_hints() {
    let lab = Lab::new();
    let path = lab.path("repository");
    crate::lab::repository::create(&path);
    for number in 0..3 {
        fs::write(path.join("source"), format!("#!/bin/sh\n# {number}\nsleep 0.01\n")).unwrap();
        fs::write(path.join("Makefile"), "prog: source\n\tcp source prog\n\tchmod +x prog\nnothing:\n\ttrue\n")
            .unwrap();
        crate::lab::repository::commit(&path, &format!("commit {number}"));
    }
    let search = |options: &[&str], program: &str| {
        let words =
            [&["bisect", "HEAD~2", "HEAD", "--quiet", "--repository", path.to_str().unwrap()], options].concat();
        let mut command = lab.command(&[&words[..], &["--", program]].concat());
        command.env("XDG_CACHE_HOME", lab.path("cache")).output().unwrap()
    };
    let own = path.canonicalize().unwrap().join("prog");
    for (options, program, reason) in [
        (&[][..], "./prog", "no build command makes it: give one with `--build COMMAND`"),
        (&["--build", "make nothing"], "./prog", "the build command `make nothing` leaves no ./prog"),
        (&["--build", "make"], "./progg", "the build command `make` leaves no ./progg"),
        (&["--build", "make", "--keep", "source"], "./prog", "(source): `--keep PATH` adds it"),
        (&[], "./source", "cannot run ./source: it is not executable"),
        (&["--build", "make"], own.to_str().unwrap(), "is in your checkout, not in the build: write ./prog"),
    ] {
        let output = search(options, program);
        assert_eq!(output.status.code(), Some(1), "{}", crate::lab::output_text(&output));
        // The table is wrapped.
        let words: Vec<String> = crate::lab::stdout(&output).split_whitespace().map(str::to_owned).collect();
        assert!(words.join(" ").contains(reason), "{reason}: {}", words.join(" "));
    }
    let unknown = search(&["--build", "no-such-build-program all"], "./prog");
    crate::lab::assert_refused(
        &unknown,
        2,
        "the build command cannot run: there is no program 'no-such-build-program' in PATH",
    );
    assert!(crate::lab::stderr(&unknown).contains("correct `--build COMMAND`"));
}

/// A commit that changes none of the kept files cannot have made the program slower.
#[test]
fn commits_with_equal_builds_are_executed_once() {
    let mut repository = Repository::new();
    for number in 0..6 {
        repository.write_programs(&[("prog", "#!/bin/sh\nsleep 0.01\n")]);
        fs::write(repository.path().join("notes"), number.to_string()).unwrap();
        repository.commit_all(&format!("notes {number}"));
    }
    let options = ["--keep", "prog", "--format", "json", "HEAD~5", "HEAD"];
    let output = repository.bisect_built_by("true", &options).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let found = repository.json(&output);
    assert_eq!((found["trials"].as_u64(), found["steps"].as_array().unwrap().len()), (Some(2), 0), "{found:#}");
    assert!(found["executions"].as_u64().unwrap() < 12, "both ends are one build: {found:#}");
}

#[test]
fn no_step_is_found_where_there_is_none() {
    let mut repository = Repository::new();
    for number in 0..6 {
        repository.commit(10, true, &format!("commit {number}"));
    }
    // On a machine too busy to detect a change of 50 %, the search is inconclusive, but still finds
    // no step.
    let gated = ["--format", "json", "--least", "50%", "--gate", "--inconclusive", "pass", "HEAD~5", "HEAD"];
    let output = repository.bisect(&gated).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let found = repository.json(&output);
    assert_eq!(found["steps"].as_array().unwrap().len(), 0, "{found:#}");
    assert_eq!(found["trials"], 2);
    assert!(found["detectable"].as_f64().unwrap() >= 0.5, "{found:#}");
    assert!(output_text(&output).contains("gate: open, "), "{}", output_text(&output));
}

#[test]
fn a_gate_is_closed_by_a_search_that_could_not_see_the_least_change() {
    let mut repository = Repository::new();
    repository.commit(10, true, "old");
    repository.commit(10, true, "new");
    let gated = |more: &[&str]| {
        let few = ["--least", "0.1%", "--repeats", "6", "--gate"];
        repository.bisect(&[&few[..], more, &["HEAD~1", "HEAD"]].concat()).output().unwrap()
    };
    let closed = gated(&[]);
    let words = String::from_utf8(closed.stderr).unwrap();
    assert_eq!(closed.status.code(), Some(1), "{words}");
    assert!(words.contains("gate: closed\n"), "{words}");
    assert!(words.contains("\n  inconclusive: 80 % power to detect a change of "), "{words}");
    let passed = String::from_utf8(gated(&["--inconclusive", "pass"]).stderr).unwrap();
    assert!(passed.contains("\n  passes: inconclusive: 80 % power to detect a change of "), "{passed}");
}

#[test]
fn an_unmeasurable_end_is_reported() {
    let mut repository = Repository::new();
    repository.commit(10, true, "good");
    repository.commit(10, false, "broken");
    let output = repository.bisect(&["HEAD~1", "HEAD"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let words = output_text(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("it exited with status 3: it cannot build"), "{words}");
    repository.write_programs(&[("prog", "#!/bin/sh\necho no room >&2\nexit 3\n"), ("build", "#!/bin/sh\n")]);
    repository.commit_all("fails");
    let output = repository.bisect(&["HEAD~2..HEAD"]).output().unwrap();
    let words = output_text(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("the last commit, does not run: command: ./prog ended with status 3: no room"), "{words}");
}

/// Users may call the command from make, as `make run` does. Under an inherited `-n`, make would
/// build nothing.
#[test]
fn options_of_an_outer_make_do_not_reach_builds() {
    let mut repository = Repository::new();
    fs::write(repository.path().join("Makefile"), "prog: source\n\tcp source prog\n\tchmod +x prog\n").unwrap();
    repository.commit(10, true, "old");
    repository.commit(10, true, "new");
    let mut bisect = repository.bisect_built_by("make", &["--repeats", "4", "--format", "json", "HEAD~1", "HEAD"]);
    let output = bisect.env("MAKEFLAGS", "n").env("MAKELEVEL", "1").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    assert_eq!(repository.json(&output)["unusable"], 0);
}

#[test]
fn a_full_disk_stops_the_search_and_a_resume_goes_on() {
    let mut repository = Repository::new();
    let compiler = "#!/bin/sh\nhead -c 3000000 /dev/zero > object && cp source prog && chmod +x prog\n";
    fs::write(repository.path().join("compiler"), compiler).unwrap();
    for number in 0..3 {
        repository.commit(if number < 2 { 10 } else { 40 }, true, &format!("commit {number}"));
    }
    let script = "mkdir $1/disk; mount -t tmpfs -o size=8m tmpfs $1/disk; head -c 6000000 /dev/zero > $1/disk/filler
        unset FAULTLINE_WORKLOADS; export FAULTLINE_DB=$1/db.sqlite
        $2 bisect HEAD~2 HEAD --repository $1/repository --work $1/disk/work --build 'sh compiler' --keep prog --quiet -- ./prog \\
            2>&1 || echo status $?
        rm $1/disk/filler
        $2 resume --quiet --format json";
    let Some(output) = repository.lab.in_namespace(script) else { return };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", output_text(&output));
    let mut lines = text.lines().skip_while(|line| line.starts_with("building "));
    let full = format!("faultline: {} could not be built: the disk is full: ", repository.commits[0]);
    assert!(lines.next().unwrap().starts_with(&full), "{text}");
    assert_eq!(
        lines.next(),
        Some("hint: remove the cause, for example free space; `faultline resume` then continues"),
        "{text}"
    );
    assert_eq!(lines.next(), Some("status 1"), "{text}");
    let found: Value = serde_json::from_str(&lines.collect::<String>()).unwrap();
    assert_eq!(candidates(&found), [[repository.commits[2].as_str()]], "{found:#}");
    assert_eq!(found["failed_builds"].as_array().unwrap().len(), 0, "{found:#}");
}

#[test]
fn requests_that_cannot_be_met_are_refused_before_anything_is_built() {
    let mut repository = Repository::new();
    repository.commit(10, true, "only");
    repository.commit(10, true, "other");
    let refused = |arguments: &[&str], problem: &str| {
        assert_refused(&repository.bisect(arguments).output().unwrap(), 2, problem);
    };
    refused(&["HEAD", "HEAD"], "are the same commit");
    refused(&["HEAD..HEAD"], "are the same commit");
    refused(&["HEAD"], "a search needs an old and a new commit");
    refused(&["HEAD", "HEAD~1"], "is older than");
    refused(&["nonsense", "HEAD"], "the repository has no commit 'nonsense'");
    let unquoted = repository.bisect_built_by("'", &["HEAD~1", "HEAD"]).output().unwrap();
    assert_refused(&unquoted, 2, "cannot split the command");
    let shell = repository.bisect_built_by("./build && strip prog", &["HEAD~1", "HEAD"]).output().unwrap();
    assert_refused(&shell, 2, "the command './build && strip prog' needs a shell for its '&'");
    assert!(!repository.lab.db().exists());
    assert!(!repository.lab.path("cache/faultline/history").join("builds").exists());
}

#[test]
fn a_search_that_is_killed_goes_on_where_it_was() {
    let mut repository = Repository::new();
    for number in 0..9 {
        repository.commit(if number < 4 { 10 } else { 40 }, true, &format!("commit {number}"));
    }
    let child =
        repository.bisect(&["--gate", "HEAD~8", "HEAD"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    await_that("the search of the line", || repository.lab.attempts().is_some_and(|attempts| attempts > 12));
    kill(child);
    let mut resume = repository.lab.command(&["resume", "--quiet", "--format", "json"]);
    let output = resume.env("XDG_CACHE_HOME", repository.lab.path("cache")).output().unwrap();
    let found = repository.json(&output);
    assert_eq!(candidates(&found), [[repository.commits[4].as_str()]], "{found:#}");
    assert_eq!(output.status.code(), Some(1), "the gate is the run's: {}", output_text(&output));
    assert!(output_text(&output).contains("gate: closed"), "{}", output_text(&output));
    let record = repository.lab.record(1);
    let tried: Vec<&str> = record.subjects.iter().map(|subject| subject.name.as_str()).collect();
    let mut once = tried.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), tried.len(), "nothing was built twice");
    repository.lab.assert_nothing_left();
}

#[test]
fn a_search_is_not_resumed_with_another_compiler() {
    let mut repository = Repository::new();
    for number in 0..5 {
        repository.commit(if number < 3 { 10 } else { 40 }, true, &format!("commit {number}"));
    }
    let compiler = repository.lab.path("compiler");
    let release = |version: &str| {
        fs::write(&compiler, format!("#!/bin/sh\necho {version}\n")).unwrap();
        fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    };
    release("first 1.0");
    let mut bisect = repository.bisect(&["HEAD~4", "HEAD"]);
    let child = bisect.env("CC", &compiler).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    await_that("the first executions", || repository.lab.attempts().is_some_and(|attempts| attempts > 0));
    kill(child);
    let resume = || {
        let mut resume = repository.lab.command(&["resume", "--quiet", "--format", "json"]);
        resume.env("XDG_CACHE_HOME", repository.lab.path("cache")).env("CC", &compiler).output().unwrap()
    };
    release("second 2.0");
    let problem = format!(
        "`{} --version` (was 'first 1.0', is 'second 2.0') has changed since run 1 began, so builds before and after are not comparable",
        compiler.display()
    );
    assert_refused(&resume(), 1, &problem);
    release("first 1.0");
    let output = resume();
    assert_eq!(candidates(&repository.json(&output)), [[repository.commits[3].as_str()]], "{}", output_text(&output));
}

/// Seven commits, two of which make the program slower. The revert of the later one does not apply
/// to the newest commit.
fn with_two_steps() -> Repository {
    let mut repository = Repository::new();
    repository.write_programs(&[("build", "#!/bin/sh\ncat a b >prog && chmod +x prog\n")]);
    for number in 0..7 {
        let (a, b) = (if number < 2 { "0.020" } else { "0.120" }, if number < 4 { "0.020" } else { "0.170" });
        let again = if number < 5 { "" } else { " # again" };
        let (a, b) = (format!("#!/bin/sh\nsleep {a}\n"), format!("sleep {b}{again}\n"));
        repository.write(&[("a", &a), ("b", &b), (&format!("note {number}"), "")]);
        repository.commit_all(&format!("commit {number}"));
    }
    repository
}

/// True if the first run has built a revert and executed it at least this many times.
fn is_reverted(lab: &Lab, executions: usize) -> bool {
    if lab.attempts().is_none_or(|attempts| attempts == 0) {
        return false;
    }
    let record = lab.record(1);
    let is_revert =
        |subject: &Subject| matches!(&subject.build, Some(BuildResult::Reverted { result: RevertResult::Built, .. }));
    let Some(index) = record.subjects.iter().position(is_revert) else { return false };
    let is_of_it = |attempt: &&Attempt| {
        record.plan.iter().any(|item| item.ordinal == attempt.ordinal && item.subject.at() == index)
    };
    record.attempts.iter().filter(is_of_it).count() >= executions
}

#[test]
fn a_search_that_is_killed_amid_its_reverts_ends_as_one_that_was_not() {
    let repository = with_two_steps();
    let resume = || {
        let mut resume = repository.lab.command(&["resume", "--quiet", "--format", "json"]);
        resume.env("XDG_CACHE_HOME", repository.lab.path("cache"));
        resume
    };
    let mut killed = repository.bisect(&["--revert", "--least", "10%", "HEAD~6", "HEAD"]);
    // Kill once when the revert is built, and twice during its measurement.
    for executions in [0, 1, 4] {
        let child = killed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        await_boot("the revert", || is_reverted(&repository.lab, executions));
        kill(child);
        killed = resume();
    }
    let found = repository.json(&killed.stdout(Stdio::piped()).output().unwrap());
    let expected = [[repository.commits[2].as_str()], [repository.commits[4].as_str()]];
    assert_eq!(candidates(&found), expected, "{found:#}");
    let confirmed = found["steps"].as_array().unwrap().iter().filter(|step| step["confirmed"] == true);
    let outcomes: Vec<&Value> = confirmed.map(|step| &step["reverted"]["outcome"]).collect();
    assert_eq!(outcomes, ["measured", "conflict"], "{found:#}");
    let record = repository.lab.record(1);
    let mut names: Vec<&str> = record.subjects.iter().map(|subject| subject.name.as_str()).collect();
    let subjects = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), subjects, "nothing was built twice");
    repository.lab.assert_nothing_left();
}

#[test]
fn the_revert_of_each_commit_is_measured_on_top_of_the_newest() {
    let repository = with_two_steps();
    let newest = repository.commits[6].as_str();
    let output =
        repository.bisect(&["--format", "json", "--revert", "--least", "10%", "HEAD~6", "HEAD"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let found = repository.json(&output);
    let expected = [[repository.commits[2].as_str()], [repository.commits[4].as_str()]];
    assert_eq!(candidates(&found), expected, "{found:#}");
    let confirmed: Vec<&Value> =
        found["steps"].as_array().unwrap().iter().filter(|step| step["confirmed"] == true).collect();
    let [applied, conflict] = [&confirmed[0]["reverted"], &confirmed[1]["reverted"]];
    assert_eq!((&applied["on"], &applied["outcome"]), (&newest.into(), &"measured".into()), "{found:#}");
    assert!(applied["change"]["high"].as_f64().unwrap() < 0.9, "{applied:#}");
    // The revert takes back all of the 100 ms, although the program now takes twice as long.
    let part = &applied["taken_back"];
    assert!((0.7..1.3).contains(&part["share"].as_f64().unwrap()), "{applied:#}");
    assert!(part["low"].as_f64().unwrap() <= 1.1 && part["high"].as_f64().unwrap() >= 0.9, "{applied:#}");
    assert_eq!(*conflict, serde_json::json!({"on": newest, "outcome": "conflict", "files": ["b"]}));

    let shown = output_text(&repository.lab.run(&["show"])).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("The revert takes back ") && shown.contains(" % (95 % interval: "), "{shown}");
    let refused = format!("The revert of {} does not apply to {}: ", &repository.commits[4][..12], &newest[..12]);
    assert!(shown.contains(&refused) && shown.contains("the same lines of b."), "{shown}");
    let csv = output_text(&repository.lab.run(&["show", "--format", "csv"]));
    assert!(csv.lines().next().unwrap().contains(",taken_back,taken_back_low,taken_back_high,"), "{csv}");
    assert!(git(&repository.path(), &["status", "--porcelain", "--ignored"]).is_empty());
    repository.lab.assert_nothing_left();
}
