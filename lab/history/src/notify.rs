//! Notifications about confirmed changes, each sent once to a command or a web hook. A web hook
//! gets JSON by POST. Over HTTPS the certificate must be one that this machine trusts. Its address
//! may hold a secret, so only scheme and host are shown.

use crate::tools::runner;
use faultline_experiment::{Error, Lab, place_of, stored};
use faultline_record::change_event::ChangeState;
use faultline_stats::history::{ChangeNotice, HistorySeries, HistoryStep};
use faultline_targets::Ending;
use faultline_targets::host::command::{Errors, HostCommand};
use std::ffi::OsString;
use std::fmt;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::http::Uri;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// Default time limit of a notification.
pub(crate) const USUAL_LIMIT: Duration = Duration::from_secs(30);

/// The recipient of notifications about confirmed changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notify {
    /// The recipient.
    pub whom: Whom,
    /// Time limit of a notification. A command is killed after it.
    pub limit: Duration,
}

/// Delivery of a notification, which is JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whom {
    /// A command, on standard input.
    Command {
        /// Words of the command.
        words: Vec<String>,
        /// Working directory: that of the file.
        directory: PathBuf,
    },
    /// A web hook, by POST.
    WebHook(WebHook),
}

/// A notification that failed. The next command tries it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotNotified {
    /// The failure in words.
    pub problem: String,
}

/// Sends the confirmed changes of a series that have not been sent. Returns the failures. Fails on
/// a stop, if the database cannot be read or written, or if there is no scratch directory.
pub fn notify(series: &HistorySeries, whom: &Notify, lab: &Lab<'_>) -> Result<Vec<NotNotified>, Error> {
    let name = series.name();
    let told = stored::notified(&name, lab.places)?;
    let told: Vec<usize> = told.iter().filter_map(|place| series.step_meant(place)).collect();
    let mut failed = Vec::new();
    for (number, step) in series.steps.steps.iter().enumerate() {
        if step.state.now != ChangeState::Confirmed || told.contains(&number) {
            continue;
        }
        match tell(series, step, whom, lab)? {
            None => {
                let place = place_of(series, step)?;
                stored::save_notified(&name, &place, lab.places)?;
            }
            Some(problem) => failed.push(NotNotified { problem }),
        }
    }
    Ok(failed)
}

/// Sends a step. Returns the failure in words.
fn tell(series: &HistorySeries, step: &HistoryStep, whom: &Notify, lab: &Lab<'_>) -> Result<Option<String>, Error> {
    let Some(notice) = ChangeNotice::of(series, step) else { return Ok(None) };
    let mut text = serde_json::to_vec(&notice)
        .map_err(|error| Error::failed(format!("a notice cannot be written: {error}"), "this is a bug in Faultline"))?;
    text.push(b'\n');
    match &whom.whom {
        Whom::Command { words, directory } => run(words, directory, whom.limit, &text, lab),
        Whom::WebHook(hook) => Ok(hook.post(&text, whom.limit).err().map(|how| format!("{hook}: {how}"))),
    }
}

/// Runs a command with a text on standard input. Returns the failure in words.
fn run(
    words: &[String],
    directory: &Path,
    limit: Duration,
    text: &[u8],
    lab: &Lab<'_>,
) -> Result<Option<String>, Error> {
    let unwritable = |error: std::io::Error| {
        Error::failed(format!("a notice cannot be written: {error}"), "`--scratch DIR` names a directory with room")
    };
    let mut file = tempfile::NamedTempFile::new_in(lab.places.usable_scratch()?).map_err(unwritable)?;
    file.write_all(text).map_err(unwritable)?;
    let input = std::path::absolute(file.path()).map_err(unwritable)?;
    let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
    let command = HostCommand {
        argv: &argv,
        directory,
        environment: &[],
        limit,
        errors: Errors::Apart,
        input: Some(&input),
        sandbox: None,
    };
    let how = match runner(lab)?.run(&command, &mut |_| ControlFlow::Continue(()), lab.stop) {
        Ending::Exited { status: 0, .. } => return Ok(None),
        Ending::Stopped => return Err(Error::stopped()),
        Ending::Exited { status, stderr } => {
            let last = stderr.lines().last().map_or_else(String::new, |line| format!(": {line}"));
            format!("it exited with status {status}{last}")
        }
        Ending::Signalled { signal, .. } => format!("signal {signal} ended it"),
        Ending::TimedOut => format!("it did not end within {} s", limit.as_secs_f64()),
        Ending::NotStarted { text }
        | Ending::LabFailed { text }
        | Ending::AfterLack { text, .. }
        | Ending::LeftChanged { text } => text,
        Ending::Refused | Ending::ConnectionLost { .. } | Ending::GuestFailed { .. } => "it was cut off".to_owned(),
    };
    Ok(Some(format!("`{}`: {how}", words.join(" "))))
}

/// Address of a web hook.
#[derive(Clone, PartialEq, Eq)]
pub struct WebHook(Uri);

impl WebHook {
    /// Parses an address. Fails in words.
    pub fn at(address: &str) -> Result<Self, String> {
        let uri: Uri =
            address.parse().map_err(|_| "this is not an address; write it like https://example.org/hook".to_owned())?;
        match (uri.scheme_str(), uri.host()) {
            (Some("http" | "https"), Some(host)) if !host.is_empty() => Ok(WebHook(uri)),
            _ => Err("it takes an address that begins with https:// or http://".to_owned()),
        }
    }

    /// Sends JSON. Fails, in words, unless the server accepts it within the limit.
    pub fn post(&self, json: &[u8], limit: Duration) -> Result<(), String> {
        let agent = Agent::config_builder()
            .timeout_global(Some(limit))
            // A redirect leads to a page for people, which accepts no notification.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .user_agent(concat!("faultline/", env!("CARGO_PKG_VERSION")));
        let agent = match self.0.scheme_str() {
            Some("https") => agent.tls_config(tls()?),
            _ => agent,
        };
        let request = Agent::from(agent.build()).post(&self.0).header("content-type", "application/json");
        match request.send(json) {
            Ok(answer) if answer.status().is_success() => Ok(()),
            Ok(answer) => Err(format!("it answers with status {}", answer.status().as_u16())),
            Err(ureq::Error::Timeout(_)) => Err(format!("no answer within {} s", limit.as_secs_f64())),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The certificates that this machine trusts.
fn tls() -> Result<TlsConfig, String> {
    let found = rustls_native_certs::load_native_certs().certs;
    if found.is_empty() {
        return Err("this machine has no CA certificates; install the package `ca-certificates`".to_owned());
    }
    let trusted: Vec<Certificate<'static>> = found.iter().map(|one| Certificate::from_der(one).to_owned()).collect();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = TlsConfig::builder().root_certs(RootCerts::Specific(Arc::new(trusted)));
    Ok(tls.unversioned_rustls_crypto_provider(provider).build())
}

/// Scheme and host.
impl fmt::Display for WebHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}/…", self.0.scheme_str().unwrap_or_default(), self.0.host().unwrap_or_default())
    }
}

impl fmt::Debug for WebHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;
    use std::thread;

    /// A server that answers once. Returns its address and the received text.
    fn server(answer: &'static str) -> (String, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/secret", listener.local_addr().unwrap());
        let served = thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let (mut sent, mut buffer) = (Vec::new(), [0; 4096]);
            while !sent.ends_with(b"}") {
                let read = connection.read(&mut buffer).unwrap();
                if read == 0 {
                    break;
                }
                sent.extend(&buffer[..read]);
            }
            connection.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(sent).unwrap()
        });
        (address, served)
    }

    const LIMIT: Duration = Duration::from_secs(10);

    #[test]
    fn json_is_sent_by_post() {
        let (address, served) = server("HTTP/1.1 204 No Content\r\n\r\n");
        assert_eq!(WebHook::at(&address).unwrap().post(b"{\"a\":1}", LIMIT), Ok(()));
        let sent = served.join().unwrap();
        assert!(sent.starts_with("POST /secret HTTP/1.1\r\n") && sent.ends_with("\r\n\r\n{\"a\":1}"), "{sent}");
        assert!(sent.to_lowercase().contains("content-type: application/json\r\n"), "{sent}");
    }

    #[test]
    fn a_refused_notice_is_reported_without_the_address() {
        for (answer, problem) in [
            ("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n", "it answers with status 403"),
            ("HTTP/1.1 302 Found\r\nlocation: /login\r\ncontent-length: 0\r\n\r\n", "it answers with status 302"),
        ] {
            let (address, _served) = server(answer);
            assert_eq!(WebHook::at(&address).unwrap().post(b"{}", LIMIT), Err(problem.to_owned()));
        }
        // A server that listens and never answers.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let hook = WebHook::at(&format!("http://{}/secret", silent.local_addr().unwrap())).unwrap();
        assert_eq!(hook.post(b"{}", Duration::from_millis(200)), Err("no answer within 0.2 s".to_owned()));
        let address = silent.local_addr().unwrap();
        drop(silent);
        let refused = WebHook::at(&format!("http://{address}/secret")).unwrap().post(b"{}", LIMIT).unwrap_err();
        assert!(!refused.is_empty() && !refused.contains("secret"), "{refused}");
        assert_eq!(format!("{hook} {hook:?}"), "http://127.0.0.1/… http://127.0.0.1/…");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for address in ["", "hook", "/hook", "ftp://a/b", "https://", "http:a b"] {
            assert!(WebHook::at(address).is_err(), "{address}");
        }
        assert!(WebHook::at("https://example.org/hook?key=1").is_ok());
    }
}
