//! `faultline bisect --layouts`, and histories in random layouts, with programs linked by this
//! machine's linker: steps caused by the code, steps caused by the layout, and programs that cannot
//! be relinked. Programs sleep, because a busy host changes the length of a sleep less than the
//! time of a computation. The test with guests needs the same parts as the tests of `lens_program`.

use crate::lab::repository::Repository;
use crate::lab::{Lab, assert_refused, await_boot, kill, lens, stderr, stdout};
use faultline_record::outcome::Outcome;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output, Stdio};

const MAKEFILE: &str =
    "CFLAGS = -O1 -pthread\nprog: main.o first.o between.o second.o\n\tcc -pthread -o $@ $^ $(LINK)\n";

/// A program whose time depends only on the layout: on the distance between two variables of
/// different files.
const MAIN: &str = "
#include <unistd.h>
extern char first[8], second[8];
int main(void)
{
    long distance = (long)second - (long)first;
    usleep(@SLEEP@ * 1000);
    if (-64 < distance && distance < 64)
        usleep(60 * 1000);
    return 0;
}
";

trait LayoutCommits {
    /// Adds a commit whose program sleeps for `sleep_ms`, with `between` bytes between the two
    /// variables.
    fn commit(&mut self, sleep_ms: u32, between: u32);
    /// Adds a commit of the program `main`, with `between` bytes between the two variables.
    fn commit_with(&mut self, main: &str, between: u32);
    fn bisect(&self, build: &str, arguments: &[&str]) -> Command;
}

impl LayoutCommits for Repository {
    fn commit(&mut self, sleep_ms: u32, between: u32) {
        self.commit_with(&MAIN.replace("@SLEEP@", &sleep_ms.to_string()), between);
    }

    fn commit_with(&mut self, main: &str, between: u32) {
        let number = self.commits.len();
        self.write(&[
            ("Makefile", MAKEFILE),
            ("main.c", main),
            ("first.c", "char first[8];\n"),
            ("between.c", &format!("char between[{between}];\n")),
            ("second.c", "char second[8];\n"),
            ("NEWS", &format!("{number}\n")),
        ]);
        self.commit_all(&format!("commit {number}"));
    }

    fn bisect(&self, build: &str, arguments: &[&str]) -> Command {
        self.bisect_built_by(build, &[&["--repeats", "24", "--layouts", "12"], arguments].concat())
    }
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", stdout(output), stderr(output)))
}

/// Commit and label of each step.
fn labels(found: &Value) -> Vec<(String, String)> {
    let of = |(step, commits): (&Value, &Value)| {
        let [commit] = &commits["candidates"].as_array().unwrap()[..] else { panic!("{found:#}") };
        (commit["id"].as_str().unwrap().to_owned(), step["label"].as_str().unwrap().to_owned())
    };
    found["steps"].as_array().unwrap().iter().zip(found["commits"].as_array().unwrap()).map(of).collect()
}

#[test]
fn a_step_of_the_layout_and_one_of_the_code_are_distinguished_also_after_a_kill() {
    let mut repository = Repository::new();
    for number in 0..6 {
        // The third commit moves one variable next to the other. The fifth does more work.
        repository.commit(if number < 4 { 20 } else { 220 }, if number < 2 { 256 } else { 8 });
    }
    let mut bisect = repository.bisect("make", &["HEAD~5", "HEAD"]);
    let child = bisect.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let builds = repository.lab.path("cache/faultline/history");
    await_boot("the first builds with layouts", || kept_builds(&builds) > 8);
    kill(child);
    let mut resume = repository.lab.command(&["resume", "--quiet", "--format", "json"]);
    let output = resume.env("XDG_CACHE_HOME", repository.lab.path("cache")).output().unwrap();
    let found = json(&output);
    let expected =
        [(repository.commits[2].clone(), "layout".to_owned()), (repository.commits[4].clone(), "code".to_owned())];
    assert_eq!(labels(&found), expected, "{found:#}");
    for step in found["steps"].as_array().unwrap() {
        assert_eq!((&step["layouts"]["tried"], &step["layouts"]["distinct"]), (&12.into(), &12.into()), "{step:#}");
        assert!(step["layouts"]["within"].is_number() && step["layouts"]["between"].is_number(), "{step:#}");
    }
    let shown = stdout(&repository.lab.run(&["show"])).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        shown.contains("in 12 random layouts the change is ") && shown.contains("the step is labelled layout"),
        "{shown}"
    );

    // Each layout is linked once. Measurements in it do not count as another run of its commit.
    let record = repository.lab.record(1);
    let builds: Vec<String> =
        record.subjects.iter().map(|subject| format!("{} {:?}", subject.name, subject.build)).collect();
    assert_eq!(builds.iter().collect::<BTreeSet<_>>().len(), builds.len(), "nothing was linked twice");
    let compared = repository.lab.run(&["compare", &repository.commits[1], &repository.commits[2]]);
    assert!(compared.status.success(), "{}", stderr(&compared));
    repository.lab.assert_nothing_left();
}

#[test]
fn each_step_of_a_history_in_random_layouts_is_one_of_the_code_or_of_the_layout() {
    let mut repository = Repository::new();
    // The sixth commit moves one variable next to the other. The eleventh does more work.
    (0..15).for_each(|number| repository.commit(if number < 10 { 20 } else { 220 }, if number < 5 { 256 } else { 8 }));
    let declared = |keys: &str| {
        let text = format!(
            "[subject.app]\nrepository = \"repository\"\nwork = \"work\"\nbuild = \"make\"\nkeep = [\"prog\"]\n\
             command = \"./prog\"\nrepeats = 3\nseed = 1\n{keys}"
        );
        fs::write(repository.lab.path("faultline.toml"), text).unwrap();
    };
    let history = |arguments: &[&str]| {
        let mut command = repository.lab.command(&[&["history"], arguments].concat());
        let output = command.current_dir(repository.lab.path("")).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
        output
    };
    declared("commit_layouts = 8\n");
    history(&["run", "--quiet"]);
    let changes = json(&history(&["changes", "--format", "json"]));
    let steps = changes[0]["steps"].as_array().unwrap();
    let found: Vec<(&Value, &Value)> = steps.iter().map(|step| (&step["by"], &step["layouts"]["label"])).collect();
    assert_eq!(found, [(&5.into(), &"layout".into()), (&10.into(), &"code".into())], "{changes:#}");
    for step in steps {
        let layouts = &step["layouts"];
        assert_eq!((&layouts["tried"], &layouts["distinct"]), (&8.into(), &8.into()), "{step:#}");
        assert!(layouts["between"].is_number() && layouts["within"].is_number(), "{step:#}");
    }
    let words = |output: &Output| stdout(output).split_whitespace().collect::<Vec<_>>().join(" ");
    for format in ["table", "markdown"] {
        let told = words(&history(&["changes", "--format", format]));
        assert!(told.contains("in 8 random layouts ") && told.contains("between layouts of one commit: "), "{told}");
    }
    // `--min-change` is far above the variation of a sleep, so that the remainder of the first step
    // counts as no change.
    let shown = words(&history(&["show", "--min-change", "20%"]));
    assert!(shown.contains(", layout A. Uthor") && shown.contains(", code (not the layout) A. Uthor"), "{shown}");

    // The page of the history has the executions in random layouts next to those in the original
    // layout.
    let site = repository.lab.path("site");
    let exported = repository.lab.run(&["serve", "--export", site.to_str().unwrap()]);
    assert!(exported.status.success(), "{}", stderr(&exported));
    let page = fs::read_dir(site.join("histories")).unwrap().map(|entry| entry.unwrap().path());
    let page = page.filter(|path| path.extension().is_some_and(|kind| kind == "html")).map(fs::read_to_string);
    let page: String = page.map(Result::unwrap).collect();
    assert_eq!(page.matches("\"layouts\":[0,1,2,3,4,5,6,7],\"executions\":17").count(), 15);
    assert!(page.contains("are executions in random layouts"));

    // Each commit is executed three times, and once in each layout. Nothing is measured again, with
    // or without layouts.
    let record = repository.lab.record(1);
    assert_eq!((record.subjects.len(), record.attempts.len()), (15 + 15 * 8, 15 * 9 + 15 * 8));
    for keys in ["commit_layouts = 8\n", ""] {
        declared(keys);
        let again = stderr(&history(&["run", "--quiet"]));
        assert!(again.contains("all 15 selected commits have results"), "{again}");
    }
    // Additional or different layouts have no result yet.
    let wanted = |keys: &str| {
        declared(keys);
        let all = json(&history(&["commits", "--format", "json"]));
        all.as_array().unwrap().iter().filter(|commit| commit["is_wanted"] == true).count()
    };
    let others = ["commit_layouts = 9\n", "commit_layouts = 8\nlayout_order = \"keep\"\n"];
    assert_eq!(others.map(wanted), [15, 15]);
    assert_eq!(wanted("layout_order = \"keep\"\n"), 0, "without layouts it does not matter how they would be drawn");
    repository.lab.assert_nothing_left();
}

#[test]
fn a_history_in_random_layouts_that_is_killed_again_and_again_has_each_once() {
    const LAYOUTS: usize = 8;
    let mut repository = Repository::new();
    (0..2).for_each(|number| repository.commit(2, 256 + number));
    let text = format!(
        "[subject.app]\nrepository = \"repository\"\nwork = \"work\"\nbuild = \"make\"\nkeep = [\"prog\"]\n\
         command = \"./prog\"\nrepeats = 2\nseed = 1\ncommit_layouts = {LAYOUTS}\n"
    );
    fs::write(repository.lab.path("faultline.toml"), text).unwrap();
    let run = || {
        let mut command = repository.lab.command(&["history", "run", "--quiet"]);
        command.current_dir(repository.lab.path("")).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    // Subjects are saved when they are linked, attempts when they begin. The kills hit both.
    let saved = || repository.lab.attempts().map_or(0, |attempts| attempts + repository.lab.record(1).subjects.len());
    for wanted in [1, 5, 11, 18, 24, 35, 50] {
        let mut child = run().spawn().unwrap();
        await_boot("further builds or executions", || saved() >= wanted || child.try_wait().unwrap().is_some());
        kill(child);
        assert_eq!(repository.lab.left_over(), Vec::<String>::new(), "after {wanted}");
    }
    let last = run().output().unwrap();
    assert!(last.status.success(), "{}{}", stdout(&last), stderr(&last));
    let record = repository.lab.record(1);
    let builds: BTreeSet<String> =
        record.subjects.iter().map(|subject| format!("{} {:?}", subject.name, subject.build)).collect();
    assert_eq!((record.subjects.len(), builds.len()), (2 * (1 + LAYOUTS), 2 * (1 + LAYOUTS)));
    // Each commit in its original layout, in a block without layouts and next to each layout.
    assert_eq!(record.plan.len(), 2 * (1 + LAYOUTS) + 2 * LAYOUTS);
    for item in &record.plan {
        let of_item = record.attempts.iter().filter(|attempt| attempt.ordinal == item.ordinal);
        let outcomes: Vec<&Outcome> = of_item.map(|attempt| attempt.outcome.as_ref().unwrap()).collect();
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_final()).count(), 1, "{}: {outcomes:?}", item.ordinal);
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Done | Outcome::Interrupted)), "{outcomes:?}");
    }
    repository.lab.assert_nothing_left();
}

/// Number of cached builds below the directory of all repositories.
fn kept_builds(all: &std::path::Path) -> usize {
    let Ok(repositories) = fs::read_dir(all) else { return 0 };
    let kept = repositories.filter_map(|entry| fs::read_dir(entry.ok()?.path().join("builds")).ok());
    kept.map(Iterator::count).sum()
}

#[test]
fn a_linker_without_layouts_is_reported_and_nothing_is_claimed() {
    let mut repository = Repository::new();
    for number in 0..3 {
        repository.commit(if number < 2 { 10 } else { 60 }, 256);
    }
    let output = repository
        .bisect("make LINK=-Wl,-Ttext-segment=0x800000", &["--format", "json", "HEAD~2", "HEAD"])
        .output()
        .unwrap();
    let found = json(&output);
    assert_eq!(labels(&found), [(repository.commits[2].clone(), "inconclusive".to_owned())], "{found:#}");
    let layouts = &found["steps"][0]["layouts"];
    assert_eq!((&layouts["tried"], &layouts["distinct"], &layouts["unchanged"]), (&2.into(), &0.into(), &2.into()));
    let shown = stdout(&repository.lab.run(&["show"])).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("with 2 of 2 layouts the linker's output had the same places of code and data"), "{shown}");
    repository.lab.assert_nothing_left();
}

/// Two threads, each incrementing its own variable.
const COUNTING: &str = "
#include <pthread.h>
extern char first[8], second[8];
static void *work(void *counter)
{
    for (int i = 0; i < 20000; i++)
        ++*(volatile long *)counter;
    return 0;
}
int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, work, first);
    pthread_create(&threads[1], 0, work, second);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
";

#[test]
#[ignore = "boots guests: make test-guest"]
fn transfers_of_two_variables_that_came_to_share_a_line_are_of_the_layout() {
    let mut repository = Repository::new();
    for between in [256, 8] {
        repository.commit_with(COUNTING, between);
    }
    let mut command = lens::command(&repository.lab, &["bisect", "HEAD~1", "HEAD", "--build", "make", "--quiet"]);
    let counted = ["--by", "transfers", "--tasks", "2", "--seeds", "1"];
    command.args(counted).args(["--layouts", "8", "--keep", "prog", "--format", "json"]);
    command.args(["--repository", repository.path().to_str().unwrap(), "--", "./prog"]);
    let found = json(&command.env("XDG_CACHE_HOME", repository.lab.path("cache")).output().unwrap());
    let shown = stdout(&repository.lab.run(&["show"]));
    assert_eq!(labels(&found), [(repository.commits[1].clone(), "layout".to_owned())], "{found:#}{shown}");
    let step = &found["steps"][0];
    assert!(step["values"][1].as_f64() > step["values"][0].as_f64().map(|before| 10.0 * before), "{step:#}");
    assert_eq!((&step["layouts"]["distinct"], &step["layouts"]["within"]), (&8.into(), &0.0.into()), "{step:#}");
    // Both ends once, and each layout of both once.
    assert_eq!(found["executions"], 2 + 2 * 8);
    repository.lab.assert_nothing_left();
}

#[test]
fn layouts_that_are_all_the_same_are_refused() {
    let lab = Lab::new();
    let refused = |options: &[&str], problem: &str| {
        assert_refused(&lab.run(&[&["bisect", "HEAD~1", "HEAD"], options, &["--", "./x"]].concat()), 2, problem);
    };
    let same = ["--layouts", "8", "--layout-order", "sort", "--layout-spacing", "align"];
    refused(&same, "layouts with the order 'sort' and the spacing 'align' are all the same");
    assert!(!lab.db().exists());
}
