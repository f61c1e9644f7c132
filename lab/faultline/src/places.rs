//! Where things are: the database, the workloads' programs, scratch space.

use crate::failure::Failure;
use etcetera::BaseStrategy;
use faultline_store::Store;
use faultline_targets::host::{Host, HostPaths};
use std::path::{Path, PathBuf};

/// The database: the one named, or `faultline/faultline.sqlite` in the user's data directory.
pub(crate) fn database(named: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = named {
        return Ok(path.to_owned());
    }
    let strategy = etcetera::choose_base_strategy()
        .map_err(|_| Failure::new("there is no home directory for the database", "`--db FILE` names one"))?;
    Ok(strategy.data_dir().join("faultline").join("faultline.sqlite"))
}

/// Opens the database, which has to be there.
pub(crate) fn existing_store(named: Option<&Path>) -> Result<Store, Failure> {
    Ok(Store::open_existing(&database(named)?)?)
}

/// This host, with the workloads named, or those beside the command: `../workloads` in a build tree,
/// `../libexec/faultline/workloads` once installed.
pub(crate) fn host(workloads: Option<&Path>, scratch: Option<&Path>) -> Result<Host, Failure> {
    let keeper = std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find our own program: {error}"), "call it by its full path"))?;
    let workloads = match workloads {
        Some(directory) => directory.to_owned(),
        None => beside(&keeper).ok_or_else(|| {
            Failure::new(
                "the workloads' programs are not beside the command",
                "`make build` builds them; `--workloads DIR` says where they are",
            )
        })?,
    };
    let scratch = scratch.map_or_else(std::env::temp_dir, Path::to_owned);
    if !scratch.is_dir() {
        return Err(Failure::usage(
            format!("there is no directory {} for scratch files", scratch.display()),
            "`--scratch DIR` takes a directory that is there, with room for copies of programs",
        ));
    }
    // Every execution would fail for it, and each would be final.
    tempfile::tempdir_in(&scratch).map_err(|error| {
        let reason = error.raw_os_error().map_or(error, std::io::Error::from_raw_os_error);
        Failure::new(
            format!("cannot make scratch files in {}: {reason}", scratch.display()),
            "`--scratch DIR` takes a directory that you can write, with room for copies of programs",
        )
    })?;
    Ok(Host::new(HostPaths { workloads, scratch, keeper }))
}

fn beside(program: &Path) -> Option<PathBuf> {
    let above = program.parent()?.parent()?;
    let candidates = [above.join("workloads"), above.join("libexec/faultline/workloads")];
    candidates.into_iter().find(|candidate| candidate.is_dir())
}
