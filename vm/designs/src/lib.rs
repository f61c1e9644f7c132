//! Page-frame allocators of the literature beside our own, behind one trait: to compare, and to learn from.
//!
//! Each is as small as it can be and still do what its source does to shared lines and locks; the head of its file names the
//! source and says what is left out. They run in host threads, not in a kernel: what a kernel does by keeping interrupts off is
//! the caller's promise here ([`Design::get`]).
//!
//! | design | per CPU | below |
//! |---|---|---|
//! | [`GlobalMutex`] | nothing | one list under one sleeping mutex |
//! | [`SpinList`] | nothing | one list under one spinlock |
//! | [`Array16`] | one array of 16 | the list under the mutex |
//! | [`Magazines`] | two magazines of 8, counted globally | the list under the mutex |
//! | [`ColourQueues`] | its part of 1024 queues | the other parts |
//! | [`SpinBuddy`] | nothing | a buddy system under a spinlock |
//! | [`Ours`] | magazines of 32, and blocks to refill from | a lock-free range layer |
//!
//! [`measure`] is the benchmarks, [`trial`] what every design has to stand.

mod array16;
mod buddy;
mod colour_queues;
mod cpu;
mod design;
mod free_list;
mod global_mutex;
mod magazines;
pub mod measure;
mod metadata;
mod ours;
mod own;
mod spin_list;
pub mod trial;

pub use array16::Array16;
pub use buddy::SpinBuddy;
pub use colour_queues::ColourQueues;
pub use cpu::Cpu;
pub use design::{BLOCK_FRAMES, Counters, Design, Frame, Memory};
pub use global_mutex::GlobalMutex;
pub use magazines::Magazines;
pub use metadata::Metadata;
pub use ours::Ours;
pub use spin_list::SpinList;
