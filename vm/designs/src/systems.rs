//! Memory systems from the literature and our own, behind one trait, for comparison and study: what is above the page frames.
//!
//! Each treats shared lines and locks as its source does, as far as a fault, a change of a map, a fork or an exit writes them. The comment at
//! the top of its file names the source and lists what is left out. All take frames from `faultline-frames`, and run on `vm/memory`'s hosted
//! machine, whose page tables and TLBs they share, so that they differ in nothing else.
//!
//! | design | year | lookup of a page | what a mapping costs | copy on write |
//! |---|---|---|---|---|
//! | [`OneToken`] | 2010 | one token for everything | an entry in two lists | chains of shadow objects |
//! | [`LocksByObject`] | 2011 | map lock, then each object's lock | the same | the same |
//! | [`SharedRetry`] | 2013 | the same locks, shared at first | the same | the same |
//! | [`Backings`] | 2019 | map lock, then a hash without a lock | nothing | a short list of objects for each map entry |
//! | [`Radix`] | 2013 | the page's slot | page tables for each CPU | owners of each page |
//! | [`Ours`] | – | the page's slot | nothing | owners of each page |
//!
//! None reclaims: there are no page queues. docs/MEMORY-DESIGNS.md has what was counted.

mod backings;
mod cpu;
mod mach;
mod machine;
mod map;
mod ours;
mod radix;
mod system;
mod tables;

pub use backings::Backings;
pub use cpu::Cpu;
pub use mach::{LocksByObject, OneToken, SharedRetry};
pub use machine::{Refused, Shape, on_machine};
pub use ours::{Ours, OursShared};
pub use radix::Radix;
pub use system::System;
