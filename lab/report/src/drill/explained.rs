//! What is known of each step besides its values: the commits that may have made it with their files, and how what was linked differs. Names of files and
//! functions come from outside, and are shown without control characters.

use super::{at, plain, short};
use crate::one_line::one_line;
use crate::style::{Signs, Style, UNICODE};
use faultline_model::commit::CommitLine;
use faultline_model::drill::{Drill, DrillStep};
use faultline_model::explained::{
    CommitChanges, FileChange, FilesChanged, FunctionChanges, LinkedChange, LinkedChanges, SizeChange, StepExplained,
};
use faultline_model::plan::LineSearch;

/// Files of a commit that are shown.
const FILES: usize = 8;

/// Sections of a file that are shown.
const SECTIONS: usize = 6;

/// Functions of each kind that are shown.
const FUNCTIONS: usize = 5;

/// A line of text, and how deep it lies below the step.
struct Item {
    depth: usize,
    text: String,
}

impl Item {
    fn new(depth: usize, text: String) -> Self {
        Item { depth, text }
    }
}

/// All steps, as indented text.
pub(super) fn text(found: &Drill, search: &LineSearch, style: &Style) -> String {
    let indented = |item: &Item| {
        let indent = "  ".repeat(item.depth);
        style.wrap(&item.text, &indent, &format!("{indent}    ")).join("\n") + "\n"
    };
    let of_step = |step: &DrillStep| {
        let items = items(step, &search.line, style.signs());
        if items.is_empty() { String::new() } else { format!("\n{}", items.iter().map(indented).collect::<String>()) }
    };
    found.steps.iter().map(of_step).collect()
}

/// All steps, as lists.
pub(super) fn markdown(found: &Drill, search: &LineSearch) -> String {
    let line = |item: &Item| format!("{}- {}\n", "  ".repeat(item.depth), plain(&item.text));
    let items: String =
        found.steps.iter().flat_map(|step| items(step, &search.line, &UNICODE)).map(|item| line(&item)).collect();
    if items.is_empty() { items } else { format!("\n{items}") }
}

fn items(step: &DrillStep, line: &CommitLine, signs: &Signs) -> Vec<Item> {
    let Some(explained) = &step.explained else { return Vec::new() };
    let left_out = step.candidates.len().saturating_sub(explained.commits.len());
    let more = (left_out > 0).then(|| Item::new(0, format!("{left_out} further commits, which are older")));
    let commits = explained.commits.iter().flat_map(|changes| commit(changes, line, signs));
    more.into_iter().chain(commits).chain(linked(explained, line, signs)).collect()
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
        Some(files) => items.extend(of_files(files, signs)),
    }
    items
}

fn of_files(files: &FilesChanged, signs: &Signs) -> Vec<Item> {
    let number = counted(files.number.into(), "file");
    let lines = format!("+{} {}{} lines", files.added, signs.minus, files.removed);
    let mut items = vec![Item::new(
        1,
        if files.number == 0 { "No file differs.".to_owned() } else { format!("{number}, {lines}") },
    )];
    items.extend(files.most.iter().take(FILES).map(|change| Item::new(2, file(change, signs))));
    let left_out = (files.number as usize).saturating_sub(files.most.len().min(FILES));
    items.extend((left_out > 0).then(|| Item::new(2, format!("and {}", counted(left_out as u64, "further file")))));
    items
}

fn file(change: &FileChange, signs: &Signs) -> String {
    let path = one_line(&change.path);
    match change.lines {
        Some(lines) => format!("{path}  +{} {}{}", lines.added, signs.minus, lines.removed),
        None => format!("{path}  binary"),
    }
}

/// How what was linked differs.
fn linked(explained: &StepExplained, line: &CommitLine, signs: &Signs) -> Vec<Item> {
    let between = format!("Builds of {} and {}", short(line, explained.before), short(line, explained.after));
    match &explained.linked {
        LinkedChanges::None => vec![Item::new(0, format!("{between}: neither has a linked program or library."))],
        LinkedChanges::Gone => vec![Item::new(0, format!("{between} cannot be compared: one of them was deleted."))],
        LinkedChanges::Compared { same, different, left_out } => {
            let number = different.len() as u64 + u64::from(*left_out);
            let verb = if number == 1 { "differs" } else { "differ" };
            let differ = format!("{} {verb}, {same} have the same bytes", counted(number, "linked file"));
            let mut items = vec![Item::new(0, format!("{between}: {differ}."))];
            items.extend(different.iter().flat_map(|change| of_linked(change, signs)));
            items.extend(
                (*left_out > 0).then(|| Item::new(1, format!("and {}", counted((*left_out).into(), "further file")))),
            );
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

/// A kind of change: its word, the number of such changes, and whether a change is one.
type Kind = (&'static str, u32, fn(&SizeChange) -> bool);

fn functions(changes: Option<&FunctionChanges>, signs: &Signs) -> String {
    let Some(changes) = changes else { return "functions: unknown, because the file has no symbols".to_owned() };
    let kinds: [Kind; 4] = [
        ("came", changes.came, |change| change.before.is_none()),
        ("went", changes.went, |change| change.after.is_none()),
        ("grew", changes.grew, |change| matches!((change.before, change.after), (Some(old), Some(new)) if new > old)),
        (
            "shrank",
            changes.shrank,
            |change| matches!((change.before, change.after), (Some(old), Some(new)) if new < old),
        ),
    ];
    let shown = kinds.iter().filter(|(_, number, _)| *number > 0).map(|(word, number, is_such)| {
        let those =
            changes.most.iter().filter(|change| is_such(change)).take(FUNCTIONS).map(|change| size(change, signs));
        format!("{number} {word} ({})", listed(those.collect(), *number as usize))
    });
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() {
        "no function has another size".to_owned()
    } else {
        format!("functions: {}", shown.join("; "))
    }
}

/// A name with its size before and after.
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

/// Several, of which there are `all`.
fn listed(mut shown: Vec<String>, all: usize) -> String {
    let left_out = all.saturating_sub(shown.len());
    shown.extend((left_out > 0 && !shown.is_empty()).then(|| format!("{left_out} more")));
    if shown.is_empty() && left_out > 0 {
        format!("{left_out}, all smaller than those above")
    } else {
        shown.join(", ")
    }
}

fn counted(number: u64, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::ASCII;
    use faultline_model::commit::CommitInfo;
    use faultline_model::explained::LinesChanged;

    const HOSTILE: &str = "a\nb \u{1b}[31m<script>|*";

    fn line() -> CommitLine {
        let commit = |number: u32| CommitInfo {
            id: format!("{number:040x}"),
            tree: String::new(),
            parents: Vec::new(),
            committed_s: 0,
            author: HOSTILE.to_owned(),
            subject: HOSTILE.to_owned(),
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
        let label = faultline_model::drill::StepLabel::Undecided;
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
            explained,
        }
    }

    fn told(signs: &Signs) -> String {
        let items = items(&step(Some(explained())), &line(), signs);
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
        assert!(items(&step(None), &line(), &ASCII).is_empty());
    }

    #[test]
    fn what_cannot_be_compared_is_told() {
        for (linked, word) in [(LinkedChanges::Gone, "was deleted"), (LinkedChanges::None, "neither has")] {
            let items = super::linked(&StepExplained { linked, ..explained() }, &line(), &ASCII);
            assert!(items.len() == 1 && items[0].text.contains(word), "{}", items[0].text);
        }
    }
}
