//! Names for the addresses of a report.

use crate::btf::TypeId;
use crate::dwarf::TypeAt;
use crate::unwind::Places;
use faultline_lens_format::{RawSample, Space};
use faultline_record::lens::callers::Frame;
use faultline_record::lens::data::{Code, Data};
use faultline_record::lens::layout::Layout;
use std::collections::BTreeSet;

/// A structure of the [`Names`] that returned it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StructureId(pub(crate) Described);

/// The description of a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Described {
    /// In a kernel's BTF.
    Kernel(TypeId),
    /// In a file's DWARF: the number of the file, and the place there.
    File(usize, TypeAt),
}

/// A place in an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InObject {
    /// The object's type.
    pub of: StructureId,
    /// Bytes from the object's beginning.
    pub offset: u64,
}

impl InObject {
    pub(crate) fn of_kernel((at, offset): (TypeId, u64)) -> Self {
        InObject { of: StructureId(Described::Kernel(at)), offset }
    }

    pub(crate) fn of_file(file: usize, (at, offset): (TypeAt, u64)) -> Self {
        InObject { of: StructureId(Described::File(file, at)), offset }
    }
}

/// The owner of a byte of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// Its name.
    pub data: Data,
    /// The object that contains the byte, if its type has members.
    pub object: Option<InObject>,
}

impl From<Data> for Located {
    fn from(data: Data) -> Self {
        Located { data, object: None }
    }
}

/// Names for the addresses of one report.
pub trait Names {
    /// The place of an instruction; `None` if unknown.
    fn code(&self, address: u64) -> Option<Code>;

    /// All functions that contain an instruction, innermost first; one without a name if unknown.
    fn frames(&self, address: u64) -> Vec<Frame>;

    /// The instructions that led to a transfer, from its own to the outermost known caller.
    fn callers(&self, sample: &RawSample) -> Places;

    /// The data that contain a byte of memory, and their type. `contents`: its page was reached
    /// through a user mapping.
    fn locate(&self, address: u64, space: Space, contents: bool) -> Located;

    /// The data that contain a byte of memory.
    fn data(&self, address: u64, space: Space, contents: bool) -> Data {
        self.locate(address, space, contents).data
    }

    /// The name and size of a structure; `None` if it has no name.
    fn structure(&self, of: StructureId) -> Option<(String, u64)>;

    /// The layout of a structure, with the members of its members that contain one of `bytes`.
    fn layout(&self, of: StructureId, bytes: &BTreeSet<u64>) -> Option<Layout>;
}
