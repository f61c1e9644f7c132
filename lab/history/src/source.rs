//! Sources of commits: a workshop for a repository or for archives of releases, or kernels that are
//! already built. The "build" of such a kernel is a copy named after its bytes. So releases with
//! the same kernel share results, and a run continues with the same kernel after its file was
//! replaced.

use crate::commits::{Build, Commits, Pick, Relink, Relinked, Revert, Reverted, Walk, Walked, Which};
use crate::request::LineRequest;
use crate::tools;
use crate::workshop::{BUILDING, Turn, Workshop, absolute, place_of_releases};
use faultline_experiment::{Error, Lab};
use faultline_record::artefact::Release;
use faultline_record::commit::{CommitInfo, CommitLine, short_name};
use faultline_record::explained::FilesChanged;
use faultline_record::plan::MeasuredLine;
use faultline_record::recipe::{BuildTools, Recipe};
use faultline_record::relink::RelinkResult;
use faultline_targets::lack;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The commits of a subject. Fails if there is no repository, if an archive cannot be read, or if
/// the directory for builds cannot be written.
pub fn commits_of(line: &LineRequest, lab: &Lab<'_>) -> Result<Box<dyn Commits>, Error> {
    open(&line.releases, &line.repository, line.work.as_deref(), lab)
}

/// The names of a commit and its ancestors, nearest first, along the parents that `which` follows.
/// Empty for releases. Fails if there is no such commit, and like [`commits_of`].
pub fn ancestors(line: &LineRequest, which: &Which, name: &str, lab: &Lab<'_>) -> Result<Vec<String>, Error> {
    let walk = match which {
        Which::Branch { walk, .. } => *walk,
        Which::Named(_) => Walk::Full,
        Which::Releases => return Ok(Vec::new()),
    };
    let of_it = Which::Branch { newest: name.to_owned(), since: None, pick: Pick::Every(1), walk };
    let walked = commits_of(line, lab)?.walk(&of_it, lab)?;
    Ok(walked.commits.into_iter().rev().map(|commit| commit.id).collect())
}

/// The commits of an earlier run. Fails like [`commits_of`].
pub(crate) fn commits_of_run(line: &MeasuredLine, lab: &Lab<'_>) -> Result<Box<dyn Commits>, Error> {
    open(&line.releases, Path::new(&line.repository), line.work.as_deref().map(Path::new), lab)
}

/// The workshop of a subject whose commits have files; `None` for kernels that are already built.
/// Fails like [`commits_of`].
pub(crate) fn workshop_of(line: &LineRequest, lab: &Lab<'_>) -> Result<Option<Workshop>, Error> {
    workshop(&line.releases, &line.repository, line.work.as_deref(), lab)
}

fn open(
    releases: &[Release],
    repository: &Path,
    work: Option<&Path>,
    lab: &Lab<'_>,
) -> Result<Box<dyn Commits>, Error> {
    Ok(match workshop(releases, repository, work, lab)? {
        Some(workshop) => Box::new(workshop),
        None => Box::new(Releases::open(releases, repository, work, lab)?),
    })
}

fn workshop(
    releases: &[Release],
    repository: &Path,
    work: Option<&Path>,
    lab: &Lab<'_>,
) -> Result<Option<Workshop>, Error> {
    match releases {
        [] => Workshop::open(repository, work, lab).map(Some),
        // All releases of a list are of one kind.
        [first, ..] if first.is_kernel() => Ok(None),
        _ => Workshop::of_archives(releases, repository, work, lab).map(Some),
    }
}

/// Name of the image in the copy of a release.
pub(crate) const IMAGE: &str = "vmlinuz";

/// Name of the file beside it with the output of `uname -r`, if it is known.
pub(crate) const UNAME: &str = "uname";

/// Hexadecimal digits in the name of a copy.
const NAME_DIGITS: usize = 16;

/// A list of releases, and our directory for copies of their kernels.
#[derive(Debug)]
pub(crate) struct Releases {
    /// Oldest first.
    releases: Vec<Release>,
    /// The directory of the file with the list, for shorter paths.
    declared_in: String,
    /// The directory of the copies.
    copies: PathBuf,
    /// The turn at them.
    turn: Turn,
}

impl Releases {
    /// Opens the directory for copies: `work`, or one in the user's cache for `declared_in`, the
    /// directory of the file with the list. Fails if it cannot be written.
    fn open(releases: &[Release], declared_in: &Path, work: Option<&Path>, lab: &Lab<'_>) -> Result<Self, Error> {
        let ours = place_of_releases(declared_in, work, lab)?;
        let turn = Turn::at(&ours, BUILDING)?;
        let copies = ours.join("builds");
        fs::create_dir_all(&copies).map_err(|error| unwritable(&copies, &error))?;
        let copies = copies.canonicalize().map_err(|error| unwritable(&copies, &error))?;
        Ok(Releases { releases: releases.to_vec(), declared_in: absolute(declared_in)?, copies, turn })
    }

    /// The releases as commits, each the parent of the next.
    fn infos(&self) -> Vec<CommitInfo> {
        let parents = std::iter::once(Vec::new()).chain(self.releases.iter().map(|release| vec![release.name.clone()]));
        let info = |(release, parents): (&Release, Vec<String>)| CommitInfo {
            files: None,
            id: release.name.clone(),
            tree: String::new(),
            parents,
            committed_s: release.released_s,
            author: String::new(),
            subject: self.below(release.file.path()).to_owned(),
        };
        self.releases.iter().zip(parents).map(info).collect()
    }

    /// A path as written in the file, if it is below its directory.
    fn below<'a>(&self, path: &'a str) -> &'a str {
        let below = path.strip_prefix(self.declared_in.trim_end_matches("/."));
        below.and_then(|rest| rest.strip_prefix('/')).map_or(path, |rest| rest.trim_start_matches("./"))
    }

    /// Copies a kernel, or returns its existing copy. The copy gets its name when it is complete.
    fn copied(&self, bytes: &[u8], uname: Option<&str>) -> io::Result<Build> {
        let mut sha256 = Sha256::new_with_prefix(bytes);
        sha256.update(uname.unwrap_or_default());
        let digest: String = sha256.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let directory = self.copies.join(&digest[..NAME_DIGITS]);
        if directory.is_dir() {
            return Ok(Build::Built { directory, is_old: true });
        }
        let fresh = self.copies.join("new");
        if fresh.is_dir() {
            fs::remove_dir_all(&fresh)?;
        }
        fs::create_dir(&fresh)?;
        fs::write(fresh.join(IMAGE), bytes)?;
        if let Some(uname) = uname {
            fs::write(fresh.join(UNAME), uname)?;
        }
        fs::rename(&fresh, &directory)?;
        Ok(Build::Built { directory, is_old: false })
    }
}

impl Commits for Releases {
    fn line(&self, old: &str, new: &str, _: &Lab<'_>) -> Result<CommitLine, Error> {
        Err(Error::usage(
            format!("there is nothing to search between the releases {} and {}", short_name(old), short_name(new)),
            "releases have no commits here: declare a `repository` instead, or further releases between them",
        ))
    }

    /// Fails if the kernel of a release cannot be read.
    fn walk(&self, _: &Which, _: &Lab<'_>) -> Result<Walked, Error> {
        self.releases.iter().try_for_each(|release| {
            File::open(release.file.path()).map(drop).map_err(|error| unreadable(release, &error))
        })?;
        Ok(Walked { commits: self.infos(), tagged: BTreeSet::new() })
    }

    fn tools(&self, _: &Recipe, _: &mut Lab<'_>) -> Result<BuildTools, Error> {
        Ok(BuildTools { digest: String::new(), versions: BTreeMap::new() })
    }

    /// Fails if the kernel cannot be read or copied.
    fn build(&self, commit: &CommitInfo, _: &Recipe, _: &BuildTools, lab: &Lab<'_>) -> Result<Build, Error> {
        let _turn = self.turn.take(lab)?;
        let release = self.releases.iter().find(|release| release.name == commit.id).ok_or_else(|| {
            Error::failed(format!("there is no release {} any more", short_name(&commit.id)), "start a new run")
        })?;
        let bytes = fs::read(release.file.path()).map_err(|error| unreadable(release, &error))?;
        self.copied(&bytes, release.uname.as_deref()).map_err(|error| match lack::is_error(&error) {
            true => tools::lab_failed(format!("the kernel {} could not be copied: {error}", release.file.path())),
            false => unwritable(&self.copies, &error),
        })
    }

    /// Existing kernels are not linked again.
    fn relink(&self, _: &Relink<'_>, _: &Recipe, _: &BuildTools, _: &Lab<'_>) -> Result<Relinked, Error> {
        Ok(Relinked { directory: None, result: RelinkResult::Unchanged })
    }

    fn revert(&self, asked: &Revert<'_>, _: &Lab<'_>) -> Result<Reverted, Error> {
        Err(Error::usage(
            format!("there is nothing to undo in the release {}", short_name(&asked.commit.id)),
            "releases have no commits here: declare a `repository` instead",
        ))
    }

    fn files(&self, _: &CommitInfo, _: &CommitInfo, _: &Lab<'_>) -> Result<FilesChanged, Error> {
        Ok(FilesChanged::of(Vec::new()))
    }
}

fn unreadable(release: &Release, error: &io::Error) -> Error {
    Error::usage(
        format!("cannot read {}, the kernel of the release {}: {error}", release.file.path(), release.name),
        "restore the file, or leave the release out of faultline.toml",
    )
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::failed(
        format!("cannot write {}: {error}", path.display()),
        "make room, or name another directory with `work` in faultline.toml",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::artefact::ReleaseFile;

    fn releases(directory: &Path) -> Releases {
        let release = |name: &str, at: i64| Release {
            name: name.to_owned(),
            released_s: at,
            file: ReleaseFile::Kernel(directory.join(name).to_string_lossy().into_owned()),
            uname: None,
        };
        let releases = vec![release("6.1-2", 5), release("6.12", 9)];
        let copies = directory.join("builds");
        fs::create_dir_all(&copies).unwrap();
        let declared_in = directory.to_string_lossy().into_owned();
        Releases { releases, declared_in, copies, turn: Turn::at(directory, BUILDING).unwrap() }
    }

    #[test]
    fn releases_are_a_line_in_their_order() {
        let directory = tempfile::tempdir().unwrap();
        let infos = releases(directory.path()).infos();
        let told: Vec<_> =
            infos.iter().map(|info| (info.id.as_str(), info.parents.as_slice(), info.committed_s)).collect();
        assert_eq!(told, [("6.1-2", &[][..], 5), ("6.12", &["6.1-2".to_owned()][..], 9)]);
        assert_eq!(infos[1].subject, "6.12", "the path of its kernel, from the directory of the file");
    }

    #[test]
    fn a_kernel_is_copied_once_under_the_name_of_its_bytes() {
        let directory = tempfile::tempdir().unwrap();
        let releases = releases(directory.path());
        let place = |bytes: &[u8]| match releases.copied(bytes, None).unwrap() {
            Build::Built { directory, is_old } => (directory, is_old),
            failed => panic!("{failed:?}"),
        };
        let (first, is_old) = place(b"one");
        assert!(!is_old && fs::read(first.join(IMAGE)).unwrap() == b"one");
        // A copy that was cut short.
        fs::create_dir(directory.path().join("builds/new")).unwrap();
        assert_eq!(place(b"one"), (first.clone(), true));
        let (other, _) = place(b"two");
        assert_ne!(other, first);
        let Ok(Build::Built { directory, .. }) = releases.copied(b"one", Some("6.1-2")) else { panic!() };
        assert!(directory != first && fs::read(directory.join(UNAME)).unwrap() == b"6.1-2");
    }
}
