//! Source lines of the code behind counts that changed between two commits.
//!
//! The lens counts transfers by line. It does not count instructions by line or function, so those
//! have the functions whose code differs between the builds, each at its first line.

use crate::linked_files::linked_files;
use crate::workshop::Workshop;
use faultline_experiment::{Error, Lab};
use faultline_record::commit::CommitInfo;
use faultline_record::explained::LinkedChanges;
use faultline_record::quantity::Quantity;
use faultline_record::record::RunRecord;
use faultline_stats::ci::{CiLine, CiRow, CiVerdict, moved_lines};
use faultline_stats::linked_changes;
use faultline_symbols::Image;
use std::collections::BTreeMap;
use std::path::{Component, Path};

/// Maximum number of functions whose code differs. Each file with one of them is read whole.
const MOST_FUNCTIONS: usize = 10;

/// The code behind the counts that changed by the budget, with files of the new commit. `builds`:
/// directories of both builds. Leaves out what cannot be read. Fails on a stop only.
pub(crate) fn source_lines(
    counts: &RunRecord,
    rows: &[CiRow],
    builds: [&Path; 2],
    (workshop, head): (&Workshop, &CommitInfo),
    lab: &Lab<'_>,
) -> Result<Vec<CiLine>, Error> {
    let has_changed = |what: Quantity| {
        rows.iter().any(|row| row.quantity == what && matches!(row.verdict, CiVerdict::Worse | CiVerdict::Better))
    };
    let mut lines = if has_changed(Quantity::Instructions) { changed_functions(builds) } else { Vec::new() };
    if has_changed(Quantity::Transfers) {
        lines.extend(moved_lines(counts));
    }
    let mut known = BTreeMap::new();
    for line in &mut lines {
        let path = line.file.take().and_then(|file| below(&file, workshop.checkout.directory()));
        line.file = match path {
            Some(path) if !known.contains_key(&path) => {
                let is_there = workshop.repository.has_file(head, &path, lab)?;
                known.insert(path.clone(), is_there);
                is_there.then_some(path)
            }
            path => path.filter(|path| known[path]),
        };
        line.line = line.line.filter(|_| line.file.is_some());
    }
    Ok(lines)
}

/// The functions of the new build whose code differs, with the places that their debugging
/// information names.
fn changed_functions([base, head]: [&Path; 2]) -> Vec<CiLine> {
    let files = |directory: &Path| linked_files(directory).unwrap_or_default();
    let LinkedChanges::Compared { different, .. } = linked_changes(&files(base), &files(head)) else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for file in different {
        let functions = file.functions.map_or_else(Vec::new, |functions| functions.most);
        let mut names = functions.into_iter().filter(|one| one.after.is_some()).map(|one| one.name).peekable();
        if lines.len() >= MOST_FUNCTIONS || names.peek().is_none() {
            continue;
        }
        let image = Image::read(&head.join(&file.file.name)).ok();
        lines.extend(names.take(MOST_FUNCTIONS - lines.len()).map(|function| {
            let (file, line) = image.as_ref().and_then(|image| image.first_line(&function)).unzip();
            CiLine { quantity: Quantity::Instructions, function, file, line, delta: None }
        }));
    }
    lines
}

/// The path of a source file below the checkout in which it was compiled. `None` for one elsewhere,
/// such as a header of the system.
fn below(file: &str, checkout: &Path) -> Option<String> {
    let path = Path::new(file);
    let path = if path.is_absolute() { path.strip_prefix(checkout).ok()? } else { path };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::ParentDir => drop(parts.pop()?),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_checkout_have_a_path_in_the_repository() {
        let below = |file| below(file, Path::new("/cache/tree"));
        let some = |path: &str| Some(path.to_owned());
        assert_eq!(below("/cache/tree/src/../lib/./a.c"), some("lib/a.c"));
        assert_eq!(below("src/a.go"), some("src/a.go"));
        for elsewhere in ["/usr/include/stdio.h", "/cache/tree/../a.c", "../a.c", "/cache/tree", ""] {
            assert_eq!(below(elsewhere), None, "{elsewhere}");
        }
    }
}
