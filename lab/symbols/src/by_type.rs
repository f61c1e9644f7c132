//! The transfers of a report by type: every access that made a line move is counted for the object
//! and member that it touched.

use crate::by_object::{Objects, owner, untypeable};
use crate::names::{InObject, Located, Names, StructureId};
use faultline_lens_format::{LINE_BYTES, RawAccess, RawLine, WORD_BYTES};
use faultline_record::lens::by_object::ObjectReading;
use faultline_record::lens::by_type::{
    Begins, ByType, SITES_KEPT_OF_ACCESS, Sharing, SiteTransfers, TypeAccess, TypeReading, Untypeable,
    UntypedTransfers, Used,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// All transfers of a report by type and by object.
pub(crate) fn by_type(lines: &[RawLine], names: &dyn Names) -> (ByType, Vec<ObjectReading>) {
    let mut objects = Objects::new(names);
    let mut sums = Sums { names, structures: HashMap::new(), types: BTreeMap::new(), untyped: BTreeMap::new() };
    for line in lines {
        let mut located: BTreeMap<u64, Located> = BTreeMap::new();
        let mover = objects.mover(line);
        for access in &line.accesses {
            let locate = || names.locate(line.address.wrapping_add(access.offset), line.space, line.contents);
            let located = located.entry(access.offset).or_insert_with(locate);
            sums.add(line, access, located);
            let of = located.object.and_then(|object| sums.key(object)).map(|(name, _)| name);
            objects.add(line, access, owner(&located.data, of, mover.as_deref()));
        }
    }
    (sums.into_by_type(), objects.into_readings())
}

/// A type by its name and bytes: a program describes it once in each of its parts.
type TypeKey = (String, u64);

struct Sums<'a> {
    names: &'a dyn Names,
    /// The name and bytes of each structure found.
    structures: HashMap<StructureId, Option<TypeKey>>,
    types: BTreeMap<TypeKey, TypeSums>,
    untyped: BTreeMap<Untypeable, [Sharing; 2]>,
}

struct TypeSums {
    of: StructureId,
    /// Addresses of objects.
    objects: BTreeSet<u64>,
    accesses: BTreeMap<(u64, u64), AccessSums>,
}

#[derive(Default)]
struct AccessSums {
    reads: Sharing,
    writes: Sharing,
    others: BTreeMap<u64, u64>,
    beside: u64,
    by_site: BTreeMap<u64, u64>,
}

impl Sums<'_> {
    fn add(&mut self, line: &RawLine, access: &RawAccess, located: &Located) {
        let sharing = Sharing { true_sharing: access.true_sharing, false_sharing: access.false_sharing };
        let typed = located.object.and_then(|object| Some((self.key(object)?, object)));
        let Some((key, object)) = typed else {
            let [reads, writes] = self.untyped.entry(untypeable(&located.data)).or_default();
            (if access.is_write { writes } else { reads }).add(sharing);
            return;
        };
        let bytes = key.1;
        let new = || TypeSums { of: object.of, objects: BTreeSet::new(), accesses: BTreeMap::new() };
        let of_type = self.types.entry(key).or_insert_with(new);
        let begin = line.address.wrapping_add(access.offset).wrapping_sub(object.offset);
        of_type.objects.insert(begin);
        let sums = of_type.accesses.entry((object.offset, access.size)).or_default();
        (if access.is_write { &mut sums.writes } else { &mut sums.reads }).add(sharing);
        *sums.by_site.entry(access.site).or_default() += sharing.total();
        let mut beside = 0;
        for &(at, transfers) in &access.others {
            let offset = line.address.wrapping_add(at).wrapping_sub(begin);
            if offset < bytes {
                *sums.others.entry(offset).or_default() += transfers;
            } else {
                beside = transfers.max(beside);
            }
        }
        sums.beside += beside;
    }

    fn key(&mut self, object: InObject) -> Option<TypeKey> {
        self.structures.entry(object.of).or_insert_with(|| self.names.structure(object.of)).clone()
    }

    fn into_by_type(self) -> ByType {
        let names = self.names;
        let mut types: Vec<TypeReading> =
            self.types.into_values().filter_map(|sums| sums.into_reading(names)).collect();
        types.sort_by_cached_key(|of| (Reverse(transfers(of)), of.layout.name.clone(), of.layout.size));
        let untyped = self.untyped.into_iter();
        let mut untyped: Vec<UntypedTransfers> =
            untyped.map(|(what, [reads, writes])| UntypedTransfers { what, reads, writes }).collect();
        untyped.sort_by_key(|of| Reverse(of.reads.total() + of.writes.total()));
        ByType { types, untyped }
    }
}

fn transfers(of: &TypeReading) -> u64 {
    of.accesses.iter().map(|access| access.reads.total() + access.writes.total()).sum()
}

impl TypeSums {
    fn into_reading(self, names: &dyn Names) -> Option<TypeReading> {
        let others = self.accesses.values().flat_map(|sums| sums.others.keys());
        let bytes = self.accesses.keys().map(|(offset, _)| offset).chain(others).copied().collect();
        let mut begins: BTreeMap<u64, u64> = BTreeMap::new();
        for object in self.objects {
            *begins.entry(object % LINE_BYTES).or_default() += 1;
        }
        let mut begins: Vec<Begins> = begins.into_iter().map(|(at, objects)| Begins { at, objects }).collect();
        begins.sort_by_key(|begin| (Reverse(begin.objects), begin.at));
        let accesses = self.accesses.into_iter();
        Some(TypeReading {
            layout: names.layout(self.of, &bytes)?,
            begins,
            accesses: accesses.map(|((offset, size), sums)| sums.into_access(offset, size)).collect(),
        })
    }
}

impl AccessSums {
    fn into_access(self, offset: u64, size: u64) -> TypeAccess {
        let others = self.others.into_iter();
        let mut by_site: Vec<SiteTransfers> =
            self.by_site.into_iter().map(|(address, transfers)| SiteTransfers { address, transfers }).collect();
        by_site.sort_by_key(|site| (Reverse(site.transfers), site.address));
        by_site.truncate(SITES_KEPT_OF_ACCESS);
        TypeAccess {
            offset,
            size,
            reads: self.reads,
            writes: self.writes,
            others: others.map(|(offset, transfers)| Used { offset, size: WORD_BYTES, transfers }).collect(),
            beside: self.beside,
            by_site,
        }
    }
}
