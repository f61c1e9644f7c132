//! Builds the workloads' programs with the user's compiler: runs their Makefile under a keeper.

use crate::keep::{End, Grace, Kept, Output, Program};
use crate::{StopFlag, TargetError, search_path};
use faultline_record::protocol::LONGEST_LINE_BYTES;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// Time limit. A build of all workloads takes 15 s on two CPUs.
const LIMIT: Duration = Duration::from_secs(10 * 60);

const STDERR_KEPT_BYTES: usize = 16_384;

/// Number of output lines that an error cites.
const CITED_LINES: usize = 3;

/// A build of all workloads.
#[derive(Debug, Clone, Copy)]
pub struct BuildRequest<'a> {
    /// Directory of the workloads' sources, with their Makefile.
    pub sources: &'a Path,
    /// The compiler and its options, separated by blanks: `clang -O3`.
    pub compiler: &'a str,
    /// Directory for the programs; created if missing. Existing programs are built again.
    pub directory: &'a Path,
    /// A program that runs [`crate::keeper::run`] if its first argument is
    /// [`crate::keeper::ARGUMENT`].
    pub keeper: &'a Path,
    /// Directory in which the build gets its own scratch directory.
    pub scratch: &'a Path,
}

/// Builds. All processes have ended on return. Fails if make or the compiler fails, at the time
/// limit, or on a stop; then the programs in the directory are unusable.
pub fn build_workloads(request: &BuildRequest<'_>, stop: &StopFlag) -> Result<(), TargetError> {
    let refused = |reason: &str| TargetError {
        problem: format!("can't build the workloads with '{}': {reason}", request.compiler),
        hint: "name a C compiler as a shell would find it, with its options, as in `clang -O3`".to_owned(),
    };
    let arguments = arguments(request).map_err(|reason| refused(&reason))?;
    let make = search_path::find("make").ok_or_else(|| TargetError {
        problem: "there is no make here".to_owned(),
        hint: "install GNU make, for example with `apt-get install make`".to_owned(),
    })?;
    let program = Program {
        keeper: request.keeper,
        scratch: request.scratch,
        file: &make,
        arguments: &|_| arguments.clone(),
        output: Output { longest_line: LONGEST_LINE_BYTES, stderr_bytes: STDERR_KEPT_BYTES },
        directory: None,
        waiting_is_free: false,
        grace: Grace::NONE,
        ours: None,
        environment: &without_outer_make(),
        system_settings: &[],
        namespace: None,
        sandbox: None,
    };
    let kept = Kept::start(&program).map_err(|text| refused(&text))?;
    // Errors are on standard error. The list of compiled files is not needed.
    let ended = kept.follow(LIMIT, &mut |_, _| ControlFlow::Continue(()), stop);
    let reason = match ended.end {
        End::Exited(0) => return Ok(()),
        End::Exited(_) => last_lines(&ended.stderr),
        End::Signalled(signal) => format!("make was ended by signal {signal}"),
        End::KeeperKilled => "its keeper was killed".to_owned(),
        End::NotStarted(text) => format!("make can't be started: {text}"),
        End::TimedOut => format!("it took longer than {} minutes", LIMIT.as_secs() / 60),
        End::Refused | End::Stopped => "it was stopped".to_owned(),
    };
    Err(refused(&reason))
}

/// Make passes its variables to a shell, so a value must not contain anything that a shell or make
/// interprets. Fails with a text.
fn arguments(request: &BuildRequest<'_>) -> Result<Vec<OsString>, String> {
    let directory = std::path::absolute(request.directory).map_err(|error| error.to_string())?;
    let directory = directory.to_str().filter(|path| path.chars().all(is_plain)).ok_or_else(|| {
        format!("the path {} contains a blank or a character that make would interpret", request.directory.display())
    })?;
    if request.compiler.trim().is_empty() {
        return Err("it names no compiler".to_owned());
    }
    if let Some(sign) = request.compiler.chars().find(|&sign| !is_plain(sign) && sign != ' ') {
        return Err(format!("it contains {sign:?}, which a shell would interpret"));
    }
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut arguments: Vec<OsString> = vec!["-C".into(), request.sources.into()];
    // Objects of another compiler may exist and look up to date.
    arguments.extend(["--always-make".into(), format!("-j{jobs}").into()]);
    arguments.extend([format!("CC={}", request.compiler).into(), format!("BUILD={directory}").into()]);
    Ok(arguments)
}

fn is_plain(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || "_-./+=,:@%".contains(sign)
}

/// The last lines, without make's own messages about the failure.
fn last_lines(stderr: &str) -> String {
    let gives_up = |line: &str| line.contains("*** [") || line.contains("*** Waiting");
    let telling = |line: &&str| !line.trim().is_empty() && !gives_up(line);
    let mut lines: Vec<&str> = stderr.lines().rev().filter(telling).take(CITED_LINES).map(str::trim).collect();
    lines.reverse();
    if lines.is_empty() { "make failed without a message".to_owned() } else { lines.join("; ") }
}

/// Variables that would pass the options of an outer make, or the user's options for every make, to
/// a build.
const OUTER_MAKE: [&str; 5] = ["MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS", "MAKEFILES", "MAKELEVEL"];

/// Environment variables that keep an outer make's options from a build: all of them, empty.
pub fn without_outer_make() -> Vec<(String, String)> {
    OUTER_MAKE.map(|name| (name.to_owned(), String::new())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(compiler: &str, directory: &str) -> String {
        let nowhere = Path::new("/nowhere");
        let request = BuildRequest {
            sources: nowhere,
            compiler,
            directory: Path::new(directory),
            keeper: nowhere,
            scratch: nowhere,
        };
        build_workloads(&request, &StopFlag::default()).unwrap_err().problem
    }

    #[test]
    fn no_shell_and_no_make_gets_to_act_on_words() {
        for sign in [';', '$', '`', '\'', '"', '#', '&', '|', '\n', '\t', '*', '~', '(', '\\'] {
            let problem = refusal(&format!("cc -O2{sign}x"), "/tmp/x");
            assert!(problem.ends_with(&format!("it contains {sign:?}, which a shell would interpret")), "{problem}");
        }
        assert!(refusal("cc", "/tmp/a b").contains("/tmp/a b contains a blank or a character"));
        assert!(refusal(" ", "/tmp/x").contains("it names no compiler"));
    }

    #[test]
    fn an_error_cites_the_last_lines() {
        let stderr = "a.c:1: warning\n\na.c:2:3: error: no\ncc: fatal\nmake: *** [Makefile:45: a.o] Error 1\n";
        assert_eq!(last_lines(stderr), "a.c:1: warning; a.c:2:3: error: no; cc: fatal");
        assert_eq!(last_lines("make: *** /x: No such file.  Stop.\n"), "make: *** /x: No such file.  Stop.");
        assert_eq!(last_lines("make: *** [Makefile:2: all] Error 1\n"), "make failed without a message");
    }
}
