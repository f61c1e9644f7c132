//! A type in a reading: its own objects, and those embedded in other types' objects.

use faultline_record::lens::by_type::{Begins, ByType, Sharing, TypeAccess, TypeReading, Used};
use faultline_record::lens::layout::{Inner, Keyword, Layout, Member};
use std::collections::{BTreeMap, BTreeSet};

/// A type with all its transfers, including those of embedded objects.
#[derive(Debug, Clone)]
pub(crate) struct TypeView {
    pub(crate) layout: Layout,
    /// Objects of their own.
    pub(crate) begins: Vec<Begins>,
    /// Members of other types that contain it.
    pub(crate) within: Vec<String>,
    pub(crate) accesses: Vec<TypeAccess>,
}

impl TypeView {
    /// A type with its own objects, without embedded ones.
    pub(crate) fn own(of: &TypeReading) -> Self {
        TypeView {
            layout: of.layout.clone(),
            begins: of.begins.clone(),
            within: Vec::new(),
            accesses: of.accesses.clone(),
        }
    }

    /// All objects of the type with this name; `None` if none moved.
    pub(crate) fn named(by_type: &ByType, name: &str) -> Option<Self> {
        let mut gathered = Gathered::default();
        for of in &by_type.types {
            gathered.add(of, name);
        }
        gathered.into_view(name)
    }

    pub(crate) fn reads(&self) -> Sharing {
        sum(self.accesses.iter().map(|access| access.reads))
    }

    pub(crate) fn writes(&self) -> Sharing {
        sum(self.accesses.iter().map(|access| access.writes))
    }

    /// All transfers.
    pub(crate) fn transfers(&self) -> Sharing {
        sum([self.reads(), self.writes()])
    }
}

pub(crate) fn sum(parts: impl IntoIterator<Item = Sharing>) -> Sharing {
    let mut all = Sharing::default();
    parts.into_iter().for_each(|part| all.add(part));
    all
}

/// The chain of nested members that contain a byte. Of several such members the first counts.
fn chain(members: &[Member], byte: u64) -> Vec<&Member> {
    let mut chain = Vec::new();
    let mut members = members;
    while let Some(member) = members.iter().find(|member| (member.offset..member.end()).contains(&byte)) {
        chain.push(member);
        members = member.inner.as_ref().map_or(&[], |inner| &inner.members);
    }
    chain
}

/// Accumulated data of a type.
#[derive(Default)]
struct Gathered {
    layout: Option<Layout>,
    begins: BTreeMap<u64, u64>,
    within: BTreeSet<String>,
    accesses: BTreeMap<(u64, u64), TypeAccess>,
}

impl Gathered {
    fn add(&mut self, of: &TypeReading, name: &str) {
        if of.layout.name == name {
            self.merge_layout(of.layout.clone());
            for begin in &of.begins {
                *self.begins.entry(begin.at).or_default() += begin.objects;
            }
            of.accesses.iter().for_each(|access| self.merge_access(access.clone()));
            return;
        }
        for access in &of.accesses {
            let chain = chain(&of.layout.members, access.offset);
            let Some(place) = chain.iter().position(|member| member.is_of(name)) else { continue };
            let member = chain[place];
            let names = chain[..=place].iter().filter_map(|member| member.name.as_deref());
            let path = names.fold(of.layout.name.clone(), |path, name| join(&path, name));
            self.within.insert(path);
            if let Some(layout) = layout_of(member, name) {
                self.merge_layout(layout);
            }
            self.merge_access(rebased(access, member));
        }
    }

    fn merge_layout(&mut self, layout: Layout) {
        match &mut self.layout {
            Some(known) => merge(&mut known.members, layout.members),
            None => self.layout = Some(layout),
        }
    }

    fn merge_access(&mut self, access: TypeAccess) {
        let Some(known) = self.accesses.get_mut(&(access.offset, access.size)) else {
            self.accesses.insert((access.offset, access.size), access);
            return;
        };
        known.reads.add(access.reads);
        known.writes.add(access.writes);
        known.beside = known.beside.saturating_add(access.beside);
        for used in access.others {
            match known.others.iter_mut().find(|known| known.offset == used.offset) {
                Some(known) => known.transfers = known.transfers.saturating_add(used.transfers),
                None => known.others.push(used),
            }
        }
        for site in access.by_site {
            match known.by_site.iter_mut().find(|known| known.address == site.address) {
                Some(known) => known.transfers = known.transfers.saturating_add(site.transfers),
                None => known.by_site.push(site),
            }
        }
    }

    fn into_view(self, name: &str) -> Option<TypeView> {
        let accesses: Vec<TypeAccess> = self.accesses.into_values().collect();
        let bytes = accesses.iter().map(|access| access.offset + access.size).max()?;
        // A type such as `atomic_t` may have no members.
        let bare = || Layout {
            keyword: Keyword::Struct,
            name: name.to_owned(),
            is_alias: true,
            size: bytes,
            members: Vec::new(),
        };
        Some(TypeView {
            layout: self.layout.unwrap_or_else(bare),
            begins: self.begins.into_iter().map(|(at, objects)| Begins { at, objects }).collect(),
            within: self.within.into_iter().collect(),
            accesses,
        })
    }
}

/// A member's own layout, from its first byte.
fn layout_of(member: &Member, name: &str) -> Option<Layout> {
    let inner = member.inner.as_ref()?;
    let members = inner.members.iter().map(|inner| moved(inner, member.offset)).collect();
    let is_alias = member.structure.as_deref() != Some(name);
    Some(Layout { keyword: inner.keyword?, name: name.to_owned(), is_alias, size: member.size, members })
}

fn moved(member: &Member, back: u64) -> Member {
    let inner = member.inner.as_ref().map(|inner| Inner {
        keyword: inner.keyword,
        members: inner.members.iter().map(|inner| moved(inner, back)).collect(),
    });
    Member { offset: member.offset.saturating_sub(back), inner, ..member.clone() }
}

fn rebased(access: &TypeAccess, member: &Member) -> TypeAccess {
    let (within, beside): (Vec<&Used>, Vec<&Used>) =
        access.others.iter().partition(|used| (member.offset..member.end()).contains(&used.offset));
    let beside = beside.iter().map(|used| used.transfers).chain([access.beside]).max().unwrap_or(0);
    let others = within.into_iter().map(|used| {
        let mut used = *used;
        used.offset -= member.offset;
        used
    });
    TypeAccess { offset: access.offset - member.offset, others: others.collect(), beside, ..access.clone() }
}

/// Merges two lists of the same members, in which different ones may have members listed.
fn merge(known: &mut Vec<Member>, others: Vec<Member>) {
    for other in others {
        let same =
            |known: &&mut Member| known.offset == other.offset && known.name == other.name && known.of == other.of;
        match known.iter_mut().find(same) {
            Some(Member { inner: Some(known), .. }) => {
                merge(&mut known.members, other.inner.map(|inner| inner.members).unwrap_or_default());
            }
            Some(known) => known.inner = other.inner,
            // Each list has the array elements that moved.
            None => {
                let place = known.partition_point(|known| known.offset <= other.offset);
                known.insert(place, other);
            }
        }
    }
}

/// Path of a nested member: `mmap_lock.count`, `zones[1]`.
pub(crate) fn join(path: &str, name: &str) -> String {
    match (path.is_empty(), name.starts_with('[')) {
        (true, _) => name.to_owned(),
        (false, true) => format!("{path}{name}"),
        (false, false) => format!("{path}.{name}"),
    }
}
