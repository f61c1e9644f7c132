//! What is known of a step besides its values, as lines of text: files that commits changed, and how what was linked differs. Names of files and functions come
//! from outside, and are shown without control characters.

use crate::grid::escape_markdown;
use crate::one_line::one_line;
use crate::style::{Signs, Style};
use faultline_model::explained::{FileChange, FilesChanged, FunctionChanges, LinkedChange, LinkedChanges, SizeChange};

/// Files of a commit that are shown.
const FILES: usize = 8;

/// Sections of a file that are shown.
const SECTIONS: usize = 6;

/// Functions of each kind that are shown.
const FUNCTIONS: usize = 5;

/// A line of text, and how deep it lies below the step.
pub(crate) struct Item {
    /// How deep it lies.
    pub(crate) depth: usize,
    /// The text.
    pub(crate) text: String,
}

impl Item {
    /// A line.
    pub(crate) fn new(depth: usize, text: String) -> Self {
        Item { depth, text }
    }

    /// The same, one level deeper.
    pub(crate) fn below(self) -> Self {
        Item { depth: self.depth + 1, ..self }
    }

    /// Indented text.
    pub(crate) fn all_text(items: &[Item], style: &Style) -> String {
        let indented = |item: &Item| {
            let indent = "  ".repeat(item.depth);
            style.wrap(&item.text, &indent, &format!("{indent}    ")).join("\n") + "\n"
        };
        items.iter().map(indented).collect()
    }

    /// A list with lists.
    pub(crate) fn all_markdown(items: &[Item]) -> String {
        let line = |item: &Item| format!("{}- {}\n", "  ".repeat(item.depth), escape_markdown(&item.text));
        items.iter().map(line).collect()
    }
}

/// Files that differ.
pub(crate) fn files(files: &FilesChanged, signs: &Signs) -> Vec<Item> {
    let number = counted(files.number.into(), "file");
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

/// How what was linked differs between the builds of two commits with these names.
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

    #[test]
    fn what_cannot_be_compared_is_told() {
        for (changes, word) in [(LinkedChanges::Gone, "was deleted"), (LinkedChanges::None, "neither has")] {
            let items = linked(&changes, &["a".to_owned(), "b".to_owned()], &ASCII);
            assert!(items.len() == 1 && items[0].text.contains(word), "{}", items[0].text);
        }
    }
}
