//! A CPU's own counters and hints, on lines that only this CPU writes. Readers add counters up.
//!
//! Increments are plain loads and stores, because only one CPU writes. All orderings are relaxed:
//! no other data depends on the counts.

use crate::machine::SpaceId;
use core::fmt::{self, Display};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! events {
    ($($(#[doc = $doc:literal])+ $name:ident => $words:literal,)+) => {
        /// A counted event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Event { $($(#[doc = $doc])+ $name,)+ }

        impl Event {
            /// All events, in output order.
            pub const ALL: [Self; [$($words),+].len()] = [$(Self::$name),+];

            /// Description in output.
            pub const fn words(self) -> &'static str {
                match self { $(Self::$name => $words,)+ }
            }
        }
    };
}

events! {
    /// Faults of any kind, resolved or not.
    Fault => "page faults taken",
    /// Private pages made of zeroes.
    ZeroFill => "zero fill pages created",
    /// Large pages made of zeroes; their pages are counted as private pages, too.
    LargeFill => "large pages created",
    /// Large page-table entries divided, because a part of them changed.
    Divided => "large pages divided",
    /// Faults on pages that already allowed the access: another thread was faster, or the TLB was
    /// stale.
    Spurious => "faults on pages that were already mapped",
    /// Shared pages copied on write.
    Copy => "copy-on-write pages copied",
    /// Pages written in place after all other owners had released them.
    TakenOver => "copy-on-write pages taken over without a copy",
    /// Faults on resident pages of objects.
    ObjectHit => "faults on resident pages of objects",
    /// Resident pages of objects mapped by faults on neighbours.
    MappedAround => "resident neighbours mapped by faults",
    /// Pages of objects made of zeroes.
    ObjectFill => "pages of objects created",
    /// Pages requested from pagers.
    PageIn => "pages paged in",
    /// Reads requested from pagers, of one or more pages.
    ReadCluster => "reads from pagers",
    /// Pages read ahead of a requested page.
    ReadAhead => "pages read ahead",
    /// Reads that failed.
    FailedPageIn => "pages that could not be paged in",
    /// Pages written by pagers.
    PageOut => "pages paged out",
    /// Writes that failed.
    FailedPageOut => "pages that could not be paged out",
    /// Writes requested from pagers, of one or more pages.
    WriteCluster => "writes to pagers",
    /// Frames examined by the page daemon.
    Scanned => "pages examined by the page daemon",
    /// Pages taken by the page daemon.
    Reclaimed => "pages freed by the page daemon",
    /// Given-up pages taken by the page daemon without writing.
    Dropped => "pages that were given up and taken",
    /// Faults on pages that a pager was transferring.
    PageWait => "faults that waited for a page that was being transferred",
    /// Accesses to unmapped or forbidden pages.
    Refused => "faults on addresses that are not mapped or not allowed",
    /// Faults and changes that ran out of memory.
    NoMemory => "faults and changes that found no memory",
    /// Ranges mapped.
    Map => "ranges mapped",
    /// Ranges mapped at chosen addresses.
    Chosen => "ranges mapped at chosen addresses",
    /// Stacks grown by faults.
    Grow => "stacks grown",
    /// Ranges resized in place.
    Resize => "ranges made longer or shorter",
    /// Ranges moved.
    Move => "ranges moved",
    /// Ranges unmapped.
    Unmap => "ranges unmapped",
    /// Ranges whose rights were changed.
    Protect => "ranges whose rights were changed",
    /// Ranges whose contents were given up.
    DontNeed => "ranges whose contents were given up",
    /// Ranges whose contents may be taken.
    GiveUp => "ranges whose contents may be taken",
    /// Ranges announced by `will_need`.
    WillNeed => "ranges that will be needed",
    /// Ranges locked in memory.
    Lock => "ranges locked in memory",
    /// Ranges unlocked.
    Unlock => "ranges unlocked",
    /// Pages wired.
    Wire => "pages wired down",
    /// Ranges turned into guards.
    Guard => "ranges made guards",
    /// Spaces forked.
    Fork => "address spaces forked",
    /// Spaces ended.
    Exit => "address spaces ended",
    /// Nodes made to divide a slot.
    Split => "slots split into nodes",
    /// Waits for another CPU that changes the same range.
    Wait => "waits for a slot that another CPU held",
    /// TLB flushes of this CPU only, because the space was active on no other.
    LocalFlush => "TLB flushes without a shoot-down",
    /// Shoot-downs sent.
    ShootDown => "TLB shoot-downs sent",
    /// CPUs that received shoot-downs.
    ShotCpu => "CPUs interrupted by TLB shoot-downs",
    /// Frames freed.
    FreedFrame => "frames given back",
    /// Broken invariants: [`Machine::broken`](crate::Machine::broken).
    Broken => "broken invariants",
}

const EVENTS: usize = Event::ALL.len();

/// A CPU's counts, on lines of their own. Written by that CPU alone.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct CpuCounts([AtomicU64; EVENTS]);

impl CpuCounts {
    pub(crate) fn new() -> Self {
        Self([const { AtomicU64::new(0) }; EVENTS])
    }

    #[inline(always)]
    pub(crate) fn add(&self, event: Event, count: u64) {
        if let Some(sum) = self.0.get(event as usize) {
            sum.store(sum.load(Relaxed).wrapping_add(count), Relaxed);
        }
    }

    pub(crate) fn read(&self) -> Counters {
        Counters(core::array::from_fn(|index| self.0.get(index).map_or(0, |sum| sum.load(Relaxed))))
    }
}

/// Counts since the start, of one CPU or of all. Displayed with one count per line, like `vmstat
/// -s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counters([u64; EVENTS]);

impl Counters {
    pub(crate) const NONE: Self = Self([0; EVENTS]);

    pub(crate) fn plus(mut self, other: &Self) -> Self {
        for (sum, count) in self.0.iter_mut().zip(other.0) {
            *sum = sum.wrapping_add(count);
        }
        self
    }

    /// The count of an event.
    pub fn of(&self, event: Event) -> u64 {
        self.0.get(event as usize).copied().unwrap_or(0)
    }
}

impl Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Event::ALL.iter().try_for_each(|event| writeln!(f, "{:>12} {}", self.of(*event), event.words()))
    }
}

/// Number of spaces with a hint: those in which the CPU recently chose addresses.
const SPACES: usize = 16;

/// A CPU's hints: its last position of free addresses in each space. Fields: \[c] written and read
/// by the CPU alone, so all orderings are relaxed.
#[derive(Debug)]
pub(crate) struct Hints([Hint; SPACES]);

#[derive(Debug)]
struct Hint {
    /// \[c] The space's number plus 1; 0: none.
    space: AtomicU64,
    /// \[c] The page.
    next: AtomicU64,
}

impl Hints {
    pub(crate) fn new() -> Self {
        Self([const { Hint { space: AtomicU64::new(0), next: AtomicU64::new(0) } }; SPACES])
    }

    fn place(&self, space: SpaceId) -> &Hint {
        // The number's lower part is that of the CPU that made the space, its upper part counts.
        let made = space.0 / crate::cpu_set::MOST_CPUS as u64;
        &self.0[(made + space.0) as usize % SPACES]
    }

    pub(crate) fn get(&self, space: SpaceId) -> Option<u64> {
        let hint = self.place(space);
        (hint.space.load(Relaxed) == space.0 + 1).then(|| hint.next.load(Relaxed))
    }

    pub(crate) fn set(&self, space: SpaceId, next: u64) {
        let hint = self.place(space);
        hint.space.store(space.0 + 1, Relaxed);
        hint.next.store(next, Relaxed);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::string::ToString;

    #[test]
    fn each_count_has_a_line_of_its_own() {
        let counts = CpuCounts::new();
        Event::ALL.iter().zip(1..).for_each(|(event, count)| counts.add(*event, count));
        let text = counts.read().plus(&counts.read()).to_string();
        assert!(text.starts_with("           2 page faults taken\n           4 zero fill pages"), "{text}");
        assert_eq!(text.lines().collect::<BTreeSet<_>>().len(), EVENTS);
    }
}
