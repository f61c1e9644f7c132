//! The costs that were measured on this machine, in a file beside the database. If that is on a server, the file is in the user's data directory.

use crate::error::Error;
use crate::places::Places;
use crate::whole_file;
use faultline_coherence::{CostTable, DelayTimes};
use faultline_model::lens::calibration::Calibration;
use faultline_model::lens::settings::{CostTimes, DelaySettings};
use faultline_store::directory_beside;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

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
    /// Machine and moment.
    source: String,
    instruction_ps: u32,
    same_cache_ns: u32,
    same_socket_ns: u32,
    other_socket_ns: u32,
    memory_ns: u32,
    /// None in files of older versions.
    #[serde(default)]
    delays: Option<KeptDelays>,
}

/// What else takes time, in its saved form.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct KeptDelays {
    atomic_ps: u32,
    request_percent: u32,
    wake_ns: u32,
    interrupt_ns: u32,
    entry_ns: u32,
}

/// The file of the measured table. Fails if there is neither a file of a database nor a home directory.
fn file(places: &Places) -> Result<PathBuf, Error> {
    if let Some(beside) = directory_beside(places.database()?) {
        return Ok(beside.join(FILE));
    }
    let data = places.data.as_ref().ok_or_else(|| {
        Error::failed("there is no home directory for the measured costs", "set HOME, or XDG_DATA_HOME")
    })?;
    Ok(data.join(FILE))
}

/// Where a measured table may be: beside the database, or else in the user's data directory.
fn file_to_read(places: &Places) -> Result<PathBuf, Error> {
    let beside = file(places)?;
    match &places.data {
        Some(data) if !beside.exists() => Ok(data.join(FILE)),
        _ => Ok(beside),
    }
}

/// The measured table. Fails if there is none, or if it cannot be read.
pub(super) fn read(places: &Places) -> Result<CostTable, Error> {
    let path = file_to_read(places)?;
    let text = std::fs::read_to_string(&path).map_err(|_| {
        Error::usage("the costs of this machine have not been measured", "`faultline lens calibrate` measures them")
    })?;
    let kept: Kept = serde_json::from_str(&text)
        .ok()
        .filter(|kept: &Kept| kept.format == FORMAT && kept.instruction_ps > 0)
        .ok_or_else(|| {
            Error::failed(
                format!("{} is not a cost table", path.display()),
                "`faultline lens calibrate` writes a new one",
            )
        })?;
    Ok(CostTable {
        name: MEASURED.into(),
        source: kept.source.into(),
        instruction_ps: kept.instruction_ps,
        same_cache_ns: kept.same_cache_ns,
        same_socket_ns: kept.same_socket_ns,
        other_socket_ns: kept.other_socket_ns,
        memory_ns: kept.memory_ns,
        delays: kept.delays.map(|kept| {
            let KeptDelays { atomic_ps, request_percent, wake_ns, interrupt_ns, entry_ns } = kept;
            DelayTimes { atomic_ps, request_percent, wake_ns, interrupt_ns, entry_ns }
        }),
    })
}

/// Saves the costs of a calibration for runs with [`MEASURED`] costs, and returns the file. Fails if it cannot be written.
pub fn keep_costs(calibration: &Calibration, places: &Places) -> Result<PathBuf, Error> {
    let path = file(places)?;
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
        let CostTimes { instruction_ps, same_cache_ns, same_socket_ns, other_socket_ns, memory_ns, delays } =
            calibration.costs;
        Kept {
            format: FORMAT.to_owned(),
            source: format!("measured on {}", calibration.machine),
            instruction_ps,
            same_cache_ns,
            same_socket_ns,
            other_socket_ns,
            memory_ns,
            delays: delays.map(|times| {
                let DelaySettings { atomic_ps, request_percent, wake_ns, interrupt_ns, entry_ns, .. } = times;
                KeptDelays { atomic_ps, request_percent, wake_ns, interrupt_ns, entry_ns }
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::lens::calibration::{Delays, Probe, Time};
    use std::path::Path;

    fn places(database: &Path, data: &Path) -> Places {
        Places { database: Some(database.into()), data: Some(data.into()), ..Places::find().unwrap() }
    }

    fn keep(places: &Places, same_cache_ns: u32) {
        let time = Time { median_ns: 1.0, quartiles_ns: (1.0, 1.0) };
        let delays = Delays { atomic: time, contended: time, wake: time, interrupt: time, call: time };
        let costs = CostTimes {
            instruction_ps: 250,
            same_cache_ns,
            same_socket_ns: 80,
            other_socket_ns: 90,
            memory_ns: 100,
            delays: None,
        };
        let measured = Probe { instruction_ps: 250.0, pairs: Vec::new(), delays };
        keep_costs(&Calibration { machine: "here".to_owned(), measured, costs }, places).unwrap();
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
        assert_eq!(read(&with_db).unwrap().same_cache_ns, 71);
        keep(&with_db, 72);
        assert_eq!(read(&with_db).unwrap().same_cache_ns, 72);
        assert_eq!(read(&without).unwrap().same_cache_ns, 71);
        assert_eq!(file(&places(Path::new("db.sqlite"), &usual)).unwrap(), Path::new("costs.json"));
    }
}
