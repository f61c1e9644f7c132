//! Names for a machine of which nothing is known but ELF files: its kernel and its programs, at the addresses for which they were linked.

use crate::image::Image;
use crate::names::{Described, Located, Names, StructureId};
use crate::types::TypeAt;
use crate::unwind::{Caller, Piece, Places, State, places};
use faultline_model::lens::callers::Frame;
use faultline_model::lens::data::{Code, Data};
use faultline_model::lens::layout::Layout;
use faultline_model::lens::raw::{RawSample, Space};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The names in files. If several have a name for an address, the first one's is taken.
#[derive(Debug)]
pub struct LinkedNames {
    images: Rc<[Image]>,
}

impl LinkedNames {
    /// The names in these files.
    pub fn new(images: Rc<[Image]>) -> Self {
        LinkedNames { images }
    }

    fn image(&self, of: StructureId) -> Option<(&Image, TypeAt)> {
        match of.0 {
            Described::File(number, at) => Some((self.images.get(number)?, at)),
            Described::Kernel(_) => None,
        }
    }

    /// By the first file that has a table for the instruction.
    fn caller(&self, state: &State, piece: &Piece<'_>) -> Caller {
        let tables = self.images.iter().filter_map(|image| image.unwinding.as_ref());
        let mut callers = tables.map(|tables| tables.caller(state, 0, piece));
        callers.find(|caller| *caller != Caller::Unknown).unwrap_or(Caller::Unknown)
    }
}

impl Names for LinkedNames {
    fn code(&self, address: u64) -> Option<Code> {
        self.images.iter().find_map(|image| image.code(address))
    }

    fn frames(&self, address: u64) -> Vec<Frame> {
        let mut functions = self.images.iter().map(|image| image.functions(address));
        let unknown = || vec![Frame { function: None, source: None, is_inlined: false }];
        functions.find(|functions| !functions.is_empty()).unwrap_or_else(unknown)
    }

    fn callers(&self, sample: &RawSample) -> Places {
        places(sample, |state, piece| self.caller(state, piece))
    }

    fn locate(&self, address: u64, space: Space, _contents: bool) -> Located {
        let unknown = || Data::Unknown { address }.into();
        if space == Space::Physical {
            return unknown();
        }
        let located = |(number, image): (usize, &Image)| Some(image.variable(address)?.located(number));
        self.images.iter().enumerate().find_map(located).unwrap_or_else(unknown)
    }

    fn structure(&self, of: StructureId) -> Option<(String, u64)> {
        let (image, at) = self.image(of)?;
        image.structure(at)
    }

    fn layout(&self, of: StructureId, bytes: &BTreeSet<u64>) -> Option<Layout> {
        let (image, at) = self.image(of)?;
        image.layout(at, bytes)
    }
}
