//! Runs `frames_loop` in QEMU's user mode with the lens's plugin, and reads the counts. Needs the plugin (`make lens`,
//! or its path in `FAULTLINE_LENS_PLUGIN`) and qemu-x86_64 (Debian: qemu-user).
//!
//! Only the steady state is counted, after a warm-up. Transfers of the threads' own synchronisation data are
//! subtracted, by its address.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The result of a run.
pub struct Counted {
    /// Without those of the synchronisation data.
    pub transfers: u64,
    /// Of all threads.
    pub operations: u64,
    /// Gets that a cache served, for designs that count them.
    pub hits: Option<u64>,
    /// The plugin's report.
    pub report: Value,
}

impl Counted {
    /// Transfers per operation.
    pub fn per_operation(&self) -> f64 {
        self.transfers as f64 / self.operations as f64
    }
}

/// Runs one program at a time, because a run keeps all CPUs of a small host busy.
pub fn count(design: &str, pattern: &str, threads: u64, operations: u64, depth: u64) -> Counted {
    static ONE_BY_ONE: Mutex<()> = Mutex::new(());
    let _one = ONE_BY_ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/lens/libfaultline_lens.so");
    let plugin = std::env::var_os("FAULTLINE_LENS_PLUGIN").map_or_else(built, PathBuf::from);
    assert!(plugin.exists(), "no {}; hint: `make lens`", plugin.display());
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("report.json");
    // One CPU for each thread, and one for the thread that starts them.
    let plugin = format!("{},cpus={},output={}", plugin.display(), threads + 1, path.display());
    let output = Command::new("timeout")
        .args(["--signal=KILL", "300", "qemu-x86_64", "-plugin", &plugin, env!("CARGO_BIN_EXE_frames_loop")])
        .args(["--design", design, "--pattern", pattern])
        .args(["--threads", &threads.to_string(), "--ops", &operations.to_string(), "--depth", &depth.to_string()])
        .output()
        .unwrap();
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{design} {pattern}: {stdout}{stderr}; hint: apt-get install qemu-user");
    let report: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!((&report["problems"], number(&report["regions"])), (&Value::Array(Vec::new()), 1), "{stderr}");
    let team = words(&stdout, "team").unwrap();
    let all = number(&report["totals"]["transfers"]);
    Counted {
        transfers: all - transfers_in(&report, team[0], team[1]),
        operations: threads * operations,
        hits: words(&stdout, "counters").map(|counters| counters[0]),
        report,
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// The numbers that follow a word.
fn words(text: &str, first: &str) -> Option<Vec<u64>> {
    let line = text.lines().find_map(|line| line.strip_prefix(first))?;
    Some(line.split_whitespace().map(|word| word.parse().unwrap()).collect())
}

fn transfers_in(report: &Value, first: u64, bytes: u64) -> u64 {
    let lines = report["lines"].as_array().unwrap().iter();
    let inside = lines.filter(|line| (first..first + bytes).contains(&number(&line["address"])));
    inside.map(|line| number(&line["transfers"])).sum()
}

/// The busiest lines, for a message.
pub fn busiest(report: &Value) -> String {
    let lines = report["lines"].as_array().unwrap().iter().take(5);
    let text =
        |line: &Value| format!("\n  {:#x}: {} by {}", number(&line["address"]), line["transfers"], line["by_site"]);
    lines.map(text).collect()
}

/// Transfers per frame of the puts alone: those of the pattern minus those of the same pattern without puts.
pub fn puts(design: &str, pattern: &str, threads: u64, operations: u64) -> f64 {
    let all = count(design, pattern, threads, operations, 1).per_operation();
    all - count(design, "dealt", threads, operations, 1).per_operation()
}
