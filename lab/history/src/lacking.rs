//! First mistakes with a build: no build command, or a program that the build does not leave.

use faultline_record::artefact::Artefact;
use faultline_record::recipe::Recipe;
use faultline_targets::search_path::{is_executable, program_file};
use std::path::Path;

/// The reason why a build in `directory` lacks the program of its command, with a remedy; `None` if
/// it has it, or if the program is elsewhere on this host. `checkout`: of the user, whose program
/// would be the same for all commits. `is_here`: this host runs it, so its `PATH` counts.
pub(crate) fn lacking(
    artefact: &Artefact,
    recipe: &Recipe,
    directory: &Path,
    checkout: Option<&Path>,
    is_here: bool,
) -> Option<String> {
    let word = artefact.command().first()?;
    if word.starts_with('/') {
        let within = Path::new(word).strip_prefix(checkout?).ok()?;
        return Some(format!("{word} is in your checkout, not in the build: write ./{}", within.display()));
    }
    if !word.contains('/') {
        let is_built = is_here && is_executable(&directory.join(word));
        let missing = program_file(word, directory, None).err().filter(|_| is_built)?;
        return Some(format!("{}; the build leaves ./{word}", missing.problem));
    }
    let missing = program_file(word, directory, None).err()?;
    if directory.join(word).exists() {
        return Some(missing.problem);
    }
    Some(match (recipe.command.is_empty(), recipe.kept.is_empty()) {
        (true, _) => {
            format!("the commit has no {word}, and no build command makes it: give one with `--build COMMAND`")
        }
        (false, false) => {
            format!(
                "{word} is not among the kept files of the build ({}): `--keep PATH` adds it",
                recipe.kept.join(", ")
            )
        }
        (false, true) => format!(
            "the build command `{}` leaves no {word}: check it, and the path from the top of the checkout",
            recipe.command.join(" ")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn of(word: &str, build: &[&str], kept: &[&str], is_here: bool) -> Option<String> {
        let directory = tempfile::tempdir().unwrap();
        let files = [("no-such-program-in-path", 0o755), ("text", 0o644)];
        for (name, mode) in files {
            let file = directory.path().join(name);
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        }
        let words = |all: &[&str]| all.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let recipe = Recipe { command: words(build), kept: words(kept), ..Recipe::default() };
        let checkout = Some(Path::new("/home/a/checkout"));
        lacking(&Artefact::Command(words(&[word])), &recipe, directory.path(), checkout, is_here)
    }

    #[test]
    fn each_first_mistake_has_its_remedy() {
        let reason = |word, build: &[&str], kept: &[&str]| of(word, build, kept, true).unwrap();
        assert!(reason("./prog", &[], &[]).contains("no build command makes it: give one with `--build COMMAND`"));
        let nothing = reason("./prog", &["make", "all"], &[]);
        assert!(nothing.starts_with("the build command `make all` leaves no ./prog: check it"), "{nothing}");
        let kept = reason("./prog", &["make"], &["a", "b"]);
        assert_eq!(kept, "./prog is not among the kept files of the build (a, b): `--keep PATH` adds it");
        assert_eq!(reason("./text", &[], &[]), "cannot run ./text: it is not executable");
        let name = reason("no-such-program-in-path", &["make"], &[]);
        let elsewhere = reason("/home/a/checkout/bin/prog", &["make"], &[]);
        assert!(elsewhere.ends_with(" is in your checkout, not in the build: write ./bin/prog"), "{elsewhere}");
        assert!(name.ends_with("in PATH; the build leaves ./no-such-program-in-path"), "{name}");
    }

    #[test]
    fn programs_that_are_there_or_elsewhere_are_no_mistakes() {
        for word in ["./no-such-program-in-path", "/nowhere/prog", "sh", "nothing-here"] {
            assert_eq!(of(word, &["make"], &[], true), None, "{word}");
        }
        assert_eq!(of("no-such-program-in-path", &["make"], &[], false), None, "another host may have it");
    }
}
