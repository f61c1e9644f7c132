//! The agent of a machine that is not this host: the first process of a guest, or what SSH starts on another host. What it is asked (`plan`), what it
//! answers (`frame`), and what is asked of every machine first (`inquiry`). The agent itself is C, in `guest/` next to this crate's sources.

pub(crate) mod frame;
pub(crate) mod inquiry;
mod plan;
mod program_end;
mod programs;
mod system;

pub(crate) use plan::Plan;
pub(crate) use program_end::ProgramEnd;
pub(crate) use programs::{GuestProgram, Programs};
pub(crate) use system::System;
