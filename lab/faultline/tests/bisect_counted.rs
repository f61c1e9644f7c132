//! `faultline bisect --by` under the real lens, in a repository made by the tests: one commit
//! puts a C program's counters on one cache line, another doubles its work. Needs the same parts as
//! the tests of `lens_program`.

use crate::lab::lens::assert_status;
use crate::lab::repository::{Repository, git};
use crate::lab::{Lab, assert_refused, await_boot, kill, lens, stderr, stdout};
use serde_json::Value;
use std::process::{Command, Output, Stdio};

/// Two threads, each incrementing its own counter.
pub const PROGRAM: &str = r"
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

pub const MAKEFILE: &str = "counters: counters.c\n\tcc -O1 -g -pthread -o counters counters.c\n";

/// Four threads contending for one lock. Each commit sets the number of cache lines that the lock
/// guards. Each commit also lengthens the wait between acquisitions, which shifts when threads
/// meet.
const CONTENDED: &str = r"
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
static alignas(64) atomic_int lock;
static alignas(64) volatile long guarded[64];
static void *work(void *argument)
{
    for (int i = 0; i < 600; i++) {
        while (atomic_exchange(&lock, 1))
            ;
        for (int line = 0; line < @LINES@; line++)
            guarded[8 * line]++;
        atomic_store(&lock, 0);
        for (volatile int rest = 0; rest < 20 + @REST@ + i % 7; rest++)
            ;
    }
    return argument;
}
int main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    return 0;
}
";

/// The commit that makes the lock guard six lines instead of one.
const WIDENED: usize = 3;

/// The commits that double the work, fail to compile, and put the counters on one line.
const DOUBLED: usize = 2;
const BROKEN: usize = 4;
const PACKED: usize = 6;

trait CountedCommits {
    /// A repository of ten commits.
    fn of_counters() -> Self;
    fn commit(&mut self, number: usize);
    fn command(&self, arguments: &[&str]) -> Command;
    /// The command that a user types in the clone, with counts of one schedule.
    fn bisect(&self, measure: &str, more: &[&str]) -> Command;
    /// Position of the reported commit, with the values before and after it.
    fn found(&self, output: &Output) -> (usize, [f64; 2]);
}

impl CountedCommits for Repository {
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

    fn bisect(&self, measure: &str, more: &[&str]) -> Command {
        let threads = ["--tasks", "2", "--seeds", "1"];
        let command = ["bisect", "HEAD~9", "HEAD", "--build", "make", "--by", measure, "--quiet"];
        self.command(&[&command[..], &threads, more, &["--", "./counters"]].concat())
    }

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
    // The report names the counters, and the line of code that adds to them.
    let moved = &found["steps"][0]["moved"];
    let named = |kind: &str| moved[kind][0].to_string();
    assert!(named("data").contains("counters") && named("code").contains("counters.c"), "{moved:#}");
    // Both ends, and at most four halvings. A broken commit may cost one more.
    assert!(found["trials"].as_u64().unwrap() <= 7, "{found:#}");
    assert_eq!(
        found["executions"].as_u64().unwrap(),
        found["trials"].as_u64().unwrap() - found["unusable"].as_u64().unwrap()
    );
    assert!(
        git(&repository.path(), &["status", "--porcelain", "--ignored"]).is_empty(),
        "the user's checkout is not touched"
    );

    // The stored result reads the same.
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

/// The counts of a contended program depend on the seed, and each commit shifts them. Two seeds
/// show this, and the search then uses several.
#[test]
#[ignore = "boots guests: make test-guest"]
fn the_commit_that_widened_a_lock_is_named_though_each_commit_shifts_the_schedule() {
    let mut repository = Repository::new();
    for number in 0..6 {
        let lines = if number < WIDENED { "1" } else { "6" };
        let text = CONTENDED.replace("@LINES@", lines).replace("@REST@", &number.to_string());
        repository.write(&[("counters.c", &text), ("Makefile", MAKEFILE)]);
        repository.commit_all(&format!("commit {number}"));
    }
    let bisect = |more: &[&str]| {
        let words = ["bisect", "HEAD~5", "HEAD", "--build", "make", "--by", "transfers", "--tasks", "4", "--quiet"];
        let output = repository
            .command(&[&words[..], more, &["--format", "json", "--", "./counters"]].concat())
            .output()
            .unwrap();
        assert_status(&output, 0);
        output
    };
    let found = json(&bisect(&["--least", "30%"]));
    assert_eq!(found["ends_show"], "seeds", "{found:#}");
    let [step] = &found["steps"].as_array().unwrap()[..] else { panic!("{found:#}") };
    let [commit] = &found["commits"][0]["candidates"].as_array().unwrap()[..] else { panic!("{found:#}") };
    assert_eq!(commit["id"].as_str().unwrap(), repository.commits[WIDENED]);
    assert!(step["confirmed"].as_bool().unwrap() && step["values"].is_null(), "{step:#}");
    let record = repository.lab.record(1);
    let seeds: Vec<u64> = record.plan.iter().filter_map(|item| item.seed).collect();
    assert!(seeds.iter().any(|seed| *seed > 2) && seeds.contains(&1), "{seeds:?}");
    let shown = stdout(&repository.lab.run(&["show"])).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("Counts depend on the seed, so each commit was executed"), "{shown}");

    // With one seed, the result says that it covers one schedule.
    bisect(&["--least", "30%", "--seeds", "1"]);
    let shown = stdout(&repository.lab.run(&["show"])).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        shown.contains("executed once under the lens, with the seed 1. Its count is exact, and that of one schedule"),
        "{shown}"
    );
    repository.lab.assert_nothing_left();
}

#[test]
fn options_that_do_not_apply_are_refused() {
    let lab = Lab::new();
    let refused = |options: &[&str], problem: &str| {
        let arguments = [&["bisect", "HEAD~1", "HEAD"], options, &["--", "./x"]].concat();
        assert_refused(&lab.run(&arguments), 2, problem);
    };
    refused(&["--whole"], "options of guests and of the modelled machine do not apply to time");
    refused(&["--sockets", "2"], "options of guests and of the modelled machine do not apply to time");
    refused(&["--by", "transfers", "--repeats", "9"], "--repeats does not apply to transfers");
    refused(&["--by", "instructions", "--pin", "none"], "--pin does not apply to instructions");
    refused(&["--seeds", "9"], "--seeds does not apply to time");
    refused(&["--image", "bzImage", "--workload", "zero_fill:base"], "cannot be used with");
    refused(&["--by", "transfers", "--seeds", "3"], "it must be 1, or a whole number from 8 to 1000");
    refused(&["--by", "transfers", "--seed", "9223372036854775807"], "there are no 24 seeds from 9223372036854775807");
    assert!(!lab.db().exists());
}
