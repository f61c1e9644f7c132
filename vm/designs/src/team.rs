//! Threads that start together, meet, and end together, with the region of interest around their work. They spin, so
//! that none of them has to be woken. All that they share for this is one variable, so that its transfers can be told
//! from the design's by its name.

use crate::marks::{region_begin, region_end};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// On lines that nothing else shares.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Line<T>(pub(crate) T);

/// The only team of this process.
pub(crate) static TEAM: Team = Team::empty();

/// The data that the threads share.
#[derive(Debug)]
pub(crate) struct Team {
    ready: Line<AtomicUsize>,
    go: Line<AtomicBool>,
    arrived: Line<AtomicUsize>,
    /// Number of meetings that all threads have reached.
    met: Line<AtomicUsize>,
    done: Line<AtomicUsize>,
    leave: Line<AtomicBool>,
    members: Line<AtomicUsize>,
}

/// Spins until a condition holds.
pub(crate) fn wait_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        spin_loop();
    }
}

impl Team {
    const fn empty() -> Self {
        Team {
            ready: Line(AtomicUsize::new(0)),
            go: Line(AtomicBool::new(false)),
            arrived: Line(AtomicUsize::new(0)),
            met: Line(AtomicUsize::new(0)),
            done: Line(AtomicUsize::new(0)),
            leave: Line(AtomicBool::new(false)),
            members: Line(AtomicUsize::new(0)),
        }
    }

    /// Says how many members there are, before any of them begins.
    pub(crate) fn set_members(&self, members: usize) {
        // Relaxed: the members are started later.
        self.members.0.store(members, Ordering::Relaxed);
    }

    fn members(&self) -> usize {
        // Relaxed: see `set_members`.
        self.members.0.load(Ordering::Relaxed)
    }

    /// For the thread that starts the members: begins the region when all are ready.
    pub(crate) fn start(&self) {
        // Acquire: pairs with the increments of `ready`, so that all preparations are over before the region begins.
        while self.ready.0.load(Ordering::Acquire) != self.members() {
            std::thread::sleep(Duration::from_micros(500));
        }
        region_begin();
        // Release: pairs with the load in `begin`; a thread that sees it knows that the region has begun.
        self.go.0.store(true, Ordering::Release);
    }

    /// For a member that is prepared: waits for the region.
    pub(crate) fn begin(&self) {
        // Release: pairs with the load in `start`.
        self.ready.0.fetch_add(1, Ordering::Release);
        // Acquire: pairs with the store in `start`.
        wait_until(|| self.go.0.load(Ordering::Acquire));
    }

    /// For a member: waits until all reach the `meeting`th meeting, counted from 1.
    pub(crate) fn meet(&self, meeting: usize) {
        // AcqRel: pairs with the other members' increments, so that the last one has seen what all of them did before.
        if self.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 == meeting * self.members() {
            // Release: pairs with the load below; passes on what the last one has seen.
            self.met.0.store(meeting, Ordering::Release);
        }
        wait_until(|| self.met.0.load(Ordering::Acquire) >= meeting);
    }

    /// For a member: the last one ends the region, and all leave after it.
    pub(crate) fn end(&self) {
        // AcqRel: pairs with the other members' increments; all have done their part before the region ends.
        if self.done.0.fetch_add(1, Ordering::AcqRel) + 1 == self.members() {
            region_end();
            // Release: pairs with the load below.
            self.leave.0.store(true, Ordering::Release);
        }
        wait_until(|| self.leave.0.load(Ordering::Acquire));
    }
}
