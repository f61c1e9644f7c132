//! The measured costs of transfers between this machine's CPUs, and their file beside the database
//! (in the user's data directory if the database is on a server).

use crate::error::Error;
use crate::places::Places;
use crate::target::or_stopped;
use crate::whole_file;
use faultline_coherence::{CostTable, CostTimes, DelayTimes};
use faultline_record::lens::calibration::{Calibration, Delays, Nearness, Probe, Time};
use faultline_record::lens::settings::{Precision, Quartiles};
use faultline_store::directory_beside;
use faultline_targets::host::ping_pong::{Rounds, hand_over_ns, probe};
use faultline_targets::{StopFlag, Target};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Name of the measured table.
pub const MEASURED: &str = "measured";

/// Name and version of the file.
const FORMAT: &str = "faultline-costs/1";

/// The file's name.
const FILE: &str = "costs.json";

/// The measured table in its saved form.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    format: String,
    /// The machine and the time of the measurement.
    source: String,
    times: CostTimes,
    delays: DelayTimes,
    /// `None` in files of versions that did not save it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    precision: Option<Precision>,
}

/// The file of the measured table. Fails without a database file and a home directory.
fn file(places: &Places) -> Result<PathBuf, Error> {
    if let Some(beside) = directory_beside(places.database()?) {
        return Ok(beside.join(FILE));
    }
    let data = places.data.as_ref().ok_or_else(|| {
        Error::failed("there is no home directory for the measured costs", "set HOME, or XDG_DATA_HOME")
    })?;
    Ok(data.join(FILE))
}

/// The existing file of a measured table: beside the database, otherwise in the user's data
/// directory.
fn file_to_read(places: &Places) -> Result<PathBuf, Error> {
    let beside = file(places)?;
    match &places.data {
        Some(data) if !beside.exists() => Ok(data.join(FILE)),
        _ => Ok(beside),
    }
}

/// The measured table, with its precision if known. Fails if there is none, or if it cannot be
/// read.
pub(super) fn read(places: &Places) -> Result<(CostTable, Option<Precision>), Error> {
    let path = file_to_read(places)?;
    let text = std::fs::read_to_string(&path).map_err(|_| {
        Error::usage("the costs of this machine have not been measured", "`faultline lens calibrate` measures them")
    })?;
    let kept: Kept = serde_json::from_str(&text)
        .ok()
        .filter(|kept: &Kept| kept.format == FORMAT && kept.times.instruction_ps > 0)
        .ok_or_else(|| {
            Error::failed(
                format!("{} is not a cost table", path.display()),
                "`faultline lens calibrate` writes a new one",
            )
        })?;
    let Kept { source, times, delays, precision, .. } = kept;
    Ok((CostTable { name: MEASURED.into(), source: source.into(), times, delays: Some(delays) }, precision))
}

/// Saves the costs of a calibration for runs with [`MEASURED`] costs; returns the file. Fails if
/// the machine was disturbed, or if the file cannot be written; an earlier file is then kept.
pub fn keep_costs(calibration: &Calibration, places: &Places) -> Result<PathBuf, Error> {
    let path = file(places)?;
    if let Some((of, time)) = calibration.measured.unsteady().next() {
        let (low, high) = time.quartiles_ns;
        let shown = |ns: f64| Duration::try_from_secs_f64(ns / 1e9).unwrap_or_default();
        let hint = "stop other programs, and calibrate again on an idle machine; on a virtual one, at another time";
        let earlier = if path.exists() { "; earlier costs are kept" } else { "" };
        return Err(Error::usage(
            format!(
                "the machine was disturbed: the quartiles of the time of {of} are {:?} and {:?}, so no costs were saved{earlier}",
                shown(low),
                shown(high)
            ),
            hint,
        ));
    }
    let text = serde_json::to_string_pretty(&Kept::new(calibration)).unwrap_or_default();
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        std::fs::create_dir_all(directory).map_err(|error| {
            Error::failed(
                format!("cannot make {}: {error}", directory.display()),
                "`--db FILE` names a database in a directory that can be written; the costs are kept beside it",
            )
        })?;
    }
    whole_file::write(&path, &text)?;
    Ok(path)
}

impl Kept {
    /// The costs in their saved form.
    fn new(calibration: &Calibration) -> Self {
        Kept {
            format: FORMAT.to_owned(),
            source: format!("measured on {}", calibration.machine),
            times: calibration.costs,
            delays: calibration.delays,
            precision: Some(precision(&calibration.measured)),
        }
    }
}

/// Number of probes of a machine that other work disturbs.
const MOST_PROBES: usize = 5;

/// Measures every pair of this machine's CPUs; again if other work disturbed it. Fails with fewer
/// than two usable CPUs, at the time limit, or on a stop.
pub fn calibrate(places: &Places, stop: &StopFlag) -> Result<Calibration, Error> {
    let host = places.bare_host();
    let once = || probe(host.cpus(), Rounds::default(), stop).map_err(|error| or_stopped(error, stop));
    let mut measured = once()?;
    for _ in 1..MOST_PROBES {
        if measured.unsteady().next().is_none() {
            break;
        }
        measured = once()?;
    }
    let machine = host.facts().0.get("host.name").map_or_else(String::new, ToString::to_string);
    let delays = delays(&measured.delays, measured.instruction_ps);
    Ok(Calibration { machine, costs: costs(&measured), delays, measured })
}

/// The times for the model. A distance that this machine lacks costs as much as the next closer
/// one. The time of memory comes from the default table.
///
/// A hand-over takes a request, until the line leaves the waiting CPU. That CPU requests it again
/// at once, so a transfer follows.
fn costs(probe: &Probe) -> CostTimes {
    let default = CostTable::default().times;
    let measured = |nearness| Some(hand_over_ns(probe, nearness)? / (1.0 + request_share(&probe.delays)));
    let near = measured(Nearness::SameCache).or(measured(Nearness::SameCore)).or(measured(Nearness::Unknown));
    let socket = measured(Nearness::SameSocket);
    let other = measured(Nearness::OtherSocket);
    let same_cache = near.or(socket).or(other).unwrap_or(f64::from(default.same_cache_ns));
    let same_socket = socket.unwrap_or(same_cache).max(same_cache);
    let other_socket = other.unwrap_or(same_socket).max(same_socket);
    let whole = |value: f64| value.round().clamp(1.0, 1e6) as u32;
    CostTimes {
        instruction_ps: whole(probe.instruction_ps),
        same_cache_ns: whole(same_cache),
        same_socket_ns: whole(same_socket),
        other_socket_ns: whole(other_socket),
        memory_ns: default.memory_ns.max(whole(same_cache)),
    }
}

/// Approximate number of instructions of the measured system call.
const CALL_INSTRUCTIONS: f64 = 100.0;

/// The request's share of the time of a transfer, until it reaches the CPU that has the line: 0.5
/// to 1.
///
/// A transfer takes t: the request r, and the line t − r. Of two CPUs that always want one line,
/// each requests it when it leaves, and loses it r after the other lost it. So it has the line for
/// r − (t − r) of every r. An atomic operation, which takes a alone, takes c = a·r/(2r − t), so r/t
/// = c/(2c − a).
fn request_share(measured: &Delays) -> f64 {
    let alone = measured.atomic.median_ns;
    let together = measured.contended.median_ns.max(alone);
    together / (2.0 * together - alone)
}

/// The precision of a probe's times.
fn precision(probe: &Probe) -> Precision {
    let Delays { atomic, contended, wake, interrupt, call } = &probe.delays;
    let has = |nearness| probe.pairs.iter().any(|pair| pair.nearness == nearness);
    let transfers = probe.pairs.iter().map(|pair| &pair.hand_over).chain([contended]).map(quartiles);
    let widest =
        |one: Quartiles, other: Quartiles| Quartiles { low: one.low.min(other.low), high: one.high.max(other.high) };
    Precision {
        transfers: transfers.reduce(widest).unwrap_or(Quartiles { low: 1000, high: 1000 }),
        atomics: quartiles(atomic),
        wakes: quartiles(wake),
        interrupts: quartiles(interrupt),
        entries: quartiles(call),
        has_same_socket: has(Nearness::SameSocket),
        has_other_socket: has(Nearness::OtherSocket),
    }
}

/// Relative to the median.
fn quartiles(time: &Time) -> Quartiles {
    let (low, high) = time.quartiles_ns;
    let permille = |value: f64| (value / time.median_ns * 1000.0).round().clamp(0.0, 1e6) as u32;
    Quartiles { low: permille(low).min(1000), high: permille(high).max(1000) }
}

fn delays(measured: &Delays, instruction_ps: f64) -> DelayTimes {
    let Delays { atomic, wake, interrupt, call, .. } = measured;
    let whole = |value: f64| value.round().clamp(0.0, 1e9) as u32;
    DelayTimes {
        atomic_ps: whole(atomic.median_ns * 1000.0 - instruction_ps),
        request_percent: whole(100.0 * request_share(measured)).clamp(1, 100),
        wake_ns: whole(wake.median_ns),
        interrupt_ns: whole(interrupt.median_ns),
        entry_ns: whole(call.median_ns - CALL_INSTRUCTIONS * instruction_ps / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::lens::calibration::{Pair, Time};
    use std::path::Path;

    fn places(database: &Path, data: &Path) -> Places {
        Places { database: Some(database.into()), data: Some(data.into()), ..Places::find().unwrap() }
    }

    fn keep(places: &Places, same_cache_ns: u32) {
        let time = Time { median_ns: 1.0, quartiles_ns: (1.0, 1.0) };
        let delays = Delays { atomic: time, contended: time, wake: time, interrupt: time, call: time };
        let (same_socket_ns, other_socket_ns, memory_ns) = (80, 90, 100);
        let costs = CostTimes { instruction_ps: 250, same_cache_ns, same_socket_ns, other_socket_ns, memory_ns };
        let machine = "here".to_owned();
        let measured = Probe { instruction_ps: 250.0, pairs: Vec::new(), delays };
        keep_costs(&Calibration { machine, measured, costs, delays: DelayTimes::USUAL }, places).unwrap();
    }

    #[test]
    fn measured_costs_are_beside_the_database_or_else_in_the_data_directory() {
        let root = tempfile::tempdir().unwrap();
        let (own, usual) = (root.path().join("own"), root.path().join("usual"));
        [&own, &usual].into_iter().for_each(|directory| std::fs::create_dir(directory).unwrap());
        let with_db = places(&own.join("db.sqlite"), &usual);
        let without = places(&usual.join("faultline.sqlite"), &usual);
        assert!(read(&with_db).unwrap_err().problem.contains("have not been measured"));
        keep(&without, 71);
        let kept = |places: &Places| read(places).unwrap().0.times.same_cache_ns;
        assert_eq!(kept(&with_db), 71);
        keep(&with_db, 72);
        assert_eq!((kept(&with_db), kept(&without)), (72, 71));
        assert_eq!(file(&places(Path::new("db.sqlite"), &usual)).unwrap(), Path::new("costs.json"));
    }

    fn measured(atomic_ns: f64, contended_ns: f64) -> Delays {
        let time = |median_ns| Time { median_ns, quartiles_ns: (median_ns, median_ns) };
        Delays {
            atomic: time(atomic_ns),
            contended: time(contended_ns),
            wake: time(4e4),
            interrupt: time(1500.0),
            call: time(100.0),
        }
    }

    #[test]
    fn how_long_a_request_takes_follows_from_contended_operations() {
        // The request takes 75 ns of a transfer of 100 ns. The line is in use for 50 of every 75
        // ns, so ten operations take 75 ns.
        let times = delays(&measured(5.0, 7.5), 250.0);
        assert_eq!(times.request_percent, 75);
        assert_eq!((times.atomic_ps, times.wake_ns, times.interrupt_ns, times.entry_ns), (4750, 40_000, 1500, 75));
        let of = |contended_ns| delays(&measured(5.0, contended_ns), 250.0).request_percent;
        assert_eq!((of(4.0), of(5.0)), (100, 100), "as fast as alone");
        assert_eq!(of(1e6), 50, "one operation for each transfer");
    }

    #[test]
    fn a_hand_over_is_a_request_and_a_transfer() {
        let hand_over = Time { median_ns: 35.0, quartiles_ns: (30.0, 40.0) };
        let pair = Pair { one: 0, other: 1, nearness: Nearness::SameCache, hand_over };
        let probe = Probe { instruction_ps: 250.0, pairs: vec![pair], delays: measured(5.0, 7.5) };
        let costs = costs(&probe);
        assert_eq!((costs.same_cache_ns, costs.same_socket_ns, costs.other_socket_ns), (20, 20, 20));
    }

    #[test]
    fn a_disturbed_machine_keeps_its_earlier_costs() {
        let root = tempfile::tempdir().unwrap();
        let places = places(&root.path().join("db.sqlite"), root.path());
        let calibration = |wake: Time| {
            let probe =
                Probe { instruction_ps: 250.0, pairs: Vec::new(), delays: Delays { wake, ..measured(5.0, 7.5) } };
            let delays = delays(&probe.delays, probe.instruction_ps);
            Calibration { machine: "here".to_owned(), costs: costs(&probe), delays, measured: probe }
        };
        let disturbed = calibration(Time { median_ns: 420e3, quartiles_ns: (50.0, 24e6) });
        let refused = keep_costs(&disturbed, &places).unwrap_err();
        assert_eq!(refused.kind, crate::error::ErrorKind::Usage);
        assert_eq!(
            refused.problem,
            "the machine was disturbed: the quartiles of the time of waking a thread are 50ns and 24ms, so no costs were \
             saved"
        );
        assert!(read(&places).is_err());
        keep_costs(&calibration(Time { median_ns: 20e3, quartiles_ns: (18e3, 25e3) }), &places).unwrap();
        assert!(keep_costs(&disturbed, &places).unwrap_err().problem.ends_with("; earlier costs are kept"));
        let (table, precision) = read(&places).unwrap();
        assert_eq!(table.delays.unwrap().wake_ns, 20_000);
        let Precision { wakes, atomics, has_other_socket, .. } = precision.unwrap();
        assert_eq!((wakes, atomics), (Quartiles { low: 900, high: 1250 }, Quartiles { low: 1000, high: 1000 }));
        assert!(!has_other_socket);
    }
}
