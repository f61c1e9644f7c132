//! Build of the page's script and style with npm and esbuild, from `page/` into `OUT_DIR`. The
//! source tree stays unchanged. A package for crates.io has the built files instead of the sources.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, exit};

/// Sources of the bundle besides `src`.
const FILES: [&str; 4] = ["package.json", "package-lock.json", ".npmrc", "build.mjs"];

/// Files that `build.mjs` writes.
const BUILT: [&str; 4] = ["page.js", "page.css", "page.sha256", "page.version"];

fn main() {
    let source = Path::new(&variable("CARGO_MANIFEST_DIR")).join("page");
    let out = PathBuf::from(variable("OUT_DIR"));
    if !source.join("src").exists() {
        for file in BUILT {
            let from = source.join("built").join(file);
            println!("cargo::rerun-if-changed={}", from.display());
            check(fs::copy(&from, out.join(file)), &from);
        }
        return;
    }
    let work = out.join("page-build");
    for part in FILES.iter().copied().chain(["src"]) {
        println!("cargo::rerun-if-changed={}", source.join(part).display());
    }
    copy_sources(&source, &work);
    install(&work);
    run(Command::new("node").arg("build.mjs").arg(&out).current_dir(&work), "node");
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| fail(&format!("cargo sets no {name}")))
}

fn copy_sources(source: &Path, work: &Path) {
    let copied = work.join("src");
    if copied.exists() {
        check(fs::remove_dir_all(&copied), &copied);
    }
    check(fs::create_dir_all(&copied), &copied);
    for file in FILES {
        let from = source.join(file);
        check(fs::copy(&from, work.join(file)), &from);
    }
    let sources = source.join("src");
    for entry in check(fs::read_dir(&sources), &sources) {
        let from = check(entry, &sources).path();
        let name = from.file_name().unwrap_or_default().to_owned();
        check(fs::copy(&from, copied.join(name)), &from);
    }
}

/// Installs the packages of the lock file, if it changed.
fn install(work: &Path) {
    let lock = work.join("package-lock.json");
    let stamp = work.join("installed.lock");
    let wanted = check(fs::read(&lock), &lock);
    if work.join("node_modules").exists() && fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return;
    }
    run(Command::new("npm").args(["ci", "--omit=dev", "--prefer-offline", "--no-progress"]).current_dir(work), "npm");
    check(fs::write(&stamp, wanted), &stamp);
}

/// Runs a tool with its output on standard error, where cargo shows it on failure.
fn run(command: &mut Command, tool: &str) {
    match command.stdin(Stdio::null()).stdout(Stdio::null()).status() {
        Ok(status) if status.success() => {}
        Ok(status) => {
            fail(&format!("{tool} ended with {status} while building the report's page; its messages are above"))
        }
        Err(error) => fail(&format!(
            "the report's page is built with Node.js 20 or later and npm, but '{tool}' cannot be started: {error}\n\
             hint: install both (Debian: apt-get install nodejs npm) and build again"
        )),
    }
}

fn check<T>(result: std::io::Result<T>, path: &Path) -> T {
    result.unwrap_or_else(|error| fail(&format!("{}: {error}", path.display())))
}

fn fail(message: &str) -> ! {
    eprintln!("error: {message}");
    exit(1)
}
