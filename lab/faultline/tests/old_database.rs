//! A database that the version of 21 November 2026 (513d571) wrote opens, is migrated, and says what it said then.
//!
//! It holds a run, three comparisons (one that found no difference, one that found one, one that was stopped), a program under the lens, and
//! figures of another tool. Beside it stands what `faultline show` printed of each run at that version.

mod lab;

use lab::Lab;

/// The tables and rows as SQL; the version of the tables is not part of such a dump.
const DATABASE: &str = include_str!("old_database/513d571.sql");
const VERSION: u32 = 4;

/// What was shown of each run, as a table and as JSON.
const SHOWN: [(&str, &str, Option<&str>); 5] = [
    ("1", include_str!("old_database/show-1.txt"), Some(include_str!("old_database/show-1.json"))),
    ("2", include_str!("old_database/show-2.txt"), Some(include_str!("old_database/show-2.json"))),
    ("3", include_str!("old_database/show-3.txt"), Some(include_str!("old_database/show-3.json"))),
    ("4", include_str!("old_database/show-4.txt"), Some(include_str!("old_database/show-4.json"))),
    // The subject of a lens run has another place in the JSON since.
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

#[test]
fn runs_and_comparisons_show_what_they_showed() {
    let lab = old_lab();
    for (run, table, json) in SHOWN {
        assert_eq!(said(&lab, &["show", run]), table, "run {run}");
        if let Some(json) = json {
            assert_eq!(said(&lab, &["show", run, "--format", "json"]), json, "run {run}");
        }
    }
}

#[test]
fn the_list_and_imported_figures_are_all_there() {
    let lab = old_lab();
    let list = said(&lab, &["list", "--format", "csv"]);
    assert_eq!(list.lines().count(), 6, "{list}");
    assert!(list.contains("Linux 6.18.44-fc-v445") && list.contains("first"), "{list}");
    assert!(said(&lab, &["import"]).contains("old-hyperfine"));
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
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&shown["a"]["name"], &shown["b"]["name"]), (&"as it is".into(), &"env.A=1".into()));
    assert!(shown["sequential"]["taken"].as_u64() > Some(0), "{shown}");
}
