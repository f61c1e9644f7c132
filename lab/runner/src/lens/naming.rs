//! The source of names for the addresses of a report.

use faultline_model::lens::raw::RawReport;
use faultline_symbols::{Image, Kallsyms, KernelNames, Names, ProgramNames};
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
}

impl Naming {
    /// The names for `report`, which contains the load addresses.
    pub(crate) fn names(&self, report: &RawReport) -> Box<dyn Names> {
        match self {
            Naming::Kernel { symbols, vmlinux } => Box::new(KernelNames::new(symbols.clone(), vmlinux.clone(), report)),
            Naming::Program { image } => {
                let load_base = report.program.as_ref().and_then(|program| program.load_base).unwrap_or(0);
                Box::new(ProgramNames::new(image.clone(), load_base))
            }
        }
    }
}
