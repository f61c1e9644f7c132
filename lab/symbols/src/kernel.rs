//! Names for a kernel: from its own symbol table, its memory (types and members of allocated
//! objects) and a `vmlinux` if given (members and source lines); per-CPU variables; and the kinds
//! of memory without a name.

use crate::address_space::{IMAGE_FROM, KERNEL_FROM, PAGE_BYTES, Regions, STRUCT_PAGE_BYTES, regions};
use crate::image::{self, Image};
use crate::kallsyms::Kallsyms;
use crate::kernel_memory::{FrameUse, Survey};
use crate::layout::{layout, structure_at, structure_name};
use crate::names::{Described, InObject, Located, Names, StructureId};
use crate::table::Kind;
use crate::unwind::{Places, places};
use faultline_lens_format::{RawSample, Space};
use faultline_record::lens::callers::Frame;
use faultline_record::lens::counted::CountedReport;
use faultline_record::lens::data::{Code, Data};
use faultline_record::lens::layout::Layout;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// The number of the only file.
const VMLINUX: usize = 0;

/// A kernel's names.
#[derive(Debug)]
pub struct KernelNames {
    symbols: Arc<Kallsyms>,
    vmlinux: Option<Rc<Image>>,
    /// Its memory at the end of the counted part.
    survey: Option<Survey>,
    /// Difference between addresses of the running image and in `vmlinux`.
    slide: u64,
    direct_map: Option<u64>,
    regions: Option<Regions>,
    /// Each CPU's number and the address of its variables.
    areas: Vec<(u32, u64)>,
    /// Size of a CPU's area.
    area_bytes: u64,
    /// Address of the first per-CPU variable in the table.
    area_from: u64,
    /// End address of the named per-CPU variables.
    area_named_to: u64,
}

impl KernelNames {
    /// Names for a report, from the symbols of the running kernel, and if given from its memory at
    /// the end and its `vmlinux`.
    pub fn new(
        symbols: impl Into<Arc<Kallsyms>>,
        vmlinux: Option<Rc<Image>>,
        survey: Option<Survey>,
        report: &CountedReport,
    ) -> Self {
        let symbols = symbols.into();
        let areas =
            (0..).zip(report.agent.per_cpu_bases.iter().copied()).filter(|&(_, base)| base != 0).collect::<Vec<_>>();
        let table = &symbols.table;
        let area_from = table.address_of("__per_cpu_start").unwrap_or(0);
        let area_named_to = table.address_of("__per_cpu_end").unwrap_or(area_from);
        KernelNames {
            slide: slide(&symbols, vmlinux.as_deref()),
            direct_map: report.counts.direct_map,
            regions: report.counts.direct_map.and_then(regions),
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
    fn per_cpu(&self, address: u64) -> Option<Located> {
        let within = |&(cpu, base): &(u32, u64)| {
            let offset = address.wrapping_sub(base.wrapping_add(self.area_from));
            (offset < self.area_bytes).then_some((cpu, offset))
        };
        let Some((cpu, offset)) = self.areas.iter().find_map(within) else { return self.per_cpu_elsewhere(address) };
        let variable = self.area_from + offset;
        let named = (variable < self.area_named_to).then(|| self.variable(variable)).flatten();
        Some(match named {
            Some((Variable { name, offset, field }, object)) => {
                Located { data: Data::PerCpu { cpu, symbol: Some(name), offset, field }, object }
            }
            None => self
                .per_cpu_object(cpu, variable)
                .unwrap_or_else(|| Data::PerCpu { cpu, symbol: None, offset, field: None }.into()),
        })
    }

    /// A structure that each CPU has a copy of, by the address without the CPU's offset.
    fn per_cpu_object(&self, cpu: u32, address: u64) -> Option<Located> {
        let survey = self.survey.as_ref()?;
        let (at, offset) = survey.per_cpu.find(address)?;
        let (name, field) = survey.member(at, offset)?;
        let data = Data::PerCpu { cpu, symbol: Some(name), offset, field };
        Some(Located { data, object: Some(InObject::of_kernel((at, offset))) })
    }

    /// As [`Self::per_cpu_object`], outside of the CPUs' first areas: allocations that did not fit
    /// there.
    fn per_cpu_elsewhere(&self, address: u64) -> Option<Located> {
        self.areas.iter().find_map(|&(cpu, base)| self.per_cpu_object(cpu, address.wrapping_sub(base)))
    }

    /// The variable at an address of the kernel's image, or of a CPU's area, which does not slide;
    /// and its structure.
    fn variable(&self, address: u64) -> Option<(Variable, Option<InObject>)> {
        let slide = if address >= IMAGE_FROM { self.slide } else { 0 };
        let by_file = self.vmlinux.as_ref().and_then(|file| file.variable(address.wrapping_sub(slide)));
        if let Some(image::Variable { name, offset, field, structure }) = by_file {
            let object = structure.map(|structure| InObject::of_file(VMLINUX, structure));
            return Some((Variable { name, offset, field }, object));
        }
        let (symbol, offset) = self.symbols.table.find(address, Kind::Data)?;
        let (field, object) = self.described(&symbol.name, offset).unwrap_or_default();
        Some((Variable { name: symbol.name.clone(), offset, field }, object))
    }

    /// The member at a byte of a variable, and its structure, if the kernel describes the
    /// variable's type.
    fn described(&self, name: &str, offset: u64) -> Option<(Option<String>, Option<InObject>)> {
        let layouts = &*self.survey.as_ref()?.layouts;
        let at = layouts.variable(name)?;
        Some((layouts.path(at, offset), structure_at(layouts, at, offset).map(InObject::of_kernel)))
    }

    /// A structure found by pointers to it.
    fn placed(&self, address: u64) -> Option<Located> {
        let survey = self.survey.as_ref()?;
        let (at, offset) = survey.placed.find(address)?;
        let (of, field) = survey.member(at, offset)?;
        let data = Data::Object { of, address: address - offset, offset, field };
        Some(Located { data, object: Some(InObject::of_kernel((at, offset))) })
    }

    /// The data that the survey found at a physical address.
    fn surveyed(&self, physical: u64) -> Option<Located> {
        let survey = self.survey.as_ref()?;
        let (frame, in_page) = (physical / PAGE_BYTES, physical % PAGE_BYTES);
        let whole = |data: Data| Some(Located::from(data));
        match survey.frame(physical) {
            FrameUse::Slab { .. } => {
                let slot = survey.slot(physical)?;
                let (offset, address) = (physical - slot.begin, slot.begin);
                let object = slot.cache.object.map(|at| InObject::of_kernel((at, offset)));
                let member = slot.cache.object.and_then(|at| survey.member(at, offset));
                let Some((of, field)) = member else {
                    let by_pointer = self.placed(survey.direct_map.wrapping_add(physical));
                    let cache = slot.cache.name.clone();
                    return by_pointer.or_else(|| whole(Data::Allocated { cache, address, offset }));
                };
                Some(Located { data: Data::Object { of, address, offset, field }, object })
            }
            FrameUse::PageTable => whole(Data::PageTable { frame, offset: in_page }),
            FrameUse::Contents => whole(Data::Page { frame, offset: in_page, contents: true }),
            FrameUse::Free => whole(Data::FreePage { frame, offset: in_page }),
            FrameUse::Other => self.placed(survey.direct_map.wrapping_add(physical)),
        }
    }

    fn virtual_data(&self, address: u64) -> Located {
        if let Some(located) = self.per_cpu(address) {
            return located;
        }
        if address >= IMAGE_FROM {
            return match self.variable(address) {
                Some((Variable { name, offset, field }, object)) => {
                    Located { data: Data::Symbol { name, offset, field }, object }
                }
                None => Data::Unknown { address }.into(),
            };
        }
        match &self.regions {
            Some(regions) if regions.pages.contains(&address) => self.struct_page(address - regions.pages.start),
            Some(regions) if regions.vmalloc.contains(&address) => {
                let stack = self.stack(address).map(Located::from);
                stack.or_else(|| self.placed(address)).unwrap_or_else(|| Data::Vmalloc { address }.into())
            }
            _ => Data::Unknown { address }.into(),
        }
    }

    fn stack(&self, address: u64) -> Option<Data> {
        let (task, offset) = self.survey.as_ref()?.stack(address)?;
        Some(Data::TaskStack { task: task.to_owned(), offset })
    }

    fn struct_page(&self, from: u64) -> Located {
        let survey = self.survey.as_ref();
        let bytes = survey.map_or(STRUCT_PAGE_BYTES, |survey| survey.record_bytes);
        let (frame, offset) = (from / bytes, from % bytes);
        let by_file = self.vmlinux.as_ref().and_then(|file| file.types.page_member(offset));
        let record = survey.and_then(|survey| survey.page_record(frame));
        let field = by_file.or_else(|| survey?.layouts.path(record?, offset));
        let in_file = || Some((self.vmlinux.as_ref()?.types.page()?, offset));
        let object = match record {
            Some(record) => Some(InObject::of_kernel((record, offset))),
            None => in_file().map(|structure| InObject::of_file(VMLINUX, structure)),
        };
        Located { data: Data::StructPage { frame, offset, field }, object }
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
            Some(Code {
                function: symbol.name.clone(),
                offset,
                inlined_into: None,
                between: Vec::new(),
                file: None,
                line: None,
                own: None,
            })
        })
    }

    fn frames(&self, address: u64) -> Vec<Frame> {
        let in_file = address.wrapping_sub(self.slide);
        let by_file = self.vmlinux.as_ref().map(|file| file.functions(in_file)).filter(|frames| !frames.is_empty());
        by_file.unwrap_or_else(|| {
            let symbol = self.symbols.table.find(address, Kind::Code).map(|(symbol, _)| symbol.name.clone());
            vec![Frame { function: symbol.filter(|_| address >= KERNEL_FROM), source: None, is_inlined: false }]
        })
    }

    fn callers(&self, sample: &RawSample) -> Places {
        match self.survey.as_ref().and_then(|survey| survey.orc.as_deref()) {
            Some(orc) if sample.site >= KERNEL_FROM => places(sample, |state, piece| orc.caller(state, piece)),
            _ => Places::alone(sample),
        }
    }

    fn locate(&self, address: u64, space: Space, contents: bool) -> Located {
        match space {
            Space::Virtual => self.virtual_data(address),
            Space::Physical => {
                let mapped = self.direct_map.map(|direct_map| direct_map.wrapping_add(address));
                let page = Data::Page { frame: address / PAGE_BYTES, offset: address % PAGE_BYTES, contents };
                // The kernel frees the unused part of a CPU's area, and reuses it.
                let is_given_back = self.survey.as_ref().is_some_and(|survey| survey.frame(address) != FrameUse::Other);
                let may_be_cpus = !contents && !is_given_back;
                let of_cpu = mapped.filter(|_| may_be_cpus).and_then(|address| self.per_cpu(address));
                let known = of_cpu.or_else(|| self.surveyed(address).filter(|_| !contents));
                known.unwrap_or_else(|| page.into())
            }
        }
    }

    fn structure(&self, of: StructureId) -> Option<(String, u64)> {
        match of.0 {
            Described::Kernel(at) => {
                let layouts = &*self.survey.as_ref()?.layouts;
                Some((structure_name(layouts, at)?, layouts.size(at)?))
            }
            Described::File(_, at) => self.vmlinux.as_ref()?.structure(at),
        }
    }

    fn layout(&self, of: StructureId, bytes: &BTreeSet<u64>) -> Option<Layout> {
        match of.0 {
            Described::Kernel(at) => layout(&*self.survey.as_ref()?.layouts, at, bytes),
            Described::File(_, at) => self.vmlinux.as_ref()?.layout(at, bytes),
        }
    }
}

/// A byte of a variable.
struct Variable {
    name: String,
    offset: u64,
    field: Option<String>,
}

/// Distance of the running kernel from the addresses in its file.
fn slide(symbols: &Kallsyms, vmlinux: Option<&Image>) -> u64 {
    let anchor = "_stext";
    let (ran, built) = (symbols.table.address_of(anchor), vmlinux.and_then(|file| file.table.address_of(anchor)));
    ran.zip(built).map_or(0, |(ran, built)| ran.wrapping_sub(built))
}

/// Size of a CPU's area: the smallest distance between two of them; `None` for fewer than two.
fn area_bytes(areas: &[(u32, u64)]) -> Option<u64> {
    let mut bases: Vec<u64> = areas.iter().map(|&(_, base)| base).collect();
    bases.sort_unstable();
    bases.windows(2).map(|pair| pair[1] - pair[0]).filter(|&distance| distance > 0).min()
}
