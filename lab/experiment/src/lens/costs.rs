//! Tables of costs: those of the model, and the one that was measured here.

use crate::error::Error;
use crate::places::Places;
use faultline_coherence::{CostTable, DelayTimes};
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
pub(super) struct Kept {
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

/// The table with that name. Fails if there is none, or if the measured one cannot be read.
pub(super) fn named(name: &str, places: &Places) -> Result<CostTable, Error> {
    if name == MEASURED {
        return measured(places);
    }
    CostTable::by_name(name).cloned().ok_or_else(|| {
        let names: Vec<&str> = CostTable::presets().iter().map(|table| table.name.as_ref()).collect();
        Error::usage(
            format!("there is no cost table '{name}'"),
            format!("choose one of {}, {MEASURED}", names.join(", ")),
        )
    })
}

/// The file of the measured table: beside the database. Fails if there is none.
pub(super) fn file(places: &Places) -> Result<PathBuf, Error> {
    Ok(places.database()?.with_file_name(FILE))
}

/// Where a measured table may be: beside the database, or else in the user's data directory.
fn file_to_read(places: &Places) -> Result<PathBuf, Error> {
    let beside = file(places)?;
    match &places.data {
        Some(data) if !beside.exists() => Ok(data.join(FILE)),
        _ => Ok(beside),
    }
}

fn measured(places: &Places) -> Result<CostTable, Error> {
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

impl Kept {
    /// A table in its saved form.
    pub(super) fn new(table: &CostTable, source: String) -> Self {
        Kept {
            format: FORMAT.to_owned(),
            source,
            instruction_ps: table.instruction_ps,
            same_cache_ns: table.same_cache_ns,
            same_socket_ns: table.same_socket_ns,
            other_socket_ns: table.other_socket_ns,
            memory_ns: table.memory_ns,
            delays: table.delays.map(|times| {
                let DelayTimes { atomic_ps, request_percent, wake_ns, interrupt_ns, entry_ns } = times;
                KeptDelays { atomic_ps, request_percent, wake_ns, interrupt_ns, entry_ns }
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn places(database: &Path, data: &Path) -> Places {
        Places { database: Some(database.into()), data: Some(data.into()), ..Places::find().unwrap() }
    }

    fn keep(places: &Places, same_cache_ns: u32) {
        let table = CostTable { same_cache_ns, ..CostTable::default() };
        let kept = serde_json::to_string(&Kept::new(&table, "measured".to_owned())).unwrap();
        std::fs::write(file(places).unwrap(), kept).unwrap();
    }

    #[test]
    fn measured_costs_are_beside_the_database_or_else_in_the_data_directory() {
        let root = tempfile::tempdir().unwrap();
        let (own, usual) = (root.path().join("own"), root.path().join("usual"));
        [&own, &usual].into_iter().for_each(|directory| std::fs::create_dir(directory).unwrap());
        let with_db = places(&own.join("db.sqlite"), &usual);
        let without = places(&usual.join("faultline.sqlite"), &usual);
        assert!(named(MEASURED, &with_db).unwrap_err().problem.contains("have not been measured"));
        keep(&without, 71);
        assert_eq!(named(MEASURED, &with_db).unwrap().same_cache_ns, 71);
        keep(&with_db, 72);
        assert_eq!(named(MEASURED, &with_db).unwrap().same_cache_ns, 72);
        assert_eq!(named(MEASURED, &without).unwrap().same_cache_ns, 71);
        assert_eq!(file(&places(Path::new("db.sqlite"), &usual)).unwrap(), Path::new("costs.json"));
    }
}
