//! Tests of commits, checkouts and builds with the real git and a real keeper: this program is its
//! own.

mod builds;
mod commits;
mod layouts;
mod patches;

use faultline_experiment::{Error, Lab, LocalMachines, Notice, Observer, Places};
use faultline_history::{Build, Commits, Workshop, linker};
use faultline_record::outcome::Outcome;
use faultline_record::plan::PlanItem;
use faultline_record::recipe::Recipe;
use faultline_record::record::RunHead;
use faultline_runner::{RunProgress, SystemClock};
use faultline_targets::{StopFlag, keeper};
use libtest_mimic::Arguments;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use tempfile::TempDir;

/// The tests with their names.
macro_rules! named_tests {
    ($($test:ident),* $(,)?) => {
        vec![$(libtest_mimic::Trial::test(stringify!($test), || {
            $test();
            Ok(())
        })),*]
    };
}
pub(crate) use named_tests;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == keeper::ARGUMENT => keeper::run(arguments),
        Some(first) if first == linker::ARGUMENT => linker::run(arguments),
        _ => {
            let tests = [commits::tests(), builds::tests(), layouts::tests(), patches::tests()];
            libtest_mimic::run(&Arguments::from_args(), tests.into_iter().flatten().collect()).exit_code()
        }
    }
}

/// An observer that ignores everything.
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

/// A user's repository and our directory for it.
struct Checkouts {
    root: TempDir,
    /// Name of the user's directory.
    at: &'static str,
}

impl Checkouts {
    fn new() -> Self {
        let place = Checkouts { root: tempfile::tempdir().unwrap(), at: "theirs" };
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

    fn with<T>(&self, used: impl FnOnce(&Workshop, &mut Lab<'_>) -> T) -> T {
        self.opened(|workshop, lab| used(&workshop.unwrap(), lab))
    }

    fn opened<T>(&self, used: impl FnOnce(Result<Workshop, Error>, &mut Lab<'_>) -> T) -> T {
        let (places, stop, mut observer) = (self.places(), StopFlag::default(), Deaf);
        let mut lab = Lab {
            places: &places,
            machines: &LocalMachines,
            clock: &SystemClock::default(),
            stop: &stop,
            observer: &mut observer,
        };
        used(Workshop::open(&self.theirs(), None, &lab), &mut lab)
    }
}

fn recipe(script: &str) -> Recipe {
    Recipe {
        command: ["sh", "-c", script].map(str::to_owned).into(),
        environment: Vec::new(),
        limit_s: 60,
        kept: Vec::new(),
        is_clean: false,
        ..Recipe::default()
    }
}

fn build(place: &Checkouts, name: &str, recipe: &Recipe) -> Build {
    place.with(|workshop, lab| {
        let commit = workshop.repository.commit(name, lab).unwrap();
        workshop.build(&commit, recipe, &workshop.tools(recipe, lab).unwrap(), lab).unwrap()
    })
}

fn built(place: &Checkouts, name: &str, recipe: &Recipe) -> (PathBuf, bool) {
    match build(place, name, recipe) {
        Build::Built { directory, is_old } => (directory, is_old),
        Build::Failed { how, output } => panic!("{how}: {output}"),
    }
}

/// True if a file of that name is below a directory.
fn find(directory: &Path, name: &str) -> bool {
    fs::read_dir(directory)
        .unwrap()
        .map(Result::unwrap)
        .any(|entry| entry.file_name() == name || (entry.file_type().unwrap().is_dir() && find(&entry.path(), name)))
}
