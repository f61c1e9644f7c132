//! Names for the addresses that the lens reports: functions with their source lines, variables with their members.
//!
//! Names come from a program's file and its debug file, or from a kernel's own table (`/proc/kallsyms`) and its `vmlinux`, given as bytes or read
//! from a file. Nothing is executed, and no address is looked up in a running process. `stats` interprets the
//! counts.

mod artefact;
mod by_type;
mod callers;
mod debug_file;
mod demangle;
mod error;
mod generated;
mod heaps;
mod image;
mod kallsyms;
mod kernel;
mod kernel_image;
mod kernel_layout;
mod kernel_memory;
mod kernel_types;
mod layout;
mod layouts;
mod link_inputs;
mod linked;
mod names;
mod page_tables;
mod program;
mod reading;
mod table;
mod types;
mod unwind;
#[cfg(test)]
mod written_btf;

pub use artefact::Artefact;
pub use debug_file::DebugDirectories;
pub use error::SymbolError;
pub use heaps::Heaps;
pub use image::Image;
pub use kallsyms::Kallsyms;
pub use kernel::KernelNames;
pub use kernel_image::unpacked as unpacked_kernel;
pub use kernel_memory::{KernelMemory, Survey};
pub use kernel_types::KernelTypes;
pub use link_inputs::{LinkInput, link_inputs};
pub use linked::LinkedNames;
pub use names::{InObject, Located, Names, StructureId};
pub use program::ProgramNames;
pub use reading::name_reading;
pub use unwind::Places;
