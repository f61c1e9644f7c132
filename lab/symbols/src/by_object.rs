//! The transfers of a report by object.

use crate::names::Names;
use faultline_lens_format::{RawAccess, RawLine};
use faultline_record::lens::by_object::{OBJECTS_KEPT, ObjectReading, Owner};
use faultline_record::lens::by_type::{SITES_KEPT_OF_ACCESS, Sharing, SiteTransfers, Untypeable};
use faultline_record::lens::data::Data;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The type of the kernel's records of page frames.
const PAGE_RECORD: &str = "page";

/// Transfers by object, in the making.
pub(crate) struct Objects<'a> {
    names: &'a dyn Names,
    /// The function of each instruction, as the program's own source sees it.
    functions: HashMap<u64, Option<String>>,
    sums: BTreeMap<Owner, Sums>,
}

#[derive(Default)]
struct Sums {
    lines: BTreeSet<u64>,
    cpus: BTreeSet<u32>,
    reads: Sharing,
    writes: Sharing,
    by_site: BTreeMap<u64, u64>,
}

impl<'a> Objects<'a> {
    pub(crate) fn new(names: &'a dyn Names) -> Self {
        Objects { names, functions: HashMap::new(), sums: BTreeMap::new() }
    }

    /// The function that moves a line most; of equal ones the first by name.
    pub(crate) fn mover(&mut self, line: &RawLine) -> Option<String> {
        let mut functions: BTreeMap<Option<String>, u64> = BTreeMap::new();
        for access in &line.accesses {
            *functions.entry(self.function(access.site)).or_default() += access.transfers();
        }
        let most = functions.into_iter().max_by_key(|(name, transfers)| (*transfers, Reverse(name.clone())));
        most.and_then(|(function, _)| function)
    }

    fn function(&mut self, site: u64) -> Option<String> {
        let names = self.names;
        let find = || names.code(site).map(|code| code.seen().function.to_owned());
        self.functions.entry(site).or_insert_with(find).clone()
    }

    /// Adds an access to an object.
    pub(crate) fn add(&mut self, line: &RawLine, access: &RawAccess, owner: Owner) {
        let sums = self.sums.entry(owner).or_default();
        sums.lines.insert(line.address);
        sums.cpus.extend(line.by_cpu.iter().map(|(cpu, _)| cpu));
        let sharing = Sharing { true_sharing: access.true_sharing, false_sharing: access.false_sharing };
        (if access.is_write { &mut sums.writes } else { &mut sums.reads }).add(sharing);
        *sums.by_site.entry(access.site).or_default() += access.transfers();
    }

    /// The objects, most transfers first.
    pub(crate) fn into_readings(self) -> Vec<ObjectReading> {
        let mut all: Vec<ObjectReading> = self.sums.into_iter().map(|(owner, sums)| sums.into_reading(owner)).collect();
        all.sort_by(|a, b| b.transfers().total().cmp(&a.transfers().total()).then_with(|| a.owner.cmp(&b.owner)));
        let mut others = 0;
        all.retain(|of| {
            let is_variable = matches!(of.owner, Owner::Variable { .. });
            others += usize::from(!is_variable);
            is_variable || others <= OBJECTS_KEPT
        });
        all
    }
}

impl Sums {
    fn into_reading(self, owner: Owner) -> ObjectReading {
        let mut by_site: Vec<SiteTransfers> =
            self.by_site.into_iter().map(|(address, transfers)| SiteTransfers { address, transfers }).collect();
        by_site.sort_by_key(|site| (Reverse(site.transfers), site.address));
        by_site.truncate(SITES_KEPT_OF_ACCESS);
        let (lines, cpus) = (self.lines.len() as u64, self.cpus.len() as u64);
        ObjectReading { owner, lines, cpus, reads: self.reads, writes: self.writes, by_site }
    }
}

/// The object that contains data. `of`: the name of its type, if it has one; `mover`: the function
/// that moves its line most.
pub(crate) fn owner(data: &Data, of: Option<String>, mover: Option<&str>) -> Owner {
    match (data, of) {
        (Data::Symbol { name, .. } | Data::PerCpu { symbol: Some(name), .. }, _) => {
            Owner::Variable { name: name.clone() }
        }
        (_, Some(name)) => Owner::Type { name },
        (Data::StructPage { .. }, None) => Owner::Type { name: PAGE_RECORD.to_owned() },
        (other, None) => Owner::Memory { of: untypeable(other), function: mover.map(str::to_owned) },
    }
}

/// The kind of data without a type.
pub(crate) fn untypeable(data: &Data) -> Untypeable {
    match data {
        Data::Symbol { .. } => Untypeable::Variables,
        Data::PerCpu { .. } => Untypeable::PerCpuVariables,
        Data::Allocated { cache, .. } => Untypeable::Cache { name: cache.clone() },
        Data::PageTable { .. } => Untypeable::PageTables,
        Data::FreePage { .. } => Untypeable::FreePages,
        Data::TaskStack { .. } => Untypeable::Stacks,
        Data::Page { contents: true, .. } => Untypeable::PageContents,
        Data::StructPage { .. } | Data::Object { .. } | Data::Page { .. } | Data::Vmalloc { .. } => {
            Untypeable::KernelMemory
        }
        Data::Heap { .. } | Data::Allocation { .. } => Untypeable::Heap,
        Data::Mapped { .. } => Untypeable::Mapped,
        Data::Unknown { .. } => Untypeable::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{Located, StructureId};
    use crate::unwind::Places;
    use faultline_lens_format::{RawSample, Space};
    use faultline_record::lens::callers::Frame;
    use faultline_record::lens::data::Code;
    use faultline_record::lens::layout::Layout;

    /// Instructions from 100 on are of one function, those below of another.
    struct Two;

    impl Names for Two {
        fn code(&self, address: u64) -> Option<Code> {
            let function = if address < 100 { "find" } else { "insert" }.to_owned();
            let (inlined_into, between, file, line, own) = (None, Vec::new(), None, None, None);
            Some(Code { function, offset: 0, inlined_into, between, file, line, own })
        }

        fn frames(&self, _: u64) -> Vec<Frame> {
            Vec::new()
        }

        fn callers(&self, _: &RawSample) -> Places {
            unreachable!("no samples")
        }

        fn locate(&self, address: u64, _: Space, _: bool) -> Located {
            Data::Mapped { address }.into()
        }

        fn structure(&self, _: StructureId) -> Option<(String, u64)> {
            None
        }

        fn layout(&self, _: StructureId, _: &BTreeSet<u64>) -> Option<Layout> {
            None
        }
    }

    fn line(number: u64, sites: &[(u64, u64)]) -> RawLine {
        let mut line = RawLine::written(64 * number, 0);
        let access = line.accesses.remove(0);
        let of = |&(site, true_sharing): &(u64, u64)| RawAccess { site, true_sharing, ..access.clone() };
        RawLine { by_cpu: vec![(number as u32 % 4, 1)], accesses: sites.iter().map(of).collect(), ..line }
    }

    fn objects(lines: &[RawLine], of: Option<String>, data: impl Fn(u64) -> Data) -> Vec<ObjectReading> {
        let mut objects = Objects::new(&Two);
        for line in lines {
            let mover = objects.mover(line);
            let owner = owner(&data(line.address), of.clone(), mover.as_deref());
            line.accesses.iter().for_each(|access| objects.add(line, access, owner.clone()));
        }
        objects.into_readings()
    }

    #[test]
    fn memory_over_many_lines_is_one_row_of_the_function_that_moves_it() {
        let mut lines: Vec<RawLine> = (0..1000).map(|number| line(number, &[(1, 3), (2, 1), (100, 2)])).collect();
        lines.push(line(1000, &[(100, 5), (1, 4)]));
        let rows = objects(&lines, None, |address| Data::Mapped { address });
        let of = |function: &str| Owner::Memory { of: Untypeable::Mapped, function: Some(function.to_owned()) };
        let all: Vec<_> = rows.iter().map(|of| (of.owner.clone(), of.lines, of.cpus, of.transfers().total())).collect();
        assert_eq!(all, [(of("find"), 1000, 4, 6000), (of("insert"), 1, 1, 9)]);
        assert_eq!(rows[0].by_site.iter().map(|site| (site.address, site.transfers)).collect::<Vec<_>>()[0], (1, 3000));
    }

    #[test]
    fn all_variables_are_kept() {
        let lines: Vec<RawLine> = (0..300).map(|number| line(number, &[(1, 1)])).collect();
        let variable = |address: u64| Data::Symbol { name: format!("v{address}"), offset: 0, field: None };
        let of = Some("counters".to_owned());
        assert_eq!(objects(&lines, of.clone(), variable).len(), 300, "though they have a type");
        let [row] = &objects(&lines, of, |address| Data::Mapped { address })[..] else { panic!() };
        assert_eq!((&row.owner, row.lines), (&Owner::Type { name: "counters".to_owned() }, 300));
    }
}
