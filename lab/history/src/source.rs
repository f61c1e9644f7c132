//! Where the commits of a subject come from: a repository, archives of releases, or kernels that are there already.

use crate::commits::Commits;
use crate::declared::HistorySubject;
use crate::releases::Releases;
use crate::workshop::Workshop;
use faultline_experiment::{Error, Lab};
use faultline_model::artefact::Release;
use faultline_model::plan::MeasuredLine;
use std::path::Path;

/// The commits of a subject. Fails if there is no repository, if an archive cannot be read, if the directory for builds cannot be written, or if another command uses it.
pub fn of_subject(subject: &HistorySubject, lab: &Lab<'_>) -> Result<Box<dyn Commits>, Error> {
    of(subject.which.releases(), &subject.repository, subject.work.as_deref(), lab)
}

/// The commits of a run that began before. Fails likewise.
pub(crate) fn of_line(line: &MeasuredLine, lab: &Lab<'_>) -> Result<Box<dyn Commits>, Error> {
    of(&line.releases, Path::new(&line.repository), line.work.as_deref().map(Path::new), lab)
}

/// The workshop of a subject whose commits have files; `None` of kernels that are there already. Fails likewise.
pub(crate) fn workshop_of(subject: &HistorySubject, lab: &Lab<'_>) -> Result<Option<Workshop>, Error> {
    workshop(subject.which.releases(), &subject.repository, subject.work.as_deref(), lab)
}

fn of(releases: &[Release], repository: &Path, work: Option<&Path>, lab: &Lab<'_>) -> Result<Box<dyn Commits>, Error> {
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
