//! Page-frame allocators and memory systems from the literature and our own, behind one trait each, for comparison and study.
//!
//! Each is as small as possible while it treats shared lines and locks as its source does. The comment at the top of
//! its file names the source and lists what is left out. They run in host threads, not in a kernel. Where a kernel
//! keeps interrupts off, the caller makes a promise instead ([`Design::get`]).
//!
//! | design | per CPU | below |
//! |---|---|---|
//! | [`GlobalMutex`] | nothing | one list under one sleeping mutex |
//! | [`SpinList`] | nothing | one list under one spinlock |
//! | [`Array16`] | one array of 16 | the list under the mutex |
//! | [`Magazines`] | two magazines of 8, counted globally | the list under the mutex |
//! | [`ColourQueues`] | its part of 1024 queues | the other parts |
//! | [`SpinBuddy`] | nothing | a buddy system under a spinlock |
//! | [`Ours`] | magazines of 32, and a reserved block to refill from | a lock-free range layer |
//!
//! [`measure`] has the benchmarks, [`frames_loop`] the threads whose cache-line transfers the lens counts, [`trial`] the tests
//! that every design must pass.
//!
//! [`systems`] has memory systems, above the frames: spaces, faults, forks. [`memory_loop`] has threads that use them under the lens.
//! [`commute_loop`] has pairs of operations that commute, which should share no line.

mod array16;
mod buddy;
mod colour_queues;
pub mod commute_loop;
mod cpu;
mod design;
pub mod frames_loop;
mod free_list;
mod global_mutex;
mod magazines;
mod marks;
pub mod measure;
pub mod memory_loop;
mod metadata;
mod ours;
mod own;
mod pinning;
mod spin_list;
pub mod systems;
mod team;
pub mod trial;

pub use array16::Array16;
pub use buddy::SpinBuddy;
pub use colour_queues::ColourQueues;
pub use cpu::Cpu;
pub use design::{BLOCK_FRAMES, Counters, Design, Frame, Memory, RUN_FRAMES};
pub use global_mutex::GlobalMutex;
pub use magazines::Magazines;
pub use metadata::Metadata;
pub use ours::{Ours, OursNearMarks};
pub use spin_list::SpinList;
