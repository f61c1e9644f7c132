//! Further knowledge about a step: moved data and code, kernel counters, the files of its commits,
//! and differences of built programs.
//!
//! Names of files and functions come from outside and are shown without control characters.

use crate::comparison::counter_words;
use crate::escape::{escape_markdown, one_line};
use crate::lens::difference_words;
use crate::names::{commit_at, counted, short_commit};
use crate::style::{Signs, Style, UNICODE};
use faultline_record::commit::CommitLine;
use faultline_record::explained::{
    CommitChanges, FileChange, FilesChanged, FunctionChanges, LinkedChange, LinkedChanges, SizeChange, StepExplained,
};
use faultline_record::plan::LineSearch;
use faultline_stats::bisect::{BisectResult, FoundStep};
use faultline_stats::comparison::CounterDifference;
use faultline_stats::history::{HistorySeries, HistoryStep};
use faultline_stats::lens::comparison::{CellComparison, Difference};

/// Files shown per commit.
const FILES: usize = 8;

/// Sections shown per file.
const SECTIONS: usize = 6;

/// Functions shown per kind.
const FUNCTIONS: usize = 5;

/// A line of text with its depth below the step.
pub(crate) struct Item {
    /// Depth.
    pub(crate) depth: usize,
    /// Text.
    pub(crate) text: String,
}

impl Item {
    /// A line.
    pub(crate) fn new(depth: usize, text: String) -> Self {
        Item { depth, text }
    }

    /// The line one level deeper.
    pub(crate) fn below(self) -> Self {
        Item { depth: self.depth + 1, ..self }
    }

    /// Lines as indented text.
    pub(crate) fn all_text(items: &[Item], style: &Style) -> String {
        let indented = |item: &Item| {
            let indent = "  ".repeat(item.depth);
            style.wrap(&item.text, &indent, &format!("{indent}    ")).join("\n") + "\n"
        };
        items.iter().map(indented).collect()
    }

    /// Lines as nested Markdown lists.
    pub(crate) fn all_markdown(items: &[Item]) -> String {
        let line = |item: &Item| format!("{}- {}\n", "  ".repeat(item.depth), escape_markdown(&item.text));
        items.iter().map(line).collect()
    }
}

/// Files that differ.
pub(crate) fn files(files: &FilesChanged, signs: &Signs) -> Vec<Item> {
    let number = counted(files.number, "file");
    let lines = format!("+{} {}{} lines", files.added, signs.minus, files.removed);
    let mut items = vec![Item::new(
        0,
        if files.number == 0 { "No file differs.".to_owned() } else { format!("{number}, {lines}") },
    )];
    items.extend(files.most.iter().take(FILES).map(|change| Item::new(1, file(change, signs))));
    let left_out = (files.number as usize).saturating_sub(files.most.len().min(FILES));
    items.extend((left_out > 0).then(|| Item::new(1, format!("and {}", counted(left_out as u64, "further file")))));
    items
}

fn file(change: &FileChange, signs: &Signs) -> String {
    let path = one_line(&change.path);
    match change.lines {
        Some(lines) => format!("{path}  +{} {}{}", lines.added, signs.minus, lines.removed),
        None => format!("{path}  binary"),
    }
}

/// The differences between the builds of two commits with these names.
pub(crate) fn linked(changes: &LinkedChanges, [before, after]: &[String; 2], signs: &Signs) -> Vec<Item> {
    let between = format!("Builds of {before} and {after}");
    match changes {
        LinkedChanges::None => vec![Item::new(0, format!("{between}: neither has a linked program or library."))],
        LinkedChanges::Gone => vec![Item::new(0, format!("{between} cannot be compared: one of them was deleted."))],
        LinkedChanges::Compared { same, different, left_out } => {
            let number = different.len() as u64 + u64::from(*left_out);
            let verb = if number == 1 { "differs" } else { "differ" };
            let differ = format!("{} {verb}, {same} have the same bytes", counted(number, "linked file"));
            let mut items = vec![Item::new(0, format!("{between}: {differ}."))];
            items.extend(different.iter().flat_map(|change| of_linked(change, signs)));
            items.extend((*left_out > 0).then(|| Item::new(1, format!("and {}", counted(*left_out, "further file")))));
            items
        }
    }
}

fn of_linked(change: &LinkedChange, signs: &Signs) -> Vec<Item> {
    let shown = change.sections.iter().take(SECTIONS).map(|section| size(section, signs));
    let sections = listed(shown.collect(), change.sections.len());
    let mut items = vec![Item::new(1, size(&change.file, signs))];
    let is_in_both = change.file.before.is_some() && change.file.after.is_some();
    if is_in_both {
        let text = if sections.is_empty() {
            "no section has another size".to_owned()
        } else {
            format!("sections: {sections}")
        };
        items.push(Item::new(2, text));
        items.push(Item::new(2, functions(change.functions.as_ref(), signs)));
    }
    items
}

/// A kind of change: word, number of changes, and a test for it.
type Kind = (&'static str, u32, fn(&SizeChange) -> bool);

fn functions(changes: Option<&FunctionChanges>, signs: &Signs) -> String {
    let Some(changes) = changes else { return "functions: unknown, because the file has no symbols".to_owned() };
    let kinds: [Kind; 5] = [
        ("added", changes.came, |change| change.before.is_none()),
        ("removed", changes.went, |change| change.after.is_none()),
        ("grew", changes.grew, |change| matches!((change.before, change.after), (Some(old), Some(new)) if new > old)),
        (
            "shrank",
            changes.shrank,
            |change| matches!((change.before, change.after), (Some(old), Some(new)) if new < old),
        ),
        ("changed", changes.changed, |change| change.before == change.after),
    ];
    let shown = kinds.iter().filter(|(_, number, _)| *number > 0).map(|(word, number, is_such)| {
        let those =
            changes.most.iter().filter(|change| is_such(change)).take(FUNCTIONS).map(|change| size(change, signs));
        format!("{number} {word} ({})", listed(those.collect(), *number as usize))
    });
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() { "no function differs".to_owned() } else { format!("functions: {}", shown.join("; ")) }
}

/// A name with the sizes before and after.
fn size(change: &SizeChange, signs: &Signs) -> String {
    let name = one_line(&change.name);
    match (change.before, change.after) {
        (Some(before), Some(after)) if before == after => format!("{name} {before} bytes"),
        (Some(before), Some(after)) => format!("{name} {before} {} {after} bytes", signs.arrow),
        (None, Some(bytes)) => format!("{name} new, {bytes} bytes"),
        (Some(bytes), None) => format!("{name} gone, {bytes} bytes"),
        (None, None) => name,
    }
}

/// The shown ones of `all`.
fn listed(mut shown: Vec<String>, all: usize) -> String {
    let left_out = all.saturating_sub(shown.len());
    shown.extend((left_out > 0 && !shown.is_empty()).then(|| format!("{left_out} more")));
    if shown.is_empty() && left_out > 0 {
        format!("{left_out}, all smaller than those above")
    } else {
        shown.join(", ")
    }
}

/// Knowledge about the steps of a bisection, as indented text.
pub(crate) fn text(found: &BisectResult, search: &LineSearch, style: &Style) -> String {
    let of_step = |step: &FoundStep| {
        let items = items(step, search, style.signs());
        if items.is_empty() { String::new() } else { format!("\n{}", Item::all_text(&items, style)) }
    };
    found.steps.iter().map(of_step).collect()
}

/// Knowledge about the steps of a bisection, as lists.
pub(crate) fn markdown(found: &BisectResult, search: &LineSearch) -> String {
    let items: Vec<Item> = found.steps.iter().flat_map(|step| items(step, search, &UNICODE)).collect();
    if items.is_empty() { String::new() } else { format!("\n{}", Item::all_markdown(&items)) }
}

fn items(step: &FoundStep, search: &LineSearch, signs: &Signs) -> Vec<Item> {
    let per = Per::of(search.artefact.kernel().is_some());
    let counts = step.moved.iter().flat_map(|counts| differences(counts, per, SHOWN, signs));
    let recorded: Vec<Item> = counts.chain(counters(&step.counters, SHOWN, signs)).collect();
    recorded.into_iter().chain(of_commits(step, &search.line, signs)).collect()
}

/// The differences of files and built programs between the sides of a history's step, as indented
/// text.
pub(crate) fn step_text(explained: &StepExplained, line: &CommitLine, style: &Style) -> String {
    let (signs, names) =
        (style.signs(), [explained.before, explained.after].map(|position| short_commit(line, position)));
    let mut items = vec![Item::new(0, format!("Files of {} and {}", names[0], names[1]))];
    match explained.commits.last().and_then(|changes| changes.files.as_ref()) {
        None => items.push(Item::new(1, "They could not be read from the repository.".to_owned())),
        Some(changed) => items.extend(files(changed, signs).into_iter().map(Item::below)),
    }
    items.extend(linked(&explained.linked, &names, signs));
    Item::all_text(&items, style)
}

/// The candidate commits of a step with their files, and differences of built programs.
fn of_commits(step: &FoundStep, line: &CommitLine, signs: &Signs) -> Vec<Item> {
    let Some(explained) = &step.explained else { return Vec::new() };
    let left_out = step.candidates.len().saturating_sub(explained.commits.len());
    let more = (left_out > 0).then(|| Item::new(0, format!("{left_out} further commits, which are older")));
    let commits = explained.commits.iter().flat_map(|changes| commit(changes, line, signs));
    let names = [explained.before, explained.after].map(|position| short_commit(line, position));
    more.into_iter().chain(commits).chain(linked(&explained.linked, &names, signs)).collect()
}

/// A commit and its files.
fn commit(changes: &CommitChanges, line: &CommitLine, signs: &Signs) -> Vec<Item> {
    let commit = line.position(&changes.commit).and_then(|position| commit_at(line, position));
    let named = commit.map_or_else(String::new, |commit| {
        let name = short_commit(line, line.position(&commit.id).unwrap_or(0));
        let by = if commit.author.is_empty() { "" } else { " by " };
        format!("{name}{by}{}: {}", one_line(&commit.author), one_line(&commit.subject))
    });
    let mut items = vec![Item::new(0, named)];
    match &changes.files {
        None => items.push(Item::new(1, "Its files could not be read from the repository.".to_owned())),
        Some(changed) => items.extend(files(changed, signs).into_iter().map(Item::below)),
    }
    items
}

/// Differences shown per kind.
const SHOWN: usize = 5;

/// The denominator of transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Per {
    /// An operation of a workload.
    Operation,
    /// A run of a program, or of its marked region.
    Run,
}

impl Per {
    /// The denominator for workloads, or for programs.
    pub(crate) fn of(is_workload: bool) -> Self {
        if is_workload { Per::Operation } else { Per::Run }
    }
}

/// The recorded differences after a step of a history; empty if there are none.
pub(crate) fn moved_items(series: &HistorySeries, step: &HistoryStep, signs: &Signs) -> Vec<Item> {
    let of_step = series.moved.iter().find(|moved| (moved.after, moved.by) == (step.after, step.by));
    let per = Per::of(series.workload.is_some());
    of_step.map_or_else(Vec::new, |moved| {
        let counts = moved.counts.iter().flat_map(|counts| differences(counts, per, SHOWN, signs));
        counts.chain(counters(&moved.counters, SHOWN, signs)).collect()
    })
}

/// The data and the code whose transfers differ, up to `most` of each.
pub(crate) fn differences(counts: &CellComparison, per: Per, most: usize, signs: &Signs) -> Vec<Item> {
    let kinds = [("Data", &counts.data), ("Code", &counts.code)];
    kinds.into_iter().flat_map(|(kind, differences)| of_kind(kind, differences, per, most, signs)).collect()
}

fn of_kind(kind: &str, differences: &[Difference], per: Per, most: usize, signs: &Signs) -> Vec<Item> {
    if differences.is_empty() {
        return Vec::new();
    }
    let per = match per {
        Per::Operation => "transfers per operation",
        Per::Run => "transfers of a run",
    };
    let title = format!("{kind} that moved more or less, {per} ({}):", shown(differences.len(), most));
    let words = |difference| Item::new(1, difference_words(difference, signs));
    std::iter::once(Item::new(0, title)).chain(differences.iter().take(most).map(words)).collect()
}

/// The kernel counters that differ, most significant first, up to `most`.
pub(crate) fn counters(counters: &[CounterDifference], most: usize, signs: &Signs) -> Vec<Item> {
    if counters.is_empty() {
        return Vec::new();
    }
    let title = format!("Kernel counters that differ, per operation ({}):", shown(counters.len(), most));
    let words = |counter| Item::new(1, counter_words(counter, signs));
    std::iter::once(Item::new(0, title)).chain(counters.iter().take(most).map(words)).collect()
}

/// The number of shown differences.
fn shown(all: usize, most: usize) -> String {
    if all <= most { format!("{all}") } else { format!("the greatest {most} of {all}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisect::made_up_step;
    use crate::style::ASCII;
    use faultline_record::commit::CommitInfo;
    use faultline_record::explained::LinesChanged;

    #[test]
    fn builds_that_cannot_be_compared_have_a_reason() {
        for (changes, word) in [(LinkedChanges::Gone, "was deleted"), (LinkedChanges::None, "neither has")] {
            let items = linked(&changes, &["a".to_owned(), "b".to_owned()], &ASCII);
            assert!(items.len() == 1 && items[0].text.contains(word), "{}", items[0].text);
        }
    }

    const HOSTILE: &str = "a\nb \u{1b}[31m\u{202e}<script>|*";

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
            functions: Some(FunctionChanges { came: 1, went: 1, grew: 1, shrank: 2, changed: 0, most }),
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

    fn step(explained: Option<StepExplained>) -> FoundStep {
        FoundStep { after: 3, candidates: vec![2, 3], explained, ..made_up_step() }
    }

    fn explanation_text(signs: &Signs) -> String {
        let items = of_commits(&step(Some(explained())), &line(), signs);
        items.iter().map(|item| format!("{}{}\n", "  ".repeat(item.depth), item.text)).collect()
    }

    #[test]
    fn commits_files_sections_and_functions_are_reported() {
        let lines = [
            "000000000000 by a b  [31m\u{fffd}<script>|*: a b  [31m\u{fffd}<script>|*",
            "  Its files could not be read from the repository.",
            "000000000000 by a b  [31m\u{fffd}<script>|*: a b  [31m\u{fffd}<script>|*",
            "  2 files, +3 -1 lines",
            "    a b  [31m\u{fffd}<script>|*  +3 -1",
            "    x.png  binary",
            "Builds of 000000000000 and 000000000000: 2 linked files differ, 1 have the same bytes.",
            "  prog 16000 -> 16200 bytes",
            "    sections: .text 410 -> 578 bytes",
            "    functions: 1 added (a b  [31m\u{fffd}<script>|* new, 8 bytes); 1 removed (old gone, 40 bytes); \
             1 grew (parse 100 -> 300 bytes); 2 shrank (2, all smaller than those above)",
            "  lib.so new, 9000 bytes",
        ];
        assert_eq!(explanation_text(&ASCII).lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn a_step_that_is_not_explained_adds_nothing() {
        assert!(of_commits(&step(None), &line(), &ASCII).is_empty());
    }
}
