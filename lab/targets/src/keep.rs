//! Programs that do not outlive us. Each runs under a keeper (`keeper`), and is followed to its end (`kept`), with a time limit
//! (`deadline`).

mod deadline;
pub mod keeper;
mod kept;

pub(crate) use deadline::Deadline;
pub(crate) use kept::{End, Ended, Grace, Kept, Output, Program};
