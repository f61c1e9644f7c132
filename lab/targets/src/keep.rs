//! Programs that do not outlive us. Each runs under a keeper (`keeper`), and is followed to its end (`kept`), with a time limit
//! (`deadline`) that takes account of a busy host (`withheld`).

mod deadline;
pub mod keeper;
mod kept;
mod withheld;

pub(crate) use deadline::Deadline;
pub(crate) use kept::{End, Ended, Grace, Kept, Output, Program, read_lines};
