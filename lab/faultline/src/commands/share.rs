//! `faultline serve`, `import` and `export`: results for browsers and other tools.

use super::measuring::places;
use crate::arguments::Global;
use crate::arguments::share::{Export, Import, Listen, Serve, Site};
use crate::failure::{self, Failure};
use crate::output;
use faultline_exchange::{FORMATS, Format, Written};
use faultline_experiment::{ImportRequest, Imported, Places, operand, stored};
use faultline_history::declared::Declared;
use faultline_record::dataset::Dataset;
use faultline_report::{ImportFormat, counted};
use faultline_runner::SystemClock;
use faultline_web::{DeclaredQuirks, ExportRequest, NewToken, ServeRequest, Server, Tokens, TokensError};
use std::fmt::Display;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

pub(crate) fn import(arguments: &Import, global: &Global) -> Result<ExitCode, Failure> {
    if arguments.formats {
        let formats: Vec<ImportFormat> = FORMATS.iter().copied().map(described).collect();
        output::print(&faultline_report::import_formats(&formats, arguments.format.format, &output::style()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let places = places(global)?;
    let Some(file) = arguments.file.clone() else { return list(arguments, &places) };
    let request = ImportRequest { file, from: arguments.from.from, name: arguments.name.clone() };
    let Imported { name, format, dataset } = faultline_experiment::import(&request, &places, &SystemClock::default())?;
    let points: usize = dataset.series.iter().map(|series| series.points.len()).sum();
    failure::warn(&format!(
        "imported as '{name}' from {}: {}, {}",
        format.name(),
        counted(dataset.series.len() as u64, "benchmark"),
        counted(points as u64, "run")
    ));
    warn_of_missing(&dataset);
    Ok(ExitCode::SUCCESS)
}

/// Names the runs without a value on standard error.
pub(super) fn warn_of_missing(dataset: &Dataset) {
    for sentence in faultline_report::runs_without_value(dataset) {
        failure::warn(&sentence);
    }
}

fn list(arguments: &Import, places: &Places) -> Result<ExitCode, Failure> {
    let lines = stored::imports(places)?;
    output::print(&faultline_report::imported(&lines, arguments.format.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}

fn described(format: Format) -> ImportFormat {
    ImportFormat { name: format.name(), files: format.description(), read: format.reads(), written: format.writes() }
}

pub(crate) fn export(arguments: &Export, global: &Global) -> Result<ExitCode, Failure> {
    let operand = operand::resolve(&arguments.what, arguments.from.from, &places(global)?)?;
    let written = faultline_exchange::write(&faultline_report::worded_dataset(operand.dataset()), arguments.to)
        .map_err(|error| Failure::usage(format!("{}: {}", operand.name, error), error.hint))?;
    put(&written, arguments.output.as_deref())?;
    for loss in &written.losses {
        failure::warn(&format!("left out, because {} cannot hold it: {loss}", arguments.to.name()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes one file to standard output or a path, or several into a new or empty directory.
fn put(written: &Written, output: Option<&Path>) -> Result<(), Failure> {
    match (written.files.as_slice(), output) {
        ([(_, text)], None) => output::print(text),
        ([(_, text)], Some(path)) if !path.is_dir() => {
            output::check_file(path)?;
            output::write_file(path, text)
        }
        (_, None) => Err(Failure::usage("this format has several files", "`-o DIR` names a directory for them")),
        (files, Some(directory)) => {
            let taken = directory.read_dir().is_ok_and(|mut entries| entries.next().is_some());
            if taken {
                return Err(Failure::usage(
                    format!("{} is not empty", directory.display()),
                    "`-o DIR` takes a directory that is new or empty",
                ));
            }
            for (name, text) in files {
                let path = directory.join(name);
                let parent = path.parent().unwrap_or(directory);
                std::fs::create_dir_all(parent).map_err(|error| {
                    Failure::new(format!("cannot make {}: {error}", parent.display()), "name another with `-o DIR`")
                })?;
                output::write_file(&path, text)?;
            }
            Ok(())
        }
    }
}

pub(crate) fn serve(arguments: &Serve, global: &Global) -> Result<ExitCode, Failure> {
    if let Some(file) = &arguments.new_token {
        let made = NewToken::add_named_to(file, arguments.name.as_deref().unwrap_or_default()).map_err(refused)?;
        output::print(&format!("{}\n", made.token))?;
        failure::warn(&format!("this token is shown only now; its hash is in {}", file.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let quirks = declared_quirks(arguments.config.as_deref())?;
    if let Some(directory) = &arguments.site.export {
        return export_site(directory, &arguments.site, &quirks, &places(global)?);
    }
    let tokens = arguments.token_file.as_deref().map(Tokens::read).transpose().map_err(refused)?;
    let listen = address(&arguments.listen)?;
    let request = ServeRequest {
        listen,
        name: arguments.listen.name.clone(),
        tokens,
        hosts: arguments.hosts.clone(),
        quirks,
        log: Arc::new(|line: &str| failure::warn(&format!("faultline: {line}"))),
    };
    let stop = output::stop_flag()?;
    let server = Server::bind(request, places(global)?)?;
    output::print(&format!("http://{}/\n", server.address()))?;
    if !listen.ip().is_loopback() {
        failure::warn(
            &"other machines can read the traffic of this server, including the token; a proxy with TLS in front prevents that",
        );
    }
    server.run(move || stop.is_set())?;
    Ok(ExitCode::SUCCESS)
}

/// The address to listen on: of a name's addresses the first, those of IPv4 before others.
fn address(listen: &Listen) -> Result<SocketAddr, Failure> {
    let unknown = |why: &dyn Display| {
        Failure::usage(
            format!("cannot find the address of '{}': {why}", listen.place),
            "`--listen` takes a name that this machine can resolve, or an address such as 127.0.0.1:8710",
        )
    };
    let found = listen.place.to_socket_addrs().map_err(|error| unknown(&error))?;
    found.min_by_key(|address| !address.is_ipv4()).ok_or_else(|| unknown(&"it has none"))
}

/// Writes the pages as files.
fn export_site(directory: &Path, site: &Site, quirks: &DeclaredQuirks, places: &Places) -> Result<ExitCode, Failure> {
    let request = ExportRequest { directory, quirks, comparisons: site.comparisons, executions: site.executions };
    let exported = faultline_web::export_site(&request, places)?;
    failure::warn(&format!(
        "pages of {}, {}, {} and {}: {}",
        counted(exported.runs as u64, "run"),
        counted(exported.histories as u64, "history"),
        counted(exported.comparisons as u64, "comparison"),
        counted(exported.executions as u64, "execution"),
        directory.join("index.html").display()
    ));
    for left_out in &exported.left_out {
        failure::warn(&format!("without {left_out}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The quirks that a file declares; none without a file. Fails if it cannot be read or is invalid.
fn declared_quirks(config: Option<&Path>) -> Result<DeclaredQuirks, Failure> {
    let mut quirks = DeclaredQuirks::default();
    if config.is_some() {
        for subject in Declared::read(config)?.subjects.into_values() {
            quirks.add(subject.name.clone(), subject.saved_repository()?, subject.quirks);
        }
    }
    Ok(quirks)
}

fn refused(error: TokensError) -> Failure {
    Failure::usage(error.to_string(), "`faultline serve --new-token FILE` makes a token and a file of tokens")
}
