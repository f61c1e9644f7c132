//! A database that the version of 21 November 2026 (513d571) wrote opens, is migrated, and shows what it holds.
//!
//! It holds a run, three comparisons (one of two workloads, one that found a difference, one that was stopped), a program under the lens, and
//! figures of another tool. Beside it stands the JSON that `faultline show` printed of each run at that version, and the table: of the run and the
//! program that of then, of the comparisons that of now, as their answers go by a margin of equality since.
//!
//! The verdicts of its run are withheld in today's table: other programs used 1.5 of the two CPUs meanwhile.

mod lab;

use faultline_model::history::{CommitOutcome, HistoryResults};
use lab::Lab;
use serde_json::Value;

/// The tables and rows as SQL; the version of the tables is not part of such a dump.
const DATABASE: &str = include_str!("old_database/513d571.sql");
const VERSION: u32 = 4;

/// What was shown of each run, as a table and as JSON.
const SHOWN: [(&str, &str, Option<&str>); 5] = [
    ("1", include_str!("old_database/show-1.txt"), Some(include_str!("old_database/show-1.json"))),
    ("2", include_str!("old_database/show-2.txt"), Some(include_str!("old_database/show-2.json"))),
    ("3", include_str!("old_database/show-3.txt"), Some(include_str!("old_database/show-3.json"))),
    ("4", include_str!("old_database/show-4.txt"), Some(include_str!("old_database/show-4.json"))),
    // The subject of a lens run has another place in the JSON since, and its table has a column more and no prediction.
    ("5", include_str!("old_database/show-5.txt"), None),
];

fn old_lab() -> Lab {
    let lab = Lab::new();
    let connection = rusqlite::Connection::open(lab.db()).unwrap();
    // The dump has its tables by name, children before their parents.
    connection.pragma_update(None, "foreign_keys", false).unwrap();
    connection.execute_batch(DATABASE).unwrap();
    connection.pragma_update(None, "user_version", VERSION).unwrap();
    connection.pragma_update(None, "application_id", 0x464C_544C).unwrap();
    lab
}

fn said(lab: &Lab, arguments: &[&str]) -> String {
    let output = lab.command(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What a comparison's JSON had beside its workloads, where it is now: the suite's fields one above, a workload's details with it.
fn as_now(mut then: Value) -> Value {
    let fields = then.as_object_mut().unwrap();
    let (Some(Value::Object(mut suite)), Some(Value::Array(details))) =
        (fields.remove("suite"), fields.remove("details"))
    else {
        return then;
    };
    for (workload, details) in suite["workloads"].as_array_mut().unwrap().iter_mut().zip(details) {
        workload.as_object_mut().unwrap().extend(details.as_object().unwrap().clone());
    }
    fields.extend(suite);
    then
}

/// What a comparison concludes otherwise since its answers go by a margin of equality: intervals of what doesn't differ have another level, others'
/// load is cautioned of and hides the counters, and a workload without an estimate that holds leaves no mean.
const CONCLUDED_OTHERWISE: [&str; 9] =
    ["answer", "ratio", "shift", "ratio_of_medians", "detectable", "cautions", "counters", "improvement", "precision"];

/// Every value of then is there now, under the same key; the format's version, what is concluded otherwise and further keys aside.
fn assert_holds(now: &Value, then: &Value, place: &str) {
    match (now, then) {
        (Value::Object(now), Value::Object(then)) => {
            let is_kept = |key: &str| key != "format" && !CONCLUDED_OTHERWISE.contains(&key);
            for (key, then) in then.iter().filter(|(key, _)| is_kept(key)) {
                assert_holds(now.get(key).unwrap_or(&Value::Null), then, &format!("{place}.{key}"));
            }
        }
        (Value::Array(now), Value::Array(then)) => {
            assert_eq!(now.len(), then.len(), "{place}");
            now.iter().zip(then).for_each(|(now, then)| assert_holds(now, then, place));
        }
        _ => assert_eq!(now, then, "{place}"),
    }
}

#[test]
fn runs_and_comparisons_show_what_they_showed() {
    let lab = old_lab();
    // First concluded anew, then as it was kept, where the run is finished.
    for (run, table, json) in SHOWN.into_iter().chain(SHOWN) {
        assert_eq!(said(&lab, &["show", run]), table, "run {run}");
        if let Some(json) = json {
            let now = serde_json::from_str(&said(&lab, &["show", run, "--format", "json"])).unwrap();
            assert_holds(&now, &as_now(serde_json::from_str(json).unwrap()), run);
        }
    }
    let kept = "SELECT group_concat(run_id) FROM (SELECT run_id FROM conclusion ORDER BY run_id)";
    let connection = rusqlite::Connection::open(lab.db()).unwrap();
    assert_eq!(connection.query_row(kept, [], |row| row.get::<_, String>(0)).unwrap(), "1,2,3,5");
}

#[test]
fn the_list_and_imported_figures_are_all_there() {
    let lab = old_lab();
    let list = said(&lab, &["list", "--format", "csv"]);
    assert_eq!(list.lines().count(), 6, "{list}");
    assert!(list.contains("Linux 6.18.44-fc-v445") && list.contains("first"), "{list}");
    let imports = said(&lab, &["import", "--format", "csv"]);
    assert!(imports.contains("old-hyperfine,hyperfine,") && imports.contains(",3,8\n"), "{imports}");
}

#[test]
fn a_comparison_that_was_stopped_then_is_resumed() {
    let lab = old_lab();
    // What is left of it is made short.
    let short = "UPDATE item SET warmup_ms = 10, window_ms = interval_ms WHERE run_id = 4 AND block > 6";
    rusqlite::Connection::open(lab.db()).unwrap().execute(short, []).unwrap();
    let mut command = lab.command(&["resume", "4", "--quiet", "--format", "json"]);
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&shown["a"]["name"], &shown["b"]["name"]), (&"as it is".into(), &"env.A=1".into()));
    assert!(shown["sequential"]["taken"].as_u64() > Some(0), "{shown}");
}

#[test]
fn where_it_may_only_be_read_it_is_brought_up_to_date_in_memory() {
    let lab = old_lab();
    let script = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\"
        export FAULTLINE_DB=\"$1/db.sqlite\"
        \"$2\" list; \"$2\" show 1 --format csv";
    let Some(output) = lab.in_namespace(script) else { return };
    let problems = lab::stderr(&output);
    if problems.contains("mount: ") {
        println!("skipped: this machine lets us mount nothing");
        return;
    }
    assert!(output.status.success(), "{problems}");
    assert_eq!(lab::stdout(&output), said(&lab, &["list"]) + &said(&lab, &["show", "1", "--format", "csv"]));
}

/// What the version of 23 November 2026 saved of commits of a history.
const RESULTS: &str = r#"{"commits": [
    {"commit": "a", "kind": "measured", "values": [1.5, 1.25]},
    {"commit": "b", "kind": "measured", "values": [1.5], "same_as": "a"},
    {"commit": "c", "kind": "unusable", "why": "build", "build": {"how": "it ends with status 2", "output": "no rule"}},
    {"commit": "d", "kind": "unusable", "why": "hang"}
]}"#;

#[test]
fn results_of_commits_are_read_and_written_as_they_were() {
    let results: HistoryResults = serde_json::from_str(RESULTS).unwrap();
    let CommitOutcome::Unusable(not_measured) = &results.commits[2].outcome else { panic!("{results:?}") };
    assert_eq!(not_measured.build.as_ref().unwrap().output, "no rule");
    let then: Value = serde_json::from_str(RESULTS).unwrap();
    assert_eq!(serde_json::to_value(&results).unwrap(), then);
}
