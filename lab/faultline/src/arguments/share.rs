//! Arguments of `faultline import`, `export` and `serve`.

use super::FormatArgument;
use super::values::{all_candidates, from_to};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use faultline_exchange::{FORMATS, Format as Foreign};
use std::net::SocketAddr;
use std::path::PathBuf;

/// The format of the input.
#[derive(Debug, Args)]
pub(crate) struct From {
    /// Format of the input, as `faultline import --formats` lists them [default: detected from its
    /// content]
    #[arg(long, value_name = "FORMAT", hide_possible_values = true, value_parser = foreign())]
    pub(crate) from: Option<Foreign>,
}

fn foreign() -> impl TypedValueParser<Value = Foreign> {
    PossibleValuesParser::new(FORMATS.iter().map(|format| format.name())).try_map(|name| name.parse::<Foreign>())
}

/// Formats that are written.
fn written() -> impl TypedValueParser<Value = Foreign> {
    let names = FORMATS.iter().filter(|format| format.is_written()).map(|format| format.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Foreign>())
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline import nightly.json                       another tool's file; the format is detected
  faultline import results/ --from asv --name suite   a directory under another name
  faultline import                                    list the imports
  faultline import --formats                          list the formats
Compare imported results by name: `faultline compare suite@1f3a9c suite@80d2`.")]
pub(crate) struct Import {
    /// File or directory; - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) from: From,

    /// List the formats, with the parts that are read and written
    #[arg(long, conflicts_with_all = ["file", "from"])]
    pub(crate) formats: bool,

    /// Name of the import [default: the file's name]
    #[arg(long, value_name = "NAME", requires = "file")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) format: FormatArgument,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline export 3 --to go-bench                 run 3 for benchstat
  faultline export 3 --to bencher -o run3.json
  faultline export nightly.json --to otava-csv     from one tool's format to another's
  faultline export 3 --to asv -o results           a directory")]
pub(crate) struct Export {
    /// Run (number, label or commit), file, directory, or name of an import
    #[arg(value_name = "WHAT", add = all_candidates())]
    pub(crate) what: String,

    #[command(flatten)]
    pub(crate) from: From,

    /// Format to write, as `faultline import --formats` lists them
    #[arg(long, value_name = "FORMAT", hide_possible_values = true, value_parser = written())]
    pub(crate) to: Foreign,

    /// File, or directory for formats of several files [default: standard output]
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline serve                                     http://127.0.0.1:8710, for this machine only
  faultline serve --listen localhost:0                any free port
  faultline serve --export site                       write the pages to a directory
  faultline serve --new-token tokens --name 'A. Uthor'   make a token; the file gets its hash
  faultline serve --listen 0.0.0.0:8710 --token-file tokens --host lab.example
The server is read-only, except that readers with a token can set the states of changes. Other machines need a token.
Traffic is not encrypted: put a proxy with TLS in front (docs/SERVE.md). Ctrl-C ends the server.")]
pub(crate) struct Serve {
    /// Address or host name, and port, to listen on. Port 0: any free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8710", value_parser = listen)]
    pub(crate) listen: Listen,

    /// File with the hashes of tokens. Reading then requires a token
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// Further name of the server, such as a proxy's; repeatable
    #[arg(long = "host", value_name = "NAME", value_parser = host)]
    pub(crate) hosts: Vec<String>,

    /// File that declares quirks of subjects, as for `faultline history`; the pages show them
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Make a token, print it once, add its hash to this file, and end
    #[arg(long, value_name = "FILE", conflicts_with_all = ["listen", "token_file", "hosts", "config", "export"])]
    pub(crate) new_token: Option<PathBuf>,

    /// Owner of the new token. States of changes set with it carry this name
    #[arg(long, value_name = "NAME", requires = "new_token", value_parser = person)]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) site: Site,
}

/// Pages as files.
#[derive(Debug, Args)]
#[command(next_help_heading = "Pages as files")]
pub(crate) struct Site {
    /// Write the pages to this directory instead of serving them: empty, new, or written by this
    /// option before
    #[arg(long, value_name = "DIR", conflicts_with_all = ["listen", "token_file", "hosts"])]
    pub(crate) export: Option<PathBuf>,

    /// Maximum number of comparisons of commits per history: steps first, then neighbours, then the
    /// newest
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = from_to(0usize, 1_000_000), requires = "export")]
    pub(crate) comparisons: usize,

    /// Maximum number of executions per run with raw samples and consoles: the first ones
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = from_to(0u32, 1_000_000), requires = "export")]
    pub(crate) executions: u32,
}

/// The place to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listen {
    /// The name of a host; `None` for an address.
    pub(crate) name: Option<String>,
    /// Name or address, and port.
    pub(crate) place: String,
}

fn listen(text: &str) -> Result<Listen, String> {
    let place = text.to_owned();
    if text.parse::<SocketAddr>().is_ok() {
        return Ok(Listen { name: None, place });
    }
    let (name, port) =
        text.rsplit_once(':').ok_or("a port is missing; write it like 127.0.0.1:8710 or localhost:8710")?;
    from_to(0, u16::MAX)(port).map_err(|range| format!("the port '{port}' is wrong: {range}"))?;
    let name = host(name).map_err(|_| "not an address or host name; write it like 127.0.0.1:8710 or localhost:8710")?;
    Ok(Listen { name: Some(name), place })
}

/// A host name without a port.
fn host(text: &str) -> Result<String, String> {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_sign) {
        true => Ok(text.to_owned()),
        false => Err("not the name of a host; write it like lab.example, without a port".to_owned()),
    }
}

/// A person's name in one line.
fn person(text: &str) -> Result<String, String> {
    let name = text.trim();
    match !name.is_empty() && name.chars().count() <= 64 && !name.chars().any(char::is_control) {
        true => Ok(name.to_owned()),
        false => Err("not a name of 1 to 64 letters in one line".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_listens_on_addresses_and_names() {
        let name = |text: &str| listen(text).map(|listen| listen.name);
        assert_eq!((name("127.0.0.1:0"), name("[::1]:8710")), (Ok(None), Ok(None)));
        assert_eq!(name("localhost:8080"), Ok(Some("localhost".to_owned())));
        assert!(name("localhost").unwrap_err().contains("a port is missing"));
        assert_eq!(
            name("localhost:99999").unwrap_err(),
            "the port '99999' is wrong: it must be a whole number from 0 to 65535"
        );
        assert!(name("a b:1").is_err() && name("::1:8710").is_err() && name(":80").is_err());
    }
}
