//! Names for a kernel: those of its own table, members and source lines of a `vmlinux` if given, per-CPU variables,
//! and the kinds of memory that have no name.

use crate::image::Image;
use crate::kallsyms::Kallsyms;
use crate::kernel_layout::{IMAGE_FROM, KERNEL_FROM, PAGE_BYTES, Regions, STRUCT_PAGE_BYTES, regions};
use crate::names::Names;
use crate::table::Kind;
use faultline_model::lens::data::{Code, Data};
use faultline_model::lens::raw::{RawReport, Space};
use std::rc::Rc;

/// A kernel's names.
#[derive(Debug)]
pub struct KernelNames {
    symbols: Rc<Kallsyms>,
    vmlinux: Option<Rc<Image>>,
    /// Subtract it from an address of the image to get the address in `vmlinux`.
    slide: u64,
    direct_map: Option<u64>,
    regions: Option<Regions>,
    /// Each CPU's number and the address of its variables.
    areas: Vec<(u32, u64)>,
    /// Number of bytes of a CPU's area.
    area_bytes: u64,
    /// Address of the first per-CPU variable in the table.
    area_from: u64,
    /// Address where the named per-CPU variables end.
    area_named_to: u64,
}

impl KernelNames {
    /// Names for a report, from the symbols of the kernel that ran, and from the `vmlinux` of that kernel if given.
    pub fn new(symbols: impl Into<Rc<Kallsyms>>, vmlinux: Option<Rc<Image>>, report: &RawReport) -> Self {
        let symbols = symbols.into();
        let areas: Vec<(u32, u64)> =
            report.cpus.iter().filter_map(|cpu| Some((cpu.cpu, cpu.per_cpu_base.filter(|&base| base != 0)?))).collect();
        let table = &symbols.table;
        let area_from = table.address_of("__per_cpu_start").unwrap_or(0);
        let area_named_to = table.address_of("__per_cpu_end").unwrap_or(area_from);
        KernelNames {
            slide: slide(&symbols, vmlinux.as_deref()),
            direct_map: report.direct_map,
            regions: report.direct_map.and_then(regions),
            area_bytes: area_bytes(&areas).unwrap_or(area_named_to - area_from.min(area_named_to)),
            areas,
            area_from,
            area_named_to,
            symbols,
            vmlinux,
        }
    }

    /// The per-CPU variable at a virtual address.
    fn per_cpu(&self, address: u64) -> Option<Data> {
        let within = |&(cpu, base): &(u32, u64)| {
            let offset = address.wrapping_sub(base.wrapping_add(self.area_from));
            (offset < self.area_bytes).then_some((cpu, offset))
        };
        let (cpu, offset) = self.areas.iter().find_map(within)?;
        let variable = self.area_from + offset;
        let named = (variable < self.area_named_to).then(|| self.variable(variable)).flatten();
        Some(match named {
            Some((name, offset, field)) => Data::PerCpu { cpu, symbol: Some(name), offset, field },
            None => Data::PerCpu { cpu, symbol: None, offset, field: None },
        })
    }

    /// The variable at an address of the kernel's image, or of a CPU's area, which does not slide.
    fn variable(&self, address: u64) -> Option<(String, u64, Option<String>)> {
        let slide = if address >= IMAGE_FROM { self.slide } else { 0 };
        let by_file = self.vmlinux.as_ref().and_then(|file| file.variable(address.wrapping_sub(slide)));
        by_file.or_else(|| {
            let (symbol, offset) = self.symbols.table.find(address, Kind::Data)?;
            Some((symbol.name.clone(), offset, None))
        })
    }

    fn virtual_data(&self, address: u64) -> Data {
        if let Some(data) = self.per_cpu(address) {
            return data;
        }
        if address >= IMAGE_FROM {
            return match self.variable(address) {
                Some((name, offset, field)) => Data::Symbol { name, offset, field },
                None => Data::Unknown { address },
            };
        }
        match &self.regions {
            Some(regions) if regions.pages.contains(&address) => self.struct_page(address - regions.pages.start),
            Some(regions) if regions.vmalloc.contains(&address) => Data::Vmalloc { address },
            _ => Data::Unknown { address },
        }
    }

    fn struct_page(&self, from: u64) -> Data {
        let offset = from % STRUCT_PAGE_BYTES;
        let field = self.vmlinux.as_ref().and_then(|file| file.types.page_member(offset));
        Data::StructPage { frame: from / STRUCT_PAGE_BYTES, offset, field }
    }
}

impl Names for KernelNames {
    fn code(&self, address: u64) -> Option<Code> {
        if address < KERNEL_FROM {
            return None;
        }
        let by_file = self.vmlinux.as_ref().and_then(|file| file.code(address.wrapping_sub(self.slide)));
        by_file.or_else(|| {
            let (symbol, offset) = self.symbols.table.find(address, Kind::Code)?;
            Some(Code { function: symbol.name.clone(), offset, inlined_into: None, file: None, line: None })
        })
    }

    fn data(&self, address: u64, space: Space, contents: bool) -> Data {
        match space {
            Space::Virtual => self.virtual_data(address),
            Space::Physical => {
                let mapped = self.direct_map.map(|direct_map| direct_map.wrapping_add(address));
                let page = Data::Page { frame: address / PAGE_BYTES, offset: address % PAGE_BYTES, contents };
                mapped.filter(|_| !contents).and_then(|address| self.per_cpu(address)).unwrap_or(page)
            }
        }
    }
}

/// How far the running kernel was moved from the addresses in its file.
fn slide(symbols: &Kallsyms, vmlinux: Option<&Image>) -> u64 {
    let anchor = "_stext";
    let (ran, built) = (symbols.table.address_of(anchor), vmlinux.and_then(|file| file.table.address_of(anchor)));
    ran.zip(built).map_or(0, |(ran, built)| ran.wrapping_sub(built))
}

/// Number of bytes of a CPU's area: the smallest distance between two of them. `None` for fewer than two.
fn area_bytes(areas: &[(u32, u64)]) -> Option<u64> {
    let mut bases: Vec<u64> = areas.iter().map(|&(_, base)| base).collect();
    bases.sort_unstable();
    bases.windows(2).map(|pair| pair[1] - pair[0]).filter(|&distance| distance > 0).min()
}
