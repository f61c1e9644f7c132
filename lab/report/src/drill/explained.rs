//! What is known of each step besides its values: what the lens counted otherwise or which of the kernel's counters differ, the commits that may have made it with
//! their files, and how what was linked differs.

use super::{at, short};
use crate::explained::{Item, files, linked};
use crate::history::moved::{Per, SHOWN, counters, differences};
use crate::one_line::one_line;
use crate::style::{Signs, Style, UNICODE};
use faultline_model::commit::CommitLine;
use faultline_model::drill::{Drill, DrillStep};
use faultline_model::explained::{CommitChanges, StepExplained};
use faultline_model::plan::LineSearch;

/// All steps, as indented text.
pub(super) fn text(found: &Drill, search: &LineSearch, style: &Style) -> String {
    let of_step = |step: &DrillStep| {
        let items = items(step, search, style.signs());
        if items.is_empty() { String::new() } else { format!("\n{}", Item::all_text(&items, style)) }
    };
    found.steps.iter().map(of_step).collect()
}

/// All steps, as lists.
pub(super) fn markdown(found: &Drill, search: &LineSearch) -> String {
    let items: Vec<Item> = found.steps.iter().flat_map(|step| items(step, search, &UNICODE)).collect();
    if items.is_empty() { String::new() } else { format!("\n{}", Item::all_markdown(&items)) }
}

fn items(step: &DrillStep, search: &LineSearch, signs: &Signs) -> Vec<Item> {
    let per = Per::of(search.artefact.kernel().is_some());
    let counts = step.moved.iter().flat_map(|counts| differences(counts, per, SHOWN, signs));
    let recorded: Vec<Item> = counts.chain(counters(&step.counters, SHOWN, signs)).collect();
    recorded.into_iter().chain(of_commits(step, &search.line, signs)).collect()
}

/// What is known of a step of a history, as indented text: the files that differ between its sides, and how what was linked differs.
pub(crate) fn step_text(explained: &StepExplained, line: &CommitLine, style: &Style) -> String {
    let (signs, names) = (style.signs(), [explained.before, explained.after].map(|position| short(line, position)));
    let mut items = vec![Item::new(0, format!("Files of {} and {}", names[0], names[1]))];
    match explained.commits.last().and_then(|changes| changes.files.as_ref()) {
        None => items.push(Item::new(1, "They could not be read from the repository.".to_owned())),
        Some(changed) => items.extend(files(changed, signs).into_iter().map(Item::below)),
    }
    items.extend(linked(&explained.linked, &names, signs));
    Item::all_text(&items, style)
}

/// The commits that may have made a step, their files, and what was linked.
fn of_commits(step: &DrillStep, line: &CommitLine, signs: &Signs) -> Vec<Item> {
    let Some(explained) = &step.explained else { return Vec::new() };
    let left_out = step.candidates.len().saturating_sub(explained.commits.len());
    let more = (left_out > 0).then(|| Item::new(0, format!("{left_out} further commits, which are older")));
    let commits = explained.commits.iter().flat_map(|changes| commit(changes, line, signs));
    let names = [explained.before, explained.after].map(|position| short(line, position));
    more.into_iter().chain(commits).chain(linked(&explained.linked, &names, signs)).collect()
}

/// A commit and its files.
fn commit(changes: &CommitChanges, line: &CommitLine, signs: &Signs) -> Vec<Item> {
    let commit = line.position(&changes.commit).and_then(|position| at(line, position));
    let named = commit.map_or_else(String::new, |commit| {
        format!(
            "{} by {}: {}",
            short(line, line.position(&commit.id).unwrap_or(0)),
            one_line(&commit.author),
            one_line(&commit.subject)
        )
    });
    let mut items = vec![Item::new(0, named)];
    match &changes.files {
        None => items.push(Item::new(1, "Its files could not be read from the repository.".to_owned())),
        Some(changed) => items.extend(files(changed, signs).into_iter().map(Item::below)),
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::ASCII;
    use faultline_model::commit::CommitInfo;
    use faultline_model::explained::{
        FileChange, FilesChanged, FunctionChanges, LinesChanged, LinkedChange, LinkedChanges, SizeChange, StepExplained,
    };

    const HOSTILE: &str = "a\nb \u{1b}[31m<script>|*";

    fn line() -> CommitLine {
        let commit = |number: u32| CommitInfo {
            id: format!("{number:040x}"),
            author: HOSTILE.to_owned(),
            subject: HOSTILE.to_owned(),
            ..CommitInfo::default()
        };
        CommitLine { commits: (0..4).map(commit).collect() }
    }

    fn sized(name: &str, before: Option<u64>, after: Option<u64>) -> SizeChange {
        SizeChange { name: name.to_owned(), before, after }
    }

    fn explained() -> StepExplained {
        let lines = Some(LinesChanged { added: 3, removed: 1 });
        let files =
            vec![FileChange { path: HOSTILE.to_owned(), lines }, FileChange { path: "x.png".to_owned(), lines: None }];
        let most =
            vec![sized("parse", Some(100), Some(300)), sized(HOSTILE, None, Some(8)), sized("old", Some(40), None)];
        let prog = LinkedChange {
            file: sized("prog", Some(16000), Some(16200)),
            sections: vec![sized(".text", Some(410), Some(578))],
            functions: Some(FunctionChanges { came: 1, went: 1, grew: 1, shrank: 2, most }),
        };
        let lib = LinkedChange { file: sized("lib.so", None, Some(9000)), sections: Vec::new(), functions: None };
        StepExplained {
            before: 1,
            after: 3,
            commits: vec![
                CommitChanges { commit: format!("{:040x}", 2), files: None },
                CommitChanges { commit: format!("{:040x}", 3), files: Some(FilesChanged::of(files)) },
            ],
            linked: LinkedChanges::Compared { same: 1, different: vec![prog, lib], left_out: 0 },
        }
    }

    fn step(explained: Option<StepExplained>) -> DrillStep {
        let probability = 1.0;
        let label = faultline_model::drill::StepLabel::Inconclusive;
        DrillStep {
            before: 1,
            after: 3,
            candidates: vec![2, 3],
            probability,
            confirmed: true,
            change: None,
            values: None,
            label,
            under_layouts: None,
            layouts: None,
            of_surroundings: None,
            of_commits: None,
            reverted: None,
            explained,
            moved: None,
            counters: Vec::new(),
        }
    }

    fn told(signs: &Signs) -> String {
        let items = of_commits(&step(Some(explained())), &line(), signs);
        items.iter().map(|item| format!("{}{}\n", "  ".repeat(item.depth), item.text)).collect()
    }

    #[test]
    fn commits_files_sections_and_functions_are_told() {
        let lines = [
            "000000000000 by a b  [31m<script>|*: a b  [31m<script>|*",
            "  Its files could not be read from the repository.",
            "000000000000 by a b  [31m<script>|*: a b  [31m<script>|*",
            "  2 files, +3 -1 lines",
            "    a b  [31m<script>|*  +3 -1",
            "    x.png  binary",
            "Builds of 000000000000 and 000000000000: 2 linked files differ, 1 have the same bytes.",
            "  prog 16000 -> 16200 bytes",
            "    sections: .text 410 -> 578 bytes",
            "    functions: 1 came (a b  [31m<script>|* new, 8 bytes); 1 went (old gone, 40 bytes); \
             1 grew (parse 100 -> 300 bytes); 2 shrank (2, all smaller than those above)",
            "  lib.so new, 9000 bytes",
        ];
        assert_eq!(told(&ASCII).lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn a_step_that_is_not_explained_adds_nothing() {
        assert!(of_commits(&step(None), &line(), &ASCII).is_empty());
    }
}
