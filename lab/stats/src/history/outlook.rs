//! The state of a run that measures commits, and its expected number of executions, for lists of
//! runs without their records.
//!
//! [`next_of_record`](super::next_of_record) decides the work; this module derives its state from a
//! few numbers.

use faultline_record::plan::{HistorySettings, LineMeasure, Settings};
use faultline_record::record::{RunLine, RunProgress, RunState};
use faultline_record::run_of_history::{HistoryStage, RunOfHistory};

/// Adds subject and measure to the line of a run of a history, and for an unfinished run its state
/// and number of executions. `progress`: of an unfinished run. Other lines stay unchanged.
pub fn describe(line: &mut RunLine, settings: &Settings, progress: Option<&RunProgress>) {
    let Some(history) = settings.history() else { return };
    let open = progress.filter(|_| line.state == RunState::Open);
    if let Some(progress) = open {
        line.whole = whole(settings, history, progress);
    }
    let measured = history.artefact.kernel().map_or_else(|| history.program_name(), |kernel| &kernel.workload);
    line.history = Some(RunOfHistory {
        subject: history.subject.clone(),
        measured: measured.to_owned(),
        quantity: history.measure.quantity(),
        commits: history.wanted.len() as u32,
        stage: open.map(|progress| stage(history, progress, line)),
    });
}

fn stage(history: &HistorySettings, progress: &RunProgress, line: &RunLine) -> HistoryStage {
    if let Some(&position) = history.wanted.get(progress.subjects as usize) {
        let commit = history.line.commits.get(position as usize).map_or_else(String::new, |commit| commit.id.clone());
        return HistoryStage::Build { commit, number: progress.subjects + 1 };
    }
    let left = progress.planned.saturating_sub(line.ended + progress.skipped);
    let is_timed = matches!(history.measure, LineMeasure::Timed { .. });
    let is_executing = progress.attempts > progress.ended;
    match left {
        // Layouts are linked between blocks.
        0 if progress.planned > 0 && history.layouts > 0 && progress.attempts > 0 => HistoryStage::Link,
        1.. if is_timed && history.artefact.kernel().is_some() && !is_executing => HistoryStage::Boot,
        _ => HistoryStage::Measure,
    }
}

/// Maximum number of executions of the run: commits that do not build, and layouts that cannot be
/// linked, have none. `None` if the first counts decide it.
fn whole(settings: &Settings, history: &HistorySettings, progress: &RunProgress) -> Option<u32> {
    let RunProgress { planned, first_block, .. } = *progress;
    // All commits are built before the first block is planned, with each build once.
    let builds = if planned == 0 { history.wanted.len() as u32 } else { first_block };
    let layouts = history.layouts;
    let repeats = settings.repeats.max(1);
    match history.measure {
        // After the first block, all others are planned at once.
        LineMeasure::Timed { .. } if planned > first_block => Some(planned),
        LineMeasure::Timed { .. } if layouts > 0 => {
            let blocks = repeats.max(layouts.saturating_add(1));
            Some(builds.saturating_mul(blocks.saturating_mul(2) - 1))
        }
        LineMeasure::Timed { .. } => Some(builds.saturating_mul(repeats)),
        LineMeasure::Counted(_) => {
            let depends_on_ends = history.seeds_by_ends && repeats > 1;
            // One seed for all, and a second one for the first and the last.
            let has_all_seeds = planned > first_block.saturating_add(first_block.min(2));
            match (depends_on_ends, layouts) {
                (true, 0) if has_all_seeds => Some(planned),
                (true, _) => None,
                (false, 0) if planned > first_block => Some(planned),
                (false, _) => Some(planned.max(builds.saturating_mul(repeats.saturating_add(layouts)))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit_runs::LineNext;
    use crate::history::example::{self, begun, build};
    use crate::history::next_of_record;
    use faultline_record::artefact::{Artefact, BuiltKernel};
    use faultline_record::machine::Accelerator;
    use faultline_record::outcome::Outcome;
    use faultline_record::plan::{CountedSettings, KindOfRun, RunKind};
    use faultline_record::quantity::Quantity;
    use faultline_record::record::{Attempt, RunRecord};
    use faultline_record::time::UnixMillis;

    fn history(record: &mut RunRecord) -> &mut HistorySettings {
        let RunKind::History(history) = &mut record.head.settings.kind else { panic!("it is one") };
        history
    }

    fn counted(mut record: RunRecord) -> RunRecord {
        let RunKind::Lens(lens) = crate::lens::example::record(&[(1, 1.0)]).settings.kind.clone() else { panic!() };
        let counted = CountedSettings { what: Quantity::Transfers, lens };
        history(&mut record).measured.measure = LineMeasure::Counted(Box::new(counted));
        record
    }

    /// The line of a run as the store lists it, described by its counts.
    fn run_line(record: &RunRecord) -> RunLine {
        let planned = record.plan.len() as u32;
        let ended = record.attempts.iter().filter(|attempt| attempt.outcome.is_some()).count() as u32;
        let progress = RunProgress {
            id: record.id,
            state: record.state,
            subjects: record.subjects.len() as u32,
            sessions: 1,
            planned,
            first_block: record.plan.iter().filter(|item| item.block == 0).count() as u32,
            skipped: 0,
            attempts: record.attempts.len() as u32,
            ended,
        };
        let mut line = RunLine {
            id: record.id,
            label: None,
            started: UnixMillis(0),
            state: RunState::Open,
            kind: KindOfRun::History,
            suite: None,
            workloads: Vec::new(),
            sides: Vec::new(),
            subject: None,
            cpus: vec![1],
            history: None,
            planned,
            whole: None,
            ended,
            failed: 0,
            skipped: 0,
            machine: String::new(),
        };
        describe(&mut line, &record.settings, Some(&progress));
        line
    }

    fn stage_of(record: &RunRecord) -> HistoryStage {
        run_line(record).history.unwrap().stage.unwrap()
    }

    /// Executes all work; each build and execution succeeds. Returns the description before each
    /// step.
    fn to_the_end(record: &mut RunRecord) -> Vec<(u32, Option<u32>)> {
        let mut all = Vec::new();
        loop {
            let line = run_line(record);
            all.push((line.ended, line.whole));
            match next_of_record(record).unwrap() {
                LineNext::Build { position, .. } => build(record, Some(&format!("/{position}"))),
                LineNext::Execute { blocks } => {
                    blocks.iter().for_each(|(_, subjects)| execute(record, subjects.iter().map(|subject| subject.0)));
                }
                LineNext::Nothing => return all,
                other => panic!("not part of this history: {other:?}"),
            }
        }
    }

    fn execute(record: &mut RunRecord, subjects: impl Iterator<Item = u32>) {
        example::block(record, &subjects.map(|subject| (subject, Ok(1.0))).collect::<Vec<_>>());
    }

    #[test]
    fn the_whole_of_a_run_is_known_before_anything_is_built_and_stays_what_it_is() {
        let mut record = begun(&[0, 2, 3, 9], 5);
        let all = to_the_end(&mut record);
        assert!(all.iter().all(|(_, whole)| *whole == Some(20)), "{all:?}");
        assert_eq!(all.iter().map(|(ended, _)| *ended).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 4, 20]);
    }

    #[test]
    fn commits_that_do_not_build_or_run_are_not_executed_further() {
        let mut record = begun(&[0, 1, 2], 5);
        build(&mut record, Some("/0"));
        build(&mut record, None);
        build(&mut record, Some("/2"));
        assert_eq!(run_line(&record).whole, Some(15));
        example::block(&mut record, &[(0, Ok(1.0)), (2, Err(Outcome::TimedOut { limit_ms: 1 }))]);
        assert_eq!(run_line(&record).whole, Some(10));
        let all = to_the_end(&mut record);
        assert_eq!(all.last(), Some(&(6, Some(6))));
    }

    #[test]
    fn the_stage_of_a_run_is_reported() {
        let mut record = begun(&[0, 2], 3);
        let id = |position: usize| example::commit(position as u32).id;
        assert_eq!(stage_of(&record), HistoryStage::Build { commit: id(0), number: 1 });
        build(&mut record, Some("/0"));
        assert_eq!(stage_of(&record), HistoryStage::Build { commit: id(2), number: 2 });
        build(&mut record, Some("/2"));
        assert_eq!(stage_of(&record), HistoryStage::Measure);
        execute(&mut record, [0, 1].into_iter());
        record.attempts[1].outcome = None;
        assert_eq!(stage_of(&record), HistoryStage::Measure);
        record.attempts[1].outcome = Some(Outcome::Done);
        history(&mut record).layouts = 4;
        assert_eq!(stage_of(&record), HistoryStage::Link);
        // Two commits, five blocks, each but the first with a layout beside each commit.
        assert_eq!(run_line(&record).whole, Some(2 * 9));
    }

    #[test]
    fn a_kernel_is_booted_before_each_execution() {
        let mut record = begun(&[0], 2);
        let kernel = BuiltKernel {
            image: "bzImage".to_owned(),
            vmlinux: None,
            workload: "zero_fill".to_owned(),
            mode: None,
            accelerator: Accelerator::default(),
        };
        history(&mut record).measured.artefact = Artefact::Kernel(Box::new(kernel));
        build(&mut record, Some("/0"));
        execute(&mut record, [0].into_iter());
        let begun = record.attempts.pop().unwrap();
        assert_eq!(stage_of(&record), HistoryStage::Boot);
        record.attempts.push(Attempt { outcome: None, ..begun });
        assert_eq!(stage_of(&record), HistoryStage::Measure);
        assert_eq!(run_line(&record).history.unwrap().measured, "zero_fill");
    }

    #[test]
    fn no_total_is_reported_while_the_first_counts_decide_it() {
        let mut record = counted(begun(&[0, 1, 2], 6));
        history(&mut record).seeds_by_ends = true;
        assert_eq!(run_line(&record).whole, None);
        (0..3).for_each(|at| build(&mut record, Some(&format!("/{at}"))));
        execute(&mut record, 0..3);
        execute(&mut record, [0, 2].into_iter());
        assert_eq!((run_line(&record).whole, run_line(&record).ended), (None, 5));
        // Counts depend on the seed: all others are planned.
        (0..4).for_each(|_| execute(&mut record, 0..3));
        execute(&mut record, [1].into_iter());
        assert_eq!(run_line(&record).whole, Some(18));
        // The requested number.
        let record = counted(begun(&[0, 1, 2], 6));
        assert_eq!(
            (run_line(&record).whole, run_line(&record).history.unwrap().quantity),
            (Some(18), Quantity::Transfers)
        );
    }

    #[test]
    fn a_finished_run_has_what_it_measured_and_is_at_nothing() {
        let record = begun(&[0], 2);
        let mut line = run_line(&record);
        line.state = RunState::Finished;
        describe(&mut line, &record.settings, None);
        let history = line.history.unwrap();
        assert_eq!((history.subject.as_str(), history.measured.as_str(), history.stage), ("app", "load", None));
    }
}
