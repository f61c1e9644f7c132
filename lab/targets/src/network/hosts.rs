//! The network that hosts have between them already. An end on a host that is reached over SSH has the address at which it was reached; an end on this host has
//! the one from which the measured host was. Nothing is made: how packets go from one to the other, and through a forwarder, is the hosts' own setting.

use super::{Attachment, Made, Network, Partner, Place};
use crate::StopFlag;
use std::net::IpAddr;

/// The hosts' own network.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hosts;

/// The ends of a connection to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// The address of this host.
    pub here: IpAddr,
    /// That of the other one.
    pub there: IpAddr,
}

impl Connection {
    /// Reads what servers of SSH put into `SSH_CONNECTION`: the client's address and port, and the server's. `None` if it is something else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [here, _, there, _] = words[..] else { return None };
        Some(Connection { here: here.parse().ok()?, there: there.parse().ok()? })
    }
}

impl Network for Hosts {
    fn make(&self, measured: Option<Connection>, partners: &[Partner<'_>], _: &StopFlag) -> Result<Made, String> {
        let place = |address: IpAddr| Place { addresses: address.to_string(), attachment: Attachment::Already };
        let of_partner = |partner: &Partner<'_>| {
            let own = partner.connection.map(|connection| connection.there);
            let found = own.or(measured.map(|connection| connection.here));
            found.map(place).ok_or_else(|| {
                format!(
                    "the address of the {} is not known: no connection over SSH, to it or to the measured end, says it",
                    partner.role
                )
            })
        };
        let partners = partners.iter().map(of_partner).collect::<Result<Vec<Place>, String>>()?;
        // Nobody connects to the measured end.
        let measured = place(measured.map_or(IpAddr::from([127, 0, 0, 1]), |connection| connection.there));
        Ok(Made { measured, partners, _held: Box::new(()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::role::Role;

    const CONNECTION: &str = "192.0.2.1 51000 192.0.2.7 22";

    fn addresses(measured: Option<&str>, partner: Option<&str>) -> Result<String, String> {
        let role: Role = "receiver".parse().unwrap();
        let connection = partner.and_then(Connection::parse);
        let partner = Partner { role: &role, connection };
        let made = Hosts.make(measured.and_then(Connection::parse), &[partner], &StopFlag::default());
        made.map(|made| made.partners[0].addresses.clone())
    }

    #[test]
    fn a_host_has_the_address_at_which_it_was_reached_and_this_one_the_other() {
        assert_eq!(addresses(None, Some(CONNECTION)).unwrap(), "192.0.2.7");
        assert_eq!(addresses(Some(CONNECTION), None).unwrap(), "192.0.2.1");
        assert_eq!(addresses(Some(CONNECTION), Some("2001:db8::1 5 2001:db8::2 22")).unwrap(), "2001:db8::2");
        assert!(addresses(None, None).unwrap_err().contains("the address of the receiver is not known"));
    }

    #[test]
    fn what_is_no_connection_has_no_addresses() {
        for text in ["", "192.0.2.1 51000 192.0.2.7", "UNKNOWN 65535 UNKNOWN 65535", "a b c d e"] {
            assert_eq!(Connection::parse(text), None, "{text}");
        }
    }
}
