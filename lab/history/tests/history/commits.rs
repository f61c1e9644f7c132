//! Tests of commits and lines of a repository.

use crate::{Checkouts, built, find, named_tests, recipe};
use faultline_history::{Commits, Pick, Walk, Which};
use libtest_mimic::Trial;
use std::fs;
use std::process::Command;

pub(crate) fn tests() -> Vec<Trial> {
    named_tests![
        a_line_has_every_commit_of_first_parents,
        a_history_has_first_parents_all_ancestors_or_tags,
        names_that_lead_nowhere_are_refused,
        hostile_names_harm_nothing,
        the_files_of_a_commit_are_counted,
        nothing_that_a_repository_configures_is_executed,
    ]
}

fn a_line_has_every_commit_of_first_parents() {
    let place = Checkouts::new();
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
    // A later commit is found too.
    let last = place.commit("a", "3", "three");
    place.with(|workshop, lab| assert_eq!(workshop.repository.commit("HEAD", lab).unwrap().id, last));
}

fn a_history_has_first_parents_all_ancestors_or_tags() {
    let place = Checkouts::new();
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
    let place = Checkouts::new();
    place.commit("a", "1", "one");
    place.with(|workshop, lab| {
        for name in ["", "no-such", "--help", "HEAD~9", "HEAD:a", "-n1", "a b", "\u{1b}[31m"] {
            let error = workshop.repository.commit(name, lab).unwrap_err();
            assert!(error.problem.starts_with("the repository has no commit '"), "{}", error.problem);
            assert!(!error.problem.contains('\u{1b}'));
        }
    });
    let nowhere = Checkouts { root: tempfile::tempdir().unwrap(), at: "theirs" };
    fs::create_dir_all(nowhere.theirs()).unwrap();
    fs::create_dir(nowhere.root.path().join("scratch")).unwrap();
    nowhere.opened(|workshop, _| {
        let error = workshop.unwrap_err();
        assert!(error.problem.contains("not a git repository"), "{}", error.problem);
        assert!(error.hint.unwrap().contains("--repository"));
    });
}

fn hostile_names_harm_nothing() {
    let place = Checkouts::new();
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
    let place = Checkouts::new();
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

fn nothing_that_a_repository_configures_is_executed() {
    let place = Checkouts::new();
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
    // The user's own git executes it.
    place.git(&["checkout", "--quiet", "--force", "HEAD~0"]);
    assert!(harm.exists());
}
