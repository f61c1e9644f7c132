//! Approved texts of the command: refusals of bad arguments, help, and output generated from the
//! argument definitions. After an intended change, run
//! `INSTA_UPDATE=always cargo test -p faultline-cli golden::` and read the difference.

use crate::lab::Lab;
use std::fmt::Write;

/// Invalid arguments. Each must give one line, one hint and exit status 2, and create no database.
const BAD: &[&[&str]] = &[
    &["run", "--tasks", "0"],
    &["run", "--tasks", "0,1"],
    &["run", "--tasks", "-1"],
    &["run", "--tasks", "two"],
    &["run", "--tasks", ""],
    &["run", "--tasks", "4000"],
    &["run", "--tasks", "5000", "--oversubscribe"],
    &["run", "zerofill"],
    &["run", "zero_fill:bse"],
    &["run", "path_stat:q"],
    &["run", "qwertz"],
    &["run", "quick"],
    &["run", "tree_build:given"],
    &["run", "compile", "--mode", "fibre"],
    &["run", "tree_build", "--mode", "thread"],
    &["run", "--suite", "slow"],
    &["run", "--time", "soon"],
    &["run", "--time", "5"],
    &["run", "--time", "0s"],
    &["run", "--window", "-5ms"],
    &["run", "--window", "0ms"],
    &["run", "--window", "10ms", "--interval", "1s", "zero_fill"],
    &["run", "--repeats", "0"],
    &["run", "--repeats", "-3"],
    &["run", "--repeats", "many"],
    &["run", "--limit", "0s"],
    &["run", "--size", "0"],
    &["run", "--size", "huge"],
    &["run", "--tasks", "0x4"],
    &["run", "tree_build", "--tasks", "1x2,2x2"],
    &["run", "--pin", "maybe"],
    &["run", "--commit", "HEAD"],
    &["run", "--commit", "1f3a9c"],
    &["run", "--seed", "x"],
    &["run", "--tree", "."],
    &["run", "--tree", "/nowhere/at/all", "--command", "make"],
    &["run", "--tree", ".", "--command", ""],
    &["run", "--tree", ".", "--command", "make 'unclosed"],
    &["run", "--scratch", "/nowhere/at/all"],
    &["run", "--taks", "1"],
    &["run", "--format", "xml"],
    &["rnu"],
    &["show", "-o", "run.pdf"],
    &["show", "first"],
    &["store", "delete"],
    &["store", "delete", "first"],
    &["compare", "published:no-such-figures", "1"],
    &["generate", "csh"],
    &["generate", "man"],
    &["generate", "bash", "x"],
    &["trust", "/nowhere/at/all"],
    &["run", "--limit", "500000000000years"],
    &["run", "--window", "2days"],
    &["run", "--repeats", "4294967295"],
    &["run", "--time", "300days", "--window", "10ms", "--interval", "10ms", "zero_fill:base"],
    &["run", "zero_fill", "--tree", ".", "--command", "make"],
    &["run", "zero_fill", "--tasks", "2x1"],
    &["run", "--on", "vax"],
    &["run", "--on", "ssh"],
    &["run", "--on", "ssh:-oProxyCommand=true"],
    &["run", "--on", "ssh:lab:0"],
    &["run", "--on", "ssh:lab,colour=red"],
    &["run", "--on", "qemu:cpus=0"],
    &["run", "--on", "qemu:cpus=8,sockets=3"],
    &["run", "--on", "qemu:cpus"],
    &["run", "--on", "qemu:colour=red"],
    &["run", "--on", "qemu:memory=lots"],
    &["run", "--on", "qemu", "--tree", ".", "--command", "make"],
    &["check", "--facts", "3", "--on", "qemu"],
    &["lens", "prog"],
    &["lens", "program"],
    &["lens", "program", "./counters", "2"],
    &["lens", "program", "--tasks", "two", "--", "./counters"],
    &["lens", "program", "--tasks", "0", "--", "./counters"],
    &["lens", "program", "--tasks", "1,2", "--", "./counters"],
    &["lens", "program", "--tasks", "5000", "--", "./counters"],
    &["lens", "program", "--sockets", "0", "--", "./counters"],
    &["lens", "program", "--ops", "0", "--", "./counters"],
    &["lens", "program", "--cache", "1024", "--", "./counters"],
    &["lens", "program", "--cache", "1024x3", "--", "./counters"],
    &["lens", "program", "--costs", "free", "--", "./counters"],
    &["lens", "program", "--quantum", "9", "--private-quantum", "8", "--", "./counters"],
    &["lens", "program", "--quantum", "99999999999999", "--", "./counters"],
    &["lens", "kernel", "fault_existing", "--tasks", "2", "--quantum", "499"],
    &["lens", "kernel", "fault_existing", "--tasks", "2", "--private-quantum", "4000"],
    &["lens", "program", "--budget", "counters", "--", "./counters"],
    &["lens", "program", "--budget", "counters<=little@8", "--", "./counters"],
    &["lens", "program", "--budget", "counters<=1@0", "--", "./counters"],
    &["lens", "program", "--commit", "v1.2", "--", "./counters"],
    &["lens", "program", "--baseline", "last", "--", "./counters"],
    &["lens", "program", "--", "/nowhere/at/all"],
    &["lens", "kernel"],
    &["lens", "kernel", "zero_fill", "--tasks", "0"],
    &["lens", "kernel", "zero_fill", "--tasks", "3", "--sockets", "2"],
    &["lens", "kernel", "zero_fill", "--memory", "1"],
    &["lens", "kernel", "zero_fill", "--kernel", "/nowhere/at/all"],
    &["lens", "compare", "1"],
    &["lens", "compare", "first", "last"],
    &["run", "program"],
    &["compare"],
    &["compare", "a"],
    &["compare", "a", "b"],
    &["compare", "a", "b", "c"],
    &["compare", "--level", "5%", "1", "2"],
    &["compare", "--margin", "some", "1", "2"],
    &["compare", "--margin", "0", "1", "2"],
    &["compare", "--inconclusive", "pass", "1", "2"],
    &["compare", "--assume-quiet", "--a", ""],
    &["compare", "--better", "wider", "1", "2"],
    &["compare", "--a", "nosuch"],
    &["compare", "--b", "colour=red"],
    &["compare", "--b", "'unclosed"],
    &["compare", "--b", "command="],
    &["compare", "--b", "on=vax"],
    &["compare", "--b", "on=host kernel=/dev/null"],
    &["compare", "--b", "kernel=/nowhere/at/all"],
    &["compare", "--b", "programs=/nowhere/at/all"],
    &["compare", "--b", "programs=/ compiler=cc"],
    &["compare", "--b", "sysctl.no.such.setting=1"],
    &["compare", "--b", "/sys/no/such/file=1"],
    &["compare", "--b", "./old"],
    &["compare", "--b", "workload=zerofill"],
    &["compare", "zero_fill", "--b", "workload=zero_fill:huge"],
    &["compare", "--config", "/nowhere/at/all", "--a", "x"],
    &["compare", "--repeats", "0", "--a", ""],
    &["check", "--time", "0s"],
    &["check", "zerofill"],
    &["import", "/nowhere/at/all"],
    &["import", "--name", "x"],
    &["import", "Cargo.toml", "--from", "xml"],
    &["import", "Cargo.toml"],
    &["export", "x"],
    &["export", "x", "--to", "xml"],
    &["export", "/nowhere/at/all", "--to", "bencher"],
    &["changes", "/nowhere/at/all"],
    &["changes", "Cargo.toml", "--false-alarms", "some"],
    &["serve", "--listen", "8710"],
    &["serve", "--listen", "0.0.0.0:0"],
    &["serve", "--token-file", "/nowhere/at/all"],
    &["serve", "--token-file", "Cargo.toml"],
    &["serve", "--host", "lab.example:443"],
    &["serve", "--config", "/nowhere/at/all"],
    &["serve", "--config", "Cargo.toml"],
    &["serve", "--new-token", "/nowhere/at/all"],
    &["serve", "--export", "site", "--listen", "127.0.0.1:0"],
];

#[test]
fn bad_arguments_are_refused_with_one_line_and_a_hint() {
    let lab = Lab::new();
    let mut said = String::new();
    for arguments in BAD {
        let output = lab.run(arguments);
        crate::lab::assert_refused(&output, 2, "");
        assert_eq!(crate::lab::stdout(&output), "", "{arguments:?}");
        writeln!(said, "$ faultline {}\n{}", arguments.join(" "), crate::lab::stderr(&output)).unwrap();
    }
    assert!(!lab.db().exists(), "a request that makes no sense must not make a database");
    // The number of CPUs depends on the machine.
    let machine =
        [(r"\d+ CPUs? can be used here", "[n] CPUs can be used here"), (r"`--tasks \d+`, or", "`--tasks [n]`, or")];
    insta::with_settings!({filters => machine}, {
        insta::assert_snapshot!(said);
    });
}

#[test]
fn a_run_that_is_not_there_is_a_bad_argument() {
    let lab = Lab::new();
    lab.good_fake("good");
    let run =
        ["run", "good", "--tasks", "1", "--repeats", "1", "--warmup", "0ms", "--window", "10ms", "--interval", "10ms"];
    assert!(lab.faked(&run).output().unwrap().status.success());
    for arguments in [&["show", "7"][..], &["show", "7", "-o", "x.html"], &["resume", "7"], &["check", "--facts", "7"]]
    {
        crate::lab::assert_refused(&lab.faked(arguments).output().unwrap(), 2, "there is no run 7 in ");
    }
}

#[test]
fn arguments_that_are_no_text_are_refused_too() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let lab = Lab::new();
    crate::lab::assert_refused(&lab.command(&[]).arg(OsStr::from_bytes(b"\xff")).output().unwrap(), 2, "");
    let tree = lab.path("").join(OsStr::from_bytes(b"\xff"));
    std::fs::create_dir(&tree).unwrap();
    let mut run = lab.command(&["run", "tree_build", "--command", "make", "--tree"]);
    crate::lab::assert_refused(&run.arg(&tree).output().unwrap(), 2, "is not UTF-8");
}

#[test]
fn without_a_command_the_help_is_shown() {
    let output = Lab::new().run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(crate::lab::stderr(&output).contains("Examples:"), "{}", crate::lab::stderr(&output));
}

#[test]
fn help_leads_to_everything() {
    let lab = Lab::new();
    let mut said = crate::lab::stdout(&lab.run(&["--help"]));
    let commands = [
        "run", "check", "resume", "list", "show", "compare", "changes", "bisect", "try", "history", "serve", "import",
        "export", "store", "trust", "generate",
    ];
    for command in commands {
        let output = lab.run(&[command, "--help"]);
        assert!(output.status.success());
        write!(said, "\n$ faultline {command} --help\n{}", crate::lab::stdout(&output)).unwrap();
    }
    insta::assert_snapshot!(said);
}

#[test]
fn rare_options_have_help_too() {
    let said = crate::lab::stdout(&Lab::new().run(&["run", "--help-all"]));
    assert!(said.contains("--interval <DURATION>") && said.contains("A disk image, image:FILE"), "{said}");
    let short = crate::lab::stdout(&Lab::new().run(&["run", "--help"]));
    assert!(!short.contains("--interval") && short.contains("--help-all"), "{short}");
}

#[test]
fn the_lens_has_help_too() {
    let lab = Lab::new();
    let mut said = String::new();
    for command in ["", "program", "kernel", "machine", "types", "compare", "calibrate"] {
        let words: Vec<&str> = ["lens", command, "--help"].into_iter().filter(|word| !word.is_empty()).collect();
        let output = lab.run(&words);
        assert!(output.status.success());
        writeln!(said, "$ faultline {}\n{}", words.join(" "), crate::lab::stdout(&output)).unwrap();
    }
    insta::assert_snapshot!(said);
}
