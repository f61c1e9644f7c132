//! A machine of threads: software page tables, and for each CPU a software TLB that remembers stale translations, so that a shoot-down
//! that is missing shows in what a program reads.

mod machine;
mod page_table;
mod tlb;

pub use machine::{FrameBytes, Hosted, Outcome, Pinned};
pub use page_table::{PageTable, RetiredTables};
