//! The addresses of a chain of ends: from the blocks that are set aside for measuring networks (RFC 2544, RFC 5180), so they are nobody's.

/// The side of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// That of the end nearer to the measured execution.
    Near,
    /// The other one.
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

    /// In names of files.
    pub(crate) fn letter(self) -> char {
        match self {
            Side::Near => 'n',
            Side::Far => 'f',
        }
    }
}

/// The address of one side of link number `link`, with IPv4 and with IPv6.
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

    /// That of end number `end` of a chain: on the link that leads back to the measured execution, and for the measured one on its only link.
    pub(crate) fn of_end(end: usize) -> Self {
        if end == 0 { LinkAddress::of(0, Side::Near) } else { LinkAddress::of(end - 1, Side::Far) }
    }

    /// As workloads read it.
    pub(crate) fn list(&self, has_ipv6: bool) -> String {
        if has_ipv6 { format!("{},{}", self.ipv4, self.ipv6) } else { self.ipv4.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_have_the_addresses_of_the_link_that_leads_to_them() {
        let lists: Vec<String> = (0..3).map(|end| LinkAddress::of_end(end).list(true)).collect();
        assert_eq!(lists, ["198.18.0.1,2001:2:0:0::1", "198.18.0.2,2001:2:0:0::2", "198.18.1.2,2001:2:0:1::2"]);
        assert_eq!(LinkAddress::of(0, Side::Near).list(false), "198.18.0.1");
        for list in lists {
            assert!(list.split(',').all(|word| word.parse::<std::net::IpAddr>().is_ok()), "{list}");
        }
    }
}
