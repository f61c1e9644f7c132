//! Page-frame allocators and memory systems from the literature and our own, behind one trait each,
//! for comparison and study.
//!
//! Each is as small as possible while it treats shared lines and locks as its source does. The
//! comment at the top of its file names the source and lists what is left out. They run in host
//! threads, not in a kernel. Where a kernel keeps interrupts off, the caller makes a promise
//! ([`Design::get`]).
//!
//! | design | per CPU | below |
//! |---|---|---|
//! | [`GlobalMutex`] | nothing | one list under one sleeping mutex |
//! | [`SpinList`] | nothing | one list under one spinlock |
//! | [`Array16`] | one array of 16 | the list under the mutex |
//! | [`Magazines`] | two magazines of 8, counted globally | the list under the mutex |
//! | [`ColourQueues`] | its part of 1024 queues | the other parts |
//! | [`SpinBuddy`] | nothing | a buddy system under a spinlock |
//! | [`Ours`] | magazines of 32, and a reserved block | a lock-free range layer |
//!
//! [`measure`] has the benchmarks; [`frames_loop`] the threads whose cache-line transfers the lens
//! counts; [`trial`] the tests that every design must pass.
//!
//! [`systems`] has memory systems, above the frames: spaces, faults, forks. [`memory_loop`] has
//! threads that use them under the lens. [`commute_loop`] has pairs of commuting operations, which
//! should share no line.

mod array16;
mod colour_queues;
pub mod commute_loop;
mod design;
pub mod frames_loop;
mod lists;
mod magazines;
pub mod measure;
pub mod memory_loop;
mod ours;
pub mod systems;
mod team;
pub mod trial;

pub use array16::Array16;
pub use colour_queues::ColourQueues;
pub use design::{BLOCK_FRAMES, Counters, Cpu, Design, Frame, Memory, RUN_FRAMES};
pub use lists::{GlobalMutex, SpinBuddy, SpinList};
pub use magazines::Magazines;
pub use ours::{Metadata, Ours, OursNearMarks};
