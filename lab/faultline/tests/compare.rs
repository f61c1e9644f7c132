//! Comparisons from end to end: live ones with fake workloads whose results are known, files of
//! other tools, imports, steps.

use crate::lab::Lab;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

/// A single window of 10 ms, as printed by the fakes.
const SHORT: [&str; 8] = ["--tasks", "1", "--warmup", "0ms", "--window", "10ms", "--interval", "10ms"];

/// Adds a fake with the rate `$RATE`, plus a little noise that differs between executions.
fn add_load(lab: &Lab) {
    lab.fake(
        "load",
        "count=$(cat \"$0.count\" 2>/dev/null || echo 0); echo $((count + 1)) > \"$0.count\"
        noise=$((count * 7919 % 31 * 20))
        header; echo interval 2 10000002 $((${RATE:-100000} + noise)); echo end 10000003; echo done",
    );
}

fn compare(lab: &Lab, arguments: &[&str]) -> Output {
    let words: Vec<&str> = ["compare", "-q"].into_iter().chain(arguments.iter().copied()).chain(SHORT).collect();
    lab.faked(&words).output().unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", crate::lab::stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn sample(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../exchange/tests/samples").join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_known_difference_is_found_and_ends_it_early() {
    let lab = Lab::new();
    add_load(&lab);
    let found = json(&compare(&lab, &["load", "--b", "env.RATE=110000", "--format", "json"]));
    let workload = &found["workloads"][0];
    assert_eq!((&workload["answer"], &found["sequential"]["ended"]), (&"faster".into(), &"settled".into()));
    let units = workload["a"]["units"].as_u64().unwrap();
    assert!(units <= 12, "{units} blocks for a difference of 55 standard deviations");
    let ratio = &workload["ratio"];
    assert!(ratio["low"].as_f64().unwrap() > 1.09 && ratio["high"].as_f64().unwrap() < 1.11, "{ratio}");
    assert_eq!(found["b"]["setup"][0], "environment RATE = 110000");
    assert_eq!(lab.faked(&["compare", "1", "--gate"]).output().unwrap().status.code(), Some(0), "faster is no failure");
    let again = json(&lab.faked(&["compare", "1", "--format", "json"]).output().unwrap());
    assert_eq!(again, found, "what is saved says the same");
    let shown = lab.faked(&["show", "1"]).output().unwrap();
    assert!(crate::lab::stdout(&shown).contains("faster"), "{}", crate::lab::stdout(&shown));
    assert!(crate::lab::stdout(&lab.faked(&["show", "1", "-o", "-"]).output().unwrap()).starts_with("<!DOCTYPE html>"));
}

#[test]
fn equal_sides_are_equal_within_the_margin() {
    let lab = Lab::new();
    add_load(&lab);
    let found = json(&compare(&lab, &["load", "--a", "", "--seed", "1", "--format", "json"]));
    let workload = &found["workloads"][0];
    assert_eq!((&workload["answer"], &workload["within_margin"]), (&"equal".into(), &true.into()));
    let detectable = workload["detectable"].as_f64().unwrap();
    assert!(detectable > 1.0 && detectable < 1.02, "{detectable}");
    assert_eq!(found["sequential"]["ended"], "settled", "the interval lies within 2 %");
    let gated = lab.faked(&["compare", "1", "--gate"]).output().unwrap();
    assert_eq!(gated.status.code(), Some(0));
    assert!(crate::lab::stderr(&gated).contains("gate: open"), "{}", crate::lab::stderr(&gated));
}

/// The noise is 0.6 %, so a change of 0.01 % cannot be shown. The seed fixes the order of the
/// sides, and therefore the noise on each.
#[test]
fn a_margin_below_the_noise_leaves_it_inconclusive_and_closes_the_gate() {
    let lab = Lab::new();
    add_load(&lab);
    let words =
        ["load", "--a", "", "--margin", "0.01%", "--repeats", "12", "--once", "--seed", "1", "--format", "json"];
    let found = json(&compare(&lab, &words));
    let workload = &found["workloads"][0];
    assert_eq!((&workload["answer"], &workload["inconclusive"]), (&"inconclusive".into(), &"past-margin".into()));
    assert_eq!(found["sequential"]["taken"], 1);
    let gated = |more: &[&str]| lab.faked(&[&["compare", "1", "--gate"], more].concat()).output().unwrap();
    let closed = gated(&[]);
    let said = crate::lab::stderr(&closed);
    assert_eq!(closed.status.code(), Some(1), "{said}");
    assert!(said.contains("reaches past ±0.01 %; 80 % power to detect a change of"), "{said}");
    let open = gated(&["--inconclusive", "pass"]);
    assert_eq!(open.status.code(), Some(0));
    assert!(
        crate::lab::stderr(&open).contains("passes: load:only at 1 task: inconclusive"),
        "{}",
        crate::lab::stderr(&open)
    );
}

#[test]
fn a_budget_ends_it_and_the_results_so_far_are_reported() {
    let lab = Lab::new();
    lab.fake("load", "sleep 0.1; header; echo interval 2 10000002 100000; echo end 10000003; echo done");
    let found =
        json(&compare(&lab, &["load", "--a", "", "--once", "--repeats", "400", "--time", "2s", "--format", "json"]));
    assert_eq!(found["sequential"]["ended"], "budget");
    let units = found["workloads"][0]["a"]["units"].as_u64().unwrap();
    assert!((2..20).contains(&units), "{units}");
}

#[test]
fn a_side_that_can_not_run_ends_it_soon_with_the_reason() {
    let lab = Lab::new();
    add_load(&lab);
    lab.fake(
        "load",
        "[ -z \"$BROKEN\" ] || exit 3\nheader; echo interval 2 10000002 1000; echo end 10000003; echo done",
    );
    let output = compare(&lab, &["load", "--b", "env.BROKEN=1"]);
    assert_eq!(output.status.code(), Some(1));
    let said = crate::lab::stderr(&output);
    assert!(said.contains("load:only×1 on side B: exit status 3"), "{said}");
    let listed = crate::lab::stdout(&lab.faked(&["list", "--format", "csv"]).output().unwrap());
    assert!(listed.contains(",120,6,3,114,"), "three blocks of 60 were run: {listed}");
}

#[test]
fn the_facts_of_each_side_are_shown() {
    let lab = Lab::new();
    add_load(&lab);
    assert!(compare(&lab, &["load", "--b", "env.X=1"]).status.code().is_some());
    let facts = |name: &str| {
        let output = lab.run(&["check", "--facts", name]);
        (crate::lab::stdout(&output), crate::lab::stderr(&output))
    };
    let connection = rusqlite::Connection::open(lab.db()).unwrap();
    connection
        .execute("UPDATE session_facts SET facts = '{\"host.name\":\"elsewhere\"}' WHERE subject = 1", [])
        .unwrap();
    drop(connection);
    let (first, told) = facts("1");
    assert!(
        told.contains("`faultline check --facts 1@B` shows those of side B") && !first.contains("elsewhere"),
        "{told}"
    );
    let (second, told) = facts("1@b");
    assert!(second.contains("elsewhere") && told.is_empty(), "{second} {told}");
    crate::lab::assert_refused(&lab.run(&["check", "--facts", "1@c"]), 2, "run 1 has no subject C");
}

/// Number of finished items; 0 before the run is saved.
fn ended(lab: &Lab) -> u32 {
    let listed = crate::lab::stdout(&lab.faked(&["list", "--format", "csv"]).output().unwrap());
    let mut lines = listed.lines();
    let column = lines.next().and_then(|names| names.split(',').position(|name| name == "ended"));
    lines.next().map_or(0, |line| line.split(',').nth(column.unwrap()).unwrap().parse().unwrap())
}

/// Runs the command, and kills it when more than `before` items have finished. Returns their
/// number.
fn killed_after_more(lab: &Lab, words: &[&str], before: u32) -> u32 {
    let mut running = lab.faked(words).spawn().unwrap();
    while ended(lab) <= before {
        assert_eq!(running.try_wait().unwrap(), None, "it ended before it could be killed");
    }
    running.kill().unwrap();
    running.wait().unwrap();
    ended(lab)
}

#[test]
fn a_resume_needs_the_workloads_of_both_sides() {
    let lab = Lab::new();
    add_load(&lab);
    lab.fake("load", "sleep 0.3; header; echo interval 2 10000002 1000; echo end 10000003; echo done");
    let words: Vec<&str> = ["compare", "-q", "load", "--a", ""].into_iter().chain(SHORT).collect();
    killed_after_more(&lab, &words, 0);
    std::fs::remove_file(lab.path("fakes/load")).unwrap();
    lab.good_fake("another");
    let resumed = lab.faked(&["resume", "-q"]).output().unwrap();
    crate::lab::assert_refused(&resumed, 1, "needs the workload load:only, which is not here");
}

#[test]
fn texts_of_files_cannot_control_a_terminal() {
    let lab = Lab::new();
    let file = lab.path("evil.json");
    let series = |name: &str| format!(r#"{{"results":[{{"command":"{name}","times":[1.0,2.0]}}]}}"#);
    std::fs::write(&file, series("\\u001b]0;owned\\u0007\\u001b[2J")).unwrap();
    let other = lab.path("other.json");
    std::fs::write(&other, series("a").replace("}]}", "},{\"command\":\"b\",\"times\":[1.0]}]}")).unwrap();
    let output = lab.run(&["compare", file.to_str().unwrap(), other.to_str().unwrap()]);
    assert!(!output.stderr.contains(&0x1b) && !output.stdout.contains(&0x1b), "{}", crate::lab::stderr(&output));
    crate::lab::assert_refused(
        &lab.run(&["import", file.to_str().unwrap(), "--name", "a\u{1b}b"]),
        2,
        "cannot be a name",
    );
}

#[test]
fn a_gate_lets_through_only_what_is_judged_and_not_slower() {
    let lab = Lab::new();
    let file = |name: &str, lines: &[(&str, u32)]| {
        let text: String = lines
            .iter()
            .flat_map(|(name, base)| (0..10).map(move |i| format!("Benchmark{name} 1 {} ns/op\n", base + i % 4)))
            .collect();
        std::fs::write(lab.path(name), text).unwrap();
        lab.path(name).to_str().unwrap().to_owned()
    };
    let (both, one) = (file("both", &[("Sort", 1000), ("Heap", 500)]), file("one", &[("Sort", 900)]));
    let status = |a: &str, b: &str| lab.run(&["compare", a, b, "--gate", "--assume-quiet"]).status.code();
    assert_eq!((status(&both, &both), status(&both, &one)), (Some(0), Some(1)));
    let untrusted = lab.run(&["compare", &both, &both, "--gate"]);
    assert_eq!(untrusted.status.code(), Some(1), "one was measured after the other");
    assert!(
        crate::lab::stderr(&untrusted).contains("inconclusive: not interleaved"),
        "{}",
        crate::lab::stderr(&untrusted)
    );
    assert_eq!(
        (status(&file("slow", &[("Sort", 1000)]), &one), status(&one, &file("slow", &[("Sort", 1000)]))),
        (Some(0), Some(1))
    );
}

/// In these files, user and system times are single means.
#[test]
fn equal_files_of_hyperfine_pass_a_gate() {
    let lab = Lab::new();
    let file = |name: &str, base: u32, user: f64| {
        let times: Vec<String> = (0..10).map(|i| format!("1.{}", base + i % 4)).collect();
        let text = format!(
            r#"{{"results":[{{"command":"sort a","mean":1.1,"user":{user},"system":0.2,"times":[{}]}}]}}"#,
            times.join(",")
        );
        std::fs::write(lab.path(name), text).unwrap();
        lab.path(name).to_str().unwrap().to_owned()
    };
    let (old, same, slow) = (file("old.json", 1000, 0.7), file("same.json", 1001, 0.8), file("slow.json", 1900, 0.9));
    let compared = |b: &str| lab.run(&["compare", &old, b, "--gate", "--assume-quiet", "--verbose"]);
    let brief = crate::lab::stdout(&lab.run(&["compare", &old, &same, "--assume-quiet"]));
    assert!(brief.lines().next().unwrap().contains("are equal within ±2 %: "), "{brief}");
    assert!(brief.lines().count() <= 10 && brief.contains("`--verbose` shows both sides"), "{brief}");
    let passed = compared(&same);
    assert_eq!(passed.status.code(), Some(0), "{}", crate::lab::stderr(&passed));
    let table = crate::lab::stdout(&passed);
    assert!(table.contains("equal within ±2 %") && table.contains("sort a user: 700.0 ms → 800.0 ms"), "{table}");
    assert_eq!(compared(&slow).status.code(), Some(1));
}

#[test]
fn killed_it_is_resumed_to_its_end_with_each_item_once() {
    let lab = Lab::new();
    lab.fake(
        "load",
        "sleep 0.05; header; echo interval 2 10000002 $((${RATE:-100000} + $$ % 97)); echo end 10000003; echo done",
    );
    let words: Vec<&str> =
        ["compare", "-q", "load", "--b", "env.RATE=110000", "--seed", "5"].into_iter().chain(SHORT).collect();
    let first = killed_after_more(&lab, &words, 0);
    let second = killed_after_more(&lab, &["resume", "-q"], first);
    assert!(second > first);
    let found = json(&lab.faked(&["resume", "1", "-q", "--format", "json"]).output().unwrap());
    assert_eq!(
        (&found["workloads"][0]["answer"], &found["sequential"]["ended"]),
        (&"faster".into(), &"settled".into())
    );
    let [a, b] = ["a", "b"].map(|side| found["workloads"][0][side]["runs"].as_u64().unwrap());
    let looks = found["sequential"]["looks"].as_array().unwrap();
    let last = &looks[found["sequential"]["taken"].as_u64().unwrap() as usize - 1];
    assert_eq!([Some(a), Some(b)], [last["blocks"].as_u64(); 2], "each item once");
    assert_eq!(lab.left_over(), Vec::<String>::new());
}

#[test]
fn a_gate_belongs_to_the_run_and_closes_after_a_resume_too() {
    let lab = Lab::new();
    lab.fake(
        "load",
        "sleep 0.05; header; echo interval 2 10000002 $((${RATE:-100000} + $$ % 97)); echo end 10000003; echo done",
    );
    let words: Vec<&str> =
        ["compare", "-q", "load", "--b", "env.RATE=50000", "--gate", "--seed", "5"].into_iter().chain(SHORT).collect();
    killed_after_more(&lab, &words, 0);
    let resumed = lab.faked(&["resume", "-q"]).output().unwrap();
    assert_eq!(resumed.status.code(), Some(1), "{}", crate::lab::stderr(&resumed));
    assert!(crate::lab::stderr(&resumed).contains("gate: closed"), "{}", crate::lab::stderr(&resumed));
}

#[test]
fn commands_are_compared_by_their_time() {
    let lab = Lab::new();
    let workloads = built_workloads();
    let Some(workloads) = workloads else { return };
    let mut command = lab.command(&[
        "compare",
        "-q",
        "--a",
        "command='sleep 0.01'",
        "--b",
        "command='sleep 0.03'",
        "--tasks",
        "1",
        "--format",
        "json",
    ]);
    let found = json(&command.env("FAULTLINE_WORKLOADS", workloads).output().unwrap());
    let workload = &found["workloads"][0];
    assert_eq!((&workload["answer"], &workload["unit"]), (&"slower".into(), &"s".into()));
    let ratio = workload["ratio"]["value"].as_f64().unwrap();
    // The expected ratio is 3, less the cost of starting a process on both sides. A loaded machine
    // moves it either way.
    assert!((1.5..6.0).contains(&ratio), "{ratio}");
}

/// The real workloads, if this tree has built them.
fn built_workloads() -> Option<PathBuf> {
    let beside = crate::lab::program().parent()?.parent()?.join("workloads");
    if beside.join("program").is_file() {
        return Some(beside);
    }
    println!("skipped: no workloads in {}", beside.display());
    None
}

#[test]
fn variants_are_declared_in_a_file() {
    let lab = Lab::new();
    add_load(&lab);
    std::fs::write(lab.path("faultline.toml"), "[variant.fast]\nenvironment = { RATE = 120000 }\n").unwrap();
    let words: Vec<&str> =
        ["compare", "-q", "load", "--b", "fast", "--format", "markdown"].into_iter().chain(SHORT).collect();
    let output = lab.faked(&words).current_dir(lab.path("")).output().unwrap();
    let table = crate::lab::stdout(&output);
    assert!(table.contains("| faster"), "{table}\n{}", crate::lab::stderr(&output));
    assert!(table.contains("environment RATE = 120000"), "{table}");
    let slower = compare(&lab, &["load", "--b", "env.RATE=90000", "--gate"]);
    assert_eq!(slower.status.code(), Some(1), "{}", crate::lab::stdout(&slower));
    std::fs::write(lab.path("faultline.toml"), "[variant.fast]\nenviroment = { RATE = 1 }\n").unwrap();
    let output = lab.faked(&words).current_dir(lab.path("")).output().unwrap();
    crate::lab::assert_refused(&output, 2, "faultline.toml:2: unknown field `enviroment`");
}

#[test]
fn a_machine_is_checked_against_itself() {
    let lab = Lab::new();
    // The window of the quick suite: 300 ms in intervals of 50 ms.
    lab.fake(
        "load",
        "rates=$(for task in $(seq $tasks); do echo $((100000 + $$ % 97)); done | tr '\\n' ' ')
        header
        for i in 0 1 2 3 4 5; do echo interval $((2 + i * 50000000)) $((50000002 + i * 50000000)) ${rates% }; done
        echo end 300000003; echo done",
    );
    let output = lab.faked(&["check", "-q", "load", "--time", "30s", "--format", "json"]).output().unwrap();
    assert!(!output.stdout.is_empty(), "{}", crate::lab::stderr(&output));
    let fitness: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(["fit", "coarse", "unfit"].contains(&fitness["fit"].as_str().unwrap()), "{fitness}");
    assert_eq!(fitness["fit"] == "unfit", output.status.code() == Some(1));
    let workloads = fitness["compared"]["workloads"].as_array().unwrap();
    assert!(workloads.iter().all(|workload| workload["detectable"].as_f64().unwrap() < 1.01), "{workloads:?}");
    let shown = json(&lab.run(&["show", "--format", "json"]));
    assert_eq!(shown["fit"], fitness["fit"], "the run is a check whenever it is shown");
    let resumed = lab.faked(&["resume", "1", "-q", "--format", "json"]).output().unwrap();
    assert_eq!((resumed.status.code(), &resumed.stdout), (output.status.code(), &output.stdout));
}

#[test]
fn files_of_other_tools_are_compared_and_taken_in() {
    let lab = Lab::new();
    let (slow, fast) = (lab.path("old.txt"), lab.path("new.txt"));
    let lines =
        |base: u32| (0..10).map(|i| format!("BenchmarkSort-2 100 {} ns/op\n", base + i % 4)).collect::<String>();
    std::fs::write(&slow, lines(1000)).unwrap();
    std::fs::write(&fast, lines(900)).unwrap();
    let [slow, fast] = [&slow, &fast].map(|path| path.to_str().unwrap());
    let found = json(&lab.run(&["compare", slow, fast, "--assume-quiet", "--format", "json"]));
    assert_eq!(found["workloads"][0]["answer"], "faster");
    let found = json(&lab.run(&["compare", slow, fast, "--format", "json"]));
    assert_eq!(found["workloads"][0]["inconclusive"], "not-interleaved");
    assert!(!lab.db().exists(), "files need no database");

    assert!(lab.run(&["import", fast, "--name", "nightly"]).status.success());
    let found = json(&lab.run(&["compare", slow, "nightly", "--format", "json"]));
    assert_eq!(found["b"]["name"], "nightly");
    assert!(crate::lab::stdout(&lab.run(&["import"])).contains("nightly  go-bench"));
    let exported = crate::lab::stdout(&lab.run(&["export", "nightly", "--to", "go-bench"]));
    assert_eq!(exported.matches("BenchmarkSort-2").count(), 10, "{exported}");
}

/// A sparse file: takes no disk space, but would take long to read.
#[test]
fn a_file_that_is_too_large_is_refused_with_its_size() {
    let lab = Lab::new();
    let large = lab.path("large.json");
    std::fs::File::create(&large).unwrap().set_len(3 << 30).unwrap();
    let large = large.to_str().unwrap();
    let said = "3,221,225,472 bytes (3.0 GiB), more than the limit of 134,217,728 bytes (128.0 MiB)";
    crate::lab::assert_refused(&lab.run(&["import", large]), 2, said);
    crate::lab::assert_refused(&lab.run(&["compare", large, large]), 2, said);
    crate::lab::assert_refused(
        &lab.run(&["import", "/dev/zero"]),
        2,
        "/dev/zero: more than the limit of 134,217,728 bytes",
    );
    let directory = lab.path("results");
    std::fs::create_dir(&directory).unwrap();
    for name in ["a.json", "b.json"] {
        std::fs::File::create(directory.join(name)).unwrap().set_len(100 << 20).unwrap();
    }
    crate::lab::assert_refused(&lab.run(&["import", directory.to_str().unwrap()]), 2, "209,715,200 bytes (200.0 MiB)");
}

#[test]
fn runs_of_two_commits_are_compared_by_the_first_digits_of_their_names() {
    let lab = Lab::new();
    add_load(&lab);
    for (commit, rate) in [("1f3a9c2d7e01", "100000"), ("80d2f11aa34b", "120000")] {
        let run: Vec<&str> =
            ["run", "-q", "load", "--repeats", "8", "--commit", commit].into_iter().chain(SHORT).collect();
        assert!(lab.faked(&run).env("RATE", rate).output().unwrap().status.success());
    }
    let found = json(&lab.run(&["compare", "1f3a9c2", "80d2f11", "--assume-quiet", "--format", "json"]));
    let workload = &found["workloads"][0];
    assert_eq!((&workload["answer"], &found["b"]["name"]), (&"faster".into(), &"80d2f11aa34b".into()));
    let cautions = workload["cautions"].as_array().unwrap();
    assert!(cautions.iter().any(|caution| caution["code"] == "not-interleaved"), "{cautions:?}");
    let exported = crate::lab::stdout(&lab.run(&["export", "1f3a9c2d7e01", "--to", "faultline"]));
    assert!(exported.contains("1f3a9c2d7e01"), "each point is of its commit: {exported}");
}

#[test]
fn a_beginning_of_several_commits_is_refused_and_labels_are_none() {
    let lab = Lab::new();
    add_load(&lab);
    let run = |words: &[&str]| {
        let all: Vec<&str> =
            ["run", "-q", "load", "--repeats", "1"].iter().chain(words).copied().chain(SHORT).collect();
        assert!(lab.faked(&all).output().unwrap().status.success());
    };
    run(&["--label", "d20261121"]);
    run(&["--label", "d20261122"]);
    run(&["--commit", "1f3a9c2d7e01"]);
    run(&["--commit", "1f3a9c2e0002"]);
    let several = "several commits begin with '1f3a9c2': 1f3a9c2d7e01, 1f3a9c2e0002";
    crate::lab::assert_refused(&lab.run(&["compare", "1f3a9c2", "d20261121"]), 2, several);
    crate::lab::assert_refused(&lab.run(&["compare", "2026112", "1f3a9c2d"]), 2, "there is no run 2026112 in ");
    let found = json(&lab.run(&["compare", "d20261121", "d20261122", "--format", "json"]));
    assert_eq!((&found["a"]["name"], &found["b"]["name"]), (&"d20261121".into(), &"d20261122".into()));
}

#[test]
fn commits_of_one_file_are_compared() {
    let lab = Lab::new();
    let lines: String = (0..12)
        .map(|i| format!("2026-01-0{}T00:00:00Z,c{}fe,{}\n", 1 + i / 6, 1 + i / 6, 100 + 20 * (i / 6) + i % 6))
        .collect();
    let file = lab.path("series.csv");
    std::fs::write(&file, format!("time,commit,rate\n{lines}")).unwrap();
    let at = |commit: &str| format!("{}@{commit}", file.display());
    let words = ["compare", &at("c1"), &at("c2f"), "--better", "higher", "--assume-quiet", "--format", "json"];
    assert_eq!(json(&lab.run(&words))["workloads"][0]["answer"], "faster");
    crate::lab::assert_refused(&lab.run(&["compare", &at("c1"), &at("d")]), 2, "there is no value of a commit 'd'");
    let unknown = lab.run(&["compare", &at("c1"), &at("c2")]);
    crate::lab::assert_refused(&unknown, 2, "it is unknown which direction is better");
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("`--better lower` or `--better higher`"), "{unknown:?}");
}

#[test]
fn steps_of_a_series_are_shown_and_written_as_otava_has_them() {
    let lab = Lab::new();
    let file = sample("otava-csv/series.csv");
    let shown = crate::lab::stdout(&lab.run(&["changes", &file]));
    assert!(shown.contains("zero_fill") && shown.contains("+10.16 %"), "{shown}");
    let otava: Value = serde_json::from_slice(&lab.run(&["changes", &file, "--to", "otava-json"]).stdout).unwrap();
    let index = otava["zero_fill"][0]["changes"][0]["index"].as_u64().unwrap();
    assert!(index < 60, "a place in the series: {index}");
    crate::lab::assert_refused(
        &lab.run(&["changes", &file, "--false-alarms", "60%"]),
        2,
        "it must be between 0.1% and 20%",
    );
    let refused = lab.run(&["changes", &file, "--to", "bencher"]);
    crate::lab::assert_refused(&refused, 2, "otava-json");
    assert!(!crate::lab::stderr(&refused).contains("hyperfine"), "{}", crate::lab::stderr(&refused));
}

#[test]
fn any_csv_with_a_header_is_searched() {
    let lab = Lab::new();
    for (name, series, steps) in [
        ("dates.csv", "Requests per second", 1),
        ("commits.csv", "build_ms", 1),
        ("spreadsheet.csv", "Laufzeit", 1),
        ("versions.tsv", "fork", 1),
        ("benchmarks.csv", "sort, large ns", 1),
        ("nightly.txt", "latency", 1),
    ] {
        let found = json(&lab.run(&["changes", &sample(&format!("csv/{name}")), "--format", "json"]));
        let of_it = found["series"].as_array().unwrap().iter().find(|one| one["name"] == series).unwrap();
        assert_eq!(of_it["changes"]["steps"].as_array().unwrap().len(), steps, "{name}: {of_it:#}");
    }
    let file = lab.path("two.csv");
    std::fs::write(&file, "date,when,x\n2026-01-01,2026-01-02,1\n").unwrap();
    let refused = lab.run(&["changes", file.to_str().unwrap()]);
    crate::lab::assert_refused(&refused, 2, "the columns 'date' ('2026-01-01'…) and 'when' ('2026-01-02'…)");
    assert!(crate::lab::stderr(&refused).contains("name the columns `time`, `commit`, `benchmark`"));
}

/// Writes a file of commits with these times, and a step of 20 % after the 30th.
fn commits(lab: &Lab, name: &str, count: u32, time: impl Fn(u32) -> String) -> String {
    let line = |i: u32| {
        let value = if i < 30 { 100.0 } else { 120.0 } + f64::from(i * 7 % 5) * 0.3;
        format!("{},c{i:07},{value}\n", time(i))
    };
    let file = lab.path(name);
    std::fs::write(&file, format!("time,commit,rate\n{}", (0..count).map(line).collect::<String>())).unwrap();
    file.display().to_string()
}

#[test]
fn commits_of_one_day_are_points_of_their_own() {
    let lab = Lab::new();
    let file = commits(&lab, "days.csv", 60, |i| format!("2026-01-{:02}", 1 + i / 6));
    let found = json(&lab.run(&["changes", &file, "--format", "json"]));
    assert_eq!(found["series"][0]["places"].as_array().unwrap().len(), 60);
    let shown = crate::lab::stdout(&lab.run(&["changes", &file]));
    assert!(shown.contains("c0000029") && shown.contains("c0000030") && shown.contains("1 step in"), "{shown}");
}

#[test]
fn a_series_of_a_few_points_is_too_short_to_search() {
    let lab = Lab::new();
    let file = commits(&lab, "few.csv", 11, |i| format!("2026-01-{:02}", 1 + i));
    let shown = crate::lab::stdout(&lab.run(&["changes", &file]));
    assert!(shown.contains("11 points are too few: a search needs 12") && !shown.contains("0 steps"), "{shown}");
}

#[test]
fn small_steps_are_left_out_unless_asked_for() {
    let lab = Lab::new();
    let file = commits(&lab, "small.csv", 60, |i| format!("2026-03-{:02}T{:02}:00:00Z", 1 + i / 24, i % 24));
    let steps = |words: &[&str]| {
        let found = json(&lab.run(&[&["changes", &file, "--format", "json"], words].concat()));
        let changes = &found["series"][0]["changes"];
        (changes["steps"].as_array().unwrap().len(), changes["smaller"].as_u64().unwrap())
    };
    assert_eq!((steps(&[]), steps(&["--min-change", "25%"])), ((1, 0), (0, 1)));
}

#[test]
fn a_run_goes_out_in_other_tools_formats() {
    let lab = Lab::new();
    add_load(&lab);
    let run: Vec<&str> = ["run", "-q", "load", "--repeats", "3"].into_iter().chain(SHORT).collect();
    assert!(lab.faked(&run).output().unwrap().status.success());
    for format in
        ["go-bench", "bencher", "openbsd-result", "openbsd-data", "lkp", "will-it-scale", "otava-csv", "faultline"]
    {
        let output = lab.run(&["export", "1", "--to", format]);
        assert!(output.status.success(), "{format}: {}", crate::lab::stderr(&output));
        let file = lab.path("out");
        std::fs::write(&file, &output.stdout).unwrap();
        let again = lab.run(&["import", file.to_str().unwrap(), "--from", format, "--name", format]);
        assert!(again.status.success(), "{format}: {}", crate::lab::stderr(&again));
    }
    assert!(json(&compare(&lab, &["load", "--a", "", "--format", "json"])).is_object());
    assert!(crate::lab::stdout(&lab.run(&["export", "2@b", "--to", "go-bench"])).contains("BenchmarkLoad:only-1"));
    crate::lab::assert_refused(&lab.run(&["export", "2@c", "--to", "go-bench"]), 2, "has no side 'c'");
}
