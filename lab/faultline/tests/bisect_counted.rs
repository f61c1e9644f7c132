//! `faultline bisect --measure` under the real lens, in a repository of this test's own: a C program whose counters one commit puts on one line, and whose work
//! another commit doubles. Needs what the tests of `lens_program` need.

mod lab;

use lab::lens::assert_status;
use lab::repository::{Repository, git};
use lab::{Lab, assert_refused, await_boot, kill, lens, stderr, stdout};
use serde_json::Value;
use std::process::{Command, Output, Stdio};

/// Two threads, each of which adds to a counter of its own.
const PROGRAM: &str = r"
#include <pthread.h>
#include <stdalign.h>
struct counter {
    @ALIGNED@ volatile long value;
};
static struct counter counters[2];
static void *work(void *argument)
{
    struct counter *own = argument;
    for (int i = 0; i < @TIMES@; i++)
        own->value++;
    return 0;
}
int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, &counters[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
";

const MAKEFILE: &str = "counters: counters.c\n\tcc -O1 -g -pthread -o counters counters.c\n";

/// The commit that doubles the work, the one that does not compile, and the one that puts the counters on one line.
const DOUBLED: usize = 2;
const BROKEN: usize = 4;
const PACKED: usize = 6;

impl Repository {
    /// Ten commits.
    fn of_counters() -> Self {
        let mut repository = Repository::new();
        for number in 0..10 {
            repository.commit(number);
        }
        repository
    }

    fn commit(&mut self, number: usize) {
        let aligned = if number < PACKED { "alignas(64)" } else { "" };
        let times = if number < DOUBLED { "20000" } else { "40000" };
        let text = PROGRAM.replace("@ALIGNED@", aligned).replace("@TIMES@", times);
        let text = if number == BROKEN { text.replace("int main", "int main int") } else { text };
        self.write(&[("counters.c", &text), ("Makefile", MAKEFILE), ("NEWS", &format!("version {number}\n"))]);
        self.commit_all(&format!("commit {number}"));
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = lens::command(&self.lab, arguments);
        command.current_dir(self.path()).env("XDG_CACHE_HOME", self.lab.path("cache"));
        command
    }

    /// The one command that a user types in the clone.
    fn bisect(&self, measure: &str, more: &[&str]) -> Command {
        let threads = ["--threads", "2"];
        let command = ["bisect", "HEAD~9", "HEAD", "--build", "make", "--measure", measure, "--quiet"];
        self.command(&[&command[..], &threads, more, &["--", "./counters"]].concat())
    }

    /// The place of the commit that is named, with its values before and after.
    fn found(&self, output: &Output) -> (usize, [f64; 2]) {
        let found = json(output);
        let [step] = &found["steps"].as_array().unwrap()[..] else { panic!("{found:#}") };
        let [commit] = &found["commits"][0]["candidates"].as_array().unwrap()[..] else { panic!("{found:#}") };
        let values = [0, 1].map(|side| step["values"][side].as_f64().unwrap());
        let id = commit["id"].as_str().unwrap();
        (self.commits.iter().position(|commit| commit == id).unwrap(), values)
    }
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", stdout(output), stderr(output)))
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn transfers_name_the_commit_that_put_two_counters_on_one_line() {
    let repository = Repository::of_counters();
    let output = repository.bisect("transfers", &["--format", "json", "--gate"]).output().unwrap();
    assert_status(&output, 1);
    let (place, [before, after]) = repository.found(&output);
    assert!(place == PACKED && after > 10.0 * before, "{place}: {before}, {after}");
    assert!(stderr(&output).contains(": more transfers: "), "{}", stderr(&output));
    let found = json(&output);
    // Both ends, and at most four halvings; a broken commit may cost one more.
    assert!(found["trials"].as_u64().unwrap() <= 7, "{found:#}");
    assert_eq!(
        found["executions"].as_u64().unwrap(),
        found["trials"].as_u64().unwrap() - found["unusable"].as_u64().unwrap()
    );
    assert!(
        git(&repository.path(), &["status", "--porcelain", "--ignored"]).is_empty(),
        "the user's checkout is not touched"
    );

    // What is stored says the same.
    let shown = stdout(&repository.lab.run(&["show"])).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        shown.contains("1 step was found in 9 commits") && shown.contains("the transfers of cache lines of"),
        "{shown}"
    );
    assert!(shown.contains("executed once under the lens, with the seed 1"), "{shown}");
    repository.lab.assert_nothing_left();
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn instructions_name_the_commit_that_doubled_the_work_also_after_a_kill() {
    let repository = Repository::of_counters();
    let mut bisect = repository.bisect("instructions", &[]);
    let child = bisect.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    await_boot("the second commit", || repository.lab.attempts().is_some_and(|attempts| attempts > 1));
    kill(child);
    let output = repository.command(&["resume", "--quiet", "--format", "json"]).output().unwrap();
    assert_status(&output, 0);
    let (place, [before, after]) = repository.found(&output);
    assert!(place == DOUBLED && after > 1.5 * before, "{place}: {before}, {after}");
    let record = repository.lab.record(1);
    let mut tried: Vec<&str> = record.subjects.iter().map(|subject| subject.name.as_str()).collect();
    let number = tried.len();
    tried.sort_unstable();
    tried.dedup();
    assert_eq!(tried.len(), number, "nothing was built twice");
    repository.lab.assert_nothing_left();
}

#[test]
fn options_that_do_not_apply_are_refused() {
    let lab = Lab::new();
    let refused = |options: &[&str], problem: &str| {
        let arguments = [&["bisect", "HEAD~1", "HEAD"], options, &["--", "./x"]].concat();
        assert_refused(&lab.run(&arguments), 2, problem);
    };
    refused(&["--threads", "2"], "options of guests and of the modelled machine do not apply to time");
    refused(&["--sockets", "2"], "options of guests and of the modelled machine do not apply to time");
    refused(&["--measure", "transfers", "--repeats", "9"], "--repeats does not apply to transfers");
    refused(&["--measure", "instructions", "--tasks", "2"], "--tasks does not apply to instructions");
    assert!(!lab.db().exists());
}
