//! Names for a program in user mode: those of its file, and the kinds of memory around it.

use crate::image::Image;
use crate::names::Names;
use faultline_model::lens::data::{Code, Data};
use faultline_model::lens::raw::Space;
use std::rc::Rc;

/// How far after the variables of a program at a fixed address its heap is searched for.
const HEAP_BYTES: u64 = 1 << 30;

/// A program's names.
#[derive(Debug)]
pub struct ProgramNames {
    image: Rc<Image>,
    load_base: u64,
}

impl ProgramNames {
    /// Names of a program that was loaded at `load_base`: subtract it from an address to get the address in the file.
    pub fn new(image: impl Into<Rc<Image>>, load_base: u64) -> Self {
        ProgramNames { image: image.into(), load_base }
    }

    /// The address in the file; `None` if it is outside of it.
    fn in_file(&self, address: u64) -> Option<u64> {
        address.checked_sub(self.load_base).filter(|&address| address < self.image.end)
    }

    /// The beginning of the heap, if it is known: after the program, if that is at a fixed address. A program that can be loaded
    /// anywhere has its stack and libraries there.
    fn heap(&self, address: u64) -> Option<u64> {
        let from = address.checked_sub(self.image.end).filter(|_| self.image.fixed)?;
        (from < HEAP_BYTES).then_some(from)
    }
}

impl Names for ProgramNames {
    fn code(&self, address: u64) -> Option<Code> {
        self.image.code(self.in_file(address)?)
    }

    fn data(&self, address: u64, _space: Space, _contents: bool) -> Data {
        if let Some((name, offset, field)) = self.in_file(address).and_then(|address| self.image.variable(address)) {
            return Data::Symbol { name, offset, field };
        }
        match (self.in_file(address), self.heap(address)) {
            (Some(_), _) => Data::Unknown { address },
            (None, Some(offset)) => Data::Heap { offset },
            (None, None) => Data::Mapped { address },
        }
    }
}
