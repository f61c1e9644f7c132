//! Programs that don't outlive us: each runs under a keeper (`keeper`), is followed to its end (`kept`), within a time limit
//! (`deadline`).

mod deadline;
pub mod keeper;
mod kept;

pub(crate) use deadline::Deadline;
pub(crate) use kept::{End, Ended, Grace, Kept, Output, Program};
