//! Transfers by type, with the layout of each type and the figures of its members.

use crate::lens::cells::{CaseReadings, CellReadings, cases, transfers};
use crate::lens::figures::{code_of, share};
use crate::lens::layout_rows::{lines, moved};
use crate::lens::proposal::proposed;
use crate::lens::type_view::TypeView;
use crate::lens::types::{CellTypes, LayoutLine, LensTypes, RowKind, TypeFigures, TypesFigures, UntypedFigures};
use crate::progress::standings;
use faultline_record::lens::by_type::{ByType, UntypedTransfers};
use faultline_record::lens::reading::Reading;
use faultline_record::record::RunRecord;
use std::collections::BTreeSet;

/// Reason why there are no figures by type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypesError {
    /// No case has figures at this number of CPUs.
    #[error("run {run} has no figures at {cpus} CPUs")]
    NoSuchCount {
        /// The run.
        run: i64,
        /// The number.
        cpus: u32,
    },
    /// No attempt gave figures.
    #[error("run {run} has no figures")]
    NoFigures {
        /// The run.
        run: i64,
    },
    /// No object of this type moved.
    #[error("no data of type '{name}' moved in run {run}")]
    NoSuchType {
        /// The run.
        run: i64,
        /// The name.
        name: String,
        /// The types with the most transfers.
        known: Vec<String>,
    },
}

/// Number of types named in a message.
const KNOWN: usize = 5;

/// The types of a run: of each case at `cpus`, or at its largest number of CPUs with figures.
/// `asked`: names of types; all if empty. Fails if there are no figures by type there, or if no
/// object of a type moved.
pub fn types(record: &RunRecord, asked: &[String], cpus: Option<u32>) -> Result<LensTypes, TypesError> {
    let run = record.id.0;
    let standings = standings(record);
    let cells: Vec<CellTypes> =
        cases(record, &standings).iter().filter_map(|case| cell_types(case, asked, cpus)).collect();
    if cells.is_empty() {
        return Err(cpus.map_or(TypesError::NoFigures { run }, |cpus| TypesError::NoSuchCount { run, cpus }));
    }
    let is_known = |name: &&String| cells.iter().any(|cell| cell.types.types.iter().any(|of| of.name == **name));
    if let Some(name) = asked.iter().find(|name| !is_known(name)) {
        let known = known(record, cpus);
        return Err(TypesError::NoSuchType { run, name: name.clone(), known });
    }
    Ok(LensTypes { format: LensTypes::FORMAT.to_owned(), run: record.id, asked: asked.to_vec(), cells })
}

fn known(record: &RunRecord, cpus: Option<u32>) -> Vec<String> {
    let standings = standings(record);
    let cases = cases(record, &standings);
    let cells = cases.iter().filter_map(|case| Some(&shown(case, cpus)?.typical()?.by_type));
    let names: BTreeSet<String> =
        cells.flat_map(|by_type| by_type.types.iter().take(KNOWN).map(|of| of.layout.name.clone())).collect();
    names.into_iter().collect()
}

/// The cell of a case that is shown.
fn shown<'a, 'b>(case: &'b CaseReadings<'a>, cpus: Option<u32>) -> Option<&'b CellReadings<'a>> {
    let is_wanted = |cell: &&CellReadings<'_>| !cell.readings.is_empty() && cpus.is_none_or(|cpus| cell.cpus == cpus);
    case.cells.iter().rev().find(is_wanted)
}

fn cell_types(case: &CaseReadings<'_>, asked: &[String], cpus: Option<u32>) -> Option<CellTypes> {
    let cell = shown(case, cpus)?;
    let reading = cell.typical()?;
    let mut types = whole(reading, &reading.by_type);
    if !asked.is_empty() {
        let views = asked.iter().filter_map(|name| TypeView::named(&reading.by_type, name));
        types.types = views.map(|view| type_figures(reading, &view)).collect();
    }
    Some(CellTypes {
        case: case.case.clone(),
        operation: case.about.operation.clone(),
        cpus: cell.cpus,
        seed: reading.seed,
        transfers: transfers(reading),
        untyped: reading.untyped.clone(),
        types,
    })
}

/// All types of a reading.
fn whole(reading: &Reading, by_type: &ByType) -> TypesFigures {
    let views: Vec<TypeView> = by_type.types.iter().map(TypeView::own).collect();
    let typed: u64 = views.iter().map(|view| view.transfers().total()).sum();
    TypesFigures {
        number: views.len() as u64,
        types: views.iter().map(|view| type_figures(reading, view)).collect(),
        typed_share: share(typed, reading.totals.transfers),
        untyped: by_type.untyped.iter().map(|of| untyped(reading, of)).collect(),
    }
}

/// Smallest share of all transfers of a line in a run's summary.
const LINE_SHARE: f64 = 0.001;

/// The first types of a reading, for a run's summary. `None` without types.
pub(crate) fn first(reading: &Reading, number: usize) -> TypesFigures {
    let by_type = &reading.by_type;
    let views = by_type.types.iter().take(number).map(TypeView::own);
    let mut types: Vec<TypeFigures> = views.map(|view| type_figures(reading, &view)).collect();
    let least = LINE_SHARE * transfers(reading);
    let is_hot = |line: &LayoutLine| line.moved.transfers > 0.0 && line.moved.transfers >= least;
    types.iter_mut().for_each(|of| of.lines.retain(is_hot));
    let few = ByType { types: Vec::new(), untyped: by_type.untyped.clone() };
    let typed: u64 = by_type.types.iter().map(|of| TypeView::own(of).transfers().total()).sum();
    TypesFigures {
        number: by_type.types.len() as u64,
        types,
        typed_share: share(typed, reading.totals.transfers),
        ..whole(reading, &few)
    }
}

/// All objects of a type; `None` if none moved.
pub(crate) fn named(reading: &Reading, name: &str) -> Option<TypeFigures> {
    let view = TypeView::named(&reading.by_type, name)?;
    Some(type_figures(reading, &view))
}

fn untyped(reading: &Reading, of: &UntypedTransfers) -> UntypedFigures {
    UntypedFigures {
        what: of.what.clone(),
        moved: moved(reading, of.reads, of.writes),
        share: share(of.reads.total() + of.writes.total(), reading.totals.transfers),
    }
}

fn type_figures(reading: &Reading, view: &TypeView) -> TypeFigures {
    let lines = lines(reading, view);
    let all = view.transfers().total();
    let rows = || lines.iter().flat_map(|line| &line.rows).filter(|row| !row.is_continued);
    let unused = rows().filter(|row| matches!(row.kind, RowKind::Hole | RowKind::Padding)).map(|row| row.size);
    let unused_bytes = unused.sum();
    let hottest = rows().filter(|row| row.moved.transfers > 0.0 && !row.path.is_empty());
    // The first of equal ones.
    let hottest = hottest.rev().max_by(|a, b| a.moved.transfers.total_cmp(&b.moved.transfers));
    TypeFigures {
        keyword: view.layout.keyword,
        name: view.layout.name.clone(),
        is_alias: view.layout.is_alias,
        size: view.layout.size,
        unused_bytes,
        moved: moved(reading, view.reads(), view.writes()),
        share: share(all, reading.totals.transfers),
        begins: view.begins.clone(),
        within: view.within.clone(),
        beside: reading.per_operation(view.accesses.iter().map(|access| access.beside).sum()),
        hottest: hottest.map(|row| row.path.clone()),
        line_count: lines.len() as u32,
        code: code_of(reading, view.accesses.iter().flat_map(|access| &access.by_site), all),
        lines,
        proposed: proposed(reading, view),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lens::example::{self, access, member, mm_struct};
    use crate::lens::types::LayoutRow;
    use crate::summarise;
    use faultline_record::lens::by_type::{Begins, Sharing, TypeAccess, TypeReading, Untypeable, Used};
    use faultline_record::lens::layout::{Inner, Keyword, Layout, Member};

    /// A run of one cell with 1000 operations.
    fn record(types: Vec<TypeReading>, untyped: Vec<UntypedTransfers>) -> RunRecord {
        let mut record = example::record(&[(2, 0.1), (8, 0.1)]);
        record.attempts[1].reading.as_mut().unwrap().by_type = ByType { types, untyped };
        record
    }

    fn only(record: &RunRecord, asked: &[&str]) -> TypeFigures {
        let asked: Vec<String> = asked.iter().map(|name| (*name).to_owned()).collect();
        types(record, &asked, None).unwrap().cells[0].types.types.clone().remove(0)
    }

    fn row<'a>(of: &'a TypeFigures, path: &str) -> &'a LayoutRow {
        let mut rows = of.lines.iter().flat_map(|line| &line.rows);
        rows.find(|row| row.path == path && !row.is_continued).unwrap()
    }

    #[test]
    fn each_member_has_its_transfers_on_its_line() {
        let mut counts = access(64, 30, 10);
        counts.reads = Sharing { true_sharing: 10, false_sharing: 20 };
        counts.others = vec![Used { offset: 72, size: 4, transfers: 25 }, Used { offset: 76, size: 4, transfers: 40 }];
        let of = only(&record(vec![mm_struct(vec![access(8, 0, 20), counts, access(72, 40, 0)])], Vec::new()), &[]);
        assert_eq!((of.moved.transfers, of.share, of.hottest.as_deref()), (0.1, 1.0, Some("mmap_lock.count")));
        let lines: Vec<_> = of.lines.iter().map(|line| (line.from, line.moved.transfers, line.members)).collect();
        assert_eq!(lines, [(0, 0.02, 2), (64, 0.08, 2)]);
        let count = row(&of, "mmap_lock.count");
        assert_eq!((count.moved.reads, count.moved.writes, count.moved.false_share), (0.03, 0.01, 0.5));
        assert_eq!((count.used_by_others, row(&of, "mmap_lock.owner").used_by_others), (0.0, 0.04), "its busiest word");
        assert_eq!((count.depth, count.code[0].name.as_str(), count.code[0].share), (1, "work main.c:10", 1.0));
        assert_eq!(row(&of, "mmap_lock").moved.transfers, 0.0, "its members have them");
        assert_eq!(of.lines[0].rows.iter().chain(&of.lines[1].rows).map(|row| row.moved.transfers).sum::<f64>(), 0.1);
    }

    #[test]
    fn holes_and_padding_are_where_no_member_is() {
        let of =
            only(&record(vec![mm_struct(vec![access(4, 1, 0), access(80, 2, 0), access(88, 3, 0)])], Vec::new()), &[]);
        let gaps: Vec<_> = of
            .lines
            .iter()
            .flat_map(|line| &line.rows)
            .filter(|row| !matches!(row.kind, RowKind::Member | RowKind::Outer))
            .map(|row| (row.kind, row.offset, row.size, row.moved.reads))
            .collect();
        let hole = (RowKind::Hole, 4, 4, 0.001);
        let large = (RowKind::Hole, 16, 48, 0.0);
        let (padding, behind) = ((RowKind::Padding, 80, 4, 0.002), (RowKind::Behind, 84, 12, 0.003));
        assert_eq!((gaps, of.unused_bytes), (vec![hole, large, padding, behind], 56));
    }

    #[test]
    fn lines_are_those_of_where_most_objects_begin() {
        let begins = vec![Begins { at: 56, objects: 9 }, Begins { at: 0, objects: 1 }];
        let of = TypeReading { begins, ..mm_struct(vec![access(0, 1, 0), access(8, 5, 0), access(72, 2, 0)]) };
        let of = only(&record(vec![of], Vec::new()), &[]);
        let lines: Vec<_> = of.lines.iter().map(|line| (line.from, line.moved.transfers)).collect();
        assert_eq!(lines, [(-56, 0.001), (8, 0.005), (72, 0.002)]);
        let lock: Vec<_> = of.lines.iter().flat_map(|line| &line.rows).filter(|row| row.path == "mmap_lock").collect();
        assert_eq!(lock.iter().map(|row| row.is_continued).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn a_type_is_found_within_others_too() {
        let own = Layout {
            keyword: Keyword::Struct,
            is_alias: false,
            name: "rw_semaphore".into(),
            size: 16,
            members: vec![member("count", "long", 0, 8), member("owner", "long", 8, 8)],
        };
        let own =
            TypeReading { layout: own, begins: vec![Begins { at: 0, objects: 1 }], accesses: vec![access(8, 5, 0)] };
        let mut waits = access(72, 3, 0);
        let used = |offset, transfers| Used { offset, size: 4, transfers };
        waits.others = vec![used(8, 2), used(64, 1)];
        let record = record(vec![mm_struct(vec![access(8, 90, 0), waits]), own], Vec::new());
        let of = only(&record, &["rw_semaphore"]);
        assert_eq!(
            (of.moved.reads, of.within.as_slice(), of.size),
            (0.008, &["mm_struct.mmap_lock".to_owned()][..], 16)
        );
        assert_eq!((row(&of, "owner").moved.reads, row(&of, "count").used_by_others, of.beside), (0.008, 0.001, 0.002));
        assert_eq!(only(&record, &["mm_struct"]).moved.reads, 0.093, "with its lock");
        let without_keyword = |name: &str| only(&record, &[name]).is_alias;
        assert_eq!(["rw_semaphore", "rwsem_t", "atomic_t"].map(without_keyword), [false, true, true]);
        let sum: f64 = only_all(&record).types.iter().map(|of| of.share).sum();
        assert!((sum - 0.98).abs() < 1e-9, "each transfer counts for one type: {sum}");
    }

    fn only_all(record: &RunRecord) -> TypesFigures {
        types(record, &[], None).unwrap().cells[0].types.clone()
    }

    #[test]
    fn of_a_union_the_first_member_with_the_byte_counts() {
        let inner = |keyword, members| Some(Inner { keyword: Some(keyword), members });
        let union = Member {
            name: None,
            inner: inner(Keyword::Union, vec![member("lru", "long", 0, 8), member("index", "long", 0, 8)]),
            ..member("", "union", 0, 8)
        };
        let layout =
            Layout { keyword: Keyword::Struct, name: "page".into(), is_alias: false, size: 8, members: vec![union] };
        let page = TypeReading { layout, begins: Vec::new(), accesses: vec![access(0, 4, 0)] };
        let of = only(&record(vec![page], Vec::new()), &[]);
        assert_eq!((row(&of, "lru").moved.reads, row(&of, "index").moved.reads), (0.004, 0.0));
        let keywords: Vec<_> = of.lines[0].rows.iter().map(|row| row.keyword).collect();
        assert_eq!(keywords, [Some(Keyword::Union), None, None]);
    }

    #[test]
    fn what_has_no_type_completes_the_whole() {
        let reads = Sharing { true_sharing: 25, false_sharing: 0 };
        let contents = UntypedTransfers { what: Untypeable::PageContents, reads, writes: Sharing::default() };
        let record = record(vec![mm_struct(vec![access(0, 75, 0)])], vec![contents]);
        let all = only_all(&record);
        assert_eq!((all.number, all.typed_share, all.untyped[0].share), (1, 0.75, 0.25));
        let summary = summarise(&record).lens.unwrap();
        let [without, shown] = &summary.curves[0].points[..] else { panic!() };
        let shown = shown.types.as_ref().unwrap();
        let of_all = &only(&record, &["mm_struct"]).lines;
        assert_eq!(of_all.iter().map(|line| line.number).collect::<Vec<_>>(), [0, 1]);
        assert_eq!((&without.types, shown.typed_share, shown.untyped[0].moved.reads), (&None, 0.75, 0.025));
        let of = &shown.types[0];
        let lines: Vec<u32> = of.lines.iter().map(|line| line.number).collect();
        assert_eq!((lines, of.line_count), (vec![0], 2), "a line of which nothing moved is left out");
    }

    #[test]
    fn missing_parts_are_reported() {
        let run = record(vec![mm_struct(vec![access(0, 1, 0)])], Vec::new());
        let error =
            |record: &RunRecord, asked: &str, cpus| types(record, &[asked.to_owned()], cpus).unwrap_err().to_string();
        let id = run.id;
        assert_eq!(error(&run, "zone", None), format!("no data of type 'zone' moved in run {id}"));
        assert_eq!(error(&run, "mm_struct", Some(3)), format!("run {id} has no figures at 3 CPUs"));
        assert_eq!(error(&run, "mm_struct", Some(2)), format!("no data of type 'mm_struct' moved in run {id}"));
        let mut none = run.clone();
        none.attempts.iter_mut().for_each(|attempt| attempt.reading = None);
        assert_eq!(error(&none, "mm_struct", None), format!("run {id} has no figures"));
        let mut odd: TypeAccess = access(0, 1, 0);
        odd.offset = 500;
        assert_eq!(only(&record(vec![mm_struct(vec![odd])], Vec::new()), &[]).lines.last().unwrap().rows.len(), 1);
    }
}
