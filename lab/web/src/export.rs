//! The pages as files, which open from a directory without a server, or from any web server.

mod directory;

use crate::database;
use crate::histories::{DeclaredQuirks, History, Snapshot, read};
use crate::query::Rows;
use crate::routes::{changes, commits_page, history_page, machines_shown, overview_shown, run_page};
use crate::state::{Threshold, search, steps_found};
use crate::timeline::{Asked, beside, timeline};
use directory::Directory;
use faultline_experiment::stored::StoredExecutions;
use faultline_experiment::{CommitComparisons, Error, ErrorKind, Places, stored};
use faultline_record::execution::{Phase, SampleRange};
use faultline_record::record::RunId;
use faultline_record::time::UnixMillis;
use faultline_report::site::{
    ASSETS, Further, OFFERED_THRESHOLDS, SamplesPage, Site, TimelineFiles, answer_script, executions_page,
    file_of_execution, raw_executions_page, runs_page,
};
use faultline_stats::history::{HistorySeries, PointResult};
use faultline_stats::timeline::Timeline;
use std::collections::BTreeSet;
use std::path::Path;
use std::slice::from_ref;
use std::sync::Arc;

/// Buckets of a history with too many commits for a page.
const WIDTH: usize = 2000;
/// Commits in a file of commits: few enough that each comes with the values of up to eight
/// executions.
const CHUNK: u32 = 2500;
/// Samples on a page.
const MOST_SAMPLES: u32 = 500;

/// Request for an export.
#[derive(Debug, Clone)]
pub struct ExportRequest<'a> {
    /// Target directory, created if it does not exist.
    pub directory: &'a Path,
    /// Quirks that the database does not have.
    pub quirks: &'a DeclaredQuirks,
    /// Maximum number of comparisons of two commits per history.
    pub comparisons: usize,
    /// Maximum number of executions per run.
    pub executions: u32,
}

/// Contents of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// Number of run pages.
    pub runs: usize,
    /// Number of history pages.
    pub histories: usize,
    /// Number of comparisons of two commits.
    pub comparisons: usize,
    /// Number of executions.
    pub executions: usize,
    /// Runs without a page, each with the reason.
    pub left_out: Vec<String>,
}

/// Writes all pages. Fails if the directory has other files or cannot be written, or if the
/// database cannot be read.
pub fn export_site(request: &ExportRequest<'_>, places: &Places) -> Result<Exported, Error> {
    let now = read(&Snapshot::default(), request.quirks, places)?;
    let mut directory = Directory::prepare(request.directory)?;
    let made = database::now();
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
                let page = run_page(&conclusion, Rows { from: 0, limit: usize::MAX }, &now, &below);
                directory.write(&format!("runs/{}.html", line.id), &page)?;
                exported.executions += executions(line.id, request.executions, made, places, &mut directory)?;
                exported.runs += 1;
            }
            Err(error) if matches!(error.kind, ErrorKind::Unusable | ErrorKind::Failed | ErrorKind::Lab) => {
                return Err(error);
            }
            Err(error) => exported.left_out.push(format!("run {}: {}", line.id, error.problem)),
        }
    }
    directory.remove_others()?;
    Ok(exported)
}

/// Writes the lists.
fn lists(now: &Snapshot, made: UnixMillis, places: &Places, directory: &mut Directory<'_>) -> Result<(), Error> {
    let top = Site::of_files(0, made);
    let database = places.database.as_ref().map_or_else(String::new, |path| path.display().to_string());
    directory.write("index.html", &overview_shown(now, 0, usize::MAX, &top))?;
    directory.write("runs.html", &runs_page(&now.runs, None, &top))?;
    directory.write("machines.html", &machines_shown(places, &top)?)?;
    directory.write("changes.html", &changes::whole(now, &top))?;
    directory.write("changes.atom", &changes::feed_of(now, &database, &top))
}

/// Writes a history's page and the files that it links to. Returns the number of comparisons.
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
    let files = TimelineFiles { chunk: chunk(&whole), pairs: pairs(&history.series, most_pairs) };
    let page = history_page(history, &whole, now, false, Some(&files), &Site::of_files(1, made));
    directory.write(&format!("histories/{}.html", history.id), &page)?;
    answers(history, &whole, &asked, now, directory)?;
    let deep = Site::of_files(3, made);
    let mut comparisons = CommitComparisons::open(places)?;
    for positions in &files.pairs {
        let page =
            commits_page(positions.map(|position| (&**history, position)), false, &deep, (&mut comparisons, places))?;
        let [a, b] = positions;
        directory.write(&format!("histories/{}/compare/{a}-{b}.html", history.id), &page)?;
    }
    Ok(files.pairs.len())
}

/// Commits per file of commits; 0 if the page has all of them.
fn chunk(whole: &Timeline) -> u32 {
    let lacks_values = || whole.marks.iter().any(|mark| mark.value.is_some() && mark.values.is_empty());
    if !whole.buckets.is_empty() || lacks_values() { CHUNK } else { 0 }
}

/// Writes the API's answers that a history's page requests: commits of a long one, other histories
/// beside it, and steps by other thresholds. `whole` is on the page. Fails if a file cannot be
/// written.
fn answers(
    history: &Arc<History>,
    whole: &Timeline,
    asked: &Asked,
    now: &Snapshot,
    directory: &mut Directory<'_>,
) -> Result<(), Error> {
    let below = |name: &str| format!("histories/{}/{name}.js", history.id);
    for related in &whole.related {
        if let Some(other) = now.histories.iter().find(|one| one.id == related.id) {
            let answer = beside(history, from_ref(other), asked);
            directory.write(&below(&format!("beside/{}", other.id)), &answer_script(&answer))?;
        }
    }
    let usual = history.series.steps.least_change * 100.0;
    for percent in OFFERED_THRESHOLDS.into_iter().chain([usual]) {
        let answer = steps_found(history, &search(history, Threshold::of_percent(percent))?);
        directory.write(&below(&format!("steps/{percent}")), &answer_script(&answer))?;
    }
    let chunk = chunk(whole);
    for number in 0..if chunk == 0 { 0 } else { whole.commits.div_ceil(chunk) } {
        let part = Asked { from: Some(number * chunk), to: Some((number + 1) * chunk - 1), width: asked.width };
        let answer = timeline(history, &part, now);
        directory.write(&below(&format!("commits/{number}")), &answer_script(&answer))?;
    }
    Ok(())
}

/// Writes the list of a run's first `most` executions, and their outcomes and first samples, many
/// in a file. Guests of a subject print nearly the same: only the first console is written.
/// Returns their number. Fails if they cannot be read or written.
fn executions(
    run: RunId,
    most: u32,
    made: UnixMillis,
    places: &Places,
    directory: &mut Directory<'_>,
) -> Result<usize, Error> {
    // One more than requested shows if there are more.
    let stored = StoredExecutions::open(places)?;
    let mut executions = stored.lines(run, None, None, most.saturating_add(1))?;
    let has_further = executions.len() > most as usize;
    executions.truncate(most as usize);
    let further = has_further.then_some(Further::InDatabase);
    let list = executions_page(run, &executions, further, &Site::of_files(2, made));
    directory.write(&format!("runs/{run}/executions.html"), &list)?;
    let below = Site::of_files(3, made);
    let mut subjects = BTreeSet::new();
    for lines in executions.chunk_by(|a, b| file_of_execution(a.id.0) == file_of_execution(b.id.0)) {
        let range = SampleRange { phase: Phase::Window, from: 0, most: MOST_SAMPLES };
        let mut read = Vec::new();
        for line in lines {
            let console = stored.console(run, line)?.filter(|_| subjects.insert(line.subject));
            read.push((line, stored.samples(run, line.id, &range)?, console));
        }
        let pages: Vec<SamplesPage<'_>> = read
            .iter()
            .map(|(line, samples, console)| SamplesPage {
                run,
                execution: line.id.0,
                phase: range.phase,
                outcome: line.outcome.as_ref(),
                console: console.as_deref(),
                samples,
                further: None,
            })
            .collect();
        let file = format!("runs/{run}/executions/{}.html", file_of_execution(lines[0].id.0));
        directory.write(&file, &raw_executions_page(run, &pages, &below))?;
    }
    Ok(executions.len())
}

/// At most `most` pairs of measured commits by position, older one first: sides of steps, then
/// neighbours, then all pairs among the newest commits.
fn pairs(series: &HistorySeries, most: usize) -> BTreeSet<[u32; 2]> {
    let is_measured = |position: u32| {
        series.points.get(position as usize).is_some_and(|point| matches!(point.result, PointResult::Measured { .. }))
    };
    let newest_first: Vec<u32> = (0..series.points.len() as u32).rev().filter(|at| is_measured(*at)).collect();
    let sides = series.steps.steps.iter().rev().map(|step| [step.after, step.by]);
    let sides = sides.filter(|pair| pair.iter().all(|at| is_measured(*at)));
    let neighbours = newest_first.windows(2).map(|two| [two[1], two[0]]);
    let all = (1..newest_first.len()).flat_map(|older| (0..older).map(move |newer| [older, newer]));
    let all = all.map(|places| places.map(|place| newest_first[place]));
    let mut chosen = BTreeSet::new();
    for pair in sides.chain(neighbours).chain(all) {
        if chosen.len() >= most {
            break;
        }
        chosen.insert(pair);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::commit::CommitInfo;
    use faultline_stats::estimate::Estimate;
    use faultline_stats::history::{HistoryPoint, HistorySteps, StepBasis};

    fn point(at: usize, is_measured: bool) -> HistoryPoint {
        let estimate = Estimate { median: 1.0, low: 1.0, high: 1.0, coverage: 1.0, n: 1 };
        let commit = CommitInfo { id: at.to_string(), ..CommitInfo::default() };
        let result = if is_measured {
            PointResult::Measured { estimate, least: None, same_as: None }
        } else {
            PointResult::None
        };
        HistoryPoint { commit, result, run: None, environment: 0 }
    }

    fn series(measured: &[bool]) -> HistorySeries {
        let points = measured.iter().enumerate().map(|(at, is_measured)| point(at, *is_measured)).collect();
        HistorySeries {
            format: String::new(),
            subject: String::new(),
            repository: String::new(),
            forge: None,
            command: Vec::new(),
            workload: None,
            has_releases: false,
            quantity: faultline_record::quantity::Quantity::Time,
            unit: "s".to_owned(),
            tasks: 1,
            host: None,
            conditions: String::new(),
            runs: Vec::new(),
            left_out: Vec::new(),
            points,
            quirks: Vec::new(),
            unplaced_quirks: Vec::new(),
            steps: HistorySteps {
                basis: StepBasis::Exact,
                least_change: 0.01,
                steps: Vec::new(),
                unjudged: 0,
                unplaced: 0,
            },
            by_cpu_time: None,
            choice: None,
            load: None,
            moved: Vec::new(),
        }
    }

    #[test]
    fn neighbours_come_first_and_only_measured_commits_are_paired() {
        let series = series(&[true, true, false, true, true]);
        assert_eq!(pairs(&series, 0), BTreeSet::new());
        assert_eq!(pairs(&series, 2), BTreeSet::from([[1, 3], [3, 4]]));
        assert_eq!(pairs(&series, 4), BTreeSet::from([[0, 1], [1, 3], [3, 4], [1, 4]]));
        assert_eq!(pairs(&series, 100).len(), 6);
    }

    #[test]
    fn a_history_with_one_result_or_none_has_no_pairs() {
        assert!(pairs(&series(&[]), 9).is_empty() && pairs(&series(&[false, true]), 9).is_empty());
    }
}
