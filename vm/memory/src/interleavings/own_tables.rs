//! Page tables of each CPU: a CPU that uses a page against another that takes it away, by all of a CPU's code, in all orders with at most three
//! preemptions.

use super::pages::{access, alone};
use super::{TestCpu, boot_as, explore_up_to, pages};
use crate::address::Rights;
use crate::error::FaultError;
use crate::hosted::Hosted;
use crate::reverse::Shots;
use crate::space::Space;
use crate::test_frames::List;
use loom::sync::Arc;
use loom::thread;

const BOTH: Rights = Rights::from_bits(3);

type TestSpace = Space<'static, Hosted>;

fn boot(frames: u32) -> ([TestCpu; 2], TestSpace, List) {
    boot_as(frames, Hosted::with_tables_of_each_cpu)
}

fn explore(run: impl Fn() + Sync + Send + 'static) {
    explore_up_to(Some(3), run);
}

/// Whether it is the byte, or nothing any more.
fn is_or_is_gone(found: Result<u8, FaultError>, expected: u8) {
    assert!(found == Ok(expected) || found == Err(FaultError::NotMapped), "{found:?}");
}

fn end(cpu: &TestCpu, space: TestSpace, list: &List, frames: u32) {
    cpu.deactivate(&space);
    assert!(cpu.exit(space).is_ok());
    assert_eq!(list.free(), frames, "all frames are back");
}

/// A CPU uses a page that it has used before, while another unmaps it: the frame goes back when the first can use it no longer.
#[test]
fn a_use_and_an_unmap_by_another_cpu() {
    explore(|| {
        let ([mine, its], space, list) = boot(1);
        mine.map(&space, pages(0, 1), BOTH).unwrap();
        assert_eq!(access(&its, &space, 0, Some(7)), Ok(0));
        let space = Arc::new(space);
        let its_space = space.clone();
        let other = thread::spawn(move || {
            is_or_is_gone(access(&its, &its_space, 0, None), 7);
            its.deactivate(&its_space);
        });
        mine.unmap(&space, pages(0, 1)).unwrap();
        assert_eq!(list.free(), 1);
        other.join().unwrap();
        end(&mine, alone(space), &list, 1);
    });
}

/// A CPU uses a page for the first time, while another that has used it unmaps it.
#[test]
fn a_first_use_and_an_unmap_by_another_cpu() {
    explore(|| {
        let ([mine, its], space, list) = boot(1);
        mine.map(&space, pages(0, 1), BOTH).unwrap();
        assert_eq!(access(&mine, &space, 0, Some(7)), Ok(0));
        let space = Arc::new(space);
        let its_space = space.clone();
        let other = thread::spawn(move || {
            is_or_is_gone(access(&its, &its_space, 0, None), 7);
            its.deactivate(&its_space);
        });
        mine.unmap(&space, pages(0, 1)).unwrap();
        assert_eq!(list.free(), 1);
        other.join().unwrap();
        end(&mine, alone(space), &list, 1);
    });
}

/// A CPU on which the space is active no longer has page tables that know a page. It comes back while another unmaps the page.
#[test]
fn an_activation_and_an_unmap_by_another_cpu() {
    explore(|| {
        let ([mine, its], space, list) = boot(1);
        mine.map(&space, pages(0, 1), BOTH).unwrap();
        assert_eq!(access(&its, &space, 0, Some(7)), Ok(0));
        its.deactivate(&space);
        let space = Arc::new(space);
        let its_space = space.clone();
        let other = thread::spawn(move || {
            its.activate(&its_space).unwrap();
            is_or_is_gone(access(&its, &its_space, 0, None), 7);
            its.deactivate(&its_space);
        });
        mine.unmap(&space, pages(0, 1)).unwrap();
        assert_eq!(list.free(), 1);
        other.join().unwrap();
        end(&mine, alone(space), &list, 1);
    });
}

/// A CPU looks for an entry that is not there any more in another's page tables, while that CPU frees a table on the way.
#[test]
fn a_look_into_page_tables_and_a_table_that_is_freed() {
    explore(|| {
        let ([mine, its], space, list) = boot(2);
        mine.map(&space, pages(0, 2), BOTH).unwrap();
        assert_eq!((access(&its, &space, 0, Some(7)), access(&its, &space, 1, Some(8))), (Ok(0), Ok(0)));
        // As a page daemon that finds the page wired. The list's last frame was the first.
        let hold = mine.hold(1, |_| true).unwrap();
        let mut shots = Shots::none();
        mine.take_translations(&hold, &mut shots);
        mine.fire(&mut shots);
        mine.drop_hold(hold);
        let space = Arc::new(space);
        let its_space = space.clone();
        let other = thread::spawn(move || {
            its.unmap(&its_space, pages(1, 1)).unwrap();
            its.deactivate(&its_space);
        });
        mine.unmap(&space, pages(0, 1)).unwrap();
        other.join().unwrap();
        assert_eq!(list.free(), 2);
        end(&mine, alone(space), &list, 2);
    });
}
