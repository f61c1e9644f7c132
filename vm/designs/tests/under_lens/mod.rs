//! Runs `frames_loop` and `memory_loop` in guests with `faultline lens program`, and reads the
//! counts. Needs the built command, named by `FAULTLINE_PROGRAM` (default:
//! `target/debug/faultline`), and a kernel, the guest's parts and the plugin: `make build guest
//! lens` at the root.
//!
//! Counts only the steady state, after a warm-up. Subtracts transfers of the threads' own
//! synchronisation data, by its name.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Counts at one number of threads.
pub struct Counted {
    /// Number of threads.
    pub threads: u64,
    /// Transfers per operation, without those of the synchronisation data.
    pub per_operation: f64,
    /// Instructions per operation.
    pub instructions: f64,
    /// The busiest other lines, for a message.
    pub busiest: String,
}

/// A design with a pattern of use.
#[derive(Debug, Clone, Copy)]
pub struct Work<'a> {
    /// The program.
    pub program: &'a str,
    /// The design.
    pub design: &'a str,
    /// The pattern.
    pub pattern: &'a str,
    /// Operations of each thread.
    pub operations: u64,
    /// Frames held by a thread, or passed on at once; pages of a range.
    pub depth: u64,
    /// Seed of the guests.
    pub seed: u64,
}

impl Work<'_> {
    /// Counts it at these numbers of threads.
    pub fn count(&self, threads: &[u64]) -> Vec<Counted> {
        let place = tempfile::tempdir().unwrap();
        let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/debug/faultline");
        let faultline = std::env::var_os("FAULTLINE_PROGRAM").map_or_else(built, PathBuf::from);
        assert!(faultline.exists(), "no {}; hint: `make build guest lens` at the root", faultline.display());
        let threads = threads.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let [operations, depth, seed] = [self.operations, self.depth, self.seed].map(|number| number.to_string());
        let output = Command::new(faultline)
            .args(["lens", "program", "--quiet", "--limit", "10m", "--format", "json", "--db"])
            .arg(place.path().join("db.sqlite"))
            .args(["--tasks", &threads, "--ops", &operations, "--seed", &seed, "--", self.program])
            .args(["--design", self.design, "--pattern", self.pattern, "--threads", "{tasks}"])
            .args(["--ops", &operations, "--depth", &depth])
            .output()
            .unwrap();
        let [stdout, stderr] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        assert!(output.status.success(), "{self:?}: {stdout}{stderr}; hint: `make build guest lens` at the root");
        let summary: Value = serde_json::from_str(&stdout).unwrap();
        summary["lens"]["curves"][0]["points"].as_array().unwrap().iter().map(counted).collect()
    }

    /// Transfers per operation beyond those of a baseline pattern.
    pub fn count_beyond(&self, baseline: &str, threads: &[u64]) -> Vec<Counted> {
        let without = Work { pattern: baseline, ..*self }.count(threads);
        let beyond = |(all, without): (Counted, &Counted)| Counted {
            per_operation: all.per_operation - without.per_operation,
            ..all
        };
        self.count(threads).into_iter().zip(&without).map(beyond).collect()
    }
}

fn counted(point: &Value) -> Counted {
    assert_eq!(point["problems"], Value::Array(Vec::new()), "{point}");
    let lines = point["lines"].as_array().unwrap();
    let is_ours = |line: &&Value| line["name"].as_str().unwrap().contains("TEAM");
    let transfers = |line: &Value| line["transfers"].as_f64().unwrap();
    let all = point["transfers"]["median"].as_f64().unwrap();
    let of_team: f64 = lines.iter().filter(is_ours).map(transfers).sum();
    let others = lines.iter().filter(|line| !is_ours(line)).take(5);
    Counted {
        threads: point["cpus"].as_u64().unwrap(),
        instructions: point["instructions"]["median"].as_f64().unwrap(),
        // Rounded to far below a single transfer.
        per_operation: ((all - of_team) * 1e9).round() / 1e9,
        busiest: others.map(|line| format!("\n  {}: {}", line["name"], transfers(line))).collect(),
    }
}
