//! The pages as files: they open from a directory without a server, or from any web server.

use crate::asked_range::Asked;
use crate::clock;
use crate::histories::{Snapshot, read};
use crate::pages;
use crate::quirks::DeclaredQuirks;
use faultline_experiment::{Error, ErrorKind, Places, stored, whole_file};
use faultline_report::site::{ASSETS, Site, runs_page};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Says that a directory is one of ours, so that it may be written again.
const MARK: &str = "faultline-site.txt";
const MARKED: &str =
    "Pages of a Faultline database, written by `faultline export-site`. They are replaced when it is called again.\n";

/// Buckets of a history with too many commits to be in a page one by one.
const WIDTH: usize = 2000;

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// Number of pages of runs.
    pub runs: usize,
    /// Number of pages of histories.
    pub histories: usize,
    /// Runs that have no page, each with the reason: nothing can be concluded of them, or they cannot be read.
    pub left_out: Vec<String>,
}

/// Writes all pages into a directory, which is made if it does not exist. Fails if it has something else, if it cannot be written, or if the database cannot
/// be read.
pub fn export_site(directory: &Path, declared: &DeclaredQuirks, places: &Places) -> Result<Exported, Error> {
    let now = read(&Snapshot::default(), declared, places)?;
    let database = places.database.as_ref().map_or_else(String::new, |path| path.display().to_string());
    prepare(directory)?;
    write(directory, MARK, MARKED)?;
    for asset in &ASSETS {
        write(directory, &format!("assets/{}", asset.name), asset.text)?;
    }
    let made = clock::now();
    let (top, below) = (Site::of_files(0, made), Site::of_files(1, made));
    write(directory, "index.html", &pages::overview::shown(&now, 0, usize::MAX, &top))?;
    write(directory, "runs.html", &runs_page(&now.runs, None, &top))?;
    write(directory, "machines.html", &pages::machines::shown(places, &top)?)?;
    write(directory, "changes.html", &pages::changes::whole(&now, &top))?;
    write(directory, "changes.atom", &pages::changes::feed_of(&now, &database, &top))?;
    let whole = Asked { from: None, to: None, width: WIDTH };
    for history in &now.histories {
        let page = pages::history::shown(history, &whole, &now, false, &below);
        write(directory, &format!("histories/{}.html", history.id), &page)?;
    }
    let mut pages_of_runs = BTreeSet::new();
    let mut exported = Exported { runs: 0, histories: now.histories.len(), left_out: Vec::new() };
    for line in &now.runs {
        match stored::conclusion(Some(line.id), places) {
            Ok(conclusion) => {
                let page = pages::run::shown(&conclusion, &now, &below);
                write(directory, &format!("runs/{}.html", line.id), &page)?;
                pages_of_runs.insert(format!("{}.html", line.id));
                exported.runs += 1;
            }
            Err(error) if matches!(error.kind, ErrorKind::Unusable | ErrorKind::Failed) => return Err(error),
            Err(error) => exported.left_out.push(format!("run {}: {}", line.id, error.problem)),
        }
    }
    let pages_of_histories = now.histories.iter().map(|history| format!("{}.html", history.id)).collect();
    let assets = ASSETS.iter().map(|asset| asset.name.to_owned()).collect();
    for (name, written) in [("runs", pages_of_runs), ("histories", pages_of_histories), ("assets", assets)] {
        remove_others(&directory.join(name), &written)?;
    }
    Ok(exported)
}

/// Removes what an earlier export wrote of runs and histories that are no longer there. Other kinds of files stay.
fn remove_others(directory: &Path, written: &BTreeSet<String>) -> Result<(), Error> {
    let is_older = |path: &Path| {
        let is_ours = path.extension().is_some_and(|kind| kind == "html" || kind == "js" || kind == "css");
        is_ours && path.file_name().and_then(|name| name.to_str()).is_some_and(|name| !written.contains(name))
    };
    for entry in fs::read_dir(directory).map_err(|error| not_written(directory, &error))? {
        let path = entry.map_err(|error| not_written(directory, &error))?.path();
        if path.is_file() && is_older(&path) {
            fs::remove_file(&path).map_err(|error| not_written(directory, &error))?;
        }
    }
    Ok(())
}

fn not_written(directory: &Path, error: &std::io::Error) -> Error {
    Error::usage(format!("cannot write into {}: {error}", directory.display()), "name a directory that can be written")
}

/// Makes the directories. Fails if there are files of others.
fn prepare(directory: &Path) -> Result<(), Error> {
    let failed = |error: std::io::Error| not_written(directory, &error);
    fs::create_dir_all(directory).map_err(failed)?;
    let is_empty = fs::read_dir(directory).map_err(failed)?.next().is_none();
    if !is_empty && !directory.join(MARK).is_file() {
        return Err(Error::usage(
            format!("{} has files that are not pages of a database", directory.display()),
            "name an empty directory, or one that does not exist",
        ));
    }
    ["assets", "runs", "histories"].iter().try_for_each(|name| fs::create_dir_all(directory.join(name)).map_err(failed))
}

fn write(directory: &Path, name: &str, text: &str) -> Result<(), Error> {
    whole_file::write(&directory.join(name), text)
}
