//! A guest in QEMU as a target: boots a Linux kernel with an initramfs of Faultline's own for each execution (`machine`). Beside it, machines with any
//! system: kernels that start by themselves (`bare`), and disk images with their own loaders (`disk`).
//!
//! `execution` says what the guest's agent does, and what became of it.

mod bare;
mod boot;
mod clock;
mod command_line;
mod console;
mod disk;
mod disk_image;
mod emulator;
mod execution;
mod facts;
mod initramfs;
mod kernel_image;
mod machine;
mod memory;
mod network_drivers;
mod probe;
mod region_end;
mod request;
mod symbols;

pub use bare::{BareMachine, BareRequest};
pub(crate) use disk::{
    DiskMachine, Entrance, Way, arguments as disk_arguments, channel_socket, check as readable_image, console_socket,
    free_port,
};
pub use emulator::{Emulator, PROGRAM as EMULATOR_PROGRAM};
pub use execution::{GuestExecuted, GuestExecution, ProgramRun, Told};
pub use facts::EMULATOR_VERSION;
pub(crate) use facts::of_host as facts_of_host;
pub use kernel_image::{KernelImage, check_startable, is_disk};
pub use machine::QemuMachine;
pub use network_drivers::check_network_drivers;
pub use request::{GuestPaths, MachineRequest, Named};
