// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs the same programs five times, and measures how much transfers, instructions and the predicted time differ
//! between runs. Exits with 1 if transfers or instructions differ by more than 1 %. They do on a busy host, where CPUs
//! cannot be kept in step.

#[path = "../tests/lens/emulator.rs"]
#[allow(dead_code, reason = "the tests use the rest of it")]
mod emulator;

use emulator::{Outcome, number, run};
use std::process::ExitCode;

/// Largest standard deviation allowed, relative to the mean.
const ALLOWED: f64 = 0.01;

const RUNS: usize = 5;

/// Standard deviation of a sample, relative to its mean.
fn variation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt() / mean
}

/// Whether the runs agree.
fn repeat(program: &str, arguments: &[&str]) -> bool {
    let outcomes: Vec<Outcome> = (0..RUNS).map(|_| run(9, &[], program, arguments)).collect();
    let of = |value: fn(&Outcome) -> u64| {
        let values: Vec<f64> = outcomes.iter().map(|outcome| value(outcome) as f64).collect();
        variation(&values)
    };
    let transfers = of(|outcome| outcome.total("transfers"));
    let time = of(|outcome| number(&outcome.report()["predicted_time"]));
    let instructions = of(|outcome| outcome.total("instructions"));
    let forced: Vec<u64> = outcomes.iter().map(|outcome| number(&outcome.report()["forced_blocks"])).collect();
    println!("blocks out of turn: {forced:?}");
    let percent = |value: f64| 100.0 * value;
    println!(
        "{program} {arguments:?}: standard deviation of {RUNS} runs by mean: transfers {:.3} %, instructions {:.3} %, \
         predicted time {:.3} %",
        percent(transfers),
        percent(instructions),
        percent(time)
    );
    transfers <= ALLOWED && instructions <= ALLOWED
}

fn main() -> ExitCode {
    let programs: [(&str, [&str; 3]); 4] = [
        ("counters", ["shared", "8", "10000"]),
        ("counters", ["beside", "8", "10000"]),
        ("locks", ["ticket", "8", "500"]),
        ("locks", ["mcs", "8", "500"]),
    ];
    let disagreeing = programs.iter().filter(|(program, arguments)| !repeat(program, arguments)).count();
    if disagreeing == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
