//! Tables `[[subject.NAME.release]]`: releases instead of a repository.

use super::Entry;
use faultline_record::artefact::{Release, ReleaseFile};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

/// The keys of the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReleaseEntry {
    name: String,
    date: String,
    kernel: Option<String>,
    archive: Option<String>,
    uname: Option<String>,
}

impl ReleaseEntry {
    /// True for a kernel that is already built.
    pub(super) fn is_kernel(&self) -> bool {
        self.kernel.is_some()
    }

    /// The release. `directory`: base of its path. Fails with the problem.
    fn release(&self, directory: &Path) -> Result<Release, String> {
        let name = self.name.escape_debug();
        if !Release::is_name(&self.name) {
            return Err(format!(
                "'{name}' names no release: up to {} letters, digits, '.', '_', '+', '~' and '-', a letter or digit first",
                Release::MOST_LETTERS
            ));
        }
        let day = self.date.parse::<Date>().ok().and_then(|day| day.to_zoned(TimeZone::UTC).ok());
        let day =
            day.ok_or_else(|| format!("release {name}: '{}' is not a date like 2023-06-10", self.date.escape_debug()))?;
        let whole = |path: &String| {
            let path = std::path::absolute(directory.join(path)).map_err(|error| format!("release {name}: {error}"))?;
            path.into_os_string().into_string().map_err(|_| format!("release {name}: its path is not UTF-8"))
        };
        let file = match (&self.kernel, &self.archive) {
            (Some(kernel), None) => ReleaseFile::Kernel(whole(kernel)?),
            (None, Some(archive)) => ReleaseFile::Archive(whole(archive)?),
            _ => return Err(format!("release {name}: give either `kernel` or `archive`")),
        };
        let is_word = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        if self.uname.as_deref().is_some_and(|uname| !is_word(uname)) {
            return Err(format!("release {name}: `uname` takes what `uname -r` prints, one word"));
        }
        let uname = self.uname.clone();
        Ok(Release { name: self.name.clone(), released_s: day.timestamp().as_second(), file, uname })
    }
}

impl Entry {
    /// The releases in the order of the list; none if there is a repository. `directory`: base of
    /// their paths. Fails with the problem.
    pub(super) fn releases(&self, directory: &Path) -> Result<Vec<Release>, String> {
        let releases = self.release.iter().map(|entry| entry.release(directory)).collect::<Result<Vec<_>, _>>()?;
        let mut names = BTreeSet::new();
        if let Some(twice) = releases.iter().find(|release| !names.insert(release.name.as_str())) {
            return Err(format!("there are two releases '{}'", twice.name));
        }
        if let [first, others @ ..] = releases.as_slice()
            && let Some(other) = others.iter().find(|other| other.is_kernel() != first.is_kernel())
        {
            return Err(format!(
                "the releases {} and {} are of two kinds: all have `kernel`, or all have `archive`",
                first.name, other.name
            ));
        }
        self.check_keys_of_commits(&releases)?;
        self.check_uname(&releases)?;
        Ok(releases)
    }

    /// Fails unless `uname` is given for each kernel that is installed on a host, and for no other.
    fn check_uname(&self, releases: &[Release]) -> Result<(), String> {
        let wants = |release: &Release| self.on.is_some() && release.is_kernel();
        match releases.iter().find(|release| wants(release) != release.uname.is_some()) {
            Some(release) if wants(release) => Err(format!(
                "release {}: give `uname`, what `uname -r` prints of it: the kernel that boots is compared with it",
                release.name
            )),
            Some(release) => {
                Err(format!("release {}: `uname` belongs to a `kernel` that is installed on a host", release.name))
            }
            None => Ok(()),
        }
    }

    /// Fails if a key is given that names or builds commits, but releases have none.
    fn check_keys_of_commits(&self, releases: &[Release]) -> Result<(), String> {
        let Some(first) = releases.first() else { return Ok(()) };
        let naming = [
            ("repository", self.repository.is_some()),
            ("branch", self.branch.is_some()),
            ("since", self.since.is_some()),
            ("pick", self.pick.is_some()),
            ("commits", self.commits.is_some()),
            ("walk", self.walk.is_some()),
            ("tags", self.tags.is_some()),
        ];
        let building = [
            ("image", self.image.is_some()),
            ("vmlinux", self.vmlinux.is_some()),
            ("build", self.build.is_some()),
            ("environment", !self.environment.is_empty()),
            ("keep", !self.keep.is_empty()),
            ("clean", self.clean),
            ("build_limit", self.build_limit.is_some()),
        ];
        let given = |keys: &[(&'static str, bool)]| keys.iter().find(|(_, is_given)| *is_given).map(|(key, _)| *key);
        match (given(&naming), given(&building)) {
            (Some(key), _) => {
                Err(format!("`{key}` does not apply to releases: the list names them all, in their order"))
            }
            (None, Some(key)) if first.is_kernel() => {
                Err(format!("`{key}` does not apply to releases whose kernels are there already"))
            }
            _ => Ok(()),
        }
    }
}
