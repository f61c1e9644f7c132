//! Machines of threads whose CPUs walk the page tables of `faultline-pmap` by walkers that were
//! written from the manuals alone.
//!
//! The crate looks like `faultline-memory`, with its own `hosted`: so the tests of `vm/memory` run
//! on it unchanged.

#![deny(missing_docs)]

pub use memory::*;

pub mod hosted;
pub mod tables;
pub mod walkers;
