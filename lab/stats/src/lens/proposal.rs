//! A proposed layout of a type: members that move their line for each other, by false sharing, get
//! lines of their own.
//!
//! Two members conflict if a CPU accessed the one, other CPUs had used the other, and the transfer
//! was false sharing (docs/LENS.md). Members of one line that do not conflict stay together: the
//! line is coloured greedily, in the order of the declaration. Members of different lines are never
//! brought together, because nothing was measured about them.

use crate::lens::figures::share;
use crate::lens::type_view::TypeView;
use crate::lens::types::{ProposedLayout, ProposedMember};
use faultline_lens_format::LINE_BYTES;
use faultline_record::lens::by_type::TypeAccess;
use faultline_record::lens::layout::{Keyword, Member};
use faultline_record::lens::reading::Reading;
use std::collections::BTreeMap;

/// Smallest share of a type's transfers by which members conflict.
const LEAST_CONFLICT: f64 = 0.01;

/// Smallest share of a type's transfers that a proposal saves.
const LEAST_SAVED: f64 = 0.05;

/// Greatest alignment of a member that no line asks for, in bytes.
const MOST_ALIGNMENT: u64 = 16;

/// Uses by others are known by words of this many bytes.
const WORD: u64 = 4;

/// The proposed layout of a type; `None` if it would save little, or if the type is a union.
pub(crate) fn proposed(reading: &Reading, view: &TypeView) -> Option<ProposedLayout> {
    if view.layout.keyword == Keyword::Union || view.layout.members.is_empty() {
        return None;
    }
    let units = units(&view.layout.members);
    let begin = view.begins.iter().max_by_key(|begin| begin.objects).map_or(0, |begin| begin.at % LINE_BYTES);
    let transfers = view.transfers().total();
    let conflicts = Conflicts::of(view, &units, LEAST_CONFLICT * transfers as f64);
    let (members, offsets) = arranged(&units, &places(&units, begin, &conflicts), begin, conflicts.has_neighbours);
    let proposal = Offsets { units: &units, offsets: &offsets };
    let saved: f64 = view.accesses.iter().map(|access| proposal.saved(access, conflicts.has_neighbours)).sum();
    let is_changed = members.iter().any(|member| member.begins_line || member.offset != member.was);
    if !is_changed || saved < LEAST_SAVED * transfers as f64 || saved <= 0.0 {
        return None;
    }
    let end = units.iter().zip(&offsets).map(|(unit, offset)| offset + unit.to - unit.from).max().unwrap_or(0);
    let saved = reading.per_operation(transfers) * saved / transfers as f64;
    Some(ProposedLayout { size: end.next_multiple_of(LINE_BYTES), members, saved })
}

/// Members that cannot be separated: a member, or several that share a word, such as bit fields.
struct Unit<'a> {
    members: &'a [Member],
    from: u64,
    to: u64,
    /// True if there are more unused bytes before it than a usual alignment explains.
    is_aligned: bool,
}

impl Unit<'_> {
    /// The alignment that its present offset and its size allow.
    fn alignment(&self) -> u64 {
        let lowest = |number: u64| 1 << number.trailing_zeros().min(LINE_BYTES.trailing_zeros());
        match self.is_aligned {
            true => lowest(self.from),
            false => lowest(self.from).min(lowest(self.to - self.from)).min(MOST_ALIGNMENT),
        }
    }
}

fn units(members: &[Member]) -> Vec<Unit<'_>> {
    let mut units: Vec<Unit<'_>> = Vec::new();
    let mut first = 0;
    for (index, member) in members.iter().enumerate() {
        let end = units.last().map_or(0, |unit| unit.to);
        match units.last_mut() {
            // Bytes of one word cannot be distinguished.
            Some(unit) if member.offset < unit.to.next_multiple_of(WORD) && member.size > 0 => {
                unit.members = &members[first..=index];
                unit.to = unit.to.max(member.end());
            }
            _ => {
                first = index;
                let is_aligned = member.offset >= end + MOST_ALIGNMENT;
                let members = &members[index..=index];
                units.push(Unit { members, from: member.offset, to: member.end(), is_aligned });
            }
        }
    }
    units
}

fn unit_at(units: &[Unit<'_>], byte: u64) -> Option<usize> {
    units.iter().position(|unit| (unit.from..unit.to).contains(&byte))
}

fn false_sharing(access: &TypeAccess) -> u64 {
    access.reads.false_sharing + access.writes.false_sharing
}

/// Pairs of units that move a line for each other.
struct Conflicts {
    pairs: BTreeMap<(usize, usize), f64>,
    /// True if data beside the objects move their lines.
    has_neighbours: bool,
}

impl Conflicts {
    /// The pairs with this number of transfers or more.
    fn of(view: &TypeView, units: &[Unit<'_>], least: f64) -> Self {
        let mut pairs = BTreeMap::new();
        let mut beside = 0.0;
        for access in &view.accesses {
            let falsely = false_sharing(access);
            let Some(own) = unit_at(units, access.offset).filter(|_| falsely > 0) else { continue };
            beside += access.beside.min(falsely) as f64;
            for used in &access.others {
                let other = unit_at(units, used.offset).filter(|other| *other != own);
                if let Some(other) = other {
                    *pairs.entry((own.min(other), own.max(other))).or_insert(0.0) += used.transfers.min(falsely) as f64;
                }
            }
        }
        pairs.retain(|_, transfers| *transfers >= least);
        Conflicts { pairs, has_neighbours: beside > 0.0 && beside >= least }
    }

    fn are(&self, a: usize, b: usize) -> bool {
        self.pairs.contains_key(&(a.min(b), a.max(b)))
    }

    fn has(&self, unit: usize) -> bool {
        self.pairs.keys().any(|&(a, b)| a == unit || b == unit)
    }
}

/// The line of a unit at present, and its number among the lines that take its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    line: u64,
    part: usize,
}

/// The places of all units. One without a conflict stays with the unit before it.
fn places(units: &[Unit<'_>], begin: u64, conflicts: &Conflicts) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for (number, unit) in units.iter().enumerate() {
        let line = (unit.from + begin) / LINE_BYTES;
        let before = places.last().filter(|place| place.line == line).map_or(0, |place| place.part);
        let is_free = |part: &usize| {
            let there = (0..number).filter(|other| places[*other] == Place { line, part: *part });
            there.into_iter().all(|other| !conflicts.are(number, other))
        };
        let part = match conflicts.has(number) {
            true => std::iter::once(before).chain(0..).find(is_free).unwrap_or(before),
            false => before,
        };
        places.push(Place { line, part });
    }
    places
}

/// The proposed offsets of units.
struct Offsets<'a> {
    units: &'a [Unit<'a>],
    offsets: &'a [u64],
}

impl Offsets<'_> {
    /// The proposed line of a byte; `None` for one of no member.
    fn line(&self, byte: u64) -> Option<u64> {
        let unit = unit_at(self.units, byte)?;
        Some((self.offsets[unit] + byte - self.units[unit].from) / LINE_BYTES)
    }

    /// False sharing of an access that the offsets end: by the share of what others had used that
    /// is on another line than the access then.
    fn saved(&self, access: &TypeAccess, begins_line: bool) -> f64 {
        let Some(own) = self.line(access.offset) else { return 0.0 };
        let stays = |offset: u64| self.line(offset).is_none_or(|line| line == own);
        let most = |used: &mut dyn Iterator<Item = u64>| used.max().unwrap_or(0);
        let all = most(&mut access.others.iter().map(|used| used.transfers));
        let left = most(&mut access.others.iter().filter(|used| stays(used.offset)).map(|used| used.transfers));
        let beside = if begins_line { 0 } else { access.beside };
        let (before, after) = (all.max(access.beside), left.max(beside));
        false_sharing(access) as f64 * (1.0 - share(after, before)) * f64::from(before > 0)
    }
}

/// The members by place, and the offset of each unit. `begin`: place in a line at which objects
/// begin at present.
fn arranged(units: &[Unit<'_>], places: &[Place], begin: u64, begins_line: bool) -> (Vec<ProposedMember>, Vec<u64>) {
    let last = units.len() - 1;
    let mut order: Vec<usize> = (0..units.len()).collect();
    // A member without a size may be an array without bounds, which must be the last.
    order.sort_by_key(|&number| (number == last && units[last].from == units[last].to, places[number]));
    let is_split = |line: u64| places.iter().any(|place| place.line == line && place.part > 0);
    let (mut members, mut offsets) = (Vec::new(), vec![0; units.len()]);
    let mut end: u64 = 0;
    let mut before: Option<Place> = None;
    for number in order {
        let (unit, place) = (&units[number], places[number]);
        let begins = match before {
            None => begins_line,
            // Objects that do not begin at a line have their lines' ends elsewhere.
            Some(before) if before.line != place.line => is_split(before.line) || begin > 0,
            Some(before) => before != place && place.part > 0,
        };
        let offset = end.next_multiple_of(if begins { LINE_BYTES } else { unit.alignment() });
        members.extend(unit.members.iter().enumerate().map(|(index, member)| ProposedMember {
            name: member.name.clone(),
            of: member.of.clone(),
            bits: member.bits,
            was: member.offset,
            offset: offset + (member.offset - unit.from),
            begins_line: begins && index == 0,
        }));
        offsets[number] = offset;
        end = offset + (unit.to - unit.from);
        before = Some(place);
    }
    (members, offsets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lens::example::{access, member, reading};
    use faultline_record::lens::by_type::{Begins, Sharing, TypeReading, Used};
    use faultline_record::lens::layout::{Bits, Layout};

    /// Writes to eight bytes, all of them false sharing with what others used.
    fn conflict(offset: u64, transfers: u64, others: &[u64]) -> TypeAccess {
        let used = |offset: &u64| Used { offset: *offset, size: 8, transfers };
        TypeAccess {
            writes: Sharing { true_sharing: 0, false_sharing: transfers },
            others: others.iter().map(used).collect(),
            ..access(offset, 0, 0)
        }
    }

    /// The proposal for a structure of words with these names, over 100 operations.
    fn proposal(names: &[&str], accesses: Vec<TypeAccess>) -> Option<ProposedLayout> {
        let words = (0..).step_by(8).zip(names);
        let members: Vec<Member> = words.map(|(offset, name)| member(name, "long", offset, 8)).collect();
        of_members(members, accesses)
    }

    fn of_members(members: Vec<Member>, accesses: Vec<TypeAccess>) -> Option<ProposedLayout> {
        let size = members.iter().map(Member::end).max().unwrap();
        let layout = Layout { keyword: Keyword::Struct, name: "stats".into(), is_alias: false, size, members };
        let of = TypeReading { layout, begins: vec![Begins { at: 0, objects: 1 }], accesses };
        proposed(&reading(2, 100, Vec::new()), &TypeView::own(&of))
    }

    fn places(layout: &ProposedLayout) -> Vec<(&str, u64)> {
        layout.members.iter().map(|member| (member.name.as_deref().unwrap_or(""), member.offset)).collect()
    }

    #[test]
    fn two_members_that_move_each_other_are_separated() {
        let layout =
            proposal(&["hits", "limit", "misses"], vec![conflict(0, 60, &[16]), conflict(16, 40, &[0])]).unwrap();
        assert_eq!(places(&layout), [("hits", 0), ("limit", 8), ("misses", 64)]);
        assert_eq!((layout.size, layout.saved), (128, 1.0));
        assert_eq!(layout.members.iter().map(|member| member.begins_line).collect::<Vec<_>>(), [false, false, true]);
    }

    #[test]
    fn members_that_do_not_move_each_other_share_a_line() {
        let accesses = vec![
            conflict(0, 25, &[8, 24]),
            conflict(8, 25, &[0, 16]),
            conflict(16, 25, &[8, 24]),
            conflict(24, 25, &[0, 16]),
        ];
        let layout = proposal(&["a", "x", "b", "y"], accesses).unwrap();
        assert_eq!(places(&layout), [("a", 0), ("b", 8), ("x", 64), ("y", 72)]);
    }

    #[test]
    fn true_sharing_or_little_of_the_false_proposes_nothing() {
        assert_eq!(proposal(&["lock", "data"], vec![access(0, 50, 50), access(8, 50, 0)]), None);
        assert_eq!(proposal(&["lock", "data"], vec![access(0, 0, 1000), conflict(8, 20, &[0])]), None);
        assert!(proposal(&["lock", "data"], vec![access(0, 0, 100), conflict(8, 20, &[0])]).is_some());
    }

    #[test]
    fn objects_that_share_a_line_with_others_begin_at_one() {
        let layout = proposal(&["hits"], vec![TypeAccess { beside: 90, ..conflict(0, 90, &[]) }]).unwrap();
        assert_eq!((layout.size, layout.members[0].begins_line, layout.saved), (64, true, 0.9));
    }

    #[test]
    fn what_stays_on_the_line_is_not_saved() {
        let few = TypeAccess { beside: 0, ..conflict(0, 100, &[8]) };
        let split = vec![few, conflict(8, 100, &[0])];
        assert_eq!(proposal(&["a", "b"], split).unwrap().saved, 2.0);
        let bits = |offset, first| Member { bits: Some(Bits { first, count: 4 }), ..member("bit", "int", offset, 4) };
        let together = of_members(vec![bits(0, 0), bits(0, 4)], vec![conflict(0, 100, &[0])]);
        assert_eq!(together, None, "bit fields of one word cannot be separated");
        let bytes =
            ["a", "b", "c"].into_iter().zip(8..).map(|(name, offset)| member(name, "char", offset, 1)).collect();
        assert_eq!(of_members(bytes, vec![conflict(9, 50, &[8]), conflict(10, 50, &[8])]), None, "nor bytes of one");
        let long = vec![member("name", "char[96]", 0, 96), member("hits", "long", 96, 8)];
        assert_eq!(of_members(long, vec![conflict(64, 50, &[96]), conflict(96, 50, &[64])]), None, "nothing moves");
    }

    #[test]
    fn an_array_without_bounds_stays_the_last_member() {
        let members = vec![
            member("a", "long", 0, 8),
            member("x", "long", 8, 8),
            member("b", "long", 16, 8),
            member("data", "char[]", 24, 0),
        ];
        let layout =
            of_members(members, vec![conflict(0, 50, &[8]), conflict(8, 50, &[0, 16]), conflict(16, 50, &[8])]);
        assert_eq!(places(&layout.unwrap()), [("a", 0), ("b", 8), ("x", 64), ("data", 72)]);
    }

    #[test]
    fn lines_of_objects_that_begin_within_one_stay_apart() {
        let members = vec![member("a", "char[32]", 0, 32), member("b", "char[32]", 32, 32), member("c", "long", 64, 8)];
        let members = [members, vec![member("d", "long", 72, 8)]].concat();
        let layout = Layout { keyword: Keyword::Struct, name: "of".into(), is_alias: false, size: 80, members };
        let accesses = vec![conflict(64, 50, &[72]), conflict(72, 50, &[64])];
        let of = TypeReading { layout, begins: vec![Begins { at: 32, objects: 1 }], accesses };
        let layout = proposed(&reading(2, 100, Vec::new()), &TypeView::own(&of)).unwrap();
        assert_eq!(places(&layout), [("a", 0), ("b", 64), ("c", 96), ("d", 128)]);
    }

    #[test]
    fn lines_stay_apart_and_later_ones_keep_their_order() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        let layout = proposal(&names, vec![conflict(8, 50, &[0]), conflict(0, 50, &[8])]).unwrap();
        let (lines, offsets): (Vec<bool>, Vec<u64>) =
            layout.members.iter().map(|member| (member.begins_line, member.offset)).unzip();
        assert_eq!(offsets, [0, 64, 72, 80, 88, 96, 104, 112, 128, 136]);
        assert_eq!(lines.iter().filter(|begins| **begins).count(), 2, "b, and i of the next line");
    }

    #[test]
    fn aligned_members_stay_aligned() {
        let members = vec![member("a", "int", 0, 4), member("b", "int", 4, 4), member("c", "long", 64, 8)];
        let layout = of_members(members, vec![conflict(0, 50, &[4]), conflict(4, 50, &[0])]).unwrap();
        assert_eq!(places(&layout), [("a", 0), ("b", 64), ("c", 128)]);
    }
}
