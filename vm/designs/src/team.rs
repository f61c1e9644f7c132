//! Threads that start, meet and end together, with the region of interest around their work. They
//! spin, so that no thread must be woken. They share a single variable, so its transfers can be
//! separated from the design's by name.
//!
//! Also the region marks, as in `workloads/harness/faultline_mark.h`: instructions without effect
//! that an observer of the instruction stream recognises; and pinning to the host's CPUs.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::arch::asm;
use std::hint::spin_loop;
use std::io;
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

    /// Sets the number of members. Call before any of them begins.
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
        // Acquire: pairs with the increments of `ready`, so that all preparations are over before
        // the region begins.
        while self.ready.0.load(Ordering::Acquire) != self.members() {
            std::thread::sleep(Duration::from_micros(500));
        }
        region_begin();
        // Release: pairs with the load in `begin`; a thread that sees it knows that the region has
        // begun.
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
        // AcqRel: pairs with the other members' increments, so that the last one has seen what all
        // of them did before.
        if self.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 == meeting * self.members() {
            // Release: pairs with the load below; passes on what the last one has seen.
            self.met.0.store(meeting, Ordering::Release);
        }
        wait_until(|| self.met.0.load(Ordering::Acquire) >= meeting);
    }

    /// For a member: the last one ends the region, and all leave after it.
    pub(crate) fn end(&self) {
        // AcqRel: pairs with the other members' increments; all have done their part before the
        // region ends.
        if self.done.0.fetch_add(1, Ordering::AcqRel) + 1 == self.members() {
            region_end();
            // Release: pairs with the load below.
            self.leave.0.store(true, Ordering::Release);
        }
        wait_until(|| self.leave.0.load(Ordering::Acquire));
    }
}

/// Begins the region. A separate function, because the rest of a mark's translation block is not
/// counted.
#[inline(never)]
pub(crate) fn region_begin() {
    // SAFETY: `nopl 0x00464101(%rax)` reads nothing and writes nothing.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!(".byte 0x0f, 0x1f, 0x80, 0x01, 0x41, 0x46, 0x00", options(nostack, preserves_flags));
    }
    // SAFETY: each register keeps its value.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!(".inst 0xaa090129, 0xaa0a014a", options(nostack, preserves_flags));
    }
}

/// Ends the region.
#[inline(never)]
pub(crate) fn region_end() {
    // SAFETY: `nopl 0x00464102(%rax)` reads nothing and writes nothing.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!(".byte 0x0f, 0x1f, 0x80, 0x02, 0x41, 0x46, 0x00", options(nostack, preserves_flags));
    }
    // SAFETY: each register keeps its value.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!(".inst 0xaa0a014a, 0xaa090129", options(nostack, preserves_flags));
    }
}

/// Host CPUs that this thread may use, by number. Call it before threads are pinned.
pub(crate) fn usable_cpus() -> io::Result<Vec<usize>> {
    let allowed = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect())
}

/// Binds this thread to a host CPU.
pub(crate) fn pin_to(cpu: usize) -> io::Result<()> {
    let mut only = CpuSet::new();
    only.set(cpu);
    Ok(sched_setaffinity(None, &only)?)
}
