//! Large pages, of two pages each; a space has two. Divides the entry against all concurrent
//! operations on it, without a limit of preemptions; then runs a CPU's whole code, as in `pages`.

use super::pages::{Board, access, alone, boot_with, end, take_away};
use super::{explore, explore_up_to, pages};
use crate::address::{Rights, VirtualPage};
use crate::counters::Event;
use crate::error::FaultError;
use crate::hosted::{PageTable, RetiredTables};
use crate::machine::Pmap;
use crate::test_frames::List;
use faultline_numbers::{CpuNumber, FrameNumber};
use loom::sync::Arc;
use loom::thread;

const BOTH: Rights = Rights::from_bits(3);

/// Tables with a large entry of the pages 2 and 3, to the frames 2 and 3.
fn table() -> Arc<PageTable> {
    let (table, mut retired) = (PageTable::try_new(crate::hosted::PAGES).unwrap(), RetiredTables::default());
    table.enter_large(VirtualPage(2), FrameNumber(2), BOTH, &mut retired).unwrap();
    Arc::new(table)
}

/// Each of two CPUs changes the entry of a page of its own.
#[test]
fn a_large_entry_is_divided_by_two() {
    explore(|| {
        let table = table();
        let its = table.clone();
        let other = thread::spawn(move || {
            let mut retired = RetiredTables::default();
            its.divide(VirtualPage(3));
            assert_eq!(its.remove(VirtualPage(3), &mut retired).map(|entry| entry.frame), Some(FrameNumber(3)));
            assert!(PageTable::is_empty(&retired));
        });
        table.divide(VirtualPage(2));
        assert_eq!(table.protect(VirtualPage(2), Rights::READ).map(|entry| entry.rights), Some(BOTH));
        other.join().unwrap();
        let left = table.query(VirtualPage(2)).unwrap();
        assert_eq!((left.frame, left.rights, table.query(VirtualPage(3))), (FrameNumber(2), Rights::READ, None));
    });
}

/// A CPU writes through the entry: later changes of it must see the dirty bit.
#[test]
fn a_large_entry_is_divided_while_a_cpu_writes() {
    explore(|| {
        let table = table();
        let its = table.clone();
        let other = thread::spawn(move || its.walk(VirtualPage(3), Rights::WRITE).unwrap().frame);
        table.divide(VirtualPage(2));
        assert_eq!(other.join().unwrap(), FrameNumber(3));
        assert!(table.query(VirtualPage(3)).unwrap().dirty, "a write is forgotten");
    });
}

/// A page daemon harvests the accessed bits.
#[test]
fn a_large_entry_is_divided_while_its_use_is_asked_for() {
    explore(|| {
        let table = table();
        assert!(table.walk(VirtualPage(2), Rights::READ).is_some());
        let its = table.clone();
        let other = thread::spawn(move || {
            its.harvest_large(VirtualPage(3)).or_else(|| its.harvest(VirtualPage(3))).unwrap().accessed
        });
        table.divide(VirtualPage(2));
        assert!(other.join().unwrap());
        assert!(!table.query(VirtualPage(3)).unwrap().accessed);
    });
}

/// Two CPUs make the first writes to the two pages of a range.
#[test]
fn a_large_page_is_made_by_one_of_two() {
    explore_up_to(Some(3), || {
        let Board { cpus: [mine, its], space, list, .. } = boot_with(List::of(4).with_large());
        its.activate(&space).unwrap();
        mine.map(&space, pages(0, 2), BOTH).unwrap();
        let space = Arc::new(space);
        let its_space = space.clone();
        let other = thread::spawn(move || {
            assert_eq!(access(&its, &its_space, 1, Some(8)), Ok(0));
            its.deactivate(&its_space);
        });
        assert_eq!(access(&mine, &space, 0, Some(7)), Ok(0));
        other.join().unwrap();
        assert_eq!((access(&mine, &space, 0, None), access(&mine, &space, 1, None)), (Ok(7), Ok(8)));
        assert_eq!((mine.memory().counters().of(Event::LargeFill), list.free()), (1, 2));
        end(&mine, [alone(space)], [], &list, 4);
    });
}

/// A page daemon wants a frame of it before it is mapped.
#[test]
fn a_large_page_is_made_and_a_page_daemon_looks() {
    explore_up_to(Some(2), || {
        let Board { cpus: [mine, its], space, list, .. } = boot_with(List::of(4).with_large());
        mine.map(&space, pages(0, 2), BOTH).unwrap();
        let other = thread::spawn(move || take_away(&its, 0, true));
        let mut written = access(&mine, &space, 0, Some(7));
        other.join().unwrap();
        if let Err(FaultError::Wait(_)) = written {
            written = access(&mine, &space, 0, Some(7));
        }
        assert_eq!(written, Ok(0));
        assert_eq!(access(&mine, &space, 0, None), Ok(7));
        assert_eq!(mine.memory().counters().of(Event::LargeFill), 1);
        end(&mine, [space], [], &list, 4);
    });
}

/// One page of it is unmapped while the other is written to.
#[test]
fn a_part_is_unmapped_and_the_other_written() {
    explore_up_to(Some(3), || {
        let Board { cpus: [mine, its], space, list, .. } = boot_with(List::of(2).with_large());
        its.activate(&space).unwrap();
        mine.map(&space, pages(0, 2), BOTH).unwrap();
        assert_eq!(access(&mine, &space, 1, Some(7)), Ok(0));
        let space = Arc::new(space);
        let its_space = space.clone();
        let other = thread::spawn(move || {
            assert_eq!(access(&its, &its_space, 1, Some(8)), Ok(7));
            its.deactivate(&its_space);
        });
        mine.unmap(&space, pages(0, 1)).unwrap();
        let found = access(&mine, &space, 0, None);
        other.join().unwrap();
        assert_eq!(found, Err(FaultError::NotMapped));
        assert_eq!((access(&mine, &space, 1, None), list.free()), (Ok(8), 1));
        end(&mine, [alone(space)], [], &list, 2);
    });
}

/// One page of it goes to the swap area, and then the other, while that is written to.
#[test]
fn a_part_is_swapped_and_the_other_written() {
    explore_up_to(Some(3), || {
        let Board { cpus: [mine, its], space, list, .. } = boot_with(List::of(4).with_large());
        mine.map(&space, pages(0, 2), BOTH).unwrap();
        assert_eq!((access(&mine, &space, 0, Some(6)), access(&mine, &space, 1, Some(7))), (Ok(0), Ok(0)));
        let frame = space.pmap(CpuNumber(0)).unwrap().query(VirtualPage(0)).unwrap().frame.0 as u32;
        let other = thread::spawn(move || take_away(&its, frame, true));
        assert_eq!(access(&mine, &space, 1, Some(8)), Ok(7));
        assert!(other.join().unwrap());
        assert_eq!(space.pmap(CpuNumber(0)).unwrap().query(VirtualPage(0)), None);
        assert_eq!((access(&mine, &space, 0, None), access(&mine, &space, 1, None)), (Ok(6), Ok(8)));
        assert!(take_away(&mine, frame + 1, true));
        assert_eq!(access(&mine, &space, 1, None), Ok(8));
        end(&mine, [space], [], &list, 4);
    });
}

/// A write after a fork: the child has the contents from before the fork, and none written later.
#[test]
fn a_fork_and_a_write() {
    explore_up_to(Some(3), || {
        let Board { cpus: [mine, its], space, list, .. } = boot_with(List::of(4).with_large());
        its.activate(&space).unwrap();
        mine.map(&space, pages(0, 2), BOTH).unwrap();
        assert_eq!(access(&mine, &space, 1, Some(7)), Ok(0));
        assert_eq!(access(&its, &space, 1, Some(7)), Ok(7), "in its TLB, too");
        let space = Arc::new(space);
        let its_space = space.clone();
        let other = thread::spawn(move || {
            assert_eq!(access(&its, &its_space, 1, Some(8)), Ok(7));
            its.deactivate(&its_space);
        });
        let child = mine.fork(&space).unwrap();
        mine.activate(&child).unwrap();
        let found = access(&mine, &child, 1, None).unwrap();
        assert!(found == 7 || found == 8);
        other.join().unwrap();
        assert_eq!((access(&mine, &space, 1, None), access(&mine, &child, 1, None)), (Ok(8), Ok(found)));
        end(&mine, [alone(space), child], [], &list, 4);
    });
}
