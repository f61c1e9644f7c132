//! Output generated from the argument definitions: completions, tried in a real shell, and man
//! pages.

use crate::lab::{Lab, stdout};
use std::fs;
use std::process::Command;

/// Completions offered by bash for a line split into `words`. Bash itself splits `zero_fill:b` into
/// three.
fn offered(lab: &Lab, words: &[&str]) -> Vec<String> {
    let directory = crate::lab::program().parent().unwrap();
    let script = "source <(faultline generate bash)
        COMP_WORDS=(\"$@\") COMP_CWORD=$(($# - 1))
        _faultline faultline \"${COMP_WORDS[-1]}\" \"${COMP_WORDS[-2]}\"
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
    let mut bash = Command::new("bash");
    bash.args(["-c", script, "bash"]).args(words).env("PATH", path);
    bash.env("FAULTLINE_DB", lab.db()).env("FAULTLINE_WORKLOADS", lab.path("fakes"));
    let output = bash.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
    stdout(&output).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_workloads_runs_and_labels() {
    let lab = Lab::new();
    lab.good_fake("good");
    lab.good_fake("gone");
    let run = [
        "run",
        "-q",
        "good",
        "--label",
        "nightly",
        "--tasks",
        "1",
        "--repeats",
        "1",
        "--warmup",
        "0ms",
        "--window",
        "10ms",
        "--interval",
        "10ms",
    ];
    assert!(lab.faked(&run).output().unwrap().status.success());

    assert_eq!(offered(&lab, &["faultline", "che"]), ["check"]);
    assert_eq!(offered(&lab, &["faultline", "lens", "pro"]), ["program"]);
    assert_eq!(offered(&lab, &["faultline", "run", "--over"]), ["--oversubscribe"]);
    assert_eq!(offered(&lab, &["faultline", "run", "--suite", ""]), ["quick", "full"]);
    assert_eq!(offered(&lab, &["faultline", "run", "goo"]), ["good", "good:only"]);
    assert_eq!(
        offered(&lab, &["faultline", "run", "good", ":", "on"]),
        ["only"],
        "bash keeps what is before the colon"
    );
    assert_eq!(offered(&lab, &["faultline", "run", "good", ":"]), ["only"]);
    assert_eq!(offered(&lab, &["faultline", "show", "ni"]), ["nightly"]);
    assert_eq!(offered(&lab, &["faultline", "store", "delete", "1"]), ["1"]);
    assert!(offered(&lab, &["faultline", "compare", "go"]).contains(&"gone:only".to_owned()));
    fs::remove_file(lab.db()).unwrap();
    assert_eq!(offered(&lab, &["faultline", "show", "ni"]), Vec::<String>::new(), "no database is no error");
}

#[test]
fn every_shell_asks_the_command() {
    let lab = Lab::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&lab.run(&["generate", shell]));
        assert!(script.contains("FAULTLINE_COMPLETE") && !script.contains("target/"), "{shell}: {script}");
    }
    for (shell, words) in [("fish", &["faultline", "che"][..]), ("zsh", &["faultline", "che"])] {
        let mut asked = lab.command(&["--"]);
        asked.args(words).env("FAULTLINE_COMPLETE", shell).env("_CLAP_COMPLETE_INDEX", "1").env("_CLAP_IFS", "\n");
        assert!(stdout(&asked.output().unwrap()).starts_with("check"), "{shell}");
    }
}

/// The text lines of a man page, with their formatting commands.
fn page(lab: &Lab, name: &str) -> String {
    let directory = lab.path("man");
    assert!(lab.run(&["generate", "man", directory.to_str().unwrap()]).status.success());
    fs::read_to_string(directory.join(name))
        .unwrap()
        .replace("\\-", "-")
        .replace("\\*(Aq", "'")
        .replace("\\fR", "")
        .replace("\\fB", "")
        .replace("\\fI", "")
}

#[test]
fn every_command_has_a_page() {
    let lab = Lab::new();
    let main = page(&lab, "faultline.1");
    let mut pages: Vec<String> =
        fs::read_dir(lab.path("man")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    pages.sort();
    for name in ["faultline-run.1", "faultline-store-delete.1", "faultline-lens-kernel.1"] {
        assert!(pages.contains(&name.to_owned()), "{pages:?}");
    }
    assert!(!pages.iter().any(|page| page.contains("keep") || page.contains("help")), "{pages:?}");
    assert!(main.contains("faultline-run(1)"), "{main}");
}

#[test]
fn pages_have_values_in_their_synopsis_examples_as_they_are_and_options_in_order() {
    let lab = Lab::new();
    let compare = page(&lab, "faultline-compare.1");
    let synopsis = compare.split(".SH ").find(|section| section.starts_with("SYNOPSIS")).unwrap();
    assert!(synopsis.contains("faultline compare [--a VARIANT] [--b VARIANT] [--config FILE]"), "{synopsis}");
    assert!(
        synopsis.contains("[--gate]") && synopsis.lines().any(|line| line.ends_with("[WHAT]... [-- COMMAND]...")),
        "{synopsis}"
    );
    let program = page(&lab, "faultline-lens-program.1");
    assert!(program.contains("[--budget BUDGET]...") && program.contains("-- PROGRAM..."), "{program}");

    let examples = compare.split(".SH EXAMPLES").nth(1).unwrap();
    let line = "  faultline compare 3 4 --verbose                      two runs, with cautions and counters";
    assert!(examples.lines().any(|one| one == line), "{examples}");
    assert!(examples.contains(".nf\n") && examples.contains(".fi\n"));

    let options = compare.split(".SH ").find(|section| section.starts_with("OPTIONS")).unwrap();
    let place = |name: &str| options.find(name).unwrap_or_else(|| panic!("{name} is not in {options}"));
    assert!(place("--a <VARIANT>") < place("--b <VARIANT>") && place("--b <VARIANT>") < place("--config"), "{options}");
    assert!(place("--label") < place("--db <FILE|URL>") && place("--db <FILE|URL>") < place("--help"), "{options}");
    assert!(options.contains("Sources of the workloads"), "options of `--help-all` are described: {options}");
    let output = compare.split(".SH ").find(|section| section.starts_with("OUTPUT")).unwrap();
    assert!(output.contains("--format <FORMAT>"), "{output}");
}
