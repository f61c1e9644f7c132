//! Tests of patches and reverts of commits.

use crate::{Checkouts, find, named_tests, recipe};
use faultline_experiment::Error;
use faultline_history::repository::Patched;
use faultline_history::{Build, Commits, Revert, Reverted};
use libtest_mimic::Trial;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

pub(crate) fn tests() -> Vec<Trial> {
    named_tests![
        patches_of_mails_and_diffs_are_applied_in_order,
        patches_that_do_not_apply_are_refused,
        hostile_patches_are_refused,
        what_a_repository_configures_has_no_part_in_applying,
        a_commit_is_undone_on_top_of_a_newer_one_or_conflicts,
    ]
}

/// The result of applying patches, written to files, to the user's `HEAD`.
fn patched(place: &Checkouts, patches: &[&str]) -> Result<Patched, Error> {
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
    let place = Checkouts::new();
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
    let place = Checkouts::new();
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
    let place = Checkouts::new();
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
    // A link within the tree is accepted.
    patched(&place, &[&adding("d/l", "120000", "../d/a")]).unwrap();
}

fn what_a_repository_configures_has_no_part_in_applying() {
    let place = Checkouts::new();
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

fn a_commit_is_undone_on_top_of_a_newer_one_or_conflicts() {
    let place = Checkouts::new();
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
    // Context lines differ from those of the commit.
    let undone = tree_of(&undo("HEAD~1", "HEAD"));
    assert_ne!(undone, own_tree("HEAD"));
    let built = recipe(&format!("cp '{file}' kept"));
    let text = place.with(|workshop, lab| {
        let on = workshop.repository.commit("HEAD", lab).unwrap();
        let commit = faultline_record::commit::CommitInfo { id: undone.clone(), tree: undone.clone(), ..on };
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
