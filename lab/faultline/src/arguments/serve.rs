//! Arguments of `faultline serve` and `faultline export-site`.

use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline serve                                     http://127.0.0.1:8710, for this machine alone
  faultline serve --listen 127.0.0.1:0                any free port
  faultline serve --new-token tokens --name 'A. Uthor'    make a token; the file gets its hash
  faultline serve --listen 0.0.0.0:8710 --token-file tokens --host lab.example
It only reads, except that readers with a token can set the states of changes. Other machines need
a token, and nothing is encrypted: put a proxy with TLS in front (docs/SERVE.md). Ctrl-C ends it.")]
pub(crate) struct Serve {
    /// Address and port to listen on. Port 0: any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8710")]
    pub(crate) listen: SocketAddr,

    /// File with the hashes of tokens. Then nobody reads without a token
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// Further name that the server is known by, as that of a proxy in front. May be repeated
    #[arg(long = "host", value_name = "NAME", value_parser = host)]
    pub(crate) hosts: Vec<String>,

    /// File that declares quirks of subjects, as `faultline history` reads it. The pages show them
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Make a token, print it once, add its hash to this file, and end
    #[arg(long, value_name = "FILE", conflicts_with_all = ["listen", "token_file", "hosts", "config"])]
    pub(crate) new_token: Option<PathBuf>,

    /// Whose the new token is. States of changes that are set with it have this name
    #[arg(long, value_name = "NAME", requires = "new_token", value_parser = person)]
    pub(crate) name: Option<String>,
}

/// A host's name without a port.
fn host(text: &str) -> Result<String, String> {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_sign) {
        true => Ok(text.to_owned()),
        false => Err("not the name of a host; write it like lab.example, without a port".to_owned()),
    }
}

/// A person's name, in one line.
fn person(text: &str) -> Result<String, String> {
    let name = text.trim();
    match !name.is_empty() && name.chars().count() <= 64 && !name.chars().any(char::is_control) {
        true => Ok(name.to_owned()),
        false => Err("not a name of 1 to 64 letters in one line".to_owned()),
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline export-site site                 pages in the directory `site`; open site/index.html
  faultline export-site /srv/www/faultline   for any web server; call it again to replace them
  faultline export-site site --comparisons 5000
                                             compares up to 5,000 pairs of commits of each history
The pages are those of `faultline serve`, without comparisons of runs.")]
pub(crate) struct ExportSite {
    /// Directory to write to: empty, not there yet, or written by this command before
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// File that declares quirks of subjects, as `faultline history` reads it. The pages show them
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Maximum number of comparisons of two commits, of each history: both sides of steps first, then neighbours, then
    /// pairs of the newest commits
    #[arg(long, value_name = "NUMBER", default_value_t = 200)]
    pub(crate) comparisons: usize,

    /// Maximum number of executions of each run, with their raw samples and consoles: the first ones
    #[arg(long, value_name = "NUMBER", default_value_t = 1000)]
    pub(crate) executions: u32,
}
