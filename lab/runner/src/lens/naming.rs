//! The source of names for the addresses of a report.

use faultline_model::lens::memory::PhysicalMemory;
use faultline_model::lens::raw::{RawReport, Scope};
use faultline_model::lens::untyped::Untyped;
use faultline_symbols::{
    DebugDirectories, Heaps, Image, Kallsyms, KernelMemory, KernelNames, LinkedNames, Names, ProgramNames, Survey,
};
use faultline_targets::program_files::ProgramFiles;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

/// The symbols of what is counted.
#[derive(Debug)]
pub enum Naming {
    /// For a kernel.
    Kernel {
        /// The guest's symbols.
        symbols: Arc<Kallsyms>,
        /// The reader of its memory.
        memory: Arc<KernelMemory>,
        /// The kernel with debugging information, if there is one.
        vmlinux: Option<Rc<Image>>,
    },
    /// For a program.
    Program {
        /// Its files.
        images: ImagesInGuest,
        /// The guest's symbols, if its kernel is counted too.
        kernel: Option<Arc<Kallsyms>>,
    },
    /// For a machine that starts by itself.
    Machine {
        /// Its kernel and programs, at the addresses for which they were linked.
        images: Rc<[Image]>,
    },
}

/// The names in the files of a guest, each read when it is first asked for.
#[derive(Debug)]
pub struct ImagesInGuest {
    files: Arc<ProgramFiles>,
    debug: DebugDirectories,
    read: RefCell<BTreeMap<String, Option<Rc<Image>>>>,
}

impl ImagesInGuest {
    /// Of these files, and of their debug files in directories of the host.
    pub fn new(files: Arc<ProgramFiles>, debug: DebugDirectories) -> Self {
        ImagesInGuest { files, debug, read: RefCell::default() }
    }

    /// The names in a file, by its path in the guest; `None` for what is no ELF file or not among the files.
    fn image(&self, path: &str) -> Option<Rc<Image>> {
        let read = || Image::read_with_debug_file(self.files.source(path)?, &self.debug).ok().map(Rc::new);
        self.read.borrow_mut().entry(path.to_owned()).or_insert_with(read).clone()
    }
}

impl Naming {
    /// For a kernel with these symbols.
    pub fn kernel(symbols: Kallsyms, vmlinux: Option<Image>) -> Self {
        let symbols = Arc::new(symbols);
        let memory = Arc::new(KernelMemory::new(symbols.clone()));
        Naming::Kernel { symbols, memory, vmlinux: vmlinux.map(Rc::new) }
    }

    /// Whether a kernel that was counted has a type of that name; `None` if its types are not known, and for programs.
    pub fn has_type(&self, name: &str) -> Option<bool> {
        match self {
            Naming::Kernel { memory, .. } => memory.has_type(name),
            Naming::Program { .. } | Naming::Machine { .. } => None,
        }
    }

    /// What an attempt will see when its counted part ends.
    pub(crate) fn at_the_end(&self) -> AtTheEnd {
        match self {
            Naming::Kernel { memory, .. } => {
                AtTheEnd::Kernel { reader: memory.clone(), seen: Mutex::new(Err(Untyped::NotRead)) }
            }
            // Structures that the kernel allocated have no names there.
            Naming::Program { .. } => AtTheEnd::Program { seen: Mutex::default() },
            Naming::Machine { .. } => AtTheEnd::Machine,
        }
    }

    /// The names for `report`; and why a kernel's structures have none, if so.
    pub(crate) fn names(&self, report: &RawReport, end: AtTheEnd) -> (Box<dyn Names>, Option<Untyped>) {
        match self {
            Naming::Kernel { symbols, vmlinux, .. } => {
                let (survey, untyped) = match end.survey() {
                    Ok(survey) => (Some(survey), None),
                    Err(untyped) => (None, Some(untyped)),
                };
                (Box::new(KernelNames::new(symbols.clone(), vmlinux.clone(), survey, report)), untyped)
            }
            Naming::Program { images, kernel } => {
                let kernel = kernel.as_ref().map(|symbols| KernelNames::new(symbols.clone(), None, None, report));
                let heaps = end.heaps(report);
                let image = |path: &str| images.image(path);
                (Box::new(ProgramNames::new(&report.mappings, &report.generated, heaps, image, kernel)), None)
            }
            Naming::Machine { images } => (Box::new(LinkedNames::new(images.clone())), None),
        }
    }
}

/// What was seen of a guest's memory when its counted part ended.
#[derive(Debug)]
pub(crate) enum AtTheEnd {
    /// What the kernel says of itself.
    Kernel { reader: Arc<KernelMemory>, seen: Mutex<Result<Survey, Untyped>> },
    /// What a program had allocated.
    Program { seen: Mutex<Heaps> },
    /// Nothing.
    Machine,
}

impl AtTheEnd {
    /// Reads the memory. The last time counts.
    pub(crate) fn look(&self, memory: &dyn PhysicalMemory) {
        match self {
            AtTheEnd::Kernel { reader, seen } => put(seen, reader.survey(memory)),
            AtTheEnd::Program { seen } => put(seen, Heaps::read(memory)),
            AtTheEnd::Machine => {}
        }
    }

    fn survey(self) -> Result<Survey, Untyped> {
        match self {
            AtTheEnd::Kernel { seen, .. } => seen.into_inner().unwrap_or_else(PoisonError::into_inner),
            AtTheEnd::Program { .. } | AtTheEnd::Machine => Err(Untyped::NotRead),
        }
    }

    /// What the program of a report had allocated, if that is known: the memory is that of the process that ended the region. Another process has other
    /// memory at the same address, and the agent ends the region of a whole run.
    fn heaps(self, report: &RawReport) -> Heaps {
        match self {
            AtTheEnd::Program { seen } if report.forks == 0 && report.scope == Scope::Marks => {
                seen.into_inner().unwrap_or_else(PoisonError::into_inner)
            }
            _ => Heaps::default(),
        }
    }
}

fn put<T>(place: &Mutex<T>, seen: T) {
    *place.lock().unwrap_or_else(PoisonError::into_inner) = seen;
}
