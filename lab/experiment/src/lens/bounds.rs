//! Functions that begin or end the counted region of a program: their code, by which the lens
//! recognises them.

use crate::error::Error;
use faultline_record::lens::settings::Bounds;
use faultline_symbols::{DebugDirectories, FunctionCode, Image};
use faultline_targets::counting::{FunctionStart, RegionBounds};
use faultline_targets::program_files::ProgramFiles;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// First bytes of an ELF file.
const ELF: &[u8] = b"\x7fELF";

/// The bounds with the code of their functions, in these files. `process`: the program to count, if
/// it is not the first. Fails if no file has such a function, if its code is not unique, or if both
/// are one function.
pub(super) fn found(
    bounds: &Bounds,
    process: Option<&str>,
    files: &ProgramFiles,
    debug: &DebugDirectories,
) -> Result<RegionBounds, Error> {
    let find = |name: &Option<String>| name.as_deref().map(|name| function(name, process, files, debug)).transpose();
    let (from, to) = (find(&bounds.from)?, find(&bounds.to)?);
    check_differ(from.as_ref(), to.as_ref())?;
    Ok(RegionBounds { from, to, after_ms: bounds.after_ms })
}

/// Refuses a function that begins and ends the region, also under two names: each of its calls
/// would do either, and count nothing or what is between two calls.
fn check_differ(from: Option<&FunctionStart>, to: Option<&FunctionStart>) -> Result<(), Error> {
    let code = |function: &FunctionStart| (function.page_offset, function.bytes.clone());
    let (Some(from), Some(to)) = (from, to) else { return Ok(()) };
    if code(from) != code(to) {
        return Ok(());
    }
    let names = if from.name == to.name { from.name.clone() } else { format!("{} and {}", from.name, to.name) };
    Err(Error::usage(
        format!("the region would begin and end with the same function, {names}"),
        "name a function that is called later with `--to`, or leave one of both out",
    ))
}

fn function(
    name: &str,
    process: Option<&str>,
    files: &ProgramFiles,
    debug: &DebugDirectories,
) -> Result<FunctionStart, Error> {
    let candidates = candidates(process, files);
    let found = candidates.iter().find_map(|path| {
        let image = Image::read_with_debug_file(path, debug).ok()?;
        let functions = image.functions_named(name, &std::fs::read(path).ok()?);
        (!functions.is_empty()).then_some((path, functions))
    });
    let Some((path, functions)) = found else {
        return Err(Error::usage(
            format!("no file of the guest has a function {name}"),
            "write it as the table of code shows it; a file without symbols has only the functions that it exports",
        ));
    };
    let [FunctionCode { page_offset, bytes }] = &functions[..] else {
        return Err(Error::usage(
            format!("{} has {} functions {name}", path.display(), functions.len()),
            "name one whose name is unique",
        ));
    };
    let alike: usize = candidates.iter().map(|path| places_like(&functions[0], path)).sum();
    if alike > 1 {
        return Err(Error::usage(
            format!("the code of {name} cannot be distinguished from that of another function"),
            "name a function that calls it, or that it calls",
        ));
    }
    Ok(FunctionStart { name: name.to_owned(), page_offset: *page_offset, bytes: bytes.clone() })
}

fn places_like(function: &FunctionCode, path: &Path) -> usize {
    let Ok(bytes) = std::fs::read(path) else { return 0 };
    Image::parse(&bytes).map_or(0, |image| image.places_like(function, &bytes))
}

/// The ELF files of the guest: the counted program's first, then libraries, then others.
fn candidates(process: Option<&str>, files: &ProgramFiles) -> Vec<PathBuf> {
    let own = process.and_then(|name| files.file_named(name));
    let is_library = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"));
    let rank = |path: &Path| (own.as_deref() != Some(path), process.is_some() && !is_library(path));
    let mut all: Vec<PathBuf> =
        files.sources().map(|(_, source)| source.to_owned()).filter(|path| is_elf(path)).collect();
    all.sort_by_key(|path| rank(path));
    // A guest may have a file at several paths.
    let mut seen = HashSet::new();
    all.retain(|path| seen.insert(path.clone()));
    all
}

fn is_elf(path: &Path) -> bool {
    let mut first = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut first));
    read.is_ok() && first == ELF
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_targets::program_files::With;

    #[test]
    fn a_file_at_several_paths_is_one_candidate() {
        let [own, other] = ["/bin/ls", "/bin/true"].map(|path| Path::new(path).canonicalize().unwrap());
        let with = |source: &Path, place: &str| With { source: source.to_owned(), place: Some(place.into()) };
        let with = [with(&other, "/srv/a"), with(&own, "/srv/b"), with(&other, "/srv/c")];
        let argv = [own.to_str().unwrap().to_owned()];
        let files = ProgramFiles::find(&argv, Path::new("/"), &with, &[]).unwrap();
        let all = candidates(None, &files);
        let distinct: HashSet<_> = all.iter().collect();
        assert_eq!(all.len(), distinct.len(), "{all:?}");
        assert!(all.contains(&other), "{all:?}");
    }

    #[test]
    fn one_function_is_not_both_bounds() {
        let function =
            |name: &str, page_offset| FunctionStart { name: name.to_owned(), page_offset, bytes: vec![0xf3, 0x0f] };
        let (work, alias, end) = (function("work", 16), function("labour", 16), function("end", 32));
        assert_eq!(check_differ(Some(&work), Some(&end)), Ok(()));
        assert_eq!(check_differ(Some(&work), None), Ok(()));
        for (to, names) in [(&work, "function, work"), (&alias, "function, work and labour")] {
            let refused = check_differ(Some(&work), Some(to)).unwrap_err();
            assert!(refused.problem.ends_with(names) && refused.hint.is_some(), "{refused}");
        }
    }
}
