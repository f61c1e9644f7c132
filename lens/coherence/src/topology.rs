//! The topology of a machine: which CPUs share a cache, which share a socket, and the distance
//! between CPUs.

/// Number of a CPU, from 0.
pub type CpuId = u16;

/// CPUs, evenly distributed: first all CPUs of a cache, then all caches of a socket, then the next
/// socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topology {
    cpus: CpuId,
    cpus_per_socket: CpuId,
    cpus_per_cache: CpuId,
}

/// Reason why a topology is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// No CPU, or too many.
    #[error("{0} CPUs: must be 1 … {max}", max = Topology::MOST_CPUS)]
    Cpus(u32),
    /// No socket, or too many.
    #[error("{0} sockets: must be 1 … {max}", max = Topology::MOST_SOCKETS)]
    Sockets(u32),
    /// The number of CPUs is not a multiple of the number of sockets.
    #[error("{0} CPUs don't divide evenly among {1} sockets")]
    Uneven(u32, u32),
    /// The CPUs of a socket cannot be divided evenly among caches.
    #[error("{0} CPUs per socket don't divide evenly into caches of {1} CPUs")]
    UnevenCaches(u32, u32),
}

impl Topology {
    /// Maximum number of CPUs: the range of the fields of a line's word.
    pub const MOST_CPUS: u32 = 4094;
    /// Maximum number of sockets.
    pub const MOST_SOCKETS: u32 = 64;

    /// `cpus` CPUs on `sockets` sockets, of which `cpus_per_cache` share a last-level cache.
    pub fn new(cpus: u32, sockets: u32, cpus_per_cache: u32) -> Result<Self, TopologyError> {
        if cpus == 0 || cpus > Self::MOST_CPUS {
            return Err(TopologyError::Cpus(cpus));
        }
        if sockets == 0 || sockets > Self::MOST_SOCKETS {
            return Err(TopologyError::Sockets(sockets));
        }
        if !cpus.is_multiple_of(sockets) {
            return Err(TopologyError::Uneven(cpus, sockets));
        }
        let cpus_per_socket = cpus / sockets;
        if cpus_per_cache == 0 || !cpus_per_socket.is_multiple_of(cpus_per_cache) {
            return Err(TopologyError::UnevenCaches(cpus_per_socket, cpus_per_cache));
        }
        Ok(Topology {
            cpus: cpus as CpuId,
            cpus_per_socket: cpus_per_socket as CpuId,
            cpus_per_cache: cpus_per_cache as CpuId,
        })
    }

    /// Number of CPUs.
    pub fn cpus(&self) -> CpuId {
        self.cpus
    }

    /// Number of sockets.
    pub fn sockets(&self) -> u16 {
        self.cpus / self.cpus_per_socket
    }

    /// CPUs per last-level cache.
    pub fn cpus_per_cache(&self) -> CpuId {
        self.cpus_per_cache
    }

    /// The socket of a CPU, from 0.
    pub fn socket(&self, cpu: CpuId) -> u16 {
        cpu / self.cpus_per_socket
    }

    /// The last-level cache of a CPU, numbered from 0 over the whole machine.
    pub fn cache(&self, cpu: CpuId) -> u16 {
        cpu / self.cpus_per_cache
    }
}

/// The distance of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Distance {
    /// From a CPU that shares the last-level cache.
    SameCache,
    /// From another cache of the same socket.
    SameSocket,
    /// From another socket.
    OtherSocket,
    /// From several holders at once, or from one that the line's state does not name: their copies
    /// are invalidated, wherever they are. Costs as much as from the farthest CPU of the machine.
    Several,
}

impl Distance {
    /// The distance between two CPUs.
    pub(crate) fn between(topology: &Topology, one: CpuId, other: CpuId) -> Self {
        if topology.cache(one) == topology.cache(other) {
            Distance::SameCache
        } else if topology.socket(one) == topology.socket(other) {
            Distance::SameSocket
        } else {
            Distance::OtherSocket
        }
    }

    /// The largest distance in a machine.
    pub(crate) fn farthest(topology: &Topology) -> Self {
        Distance::between(topology, 0, topology.cpus() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_spread_evenly() {
        let topology = Topology::new(16, 2, 4).unwrap();
        assert_eq!((topology.socket(7), topology.socket(8)), (0, 1));
        assert_eq!((topology.cache(3), topology.cache(4), topology.cache(15)), (0, 1, 3));
        assert_eq!((topology.sockets(), topology.cpus_per_cache()), (2, 4));
    }

    #[test]
    fn what_can_not_be_is_refused_in_words() {
        let refused = |cpus, sockets, per_cache| Topology::new(cpus, sockets, per_cache).unwrap_err().to_string();
        assert_eq!(refused(0, 1, 1), "0 CPUs: must be 1 … 4094");
        assert_eq!(refused(5000, 1, 1), "5000 CPUs: must be 1 … 4094");
        assert_eq!(refused(8, 0, 1), "0 sockets: must be 1 … 64");
        assert_eq!(refused(8, 3, 1), "8 CPUs don't divide evenly among 3 sockets");
        assert_eq!(refused(8, 2, 3), "4 CPUs per socket don't divide evenly into caches of 3 CPUs");
        assert_eq!(refused(8, 2, 0), "4 CPUs per socket don't divide evenly into caches of 0 CPUs");
    }
}
