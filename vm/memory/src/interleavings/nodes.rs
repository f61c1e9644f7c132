//! Nodes that become empty: taken out and freed while another CPU walks or fills them, running a
//! CPU's whole code, in all orders with at most two or three preemptions. Here a CPU remembers one
//! place, and keeps one node.

use super::pages::{Board, access, alone, boot_with, end};
use super::{explore_up_to, pages};
use crate::address::{Rights, VirtualPage};
use crate::error::FaultError;
use crate::test_frames::List;
use loom::sync::Arc;
use loom::thread;

const BOTH: Rights = Rights::from_bits(3);

/// A CPU takes out the empty leaf of a place that it forgets, while another maps a page in it.
#[test]
fn an_empty_leaf_and_a_mapping_in_it() {
    explore_up_to(Some(3), || {
        let Board { cpus: [mine, its], space, list, .. } = boot_with(List::of(2));
        its.activate(&space).unwrap();
        mine.map(&space, pages(0, 1), BOTH).unwrap();
        mine.unmap(&space, pages(0, 1)).unwrap();
        let space = Arc::new(space);
        let its_space = space.clone();
        let other = thread::spawn(move || {
            its.map(&its_space, pages(1, 1), BOTH).unwrap();
            assert_eq!(access(&its, &its_space, 1, Some(7)), Ok(0));
            its.deactivate(&its_space);
        });
        mine.unmap(&space, pages(2, 1)).unwrap();
        other.join().unwrap();
        assert_eq!((access(&mine, &space, 1, None), list.free()), (Ok(7), 1));
        end(&mine, [alone(space)], [], &list, 2);
    });
}

/// A CPU takes out one leaf and then another, and frees both, while another CPU walks the first.
#[test]
fn leaves_that_are_freed_and_a_walk() {
    explore_up_to(Some(2), || {
        let Board { cpus: [mine, its], space, list, .. } = boot_with(List::of(1));
        its.activate(&space).unwrap();
        mine.map(&space, pages(0, 1), BOTH).unwrap();
        mine.map(&space, pages(2, 1), BOTH).unwrap();
        let space = Arc::new(space);
        let its_space = space.clone();
        let other = thread::spawn(move || {
            assert_eq!(its.fault(&its_space, VirtualPage(1), Rights::READ), Err(FaultError::NotMapped));
            its.deactivate(&its_space);
        });
        mine.unmap(&space, pages(0, 2)).unwrap();
        mine.unmap(&space, pages(2, 2)).unwrap();
        other.join().unwrap();
        end(&mine, [alone(space)], [], &list, 1);
    });
}

/// A CPU notes bounds of a full space up to its page `theirs`, while another unmaps a page, and
/// then perhaps notes those of a range `mine`: afterwards no note hides the hole.
fn notes_and_a_new_hole(theirs: u64, mine: Option<(u64, u64)>) {
    explore_up_to(Some(3), move || {
        let Board { cpus: [cpu, other], space, list, .. } = boot_with(List::of(1));
        other.activate(&space).unwrap();
        for (first, count) in [(0, 1), (1, 1), (2, 2)] {
            cpu.map(&space, pages(first, count), BOTH).unwrap();
        }
        let space = Arc::new(space);
        let its_space = space.clone();
        let thread = thread::spawn(move || {
            // SAFETY: the guard is held, and the space is active.
            other.pinned(|| unsafe { its_space.body().tree.note_passed(0, theirs) });
            other.deactivate(&its_space);
        });
        cpu.unmap(&space, pages(1, 1)).unwrap();
        if let Some((from, to)) = mine {
            // SAFETY: as above.
            cpu.pinned(|| unsafe { space.body().tree.note_passed(from, to) });
        }
        thread.join().unwrap();
        // SAFETY: as above.
        assert!(cpu.pinned(|| unsafe { space.body().tree.skip_full(0, 1) }) <= 1, "the hole is passed over");
        end(&cpu, [alone(space)], [], &list, 1);
    });
}

/// Notes of all nodes.
#[test]
fn a_note_of_full_nodes_and_a_new_hole() {
    notes_and_a_new_hole(4, None);
}

/// A note of a leaf, and one of the root that may come from it.
#[test]
fn a_note_that_comes_from_a_wrong_one() {
    notes_and_a_new_hole(2, Some((2, 4)));
}
