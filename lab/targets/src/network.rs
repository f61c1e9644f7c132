//! Networks between the ends of an execution: the measured one and its partners, each with addresses of its own.
//!
//! A network is made for each attempt, and is gone after it. Its ends are a chain: the measured one, the forwarder if there is one, and the others.
//! There are four kinds: the host's own loopback device, network namespaces on this host (`namespaces`), wires between guests (`wires`), and what joins hosts
//! that are reached over SSH already (`hosts`).

pub(crate) mod addresses;
pub mod holder;
mod hosts;
mod loopback;
mod namespaces;
pub(crate) mod wires;

pub use hosts::{Connection, Hosts};
pub use loopback::Loopback;
pub use namespaces::Namespaces;
pub use wires::{WiredEnd, Wires};

use crate::StopFlag;
use faultline_model::role::Role;
use std::path::PathBuf;

/// The role whose end is in the middle.
pub const FORWARDER: &str = "forwarder";

/// Makes networks.
pub trait Network {
    /// Makes one between a measured execution and its partners. `measured`: how its machine is reached, if that is over a network. Fails, in words, if that is
    /// not possible.
    fn make(&self, measured: Option<Connection>, partners: &[Partner<'_>], stop: &StopFlag) -> Result<Made, String>;
}

/// A partner for which there has to be a place.
#[derive(Debug, Clone, Copy)]
pub struct Partner<'a> {
    /// Its role.
    pub role: &'a Role,
    /// How its machine is reached, if that is over a network.
    pub connection: Option<Connection>,
}

/// A network, until it is dropped.
pub struct Made {
    /// Where the measured execution is.
    pub measured: Place,
    /// Where each partner is, in the order in which they were named.
    pub partners: Vec<Place>,
    /// What the network consists of.
    _held: Box<dyn Send>,
}

/// One end of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its addresses, as workloads read them: `198.18.0.1,2001:2::1`.
    pub addresses: String,
    /// How an execution gets there.
    pub attachment: Attachment,
}

/// How an execution is attached to a network.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Attachment {
    /// It is there already.
    #[default]
    Already,
    /// In the network namespace that this file stands for.
    Namespace(PathBuf),
    /// In a guest with a network card at each of its wires.
    Wires(WiredEnd),
}

/// The places of a chain in the order of its ends, for the measured execution and for partners in these roles: each a number from 0.
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

/// The network whose ends are in these places, in the order of the chain.
fn made(partners: &[Partner<'_>], places: &[Place], held: Box<dyn Send>) -> Made {
    let mut in_order = order(partners.iter().map(|partner| partner.role)).into_iter().map(|at| places[at].clone());
    let measured = in_order.next().expect("every chain has a first end");
    Made { measured, partners: in_order.collect(), _held: held }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
