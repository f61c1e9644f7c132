//! Wires between guests: pairs of sockets in a directory. An emulator binds one of each pair and
//! sends to its neighbour's. A packet is a datagram.
//!
//! The directory is removed when the network is dropped, and by the keepers of the emulators if we
//! are killed.

use super::{Attachment, Connection, Made, Network, NetworkEnd, Partner, made};
use super::{LinkAddress, Side};
use crate::{StopFlag, scratch_directory, socket_path};
use std::path::{Path, PathBuf};

/// Makes wires.
#[derive(Debug)]
pub struct Wires {
    /// Directory in which each network gets its own.
    pub scratch: PathBuf,
}

/// A guest on a chain of wires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WiredEnd {
    directory: PathBuf,
    /// Its number in the chain, from 0.
    number: usize,
    /// Length of the chain.
    ends: usize,
}

/// One wire of an end, with the network card at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wire {
    link: usize,
    side: Side,
    /// The socket of this end, and that of the other end.
    pub(crate) sockets: [PathBuf; 2],
}

impl Network for Wires {
    fn make(&self, _: Option<Connection>, partners: &[Partner<'_>], _: &StopFlag) -> Result<Made, String> {
        let directory = scratch_directory::create("faultline-wires-", &self.scratch);
        let directory =
            directory.map_err(|error| format!("no directory for wires in {}: {error}", self.scratch.display()))?;
        let ends = 1 + partners.len();
        let end = |number| WiredEnd { directory: directory.path().to_owned(), number, ends };
        end(0).wires().first().map_or(Ok(()), |wire| socket_path::check(&wire.sockets[0]))?;
        let place = |number| NetworkEnd {
            addresses: LinkAddress::of_end(number).list(true),
            attachment: Attachment::Wires(end(number)),
        };
        let places: Vec<NetworkEnd> = (0..ends).map(place).collect();
        Ok(made(partners, &places, Box::new(directory)))
    }
}

impl WiredEnd {
    /// The directory of all sockets.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Wires of the end, the one towards the measured execution first. Their cards are `eth0`,
    /// `eth1` in this order.
    pub(crate) fn wires(&self) -> Vec<Wire> {
        let back = self.number.checked_sub(1).map(|link| (link, Side::Far));
        let on = (self.number + 1 < self.ends).then_some((self.number, Side::Near));
        let socket = |link, side: Side| self.directory.join(format!("{link}{}", side.letter()));
        back.into_iter()
            .chain(on)
            .map(|(link, side)| Wire { link, side, sockets: [socket(link, side), socket(link, side.other())] })
            .collect()
    }

    /// True for an end that forwards packets.
    pub(crate) fn forwards(&self) -> bool {
        self.wires().len() > 1
    }

    /// Links of other ends, each with the address of the next hop.
    pub(crate) fn routes(&self) -> Vec<(LinkAddress, LinkAddress)> {
        let route = |link: usize| {
            let next = match link {
                link if link > self.number => LinkAddress::of(self.number, Side::Far),
                link if link + 1 < self.number => LinkAddress::of(self.number - 1, Side::Near),
                _ => return None,
            };
            Some((LinkAddress::of(link, Side::Near), next))
        };
        (0..self.ends - 1).filter_map(route).collect()
    }
}

impl Wire {
    /// Address of the card.
    pub(crate) fn address(&self) -> LinkAddress {
        LinkAddress::of(self.link, self.side)
    }

    /// Hardware address of the card, with the bit of locally administered addresses.
    pub(crate) fn hardware_address(&self) -> String {
        format!("02:00:00:00:{:02x}:{}", self.link, if self.side == Side::Near { "01" } else { "02" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(ends: usize) -> Vec<WiredEnd> {
        (0..ends).map(|number| WiredEnd { directory: "/w".into(), number, ends }).collect()
    }

    #[test]
    fn neighbours_share_a_wire() {
        let chain = chain(3);
        let sockets: Vec<_> = chain.iter().flat_map(WiredEnd::wires).map(|wire| wire.sockets).collect();
        let pair = |own: &str, other: &str| [PathBuf::from(own), PathBuf::from(other)];
        let expected = [pair("/w/0n", "/w/0f"), pair("/w/0f", "/w/0n"), pair("/w/1n", "/w/1f"), pair("/w/1f", "/w/1n")];
        assert_eq!(sockets, expected);
        assert_eq!(chain.iter().map(WiredEnd::forwards).collect::<Vec<_>>(), [false, true, false]);
    }

    #[test]
    fn ends_reach_the_links_beyond_their_neighbours() {
        let routes = |end: &WiredEnd| end.routes().into_iter().map(|(to, by)| (to.ipv4, by.ipv4)).collect::<Vec<_>>();
        let of = |to: &str, by: &str| vec![(to.to_owned(), by.to_owned())];
        let found: Vec<_> = chain(3).iter().map(routes).collect();
        assert_eq!(found, [of("198.18.1.1", "198.18.0.2"), vec![], of("198.18.0.1", "198.18.1.1")]);
        assert!(chain(1)[0].routes().is_empty() && chain(1)[0].wires().is_empty());
    }
}
