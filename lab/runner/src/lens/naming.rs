//! The source of names for the addresses of a report.

use faultline_record::lens::by_type::Untyped;
use faultline_record::lens::counted::{CountedReport, Mapping};
use faultline_record::lens::guest_kernel::PhysicalMemory;
use faultline_symbols::{
    DebugDirectories, Heaps, Image, Kallsyms, KernelMemory, KernelNames, LinkedNames, Names, PlacedImage, ProgramNames,
    Survey,
};
use faultline_targets::program_files::ProgramFiles;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

/// Longest instruction of x86 in bytes.
pub(super) const LONGEST_INSTRUCTION: usize = 15;

/// Symbols of the counted code.
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
        /// Its kernel and programs.
        images: Rc<[PlacedImage]>,
    },
}

/// Names in the files of a guest, each read on first use.
#[derive(Debug)]
pub struct ImagesInGuest {
    files: Arc<ProgramFiles>,
    debug: DebugDirectories,
    read: RefCell<BTreeMap<String, Option<Rc<Image>>>>,
}

impl ImagesInGuest {
    /// Names in these files, and in their debug files in directories of the host.
    pub fn new(files: Arc<ProgramFiles>, debug: DebugDirectories) -> Self {
        ImagesInGuest { files, debug, read: RefCell::default() }
    }

    /// Names in a file, by its path in the guest; `None` if it is not an ELF file or not among the
    /// files.
    fn image(&self, path: &str) -> Option<Rc<Image>> {
        let read = || Image::read_with_debug_file(self.files.source(path)?, &self.debug).ok().map(Rc::new);
        self.read.borrow_mut().entry(path.to_owned()).or_insert_with(read).clone()
    }
}

impl Naming {
    /// Names of a kernel with these symbols.
    pub fn kernel(symbols: Kallsyms, vmlinux: Option<Image>) -> Self {
        let symbols = Arc::new(symbols);
        let memory = Arc::new(KernelMemory::new(symbols.clone()));
        Naming::Kernel { symbols, memory, vmlinux: vmlinux.map(Rc::new) }
    }

    /// True if a counted kernel has a type of that name; `None` if its types are unknown, and for
    /// programs.
    pub fn has_type(&self, name: &str) -> Option<bool> {
        match self {
            Naming::Kernel { memory, .. } => memory.has_type(name),
            Naming::Program { .. } | Naming::Machine { .. } => None,
        }
    }

    /// True if a counted kernel has a variable of that name; `None` for programs.
    pub fn has_variable(&self, name: &str) -> Option<bool> {
        match self {
            Naming::Kernel { symbols, .. } => Some(symbols.has_variable(name)),
            Naming::Program { .. } | Naming::Machine { .. } => None,
        }
    }

    /// An observer of the memory at the end of the region of interest.
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

    /// Function and bytes of a program's instruction; `None` if no file of the program has it.
    pub(super) fn instruction(&self, address: u64, mappings: &[Mapping]) -> Option<(String, Vec<u8>)> {
        let Naming::Program { images, .. } = self else { return None };
        let is_there = |mapping: &&Mapping| address.checked_sub(mapping.address).is_some_and(|at| at < mapping.length);
        let mapping = mappings.iter().find(is_there)?;
        let mut bytes = [0; LONGEST_INSTRUCTION];
        let file = File::open(images.files.source(&mapping.path)?).ok()?;
        let count = file.read_at(&mut bytes, mapping.offset + (address - mapping.address)).ok()?;
        let names = ProgramNames::new(mappings, &[], Heaps::default(), |path| images.image(path), None);
        Some((names.code(address)?.function, bytes[..count].to_vec()))
    }

    /// Names for `report`, and the reason why a kernel's structures have none.
    pub(crate) fn names(&self, report: &CountedReport, end: AtTheEnd) -> (Box<dyn Names>, Option<Untyped>) {
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
                (
                    Box::new(ProgramNames::new(&report.agent.mappings, &report.agent.generated, heaps, image, kernel)),
                    None,
                )
            }
            Naming::Machine { images } => (Box::new(LinkedNames::new(images.clone())), None),
        }
    }
}

/// Content of a guest's memory at the end of the region of interest.
#[derive(Debug)]
pub(crate) enum AtTheEnd {
    /// The kernel's data about its allocations.
    Kernel { reader: Arc<KernelMemory>, seen: Mutex<Result<Survey, Untyped>> },
    /// Allocations of a program.
    Program { seen: Mutex<Heaps> },
    /// Nothing.
    Machine,
}

impl AtTheEnd {
    /// Reads the memory. The last reading counts.
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

    /// Allocations of a report's program, if known: the memory is that of the counted process that
    /// ended the region. Another process has other memory at the same address. If the agent or a
    /// process that is not counted ended the region, no memory was read.
    fn heaps(self, report: &CountedReport) -> Heaps {
        match self {
            AtTheEnd::Program { seen } if is_of_one_process(report) => {
                seen.into_inner().unwrap_or_else(PoisonError::into_inner)
            }
            _ => Heaps::default(),
        }
    }
}

/// True if the counts are those of one process.
fn is_of_one_process(report: &CountedReport) -> bool {
    let counted = report.counts.processes.iter().filter(|of| of.is_counted);
    report.agent.forks == 0 || counted.map(|of| of.processes).sum::<u64>() == 1
}

fn put<T>(place: &Mutex<T>, seen: T) {
    *place.lock().unwrap_or_else(PoisonError::into_inner) = seen;
}
