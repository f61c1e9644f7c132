//! `faultline ci`: the gate between two commits.

use super::bisect::builds;
use super::building::{given_of_builds, recipe};
use super::history::trusted;
use super::measuring::{self, places_to_measure};
use super::result::{form_of_file, no_page, write_text};
use crate::arguments::Global;
use crate::arguments::ci::Ci;
use crate::arguments::stored::Shown;
use crate::failure::{self, Failure};
use crate::output;
use faultline_experiment::Places;
use faultline_experiment::lens::{BuildsRequest, ModelRequest};
use faultline_history::ci::{CiProgramRequest, CiRequest, ci as compare};
use faultline_history::declared::HistorySubject;
use faultline_history::request::{LineRequest, MeasureRequest};
use faultline_record::artefact::Artefact;
use faultline_record::relink::LayoutKind;
use faultline_report::{Format, Style};
use faultline_stats::ci::{CiResult, CiState};
use std::path::Path;
use std::process::ExitCode;

/// Default number of tasks.
const USUAL_TASKS: u32 = 4;

/// Compares both commits. Every failure has the exit status 2, because 1 means worse.
pub(crate) fn ci(arguments: &Ci, global: &Global) -> Result<ExitCode, Failure> {
    gate(arguments, global).map_err(Failure::unmeasured)
}

fn gate(arguments: &Ci, global: &Global) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    let file = conduct.output.as_deref();
    if let Some(Shown::Page | Shown::Folded) = file.map(form_of_file).transpose()? {
        return Err(no_page("a gate between two commits"));
    }
    let sandboxing = arguments.building.sandbox.choice();
    let places = Places { sandboxing, ..places_to_measure(conduct, global)? };
    let request = request(arguments, &places)?;
    let directory = arguments.report.as_deref().map(directory).transpose()?;
    let result = measuring::with_lab(conduct, &places, |lab| Ok(compare(&request, lab)?))?;
    let Some(result) = result else {
        failure::warn(&"stopped; everything measured is saved, and the same command builds nothing twice");
        return Ok(failure::stopped());
    };
    output::print(&faultline_report::ci(&result, conduct.format, &output::style()))?;
    if let Some(path) = file {
        write_text(&text(&result, form_of_file(path)?), path)?;
    }
    if let Some(directory) = directory {
        for (name, text) in [
            ("ci.md", text(&result, Shown::Table(Format::Markdown))),
            ("ci.json", text(&result, Shown::Table(Format::Json))),
            ("junit.xml", faultline_report::ci_junit(&result)),
        ] {
            output::write_file(&directory.join(name), &text)?;
        }
        failure::warn(&format!("written: ci.md, ci.json and junit.xml in {}", directory.display()));
    }
    Ok(match result.state() {
        CiState::Within | CiState::Inconclusive => ExitCode::SUCCESS,
        CiState::Worse => failure::some_failed(),
        CiState::NotMeasured => failure::unmeasured(),
    })
}

fn text(result: &CiResult, form: Shown) -> String {
    match form {
        Shown::Table(format) => faultline_report::ci(result, format, &Style::PLAIN),
        Shown::Page | Shown::Folded => String::new(),
    }
}

/// A directory for files, created if missing. Fails if it cannot be.
fn directory(path: &Path) -> Result<&Path, Failure> {
    std::fs::create_dir_all(path).map_err(|error| {
        Failure::usage(format!("cannot create {}: {error}", path.display()), "`--report` takes a directory")
    })?;
    Ok(path)
}

fn request(arguments: &Ci, places: &Places) -> Result<CiRequest, Failure> {
    let (base, head, from_merge_base) = range(&arguments.range)?;
    let programs = match arguments.command.as_slice() {
        [] => declared(arguments, places)?,
        command => vec![of_command(arguments, command)?],
    };
    Ok(CiRequest {
        base: base.to_owned(),
        head: head.to_owned(),
        from_merge_base,
        programs,
        budget: arguments.budget,
        by: arguments.by.clone(),
        time: arguments.time,
    })
}

/// The old and the new commit of a range, and whether it begins at their common ancestor. Fails for
/// another text.
fn range(text: &str) -> Result<(&str, &str, bool), Failure> {
    let parts = text.split_once("...").map(|parts| (parts, true)).or(text.split_once("..").map(|parts| (parts, false)));
    match parts {
        Some(((base, head), from_merge_base)) if !base.is_empty() => {
            Ok((base, if head.is_empty() { "HEAD" } else { head }, from_merge_base))
        }
        _ => Err(Failure::usage(
            format!("'{}' is no range of commits", text.escape_debug()),
            "write it like `origin/main...HEAD` or `v1.4..HEAD`",
        )),
    }
}

fn of_command(arguments: &Ci, command: &[String]) -> Result<CiProgramRequest, Failure> {
    Ok(CiProgramRequest {
        name: command.join(" "),
        line: LineRequest {
            repository: arguments.building.repository.clone(),
            work: arguments.building.work.clone(),
            releases: Vec::new(),
            recipe: recipe(&arguments.building)?,
            artefact: Artefact::Command(command.to_vec()),
            on: None,
            release_file: None,
            layout_kind: LayoutKind::default(),
            limit_ms: arguments.conduct.limit_ms(),
            seed: None,
        },
        counts: counts(arguments),
    })
}

fn counts(arguments: &Ci) -> BuildsRequest {
    builds(&arguments.guest, Some(arguments.tasks.unwrap_or(USUAL_TASKS)), ModelRequest::default())
}

/// The settings of the lens that a subject declares for its counts, if it has any.
fn of_subject(arguments: &Ci, subject: &HistorySubject) -> BuildsRequest {
    let declared = subject.measures.iter().find_map(|measure| match measure {
        MeasureRequest::Count { request, .. } => Some(request.as_ref().clone()),
        MeasureRequest::Executions { .. } | MeasureRequest::CountOnKernel { .. } => None,
    });
    match declared {
        Some(declared) => BuildsRequest { threads: arguments.tasks.or(declared.threads), ..declared },
        None => counts(arguments),
    }
}

/// The programs that faultline.toml declares. Fails if there is none, without consent, or if a
/// named subject does not exist or is no program here.
fn declared(arguments: &Ci, places: &Places) -> Result<Vec<CiProgramRequest>, Failure> {
    if let Some(option) = given_of_builds(&arguments.building, &arguments.guest) {
        return Err(Failure::usage(
            format!("{option} belongs to a command, and there is none"),
            "name it after `--`; faultline.toml describes how its subjects are built",
        ));
    }
    let declared = trusted(&arguments.config, places)?;
    let is_program = |subject: &&HistorySubject| {
        matches!(subject.line.artefact, Artefact::Command(_))
            && subject.line.releases.is_empty()
            && subject.line.on.is_none()
    };
    let chosen = declared.chosen(&arguments.subjects)?;
    if let Some(other) = chosen.iter().find(|subject| !arguments.subjects.is_empty() && !is_program(subject)) {
        return Err(Failure::usage(
            format!("the subject '{}' is no program of a repository on this host", other.name),
            "`faultline ci` counts programs; `faultline bisect` and `faultline history` measure kernels and other hosts",
        ));
    }
    let programs: Vec<CiProgramRequest> = chosen
        .into_iter()
        .filter(is_program)
        .map(|subject| CiProgramRequest {
            name: subject.name.clone(),
            line: LineRequest {
                limit_ms: arguments.conduct.limit_ms().or(subject.line.limit_ms),
                ..subject.line.clone()
            },
            counts: of_subject(arguments, subject),
        })
        .collect();
    match programs.is_empty() {
        true => Err(Failure::usage(
            format!("{} declares no program of a repository", declared.file.display()),
            "name a command after `--`, for example `faultline ci main...HEAD --build make -- ./prog`",
        )),
        false => Ok(programs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_two_ends() {
        let read = |text: &'static str| range(text).map_err(|_| ());
        assert_eq!(read("a..b"), Ok(("a", "b", false)));
        assert_eq!(read("origin/main...HEAD"), Ok(("origin/main", "HEAD", true)));
        assert_eq!(read("v1.4.."), Ok(("v1.4", "HEAD", false)));
        assert!(read("v1.4").is_err() && read("..b").is_err());
    }
}
