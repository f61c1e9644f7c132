//! Counters of each CPU, on lines that only this CPU writes. The reader adds them up.
//!
//! A count is a plain load and store, because only its own CPU writes it. All orderings are relaxed: no other data
//! depends on the counts.

use core::fmt::{self, Display};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! events {
    ($($(#[doc = $doc:literal])+ $name:ident => $words:literal,)+) => {
        /// Something that a CPU counts.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Event { $($(#[doc = $doc])+ $name,)+ }

        impl Event {
            /// All of them, in the order of output.
            pub const ALL: [Self; [$($words),+].len()] = [$(Self::$name),+];

            /// What the counter counts.
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
    /// Pages that already had all rights that the access needed: another thread was faster, or the TLB was behind.
    Spurious => "faults on pages that were already mapped",
    /// Pages copied because others own them too.
    Copy => "copy-on-write pages copied",
    /// Pages written in place after all other owners were gone.
    TakenOver => "copy-on-write pages taken over without a copy",
    /// Pages that an object already had.
    ObjectHit => "faults on resident pages of objects",
    /// Resident pages of objects that were entered because a neighbour was read.
    MappedAround => "resident neighbours mapped by faults",
    /// Pages of objects made of zeroes.
    ObjectFill => "pages of objects created",
    /// Pages that pagers were asked to read.
    PageIn => "pages paged in",
    /// Reads that pagers were asked for, of one or several pages.
    ReadCluster => "reads from pagers",
    /// Pages that were read with others before them.
    ReadAhead => "pages read ahead",
    /// Reads that failed.
    FailedPageIn => "pages that could not be paged in",
    /// Pages that pagers have written.
    PageOut => "pages paged out",
    /// Writes that failed.
    FailedPageOut => "pages that could not be paged out",
    /// Writes that pagers were asked for, of one or several pages.
    WriteCluster => "writes to pagers",
    /// Frames that the page daemon has looked at.
    Scanned => "pages examined by the page daemon",
    /// Pages that the page daemon has taken away.
    Reclaimed => "pages freed by the page daemon",
    /// Pages that the page daemon has taken without their contents being kept.
    Dropped => "pages that were given up and taken",
    /// Faults that found a page that a pager was reading or writing.
    PageWait => "faults that waited for a page that was being transferred",
    /// Accesses that no mapping allows.
    Refused => "faults on addresses that are not mapped or not allowed",
    /// Faults and changes that found no memory.
    NoMemory => "faults and changes that found no memory",
    /// Ranges mapped.
    Map => "ranges mapped",
    /// Ranges mapped where this crate has chosen.
    Chosen => "ranges mapped at chosen addresses",
    /// Stacks that faults have made longer.
    Grow => "stacks grown",
    /// Ranges made longer or shorter in their places.
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
    /// Ranges of which it was said that they will be needed.
    WillNeed => "ranges that will be needed",
    /// Ranges locked in memory.
    Lock => "ranges locked in memory",
    /// Ranges unlocked.
    Unlock => "ranges unlocked",
    /// Pages wired: how often.
    Wire => "pages wired down",
    /// Ranges made guards.
    Guard => "ranges made guards",
    /// Spaces forked.
    Fork => "address spaces forked",
    /// Spaces ended.
    Exit => "address spaces ended",
    /// Nodes made because a part of what a slot covers was changed.
    Split => "slots split into nodes",
    /// Waits for another CPU that changes the same range.
    Wait => "waits for a slot that another CPU held",
    /// TLB flushes of this CPU only, because the space was active on no other.
    LocalFlush => "TLB flushes without a shoot-down",
    /// Shoot-downs sent.
    ShootDown => "TLB shoot-downs sent",
    /// CPUs that shoot-downs were sent to.
    ShotCpu => "CPUs interrupted by TLB shoot-downs",
    /// Frames given back.
    FreedFrame => "frames given back",
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

/// Counts since the start, of one CPU or of all. Printed with one count per line, as `vmstat -s` does.
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

    /// How often.
    pub fn of(&self, event: Event) -> u64 {
        self.0.get(event as usize).copied().unwrap_or(0)
    }
}

impl Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Event::ALL.iter().try_for_each(|event| writeln!(f, "{:>12} {}", self.of(*event), event.words()))
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
