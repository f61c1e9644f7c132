//! Page tables of real machines for `faultline-memory`: x86-64 with 4 and 5 levels, AArch64, RISC-V
//! Sv39 and Sv48.
//!
//! - `format`: [`Format`], a machine's levels and bits; `x86_64`, `aarch64`, `riscv`;
//! - `page_tables`: [`PageTables`], the walk, and how tables are made and taken out; `entries`: the
//!   interface [`Pmap`](faultline_memory::Pmap); `large`: its large pages; `ranges`: the kernel's
//!   own mappings, with pages of all sizes;
//! - `table`: [`TableMemory`], the source of tables; `pool`: [`TablePool`], a ready one; `stack`;
//! - `tags`: [`Tags`], PCIDs and ASIDs.
//!
//! Calls may be concurrent as `Pmap` says. None allocates except from [`TableMemory`]. docs/PMAP.md
//! describes the design and its limits.
//!
//! ```
//! use faultline_memory::{FrameNumber, Pmap, Rights, VirtualPage};
//! use faultline_pmap::{PageTables, Record, RetiredTables, Table, TablePool, X86_64};
//!
//! let tables: Vec<Table> = (0..8).map(|_| Table::default()).collect();
//! let records: Vec<Record> = (0..8).map(|_| Record::default()).collect();
//! // SAFETY: neither moves. A kernel gives the tables' real frame number.
//! let pool = unsafe { TablePool::new(FrameNumber(0x100), &tables[..], &records[..]) }.unwrap();
//! let pmap = PageTables::<X86_64<4>, _>::new(&pool)?;
//! let mut retired = RetiredTables::default();
//! pmap.enter(VirtualPage(5), FrameNumber(0x1234), Rights::READ, &mut retired)?;
//! assert!(pmap.mark_used(VirtualPage(5), Rights::READ));
//! let removed = pmap.remove(VirtualPage(5), &mut retired).unwrap();
//! assert_eq!((removed.frame, removed.accessed, pmap.tables()), (FrameNumber(0x1234), true, 0));
//! pmap.free(retired); // after a shoot-down
//! # Ok::<(), faultline_memory::NoMemory>(())
//! ```

#![no_std]
#![deny(clippy::undocumented_unsafe_blocks, missing_docs)]
#![allow(unexpected_cfgs, reason = "`--cfg loom` swaps atomics for those that explore interleavings")]

#[cfg(test)]
extern crate std;

mod aarch64;
mod entries;
mod format;
mod large;
mod page_tables;
mod pool;
mod primitive;
mod ranges;
mod riscv;
mod stack;
mod table;
mod tags;
mod x86_64;

pub use aarch64::{Aarch64, MAIR};
pub use format::{FAN_OUT, Format, Leaf, MemoryType, span};
pub use page_tables::{PageTables, RetiredTables};
pub use pool::TablePool;
pub use ranges::MapError;
pub use riscv::{Riscv, Sv39, Sv48};
pub use table::{Record, Table, TableMemory};
pub use tags::{CpuTag, Switch, Tag, Tags};
pub use x86_64::{PAT, X86_64};

#[cfg(all(test, not(loom)))]
mod tags_tests;

#[cfg(all(test, loom))]
mod interleavings;
