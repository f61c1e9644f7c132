//! Commits, checkouts and builds with a real git and a real keeper: this program is its own.

use faultline_experiment::{Error, Lab, LocalMachines, Notice, Observer, Places};
use faultline_history::build::Build;
use faultline_history::declared::{Pick, Walk, Which};
use faultline_history::repository::Patched;
use faultline_history::{Commits, Relink, Relinked, Revert, Reverted, Workshop, linker};
use faultline_model::artefact::{Artefact, BuiltKernel};
use faultline_model::machine::Accelerator;
use faultline_model::outcome::Outcome;
use faultline_model::plan::PlanItem;
use faultline_model::recipe::Recipe;
use faultline_model::record::RunHead;
use faultline_model::relink::{LayoutKind, RelinkResult, SectionOrder, SectionSpacing};
use faultline_runner::{RunProgress, SystemClock};
use faultline_targets::{StopFlag, keeper};
use libtest_mimic::{Arguments, Trial};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use tempfile::TempDir;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == keeper::ARGUMENT => keeper::run(arguments),
        Some(first) if first == linker::ARGUMENT => linker::run(arguments),
        _ => libtest_mimic::run(&Arguments::from_args(), tests()).exit_code(),
    }
}

fn tests() -> Vec<Trial> {
    let all: [(&str, fn()); 24] = [
        ("a_line_has_every_commit_of_first_parents", a_line_has_every_commit_of_first_parents),
        ("a_history_has_first_parents_all_ancestors_or_tags", a_history_has_first_parents_all_ancestors_or_tags),
        ("names_that_lead_nowhere_are_refused", names_that_lead_nowhere_are_refused),
        ("hostile_names_harm_nothing", hostile_names_harm_nothing),
        ("the_files_of_a_commit_are_counted", the_files_of_a_commit_are_counted),
        ("nothing_that_a_repository_configures_is_executed", nothing_that_a_repository_configures_is_executed),
        ("a_build_is_made_once_for_each_tree", a_build_is_made_once_for_each_tree),
        ("a_build_that_fails_is_a_result", a_build_that_fails_is_a_result),
        ("objects_of_the_last_build_are_used_again", objects_of_the_last_build_are_used_again),
        ("another_compiler_makes_another_build", another_compiler_makes_another_build),
        ("a_layout_moves_code_and_data_and_its_seed_repeats_it", a_layout_moves_code_and_data_and_its_seed_repeats_it),
        ("builds_that_do_the_same_are_known", builds_that_do_the_same_are_known),
        ("a_kernel_gets_layouts_by_its_own_script", a_kernel_gets_layouts_by_its_own_script),
        ("links_that_take_no_layout_are_unchanged", links_that_take_no_layout_are_unchanged),
        ("a_full_disk_is_no_result_of_a_commit", a_full_disk_is_no_result_of_a_commit),
        ("a_build_that_was_cut_leaves_nothing_for_the_next", a_build_that_was_cut_leaves_nothing_for_the_next),
        ("worktrees_of_a_repository_share_its_builds", worktrees_of_a_repository_share_its_builds),
        (
            "another_repository_at_the_same_path_has_its_own_builds",
            another_repository_at_the_same_path_has_its_own_builds,
        ),
        ("one_command_at_a_time_uses_a_workshop", one_command_at_a_time_uses_a_workshop),
        ("patches_of_mails_and_diffs_are_applied_in_order", patches_of_mails_and_diffs_are_applied_in_order),
        ("patches_that_do_not_apply_are_refused", patches_that_do_not_apply_are_refused),
        ("hostile_patches_are_refused", hostile_patches_are_refused),
        ("what_a_repository_configures_has_no_part_in_applying", what_a_repository_configures_has_no_part_in_applying),
        (
            "a_commit_is_undone_on_top_of_a_newer_one_or_conflicts",
            a_commit_is_undone_on_top_of_a_newer_one_or_conflicts,
        ),
    ];
    let trial = |(name, test): (&str, fn())| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    all.map(trial).into()
}

/// Hears nothing.
struct Deaf;

impl faultline_runner::Observer for Deaf {
    fn item_begins(&mut self, _: &PlanItem, _: &RunProgress) {}
    fn interval(&mut self, _: &PlanItem, _: f64) {}
    fn item_ends(&mut self, _: &PlanItem, _: &Outcome, _: Option<f64>, _: &RunProgress) {}
}

impl Observer for Deaf {
    fn measuring_begins(&mut self, _: &RunHead) {}
    fn measuring_ends(&mut self) {}
    fn notice(&mut self, _: &Notice) {}
}

/// A repository of a user's, and our place for it.
struct Place {
    root: TempDir,
    /// The name of the user's directory.
    at: &'static str,
}

impl Place {
    fn new() -> Self {
        let place = Place { root: tempfile::tempdir().unwrap(), at: "theirs" };
        fs::create_dir(place.theirs()).unwrap();
        fs::create_dir(place.root.path().join("scratch")).unwrap();
        place.git(&["init", "--quiet", "--initial-branch=main"]);
        place
    }

    fn theirs(&self) -> PathBuf {
        self.root.path().join(self.at)
    }

    fn git(&self, arguments: &[&str]) -> String {
        let named = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        let output = Command::new("git").current_dir(self.theirs()).args(named).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self, file: &str, text: &str, subject: &str) -> String {
        fs::write(self.theirs().join(file), text).unwrap();
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", subject]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn places(&self) -> Places {
        let cache = Some(self.root.path().join("cache"));
        Places { scratch: self.root.path().join("scratch"), cache, ..Places::find().unwrap() }
    }

    fn with<T>(&self, used: impl FnOnce(&Workshop, &Lab<'_>) -> T) -> T {
        self.opened(|workshop, lab| used(&workshop.unwrap(), lab))
    }

    fn opened<T>(&self, used: impl FnOnce(Result<Workshop, Error>, &Lab<'_>) -> T) -> T {
        let (places, stop, mut observer) = (self.places(), StopFlag::default(), Deaf);
        let lab = Lab {
            places: &places,
            machines: &LocalMachines,
            clock: &SystemClock::default(),
            stop: &stop,
            observer: &mut observer,
        };
        used(Workshop::open(&self.theirs(), None, &lab), &lab)
    }
}

fn recipe(script: &str) -> Recipe {
    Recipe {
        command: ["sh", "-c", script].map(str::to_owned).into(),
        environment: Vec::new(),
        limit_s: 60,
        kept: Vec::new(),
        is_clean: false,
    }
}

fn build(place: &Place, name: &str, recipe: &Recipe) -> Build {
    place.with(|workshop, lab| {
        let commit = workshop.repository.commit(name, lab).unwrap();
        workshop.build(&commit, recipe, &workshop.tools(recipe, lab).unwrap(), lab).unwrap()
    })
}

fn built(place: &Place, name: &str, recipe: &Recipe) -> (PathBuf, bool) {
    match build(place, name, recipe) {
        Build::Built { directory, is_old } => (directory, is_old),
        Build::Failed { how, output } => panic!("{how}: {output}"),
    }
}

fn a_line_has_every_commit_of_first_parents() {
    let place = Place::new();
    let first = place.commit("a", "1", "one");
    let second = place.commit("a", "2", "two");
    place.git(&["checkout", "--quiet", "-b", "side"]);
    let aside = place.commit("b", "1", "aside");
    place.git(&["checkout", "--quiet", "main"]);
    place.git(&["merge", "--quiet", "--no-ff", "--message", "merge", "side"]);
    let merge = place.git(&["rev-parse", "HEAD"]);
    place.git(&["tag", "v1", &second]);
    place.with(|workshop, lab| {
        let line = workshop.repository.line(&first[..8], "HEAD", lab).unwrap();
        let ids: Vec<&str> = line.commits.iter().map(|commit| commit.id.as_str()).collect();
        assert_eq!(ids, [&first, &second, &merge]);
        assert_eq!(line.commits[2].parents, [second.as_str(), aside.as_str()]);
        assert_eq!((line.commits[1].subject.as_str(), line.commits[1].author.as_str()), ("two", "A"));
        assert_eq!(workshop.repository.line("v1", "main", lab).unwrap().commits.len(), 2);
        let refused = |old: &str, new: &str| workshop.repository.line(old, new, lab).unwrap_err();
        assert!(refused("main", "v1").problem.contains("'v1' is older than 'main'"));
        assert!(refused("side", "HEAD").hint.unwrap().contains(&aside));
        assert!(refused("v1", &second).problem.contains("are the same commit"));
    });
    // A commit that is made later is found too.
    let last = place.commit("a", "3", "three");
    place.with(|workshop, lab| assert_eq!(workshop.repository.commit("HEAD", lab).unwrap().id, last));
}

fn a_history_has_first_parents_all_ancestors_or_tags() {
    let place = Place::new();
    let first = place.commit("a", "1\n", "one");
    let second = place.commit("a", "2\n", "two");
    place.git(&["tag", "light", &second]);
    place.git(&["checkout", "--quiet", "-b", "side"]);
    let aside = place.commit("b\n\t<b>", "1\n2\n", "aside");
    place.git(&["tag", "--annotate", "--message", "x", "heavy", &aside]);
    place.git(&["checkout", "--quiet", "main"]);
    place.git(&["merge", "--quiet", "--no-ff", "--message", "merge", "side"]);
    let merge = place.git(&["rev-parse", "HEAD"]);
    let branch = |since: Option<&str>, walk| Which::Branch {
        newest: "main".to_owned(),
        since: since.map(str::to_owned),
        pick: Pick::Every(1),
        walk,
    };
    place.with(|workshop, lab| {
        let walked = |which: &Which| workshop.walk(which, lab).unwrap();
        let ids = |which: &Which| walked(which).commits.into_iter().map(|commit| commit.id).collect::<Vec<_>>();
        let all = branch(None, Walk::FirstParent);
        assert_eq!(ids(&all), [&first, &second, &merge].map(String::as_str));
        assert!([&second, &aside].iter().all(|id| walked(&all).tagged.contains(*id)));
        assert_eq!(ids(&branch(None, Walk::Full)), [&first, &second, &aside, &merge].map(String::as_str));
        assert_eq!(ids(&branch(Some("light"), Walk::Full)), [&second, &aside, &merge].map(String::as_str));
        let named = Which::Named(vec!["heavy".to_owned(), first.clone(), aside.clone()]);
        assert_eq!(ids(&named), [&aside, &first].map(String::as_str));
        let error = workshop.walk(&branch(Some("nonsense"), Walk::Full), lab).unwrap_err();
        assert_eq!(error.problem, "the repository has no commit 'nonsense'");
        let between = workshop.repository.commits_between(&second, &merge, lab).unwrap();
        assert_eq!((between.count, between.commits.len()), (2, 2));
        assert_eq!(between.authors[0].commits, 2);
    });
}

fn names_that_lead_nowhere_are_refused() {
    let place = Place::new();
    place.commit("a", "1", "one");
    place.with(|workshop, lab| {
        for name in ["", "no-such", "--help", "HEAD~9", "HEAD:a", "-n1", "a b", "\u{1b}[31m"] {
            let error = workshop.repository.commit(name, lab).unwrap_err();
            assert!(error.problem.starts_with("the repository has no commit '"), "{}", error.problem);
            assert!(!error.problem.contains('\u{1b}'));
        }
    });
    let nowhere = Place { root: tempfile::tempdir().unwrap(), at: "theirs" };
    fs::create_dir_all(nowhere.theirs()).unwrap();
    fs::create_dir(nowhere.root.path().join("scratch")).unwrap();
    nowhere.opened(|workshop, _| {
        let error = workshop.unwrap_err();
        assert!(error.problem.contains("not a git repository"), "{}", error.problem);
        assert!(error.hint.unwrap().contains("--repository"));
    });
}

fn hostile_names_harm_nothing() {
    let place = Place::new();
    let subject = "a\"b' $(touch harm) `touch harm` <script> \u{1b}]0;x\u{7}";
    place.commit("-rf $(touch harm)\n\"'", "1", subject);
    let branch = "b$(touch${IFS}harm)'\"";
    place.git(&["branch", branch]);
    let made = place.commit("--x", "2", "two");
    place.with(|workshop, lab| {
        assert_eq!(workshop.repository.commit(branch, lab).unwrap().subject, subject);
        let line = workshop.repository.line(branch, "main", lab).unwrap();
        assert_eq!(line.commits[1].id, made);
    });
    let (directory, _) = built(&place, "main", &recipe("counted=$(ls -A | wc -l); echo $counted > counted"));
    assert_eq!(fs::read_to_string(directory.join("counted")).unwrap().trim(), "3");
    assert!(directory.join("-rf $(touch harm)\n\"'").is_file());
    assert!(!find(place.root.path(), "harm"));
}

fn the_files_of_a_commit_are_counted() {
    let place = Place::new();
    let name = "-rf $(touch harm)\n\"'\t\u{1b}ü";
    place.commit(name, "1\n2\n", "one");
    fs::write(place.theirs().join("binary"), b"\0\x01\x02").unwrap();
    place.commit(name, "1\n3\n4\n", "two");
    place.with(|workshop, lab| {
        let line = workshop.repository.line("HEAD~1", "HEAD", lab).unwrap();
        let files = workshop.files(&line.commits[0], &line.commits[1], lab).unwrap();
        assert_eq!((files.number, files.added, files.removed), (2, 2, 1));
        assert_eq!(files.most[0].path, name);
        assert_eq!((files.most[1].path.as_str(), files.most[1].lines), ("binary", None));
    });
    assert!(!find(place.root.path(), "harm"));
}

/// Whether there is a file of that name below a directory.
fn find(directory: &Path, name: &str) -> bool {
    fs::read_dir(directory)
        .unwrap()
        .map(Result::unwrap)
        .any(|entry| entry.file_name() == name || (entry.file_type().unwrap().is_dir() && find(&entry.path(), name)))
}

fn nothing_that_a_repository_configures_is_executed() {
    let place = Place::new();
    fs::write(place.theirs().join(".gitattributes"), "* filter=f diff=d merge=m\n").unwrap();
    place.commit("a", "1", "one");
    let harm = place.root.path().join("harm");
    let script = format!("#!/bin/sh\ntouch {}\ncat\n", harm.display());
    let hooks = place.theirs().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let file = place.root.path().join("script");
    fs::write(&file, &script).unwrap();
    for name in ["post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc"] {
        fs::write(hooks.join(name), &script).unwrap();
    }
    assert!(Command::new("chmod").arg("-R").arg("+x").args([&file, &hooks]).status().unwrap().success());
    let file = file.to_str().unwrap();
    for key in [
        "filter.f.smudge",
        "filter.f.clean",
        "filter.f.process",
        "core.fsmonitor",
        "diff.d.textconv",
        "diff.external",
        "uploadpack.packObjectsHook",
        "core.sshCommand",
        "core.pager",
        "gpg.program",
    ] {
        place.git(&["config", key, file]);
    }
    place.git(&["config", "log.showSignature", "true"]);
    let (directory, _) = built(&place, "HEAD", &recipe("true"));
    assert_eq!(fs::read_to_string(directory.join("a")).unwrap(), "1");
    assert!(!harm.exists());
    // Git of the user's own does execute it.
    place.git(&["checkout", "--quiet", "--force", "HEAD~0"]);
    assert!(harm.exists());
}

fn a_build_is_made_once_for_each_tree() {
    let place = Place::new();
    place.commit("a", "1", "one");
    place.commit("a", "2", "two");
    place.commit("a", "1", "one again");
    let first = recipe("cp a b; mkdir -p c; ln -sf ../b c/link; echo x >> ../count");
    let (old, was_there) = built(&place, "HEAD~2", &first);
    assert!(!was_there);
    assert_eq!(fs::read_to_string(old.join("c/link")).unwrap(), "1");
    assert!(fs::symlink_metadata(old.join("c/link")).unwrap().is_symlink());
    let (two, _) = built(&place, "HEAD~1", &first);
    assert_eq!(fs::read_to_string(two.join("b")).unwrap(), "2");
    assert_eq!(built(&place, "HEAD", &first), (old.clone(), true), "the same files are built once");
    assert_eq!(old.as_os_str().len(), two.as_os_str().len());
    let part = Recipe { kept: vec!["c/link".to_owned(), "b".to_owned()], ..first };
    let (kept, _) = built(&place, "HEAD", &part);
    assert!(kept.join("b").is_file() && !kept.join("a").exists());
    assert!(place.git(&["status", "--porcelain"]).is_empty(), "the user's checkout is not touched");
}

fn a_build_that_fails_is_a_result() {
    let place = Place::new();
    place.commit("a", "1", "one");
    let failed = |recipe: &Recipe| match build(&place, "HEAD", recipe) {
        Build::Failed { how, output } => (how, output),
        built => panic!("{built:?}"),
    };
    let (how, output) = failed(&recipe("echo first; echo '\u{1b}[1mlast' >&2; exit 3"));
    assert_eq!((how.as_str(), output.as_str()), ("it ends with status 3", "first\n\u{1b}[1mlast"));
    assert_eq!(failed(&recipe("kill -9 $$")).0, "signal 9 ends it");
    let slow = Recipe { limit_s: 1, ..recipe("sleep 60") };
    assert_eq!(failed(&slow).0, "it has not ended after 1 s");
    let missing = Recipe { command: vec!["no-such-program".to_owned()], ..recipe("") };
    assert_eq!(failed(&missing).0, "there is no program 'no-such-program' in PATH");
    let nothing = Recipe { kept: vec!["b".to_owned()], ..recipe("true") };
    assert_eq!(failed(&nothing).0, "it leaves no b");
}

fn objects_of_the_last_build_are_used_again() {
    let place = Place::new();
    place.commit("a", "1", "one");
    place.commit("b", "1", "two");
    let script = "[ -e object ] || { echo made; cp a object; }; echo done > result";
    let (first, _) = built(&place, "HEAD~1", &recipe(script));
    let written = |directory: &Path| fs::metadata(directory.join("object")).unwrap().modified().unwrap();
    let (second, _) = built(&place, "HEAD", &recipe(script));
    assert_eq!(written(&first), written(&second));
    let clean = Recipe { is_clean: true, ..recipe(script) };
    let (third, _) = built(&place, "HEAD", &clean);
    assert_ne!(written(&second), written(&third));
}

fn another_compiler_makes_another_build() {
    let place = Place::new();
    place.commit("a", "1", "one");
    let compiler = place.root.path().join("compiler");
    let release = |version: &str| {
        fs::write(&compiler, format!("#!/bin/sh\necho {version}\n")).unwrap();
        fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let environment = vec![("CC".to_owned(), compiler.to_str().unwrap().to_owned())];
    let recipe = Recipe { environment, ..recipe("[ -e object ] || $CC > object") };
    release("first");
    let (first, _) = built(&place, "HEAD", &recipe);
    assert_eq!(built(&place, "HEAD", &recipe), (first.clone(), true));
    release("second");
    let (second, was_there) = built(&place, "HEAD", &recipe);
    assert!(!was_there);
    let object = |directory: &Path| fs::read_to_string(directory.join("object")).unwrap();
    assert_eq!((object(&first).as_str(), object(&second).as_str()), ("first\n", "second\n"), "no old object is used");
    release("first");
    assert_eq!(built(&place, "HEAD", &recipe), (first, true), "both are kept");
}

/// A program of three files, which prints the order of two functions.
fn linked_program(place: &Place) {
    let main =
        "#include <stdio.h>\nint f(int), g(int);\nint main(void) { printf(\"%d\\n\", f(1) + g(1)); return 0; }\n";
    fs::write(place.theirs().join("main.c"), main).unwrap();
    fs::write(place.theirs().join("f.c"), "int counter;\nint f(int x) { return x + counter; }\n").unwrap();
    fs::write(place.theirs().join("g.c"), "int other = 4;\nint g(int x) { return x * other; }\n").unwrap();
    let makefile = "prog: main.o f.o g.o\n\tcc -o $@ $^ $(LINK)\n\techo linked >> links\n";
    place.commit("Makefile", makefile, "a program");
}

fn make(link: &str) -> Recipe {
    Recipe { command: vec!["make".to_owned(), format!("LINK={link}")], kept: vec!["prog".to_owned()], ..recipe("") }
}

/// What comes of a layout of HEAD.
fn relinked(place: &Place, recipe: &Recipe, kind: LayoutKind, seed: u32) -> Relinked {
    relinked_as(&Artefact::Command(vec!["./prog".to_owned()]), place, recipe, kind, seed)
}

fn relinked_as(artefact: &Artefact, place: &Place, recipe: &Recipe, kind: LayoutKind, seed: u32) -> Relinked {
    let (own, _) = built(place, "HEAD", recipe);
    place.with(|workshop, lab| {
        let commit = workshop.repository.commit("HEAD", lab).unwrap();
        let asked = Relink { commit: &commit, layout: kind.with_seed(seed), own: &own, artefact };
        workshop.relink(&asked, recipe, &workshop.tools(recipe, lab).unwrap(), lab).unwrap()
    })
}

fn places(relinked: &Relinked) -> &str {
    match &relinked.result {
        RelinkResult::Placed { places } => places,
        other => panic!("{other:?}"),
    }
}

fn a_layout_moves_code_and_data_and_its_seed_repeats_it() {
    let place = Place::new();
    linked_program(&place);
    let recipe = make("");
    let kind = LayoutKind::default();
    let first = relinked(&place, &recipe, kind, 1);
    let directory = first.directory.clone().unwrap();
    let run = Command::new(directory.join("prog")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&run.stdout), "5\n");
    let checkout = directory.parent().unwrap().with_file_name("tree");
    assert!(!checkout.with_file_name("linker").exists(), "the linker wrapper is gone");

    // The same seed gives the same bytes again, and another seed other places.
    let bytes = fs::read(directory.join("prog")).unwrap();
    fs::remove_dir_all(&directory).unwrap();
    let again = relinked(&place, &recipe, kind, 1);
    assert!(places(&again) == places(&first) && fs::read(directory.join("prog")).unwrap() == bytes);
    assert_ne!(places(&relinked(&place, &recipe, kind, 2)), places(&first));

    // Every order and spacing that draws something moves something.
    for order in [SectionOrder::Keep, SectionOrder::Random, SectionOrder::Sort] {
        for spacing in [SectionSpacing::None, SectionSpacing::Gap, SectionSpacing::Align] {
            let kind = LayoutKind { order, spacing };
            if kind.is_random() {
                let all = [1, 2, 3, 4].map(|seed| relinked(&place, &recipe, kind, seed).result);
                assert!(all.iter().any(|result| matches!(result, RelinkResult::Placed { .. })), "{kind:?}: {all:?}");
            }
        }
    }

    // A build without a layout is not made of what a layout left, and objects are compiled once.
    let (own, _) = built(&place, "HEAD", &recipe);
    let own = fs::read(own.join("prog")).unwrap();
    place.commit("NEWS", "1", "the same program");
    let (next, _) = built(&place, "HEAD", &recipe);
    assert!(fs::read(next.join("prog")).unwrap() == own);
    let objects = fs::metadata(checkout.join("f.o")).unwrap().modified().unwrap();
    relinked(&place, &recipe, kind, 1);
    assert_eq!(fs::metadata(checkout.join("f.o")).unwrap().modified().unwrap(), objects);
}

fn builds_that_do_the_same_are_known() {
    let place = Place::new();
    let recipe = Recipe {
        command: ["cc", "-g", "-o", "prog", "a.c"].map(str::to_owned).into(),
        kept: vec!["prog".to_owned()],
        ..recipe("")
    };
    let first_of = |text: &str| {
        place.commit("a.c", text, "a program");
        let (directory, _) = built(&place, "HEAD", &recipe);
        (place.with(|workshop, _| workshop.first_like(&directory)), directory)
    };
    let (first, own) = first_of("int main(void) { return 1; }\n");
    assert_eq!(first, own);
    // Debugging information differs.
    let (same, commented) = first_of("\n\n/* nothing */\nint main(void) { return 1; }\n");
    assert!(same == own && commented != own && commented.join("prog").is_file());
    let (other, changed) = first_of("int main(void) { return 2; }\n");
    assert_eq!(other, changed);
    // What is gone is the first of nothing.
    fs::remove_dir_all(&own).unwrap();
    assert_eq!(place.with(|workshop, _| workshop.first_like(&commented)), commented);
}

/// It is linked as Linux is: of a thin archive, by a script of its own, and a tool of its build is linked besides.
fn a_kernel_gets_layouts_by_its_own_script() {
    let place = Place::new();
    let script = "ENTRY(first) SECTIONS { . = 0x400000;\n  .text : { _stext = .; *(.text.hot) *(.text) }\n  __init_begin = .;\n  \
        .data : { *(.data..percpu) *(.data) }\n  .bss : { *(.bss) *(COMMON) } }\n";
    fs::write(place.theirs().join("kernel.lds"), script).unwrap();
    fs::write(place.theirs().join("tool.c"), "int main(void) { return 0; }\n").unwrap();
    for name in ["first", "second", "third"] {
        let percpu = "__attribute__((section(\".data..percpu\")))";
        let text = format!(
            "int {name}_data = 1; {percpu} int {name}_percpu = 2;\nint {name}(int x) {{ return x + {name}_data; }}\n"
        );
        fs::write(place.theirs().join(format!("{name}.c")), text).unwrap();
    }
    let makefile = "image: vmlinux\n\tobjcopy -S vmlinux image\nvmlinux: tool first.o second.o third.o\n\t\
        rm -f all.a && ar rcsT all.a first.o second.o third.o\n\t\
        ld --script=kernel.lds -o vmlinux --whole-archive all.a --no-whole-archive\n\
        %.o: %.c\n\tcc -c -O1 -fno-pie -fcf-protection=none -o $@ $<\ntool: tool.c\n\tcc -o $@ $<\n";
    place.commit("Makefile", makefile, "a kernel");
    let kept = ["image", "vmlinux"].map(str::to_owned).to_vec();
    let recipe = Recipe { command: vec!["make".to_owned()], kept, ..recipe("") };
    for vmlinux in [None, Some("vmlinux".to_owned())] {
        let kernel = BuiltKernel {
            image: "image".to_owned(),
            vmlinux,
            workload: "zero_fill:base".to_owned(),
            mode: None,
            accelerator: Accelerator::default(),
        };
        let kernel = Artefact::Kernel(Box::new(kernel));
        let relinked = |seed| relinked_as(&kernel, &place, &recipe, LayoutKind::default(), seed);
        let layouts: BTreeSet<String> = (1..5).map(|seed| places(&relinked(seed)).to_owned()).collect();
        assert!(layouts.len() > 1, "{layouts:?}");
        assert_eq!(places(&relinked(1)), places(&relinked(1)));
    }
    // Tools of the build are not linked again.
    let first = relinked(&place, &recipe, LayoutKind::default(), 9).directory;
    assert!(first.is_some());
    let tool = first.unwrap().parent().unwrap().with_file_name("tree").join("tool");
    let before = fs::metadata(&tool).unwrap().modified().unwrap();
    let (own, _) = built(&place, "HEAD", &Recipe { kept: vec!["image".to_owned()], ..recipe });
    assert_eq!(fs::metadata(&tool).unwrap().modified().unwrap(), before);
    let percpu = Command::new("nm").arg(tool.with_file_name("vmlinux")).output().unwrap();
    assert!(String::from_utf8_lossy(&percpu.stdout).contains(" D first_percpu") && own.join("image").is_file());
}

fn links_that_take_no_layout_are_unchanged() {
    let place = Place::new();
    linked_program(&place);
    for link in ["-Wl,-Ttext-segment=0x800000", "-B/nowhere -fuse-ld=gold"] {
        let recipe = make(link);
        let Build::Built { .. } = build(&place, "HEAD", &recipe) else { continue };
        let unchanged = relinked(&place, &recipe, LayoutKind::default(), 1);
        assert_eq!(unchanged, Relinked { directory: None, result: RelinkResult::Unchanged }, "{link}");
    }
    // A build that fails only with a layout is a result of the layout.
    let recipe = Recipe {
        command: ["sh", "-c", "case $COMPILER_PATH in *linker*) exit 3;; esac; make"].map(str::to_owned).into(),
        ..make("")
    };
    let failed = relinked(&place, &recipe, LayoutKind::default(), 1);
    assert!(
        matches!(failed.result, RelinkResult::Failed { ref how, .. } if how == "it ends with status 3"),
        "{failed:?}"
    );
}

fn a_full_disk_is_no_result_of_a_commit() {
    let place = Place::new();
    place.commit("a", "1", "one");
    let full = recipe("echo half > object; echo 'cc1: x.o: No space left on device'; seq 9; exit 1");
    let error = place.with(|workshop, lab| {
        let commit = workshop.repository.commit("HEAD", lab).unwrap();
        workshop.build(&commit, &full, &workshop.tools(&full, lab).unwrap(), lab).unwrap_err()
    });
    assert!(error.problem.ends_with(" could not be built: cc1: x.o: No space left on device"), "{}", error.problem);
    assert!(error.hint.unwrap().contains("`faultline resume`"));
    let (directory, _) = built(&place, "HEAD", &recipe("[ ! -e object ]"));
    assert!(directory.join("a").is_file());
}

fn a_build_that_was_cut_leaves_nothing_for_the_next() {
    let place = Place::new();
    place.commit("a", "1", "one");
    let recipe = Recipe {
        limit_s: 2,
        ..recipe("if [ -e ../again ]; then [ ! -e object ]; else echo half > object; touch ../again; sleep 60; fi")
    };
    let failed = build(&place, "HEAD", &recipe);
    assert!(matches!(&failed, Build::Failed { how, .. } if how == "it has not ended after 2 s"), "{failed:?}");
    built(&place, "HEAD", &recipe);
}

fn worktrees_of_a_repository_share_its_builds() {
    let place = Place::new();
    place.commit("a", "1", "one");
    let (old, _) = built(&place, "HEAD", &recipe("true"));
    let other = place.root.path().join("other");
    place.git(&["worktree", "add", "--quiet", "--detach", other.to_str().unwrap()]);
    fs::write(other.join("a"), "2").unwrap();
    let own = Place { root: place.root, at: "other" };
    own.git(&["commit", "--quiet", "--all", "--message", "two"]);
    assert_eq!(built(&own, "HEAD~1", &recipe("true")), (old.clone(), true));
    let (new, _) = built(&own, "HEAD", &recipe("true"));
    assert_eq!(fs::read_to_string(new.join("a")).unwrap(), "2", "HEAD is that of the worktree");
    assert_eq!(new.parent(), old.parent());
}

fn another_repository_at_the_same_path_has_its_own_builds() {
    let place = Place::new();
    place.commit("a", "1", "one");
    let (old, _) = built(&place, "HEAD", &recipe("true"));
    // The first one stays elsewhere, because its number could be used again at once.
    fs::rename(place.theirs(), place.root.path().join("elsewhere")).unwrap();
    fs::create_dir(place.theirs()).unwrap();
    place.git(&["init", "--quiet", "--initial-branch=main"]);
    place.commit("a", "1", "one");
    let (new, was_there) = built(&place, "HEAD", &recipe("true"));
    assert!(!was_there && new.parent() != old.parent(), "{} {}", new.display(), old.display());
}

fn one_command_at_a_time_uses_a_workshop() {
    let place = Place::new();
    place.commit("a", "1", "one");
    place.with(|_, _| {
        place.opened(|second, _| {
            let error = second.unwrap_err();
            assert!(error.problem.starts_with("another command builds in "), "{}", error.problem);
        });
    });
}

/// The result of applying patches, written to files, to the user's `HEAD`.
fn patched(place: &Place, patches: &[&str]) -> Result<Patched, Error> {
    let files = (0..).zip(patches).map(|(number, text)| {
        let file = place.root.path().join(format!("{number}.patch"));
        fs::write(&file, text).unwrap();
        file
    });
    let files: Vec<PathBuf> = files.collect();
    place.with(|workshop, lab| {
        let base = workshop.repository.commit("HEAD", lab).unwrap();
        workshop.repository.with_patches(&base, &files, lab)
    })
}

/// A diff that adds a file with that mode and that one line.
fn adding(path: &str, mode: &str, line: &str) -> String {
    format!(
        "diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n\\ No newline at end of file\n"
    )
}

fn patches_of_mails_and_diffs_are_applied_in_order() {
    let place = Place::new();
    place.commit("a", "1\n", "one");
    place.commit("a", "2\n", "[PATCH] two, with \u{e4}");
    place.commit("a", "3\n", "three");
    let mails = place.git(&["format-patch", "--cover-letter", "--stdout", "HEAD~2"]) + "\n";
    place.commit("a", "4\n", "four");
    let diff = place.git(&["diff", "HEAD~1"]) + "\n";
    place.git(&["reset", "--quiet", "--hard", "HEAD~3"]);
    let found = patched(&place, &[&mails, &diff]).unwrap();
    let titles: Vec<(&str, Option<&str>)> =
        found.patches.iter().map(|patch| (patch.title.as_str(), patch.author.as_deref())).collect();
    assert_eq!(titles, [("two, with \u{e4}", Some("A")), ("three", Some("A")), ("1.patch", None)]);
    let build = place.with(|workshop, lab| {
        let recipe = recipe("true");
        workshop.build(&found.commit, &recipe, &workshop.tools(&recipe, lab).unwrap(), lab).unwrap()
    });
    let Build::Built { directory, .. } = build else { panic!("{build:?}") };
    assert_eq!(fs::read_to_string(directory.join("a")).unwrap(), "4\n");
    assert_eq!(fs::read_to_string(place.theirs().join("a")).unwrap(), "1\n");
    assert!(place.git(&["status", "--porcelain"]).is_empty());
    // Without one of the mails the next does not apply.
    assert!(patched(&place, &[&diff]).unwrap_err().problem.starts_with("0.patch does not apply to "));
}

fn patches_that_do_not_apply_are_refused() {
    let place = Place::new();
    let id = place.commit("a", "1\n", "one");
    let refused = |patches: &[&str]| patched(&place, patches).unwrap_err();
    let other = refused(&["--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"]);
    assert_eq!(other.problem, format!("0.patch does not apply to {}: patch failed: a:1", &id[..12]));
    assert!(other.hint.unwrap().contains("--on COMMIT"));
    for nothing in ["", "no patch\n", "From: A <a@b>\nSubject: hello\n\nno patch\n"] {
        assert_eq!(refused(&[nothing]).problem, "there is no patch in 0.patch");
    }
    let back = ["--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n", "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-2\n+1\n"];
    assert!(refused(&back).problem.starts_with("the patches do not change "));
    let missing = place.with(|workshop, lab| {
        let base = workshop.repository.commit("HEAD", lab).unwrap();
        workshop.repository.with_patches(&base, &["no/such".into()], lab).unwrap_err()
    });
    assert!(missing.problem.starts_with("cannot read no/such: "), "{missing:?}");
}

fn hostile_patches_are_refused() {
    let place = Place::new();
    fs::create_dir(place.theirs().join("d")).unwrap();
    std::os::unix::fs::symlink(place.root.path(), place.theirs().join("d/out")).unwrap();
    place.commit("d/a", "1\n", "one");
    let refused = |text: &str, why: &str| {
        let error = patched(&place, &[text]).unwrap_err();
        assert!(error.problem.contains(why), "{text}: {}", error.problem);
        assert!(!error.problem.contains('\u{1b}'), "{text}");
    };
    for path in ["../harm", "d/../../harm", ".git/harm", "d/.git/hooks/harm", ".GIT/config", "/tmp/harm"] {
        refused(&adding(path, "100755", "x"), "invalid path");
    }
    refused(&adding("d/out/harm", "100644", "x"), "beyond a symbolic link");
    refused(&(adding("l", "120000", "d") + &adding("l/harm", "100644", "x")), "beyond a symbolic link");
    refused(&adding("l", "120000", "/etc"), "a patch adds the symbolic link l to /etc, out of the tree");
    refused(&adding("d/l", "120000", "../../harm"), "out of the tree");
    refused(&adding("l\u{1b}[31m", "120000", "../\u{1b}[31m"), "out of the tree");
    let submodule = "diff --git a/s b/s\nnew file mode 160000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+Subproject commit 1f3a9c21f3a9c21f3a9c21f3a9c21f3a9c21f3a9\n";
    refused(submodule, "a patch changes the submodule s");
    assert!(!find(place.root.path(), "harm"));
    // A link within the tree is nothing unusual.
    patched(&place, &[&adding("d/l", "120000", "../d/a")]).unwrap();
}

fn a_commit_is_undone_on_top_of_a_newer_one_or_conflicts() {
    let place = Place::new();
    let file = "f \u{1b}[31m<b>";
    place.commit(file, "1\n2\n3\n4\n5\n6\n7\n8\n", "first");
    place.commit(file, "1\ntwo\n3\n4\n5\n6\n7\n8\n", "second");
    place.commit(file, "1\ntwo\n3\n4\n5\n6\nseven\n8\n", "third");
    place.commit(file, "1\nzwei\n3\n4\n5\n6\nseven\n8\n", "fourth");
    let undo = |commit: &str, on: &str| {
        place.with(|workshop, lab| {
            let of = |name: &str| workshop.repository.commit(name, lab).unwrap();
            let (before, commit, on) = (of(&format!("{commit}^")), of(commit), of(on));
            workshop.repository.revert(&Revert { commit: &commit, before: &before, on: &on }, lab).unwrap()
        })
    };
    let tree_of = |reverted: &Reverted| match reverted {
        Reverted::Tree(tree) => tree.tree.clone(),
        other => panic!("{other:?}"),
    };
    let own_tree = |name: &str| place.git(&["rev-parse", &format!("{name}^{{tree}}")]).trim().to_owned();
    assert_eq!(tree_of(&undo("HEAD", "HEAD")), own_tree("HEAD~1"));
    // Lines around what it changed are not those that it had.
    let undone = tree_of(&undo("HEAD~1", "HEAD"));
    assert_ne!(undone, own_tree("HEAD"));
    let built = recipe(&format!("cp '{file}' kept"));
    let text = place.with(|workshop, lab| {
        let on = workshop.repository.commit("HEAD", lab).unwrap();
        let commit = faultline_model::commit::CommitInfo { id: undone.clone(), tree: undone.clone(), ..on };
        let tools = workshop.tools(&built, lab).unwrap();
        match workshop.build(&commit, &built, &tools, lab).unwrap() {
            Build::Built { directory, .. } => fs::read_to_string(directory.join(file)).unwrap(),
            failed => panic!("{failed:?}"),
        }
    });
    assert_eq!(text, "1\nzwei\n3\n4\n5\n6\n7\n8\n");
    let Reverted::Conflict(files) = undo("HEAD~2", "HEAD") else { panic!("its line was changed again") };
    assert_eq!(files, [r#""f \033[31m<b>""#]);
    place.commit(file, "1\nzwei\n3\n4\n5\n6\n7\n8\n", "fifth takes the third back");
    assert_eq!(undo("HEAD~2", "HEAD"), Reverted::Empty);
    fs::remove_file(place.theirs().join(file)).unwrap();
    place.commit("g", "1\n", "sixth removes it");
    assert!(matches!(undo("HEAD~3", "HEAD"), Reverted::Conflict(_)));
    assert!(place.git(&["status", "--porcelain"]).is_empty());
}

fn what_a_repository_configures_has_no_part_in_applying() {
    let place = Place::new();
    let hook = place.theirs().join(".git/hooks/applypatch-msg");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\ntouch {}/harm\n", place.root.path().display())).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    place.git(&["config", "filter.x.clean", &format!("touch {}/harm", place.root.path().display())]);
    place.git(&["config", "apply.whitespace", "error-all"]);
    fs::write(place.theirs().join(".gitattributes"), "b filter=x\n").unwrap();
    place.commit("a", "1\n", "one");
    // A blank at the end of a line, which the user's configuration would refuse.
    patched(&place, &[&adding("b", "100644", "x ")]).unwrap();
    assert!(!find(place.root.path(), "harm"));
}
