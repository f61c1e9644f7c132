//! Networks between the ends of an execution: the measured one and its partners, each with
//! addresses of its own.
//!
//! A network exists for one attempt. Its ends are a chain: the measured one, the forwarder if there
//! is one, and the others. There are four kinds: the host's own loopback device, network namespaces
//! on this host (`namespaces`), wires between guests (`wires`), and the existing network of hosts
//! that are reached over SSH (`hosts`).

pub mod holder;
mod namespaces;
pub(crate) mod wires;

pub use namespaces::Namespaces;
pub use wires::{WiredEnd, Wires};

use crate::StopFlag;
use faultline_record::role::Role;
use std::net::IpAddr;
use std::path::PathBuf;

/// The role of the end in the middle.
pub const FORWARDER: &str = "forwarder";

/// Makes networks.
pub trait Network {
    /// Makes a network between a measured execution and its partners. `measured`: the connection to
    /// its machine, if there is one. Fails, with a text, if that is not possible.
    fn make(&self, measured: Option<Connection>, partners: &[Partner<'_>], stop: &StopFlag) -> Result<Made, String>;
}

/// A partner that needs an end.
#[derive(Debug, Clone, Copy)]
pub struct Partner<'a> {
    /// The partner's role.
    pub role: &'a Role,
    /// The connection to the partner's machine, if there is one.
    pub connection: Option<Connection>,
}

/// A network; removed on drop.
pub struct Made {
    /// The end of the measured execution.
    pub measured: NetworkEnd,
    /// The ends of the partners, in the order in which they were named.
    pub partners: Vec<NetworkEnd>,
    /// Description of the network's parts.
    _held: Box<dyn Send>,
}

/// One end of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkEnd {
    /// Addresses as workloads read them: `198.18.0.1,2001:2::1`.
    pub addresses: String,
    /// Attachment of an execution to this end.
    pub attachment: Attachment,
}

/// Attachment of an execution to a network.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Attachment {
    /// The execution is attached already.
    #[default]
    Already,
    /// In the network namespace of this file.
    Namespace(PathBuf),
    /// In a guest with a network card per wire.
    Wires(WiredEnd),
}

/// Positions in the chain, from 0, of the measured execution and of partners in these roles.
fn order<'a>(partners: impl Iterator<Item = &'a Role> + Clone) -> Vec<usize> {
    let is_forwarder = |role: &Role| role.to_string() == FORWARDER;
    let forwarders = partners.clone().filter(|role| is_forwarder(role)).count();
    let (mut between, mut beyond) = (1, 1 + forwarders);
    let partner = |role: &Role| {
        let next = if is_forwarder(role) { &mut between } else { &mut beyond };
        *next += 1;
        *next - 1
    };
    [0].into_iter().chain(partners.map(partner)).collect()
}

/// The network whose ends have these positions in the chain.
fn made(partners: &[Partner<'_>], places: &[NetworkEnd], held: Box<dyn Send>) -> Made {
    let mut in_order = order(partners.iter().map(|partner| partner.role)).into_iter().map(|at| places[at].clone());
    let measured = in_order.next().expect("every chain has a first end");
    Made { measured, partners: in_order.collect(), _held: held }
}

/// The side of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The end nearer to the measured execution.
    Near,
    /// The other end.
    Far,
}

impl Side {
    /// The other side.
    pub(crate) fn other(self) -> Self {
        match self {
            Side::Near => Side::Far,
            Side::Far => Side::Near,
        }
    }

    /// Text for names of files.
    pub(crate) fn letter(self) -> char {
        match self {
            Side::Near => 'n',
            Side::Far => 'f',
        }
    }
}

/// Address of one side of link number `link`, for IPv4 and IPv6.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkAddress {
    pub(crate) ipv4: String,
    pub(crate) ipv6: String,
}

/// Length of a link's prefix.
pub(crate) const IPV4_PREFIX: u32 = 24;
pub(crate) const IPV6_PREFIX: u32 = 64;

impl LinkAddress {
    pub(crate) fn of(link: usize, side: Side) -> Self {
        let number = match side {
            Side::Near => 1,
            Side::Far => 2,
        };
        LinkAddress { ipv4: format!("198.18.{link}.{number}"), ipv6: format!("2001:2:0:{link:x}::{number}") }
    }

    /// Address of end number `end` of a chain: on the link towards the measured execution; for the
    /// measured execution, on its only link.
    pub(crate) fn of_end(end: usize) -> Self {
        if end == 0 { LinkAddress::of(0, Side::Near) } else { LinkAddress::of(end - 1, Side::Far) }
    }

    /// Text that workloads read.
    pub(crate) fn list(&self, has_ipv6: bool) -> String {
        if has_ipv6 { format!("{},{}", self.ipv4, self.ipv6) } else { self.ipv4.clone() }
    }
}

/// The loopback device.
#[derive(Debug, Clone, Copy, Default)]
pub struct Loopback;

impl Network for Loopback {
    fn make(&self, _: Option<Connection>, partners: &[Partner<'_>], _: &StopFlag) -> Result<Made, String> {
        // All of 127.0.0.0/8 is this host, but only a single IPv6 address.
        let place = |end| NetworkEnd { addresses: format!("127.0.0.{},::1", end + 1), attachment: Attachment::Already };
        let places: Vec<NetworkEnd> = (0..=partners.len()).map(place).collect();
        Ok(made(partners, &places, Box::new(())))
    }
}

/// The hosts' existing network.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hosts;

/// The ends of a connection to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// The address of this host.
    pub here: IpAddr,
    /// Address of the other host.
    pub there: IpAddr,
}

impl Connection {
    /// Parses `SSH_CONNECTION`, which the SSH server sets: the client's address and port, and the
    /// server's. `None` for another text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [here, _, there, _] = words[..] else { return None };
        Some(Connection { here: here.parse().ok()?, there: there.parse().ok()? })
    }
}

impl Network for Hosts {
    fn make(&self, measured: Option<Connection>, partners: &[Partner<'_>], _: &StopFlag) -> Result<Made, String> {
        let place = |address: IpAddr| NetworkEnd { addresses: address.to_string(), attachment: Attachment::Already };
        let of_partner = |partner: &Partner<'_>| {
            let own = partner.connection.map(|connection| connection.there);
            let found = own.or(measured.map(|connection| connection.here));
            found.map(place).ok_or_else(|| {
                format!(
                    "the address of the {} is unknown: no SSH connection to it or to the measured end shows it",
                    partner.role
                )
            })
        };
        let partners = partners.iter().map(of_partner).collect::<Result<Vec<NetworkEnd>, String>>()?;
        // No partner connects to the measured end.
        let measured = place(measured.map_or(IpAddr::from([127, 0, 0, 1]), |connection| connection.there));
        Ok(Made { measured, partners, _held: Box::new(()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::role::Role;

    #[test]
    fn a_forwarder_is_in_the_middle_whenever_it_is_named() {
        let roles = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect::<Vec<Role>>();
        for (names, places) in [
            (&[][..], vec![0]),
            (&["receiver"], vec![0, 1]),
            (&["receiver", "forwarder"], vec![0, 2, 1]),
            (&["forwarder", "receiver"], vec![0, 1, 2]),
        ] {
            assert_eq!(order(roles(names).iter()), places, "{names:?}");
        }
    }

    #[test]
    fn ends_have_the_addresses_of_the_link_that_leads_to_them() {
        let lists: Vec<String> = (0..3).map(|end| LinkAddress::of_end(end).list(true)).collect();
        assert_eq!(lists, ["198.18.0.1,2001:2:0:0::1", "198.18.0.2,2001:2:0:0::2", "198.18.1.2,2001:2:0:1::2"]);
        assert_eq!(LinkAddress::of(0, Side::Near).list(false), "198.18.0.1");
        for list in lists {
            assert!(list.split(',').all(|word| word.parse::<std::net::IpAddr>().is_ok()), "{list}");
        }
    }

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
        assert!(addresses(None, None).unwrap_err().contains("the address of the receiver is unknown"));
    }

    #[test]
    fn what_is_no_connection_has_no_addresses() {
        for text in ["", "192.0.2.1 51000 192.0.2.7", "UNKNOWN 65535 UNKNOWN 65535", "a b c d e"] {
            assert_eq!(Connection::parse(text), None, "{text}");
        }
    }
}
