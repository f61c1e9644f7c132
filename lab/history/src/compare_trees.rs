//! `compare OLD NEW -- COMMAND`: builds two commits, or a commit and the working tree, and compares
//! both builds live.

use crate::two_builds::{Side, TwoBuilds};
use crate::workshop::Workshop;
use faultline_experiment::{Error, Lab, Measured, Notice};
use faultline_record::commit::short_name;

/// The name of the working tree.
pub const WORKING_TREE: &str = ".";

/// Compares two commits, of which one may be the working tree. Fails if there is a set-up command,
/// if a name is unknown, if both have the same files, if a side does not build, and like a live
/// comparison.
pub fn compare_trees(names: [&str; 2], builds: &TwoBuilds, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    // Later commands take a kept build as it is.
    if !builds.setup.set_up.is_empty() {
        return Err(Error::usage(
            "a set-up could change a build, which is kept for later commands",
            "make it part of the build command (`--build`) instead of `--setup`",
        ));
    }
    let workshop = builds.workshop(lab)?;
    let [a, b] = names;
    let sides = [side(a, builds, &workshop, lab)?, side(b, builds, &workshop, lab)?];
    if sides[0].commit.tree == sides[1].commit.tree {
        return Err(Error::usage(
            format!("'{}' and '{}' have the same files", a.escape_debug(), b.escape_debug()),
            "name two commits, or one and `.` for the working tree with its changes",
        ));
    }
    builds.compare(sides, &workshop, lab)
}

fn side(name: &str, builds: &TwoBuilds, workshop: &Workshop, lab: &mut Lab<'_>) -> Result<Side, Error> {
    if name != WORKING_TREE {
        let commit = workshop.repository.commit(name, lab)?;
        let id = short_name(&commit.id).to_owned();
        let saved = Some(builds.saved(&commit)?);
        let name = if commit.id.starts_with(name) { id.clone() } else { format!("{name} ({id})") };
        return Ok(Side { build: id, name, saved, commit });
    }
    let head = workshop.repository.commit("HEAD", lab)?;
    let tree = workshop.repository.working_tree(&head, &builds.repository, lab)?;
    let id = short_name(&head.id).to_owned();
    let name = format!("working tree on {id}");
    lab.observer.notice(&Notice::WorkingTree {
        commit: id,
        changed: tree.changed,
        new: tree.new,
        edited: tree.edited_submodules,
    });
    // The commit of its files, which is in our repository only.
    let saved = Some(builds.saved(&tree.commit)?);
    Ok(Side { commit: tree.commit, build: "the working tree".to_owned(), name, saved })
}
