//! A web hook: an address that gets JSON by POST. Over HTTPS the server's certificate is checked against those that this machine trusts. The address may hold a
//! secret, so people are only shown its host.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::http::Uri;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// The address.
#[derive(Clone, PartialEq, Eq)]
pub struct WebHook(Uri);

impl WebHook {
    /// The web hook at an address. Fails, in words, if it is none.
    pub fn at(address: &str) -> Result<Self, String> {
        let uri: Uri =
            address.parse().map_err(|_| "this is no address; write it like https://example.org/hook".to_owned())?;
        match (uri.scheme_str(), uri.host()) {
            (Some("http" | "https"), Some(host)) if !host.is_empty() => Ok(WebHook(uri)),
            _ => Err("it takes an address that begins with https:// or http://".to_owned()),
        }
    }

    /// Sends JSON. Fails, in words, if the server does not answer within the limit that it took it.
    pub fn post(&self, json: &[u8], limit: Duration) -> Result<(), String> {
        let agent = Agent::config_builder()
            .timeout_global(Some(limit))
            // A page that a person would be led to takes no notice.
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
        return Err("this machine trusts no certificates; the package `ca-certificates` has them".to_owned());
    }
    let trusted: Vec<Certificate<'static>> = found.iter().map(|one| Certificate::from_der(one).to_owned()).collect();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = TlsConfig::builder().root_certs(RootCerts::Specific(Arc::new(trusted)));
    Ok(tls.unversioned_rustls_crypto_provider(provider).build())
}

/// Its scheme and host.
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
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    /// A server that answers once. Returns its address, and what it was sent.
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
    fn what_is_not_taken_is_told_without_the_address() {
        for (answer, problem) in [
            ("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n", "it answers with status 403"),
            ("HTTP/1.1 302 Found\r\nlocation: /login\r\ncontent-length: 0\r\n\r\n", "it answers with status 302"),
        ] {
            let (address, _served) = server(answer);
            assert_eq!(WebHook::at(&address).unwrap().post(b"{}", LIMIT), Err(problem.to_owned()));
        }
        // It listens, and never answers.
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
