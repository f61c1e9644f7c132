//! Archives of releases as the history of a program, from end to end. The program sleeps, because a
//! busy host changes the length of a sleep less than the time of a computation.

use crate::lab::{Lab, assert_refused, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

/// Packs a release into an archive with `tar` and these options. All files are in one directory.
fn pack(lab: &Lab, name: &str, sleep_ms: u32, options: &[&str], archive: &str) {
    let top = format!("app-{name}");
    let directory = lab.path(&top);
    fs::create_dir(&directory).unwrap();
    // Releases with the same files would be one build, and one value.
    fs::write(directory.join("version"), name).unwrap();
    fs::write(directory.join("source"), format!("#!/bin/sh\nsleep 0.{sleep_ms:03}\n")).unwrap();
    fs::write(directory.join("build"), "#!/bin/sh\ncp source prog && test -L link\n").unwrap();
    for program in ["source", "build"] {
        fs::set_permissions(directory.join(program), fs::Permissions::from_mode(0o755)).unwrap();
    }
    std::os::unix::fs::symlink("/no/such/place", directory.join("link")).unwrap();
    let mut tar = Command::new("tar");
    tar.current_dir(lab.path("")).arg("--create").args(options).args(["--file", archive, &top]);
    assert!(tar.status().unwrap().success());
    fs::remove_dir_all(directory).unwrap();
}

fn release(name: &str, day: u32, archive: &str) -> String {
    format!("[[subject.app.release]]\nname = \"{name}\"\ndate = \"2023-06-{day:02}\"\narchive = \"{archive}\"\n")
}

fn declare(lab: &Lab, releases: &[String]) {
    let keys = "work = \"work\"\nbuild = \"./build\"\nkeep = [\"prog\"]\ncommand = \"./prog\"\nrepeats = 6\nseed = 1\n";
    fs::write(lab.path("faultline.toml"), format!("[subject.app]\n{keys}{}", releases.concat())).unwrap();
}

fn history(lab: &Lab, arguments: &[&str]) -> Output {
    run(lab, &[&["history"], arguments].concat())
}

fn run(lab: &Lab, arguments: &[&str]) -> Output {
    lab.command(arguments).current_dir(lab.path("")).output().unwrap()
}

#[track_caller]
fn json(lab: &Lab, arguments: &[&str]) -> Value {
    let output = history(lab, arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn archives_of_releases_are_built_and_measured_like_commits() {
    let lab = Lab::new();
    let names =
        ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "2.0~rc1", "2.0", "2.1", "2.1.1", "2.1.2", "2.1.3", "2.1.4"];
    let mut releases = Vec::new();
    for (day, name) in (1..).zip(names) {
        let sleep_ms = if name.starts_with('1') { 20 } else { 80 };
        let (options, archive) = match name {
            "1.0" => (&[][..], format!("app-{name}.tar")),
            _ => (&["--gzip"][..], format!("app-{name}.tgz")),
        };
        pack(&lab, name, sleep_ms, options, &archive);
        releases.push(release(name, day, &archive));
    }
    declare(&lab, &releases);
    let ran = history(&lab, &["run", "--quiet"]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let series = &json(&lab, &["show", "--format", "json"])[0];
    let named: Vec<&str> =
        series["points"].as_array().unwrap().iter().map(|point| point["commit"]["subject"].as_str().unwrap()).collect();
    assert_eq!(named, names);
    assert_eq!(series["has_releases"], false, "there is a repository of them");
    assert!(!lab.path("no").exists() && !lab.path("app-1.0").exists(), "nothing is unpacked beside the archives");

    let searched = run(&lab, &["bisect", "app", "--quiet"]);
    assert_eq!(searched.status.code(), Some(0), "{}", stderr(&searched));
    assert!(stdout(&searched).contains("2.0~rc1"), "{}", stdout(&searched));
    let changes = history(&lab, &["changes"]);
    for words in ["2.0~rc1", "source"] {
        assert!(stdout(&changes).contains(words), "{words}: {}", stdout(&changes));
    }

    // Points have the names of their releases.
    let gate = |since: &str| history(&lab, &["changes", "--gate", "--since", since]).status.code();
    assert_eq!((gate("1.0"), gate("2.0~rc1")), (Some(1), Some(0)));
    assert_refused(&history(&lab, &["changes", "--gate", "--since", "3.0"]), 2, "app has no commit or release 3.0");
    let marked = history(&lab, &["mark", "app", "fixed", "--at", "2.0~rc1", "--reason", "gone in 3.0"]);
    assert_eq!(marked.status.code(), Some(0), "{}", stderr(&marked));

    // The list gives identical commits when read again, so only new ones are measured.
    fs::remove_dir_all(lab.path("work")).unwrap();
    pack(&lab, "2.2", 80, &[], "app-2.2.tar");
    releases.push(release("2.2", 15, "app-2.2.tar"));
    declare(&lab, &releases);
    let planned = history(&lab, &["commits"]);
    assert!(stdout(&planned).contains("1 of 15 would be measured"), "{}", stdout(&planned));

    fs::write(lab.path("app-2.2.tar"), "no archive").unwrap();
    let refused = history(&lab, &["run"]);
    assert_refused(&refused, 2, "app-2.2.tar, the archive of the release 2.2: ");
    fs::remove_file(lab.path("app-2.2.tar")).unwrap();
    assert_refused(&history(&lab, &["run"]), 2, "the archive of the release 2.2: No such file");
    lab.assert_nothing_left();
}
