//! The agent on a machine other than this host: the first process of a guest, or a process that SSH
//! starts on another host. Its commands (`plan`), its answers (`frame`), and the first questions to
//! every machine (`inquiry`). The agent itself is C, in `guest/` next to this crate's sources.

pub(crate) mod frame;
pub(crate) mod inquiry;
mod programs;
mod system;

pub(crate) use frame::{Plan, ProgramEnd};
pub(crate) use programs::{GuestProgram, Programs};
pub(crate) use system::System;
