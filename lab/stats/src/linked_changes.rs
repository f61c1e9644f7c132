//! Differences between the programs and libraries of two builds: files, and size changes of their
//! sections and functions.

use faultline_record::explained::{FunctionChanges, LinkedChange, LinkedChanges, LinkedFile, SizeChange, Sizes};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Differences between the linked files of two builds.
pub fn linked_changes(before: &[LinkedFile], after: &[LinkedFile]) -> LinkedChanges {
    if before.is_empty() && after.is_empty() {
        return LinkedChanges::None;
    }
    let by_path = |files: &'_ [LinkedFile]| -> BTreeMap<String, LinkedFile> {
        files.iter().map(|file| (file.path.clone(), file.clone())).collect()
    };
    let (before, after) = (by_path(before), by_path(after));
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut same = 0;
    let mut different = Vec::new();
    for path in paths {
        match (before.get(path), after.get(path)) {
            (Some(old), Some(new)) if old.digest == new.digest => same += 1,
            (old, new) => different.push(change(path, old, new)),
        }
    }
    let left_out = different.len().saturating_sub(LinkedChanges::MOST_FILES) as u32;
    different.sort_by_key(|change| Reverse(weight(change)));
    different.truncate(LinkedChanges::MOST_FILES);
    LinkedChanges::Compared { same, different, left_out }
}

fn change(path: &str, before: Option<&LinkedFile>, after: Option<&LinkedFile>) -> LinkedChange {
    let bytes = |file: Option<&LinkedFile>| file.map(|file| file.bytes);
    let file = SizeChange { name: path.to_owned(), before: bytes(before), after: bytes(after) };
    let (Some(before), Some(after)) = (before, after) else {
        return LinkedChange { file, sections: Vec::new(), functions: None };
    };
    let are_known = !before.functions.is_empty() && !after.functions.is_empty();
    LinkedChange {
        file,
        sections: sizes(&before.sections, &after.sections),
        functions: are_known.then(|| functions(before, after)),
    }
}

/// Total size difference of a file's sections, in bytes.
fn weight(change: &LinkedChange) -> u64 {
    change.sections.iter().map(SizeChange::difference).fold(change.file.difference(), u64::saturating_add)
}

/// Sizes that differ, the largest difference first.
fn sizes(before: &Sizes, after: &Sizes) -> Vec<SizeChange> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let change = |name: &String| SizeChange {
        name: name.clone(),
        before: before.get(name).copied(),
        after: after.get(name).copied(),
    };
    let mut changes: Vec<SizeChange> =
        names.into_iter().map(change).filter(|change| change.before != change.after).collect();
    changes.sort_by_key(|change| Reverse(change.difference()));
    changes
}

fn functions(before: &LinkedFile, after: &LinkedFile) -> FunctionChanges {
    let mut most = sizes(&before.functions, &after.functions);
    let has_other_code = |name: &&String| {
        let of = |file: &LinkedFile| Some((*file.functions.get(*name)?, *file.code.get(*name)?));
        of(before).zip(of(after)).is_some_and(|(before, after)| before.0 == after.0 && before.1 != after.1)
    };
    let size = |name: &String| before.functions.get(name).copied();
    let changed: Vec<&String> = before.code.keys().filter(has_other_code).collect();
    let number_changed = changed.len() as u32;
    let number = |is_such: fn(u64, u64) -> bool| {
        let both = most.iter().filter_map(|change| Some((change.before?, change.after?)));
        both.filter(|(before, after)| is_such(*before, *after)).count() as u32
    };
    let (grew, shrank) = (number(|before, after| after > before), number(|before, after| after < before));
    let came = most.iter().filter(|change| change.before.is_none()).count() as u32;
    let went = most.iter().filter(|change| change.after.is_none()).count() as u32;
    most.extend(changed.into_iter().map(|name| SizeChange {
        name: name.clone(),
        before: size(name),
        after: size(name),
    }));
    most.truncate(FunctionChanges::MOST);
    FunctionChanges { came, went, grew, shrank, changed: number_changed, most }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, digest: &str, functions: &[(&str, u64)]) -> LinkedFile {
        let functions: Sizes = functions.iter().map(|&(name, size)| (name.to_owned(), size)).collect();
        let text = functions.values().sum();
        LinkedFile {
            path: path.to_owned(),
            bytes: 1000 + text,
            digest: digest.to_owned(),
            sections: [(".text".to_owned(), text), (".data".to_owned(), 16)].into(),
            functions,
            code: BTreeMap::new(),
        }
    }

    #[test]
    fn a_function_of_equal_size_has_changed_if_its_code_differs() {
        let with_code = |digest: &str, code: u64| LinkedFile {
            code: [("f".to_owned(), code), ("g".to_owned(), 7)].into(),
            ..file("prog", digest, &[("f", 8), ("g", 8)])
        };
        let LinkedChanges::Compared { different, .. } = linked_changes(&[with_code("a", 1)], &[with_code("b", 2)])
        else {
            panic!("compared")
        };
        let functions = different[0].functions.as_ref().unwrap();
        assert_eq!((functions.changed, functions.grew, functions.most.len()), (1, 0, 1));
        assert_eq!(functions.most[0], SizeChange { name: "f".to_owned(), before: Some(8), after: Some(8) });
    }

    #[test]
    fn functions_come_go_grow_and_shrink() {
        let before =
            [file("prog", "a", &[("went", 8), ("grew", 8), ("shrank", 90), ("same", 5)]), file("lib.so", "l", &[])];
        let after =
            [file("prog", "b", &[("came", 30), ("grew", 12), ("shrank", 10), ("same", 5)]), file("lib.so", "l", &[])];
        let LinkedChanges::Compared { same: 1, different, left_out: 0 } = linked_changes(&before, &after) else {
            panic!("compared")
        };
        let [prog] = &different[..] else { panic!("{different:?}") };
        let functions = prog.functions.as_ref().unwrap();
        assert_eq!([functions.came, functions.went, functions.grew, functions.shrank], [1; 4]);
        let names: Vec<&str> = functions.most.iter().map(|change| change.name.as_str()).collect();
        assert_eq!(names, ["shrank", "came", "went", "grew"]);
        let [text] = &prog.sections[..] else { panic!("{prog:?}") };
        assert_eq!((text.name.as_str(), text.before, text.after), (".text", Some(111), Some(57)));
    }

    #[test]
    fn a_file_that_only_one_build_has_is_different() {
        let LinkedChanges::Compared { same: 0, different, .. } = linked_changes(&[], &[file("prog", "a", &[])]) else {
            panic!("compared")
        };
        assert_eq!((different[0].file.before, different[0].file.after), (None, Some(1000)));
        assert_eq!(linked_changes(&[], &[]), LinkedChanges::None);
    }

    #[test]
    fn without_symbols_functions_are_unknown() {
        let (before, after) = (file("prog", "a", &[("f", 8)]), file("prog", "b", &[]));
        let LinkedChanges::Compared { different, .. } = linked_changes(&[before], &[after]) else { panic!("compared") };
        assert_eq!(different[0].functions, None);
    }

    #[test]
    fn many_files_are_counted_and_few_are_kept() {
        let files: Vec<LinkedFile> =
            (0..25).map(|number| file(&format!("prog{number}"), "a", &[("f", number)])).collect();
        let LinkedChanges::Compared { different, left_out, .. } = linked_changes(&[], &files) else {
            panic!("compared")
        };
        assert_eq!((different.len(), left_out, different[0].file.name.as_str()), (10, 15, "prog24"));
    }
}
