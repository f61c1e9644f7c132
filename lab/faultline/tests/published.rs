//! Published results as operands of `compare`, and the table of the authors' claims.

use crate::lab::{self, Lab};
use serde_json::Value;

fn shown(arguments: &[&str]) -> String {
    let lab = Lab::new();
    let output = lab.run(&[&["compare"], arguments].concat());
    assert!(output.status.success(), "{}", lab::stderr(&output));
    assert!(!lab.db().exists(), "published figures need no database");
    lab::stdout(&output)
}

#[test]
fn claims_are_recomputed_and_tested() {
    insta::assert_snapshot!("claims", shown(&["published:claims"]));
    assert_eq!(shown(&["published:claims", "--format", "csv"]).lines().count(), 24);
}

#[test]
fn published_sides_are_compared_like_others() {
    let sides = ["published:dragonfly-5.4", "published:dragonfly-5.6"];
    let compared = |more: &[&str]| -> Value {
        serde_json::from_str(&shown(&[&sides, more, &["--format", "json"]].concat())).unwrap()
    };
    let answers = |compared: &Value, answer: &str| {
        compared["workloads"].as_array().unwrap().iter().filter(|workload| workload["answer"] == answer).count()
    };
    assert_eq!(answers(&compared(&[]), "faster"), 0, "nobody knows what the machines did between the sides");
    assert!(answers(&compared(&["--assume-quiet"]), "faster") >= 10);
}

/// A fake of `self_exec` on four tasks, the number of the smaller machine of 2019.
#[test]
fn an_own_run_is_compared_with_published_figures() {
    let lab = Lab::new();
    lab.fake("self_exec", "header; echo interval 2 10000002 90 90 90 90; echo end 10000003; echo done");
    let program = lab.path("fakes").join("self_exec");
    let text = std::fs::read_to_string(&program).unwrap();
    let text = text.replace("turn/s", "exec/s").replace("variant only", "variant static-distinct");
    std::fs::write(&program, text).unwrap();
    let short = ["--repeats", "1", "--warmup", "0ms", "--window", "10ms", "--interval", "10ms"];
    let run =
        lab.faked(&[&["run", "-q", "self_exec", "--tasks", "4", "--oversubscribe"], &short[..]].concat()).output();
    assert!(run.as_ref().unwrap().status.success(), "{}", lab::stderr(&run.unwrap()));
    let compared = lab.run(&["compare", "published:dragonfly-5.6", "1", "--format", "json"]);
    let compared: Value = serde_json::from_slice(&compared.stdout).unwrap();
    let [workload] = &compared["workloads"].as_array().unwrap()[..] else { panic!("{compared}") };
    assert_eq!((&workload["name"], &workload["tasks"]), (&"self_exec:static-distinct".into(), &4.into()));
    assert_eq!(workload["answer"], "inconclusive");
    lab::assert_refused(&lab.run(&["compare", "published:openbsd-2019", "1"]), 2, "have nothing in common");
}

#[test]
fn an_unknown_name_is_refused_with_the_known_ones() {
    let output = Lab::new().run(&["compare", "published:dragonfly-5.4", "published:dragonfly-6"]);
    lab::assert_refused(&output, 2, "there are no published figures 'dragonfly-6'");
    assert!(lab::stderr(&output).contains("published:openbsd-percpu-cache-16"));
}
