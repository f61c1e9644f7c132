//! Names for a program: from its own file, its libraries, other programs that it starts, the code
//! that it generates, and the kernel if it was counted too. Also names for a machine of which only
//! ELF files are known.

use crate::address_space::KERNEL_FROM;
use crate::dwarf::TypeAt;
use crate::generated::Generated;
use crate::heaps::{Heaps, InHeap};
use crate::image::Image;
use crate::kernel::KernelNames;
use crate::names::{Described, Located, Names, StructureId};
use crate::unwind::{Caller, Piece, Places, State, places};
use faultline_lens_format::{RawSample, Space};
use faultline_record::lens::callers::Frame;
use faultline_record::lens::counted::{GeneratedCode, Mapping};
use faultline_record::lens::data::{Code, Data};
use faultline_record::lens::layout::Layout;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Size of the range after the program's variables that is taken for its heap: Linux puts the heap
/// within 32 MiB of them, and libraries far away.
const HEAP_BYTES: u64 = 1 << 30;

/// A program's names.
#[derive(Debug)]
pub struct ProgramNames {
    /// Files in the order of mapping; the program's own file first.
    modules: Vec<Module>,
    generated: Generated,
    heaps: Heaps,
    kernel: Option<KernelNames>,
}

/// A file in the memory of a process.
#[derive(Debug)]
struct Module {
    /// The file's name without directories.
    name: String,
    image: Rc<Image>,
    base: u64,
    /// The program's own file.
    is_program: bool,
}

impl Module {
    fn in_file(&self, address: u64) -> Option<u64> {
        address.checked_sub(self.base).filter(|&address| address < self.image.end)
    }
}

impl ProgramNames {
    /// Names from the mappings and generated code of processes, and from the program's heaps.
    /// `image` returns the names in a file of the guest; files without names are left out.
    pub fn new(
        mappings: &[Mapping],
        generated: &[GeneratedCode],
        heaps: Heaps,
        mut image: impl FnMut(&str) -> Option<Rc<Image>>,
        kernel: Option<KernelNames>,
    ) -> Self {
        let program = mappings.first().map(|mapping| mapping.path.as_str());
        let mut modules: Vec<Module> = Vec::new();
        for mapping in mappings {
            let Some(image) = image(&mapping.path) else { continue };
            let Some(base) = image.load_base(mapping.address, mapping.offset) else { continue };
            if !modules.iter().any(|module| module.base == base && Rc::ptr_eq(&module.image, &image)) {
                let name = mapping.path.rsplit('/').next().unwrap_or_default().to_owned();
                modules.push(Module { name, image, base, is_program: Some(mapping.path.as_str()) == program });
            }
        }
        modules.sort_by_key(|module| !module.is_program);
        ProgramNames { modules, generated: Generated::new(generated), heaps, kernel }
    }

    /// The number of the file at an address, the file, and the address in it. Processes that run
    /// different programs rarely have files at the same address; the program's own file comes
    /// first.
    fn module(&self, address: u64) -> Option<(usize, &Module, u64)> {
        self.modules.iter().enumerate().find_map(|(number, module)| Some((number, module, module.in_file(address)?)))
    }

    fn caller(&self, state: &State, piece: &Piece<'_>) -> Caller {
        let Some((_, module, _)) = self.module(state.place()) else { return Caller::Unknown };
        let Some(tables) = &module.image.unwinding else { return Caller::Unknown };
        tables.caller(state, module.base, piece)
    }

    /// A program's memory at an address outside of files.
    fn outside_files(&self, address: u64) -> Data {
        match (self.heaps.find(address), self.heap(address)) {
            (Some(InHeap { arena, address: begin, bytes }), _) => {
                Data::Allocation { arena, address: begin, bytes, offset: address - begin }
            }
            (None, Some(offset)) => Data::Heap { offset },
            (None, None) => Data::Mapped { address },
        }
    }

    /// Distance from the end of the program's variables, if the address is in its heap.
    fn heap(&self, address: u64) -> Option<u64> {
        let of_program = self.modules.iter().filter(|module| module.is_program);
        let from = |module: &Module| address.checked_sub(module.base.wrapping_add(module.image.end));
        of_program.filter_map(from).find(|&from| from < HEAP_BYTES)
    }
}

impl Names for ProgramNames {
    fn code(&self, address: u64) -> Option<Code> {
        if address >= KERNEL_FROM {
            return self.kernel.as_ref()?.code(address);
        }
        let Some((_, module, offset)) = self.module(address) else { return self.generated.code(address) };
        // In a stripped library only exported functions have names.
        let unnamed = || Code {
            function: format!("[{}]", module.name),
            offset,
            inlined_into: None,
            between: Vec::new(),
            file: None,
            line: None,
            own: None,
        };
        Some(module.image.code(offset).unwrap_or_else(unnamed))
    }

    fn frames(&self, address: u64) -> Vec<Frame> {
        let unknown = |function| vec![Frame { function, source: None, is_inlined: false }];
        if address >= KERNEL_FROM {
            return self.kernel.as_ref().map_or_else(|| unknown(None), |kernel| kernel.frames(address));
        }
        let Some((_, module, in_file)) = self.module(address) else { return unknown(None) };
        let functions = module.image.functions(in_file);
        if functions.is_empty() { unknown(Some(format!("[{}]", module.name))) } else { functions }
    }

    fn callers(&self, sample: &RawSample) -> Places {
        match &self.kernel {
            Some(kernel) if sample.site >= KERNEL_FROM => kernel.callers(sample),
            _ => places(sample, |state, piece| self.caller(state, piece)),
        }
    }

    fn locate(&self, address: u64, space: Space, contents: bool) -> Located {
        if address >= KERNEL_FROM || space == Space::Physical {
            let unknown = || Located::from(Data::Unknown { address });
            return self.kernel.as_ref().map_or_else(unknown, |kernel| kernel.locate(address, space, contents));
        }
        match self.module(address) {
            Some((number, module, in_file)) => match module.image.variable(in_file) {
                Some(variable) => variable.located(number),
                None => Data::Unknown { address }.into(),
            },
            None => self.outside_files(address).into(),
        }
    }

    fn structure(&self, of: StructureId) -> Option<(String, u64)> {
        match of.0 {
            Described::File(number, at) => self.modules.get(number)?.image.structure(at),
            Described::Kernel(_) => self.kernel.as_ref()?.structure(of),
        }
    }

    fn layout(&self, of: StructureId, bytes: &BTreeSet<u64>) -> Option<Layout> {
        match of.0 {
            Described::File(number, at) => self.modules.get(number)?.image.layout(at, bytes),
            Described::Kernel(_) => self.kernel.as_ref()?.layout(of, bytes),
        }
    }
}

/// An ELF file in a machine's memory.
#[derive(Debug)]
pub struct PlacedImage {
    /// The names in the file.
    pub image: Image,
    /// Difference between addresses in memory and in the file; wraps at 2⁶⁴.
    pub offset: u64,
}

impl PlacedImage {
    fn in_file(&self, address: u64) -> u64 {
        address.wrapping_sub(self.offset)
    }
}

/// The names in ELF files, for a machine of which nothing else is known. If several files have a
/// name for an address, the first one is taken.
#[derive(Debug)]
pub struct LinkedNames {
    images: Rc<[PlacedImage]>,
}

impl LinkedNames {
    /// The names in these files.
    pub fn new(images: Rc<[PlacedImage]>) -> Self {
        LinkedNames { images }
    }

    fn image(&self, of: StructureId) -> Option<(&Image, TypeAt)> {
        match of.0 {
            Described::File(number, at) => Some((&self.images.get(number)?.image, at)),
            Described::Kernel(_) => None,
        }
    }

    /// The caller, by the first file that has a table for the instruction.
    fn caller(&self, state: &State, piece: &Piece<'_>) -> Caller {
        let tables = self.images.iter().filter_map(|placed| Some((placed.image.unwinding.as_ref()?, placed.offset)));
        let mut callers = tables.map(|(tables, offset)| tables.caller(state, offset, piece));
        callers.find(|caller| *caller != Caller::Unknown).unwrap_or(Caller::Unknown)
    }
}

impl Names for LinkedNames {
    fn code(&self, address: u64) -> Option<Code> {
        self.images.iter().find_map(|placed| placed.image.code(placed.in_file(address)))
    }

    fn frames(&self, address: u64) -> Vec<Frame> {
        let mut functions = self.images.iter().map(|placed| placed.image.functions(placed.in_file(address)));
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
        let located = |(number, placed): (usize, &PlacedImage)| {
            Some(placed.image.variable(placed.in_file(address))?.located(number))
        };
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
