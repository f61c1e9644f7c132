//! Names for a kernel: those of its own table, types and members of what it allocated, members and source lines of a
//! `vmlinux` if given, per-CPU variables, and the kinds of memory that have no name.

use crate::image::Image;
use crate::kallsyms::Kallsyms;
use crate::kernel_layout::{IMAGE_FROM, KERNEL_FROM, PAGE_BYTES, Regions, STRUCT_PAGE_BYTES, regions};
use crate::kernel_memory::{FrameUse, Survey};
use crate::names::Names;
use crate::table::Kind;
use faultline_model::lens::data::{Code, Data};
use faultline_model::lens::raw::{RawReport, Space};
use std::rc::Rc;
use std::sync::Arc;

/// A kernel's names.
#[derive(Debug)]
pub struct KernelNames {
    symbols: Arc<Kallsyms>,
    vmlinux: Option<Rc<Image>>,
    /// Its memory at the end of the counted part.
    survey: Option<Survey>,
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
    /// Names for a report, from the symbols of the kernel that ran, and if given from its memory at the end, and from the
    /// `vmlinux` of that kernel.
    pub fn new(
        symbols: impl Into<Arc<Kallsyms>>,
        vmlinux: Option<Rc<Image>>,
        survey: Option<Survey>,
        report: &RawReport,
    ) -> Self {
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
            survey,
        }
    }

    /// The per-CPU variable at a virtual address.
    fn per_cpu(&self, address: u64) -> Option<Data> {
        let within = |&(cpu, base): &(u32, u64)| {
            let offset = address.wrapping_sub(base.wrapping_add(self.area_from));
            (offset < self.area_bytes).then_some((cpu, offset))
        };
        let Some((cpu, offset)) = self.areas.iter().find_map(within) else { return self.per_cpu_elsewhere(address) };
        let variable = self.area_from + offset;
        let named = (variable < self.area_named_to).then(|| self.variable(variable)).flatten();
        Some(match named {
            Some((name, offset, field)) => Data::PerCpu { cpu, symbol: Some(name), offset, field },
            None => {
                self.per_cpu_object(cpu, variable).unwrap_or(Data::PerCpu { cpu, symbol: None, offset, field: None })
            }
        })
    }

    /// A structure of which each CPU has its own, by the address without the CPU's offset.
    fn per_cpu_object(&self, cpu: u32, address: u64) -> Option<Data> {
        let survey = self.survey.as_ref()?;
        let (at, offset) = survey.per_cpu.find(address)?;
        let (name, field) = survey.member(at, offset)?;
        Some(Data::PerCpu { cpu, symbol: Some(name), offset, field })
    }

    /// The same outside of the CPUs' first areas, where those are that did not fit.
    fn per_cpu_elsewhere(&self, address: u64) -> Option<Data> {
        self.areas.iter().find_map(|&(cpu, base)| self.per_cpu_object(cpu, address.wrapping_sub(base)))
    }

    /// The variable at an address of the kernel's image, or of a CPU's area, which does not slide.
    fn variable(&self, address: u64) -> Option<(String, u64, Option<String>)> {
        let slide = if address >= IMAGE_FROM { self.slide } else { 0 };
        let by_file = self.vmlinux.as_ref().and_then(|file| file.variable(address.wrapping_sub(slide)));
        by_file.or_else(|| {
            let (symbol, offset) = self.symbols.table.find(address, Kind::Data)?;
            Some((symbol.name.clone(), offset, self.member_of_variable(&symbol.name, offset)))
        })
    }

    /// The member at a byte of a variable, if the kernel itself describes its type.
    fn member_of_variable(&self, name: &str, offset: u64) -> Option<String> {
        let layouts = &self.survey.as_ref()?.layouts;
        layouts.variable(name).and_then(|at| layouts.path(at, offset))
    }

    /// A structure that was found by the pointers to it.
    fn placed(&self, address: u64) -> Option<Data> {
        let survey = self.survey.as_ref()?;
        let (at, offset) = survey.placed.find(address)?;
        let (of, field) = survey.member(at, offset)?;
        Some(Data::Object { of, address: address - offset, offset, field })
    }

    /// What a survey knows of a physical address.
    fn surveyed(&self, physical: u64) -> Option<Data> {
        let survey = self.survey.as_ref()?;
        let (frame, in_page) = (physical / PAGE_BYTES, physical % PAGE_BYTES);
        match survey.frame(physical) {
            FrameUse::Slab { .. } => {
                let slot = survey.slot(physical)?;
                let (offset, address) = (physical - slot.begin, slot.begin);
                let member = slot.cache.object.and_then(|at| survey.member(at, offset));
                let Some((of, field)) = member else {
                    let by_pointer = self.placed(survey.direct_map.wrapping_add(physical));
                    let cache = slot.cache.name.clone();
                    return Some(by_pointer.unwrap_or(Data::Allocated { cache, address, offset }));
                };
                Some(Data::Object { of, address, offset, field })
            }
            FrameUse::PageTable => Some(Data::PageTable { frame, offset: in_page }),
            FrameUse::Contents => Some(Data::Page { frame, offset: in_page, contents: true }),
            FrameUse::Free => Some(Data::FreePage { frame, offset: in_page }),
            FrameUse::Other => self.placed(survey.direct_map.wrapping_add(physical)),
        }
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
            Some(regions) if regions.vmalloc.contains(&address) => {
                self.stack(address).or_else(|| self.placed(address)).unwrap_or(Data::Vmalloc { address })
            }
            _ => Data::Unknown { address },
        }
    }

    fn stack(&self, address: u64) -> Option<Data> {
        let (task, offset) = self.survey.as_ref()?.stack(address)?;
        Some(Data::TaskStack { task: task.to_owned(), offset })
    }

    fn struct_page(&self, from: u64) -> Data {
        let bytes = self.survey.as_ref().map_or(STRUCT_PAGE_BYTES, |survey| survey.record_bytes);
        let (frame, offset) = (from / bytes, from % bytes);
        let by_file = self.vmlinux.as_ref().and_then(|file| file.types.page_member(offset));
        let field = by_file.or_else(|| self.survey.as_ref()?.page_member(frame, offset));
        Data::StructPage { frame, offset, field }
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
                // The kernel gives back what it does not need of a CPU's area, and uses it for other things.
                let is_given_back = self.survey.as_ref().is_some_and(|survey| survey.frame(address) != FrameUse::Other);
                let may_be_cpus = !contents && !is_given_back;
                let of_cpu = mapped.filter(|_| may_be_cpus).and_then(|address| self.per_cpu(address));
                of_cpu.or_else(|| self.surveyed(address).filter(|_| !contents)).unwrap_or(page)
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
