//! Kernels as subjects of `faultline history`, from end to end: releases, and commits whose build
//! leaves an image. Guests boot under the real lens. Needs a kernel (`make kernel`), and the
//! products of `make guest` and `make lens`.

use crate::lab::lens::{self, assert_status};
use crate::lab::repository::{Repository, git};
use crate::lab::{Lab, assert_refused, await_boot, kill, stderr, stdout};
use faultline_record::bisect::Unusable;
use faultline_stats::history::{HistorySeries, PointResult};
use faultline_stats::lens::summary::LensPoint;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A short workload.
const WORKLOAD: &str = "zero_fill:base";

/// Settings of the workload, as keys of faultline.toml and as options.
const KEYS: &str = "workloads = [\"zero_fill:base\"]\nmode = \"thread\"\nops = 64\ntasks = [2]\nseed = 3\nseeds = 1\nwork = \"work\"\n";
const OPTIONS: [&str; 8] = ["--mode", "thread", "--ops", "64", "--tasks", "2", "--seed", "3"];

fn declare(lab: &Lab, text: &str) {
    fs::write(lab.path("faultline.toml"), text).unwrap();
}

/// A release whose kernel is a file of the lab.
fn release(name: &str, day: u32, kernel: &str) -> String {
    format!("[[subject.linux.release]]\nname = \"{name}\"\ndate = \"2023-06-{day:02}\"\nkernel = \"{kernel}\"\n")
}

fn command(lab: &Lab, arguments: &[&str]) -> Command {
    let mut command = lens::command(lab, arguments);
    command.current_dir(lab.path("")).env("XDG_CACHE_HOME", lab.path("cache"));
    command
}

fn history(lab: &Lab, arguments: &[&str]) -> Output {
    command(lab, &[&["history"], arguments].concat()).output().unwrap()
}

fn bisect_subject(lab: &Lab, arguments: &[&str]) -> Output {
    command(lab, &[&["bisect"], arguments].concat()).output().unwrap()
}

/// The only series.
#[track_caller]
fn series(lab: &Lab) -> HistorySeries {
    let shown = history(lab, &["show", "--format", "json"]);
    assert_status(&shown, 0);
    let [series] = serde_json::from_slice::<[HistorySeries; 1]>(&shown.stdout).unwrap();
    series
}

/// Reason why a point has no value.
fn why(series: &HistorySeries, name: &str) -> Option<Unusable> {
    let point = series.points.iter().find(|point| point.commit.id == name)?;
    match &point.result {
        PointResult::Unusable(not) => Some(not.why),
        PointResult::Measured { .. } | PointResult::None => None,
    }
}

/// Counts of a kernel by `faultline lens kernel`.
fn counted(lab: &Lab, kernel: &Path) -> LensPoint {
    let words = ["lens", "kernel", WORKLOAD, "--quiet", "--format", "json", "--kernel", kernel.to_str().unwrap()];
    let output = command(lab, &[&words[..], &OPTIONS].concat()).output().unwrap();
    assert_status(&output, 0);
    lens::point(&output)
}

/// A copy of the kernel whose first instructions are invalid. It does not boot, and the emulator
/// exits.
fn broken(kernel: &[u8]) -> Vec<u8> {
    /// Offset of the number of sectors of the kernel's first part; a value of 0 stands for 4.
    const SECTORS: usize = 0x1f1;
    let sectors = if kernel[SECTORS] == 0 { 4 } else { usize::from(kernel[SECTORS]) };
    let begin = 512 * (sectors + 1);
    let mut broken = kernel.to_vec();
    for pair in broken[begin..begin + 4096].chunks_exact_mut(2) {
        pair.copy_from_slice(&[0x0f, 0x0b]);
    }
    broken
}

#[test]
fn releases_have_the_counts_of_lens_kernel_and_failures_are_results() {
    let lab = Lab::new();
    let image = crate::lab::guest::kernel().path;
    let kernel = fs::read(&image).unwrap();
    fs::write(lab.path("first"), &kernel).unwrap();
    fs::write(lab.path("again"), &kernel).unwrap();
    fs::write(lab.path("broken"), broken(&kernel)).unwrap();
    fs::write(lab.path("text"), "no kernel\n".repeat(1000)).unwrap();
    let releases = [
        release("6.1.0-1", 1, "first"),
        release("6.1.0-2", 2, "again"),
        release("6.1.0-3", 3, "broken"),
        release("6.1.0-4", 4, "text"),
    ];
    declare(&lab, &format!("[subject.linux]\n{KEYS}{}", releases.concat()));

    let planned = history(&lab, &["commits"]);
    assert_status(&planned, 0);
    assert!(stdout(&planned).contains("4 of 4 would be measured"), "{}", stdout(&planned));
    let ran = history(&lab, &["run", "--quiet"]);
    assert_status(&ran, 0);

    let series = series(&lab);
    assert_eq!((series.subject.as_str(), series.tasks, series.has_releases), ("linux/zero_fill:base", 2, true));
    assert_eq!(series.unit, "transfers per operation");
    let names: Vec<&str> = series.points.iter().map(|point| point.commit.id.as_str()).collect();
    assert_eq!(names, ["6.1.0-1", "6.1.0-2", "6.1.0-3", "6.1.0-4"]);
    let directly = counted(&lab, &image).transfers.unwrap().median;
    assert!(directly > 0.0);
    assert_eq!(series.points[0].value(), Some(directly), "the same kernel counts the same, whoever boots it");
    let PointResult::Measured { same_as, .. } = &series.points[1].result else { panic!("{:?}", series.points[1]) };
    assert_eq!(same_as.as_deref(), Some("6.1.0-1"), "the same bytes are booted once");
    assert_eq!((why(&series, "6.1.0-3"), why(&series, "6.1.0-4")), (Some(Unusable::Boot), Some(Unusable::Build)));
    assert_eq!(lab.record(1).attempts.len(), 2, "one boot that counted, and one that failed");

    let shown = stdout(&history(&lab, &["show"]));
    for words in ["release", "6.1.0-1", "does not boot", "per operation, 2 CPUs", "2 of 4 releases are measured"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let again = history(&lab, &["run", "--quiet"]);
    assert!(
        stderr(&again).contains("linux/zero_fill:base at 2: all 4 selected commits have results"),
        "{}",
        stderr(&again)
    );
    assert_refused(&bisect_subject(&lab, &["linux"]), 1, "no step of linux/zero_fill:base is known");
    lab.assert_nothing_left();
}

#[test]
fn the_time_of_kernels_is_measured_in_guests() {
    let lab = Lab::new();
    let kernel = fs::read(crate::lab::guest::kernel().path).unwrap();
    fs::write(lab.path("first"), &kernel).unwrap();
    fs::write(lab.path("broken"), broken(&kernel)).unwrap();
    let releases = [release("6.1.0-1", 1, "first"), release("6.1.0-2", 2, "broken")].concat();
    let keys = "workloads = [\"zero_fill:base\"]\nmeasure = \"time\"\nrepeats = 2\n";
    let subject = |more: &str| declare(&lab, &format!("[subject.linux]\n{keys}{more}{releases}"));

    for (more, problem) in [
        ("ops = 64\n", "`ops` applies only to transfers and instructions"),
        ("seeds = 2\n", "`seeds` applies only to instructions and transfers"),
        ("pin = \"none\"\n", "`pin` does not apply to kernels: `workloads` run in guests"),
        ("accel = \"fast\"\n", "unknown variant `fast`"),
    ] {
        subject(more);
        assert_refused(&history(&lab, &["run"]), 2, problem);
    }
    subject("accel = \"tcg\"\n");
    assert_status(&history(&lab, &["run", "--quiet"]), 0);

    let series = series(&lab);
    let PointResult::Measured { estimate, .. } = &series.points[0].result else { panic!("{:?}", series.points[0]) };
    // Zeroing a page takes between 10 ns and 10 ms on any machine that runs the tests.
    assert!((1e-8..1e-2).contains(&estimate.median) && estimate.n == 2, "{estimate:?}");
    assert_eq!(why(&series, "6.1.0-2"), Some(Unusable::Boot));
    assert_eq!((series.unit.as_str(), series.quantity), ("s", faultline_record::quantity::Quantity::Time));
    let again = history(&lab, &["run", "--quiet"]);
    assert!(stderr(&again).contains("all 2 selected commits have results"), "{}", stderr(&again));
    lab.assert_nothing_left();
}

/// Runs `faultline bisect` over all commits of a repository that builds kernels.
fn bisect(repository: &Repository, more: &[&str]) -> Output {
    let words = ["bisect", &repository.commits[0], "HEAD", "--repository", "repository", "--work", "search", "--quiet"];
    command(&repository.lab, &[&words[..], &["--build", "./build"], more].concat()).output().unwrap()
}

/// Five commits. One leaves no image, one leaves an image that does not boot, and one leaves a
/// kernel with another workload.
#[test]
#[ignore = "boots guests: make test-guest"]
fn a_search_skips_kernels_that_do_not_build_or_boot() {
    let image = crate::lab::guest::kernel().path;
    let kernels = Lab::new();
    fs::write(kernels.path("broken"), broken(&fs::read(&image).unwrap())).unwrap();
    // The kernel with appended bytes is another file with equal counts.
    let longer = [fs::read(&image).unwrap(), vec![0; 16]].concat();
    fs::write(kernels.path("longer"), longer).unwrap();
    let (broken, longer) = (kernels.path("broken"), kernels.path("longer"));
    let repository = of_kernels(&[&image, &longer, Path::new("/nowhere"), &broken, &image]);
    let of_kernel = ["--image", "boot/bzImage", "--workload", WORKLOAD, "--by", "transfers", "--seeds", "1"];
    let found = bisect(&repository, &[&of_kernel[..], &OPTIONS, &["--thorough", "--format", "json"]].concat());
    assert_status(&found, 0);
    let found: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
    assert!(found["steps"].as_array().unwrap().is_empty() && found["finished"].as_bool().unwrap(), "{found:#}");
    let record = repository.lab.record(1);
    let kept = Path::new(record.subjects[0].setup.directory.as_deref().unwrap());
    assert!(kept.join("boot/bzImage").is_file() && !kept.join("build").exists(), "only the image is kept");

    // An end of the range that does not boot is reported.
    let repository = of_kernels(&[&image, &broken]);
    let told = bisect(&repository, &[&of_kernel[..], &OPTIONS].concat());
    assert_status(&told, 1);
    assert!(stdout(&told).contains("Not searched: 1 commit after"), "{}", stdout(&told));
    repository.lab.assert_nothing_left();
}

#[test]
fn a_search_of_kernels_says_what_does_not_apply() {
    let lab = Lab::new();
    let refused = |options: &[&str], problem: &str| {
        let words = ["bisect", "HEAD~1", "HEAD", "--image", "boot/bzImage"];
        assert_refused(&lab.run(&[&words[..], options].concat()), 2, problem);
    };
    let workload = ["--workload", WORKLOAD];
    let with = |options: &[&'static str]| [&workload[..], options].concat();
    refused(&[], "--workload");
    refused(&workload, "the time of kernels is not measured here");
    refused(&with(&["--by", "transfers", "--whole"]), "--whole does not apply to kernels");
    refused(&with(&["--by", "transfers", "--vmlinux", "../x"]), "'../x' is not a path below the top of a build");
    refused(&with(&["--by", "transfers", "--", "./x"]), "cannot be used with");
    assert!(!lab.db().exists());
}

/// A repository whose build copies the image that a file names.
fn of_kernels(images: &[&Path]) -> Repository {
    let mut repository = Repository::new();
    for (number, image) in images.iter().enumerate() {
        let build = format!("#!/bin/sh\n# {number}\nmkdir -p boot && cp '{}' boot/bzImage\n", image.display());
        repository.write_programs(&[("build", &build)]);
        repository.commit_all(&format!("commit {number}"));
    }
    let keys = "repository = \"repository\"\nbuild = \"./build\"\nimage = \"boot/bzImage\"\n";
    declare(&repository.lab, &format!("[subject.linux]\n{keys}{KEYS}"));
    repository
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn commits_that_build_kernels_are_counted_also_after_a_kill() {
    let image = crate::lab::guest::kernel().path;
    let repository = of_kernels(&[&image, &image, Path::new("/nowhere"), &image]);
    let lab = &repository.lab;
    let mut run = command(lab, &["history", "run", "--quiet"]);
    let child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    await_boot("the first kernel", || lab.attempts().is_some_and(|attempts| attempts > 0));
    // Wait for the emulator: files made before it starts would stay behind after a kill.
    std::thread::sleep(Duration::from_secs(3));
    kill(child);
    let resumed = history(lab, &["run", "--quiet"]);
    assert_status(&resumed, 0);

    let series = series(lab);
    assert!(!series.has_releases && series.runs.len() == 1, "{series:?}");
    let values: Vec<Option<f64>> = series.points.iter().map(|point| point.value()).collect();
    assert!(values[0].is_some() && values[0] == values[1] && values[0] == values[3], "{values:?}");
    for point in [&series.points[1], &series.points[3]] {
        let PointResult::Measured { same_as, .. } = &point.result else { panic!("{point:?}") };
        assert_eq!(same_as.as_deref(), Some(&*repository.commits[0]), "the same image is counted once");
    }
    assert_eq!(why(&series, &repository.commits[2]), Some(Unusable::Build));
    assert!(series.steps.steps.is_empty(), "{:?}", series.steps);
    // Only the image of a build is kept, and the user's checkout is unchanged.
    let record = lab.record(1);
    let build = Path::new(record.subjects[0].setup.directory.as_deref().unwrap());
    let kept: Vec<_> = fs::read_dir(build).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(kept, ["boot"]);
    assert!(git(&repository.path(), &["status", "--porcelain", "--ignored"]).is_empty());
    lab.assert_nothing_left();
}

#[test]
fn what_can_not_be_counted_is_refused() {
    let lab = Lab::new();
    fs::write(lab.path("text"), "x").unwrap();
    let refused = |keys: &str, releases: &str, problem: &str| {
        declare(&lab, &format!("[subject.linux]\nwork = \"work\"\n{keys}\n{releases}"));
        assert_refused(&history(&lab, &["commits"]), 2, problem);
    };
    let one = release("1", 1, "text");
    refused("workloads = [\"zero_fil:base\"]", &one, "there is no workload 'zero_fil'");
    refused("workloads = [\"zero_fill:base\"]", &release("1", 1, "gone"), "the kernel of the release 1: No such file");
    refused("workloads = [\"zero_fill:base\"]", &release("1 2", 1, "text"), "'1 2' names no release");
    refused("workloads = [\"zero_fill:base\"]", &[one.clone(), one.clone()].concat(), "there are two releases '1'");
    refused("workloads = [\"zero_fill:base\"]\nbranch = \"main\"", &one, "`branch` does not apply to releases");
    refused(
        "workloads = [\"zero_fill:base\"]\naccel = \"kvm\"",
        &one,
        "`accel` applies only to kernels whose time is measured in guests",
    );
    refused(
        "workloads = [\"zero_fill:base\"]\nrepeats = 3",
        &one,
        "`repeats` does not apply to kernels: `workloads` run in a guest, with as many seeds as `seeds` says",
    );
    refused("workloads = [\"zero_fill\"]", &one, "`workloads` takes NAME:VARIANT, each once, not 'zero_fill'");
    refused("", &one, "`workloads` takes the workloads that run on the kernel");
    refused("workloads = [\"zero_fill:base\"]\ncommand = \"./x\"", "", "`workloads` belongs to a kernel");
    declare(&lab, &format!("[subject.linux]\nworkloads = [\"map_churn:threads\", \"zero_fill:base\"]\n{one}"));
    let searched = bisect_subject(&lab, &["linux"]);
    assert_refused(&searched, 2, "'linux' has 2 workloads, and each is a history of its own");
    assert!(stderr(&searched).contains("linux/map_churn:threads, linux/zero_fill:base"), "{}", stderr(&searched));
    assert!(!lab.db().exists());
}
