//! Pagers, the page daemon and truncation: which pages are written, and their fate.

use crate::host::{HostCpu, access};
use crate::store::{Store, on_swapping_machine};
use crate::{BOTH, counted, pages};
use faultline_memory::{Event, FaultError, FrameNumber, Hand, MemoryObject, Rights, Space, SpaceError, hosted::Hosted};
use std::sync::Arc;

const BYTES: usize = 16;

/// A file of 40 pages, mapped shared at page 0 and privately at page 100.
fn with_file(mut run: impl FnMut(&HostCpu<'_, '_>, &Space<'_, Hosted>, &MemoryObject<'_, Hosted>, &Store)) {
    on_swapping_machine(1, 256, BYTES, |cpus| {
        let [cpu] = cpus else { unreachable!() };
        let file = Arc::new(Store::new(cpu.memory().machine().bytes().clone(), |index| index as u8 + 1));
        let object = cpu.new_paged_object(40, file.clone()).unwrap();
        let space = cpu.new_space().unwrap();
        cpu.activate(&space).unwrap();
        cpu.map_object(&space, pages(0, 40), BOTH, &object, 0).unwrap();
        cpu.map_private(&space, pages(100, 40), BOTH, &object, 0).unwrap();
        run(cpu, &space, &object, &file);
        cpu.deactivate(&space);
        assert!(cpu.exit(space).is_ok());
        cpu.drop_object(object);
    });
}

#[test]
fn what_is_dirty_is_written_in_clusters_and_what_is_clean_is_not() {
    with_file(|cpu, space, object, file| {
        let at = |page, write| access(cpu, cpu.memory(), space, page, 3, write);
        for page in 0..40 {
            assert_eq!(at(page, None), Ok(page as u8 + 1));
        }
        (5..25).for_each(|page| assert_eq!(at(page, Some(200)), Ok(page as u8 + 1)));
        cpu.write_back(object, 0, 40).unwrap();
        // Twenty pages, at most sixteen in a cluster.
        assert_eq!((counted(cpu, Event::PageOut), counted(cpu, Event::WriteCluster)), (20, 2));
        assert!((0..40).all(|page| (file.page(page)[3] == 200) == (5..25).contains(&page)));
        cpu.write_back(object, 0, 40).unwrap();
        assert_eq!(counted(cpu, Event::PageOut), 20, "all are clean");
        assert_eq!((object.resident(), counted(cpu, Event::PageIn)), (40, 40));
        let swept = cpu.sweep(&mut Hand::new(0..cpu.frames().index_count()), 40);
        assert_eq!((swept.reclaimed, object.resident(), counted(cpu, Event::PageOut)), (40, 0, 20));
        assert_eq!(at(6, None), Ok(200), "read again");
    });
}

#[test]
fn a_private_copy_is_made_by_the_first_write_and_the_file_keeps_what_it_has() {
    with_file(|cpu, space, object, file| {
        let at = |page, write| access(cpu, cpu.memory(), space, page, 3, write);
        assert_eq!((at(107, None), counted(cpu, Event::Copy)), (Ok(8), 0));
        assert_eq!((at(107, Some(99)), counted(cpu, Event::Copy)), (Ok(8), 1));
        assert_eq!((at(7, Some(50)), at(107, None), at(8, Some(51)), at(108, None)), (Ok(8), Ok(99), Ok(9), Ok(51)));
        cpu.write_back(object, 0, 40).unwrap();
        assert_eq!((file.page(7)[3], counted(cpu, Event::PageOut)), (50, 2));
        cpu.dont_need(space, pages(100, 40)).unwrap();
        assert_eq!(at(107, None), Ok(50), "the copy is gone");
        let device = cpu.new_device_object(1, FrameNumber(0x200)).unwrap();
        assert_eq!(cpu.map_private(space, pages(300, 1), BOTH, &device, 0), Err(SpaceError::Device));
        cpu.drop_object(device);
    });
}

#[test]
fn nothing_is_seen_beyond_a_new_end_and_zeroes_come_after_it() {
    with_file(|cpu, space, object, file| {
        let at = |page, write| access(cpu, cpu.memory(), space, page, 3, write);
        (0..40).for_each(|page| assert_eq!(at(page, Some(100)), Ok(page as u8 + 1)));
        assert_eq!(at(130, Some(7)), Ok(100));
        cpu.truncate(object, 20).unwrap();
        file.truncate(20);
        assert_eq!((at(19, None), at(20, None), at(39, Some(1))), (Ok(100), beyond(), beyond()));
        assert_eq!((at(125, None), at(130, None)), (beyond(), Ok(7)), "a private copy stays");
        assert_eq!((object.pages(), object.resident()), (20, 20));
        cpu.truncate(object, 40).unwrap();
        assert_eq!((at(19, None), at(20, None)), (Ok(100), Ok(0)));
        assert_eq!(cpu.truncate(object, 41), Err(SpaceError::BeyondObject));
    });
}

fn beyond() -> Result<u8, FaultError> {
    Err(FaultError::BeyondObject)
}

#[test]
fn a_page_that_was_read_from_the_swap_area_goes_without_being_written_again() {
    on_swapping_machine(1, 64, BYTES, |cpus| {
        let [cpu] = cpus else { unreachable!() };
        let space = cpu.new_space().unwrap();
        cpu.activate(&space).unwrap();
        cpu.map(&space, pages(0, 30), BOTH).unwrap();
        let at = |page, write| access(cpu, cpu.memory(), &space, page, 3, write);
        (0..30).for_each(|page| assert_eq!(at(page, Some(page as u8)), Ok(0)));
        let mut hand = Hand::new(0..cpu.frames().index_count());
        assert_eq!((cpu.sweep(&mut hand, 30).reclaimed, cpu.frames().free()), (30, 64));
        assert_eq!((counted(cpu, Event::PageOut), counted(cpu, Event::WriteCluster)), (30, 2));
        assert!((0..30).all(|page| at(page, None) == Ok(page as u8)));
        assert_eq!((cpu.sweep(&mut hand, 30).reclaimed, counted(cpu, Event::PageOut)), (30, 30));
        // A write takes the copy in the swap area away.
        assert_eq!((at(4, None), at(4, Some(77)), cpu.memory().swapped()), (Ok(4), Ok(4), 29));
        assert_eq!((cpu.sweep(&mut hand, 1).reclaimed, counted(cpu, Event::PageOut)), (1, 31));
        // A child reads a page of its own.
        let child = cpu.fork(&space).unwrap();
        cpu.activate(&child).unwrap();
        assert_eq!(access(cpu, cpu.memory(), &child, 4, 3, Some(5)), Ok(77));
        assert_eq!(at(4, None), Ok(77));
        for space in [space, child] {
            cpu.deactivate(&space);
            assert!(cpu.exit(space).is_ok());
        }
    });
}

#[test]
fn what_is_used_stays_and_what_forks_share_goes_from_all() {
    on_swapping_machine(2, 128, BYTES, |cpus| {
        let memory = cpus[0].memory();
        let parent = cpus[0].new_space().unwrap();
        cpus[0].activate(&parent).unwrap();
        cpus[0].map(&parent, pages(0, 20), BOTH).unwrap();
        (0..20).for_each(|page| assert_eq!(access(&cpus[0], memory, &parent, page, 0, Some(9)), Ok(0)));
        let child = cpus[0].fork(&parent).unwrap();
        cpus[1].activate(&child).unwrap();
        (0..20).for_each(|page| assert_eq!(access(&cpus[1], memory, &child, page, 0, None), Ok(9)));
        let mut hand = Hand::new(0..cpus[0].frames().index_count());
        // The first round makes pages active, the second one inactive. Page 3 is used after that.
        assert_eq!(cpus[0].sweep(&mut hand, 0), Default::default());
        while counted(&cpus[0], Event::Reclaimed) < 19 {
            // Its TLB would keep the page from being seen as used.
            cpus[1].deactivate(&child);
            cpus[1].activate(&child).unwrap();
            // Its TLB would keep the page from being seen as used.
            cpus[1].deactivate(&child);
            cpus[1].activate(&child).unwrap();
            assert_eq!(access(&cpus[1], memory, &child, 3, 0, None), Ok(9));
            cpus[0].sweep(&mut hand, 1);
        }
        assert_eq!((memory.swapped(), counted(&cpus[0], Event::PageIn)), (19, 0));
        assert!((0..20).all(|page| access(&cpus[1], memory, &child, page, 0, None) == Ok(9)));
        assert!((0..20).all(|page| access(&cpus[0], memory, &parent, page, 0, None) == Ok(9)));
        cpus[0].deactivate(&parent);
        cpus[1].deactivate(&child);
        assert!(cpus[0].exit(parent).is_ok() && cpus[0].exit(child).is_ok());
    });
}

#[test]
fn a_read_maps_resident_neighbours_and_a_write_does_not() {
    with_file(|cpu, space, object, _| {
        let at = |page, write| access(cpu, cpu.memory(), space, page, 3, write);
        (0..40).for_each(|page| assert_eq!(at(page, None), Ok(page as u8 + 1)));
        let around = || counted(cpu, Event::MappedAround);
        let before = around();
        // A new mapping: 32..40 are half a block, of which the object has eight pages.
        cpu.map_object(space, pages(200, 40), BOTH, object, 0).unwrap();
        let faults = counted(cpu, Event::Fault);
        assert_eq!(at(203, None), Ok(4));
        assert_eq!((around() - before, counted(cpu, Event::Fault)), (7, faults + 1));
        assert!((200..208).all(|page| at(page, None) == Ok(page as u8 - 199)));
        assert_eq!(counted(cpu, Event::Fault), faults + 1);
        assert_eq!((at(210, Some(1)), around() - before), (Ok(11), 7));
        // Private mappings get neighbours that they must copy before they write.
        cpu.protect(space, pages(100, 40), Rights::READ).unwrap();
        assert_eq!((at(112, None), around() - before > 7), (Ok(13), true));
        assert_eq!(at(113, Some(5)), Err(FaultError::NotAllowed));
        cpu.protect(space, pages(100, 40), BOTH).unwrap();
        assert_eq!((at(113, Some(5)), at(113, None), at(213, None)), (Ok(14), Ok(5), Ok(14)));
    });
}

/// An object that each CPU has a list for outlives its handle as others do, and is not spread once
/// it is mapped.
#[test]
fn a_spread_object_lives_as_long_as_a_mapping() {
    on_swapping_machine(3, 256, BYTES, |cpus| {
        let memory = cpus[0].memory();
        let mut object = cpus[0].new_object(10).unwrap();
        assert_eq!(cpus[0].spread(&mut object), Ok(true));
        let spaces: Vec<_> = (0..3)
            .map(|number: usize| {
                let space = cpus[number].new_space().unwrap();
                cpus[number].activate(&space).unwrap();
                cpus[number].map_object(&space, pages(7, 10), BOTH, &object, 0).unwrap();
                space
            })
            .collect();
        assert_eq!(access(&cpus[0], memory, &spaces[0], 9, 0, Some(4)), Ok(0));
        assert_eq!((cpus[0].spread(&mut object), object.resident()), (Ok(false), 1));
        // One is unmapped before the lists are closed, by another CPU than the one that mapped it,
        // and others after that.
        cpus[0].activate(&spaces[2]).unwrap();
        cpus[0].unmap(&spaces[2], pages(7, 10)).unwrap();
        cpus[2].drop_object(object);
        let mut hand = Hand::new(0..cpus[0].frames().index_count());
        assert_eq!(access(&cpus[1], memory, &spaces[1], 9, 0, None), Ok(4));
        assert_eq!(cpus[2].sweep(&mut hand, 1).reclaimed, 1, "found in all lists");
        assert_eq!(
            (access(&cpus[1], memory, &spaces[1], 9, 0, None), access(&cpus[0], memory, &spaces[0], 9, 0, None)),
            (Ok(4), Ok(4))
        );
        for space in spaces {
            cpus.iter().for_each(|cpu| cpu.deactivate(&space));
            assert!(cpus[1].exit(space).is_ok());
        }
    });
}

#[test]
fn frames_of_a_device_are_mapped_as_they_are() {
    on_swapping_machine(1, 64, BYTES, |cpus| {
        let [cpu] = cpus else { unreachable!() };
        // Unused frames stand for a device's.
        let device = cpu.frames().get().unwrap();
        let object = cpu.new_device_object(1, device).unwrap();
        let space = cpu.new_space().unwrap();
        cpu.activate(&space).unwrap();
        cpu.map_object(&space, pages(3, 1), BOTH, &object, 0).unwrap();
        cpu.memory().machine().bytes().write(device, &[1, 2, 3, 4]);
        assert_eq!(access(cpu, cpu.memory(), &space, 3, 3, Some(9)), Ok(4));
        let mut bytes = [0; 4];
        cpu.memory().machine().bytes().read(device, &mut bytes);
        assert_eq!(bytes, [1, 2, 3, 9]);
        assert_eq!(cpu.truncate(&object, 0), Err(SpaceError::Device));
        let child = cpu.fork(&space).unwrap();
        assert!(cpu.exit(child).is_ok());
        cpu.deactivate(&space);
        assert!(cpu.exit(space).is_ok());
        cpu.drop_object(object);
        cpu.frames().put(device).unwrap();
    });
}
