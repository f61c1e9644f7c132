//! Explanations of a step by `faultline bisect`: the files changed by its commits, and the
//! differences between the linked programs. Programs sleep, because a busy host changes the length
//! of a sleep less than the time of a computation.

use crate::lab::{Lab, repository, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Output;

/// A file name that no tool may interpret.
const HOSTILE: &str = "-rf $(touch harm)\n<b>|\u{1b}[31m";

const MAKEFILE: &str = "prog: prog.c\n\tcc -O1 -o prog prog.c\n";

/// A program that sleeps. With `longer`, it sleeps in a new function.
fn source(longer: bool, number: u32) -> String {
    let function = "__attribute__((noinline)) void sleep_longer(void) { usleep(40000); }\n";
    let (function, call) = if longer { (function, "sleep_longer();") } else { ("", "") };
    format!(
        "#include <unistd.h>\nconst int number = {number};\n{function}int main(void) {{ usleep(10000); {call} return 0; }}\n"
    )
}

/// A searched repository of five commits, the fourth of which makes the program slower.
fn searched() -> (Lab, Vec<String>, PathBuf) {
    let (lab, mut commits) = (Lab::new(), Vec::new());
    let path = lab.path("repository");
    repository::create(&path);
    fs::write(path.join("Makefile"), MAKEFILE).unwrap();
    for number in 0..5 {
        fs::write(path.join("prog.c"), source(number > 2, number)).unwrap();
        fs::write(path.join(HOSTILE), format!("{number}\n")).unwrap();
        commits.push(repository::commit(&path, &format!("<i>commit</i> {number} \u{1b}[31m")));
    }
    (lab, commits, path)
}

fn bisect(lab: &Lab, path: &std::path::Path) -> Output {
    let options = ["--build", "make", "--quiet", "--seed", "1", "--format", "json", "--repeats", "20"];
    let mut command = lab.command(&["bisect", "HEAD~4", "HEAD", "--repository", path.to_str().unwrap()]);
    command.args(options).args(["--", "./prog"]).env("XDG_CACHE_HOME", lab.path("cache")).output().unwrap()
}

#[test]
fn files_sections_and_functions_of_a_step_are_shown() {
    let (lab, commits, path) = searched();
    let output = bisect(&lab, &path);
    let found: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", stdout(&output), stderr(&output)));
    let [step] = &found["steps"].as_array().unwrap()[..] else { panic!("{found:#}") };
    let explained = &step["explained"];

    let [commit] = &explained["commits"].as_array().unwrap()[..] else { panic!("{explained:#}") };
    assert_eq!(commit["commit"], commits[3].as_str());
    let files = &commit["files"];
    assert_eq!(
        (&files["number"], &files["added"], &files["removed"]),
        (&2.into(), &4.into(), &3.into()),
        "{explained:#}"
    );
    let paths: Vec<&str> =
        files["most"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["prog.c", HOSTILE]);

    let linked = &explained["linked"];
    let [prog] = &linked["different"].as_array().unwrap()[..] else { panic!("{linked:#}") };
    assert_eq!(prog["file"]["name"], "prog");
    assert!(prog["sections"].as_array().unwrap().iter().any(|section| section["name"] == ".text"), "{prog:#}");
    let functions = &prog["functions"];
    assert_eq!(functions["came"], 1, "{functions:#}");
    let of = |name: &str| functions["most"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone();
    assert!(of("sleep_longer")["before"].is_null() && of("sleep_longer")["after"].as_u64() > Some(0));
    assert!(of("main")["after"].as_u64() > of("main")["before"].as_u64(), "{functions:#}");

    // The stored result reads the same. No name reaches a terminal or a page unescaped.
    let table = stdout(&lab.run(&["show"]));
    for words in
        ["2 files, +4 -3 lines", "prog.c  +3 -2", "1 linked file differs, 0 have", "1 added (sleep_longer new,"]
    {
        assert!(table.replace('−', "-").contains(words), "{words}: {table}");
    }
    let markdown = stdout(&lab.run(&["show", "--format", "markdown"]));
    // The texts also contain `p < 0.0001`, which is no tag.
    let has_tag = markdown.replace("\\<", "").replace("< ", "").contains('<');
    assert!(markdown.contains("\n- ") && markdown.contains("sleep_longer") && !has_tag, "{markdown}");
    assert!(!table.contains('\u{1b}') && !markdown.contains('\u{1b}'));
    assert!(!lab.path("harm").exists() && !path.join("harm").exists());
    lab.assert_nothing_left();
}
