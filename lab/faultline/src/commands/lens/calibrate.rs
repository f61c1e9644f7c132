//! `faultline lens calibrate`: what a transfer costs between this machine's CPUs.

use super::costs::{self, Kept, MEASURED};
use crate::arguments::lens::Calibrate;
use crate::commands::measure;
use crate::failure::{self, Failure};
use crate::{output, places};
use faultline_coherence::CostTable;
use faultline_model::facts::Facts;
use faultline_targets::Target;
use faultline_targets::host::Host;
use faultline_targets::host::ping_pong::{Nearness, Probe, Rounds, probe};
use std::process::ExitCode;

pub(super) fn calibrate(arguments: &Calibrate) -> Result<ExitCode, Failure> {
    let host = places::bare_host()?;
    let stop = measure::stop_on_signals()?;
    let probe = probe(host.cpus(), Rounds::default(), &stop)
        .map_err(|error| if stop.is_set() { Failure::stopped() } else { error.into() })?;
    let table = table(&probe);
    output::print(&faultline_report::facts(&words(&probe, &table), arguments.format.format, &output::style()))?;
    if !arguments.dry_run {
        keep(&table, &host)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Times as the model takes them. Distances that this machine doesn't have cost what the next nearer one does; memory is not
/// measured, and taken from the default table.
fn table(probe: &Probe) -> CostTable {
    let default = CostTable::by_name(CostTable::DEFAULT).copied().unwrap_or(CostTable::presets()[0]);
    let measured = |nearness| probe.median_ns(nearness);
    let near = measured(Nearness::SameCache).or(measured(Nearness::SameCore)).or(measured(Nearness::Unknown));
    let socket = measured(Nearness::SameSocket);
    let other = measured(Nearness::OtherSocket);
    let same_cache = near.or(socket).or(other).unwrap_or(f64::from(default.same_cache_ns));
    let same_socket = socket.unwrap_or(same_cache).max(same_cache);
    let other_socket = other.unwrap_or(same_socket).max(same_socket);
    let whole = |value: f64| value.round().clamp(1.0, 1e6) as u32;
    CostTable {
        name: MEASURED,
        source: "measured",
        instruction_ps: whole(probe.instruction_ps),
        same_cache_ns: whole(same_cache),
        same_socket_ns: whole(same_socket),
        other_socket_ns: whole(other_socket),
        memory_ns: default.memory_ns.max(whole(same_cache)),
    }
}

/// Every pair, and the table made of them.
fn words(probe: &Probe, table: &CostTable) -> Facts {
    let mut facts = Facts::default();
    for pair in &probe.pairs {
        let (low, high) = pair.quartiles_ns;
        facts.text(
            &format!("pair.{}-{}", pair.one, pair.other),
            format!("{:.1} ns ({low:.1} to {high:.1}), {}", pair.median_ns, words_for(pair.nearness)),
        );
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
    facts
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

fn keep(table: &CostTable, host: &Host) -> Result<(), Failure> {
    let path = costs::file()?;
    let source =
        format!("measured on {}", host.facts().0.get("host.name").map_or_else(String::new, ToString::to_string));
    let text = serde_json::to_string_pretty(&Kept::new(table, source)).unwrap_or_default();
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(|error| {
            Failure::new(
                format!("cannot make {}: {error}", directory.display()),
                "set XDG_DATA_HOME to a directory that can be written",
            )
        })?;
    }
    output::write_file(&path, &text)?;
    failure::warn(&format!("kept in {}; `--costs {MEASURED}` uses it", path.display()));
    Ok(())
}
