//! `faultline lens calibrate`: the cost of a transfer between this machine's CPUs.

use crate::arguments::lens::Calibrate;
use crate::failure::{self, Failure};
use crate::{output, places, signals};
use faultline_coherence::DelayTimes;
use faultline_experiment::lens::{self, Calibration, MEASURED};
use faultline_model::facts::Facts;
use faultline_targets::host::ping_pong::{Delays, Nearness, Time};
use std::path::Path;
use std::process::ExitCode;

pub(super) fn calibrate(arguments: &Calibrate, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let places = places::found(db)?;
    let stop = signals::stop_flag()?;
    let calibration = lens::calibrate(&places, &stop)?;
    output::print(&faultline_report::facts(&words(&calibration), arguments.format.format, &output::style()))?;
    if !arguments.dry_run {
        let file = calibration.keep(&places)?;
        failure::warn(&format!("kept in {}; `--costs {MEASURED}` uses it", file.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Every pair, and the resulting table of costs.
fn words(calibration: &Calibration) -> Facts {
    let Calibration { probe, table, .. } = calibration;
    let mut facts = Facts::default();
    for pair in &probe.pairs {
        let (low, high) = pair.quartiles_ns;
        facts.text(
            &format!("pair.{}-{}", pair.one, pair.other),
            format!("hand-over {:.1} ns ({low:.1} to {high:.1}), {}", pair.median_ns, words_for(pair.nearness)),
        );
    }
    for (key, time) in measured(&probe.delays) {
        let (low, high) = time.quartiles_ns;
        facts.text(key, format!("{:.1} ns ({low:.1} to {high:.1})", time.median_ns));
    }
    for (key, value) in [
        ("cost.instruction_ps", table.instruction_ps),
        ("cost.same_cache_ns", table.same_cache_ns),
        ("cost.same_socket_ns", table.same_socket_ns),
        ("cost.other_socket_ns", table.other_socket_ns),
        ("cost.memory_ns", table.memory_ns),
    ] {
        facts.count(key, i64::from(value));
    }
    for (key, value) in table.delays.iter().flat_map(delays) {
        facts.count(key, i64::from(value));
    }
    facts
}

fn measured(delays: &Delays) -> [(&'static str, Time); 5] {
    let Delays { atomic, contended, wake, interrupt, call } = *delays;
    [
        ("measured.atomic", atomic),
        ("measured.contended", contended),
        ("measured.wake", wake),
        ("measured.interrupt", interrupt),
        ("measured.call", call),
    ]
}

fn delays(times: &DelayTimes) -> [(&'static str, u32); 5] {
    let DelayTimes { atomic_ps, request_percent, wake_ns, interrupt_ns, entry_ns } = *times;
    [
        ("cost.atomic_ps", atomic_ps),
        ("cost.request_percent", request_percent),
        ("cost.wake_ns", wake_ns),
        ("cost.interrupt_ns", interrupt_ns),
        ("cost.entry_ns", entry_ns),
    ]
}

fn words_for(nearness: Nearness) -> &'static str {
    match nearness {
        Nearness::SameCore => "same core",
        Nearness::SameCache => "same cache",
        Nearness::SameSocket => "same socket",
        Nearness::OtherSocket => "other socket",
        Nearness::Unknown => "the system does not say how near",
    }
}
