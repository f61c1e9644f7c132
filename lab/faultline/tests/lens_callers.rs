//! Call chains of transfers, from end to end: of a program, its library, and a stock kernel. Needs
//! the same parts as the tests in `lens_program.rs`.

use crate::lab::lens::{self, compiled, place, points, source};
use crate::lab::{Lab, assert_refused, stderr, stdout};
use faultline_record::lens::callers::{CallersFigures, ChainFigures};
use faultline_stats::lens::summary::LensPoint;
use faultline_stats::summary::RunSummary;
use std::process::Command;

/// The functions of a chain, the innermost first.
fn named<'a>(figures: &'a CallersFigures, chain: &ChainFigures) -> Vec<&'a str> {
    chain.frames.iter().map(|&frame| figures.frames[frame as usize].shown()).collect()
}

fn callers(point: &LensPoint) -> &CallersFigures {
    point.callers.as_ref().unwrap_or_else(|| panic!("no callers: {point:?}"))
}

/// Samples of the counter whose chain goes from the program's functions to the start of a thread;
/// and all samples of the counter.
fn of_counter(figures: &CallersFigures) -> (u64, u64) {
    let of_counter = |chain: &&ChainFigures| named(figures, chain).contains(&"inner");
    let right = |chain: &&ChainFigures| {
        chain.is_whole && named(figures, chain).starts_with(&["count", "inner", "middle", "outer", "work", "member"])
    };
    let sum = |chains: Vec<&ChainFigures>| chains.iter().map(|chain| chain.samples).sum();
    let chains = || figures.chains.iter().filter(of_counter);
    (sum(chains().filter(right).collect()), sum(chains().collect()))
}

/// The functions of called.h in a library built as by distributions: optimised, and without frame
/// pointers.
fn library() -> String {
    let file = place().join("libcalled.so");
    let options = ["-g", "-O2", "-fomit-frame-pointer", "-fPIC", "-shared", "-o"];
    let built = Command::new("cc").args(options).arg(&file).arg(source("called.c")).status().unwrap();
    assert!(built.success(), "called.c doesn't compile; hint: apt-get install gcc");
    file.to_str().unwrap().to_owned()
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn the_callers_of_a_program_and_of_its_library_are_found() {
    let lab = Lab::new();
    let whole = compiled("callers", &["callers.c", "called.c"], &["-fomit-frame-pointer"]);
    let library = library();
    let rpath = format!("-Wl,-rpath,{}", place().display());
    let by_library = compiled("callers_by_library", &["callers.c"], &["-fomit-frame-pointer", &library, &rpath]);
    for program in [whole, by_library] {
        let [point] = &points(&lab, &["--tasks", "2", "--ops", "3000"], &[&program, "2", "3000"])[..] else { panic!() };
        let figures = callers(point);
        let (right, all) = of_counter(figures);
        assert!(all > 1500 && right * 100 >= all * 95, "{program}: {right} of {all}: {figures:?}");
        let line = figures.lines.iter().find(|line| line.name == "called_hits").unwrap();
        assert_eq!(line.samples, all, "{program}: samples of the counter's line are of its functions");
        assert!(figures.frames.iter().any(|frame| frame.shown() == "count" && frame.is_inlined), "{program}");
        let stands_for = (figures.samples * figures.one_in) as f64;
        assert!((stands_for / figures.transfers as f64 - 1.0).abs() < 0.1, "{program}: {figures:?}");
    }
    let [one, other] = [1, 2].map(|run| lab.record(run).attempts.remove(0).reading.unwrap());
    assert!(one.callers.unwrap().transfers == one.totals.transfers && other.callers.is_some());
    let folded = stdout(&lab.run(&["show", "1", "--format", "folded"]));
    let stack = folded
        .lines()
        .find(|line| line.contains(";work;outer;middle;inner;count "))
        .unwrap_or_else(|| panic!("{folded}"));
    assert!(
        stack.starts_with("callers:program threads @2;")
            && stack.rsplit(' ').next().unwrap().parse::<u64>().unwrap() > 1500
    );
    lab.assert_nothing_left();
}

#[test]
#[ignore = "boots a guest: make test-guest"]
fn it_is_seen_who_took_a_kernels_lock() {
    let lab = Lab::new();
    let words =
        ["lens", "kernel", "--quiet", "fault_existing:shared", "--mode", "thread", "--ops", "64", "--tasks", "2"];
    let output = lens::command(&lab, &[&words[..], &["--format", "json"]].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let summary: RunSummary = serde_json::from_slice(&output.stdout).unwrap();
    let point = &summary.lens.unwrap().curves[0].points[0];
    let figures = callers(point);
    assert!(figures.whole_share >= 0.95, "{figures:?}");
    let lock = figures.lines.iter().find(|line| line.name.starts_with("mm_struct.mmap_lock")).unwrap();
    let names = named(figures, &lock.chains[0]);
    assert!(names.contains(&"exc_page_fault") && names.last() == Some(&"asm_exc_page_fault"), "{names:?}");
    lab.assert_nothing_left();
}

#[test]
fn a_run_without_callers_has_no_folded_stacks() {
    let lab = Lab::new();
    lab.good_fake("good");
    let run = lab
        .faked(&[
            "run",
            "-q",
            "good",
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
        ])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", stderr(&run));
    assert_refused(&lab.run(&["show", "--format", "folded"]), 2, "the run has no callers of transfers");
}
