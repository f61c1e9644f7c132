//! Page tables of each CPU: one CPU uses a page while another takes it away, running a CPU's whole
//! code, in all orders with at most three preemptions.

use super::pages::{access, alone};
use super::{TestCpu, boot_as, explore_up_to, pages};
use crate::address::Rights;
use crate::counters::Event;
use crate::error::FaultError;
use crate::hosted::Hosted;
use crate::reverse::Shots;
use crate::space::Space;
use crate::test_frames::List;
use loom::sync::Arc;
use loom::thread;

const BOTH: Rights = Rights::from_bits(3);

type TestSpace = Space<'static, Hosted>;

fn boot(list: List) -> ([TestCpu; 2], TestSpace, List) {
    boot_as(list, Hosted::with_tables_of_each_cpu)
}

fn explore(run: impl Fn() + Sync + Send + 'static) {
    explore_up_to(Some(3), run);
}

/// True if it is the byte, or the page is gone.
fn is_or_is_gone(found: Result<u8, FaultError>, expected: u8) {
    assert!(found == Ok(expected) || found == Err(FaultError::NotMapped), "{found:?}");
}

/// The first write to a page.
fn write_first(cpu: &TestCpu, space: &TestSpace, page: u64) {
    assert_eq!(access(cpu, space, page, Some(7)), Ok(0));
}

/// The first write to a page, which makes a large one.
fn write_first_large(cpu: &TestCpu, space: &TestSpace, page: u64) {
    write_first(cpu, space, page);
    assert_eq!(cpu.memory().counters().of(Event::LargeFill), 1);
}

fn end(cpu: &TestCpu, space: TestSpace, list: &List, frames: u32) {
    cpu.deactivate(&space);
    assert!(cpu.exit(space).is_ok());
    assert_eq!(list.free(), frames, "all frames are back");
}

/// A CPU uses the last page of a range while another unmaps the range: the frames are freed only
/// after the first can no longer use them. `before` writes to the page, and `come` is what the CPU
/// does before it uses the page. Two pages are a large one.
fn explore_a_use_and_an_unmap(count: u32, before: fn(&[TestCpu; 2], &TestSpace, u64), come: fn(&TestCpu, &TestSpace)) {
    explore(move || {
        let (cpus, space, list) = boot(List::of(count).with_large());
        let (range, last) = (pages(0, count.into()), u64::from(count) - 1);
        cpus[0].map(&space, range, BOTH).unwrap();
        before(&cpus, &space, last);
        let [mine, its] = cpus;
        let space = Arc::new(space);
        let its_space = space.clone();
        let other = thread::spawn(move || {
            come(&its, &its_space);
            is_or_is_gone(access(&its, &its_space, last, None), 7);
            its.deactivate(&its_space);
        });
        mine.unmap(&space, range).unwrap();
        assert_eq!(list.free(), count);
        other.join().unwrap();
        end(&mine, alone(space), &list, count);
    });
}

/// It has used the page before.
#[test]
fn a_use_and_an_unmap_by_another_cpu() {
    explore_a_use_and_an_unmap(1, |[_, its], space, page| write_first(its, space, page), |_, _| {});
}

/// It uses the page for the first time.
#[test]
fn a_first_use_and_an_unmap_by_another_cpu() {
    explore_a_use_and_an_unmap(1, |[mine, _], space, page| write_first(mine, space, page), |_, _| {});
}

/// The space is no longer active on it, but its page tables know the page. It comes back.
#[test]
fn an_activation_and_an_unmap_by_another_cpu() {
    let before = |[_, its]: &[TestCpu; 2], space: &TestSpace, page| {
        write_first(its, space, page);
        its.deactivate(space);
    };
    explore_a_use_and_an_unmap(1, before, |its, space| its.activate(space).unwrap());
}

/// It has made a large page.
#[test]
fn a_use_and_an_unmap_of_a_large_page() {
    explore_a_use_and_an_unmap(2, |[_, its], space, page| write_first_large(its, space, page), |_, _| {});
}

/// It uses a page for the first time that is in a large one of the CPU that unmaps.
#[test]
fn a_first_use_and_an_unmap_of_a_large_page() {
    explore_a_use_and_an_unmap(2, |[mine, _], space, page| write_first_large(mine, space, page), |_, _| {});
}

/// A CPU uses a page that is in another's large one, and unmaps it, while the other writes to the
/// page beside it.
#[test]
fn a_first_use_and_an_unmap_of_a_part_of_a_large_page() {
    explore(|| {
        let ([mine, its], space, list) = boot(List::of(2).with_large());
        mine.map(&space, pages(0, 2), BOTH).unwrap();
        write_first_large(&mine, &space, 1);
        let space = Arc::new(space);
        let its_space = space.clone();
        let other = thread::spawn(move || {
            assert_eq!(access(&its, &its_space, 1, None), Ok(7));
            its.unmap(&its_space, pages(1, 1)).unwrap();
            its.deactivate(&its_space);
        });
        assert_eq!(access(&mine, &space, 0, Some(8)), Ok(0));
        other.join().unwrap();
        assert_eq!(
            (access(&mine, &space, 0, None), access(&mine, &space, 1, None)),
            (Ok(8), Err(FaultError::NotMapped))
        );
        assert_eq!(list.free(), 1);
        end(&mine, alone(space), &list, 2);
    });
}

/// A CPU looks for an entry that is already gone from another's page tables, while that CPU frees a
/// table on the way.
#[test]
fn a_look_into_page_tables_and_a_table_that_is_freed() {
    explore(|| {
        let ([mine, its], space, list) = boot(List::of(2));
        mine.map(&space, pages(0, 2), BOTH).unwrap();
        assert_eq!((access(&its, &space, 0, Some(7)), access(&its, &space, 1, Some(8))), (Ok(0), Ok(0)));
        // Like a page daemon that finds the page wired. The list's last frame was the first.
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
