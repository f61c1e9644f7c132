//! Made-up figures by type: a structure with a lock on its second line, one that begins at several places of a line, and data without a
//! type.

use super::{case, place};
use faultline_model::cell::TaskMode;
use faultline_model::lens::by_type::{Begins, Untypeable};
use faultline_model::lens::layout::{Bits, Keyword};
use faultline_model::lens::place::Place;
use faultline_model::lens::types::{
    CellTypes, LayoutLine, LayoutRow, LensTypes, Moved, RowKind, TypeFigures, TypesFigures, UntypedFigures,
};
use faultline_model::record::RunId;

fn moved(reads: f64, writes: f64, false_share: f64) -> Moved {
    Moved { transfers: reads + writes, reads, writes, false_share }
}

fn code(names: &[(&str, f64)]) -> Vec<Place> {
    names.iter().map(|(name, share)| Place { false_share: None, ..place(name, None, *share, 1.0) }).collect()
}

/// A member that nothing moves.
fn row(depth: u32, path: &str, of: &str, offset: u64, size: u64) -> LayoutRow {
    LayoutRow {
        kind: RowKind::Member,
        depth,
        name: Some(path.rsplit('.').next().unwrap_or(path).into()).filter(|name: &String| !name.is_empty()),
        path: path.into(),
        of: of.into(),
        keyword: None,
        offset,
        size,
        bits: None,
        is_continued: false,
        moved: Moved::default(),
        used_by_others: 0.0,
        code: Vec::new(),
    }
}

fn hot(row: LayoutRow, moved: Moved, used_by_others: f64, names: &[(&str, f64)]) -> LayoutRow {
    LayoutRow { moved, used_by_others, code: code(names), ..row }
}

fn gap(kind: RowKind, offset: u64, size: u64) -> LayoutRow {
    LayoutRow { kind, name: None, ..row(0, "", "", offset, size) }
}

fn outer(keyword: Keyword, row: LayoutRow) -> LayoutRow {
    LayoutRow { kind: RowKind::Outer, keyword: Some(keyword), ..row }
}

fn continued(row: LayoutRow) -> LayoutRow {
    LayoutRow { is_continued: true, ..row }
}

fn line(number: u32, from: i64, moved: Moved, members: u32, rows: Vec<LayoutRow>) -> LayoutLine {
    LayoutLine { number, from, moved, members, rows }
}

/// A structure whose lock shares its line with what is read without it.
fn mm_struct() -> TypeFigures {
    let lock = || outer(Keyword::Struct, row(0, "mmap_lock", "struct rw_semaphore", 120, 40));
    let first = vec![
        outer(Keyword::Struct, row(0, "mm_users", "atomic_t", 64, 4)),
        hot(row(1, "mm_users.counter", "int", 64, 4), moved(0.25, 0.0, 1.0), 0.0, &[("get_task_mm", 1.0)]),
        LayoutRow { bits: Some(Bits { first: 3, count: 2 }), ..row(0, "dumpable", "unsigned int", 68, 1) },
        gap(RowKind::Hole, 69, 3),
        row(0, "mmap", "struct vm_area_struct *", 72, 48),
        lock(),
        outer(Keyword::Struct, row(1, "mmap_lock.count", "atomic_long_t", 120, 8)),
        hot(
            row(2, "mmap_lock.count.counter", "long", 120, 8),
            moved(0.5, 2.0, 0.1),
            2.25,
            &[("down_write", 0.6), ("up_write", 0.4)],
        ),
    ];
    let union = || outer(Keyword::Union, row(1, "mmap_lock.wait_lock", "union", 136, 4));
    let second = vec![
        continued(lock()),
        hot(row(1, "mmap_lock.owner", "long", 128, 8), moved(1.5, 0.25, 0.0), 0.75, &[("rwsem_spin_on_owner", 1.0)]),
        union(),
        hot(row(2, "mmap_lock.wait_lock.val", "int", 136, 4), moved(0.0, 0.25, 0.0), 0.25, &[("_raw_spin_lock", 1.0)]),
        row(2, "mmap_lock.wait_lock.locked", "u8", 136, 1),
        row(1, "mmap_lock.wait_list", "struct list_head", 144, 16),
        gap(RowKind::Padding, 160, 8),
    ];
    TypeFigures {
        keyword: Keyword::Struct,
        is_alias: false,
        name: "mm_struct".into(),
        size: 168,
        unused_bytes: 11,
        moved: moved(2.25, 2.5, 0.105),
        share: 0.475,
        begins: vec![Begins { at: 0, objects: 2 }],
        within: Vec::new(),
        beside: 0.0,
        hottest: Some("mmap_lock.count.counter".into()),
        line_count: 3,
        lines: vec![line(1, 64, moved(0.75, 2.0, 0.18), 3, first), line(2, 128, moved(1.5, 0.5, 0.0), 3, second)],
        code: code(&[("down_write", 0.3), ("rwsem_spin_on_owner", 0.25)]),
    }
}

/// A structure that is smaller than a line and begins anywhere.
fn list_lru_node() -> TypeFigures {
    let rows = vec![
        hot(row(0, "lock", "spinlock_t", 0, 4), moved(0.0, 2.0, 0.0), 2.0, &[("list_lru_add", 1.0)]),
        gap(RowKind::Hole, 4, 4),
        row(0, "nr_items", "long", 8, 8),
        hot(gap(RowKind::Behind, 16, 8), moved(0.5, 0.0, 1.0), 0.0, &[("0xffffffff81234567", 1.0)]),
    ];
    TypeFigures {
        keyword: Keyword::Struct,
        is_alias: false,
        name: "list_lru_node".into(),
        size: 16,
        unused_bytes: 4,
        moved: moved(0.5, 2.0, 0.2),
        share: 0.25,
        begins: vec![Begins { at: 32, objects: 3 }, Begins { at: 0, objects: 1 }],
        within: vec!["super_block.s_inode_lru".into()],
        beside: 0.5,
        hottest: Some("lock".into()),
        line_count: 1,
        lines: vec![line(0, -32, moved(0.5, 2.0, 0.2), 2, rows)],
        code: code(&[("list_lru_add", 0.8)]),
    }
}

/// Types with ten transfers per operation.
pub fn types() -> TypesFigures {
    let untyped = |what, moved: Moved| UntypedFigures { what, moved, share: moved.transfers / 10.0 };
    let few = |what| untyped(what, moved(0.0, 0.05, 0.0));
    let cache = |name: &str| Untypeable::Cache { name: name.into() };
    TypesFigures {
        number: 7,
        types: vec![mm_struct(), list_lru_node()],
        typed_share: 0.8,
        untyped: vec![
            untyped(Untypeable::PageContents, moved(1.0, 0.5, 0.0)),
            untyped(cache("kmalloc-<64>"), moved(0.0, 0.25, 0.5)),
            few(Untypeable::Stacks),
            few(Untypeable::Variables),
            few(Untypeable::PageTables),
            few(Untypeable::Unknown),
            few(cache("kmalloc-8")),
        ],
    }
}

/// A run with these types, and a case that has none.
#[allow(dead_code, reason = "some tests have no use for it")]
pub fn run(asked: &[&str]) -> LensTypes {
    let cell = |variant: &str, types| CellTypes {
        case: case("map_churn", variant, TaskMode::Thread),
        operation: "map".into(),
        cpus: 8,
        seed: Some(1),
        transfers: 10.0,
        untyped: None,
        types,
    };
    LensTypes {
        format: LensTypes::FORMAT.into(),
        run: RunId(12),
        asked: asked.iter().map(|name| (*name).to_owned()).collect(),
        cells: vec![cell("threads", Some(types())), cell("processes", None)],
    }
}
