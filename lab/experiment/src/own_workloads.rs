//! Workloads of a command that is installed alone (`cargo install`): built once from the sources in
//! the command, and kept in the user's cache.

use crate::error::Error;
use crate::whole_file::unnamed;
use faultline_targets::StopFlag;
use faultline_targets::host::build::{BuildRequest, build_workloads};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The workloads' sources: path and text of each file.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The compiler, as POSIX names it.
pub(crate) const COMPILER: &str = "cc";

const PROGRAMS_DIRECTORY: &str = "programs";
const SOURCES_DIRECTORY: &str = "sources";

/// The command's own workloads in a cache directory.
#[derive(Debug)]
pub(crate) struct OwnWorkloads {
    /// Directory of the sources and the programs. Another version of the sources has another one.
    directory: PathBuf,
}

impl OwnWorkloads {
    /// The workloads of a cache directory, which may not exist yet.
    pub(crate) fn of(cache: &Path) -> Self {
        let mut digest = Sha256::new();
        for text in SOURCES.iter().flat_map(|(name, text)| [name, text]) {
            digest.update((text.len() as u64).to_le_bytes());
            digest.update(text);
        }
        let digest: String = digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        OwnWorkloads { directory: cache.join(format!("workloads-{digest}")) }
    }

    /// Directory of the programs. `None` before they are built.
    pub(crate) fn programs(&self) -> Option<PathBuf> {
        self.part(PROGRAMS_DIRECTORY)
    }

    /// Directory of the sources. `None` before the programs are built.
    pub(crate) fn sources(&self) -> Option<PathBuf> {
        self.part(SOURCES_DIRECTORY)
    }

    fn part(&self, name: &str) -> Option<PathBuf> {
        Some(self.directory.join(name)).filter(|part| part.is_dir())
    }

    /// Builds the programs. Returns their directory. `keeper` and `scratch`: as for a
    /// [`BuildRequest`]. Fails if the cache cannot be written, without make or a C compiler, and on
    /// a stop.
    pub(crate) fn build(&self, keeper: &Path, scratch: &Path, stop: &StopFlag) -> Result<PathBuf, Error> {
        let cache = self.directory.parent().unwrap_or(Path::new("/"));
        let no_room = |error: io::Error| {
            Error::usage(
                format!("cannot build the workloads in {}: {}", cache.display(), unnamed(&error)),
                "set XDG_CACHE_HOME to a directory that you can write",
            )
        };
        fs::create_dir_all(cache).map_err(no_room)?;
        let new = tempfile::Builder::new().prefix("workloads-new-").tempdir_in(cache).map_err(no_room)?;
        let (sources, programs) = (new.path().join(SOURCES_DIRECTORY), new.path().join(PROGRAMS_DIRECTORY));
        write_sources(&sources).map_err(no_room)?;
        let request = BuildRequest { sources: &sources, compiler: COMPILER, directory: &programs, keeper, scratch };
        build_workloads(&request, stop).map_err(|error| match stop.is_set() {
            true => Error::stopped(),
            false => Error::usage(
                error.problem,
                "the command builds its workloads once; `apt-get install gcc libc6-dev make` installs what that \
                 needs, and `--workloads DIR` names built ones",
            ),
        })?;
        fs::remove_dir_all(programs.join("objects")).map_err(no_room)?;
        // Fails if another process has built them meanwhile. Either's are complete.
        let moved = fs::rename(new.path(), &self.directory);
        self.programs().map_or_else(|| moved.map(|()| self.directory.join(PROGRAMS_DIRECTORY)).map_err(no_room), Ok)
    }
}

fn write_sources(directory: &Path) -> io::Result<()> {
    for (name, text) in SOURCES {
        let file = directory.join(name);
        fs::create_dir_all(file.parent().unwrap_or(directory))?;
        fs::write(file, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_are_those_of_the_programs_alone() {
        let has = |name: &str| SOURCES.iter().any(|(file, text)| *file == name && !text.is_empty());
        for name in ["Makefile", "cross.mk", "fork_exit.c", "harness/main.c", "harness/workload.h", "network/sockets.c"]
        {
            assert!(has(name), "{name}");
        }
        assert!(SOURCES.iter().all(|(file, _)| !file.starts_with("tests/") && !file.ends_with(".md")));
    }
}
