//! What gives names to the addresses of a report.

use crate::layouts::TypeId;
use crate::types::TypeAt;
use crate::unwind::Places;
use faultline_model::lens::callers::Frame;
use faultline_model::lens::data::{Code, Data};
use faultline_model::lens::layout::Layout;
use faultline_model::lens::raw::{RawSample, Space};
use std::collections::BTreeSet;

/// A structure of the [`Names`] that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StructureId(pub(crate) Described);

/// Where a structure is described.
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

/// What a byte of memory belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// Its name.
    pub data: Data,
    /// The object that contains it, if it is one whose type has members.
    pub object: Option<InObject>,
}

impl From<Data> for Located {
    fn from(data: Data) -> Self {
        Located { data, object: None }
    }
}

/// Names for the addresses of one report.
pub trait Names {
    /// The place of an instruction; `None` if nothing is known about it.
    fn code(&self, address: u64) -> Option<Code>;

    /// All functions that contain an instruction, the innermost first; one without a name if nothing is known about it.
    fn frames(&self, address: u64) -> Vec<Frame>;

    /// The instructions by which a transfer came about, from the one that caused it to the outermost caller that is known.
    fn callers(&self, sample: &RawSample) -> Places;

    /// The data that contain a byte of memory, and their type. `contents`: its page was reached through a user mapping.
    fn locate(&self, address: u64, space: Space, contents: bool) -> Located;

    /// The data alone.
    fn data(&self, address: u64, space: Space, contents: bool) -> Data {
        self.locate(address, space, contents).data
    }

    /// The name of a structure and its bytes; `None` if it has none.
    fn structure(&self, of: StructureId) -> Option<(String, u64)>;

    /// The layout of a structure, with the members of its members that contain one of `bytes`.
    fn layout(&self, of: StructureId, bytes: &BTreeSet<u64>) -> Option<Layout>;
}
