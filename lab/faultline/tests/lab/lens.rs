//! Shared parts of lens tests: the command with the plugin, programs to count, and results of a
//! run.

use super::guest::guest_directory;
use super::{Lab, stderr, stdout};
use faultline_stats::lens::summary::{LensCurve, LensPoint};
use faultline_stats::summary::RunSummary;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock, PoisonError};
use tempfile::TempDir;

/// The plugin built by `make lens`.
pub fn plugin() -> PathBuf {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/lens/libfaultline_lens.so");
    assert!(file.exists(), "no {}; hint: `make lens`", file.display());
    file
}

/// The command with the plugin.
pub fn command(lab: &Lab, arguments: &[&str]) -> Command {
    guest_directory();
    let mut command = lab.command(arguments);
    command.env("FAULTLINE_LENS_PLUGIN", plugin());
    command
}

/// `faultline lens program` with `options`. The default time limit is five minutes.
pub fn program(lab: &Lab, options: &[&str], argv: &[&str]) -> Command {
    let limit: &[&str] = if options.contains(&"--limit") { &[] } else { &["--limit", "5m"] };
    command(lab, &[&["lens", "program", "--quiet"], limit, options, &["--"], argv].concat())
}

#[track_caller]
pub fn assert_status(output: &Output, status: i32) {
    assert_eq!(output.status.code(), Some(status), "{}{}", stdout(output), stderr(output));
}

/// The only curve of the JSON document on standard output.
#[track_caller]
pub fn curve(output: &Output) -> LensCurve {
    let summary: RunSummary =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}{}", stdout(output), stderr(output)));
    let [curve] = <[LensCurve; 1]>::try_from(summary.lens.unwrap().curves).unwrap();
    curve
}

/// The only point of the only curve.
#[track_caller]
pub fn point(output: &Output) -> LensPoint {
    let [point] = <[LensPoint; 1]>::try_from(curve(output).points).unwrap();
    point
}

/// The points of a program by number of threads, after checking that nothing failed.
#[track_caller]
pub fn points(lab: &Lab, options: &[&str], argv: &[&str]) -> Vec<LensPoint> {
    let output = program(lab, &[options, &["--format", "json"]].concat(), argv).output().unwrap();
    assert_status(&output, 0);
    let points = curve(&output).points;
    assert!(points.iter().all(|point| point.problems.is_empty()), "{points:?}");
    points
}

/// Transfers per operation.
pub fn transfers(point: &LensPoint) -> f64 {
    point.transfers.as_ref().unwrap().median
}

/// A source file of the test programs.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lens_program").join(name)
}

/// The line number of `text` in a test program.
pub fn line_of(name: &str, text: &str) -> usize {
    let source = fs::read_to_string(source(name)).unwrap();
    source.lines().position(|line| line.contains(text)).unwrap() + 1
}

/// The directory of compiled programs, shared by all tests.
pub fn place() -> &'static Path {
    static PLACE: OnceLock<TempDir> = OnceLock::new();
    PLACE.get_or_init(|| tempfile::tempdir().unwrap()).path()
}

/// The test program `name`, compiled once from these sources.
pub fn compiled(name: &str, from: &[&str], flags: &[&str]) -> String {
    static COMPILING: Mutex<()> = Mutex::new(());
    let _one = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = place().join(name);
    if !file.exists() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let harness = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/harness");
        let mut compiler = Command::new("cc");
        compiler.args(["-g", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"]).arg("-I").arg(harness);
        // GCC 14 unrolls small loops by two, and the lens never switches CPUs within a translation
        // block.
        compiler.arg("-fno-unroll-loops");
        let status = compiler.arg("-o").arg(&file).args(from.iter().map(|name| source(name))).args(flags).status();
        assert!(status.is_ok_and(|status| status.success()), "{from:?} don't compile; hint: apt-get install gcc");
    }
    file.to_str().unwrap().to_owned()
}
