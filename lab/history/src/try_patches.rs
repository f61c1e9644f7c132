//! `try`: builds a commit with and without patches, and compares both builds live.

use crate::repository::Patch;
use crate::two_builds::{Side, TwoBuilds};
use faultline_experiment::{Error, Lab, Measured};
use faultline_record::commit::short_name;
use std::path::PathBuf;

/// The request to try patches.
#[derive(Debug, Clone)]
pub struct TryRequest {
    /// The repository, the builds and the comparison.
    pub builds: TwoBuilds,
    /// The commit to which the patches are applied, as git names it.
    pub on: String,
    /// Files with patches, in the order in which they are applied.
    pub patches: Vec<PathBuf>,
}

/// Compares a commit without and with patches. Measures nothing before both sides are built. Fails
/// if a patch cannot be read or does not apply, if a side does not build, and like a live
/// comparison.
pub fn try_patches(request: &TryRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let TryRequest { builds, on, patches } = request;
    let workshop = builds.workshop(lab)?;
    let base = workshop.repository.commit(on, lab)?;
    let patched = workshop.repository.with_patches(&base, patches, lab)?;
    let id = short_name(&base.id).to_owned();
    let with = Side {
        commit: patched.commit,
        build: format!("{id} with the patches"),
        name: format!("{id} with {}", titles(&patched.patches)),
        saved: None,
    };
    let build = format!("{id} without the patches");
    let without = Side { saved: Some(builds.saved(&base)?), commit: base, build, name: id };
    builds.compare([without, with], &workshop, lab)
}

/// The titles of the patches in one line.
fn titles(patches: &[Patch]) -> String {
    let title = |patch: &Patch| match &patch.author {
        Some(author) => format!("'{}' by {author}", patch.title),
        None => format!("'{}'", patch.title),
    };
    patches.iter().map(title).collect::<Vec<_>>().join(", ")
}
