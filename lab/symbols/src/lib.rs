//! Names for the addresses that the lens reports: functions with their source lines, variables with
//! their members.
//!
//! Names come from a program's file and its debug file, or from a kernel's symbol table
//! (`/proc/kallsyms`) and its `vmlinux`, given as bytes or read from a file. Nothing is executed,
//! and no address is looked up in a running process. `stats` interprets the counts.

mod address_space;
mod artefact;
mod btf;
mod by_object;
mod by_type;
mod debug_file;
mod dwarf;
mod function_code;
mod generated;
mod heaps;
mod image;
mod kallsyms;
mod kernel;
mod kernel_image;
mod kernel_memory;
mod layout;
mod library;
mod names;
mod program;
mod reading;
mod table;
mod unwind;
#[cfg(test)]
mod written_btf;

pub use artefact::{Artefact, LinkInput, link_inputs};
pub use debug_file::DebugDirectories;
pub use function_code::FunctionCode;
pub use heaps::Heaps;
pub use image::Image;
pub use kallsyms::Kallsyms;
pub use kernel::KernelNames;
pub use kernel_image::{KernelTypes, unpacked as unpacked_kernel};
pub use kernel_memory::{KernelMemory, Survey};
pub use names::{InObject, Located, Names, StructureId};
pub use program::{LinkedNames, PlacedImage, ProgramNames};
pub use reading::name_reading;
pub use table::SymbolError;
pub use unwind::Places;
