//! A guest in QEMU as a target: boots a Linux kernel with an initramfs of Faultline's own for each execution (`machine`). Beside it, machines with any
//! system (`bare`).
//!
//! `execution` says what the guest's agent does, and what became of it.

mod bare;
mod boot;
mod clock;
mod command_line;
mod console;
mod emulator;
mod execution;
mod facts;
mod initramfs;
mod kernel_image;
mod machine;
mod memory;
mod probe;
mod region_end;
mod request;
mod symbols;

pub use bare::{BareMachine, BareRequest};
pub use emulator::{Emulator, PROGRAM as EMULATOR_PROGRAM};
pub use execution::{GuestExecuted, GuestExecution, ProgramRun, Told};
pub use facts::EMULATOR_VERSION;
pub use kernel_image::{KernelImage, check_startable};
pub use machine::QemuMachine;
pub use request::{GuestPaths, MachineRequest, Named};
