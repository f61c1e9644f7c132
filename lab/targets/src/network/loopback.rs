//! The loopback device of this host: every execution is there already. A forwarder sees nothing of what passes.

use super::{Attachment, Connection, Made, Network, Partner, Place, made};
use crate::StopFlag;

/// The loopback device.
#[derive(Debug, Clone, Copy, Default)]
pub struct Loopback;

impl Network for Loopback {
    fn make(&self, _: Option<Connection>, partners: &[Partner<'_>], _: &StopFlag) -> Result<Made, String> {
        // All of 127.0.0.0/8 is this host, but of IPv6 a single address.
        let place = |end| Place { addresses: format!("127.0.0.{},::1", end + 1), attachment: Attachment::Already };
        let places: Vec<Place> = (0..=partners.len()).map(place).collect();
        Ok(made(partners, &places, Box::new(())))
    }
}
