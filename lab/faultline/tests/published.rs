//! The literature's comparisons as the command shows them, tests included, against what was agreed on. After a wanted change:
//! `INSTA_UPDATE=always cargo test -p faultline --test published`, and read the difference.

mod lab;

use lab::Lab;
use serde_json::Value;

fn shown(arguments: &[&str]) -> String {
    let lab = Lab::new();
    let output = lab.run(&[&["published", "--compare"], arguments].concat());
    assert!(output.status.success(), "{}", lab::stderr(&output));
    assert!(!lab.db().exists(), "the literature needs no database");
    lab::stdout(&output)
}

fn rows() -> Vec<Value> {
    let json: Value = serde_json::from_str(&shown(&["--format", "json"])).unwrap();
    let tables = json["tables"].as_array().unwrap();
    tables.iter().flat_map(|table| table["rows"].as_array().unwrap().clone()).collect()
}

#[test]
fn the_comparison_in_four_formats() {
    insta::assert_snapshot!("compare_table", shown(&[]));
    insta::assert_snapshot!("compare_markdown", shown(&["native-kernel-build", "--format", "markdown"]));
    // Logarithms may differ in the last digits between machines.
    insta::with_settings!({filters => vec![(r"(\.\d{9})\d+", "$1")]}, {
        insta::assert_snapshot!("compare_csv", shown(&["--format", "csv"]));
        insta::assert_snapshot!("compare_json", shown(&["native-kernel-build", "--format", "json"]));
    });
}

#[test]
fn every_claim_is_there_and_every_row_with_repeats_on_both_sides_has_an_interval() {
    let rows = rows();
    let claimed = |source: &str| rows.iter().filter(|row| row["source"] == source && !row["claim"].is_null()).count();
    assert_eq!(
        ["dragonfly-2011-vm-token", "dragonfly-5.4-vs-5.6", "openbsd-percpu-page-cache"].map(claimed),
        [4, 14, 5],
        "four, seven on two machines, two tests at 16 CPUs and three at 32"
    );
    for row in &rows {
        let n = |side: &str| row[side]["n"].as_u64().unwrap();
        let repeated = n("before") > 1 && n("after") > 1;
        assert_eq!(row["interval"].is_object(), repeated, "{row}");
        assert_eq!(row["judgement"].is_object(), repeated, "{row}");
        assert_eq!(row["no_interval"].is_string(), !repeated, "{row}");
    }
}

#[test]
fn means_lie_within_the_intervals() {
    for row in rows().iter().filter(|row| row["interval"].is_object()) {
        let percent = row["improvement_percent"].as_f64().unwrap();
        let [low, high] = ["low_percent", "high_percent"].map(|end| row["interval"][end].as_f64().unwrap());
        assert!(low < percent && percent < high, "{row}");
    }
}

/// Reckoned from the printed values: the least and the greatest ratio of a run after the patch to one before.
#[test]
fn two_runs_a_side_give_the_ratios_ends_and_no_answer() {
    let rows = rows();
    let row = rows.iter().find(|row| row["load"] == "-j 40, 4 copies").unwrap();
    let saved = |before: f64, after: f64| (1.0 - after / before) * 100.0;
    for (end, expected) in [("low_percent", saved(8302.17, 5800.49)), ("high_percent", saved(8308.01, 5799.53))] {
        let found = row["interval"][end].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-9, "{end}: {found}, not {expected}");
    }
    assert_eq!(row["judgement"]["answer"], "inconclusive");
    assert!((row["interval"]["level_ratio"].as_f64().unwrap() - 2.0 / 3.0).abs() < 1e-12);
}

/// Six runs that are all above six others: two of the 924 orders are as uneven.
#[test]
fn six_runs_a_side_are_decided_beside_all_others() {
    let rows = rows();
    let six = |row: &&Value| row["before"]["n"] == 6 && row["after"]["n"] == 6;
    assert_eq!(rows.iter().filter(six).count(), 8);
    for row in rows.iter().filter(six) {
        let chance = row["judgement"]["p"].as_f64().unwrap();
        assert!((chance - 2.0 / 924.0).abs() < 1e-12, "{row}");
        assert_eq!(row["judgement"]["answer"], "faster", "{row}");
    }
}

/// What `published/README.md` says of the sources.
#[test]
fn too_few_repeats_are_inconclusive_beside_all_others() {
    let rows = rows();
    let count = |source: &str, answer: &str, alone: Option<&str>| {
        let same = |row: &&Value| {
            let judgement = &row["judgement"];
            row["source"] == source && judgement["answer"] == answer && judgement["answer_alone"].as_str() == alone
        };
        rows.iter().filter(same).count()
    };
    assert_eq!(count("dragonfly-5.4-vs-5.6", "faster", Some("faster")), 10);
    assert_eq!(count("dragonfly-5.4-vs-5.6", "inconclusive", Some("faster")), 3);
    assert_eq!(count("dragonfly-5.4-vs-5.6", "inconclusive", Some("inconclusive")), 1);
    assert_eq!(count("dragonfly-2011-vm-token", "inconclusive", None), 2);
}

#[test]
fn what_was_never_compared_is_refused_with_the_names_that_were() {
    let output = Lab::new().run(&["published", "--compare", "openbsd-2019"]);
    lab::assert_refused(&output, 2, "no published comparisons have 'openbsd-2019' in their name");
    lab::assert_refused(&Lab::new().run(&["published", "--compare", "--beside", "3"]), 2, "--beside");
}
