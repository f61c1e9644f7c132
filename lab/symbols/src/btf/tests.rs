//! Members, sizes and pointers of types written by hand, and damaged ones.

use super::*;
use crate::layout::{layout, structure_at, structure_name};
use crate::written_btf::Written;
use faultline_record::lens::layout::Member;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Structures as kernels have them: nested, in arrays, without a name, in bits, and with an open
/// end.
fn written() -> Written {
    let mut btf = Written::new();
    let int = btf.int("int", 4);
    let long = btf.int("long", 8);
    let lock = btf.structure("lock", 8, &[("locked", int, 0), ("owner", int, 4)]);
    let lock_t = btf.other_name("lock_t", lock);
    let lock_pointer = btf.pointer(lock_t);
    let either = btf.union("", 8, &[("count", long, 0), ("next", lock_pointer, 0)]);
    let bits = btf.bit_fields("bits", 4, &[("low", int, 0, 3), ("high", int, 12, 5)]);
    let locks = btf.array(lock, 2);
    let rows = btf.array(locks, 3);
    let open = btf.array(lock_pointer, 0);
    btf.structure(
        "zone",
        80,
        &[("first", lock, 0), ("", either, 8), ("bits", bits, 16), ("rows", rows, 24), ("open", open, 72)],
    );
    btf.variable("zones", rows);
    btf
}

fn layouts() -> BtfTypes {
    BtfTypes::parse(&written().bytes()).unwrap()
}

#[test]
fn members_have_paths() {
    let layouts = layouts();
    let zone = layouts.structure("zone").unwrap();
    let path = |byte| layouts.path(zone, byte);
    assert_eq!(path(5).as_deref(), Some("first.owner"));
    assert_eq!(path(8).as_deref(), Some("count"), "of a union the first");
    assert_eq!([path(16), path(17)].map(Option::unwrap), ["bits.low", "bits.high"]);
    assert_eq!(path(18).as_deref(), Some("bits.high"), "it reaches into the third byte");
    assert_eq!(path(20), None, "a hole");
    assert_eq!(path(24 + 16 + 8 + 4).as_deref(), Some("rows[1][1].owner"));
    let variable = layouts.variable("zones").unwrap();
    assert_eq!(layouts.path(variable, 4).as_deref(), Some("[0][0].owner"));
    assert_eq!((layouts.size(variable), layouts.size(zone)), (Some(48), Some(80)));
}

#[test]
fn members_are_found_by_name() {
    let layouts = layouts();
    let zone = layouts.structure("zone").unwrap();
    let offset = |path| layouts.field(zone, path).map(|field| field.offset);
    assert_eq!([offset("first.owner"), offset("next"), offset("rows")], [Some(4), Some(8), Some(24)]);
    assert_eq!([offset("owner"), offset("first.")], [None, None]);
    assert_eq!(layouts.first_member(zone), layouts.structure("lock"));
    assert_eq!(layouts.name(layouts.field(zone, "first").unwrap().at), Some("lock"));
}

#[test]
fn pointers_at_an_open_end_are_as_many_as_there_is_room_for() {
    let layouts = layouts();
    let zone = layouts.structure("zone").unwrap();
    let offsets = |bytes| layouts.pointers(zone, bytes).iter().map(|field| field.offset).collect::<Vec<_>>();
    assert_eq!(offsets(80), [8, 72]);
    assert_eq!(offsets(96), [8, 72, 80, 88]);
}

#[test]
fn types_that_contain_themselves_end_somewhere() {
    let mut btf = Written::new();
    // Each refers to the next number, which is its own or that of the other.
    btf.structure("a", 8, &[("", 2, 0), ("", 1, 0), ("", 2, 0)]);
    btf.other_name("b", 1);
    btf.array(3, 9);
    let layouts = BtfTypes::parse(&btf.bytes()).unwrap();
    let a = layouts.structure("a").unwrap();
    assert_eq!(layouts.field(a, "x"), None);
    assert_eq!(layouts.path(a, 0), None);
    assert!(layouts.pointers(a, 8).is_empty());
    assert_eq!(layouts.size(TypeId(3)), None);
}

#[test]
fn what_is_no_btf_is_refused() {
    let whole = written().bytes();
    for length in 0..whole.len() - 1 {
        assert!(BtfTypes::parse(&whole[..length]).is_err(), "the first {length} bytes pass");
    }
}

/// Members: name, type, offset, size, and number of listed inner members.
fn listed(members: &[Member]) -> Vec<(String, &str, u64, u64, usize)> {
    let inner = |member: &Member| member.inner.as_ref().map_or(0, |inner| inner.members.len());
    let name = |member: &Member| member.name.clone().unwrap_or_default();
    members.iter().map(|of| (name(of), of.of.as_str(), of.offset, of.size, inner(of))).collect()
}

fn inner(member: &Member) -> &[Member] {
    &member.inner.as_ref().unwrap().members
}

#[test]
fn a_layout_lists_members_as_deep_as_bytes_are_asked_for() {
    let layouts = layouts();
    let zone = layout(&layouts, layouts.structure("zone").unwrap(), &BTreeSet::from([8, 24 + 16 + 8 + 4])).unwrap();
    assert_eq!((zone.keyword, zone.name.as_str(), zone.size), (Keyword::Struct, "zone", 80));
    let expected = [
        ("first".into(), "struct lock", 0, 8, 0),
        (String::new(), "union", 8, 8, 2),
        ("bits".into(), "struct bits", 16, 4, 0),
        ("rows".into(), "struct lock[3][2]", 24, 48, 1),
        ("open".into(), "lock_t *[]", 72, 0, 0),
    ];
    assert_eq!(listed(&zone.members), expected);
    let row = &inner(&zone.members[3])[0];
    assert_eq!((row.name.as_deref(), row.of.as_str(), row.offset, row.size), (Some("[1]"), "struct lock[2]", 40, 16));
    let lock = &inner(row)[0];
    assert_eq!((lock.name.as_deref(), lock.offset, lock.structure.as_deref()), (Some("[1]"), 48, Some("lock")));
    assert_eq!(listed(inner(lock))[1], ("owner".into(), "int", 52, 4, 0));
    assert!(lock.is_of("lock") && lock.is_of("struct lock") && !lock.is_of("lock_t"));
}

#[test]
fn bit_fields_have_their_bits() {
    let layouts = layouts();
    let bits = layout(&layouts, layouts.structure("bits").unwrap(), &BTreeSet::new()).unwrap();
    let of = |member: &Member| (member.offset, member.size, member.bits.map(|bits| (bits.first, bits.count)));
    assert_eq!(bits.members.iter().map(of).collect::<Vec<_>>(), [(0, 1, Some((0, 3))), (1, 2, Some((4, 5)))]);
}

#[test]
fn the_structure_of_a_variable_is_that_of_its_element() {
    let layouts = layouts();
    let zones = layouts.variable("zones").unwrap();
    let (at, offset) = structure_at(&layouts, zones, 4 * 8 + 5).unwrap();
    assert_eq!((structure_name(&layouts, at).as_deref(), offset), (Some("lock"), 5));
    let mut btf = Written::new();
    let int = btf.int("int", 4);
    let bare = btf.structure("", 4, &[("counter", int, 0)]);
    let atomic = btf.other_name("atomic_t", bare);
    btf.variable("users", atomic);
    btf.variable("number", int);
    let layouts = BtfTypes::parse(&btf.bytes()).unwrap();
    let at = structure_at(&layouts, layouts.variable("users").unwrap(), 0).unwrap().0;
    assert_eq!(layout(&layouts, at, &BTreeSet::new()).unwrap().name, "atomic_t", "it has no other name");
    assert_eq!(structure_at(&layouts, layouts.variable("number").unwrap(), 0), None);
}

proptest! {
    /// Damaged types are refused, or have some answer for each question.
    #[test]
    fn damage_does_no_harm(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), byte in 0..200u64) {
        let mut bytes = written().bytes();
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Ok(layouts) = BtfTypes::parse(&bytes) {
            for at in layouts.structures().chain([TypeId(0), TypeId(1), TypeId(u32::MAX)]) {
                layouts.path(at, byte);
                layouts.size(at);
                layouts.field(at, "first.owner");
                layouts.pointers(at, byte);
                layouts.first_member(at);
                layout(&layouts, at, &BTreeSet::from([0, byte, u64::MAX]));
                structure_at(&layouts, at, byte);
            }
        }
    }
}
