//! Networks between the ends of an execution: the measured one and its partners, each with addresses of its own.
//!
//! A network is made for each attempt, and is gone after it. Its ends are a chain: the measured one, the forwarder if there is one, and the others.
//! There are two kinds: the host's own loopback device, and network namespaces on this host (`namespaces`).

mod addresses;
pub mod holder;
mod loopback;
mod namespaces;

pub use loopback::Loopback;
pub use namespaces::Namespaces;

use crate::StopFlag;
use faultline_model::role::Role;
use std::path::PathBuf;

/// The role whose end is in the middle.
pub const FORWARDER: &str = "forwarder";

/// Makes networks.
pub trait Network {
    /// Makes one between a measured execution and its partners in these roles. Fails, in words, if that is not possible.
    fn make(&self, partners: &[&Role], stop: &StopFlag) -> Result<Made, String>;
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
}

/// The places of a chain in the order of its ends, for the measured execution and for partners in these roles: each a number from 0.
fn order(partners: &[&Role]) -> Vec<usize> {
    let is_forwarder = |role: &Role| role.to_string() == FORWARDER;
    let forwarders = partners.iter().filter(|role| is_forwarder(role)).count();
    let (mut between, mut beyond) = (1, 1 + forwarders);
    let partner = |role: &&Role| {
        let next = if is_forwarder(role) { &mut between } else { &mut beyond };
        *next += 1;
        *next - 1
    };
    [0].into_iter().chain(partners.iter().map(partner)).collect()
}

/// The network whose ends are in these places, in the order of the chain.
fn made(partners: &[&Role], places: &[Place], held: Box<dyn Send>) -> Made {
    let mut in_order = order(partners).into_iter().map(|at| places[at].clone());
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
            assert_eq!(order(&roles(names).iter().collect::<Vec<_>>()), places, "{names:?}");
        }
    }
}
