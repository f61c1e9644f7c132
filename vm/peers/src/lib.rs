//! External peers of our page-frame allocator: LLFree (Wrenger et al., USENIX ATC 2023), as one of the
//! [designs](faultline_frame_designs).

mod llfree;

pub use llfree::LlFree;
