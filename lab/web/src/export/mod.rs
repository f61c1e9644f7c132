//! The pages as files: they open from a directory without a server, or from any web server.

mod answers;
mod directory;
mod executions;
mod pairs;

use crate::asked_range::Asked;
use crate::clock;
use crate::histories::{History, Snapshot, read};
use crate::pages;
use crate::quirks::DeclaredQuirks;
use crate::rows::Rows;
use crate::timeline::timeline;
use directory::Directory;
use faultline_experiment::{CommitComparisons, Error, ErrorKind, Places, stored};
use faultline_model::time::UnixMillis;
use faultline_report::site::{ASSETS, Site, TimelineFiles, runs_page};
use std::path::Path;
use std::sync::Arc;

/// Buckets of a history with too many commits to be in a page one by one.
const WIDTH: usize = 2000;

/// What is to be written.
#[derive(Debug, Clone)]
pub struct ExportRequest<'a> {
    /// Where. It is made if it does not exist.
    pub directory: &'a Path,
    /// Quirks that are not in the database.
    pub quirks: &'a DeclaredQuirks,
    /// Maximum number of comparisons of two commits, of each history.
    pub comparisons: usize,
    /// Maximum number of executions of each run.
    pub executions: u32,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// Number of pages of runs.
    pub runs: usize,
    /// Number of pages of histories.
    pub histories: usize,
    /// Number of comparisons of two commits.
    pub comparisons: usize,
    /// Number of executions.
    pub executions: usize,
    /// Runs that have no page, each with the reason: nothing can be concluded of them, or they cannot be read.
    pub left_out: Vec<String>,
}

/// Writes all pages. Fails if the directory has something else, if it cannot be written, or if the database cannot be read.
pub fn export_site(request: &ExportRequest<'_>, places: &Places) -> Result<Exported, Error> {
    let now = read(&Snapshot::default(), request.quirks, places)?;
    let mut directory = Directory::prepare(request.directory)?;
    let made = clock::now();
    for asset in &ASSETS {
        directory.write(&format!("assets/{}", asset.name), asset.text)?;
    }
    lists(&now, made, places, &mut directory)?;
    let mut exported =
        Exported { runs: 0, histories: now.histories.len(), comparisons: 0, executions: 0, left_out: Vec::new() };
    for history in &now.histories {
        exported.comparisons += one_history(history, request.comparisons, &now, made, places, &mut directory)?;
    }
    let below = Site::of_files(1, made);
    for line in &now.runs {
        match stored::conclusion(Some(line.id), places) {
            Ok(conclusion) => {
                let page = pages::run::shown(&conclusion, Rows { from: 0, limit: usize::MAX }, &now, &below);
                directory.write(&format!("runs/{}.html", line.id), &page)?;
                exported.executions += executions::write(line.id, request.executions, made, places, &mut directory)?;
                exported.runs += 1;
            }
            Err(error) if matches!(error.kind, ErrorKind::Unusable | ErrorKind::Failed) => return Err(error),
            Err(error) => exported.left_out.push(format!("run {}: {}", line.id, error.problem)),
        }
    }
    directory.remove_others()?;
    Ok(exported)
}

/// The pages that list what there is.
fn lists(now: &Snapshot, made: UnixMillis, places: &Places, directory: &mut Directory<'_>) -> Result<(), Error> {
    let top = Site::of_files(0, made);
    let database = places.database.as_ref().map_or_else(String::new, |path| path.display().to_string());
    directory.write("index.html", &pages::overview::shown(now, 0, usize::MAX, &top))?;
    directory.write("runs.html", &runs_page(&now.runs, None, &top))?;
    directory.write("machines.html", &pages::machines::shown(places, &top)?)?;
    directory.write("changes.html", &pages::changes::whole(now, &top))?;
    directory.write("changes.atom", &pages::changes::feed_of(now, &database, &top))
}

/// The page of a history with all to which it leads. Returns how many comparisons there are.
fn one_history(
    history: &Arc<History>,
    most_pairs: usize,
    now: &Snapshot,
    made: UnixMillis,
    places: &Places,
    directory: &mut Directory<'_>,
) -> Result<usize, Error> {
    let asked = Asked { from: None, to: None, width: WIDTH };
    let whole = timeline(history, &asked, now);
    let files = TimelineFiles { chunk: answers::chunk(&whole), pairs: pairs::pairs(&history.series, most_pairs) };
    let page = pages::history::shown(history, &whole, now, false, Some(&files), &Site::of_files(1, made));
    directory.write(&format!("histories/{}.html", history.id), &page)?;
    answers::write(history, &whole, &asked, now, directory)?;
    let deep = Site::of_files(3, made);
    let mut comparisons = CommitComparisons::open(places)?;
    for positions in &files.pairs {
        let page = pages::points::shown(
            positions.map(|position| (&**history, position)),
            false,
            &deep,
            (&mut comparisons, places),
        )?;
        let [a, b] = positions;
        directory.write(&format!("histories/{}/compare/{a}-{b}.html", history.id), &page)?;
    }
    Ok(files.pairs.len())
}
