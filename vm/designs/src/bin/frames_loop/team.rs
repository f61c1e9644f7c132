//! Threads that start together, meet, and end together, with the region of interest around their work. They spin,
//! because the lens does not keep sleeping threads in step. All that they share for this lies in one place, whose
//! address the caller can print.

use crate::marks::{region_begin, region_end};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

#[derive(Debug, Default)]
#[repr(align(128))]
struct Line<T>(T);

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
    members: Line<usize>,
}

/// Spins until a condition holds.
fn wait_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        spin_loop();
    }
}

impl Team {
    pub(crate) fn of(members: usize) -> Self {
        Team {
            ready: Line::default(),
            go: Line::default(),
            arrived: Line::default(),
            met: Line::default(),
            done: Line::default(),
            leave: Line::default(),
            members: Line(members),
        }
    }

    /// For the thread that starts the members: begins the region when all are ready.
    pub(crate) fn start(&self) {
        // Acquire: pairs with the increments of `ready`, so that all preparations are over before the region begins.
        while self.ready.0.load(Ordering::Acquire) != self.members.0 {
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
        if self.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 == meeting * self.members.0 {
            // Release: pairs with the load below; passes on what the last one has seen.
            self.met.0.store(meeting, Ordering::Release);
        }
        wait_until(|| self.met.0.load(Ordering::Acquire) >= meeting);
    }

    /// For a member: the last one ends the region, and all leave after it.
    pub(crate) fn end(&self) {
        // AcqRel: pairs with the other members' increments; all have done their part before the region ends.
        if self.done.0.fetch_add(1, Ordering::AcqRel) + 1 == self.members.0 {
            region_end();
            // Release: pairs with the load below.
            self.leave.0.store(true, Ordering::Release);
        }
        wait_until(|| self.leave.0.load(Ordering::Acquire));
    }
}
