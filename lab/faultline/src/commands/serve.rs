//! `faultline serve`

use crate::arguments::serve::Serve;
use crate::failure::{self, Failure};
use crate::{output, places, signals};
use faultline_history::declared::Declared;
use faultline_web::{DeclaredQuirks, NewToken, ServeRequest, Server, Tokens, TokensError};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

pub(crate) fn serve(arguments: &Serve, db: Option<&Path>) -> Result<ExitCode, Failure> {
    if let Some(file) = &arguments.new_token {
        let made = NewToken::add_named_to(file, arguments.name.as_deref().unwrap_or_default()).map_err(of_no_use)?;
        output::print(&format!("{}\n", made.token))?;
        failure::warn(&format!("this token is shown only now; its hash is in {}", file.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let tokens = arguments.token_file.as_deref().map(Tokens::read).transpose().map_err(of_no_use)?;
    let request = ServeRequest {
        listen: arguments.listen,
        tokens,
        hosts: arguments.hosts.clone(),
        quirks: declared_quirks(arguments.config.as_deref())?,
        log: Arc::new(|line: &str| failure::warn(&format!("faultline: {line}"))),
    };
    let stop = signals::stop_flag()?;
    let server = Server::bind(request, places::found(db)?)?;
    output::print(&format!("http://{}/\n", server.address()))?;
    if !arguments.listen.ip().is_loopback() {
        failure::warn(
            &"other machines can read the traffic of this server, including the token; a proxy with TLS in front prevents that",
        );
    }
    server.run(move || stop.is_set())?;
    Ok(ExitCode::SUCCESS)
}

/// The quirks that a file declares; none without a file. Fails if it cannot be read, or declares something impossible.
pub(super) fn declared_quirks(config: Option<&Path>) -> Result<DeclaredQuirks, Failure> {
    let mut quirks = DeclaredQuirks::default();
    if config.is_some() {
        for subject in Declared::read(config)?.subjects.into_values() {
            quirks.add(subject.name.clone(), subject.saved_repository()?, subject.quirks);
        }
    }
    Ok(quirks)
}

fn of_no_use(error: TokensError) -> Failure {
    Failure::usage(error.to_string(), "`faultline serve --new-token FILE` makes a token and a file of tokens")
}
