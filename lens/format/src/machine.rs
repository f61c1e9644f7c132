//! The modelled machine: its CPUs, caches and times. A clock is the duration of one instruction.

use serde::{Deserialize, Serialize};

/// Declares a structure of numbers whose field names are also the names of the plugin's arguments.
macro_rules! numbers {
    ($(#[$outer:meta])* $name:ident { $($(#[$doc:meta])* $field:ident,)+ }) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
        pub struct $name {
            $($(#[$doc])* pub $field: u32,)+
        }

        impl $name {
            /// The names of the numbers, in order. The plugin's arguments have the same names.
            pub const NAMES: &[&str] = &[$(stringify!($field)),+];

            /// The structure with the numbers that `number` returns by name. Fails if it does.
            pub fn replaced<E>(self, mut number: impl FnMut(&'static str) -> Result<Option<u32>, E>) -> Result<Self, E> {
                Ok($name { $($field: number(stringify!($field))?.unwrap_or(self.$field)),+ })
            }

            /// The numbers with their names, in order.
            pub fn numbers(&self) -> impl Iterator<Item = (&'static str, u32)> {
                [$((stringify!($field), self.$field)),+].into_iter()
            }
        }
    };
}

numbers! {
    /// Durations of an instruction and of transfers by distance.
    CostTimes {
        /// An instruction, in picoseconds.
        instruction_ps,
        /// A transfer from a CPU that shares the last-level cache, in nanoseconds.
        same_cache_ns,
        /// A transfer from another cache of the same socket, in nanoseconds.
        same_socket_ns,
        /// A transfer from another socket, in nanoseconds.
        other_socket_ns,
        /// A fetch from memory, in nanoseconds.
        memory_ns,
    }
}

numbers! {
    /// Durations of the delays that only predictions need.
    DelayTimes {
        /// An atomic read-modify-write of a line that the CPU holds, in picoseconds.
        atomic_ps,
        /// Percentage of a transfer's time until the request reaches the CPU that holds the line:
        /// 1 … 100.
        request_percent,
        /// Waking a halted CPU, in nanoseconds.
        wake_ns,
        /// An interrupt from another CPU, in nanoseconds.
        interrupt_ns,
        /// Entry into the kernel from user mode, and return, in nanoseconds.
        entry_ns,
    }
}

impl DelayTimes {
    /// Orders of magnitude, not measured on any machine: the default for tables without measured
    /// times.
    pub const USUAL: DelayTimes =
        DelayTimes { atomic_ps: 5000, request_percent: 75, wake_ns: 5000, interrupt_ns: 1000, entry_ns: 50 };
}

/// Size of each CPU's private cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Caches {
    /// Number of lines in the cache.
    pub lines: u32,
    /// Lines per set.
    pub ways: u32,
}

/// Reason why a cache size is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CachesError {
    /// No line, or too many.
    #[error("{0} cache lines: must be 1 … {max}", max = Caches::MOST_LINES)]
    Lines(u32),
    /// No way, or too many.
    #[error("{0} ways: must be 1 … {max}", max = Caches::MOST_WAYS)]
    Ways(u32),
    /// The number of lines is not a multiple of the number of ways.
    #[error("{0} lines don't divide into sets of {1} ways")]
    Uneven(u32, u32),
}

impl Caches {
    /// The private second-level cache of a current server core: 2 MiB, 16-way (Intel 64 and IA-32
    /// Architectures Optimization Reference Manual, Golden Cove and Raptor Cove). The shared cache
    /// behind it is not modelled: evicted lines go to memory.
    pub const DEFAULT: Caches = Caches { lines: 32_768, ways: 16 };
    /// Maximum number of lines: 1 GiB.
    pub const MOST_LINES: u32 = 1 << 24;
    /// Maximum number of ways.
    pub const MOST_WAYS: u32 = 64;

    /// Returns the size if it is valid.
    pub fn check(self) -> Result<Self, CachesError> {
        if self.lines == 0 || self.lines > Self::MOST_LINES {
            return Err(CachesError::Lines(self.lines));
        }
        if self.ways == 0 || self.ways > Self::MOST_WAYS {
            return Err(CachesError::Ways(self.ways));
        }
        if !self.lines.is_multiple_of(self.ways) {
            return Err(CachesError::Uneven(self.lines, self.ways));
        }
        Ok(self)
    }
}

/// The modelled machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelledMachine {
    /// Number of CPUs.
    pub cpus: u32,
    /// Number of sockets, each with the same number of CPUs.
    pub sockets: u32,
    /// CPUs that share a last-level cache.
    pub cpus_per_cache: u32,
    /// Distance that a CPU may run ahead after a transfer, in clocks.
    pub quantum: u64,
    /// Distance that a CPU may run ahead if its last transfer is longer ago, in clocks.
    pub private_quantum: u64,
    /// Durations of instructions and transfers.
    pub times: CostTimes,
    /// Durations of other delays; `None` if they are not modelled.
    pub delays: Option<DelayTimes>,
    /// Size of each CPU's private cache; `None` if unbounded.
    pub caches: Option<Caches>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_names_of_their_fields() {
        let named = |name: &str| DelayTimes::USUAL.numbers().find(|(known, _)| *known == name).map(|(_, value)| value);
        assert_eq!((named("wake_ns"), named("entry_ns"), named("wake")), (Some(5000), Some(50), None));
        assert!(DelayTimes::USUAL.numbers().map(|(name, _)| name).eq(DelayTimes::NAMES.iter().copied()));
        let replaced = DelayTimes::USUAL.replaced(|name| Ok::<_, ()>((name == "wake_ns").then_some(7)));
        assert_eq!(replaced, Ok(DelayTimes { wake_ns: 7, ..DelayTimes::USUAL }));
        assert_eq!(DelayTimes::USUAL.replaced(Err), Err("atomic_ps"));
    }

    #[test]
    fn invalid_caches_are_refused() {
        let refused = |lines, ways| Caches { lines, ways }.check().unwrap_err().to_string();
        assert_eq!(refused(0, 1), "0 cache lines: must be 1 … 16777216");
        assert_eq!(refused(u32::MAX, 1), "4294967295 cache lines: must be 1 … 16777216");
        assert_eq!(refused(64, 0), "0 ways: must be 1 … 64");
        assert_eq!(refused(64, 65), "65 ways: must be 1 … 64");
        assert_eq!(refused(64, 6), "64 lines don't divide into sets of 6 ways");
        assert_eq!(Caches::DEFAULT.check(), Ok(Caches::DEFAULT));
    }
}
