//! Machines in QEMU. A guest (`machine`) boots a Linux kernel with an initramfs of Faultline's own
//! for each execution. Other machines run any system: kernels that start by themselves (`bare`),
//! and disk images with their own loaders (`disk`).
//!
//! `execution` has the commands for the guest's agent, and the results.

mod bare;
mod boot;
mod command_line;
mod console;
mod disk;
mod emulator;
mod execution;
mod initramfs;
mod kernel_image;
mod machine;
mod memory;
mod multiboot;
mod probe;
mod symbols;

pub use bare::{BareMachine, BareRequest};
pub(crate) use disk::{
    DiskMachine, Entrance, Way, arguments as disk_arguments, channel_socket, check as readable_image, console_socket,
    free_port,
};
pub use emulator::EMULATOR_VERSION;
pub(crate) use emulator::of_host as facts_of_host;
pub use emulator::{Emulator, PROGRAM as EMULATOR_PROGRAM};
pub use execution::{GuestExecuted, GuestExecution, ProgramRun, RunScope, Told};
pub use initramfs::check_network_drivers;
pub use kernel_image::{GuestPaths, MachineRequest, Named};
pub use kernel_image::{KernelImage, check_startable, is_disk};
pub use machine::QemuMachine;
