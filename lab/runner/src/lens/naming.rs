//! The source of names for the addresses of a report.

use faultline_model::lens::raw::RawReport;
use faultline_symbols::{GuestProgramNames, Image, Kallsyms, KernelNames, Names, ProgramNames};
use faultline_targets::program_files::ProgramFiles;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The symbols of what is counted.
#[derive(Debug)]
pub enum Naming {
    /// For a kernel.
    Kernel {
        /// The guest's symbols.
        symbols: Rc<Kallsyms>,
        /// The kernel with debugging information, if there is one.
        vmlinux: Option<Rc<Image>>,
    },
    /// For a program.
    Program {
        /// Its file.
        image: Rc<Image>,
    },
    /// For a program in a guest.
    ProgramInGuest {
        /// Its files.
        images: ImagesInGuest,
        /// The guest's symbols, if its kernel is counted too.
        kernel: Option<Rc<Kallsyms>>,
    },
}

/// The names in the files of a guest, each read when it is first asked for.
#[derive(Debug)]
pub struct ImagesInGuest {
    files: Rc<ProgramFiles>,
    read: RefCell<BTreeMap<String, Option<Rc<Image>>>>,
}

impl ImagesInGuest {
    /// Of these files.
    pub fn new(files: Rc<ProgramFiles>) -> Self {
        ImagesInGuest { files, read: RefCell::default() }
    }

    /// The names in a file, by its path in the guest; `None` for what is no ELF file or not among the files.
    fn image(&self, path: &str) -> Option<Rc<Image>> {
        let read = || Image::read(self.files.source(path)?).ok().map(Rc::new);
        self.read.borrow_mut().entry(path.to_owned()).or_insert_with(read).clone()
    }
}

impl Naming {
    /// The names for `report`, which contains the load addresses.
    pub(crate) fn names(&self, report: &RawReport) -> Box<dyn Names> {
        match self {
            Naming::Kernel { symbols, vmlinux } => Box::new(KernelNames::new(symbols.clone(), vmlinux.clone(), report)),
            Naming::ProgramInGuest { images, kernel } => {
                let kernel = kernel.as_ref().map(|symbols| KernelNames::new(symbols.clone(), None, report));
                Box::new(GuestProgramNames::new(&report.mappings, |path| images.image(path), kernel))
            }
            Naming::Program { image } => {
                let load_base = report.program.as_ref().and_then(|program| program.load_base).unwrap_or(0);
                Box::new(ProgramNames::new(image.clone(), load_base))
            }
        }
    }
}
