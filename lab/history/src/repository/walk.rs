//! All commits of which a history picks some.

use super::Repository;
use super::import::NEWEST;
use crate::commits::Walked;
use crate::declared::{Walk, Which};
use faultline_experiment::{Error, Lab};
use std::collections::BTreeSet;

/// What `for-each-ref` prints of a tag: the object that it names, and, if that is an annotation, what it annotates.
const TAG: &str = "--format=%(objectname) %(*objectname)";

impl Repository {
    /// All commits of which a history picks some, the oldest first. Fails if a named one is unknown, or if there is none.
    pub fn walk(&self, which: &Which, lab: &Lab<'_>) -> Result<Walked, Error> {
        match which {
            Which::Named(names) => {
                let mut commits = names.iter().map(|name| self.commit(name, lab)).collect::<Result<Vec<_>, _>>()?;
                let mut tagged = BTreeSet::new();
                // Several names may lead to one commit.
                commits.retain(|commit| tagged.insert(commit.id.clone()));
                Ok(Walked { commits, tagged })
            }
            Which::Releases(_) => self.walk_branch(NEWEST, None, Walk::FirstParent, lab),
            Which::Branch { newest, since, walk, .. } => self.walk_branch(newest, since.as_deref(), *walk, lab),
        }
    }

    fn walk_branch(&self, newest: &str, since: Option<&str>, walk: Walk, lab: &Lab<'_>) -> Result<Walked, Error> {
        let last = self.commit(newest, lab)?;
        let first = since.map(|since| self.commit(since, lab)).transpose()?;
        let order: &[&str] = match walk {
            Walk::FirstParent => &["--first-parent", "--topo-order", "--reverse"],
            Walk::Full => &["--topo-order", "--reverse"],
        };
        let range = first.as_ref().map_or_else(|| last.id.clone(), |first| format!("{}..{}", first.id, last.id));
        let after = self.log(&[order, &[&range]].concat(), lab)?;
        if let (Some(first), Some(since)) = (&first, since) {
            self.check_descends(&first.id, &last.id, (since, newest), lab)?;
        }
        let commits = first.into_iter().chain(after).collect();
        Ok(Walked { commits, tagged: self.tagged(lab)? })
    }

    /// Fails if a commit is no ancestor of another.
    fn check_descends(&self, old: &str, new: &str, names: (&str, &str), lab: &Lab<'_>) -> Result<(), Error> {
        let is_ancestor = self.git.lines(&["merge-base", "--is-ancestor", old, new], lab);
        is_ancestor.map(drop).map_err(|failure| {
            let (since, newest) = (names.0.escape_debug(), names.1.escape_debug());
            let refused = || {
                Error::usage(
                    format!("'{since}' is no ancestor of '{newest}'"),
                    "`since` takes a commit from which the branch descends",
                )
            };
            failure.or_exited(refused, "compare two commits")
        })
    }

    /// Names of the commits that tags name.
    fn tagged(&self, lab: &Lab<'_>) -> Result<BTreeSet<String>, Error> {
        let lines = self.git.run(&["for-each-ref", TAG, "refs/tags"], "list the tags", lab)?;
        Ok(lines.iter().flat_map(|line| line.split_whitespace()).map(str::to_owned).collect())
    }
}
