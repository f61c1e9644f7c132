//! Untrusted commits: their builds and programs look for secrets, a network, the database and
//! places to write.

use crate::lab::repository::Repository;
use crate::lab::{output_text, program, stderr};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The text of a secret file.
const SECRET: &str = "the secret of the home directory";

/// The value of a secret variable.
const PASSWORD: &str = "the password of the database";

/// Output of a program that finds something, in the order of [`Place::probe`].
const FOUND: [&str; 5] = [SECRET, PASSWORD, "connected", "SQLite format 3", "through a descriptor"];

/// A repository whose commits look around, and this host around it.
struct Place {
    repository: Repository,
    listener: TcpListener,
    /// A file outside of all directories that a commit may write.
    outside: PathBuf,
}

impl Place {
    fn new() -> Self {
        let repository = Repository::new();
        let home = repository.lab.path("home");
        fs::create_dir(&home).unwrap();
        fs::write(home.join("secret"), SECRET).unwrap();
        let outside = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("outside-{}", repository.lab.mark()));
        let mut place = Place { repository, listener: TcpListener::bind("127.0.0.1:0").unwrap(), outside };
        let probe = place.probe();
        for number in 0..2 {
            let build =
                "#!/bin/sh\nsh ./probe > found-by-build 2>&1; echo Could not resolve host: example > /dev/null\n";
            let prog = format!("#!/bin/sh\n# {number}\nsh ./probe > found-by-program 2>&1\nsleep 0.01\n");
            place.repository.write_programs(&[("build", build), ("prog", &prog), ("probe", &probe)]);
            place.repository.commit_all(&format!("commit {number}"));
        }
        place
    }

    /// A script that prints what it finds, and writes where it can.
    fn probe(&self) -> String {
        let port = self.listener.local_addr().unwrap().port();
        let db = self.repository.lab.db();
        format!(
            "cat \"$HOME/secret\"\necho \"$PGPASSWORD\"\n\
             bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected'\n\
             head -c 15 '{db}'\n\
             sh -c 'cat <&9 > /dev/null && echo through a descriptor'\n\
             echo x > \"$HOME/written\"\n\
             echo x > '{outside}'\n\
             echo x > '{lab}/written'\n",
            db = db.display(),
            outside = self.outside.display(),
            lab = self.repository.lab.path("").display(),
        )
    }

    /// A command of ours with secrets in its environment and an open descriptor.
    fn command(&self, arguments: &[&str]) -> Command {
        let lab = &self.repository.lab;
        let plain = lab.command(&[]);
        let mut command = Command::new("sh");
        command.args(["-c", "exec 9<\"$0\"; exec \"$@\""]).arg(lab.path("home/secret")).arg(program()).args(arguments);
        for (name, value) in plain.get_envs() {
            value.map(|value| command.env(name, value));
        }
        command
            .env("HOME", lab.path("home"))
            .env("PGPASSWORD", PASSWORD)
            .env("XDG_CACHE_HOME", lab.path("cache"))
            .current_dir(lab.path(""));
        command
    }

    fn bisect(&self, options: &[&str]) -> Command {
        let repository = self.repository.path();
        let first = ["bisect", "--repository", repository.to_str().unwrap(), "--build", "./build", "--seed", "1"];
        let last = ["--repeats", "4", "--least", "90%", "HEAD~1", "HEAD", "--", "./prog"];
        self.command(&[&first[..], options, &last].concat())
    }

    /// The outputs of all builds and programs so far.
    fn found(&self, name: &str) -> Vec<String> {
        let builds =
            |directory: PathBuf| fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut places: Vec<PathBuf> = builds(self.repository.lab.path("cache/faultline/history")).collect();
        places.push(self.repository.lab.path("work"));
        let files = places.into_iter().flat_map(|place| builds(place.join("builds")).collect::<Vec<_>>());
        files.filter_map(|build| fs::read_to_string(build.join(name)).ok()).collect()
    }

    /// Fails if a build or a program found or wrote anything, or if none was executed.
    #[track_caller]
    fn assert_nothing_found(&self) {
        for name in ["found-by-build", "found-by-program"] {
            let all = self.found(name);
            assert!(!all.is_empty(), "nothing was executed");
            for text in all {
                assert!(!FOUND.iter().any(|found| text.contains(found)), "{name}: {text}");
            }
        }
        let written: Vec<PathBuf> = self.writes().into_iter().filter(|file| file.exists()).collect();
        assert_eq!(written, Vec::<PathBuf>::new());
    }

    /// Fails unless builds and programs found and wrote everything.
    #[track_caller]
    fn assert_all_found(&self) {
        for name in ["found-by-build", "found-by-program"] {
            let all = self.found(name).concat();
            assert!(FOUND.iter().all(|found| all.contains(found)), "{name}: {all}");
        }
        assert!(self.writes().iter().all(|file| file.exists()));
    }

    fn writes(&self) -> [PathBuf; 3] {
        let lab = &self.repository.lab;
        [lab.path("home/written"), self.outside.clone(), lab.path("written")]
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.outside);
    }
}

/// True if a command ran in a sandbox. Otherwise fails if this machine has namespaces.
#[track_caller]
fn was_in_sandbox(output: &Output) -> bool {
    let is_without = stderr(output).contains("run without a sandbox");
    if is_without {
        let own = if rustix::process::geteuid().is_root() {
            &["--mount"][..]
        } else {
            &["--user", "--map-root-user", "--mount"]
        };
        let mut unshare = Command::new("unshare");
        unshare.args(own).args([
            "--propagation",
            "unchanged",
            "--net",
            "--ipc",
            "mount",
            "-t",
            "tmpfs",
            "tmpfs",
            "/mnt",
        ]);
        let is_possible = unshare.output().is_ok_and(|output| output.status.success());
        assert!(!is_possible, "there are namespaces: {}", stderr(output));
        println!("skipped: this machine gives us no namespaces");
    }
    !is_without
}

#[track_caller]
fn succeeded(mut command: Command) -> Output {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    output
}

#[test]
fn commits_find_no_secrets_and_write_nothing() {
    let place = Place::new();
    let output = succeeded(place.bisect(&[]));
    if !was_in_sandbox(&output) {
        return;
    }
    place.assert_nothing_found();
    place.repository.lab.assert_nothing_left();
    let record = place.repository.lab.record(1);
    let line = record.settings.measured_line().unwrap();
    assert_eq!(line.tools.versions["sandbox"], "without a network");
    assert_eq!(record.sessions[0].facts[0].get_text("sandbox"), Some("namespaces"));
    assert!(record.attempts.len() >= 4, "the commits are measured");
}

#[test]
fn without_the_sandbox_they_find_all() {
    let place = Place::new();
    succeeded(place.bisect(&["--no-sandbox"]));
    place.assert_all_found();
    let record = place.repository.lab.record(1);
    let line = record.settings.measured_line().unwrap();
    assert!(
        line.recipe.outside_sandbox && !line.tools.versions.contains_key("sandbox"),
        "a resume goes on in the same way"
    );
}

#[test]
fn the_network_can_be_opened_for_builds_alone() {
    let place = Place::new();
    let output = succeeded(place.bisect(&["--build-network"]));
    if !was_in_sandbox(&output) {
        return;
    }
    let [built, ran] = ["found-by-build", "found-by-program"].map(|name| place.found(name).concat());
    assert!(built.contains("connected") && !ran.contains("connected"), "{built}\n{ran}");
    assert!(!built.contains(SECRET) && !built.contains(PASSWORD), "{built}");
}

#[test]
fn a_build_without_a_network_hints_at_the_option() {
    let mut repository = Repository::new();
    for number in 0..2 {
        let build =
            format!("#!/bin/sh\n# {number}\necho 'curl: (6) Could not resolve host: example.org' >&2; exit 6\n");
        repository.write_programs(&[("build", &build), ("prog", "#!/bin/sh\n")]);
        repository.commit_all("needs a network");
    }
    let words = |options: &[&str]| {
        let output = repository.bisect_built_by("./build", &[options, &["HEAD~1", "HEAD"]].concat()).output().unwrap();
        let is_in = was_in_sandbox(&output);
        (is_in, output_text(&output).split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (is_in, closed) = words(&[]);
    if is_in {
        assert!(closed.contains("`--build-network` (in faultline.toml: `network = true`)"), "{closed}");
    }
    assert!(!words(&["--build-network"]).1.contains("`--build-network`"));
}

#[test]
fn a_subject_and_a_patch_are_in_the_sandbox_too() {
    let place = Place::new();
    let declare = |keys: &str| {
        let text = format!(
            "[subject.app]\nrepository = \"repository\"\nwork = \"work\"\nbuild = \"./build\"\ncommand = \"./prog\"\n\
             repeats = 2\nseed = 1\n{keys}"
        );
        fs::write(place.repository.lab.path("faultline.toml"), text).unwrap();
    };
    declare("");
    let output = succeeded(place.command(&["history", "run"]));
    if !was_in_sandbox(&output) {
        return;
    }
    place.assert_nothing_found();
    let patch = "diff --git a/other b/other\nnew file mode 100644\n--- /dev/null\n+++ b/other\n@@ -0,0 +1 @@\n+other\n";
    fs::write(place.repository.lab.path("change.diff"), patch).unwrap();
    let measured = ["--build", "./build", "--repeats", "2", "--", "./prog"];
    let attempt = ["try", "change.diff", "--repository", "repository"];
    let output = place.command(&[&attempt[..], &measured].concat()).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", output_text(&output));
    assert!(place.found("found-by-program").len() >= 3, "{}", output_text(&output));
    place.assert_nothing_found();
    declare("sandbox = false\n");
    fs::remove_dir_all(place.repository.lab.path("work")).unwrap();
    fs::create_dir(place.repository.lab.path("other")).unwrap();
    succeeded(place.command(&[
        "history",
        "run",
        "--db",
        place.repository.lab.path("other/f.sqlite").to_str().unwrap(),
    ]));
    assert!(place.found("found-by-build").iter().any(|text| text.contains(SECRET)));
}

#[test]
fn cargo_builds_in_the_sandbox() {
    if !Command::new("cargo").arg("--version").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: this machine has no cargo");
        return;
    }
    let mut repository = Repository::new();
    fs::create_dir(repository.path().join("src")).unwrap();
    for number in 0..2 {
        repository.write(&[
            ("Cargo.toml", "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
            ("src/main.rs", &format!("fn main() {{ std::process::exit({number} / 7) }}\n")),
        ]);
        repository.commit_all("a crate");
    }
    let path = repository.path();
    let mut command = repository.lab.command(&["bisect", "--repository", path.to_str().unwrap(), "--repeats", "4"]);
    command
        .args(["--build", "cargo build --offline", "--keep", "target/debug/tiny", "--least", "90%", "HEAD~1", "HEAD"])
        .args(["--", "target/debug/tiny"])
        .env("XDG_CACHE_HOME", repository.lab.path("cache"));
    let output = succeeded(command);
    if !was_in_sandbox(&output) {
        return;
    }
    let subjects = repository.lab.record(1).subjects.clone();
    let built = Some(faultline_record::subject::BuildResult::Built);
    assert!(subjects.len() == 2 && subjects.iter().all(|subject| subject.build == built), "{subjects:?}");
}

#[test]
fn without_namespaces_it_says_so_and_goes_on() {
    let place = Place::new();
    let plain = place.bisect(&["--quiet"]);
    let script = "echo 0 > /proc/sys/user/max_mnt_namespaces && exec \"$@\"";
    let (wrapper, words) = match rustix::process::geteuid().is_root() {
        true => ("setpriv", vec!["--bounding-set=-sys_admin", "--inh-caps=-sys_admin", "--"]),
        false => ("unshare", vec!["--user", "--map-root-user", "sh", "-c", script, "sh"]),
    };
    if !Command::new(wrapper).args(&words).arg("true").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: {wrapper} cannot take namespaces away");
        return;
    }
    let mut command = Command::new(wrapper);
    command.args(&words).arg(plain.get_program()).args(plain.get_args()).current_dir(place.repository.lab.path(""));
    for (name, value) in plain.get_envs() {
        value.map(|value| command.env(name, value));
    }
    let output = succeeded(command);
    let said = "builds and programs of commits run without a sandbox, because the system gives no namespaces";
    assert_eq!(stderr(&output).matches(said).count(), 1, "{}", stderr(&output));
    place.assert_all_found();
}
