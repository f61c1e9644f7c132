//! Which names a client may call this server by.
//!
//! A page of somebody else's can let its own name lead to our address (DNS rebinding), and then ask us as if it were ours. Its name is in each of these
//! requests, so a request that calls us by a foreign name is refused. An address in numbers is no name that anybody else could own.

use std::net::{IpAddr, SocketAddr};

/// The names.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    listens_on: IpAddr,
    /// In lower case.
    names: Vec<String>,
}

impl Hosts {
    /// For a server at that address, which is also known by these names.
    pub(crate) fn new(listen: SocketAddr, names: &[String]) -> Self {
        Hosts { listens_on: listen.ip(), names: names.iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    /// Whether a request may call us so. `authority`: host and port, as in the header `Host`.
    pub(crate) fn permit(&self, authority: &str) -> bool {
        let Some(host) = host(authority) else { return false };
        let host = host.to_ascii_lowercase();
        match host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            Ok(address) => !self.listens_on.is_loopback() || address.is_loopback(),
            Err(_) => host == "localhost" || self.names.contains(&host),
        }
    }
}

/// The host of an authority, without its port; `None` if it cannot be one.
fn host(authority: &str) -> Option<&str> {
    let host = match authority.strip_prefix('[') {
        Some(rest) => &authority[..rest.find(']')? + 2],
        None => authority.split(':').next()?,
    };
    let port = &authority[host.len()..];
    let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    (is_port && !host.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(listen: &str) -> Hosts {
        Hosts::new(listen.parse().unwrap(), &["Lab.example".to_owned()])
    }

    #[test]
    fn on_loopback_only_loopback_and_given_names_are_ours() {
        let hosts = hosts("127.0.0.1:8080");
        for ours in
            ["127.0.0.1", "127.0.0.1:8080", "localhost:9", "LOCALHOST", "[::1]:8080", "lab.example", "127.0.0.2"]
        {
            assert!(hosts.permit(ours), "{ours}");
        }
        for foreign in [
            "evil.example",
            "evil.example:8080",
            "192.0.2.7",
            "localhost.evil.example",
            "",
            ":80",
            "[::1",
            "127.0.0.1:x",
            "a@localhost:1:2",
            "[::1]x",
        ] {
            assert!(!hosts.permit(foreign), "{foreign}");
        }
    }

    #[test]
    fn on_another_address_numbers_are_ours_and_foreign_names_are_not() {
        let hosts = hosts("0.0.0.0:8080");
        assert!(hosts.permit("192.0.2.7:8080") && hosts.permit("[2001:db8::1]:8080") && hosts.permit("lab.example"));
        assert!(!hosts.permit("evil.example"));
    }
}
