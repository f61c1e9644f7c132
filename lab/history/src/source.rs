//! Where the commits of a subject come from: a repository, or a list of releases.

use crate::commits::Commits;
use crate::declared::HistorySubject;
use crate::releases::Releases;
use crate::workshop::Workshop;
use faultline_experiment::{Error, Lab};
use faultline_model::plan::MeasuredLine;
use std::path::Path;

/// The commits of a subject. Fails if there is no repository, if the directory for builds cannot be written, or if another command uses it.
pub fn of_subject(subject: &HistorySubject, lab: &Lab<'_>) -> Result<Box<dyn Commits>, Error> {
    let work = subject.work.as_deref();
    Ok(match subject.which.releases() {
        [] => Box::new(Workshop::open(&subject.repository, work, lab)?),
        releases => Box::new(Releases::open(releases, &subject.repository, work, lab)?),
    })
}

/// The commits of a run that began before. Fails likewise.
pub(crate) fn of_line(line: &MeasuredLine, lab: &Lab<'_>) -> Result<Box<dyn Commits>, Error> {
    let (repository, work) = (Path::new(&line.repository), line.work.as_deref().map(Path::new));
    Ok(match line.releases.as_slice() {
        [] => Box::new(Workshop::open(repository, work, lab)?),
        releases => Box::new(Releases::open(releases, repository, work, lab)?),
    })
}
