//! The machine that the lens models, and its description for the plugin.

use crate::{Plugin, TargetError};
use faultline_coherence::{Caches, CostTable, DelayTimes, Topology};
use std::path::{Path, PathBuf};

/// A machine, except for its number of CPUs.
#[derive(Debug, Clone)]
pub struct MachineModel {
    /// Sockets.
    pub sockets: u32,
    /// CPUs that share a last-level cache; `None` for all of a socket.
    pub cpus_per_cache: Option<u32>,
    /// Times of instructions and transfers. With its delays the plugin models what else takes time, so that rates can be predicted.
    pub costs: CostTable,
    /// Bounds of each CPU's own cache; `None` for caches without bounds.
    pub caches: Option<Caches>,
    /// How far a CPU may run ahead of the slowest, in clocks: soon after a transfer, and later.
    pub quanta: Quanta,
}

/// How far a CPU may run ahead, in clocks, if given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quanta {
    /// Soon after a transfer.
    pub contended: Option<u64>,
    /// If its last transfer is long ago.
    pub private: Option<u64>,
}

impl MachineModel {
    /// CPUs of a machine for that many threads of a program: one for each, and one for the thread that starts them, rounded up so that all
    /// sockets and caches have equally many.
    pub fn cpus_for_threads(&self, threads: u32) -> u32 {
        let part = self.sockets.max(1).saturating_mul(self.cpus_per_cache.unwrap_or(1).max(1));
        threads.saturating_add(1).div_ceil(part).saturating_mul(part)
    }

    /// Fails if the machine cannot exist with one of these numbers of CPUs.
    pub fn check(&self, cpus: &[u32]) -> Result<(), TargetError> {
        let hint = "all sockets, and all caches of a socket, have the same number of CPUs: for example `--sockets 2 --cpus-per-cache 4` for 8 CPUs";
        for &cpus in cpus {
            let per_cache = self.cpus_per_cache.unwrap_or(cpus / self.sockets.max(1));
            Topology::new(cpus, self.sockets, per_cache).map_err(|error| TargetError {
                problem: format!("impossible machine: {error}"),
                hint: hint.to_owned(),
            })?;
        }
        Ok(())
    }

    /// The plugin for a machine of `cpus` CPUs, which writes its report to `output`.
    pub fn plugin(&self, file: &Path, cpus: u32, output: &str, is_whole: bool) -> Plugin {
        let mut values: Vec<(String, String)> = Vec::new();
        let mut put = |key: &str, value: String| values.push((key.to_owned(), value));
        put("cpus", cpus.to_string());
        put("sockets", self.sockets.to_string());
        let optional = [
            ("cpus_per_cache", self.cpus_per_cache.map(u64::from)),
            ("quantum", self.quanta.contended),
            ("private_quantum", self.quanta.private),
            ("cache_ways", self.caches.map(|caches| caches.ways.into())),
        ];
        for (key, value) in optional {
            value.into_iter().for_each(|value| put(key, value.to_string()));
        }
        put("cache_lines", self.caches.map_or_else(|| "unbounded".to_owned(), |caches| caches.lines.to_string()));
        let CostTable { instruction_ps, same_cache_ns, same_socket_ns, other_socket_ns, memory_ns, .. } = self.costs;
        for (key, value) in [
            ("instruction_ps", instruction_ps),
            ("same_cache_ns", same_cache_ns),
            ("same_socket_ns", same_socket_ns),
            ("other_socket_ns", other_socket_ns),
            ("memory_ns", memory_ns),
        ] {
            put(key, value.to_string());
        }
        if let Some(DelayTimes { atomic_ps, request_percent, wake_ns, interrupt_ns, entry_ns }) = self.costs.delays {
            for (key, value) in [
                ("atomic_ps", atomic_ps),
                ("request_percent", request_percent),
                ("wake_ns", wake_ns),
                ("interrupt_ns", interrupt_ns),
                ("entry_ns", entry_ns),
            ] {
                put(key, value.to_string());
            }
        }
        put("output", output.to_owned());
        if is_whole {
            put("whole", "on".to_owned());
        }
        Plugin { file: PathBuf::from(file), values, directory: None }
    }
}
