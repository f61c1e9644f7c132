//! The caller's configuration: memory, CPUs, policy. Checked once, here.

use crate::error::ConfigError;
use faultline_numbers::{DomainId, FRAME_BYTES, FrameNumber};

/// Maximum number of CPUs: a CPU's number shares a word with a block's flags.
pub const MOST_CPUS: usize = u16::MAX as usize - 1;

/// Maximum number of domains: a CPU's accounts for all of them fit two cache lines.
pub const MOST_DOMAINS: usize = 32;

/// Maximum number of magazines in a CPU's stock: 512 KiB; saves the refills of 128 frames.
pub const MOST_STOCK: u8 = 4;

/// A contiguous piece of memory of one domain. The gaps between areas are holes.
///
/// Domains are distinguished in units of 2 MiB. A unit with two domains counts as the domain of its
/// lowest frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryArea {
    /// Lowest frame.
    pub first: FrameNumber,
    /// Length in frames.
    pub frames: u64,
    /// NUMA domain.
    pub domain: DomainId,
}

/// Limits of the caches, in frames unless stated otherwise. Made by [`Policy::default`] and
/// `with_…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// Maximum number of magazines in a CPU's stock, besides the current one: at most
    /// [`MOST_STOCK`].
    pub stock_most: u8,
    /// Maximum number of zeroed frames kept per domain.
    pub zeroed_most: u32,
}

impl Policy {
    const DEFAULT: Self = Self { stock_most: MOST_STOCK, zeroed_most: 0 };

    /// Sets the maximum number of magazines in a CPU's stock.
    pub const fn with_stock_most(self, stock_most: u8) -> Self {
        Self { stock_most, ..self }
    }

    /// Sets the maximum number of zeroed frames kept per domain.
    pub const fn with_zeroed_most(self, zeroed_most: u32) -> Self {
        Self { zeroed_most, ..self }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A domain's watermarks, in free frames of its range layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Watermarks {
    /// The hook is called when fewer frames are free. 0: never.
    pub low: u64,
    /// Only urgent callers get the frames below it. At most `low`. 0: none.
    pub min: u64,
}

impl Watermarks {
    pub(crate) fn check(self) -> Result<(), ConfigError> {
        if self.min <= self.low { Ok(()) } else { Err(ConfigError::Marks) }
    }
}

/// The configuration of a machine. Made by [`Config::new`] and `with_…`.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Config<'a> {
    /// Memory, in any order, without overlaps.
    pub memory: &'a [MemoryArea],
    /// Memory that is not present at the start: [`Frames::put_online`](crate::Frames::put_online)
    /// adds it in units of 2 MiB, [`Frames::put_online_range`](crate::Frames::put_online_range) in
    /// pieces of any size. A unit that has other memory, too, belongs to that memory's domain.
    pub offline: &'a [MemoryArea],
    /// Domain of each CPU that may ever run. The index is the CPU's number.
    pub cpus: &'a [DomainId],
    /// Watermarks of each domain. The index is the domain's number; domains beyond the end have
    /// none.
    pub marks: &'a [Watermarks],
    /// Distances between domains, as in ACPI's SLIT: a row for each domain named by memory or CPUs,
    /// with the distance to each of them. If a CPU's own domain has no free frame, it tries the
    /// others in the order of distance; at equal distances, first those whose numbers follow its
    /// own. Empty: all distances are equal.
    pub distances: &'a [u8],
    /// Limits of the caches.
    pub policy: Policy,
}

impl<'a> Config<'a> {
    /// No watermarks, equal distances, the default policy.
    pub const fn new(memory: &'a [MemoryArea], cpus: &'a [DomainId]) -> Self {
        Self { memory, offline: &[], cpus, marks: &[], distances: &[], policy: Policy::DEFAULT }
    }

    /// Sets memory that may be added at run time.
    pub const fn with_offline(self, offline: &'a [MemoryArea]) -> Self {
        Self { offline, ..self }
    }

    /// Sets the watermarks.
    pub const fn with_marks(self, marks: &'a [Watermarks]) -> Self {
        Self { marks, ..self }
    }

    /// Sets the distances between domains.
    pub const fn with_distances(self, distances: &'a [u8]) -> Self {
        Self { distances, ..self }
    }

    /// Sets the policy.
    pub const fn with_policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// Checks everything except the total size of memory. Returns the number of domains.
    pub(crate) fn check(&self) -> Result<usize, ConfigError> {
        if self.cpus.is_empty() || self.cpus.len() > MOST_CPUS {
            return Err(ConfigError::Cpus);
        }
        if self.policy.stock_most > MOST_STOCK {
            return Err(ConfigError::Stock);
        }
        self.marks.iter().try_for_each(|marks| marks.check())?;
        let areas = self.memory.iter().chain(self.offline);
        let domains = areas.clone().map(|area| area.domain).chain(self.cpus.iter().copied());
        let domains = domains.map(|domain| usize::from(domain.0) + 1).max().unwrap_or(0);
        if domains > MOST_DOMAINS {
            return Err(ConfigError::Domains);
        }
        if !self.distances.is_empty() && self.distances.len() != domains * domains {
            return Err(ConfigError::Distances);
        }
        for (index, area) in areas.clone().enumerate() {
            let area_end = area.first.0.checked_add(area.frames).ok_or(ConfigError::NoAddress)?;
            if area_end > u64::MAX / FRAME_BYTES + 1 {
                return Err(ConfigError::NoAddress);
            }
            if area.frames == 0 {
                return Err(ConfigError::NoMemory);
            }
            if areas.clone().take(index).any(|other| other.first.0 < area_end && area.first.0 < other.end()) {
                return Err(ConfigError::Overlap(index));
            }
        }
        if self.memory.is_empty() {
            return Err(ConfigError::NoMemory);
        }
        Ok(domains)
    }
}

impl MemoryArea {
    /// One past the highest frame. Areas whose addresses wrap around were rejected before.
    pub(crate) fn end(&self) -> u64 {
        self.first.0.saturating_add(self.frames)
    }
}
