//! Tests of builds, and of the workshop that keeps them.

use crate::{Checkouts, Deaf, build, built, named_tests, recipe};
use faultline_experiment::{Error, ErrorKind, Lab};
use faultline_history::{Build, Commits};
use faultline_record::recipe::Recipe;
use faultline_targets::StopFlag;
use libtest_mimic::Trial;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

pub(crate) fn tests() -> Vec<Trial> {
    named_tests![
        a_build_is_made_once_for_each_tree,
        a_build_that_fails_is_a_result,
        objects_of_the_last_build_are_used_again,
        another_compiler_makes_another_build,
        a_missing_build_program_is_refused_and_is_no_result_of_a_commit,
        what_a_link_leads_to_outside_of_the_build_is_not_kept,
        a_full_disk_that_has_room_is_tried_again_and_then_the_commits_own,
        a_build_without_a_submodule_is_made_again_with_it,
        a_build_that_was_cut_leaves_nothing_for_the_next,
        worktrees_of_a_repository_share_its_builds,
        another_repository_at_the_same_path_has_its_own_builds,
        commands_take_turns_at_builds_alone,
    ]
}

fn a_build_is_made_once_for_each_tree() {
    let place = Checkouts::new();
    place.commit("a", "1", "one");
    place.commit("a", "2", "two");
    place.commit("a", "1", "one again");
    let script = "cp a b; mkdir -p c; ln -sf ../b c/link; echo x >> ../count";
    let first = Recipe { outside_sandbox: true, ..recipe(script) };
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
    let place = Checkouts::new();
    place.commit("a", "1", "one");
    let failed = |recipe: &Recipe| match build(&place, "HEAD", recipe) {
        Build::Failed { how, output } => (how, output),
        built => panic!("{built:?}"),
    };
    let (how, output) = failed(&recipe("echo first; echo '\u{1b}[1mlast' >&2; exit 3"));
    assert_eq!((how.as_str(), output.as_str()), ("it exited with status 3", "first\n\u{1b}[1mlast"));
    assert_eq!(failed(&recipe("kill -9 $$")).0, "signal 9 ended it");
    let slow = Recipe { limit_s: 1, ..recipe("sleep 60") };
    assert_eq!(failed(&slow).0, "it did not end within 1 s");
    let missing = Recipe { command: vec!["./no-such-program".to_owned()], ..recipe("") };
    assert_eq!(failed(&missing).0, "it exited with status 127");
    let nothing = Recipe { kept: vec!["b".to_owned()], ..recipe("true") };
    assert_eq!(failed(&nothing).0, "it leaves no b");
}

fn objects_of_the_last_build_are_used_again() {
    let place = Checkouts::new();
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
    let place = Checkouts::new();
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

fn a_missing_build_program_is_refused_and_is_no_result_of_a_commit() {
    let place = Checkouts::new();
    place.commit("a", "1", "one");
    let missing = Recipe { command: vec!["no-such-program".to_owned()], ..recipe("") };
    let error = place.with(|workshop, lab| workshop.tools(&missing, lab).unwrap_err());
    assert_eq!(error.problem, "the build command cannot run: there is no program 'no-such-program' in PATH");
    assert_eq!(error.kind, ErrorKind::Usage);
}

fn what_a_link_leads_to_outside_of_the_build_is_not_kept() {
    let place = Checkouts::new();
    place.commit("a", "1", "one");
    fs::create_dir(place.root.path().join("secrets")).unwrap();
    fs::write(place.root.path().join("secrets/key"), "secret").unwrap();
    let link = format!("ln -sfn {} out", place.root.path().join("secrets").display());
    let keeping = |path: &str| Recipe { kept: vec![path.to_owned()], ..recipe(&link) };
    let failed = build(&place, "HEAD", &keeping("out/key"));
    let Build::Failed { how, .. } = failed else { panic!("{failed:?}") };
    assert_eq!(how, "out/key leads out of the build");
    let (directory, _) = built(&place, "HEAD", &keeping("out/"));
    assert!(directory.join("out").is_symlink(), "a link stays one");
}

fn a_full_disk_that_has_room_is_tried_again_and_then_the_commits_own() {
    let place = Checkouts::new();
    place.commit("a", "1", "one");
    // They count their tries beside the checkout.
    let outside = |script: &str| Recipe { outside_sandbox: true, ..recipe(script) };
    let full = "[ ! -e object ] || exit 7; echo half > object; echo x >> ../tries; \
                echo 'cc1: x.o: No space left on device'; seq 3; exit 1";
    let failed = build(&place, "HEAD", &outside(full));
    let Build::Failed { how, output } = failed else { panic!("{failed:?}") };
    assert_eq!(how, "it exited with status 1");
    assert!(output.contains("No space left on device"), "{output}");
    let tries = |number: usize| {
        let mut found = Vec::new();
        files_called(&place.root.path().join("cache"), "tries", &mut found);
        assert_eq!(fs::read_to_string(&found[0]).unwrap().lines().count(), number);
    };
    tries(2);
    // A disk that was full for a moment costs one more try.
    let once = "[ ! -e object ] || exit 7; echo x >> ../tries; [ $(wc -l < ../tries) -gt 3 ] && exit 0; \
                echo half > object; echo 'No space left on device'; exit 1";
    let (directory, _) = built(&place, "HEAD", &outside(once));
    assert!(directory.join("a").is_file());
    tries(4);
}

fn files_called(directory: &Path, name: &str, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => files_called(&entry.path(), name, found),
            false if entry.file_name() == name => found.push(entry.path()),
            false => {}
        }
    }
}

fn a_build_without_a_submodule_is_made_again_with_it() {
    let place = Checkouts::new();
    let library = place.root.path().join("library");
    fs::create_dir(&library).unwrap();
    let in_library = Checkouts { root: place.root, at: "library" };
    in_library.git(&["init", "--quiet", "--initial-branch=main"]);
    in_library.commit("body", "1", "library");
    let place = Checkouts { root: in_library.root, at: "theirs" };
    let allowed = ["-c", "protocol.file.allow=always"];
    let add = ["submodule", "--quiet", "add", library.to_str().unwrap(), "lib"];
    place.git(&[&allowed[..], &add].concat());
    place.commit("a", "1", "one");
    let (modules, away) = (place.theirs().join(".git/modules"), place.root.path().join("away"));
    fs::rename(&modules, &away).unwrap();
    let recipe = recipe("ls lib > listed");
    let (without, is_old) = built(&place, "HEAD", &recipe);
    assert!(!is_old && fs::read_to_string(without.join("listed")).unwrap().is_empty());
    assert_eq!(built(&place, "HEAD", &recipe), (without.clone(), true), "kept while it is missing");
    fs::rename(&away, &modules).unwrap();
    let (with, is_old) = built(&place, "HEAD", &recipe);
    assert!(!is_old && with != without);
    assert_eq!(fs::read_to_string(with.join("listed")).unwrap(), "body\n");
}

fn a_build_that_was_cut_leaves_nothing_for_the_next() {
    let place = Checkouts::new();
    place.commit("a", "1", "one");
    let recipe = Recipe {
        limit_s: 2,
        outside_sandbox: true,
        ..recipe("if [ -e ../again ]; then [ ! -e object ]; else echo half > object; touch ../again; sleep 60; fi")
    };
    let failed = build(&place, "HEAD", &recipe);
    assert!(matches!(&failed, Build::Failed { how, .. } if how == "it did not end within 2 s"), "{failed:?}");
    built(&place, "HEAD", &recipe);
}

fn worktrees_of_a_repository_share_its_builds() {
    let place = Checkouts::new();
    place.commit("a", "1", "one");
    let (old, _) = built(&place, "HEAD", &recipe("true"));
    let other = place.root.path().join("other");
    place.git(&["worktree", "add", "--quiet", "--detach", other.to_str().unwrap()]);
    fs::write(other.join("a"), "2").unwrap();
    let own = Checkouts { root: place.root, at: "other" };
    own.git(&["commit", "--quiet", "--all", "--message", "two"]);
    assert_eq!(built(&own, "HEAD~1", &recipe("true")), (old.clone(), true));
    let (new, _) = built(&own, "HEAD", &recipe("true"));
    assert_eq!(fs::read_to_string(new.join("a")).unwrap(), "2", "HEAD is that of the worktree");
    assert_eq!(new.parent(), old.parent());
}

fn another_repository_at_the_same_path_has_its_own_builds() {
    let place = Checkouts::new();
    place.commit("a", "1", "one");
    let (old, _) = built(&place, "HEAD", &recipe("true"));
    // The first one stays elsewhere, because its inode number could be used again at once.
    fs::rename(place.theirs(), place.root.path().join("elsewhere")).unwrap();
    fs::create_dir(place.theirs()).unwrap();
    place.git(&["init", "--quiet", "--initial-branch=main"]);
    place.commit("a", "1", "one");
    let (new, was_there) = built(&place, "HEAD", &recipe("true"));
    assert!(!was_there && new.parent() != old.parent(), "{} {}", new.display(), old.display());
}

fn commands_take_turns_at_builds_alone() {
    let place = Checkouts::new();
    place.commit("a", "1", "one");
    place.with(|first, _| {
        let lock = first.builds.log().parent().unwrap().with_file_name("lock");
        let other = fs::File::create(lock).unwrap();
        other.lock().unwrap();
        place.opened(|second, lab| {
            let second = second.unwrap();
            let (recipe, commit) = (recipe("true"), second.repository.commit("HEAD", lab).unwrap());
            let tools = second.tools(&recipe, lab).unwrap();
            assert!(second.building_elsewhere().is_some());
            // A stop ends the wait.
            let stop = StopFlag::default();
            stop.set();
            let stopped = second.build(&commit, &recipe, &tools, &Lab { stop: &stop, observer: &mut Deaf, ..*lab });
            assert_eq!(stopped.unwrap_err(), Error::stopped());
            other.unlock().unwrap();
            assert!(second.building_elsewhere().is_none());
            assert!(matches!(second.build(&commit, &recipe, &tools, lab), Ok(Build::Built { .. })));
        });
    });
}
