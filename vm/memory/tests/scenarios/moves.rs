//! Moving and resizing ranges.

use crate::host::access;
use crate::store::{Store, on_swapping_machine};
use crate::{BOTH, counted, pages};
use faultline_memory::{Anywhere, Event, FaultError, Hand, Rights, SpaceError};
use std::sync::Arc;

const UNMAPPED: Result<u8, FaultError> = Err(FaultError::NotMapped);

#[test]
fn contents_move_without_a_copy_and_are_swapped_from_their_new_place() {
    on_swapping_machine(2, 128, 16, |cpus| {
        let memory = cpus[0].memory();
        let space = cpus[0].new_space().unwrap();
        cpus.iter().for_each(|cpu| cpu.activate(&space).unwrap());
        let at = |cpu: usize, page, write| access(&cpus[cpu], memory, &space, page, 0, write);
        cpus[0].map(&space, pages(100, 40), BOTH).unwrap();
        (0..30).for_each(|page| assert_eq!(at(0, 100 + page, Some(page as u8)), Ok(0)));
        assert_eq!(at(1, 105, None), Ok(5));
        let mut hand = Hand::new(0..cpus[0].frames().index_count());
        assert_eq!(cpus[0].sweep(&mut hand, 10).reclaimed, 10, "some are in the swap area");
        cpus[0].move_to(&space, pages(100, 40), pages(5001, 50)).unwrap();
        assert_eq!((at(0, 100, None), at(1, 105, None), at(0, 5050, Some(1))), (UNMAPPED, UNMAPPED, Ok(0)));
        assert_eq!((at(1, 5006, None), at(0, 5051, None)), (Ok(5), UNMAPPED));
        assert_eq!(counted(&cpus[0], Event::Copy), 0);
        // The page daemon finds them at their new place.
        let present = 128 - cpus[0].frames().free();
        assert_eq!(cpus[0].sweep(&mut hand, present).reclaimed, present);
        assert_eq!((cpus[0].frames().free(), memory.swapped()), (128, 31));
        assert!((0..30).all(|page| at(0, 5001 + page, Some(7)) == Ok(page as u8)));
        // Shorter, and down.
        cpus[0].move_to(&space, pages(5001, 50), pages(64, 20)).unwrap();
        assert_eq!((at(0, 64, None), at(0, 83, None), at(0, 84, None)), (Ok(7), Ok(7), UNMAPPED));
        assert_eq!(128 - cpus[0].frames().free(), 20);
        cpus.iter().for_each(|cpu| cpu.deactivate(&space));
        assert!(cpus[0].exit(space).is_ok());
    });
}

#[test]
fn what_a_child_has_too_stays_there_and_a_copy_moves() {
    on_swapping_machine(1, 128, 16, |cpus| {
        let [cpu] = cpus else { unreachable!() };
        let memory = cpu.memory();
        let parent = cpu.new_space().unwrap();
        cpu.activate(&parent).unwrap();
        cpu.map(&parent, pages(0, 10), BOTH).unwrap();
        (0..10).for_each(|page| assert_eq!(access(cpu, memory, &parent, page, 0, Some(page as u8)), Ok(0)));
        let child = cpu.fork(&parent).unwrap();
        cpu.activate(&child).unwrap();
        cpu.move_to(&parent, pages(0, 10), pages(1000, 10)).unwrap();
        assert_eq!(counted(cpu, Event::Copy), 10);
        // All can go, from both.
        let mut hand = Hand::new(0..cpu.frames().index_count());
        assert_eq!((cpu.sweep(&mut hand, 20).reclaimed, cpu.frames().free(), memory.swapped()), (20, 128, 20));
        for page in 0..10 {
            assert_eq!(access(cpu, memory, &child, page, 0, Some(99)), Ok(page as u8));
            assert_eq!(access(cpu, memory, &parent, 1000 + page, 0, None), Ok(page as u8));
        }
        // Swapped contents move while a child has them.
        let second = cpu.fork(&parent).unwrap();
        assert_eq!(cpu.sweep(&mut hand, 20).reclaimed, 20);
        cpu.move_to(&parent, pages(1000, 10), pages(300, 10)).unwrap();
        assert_eq!((access(cpu, memory, &parent, 309, 0, None), counted(cpu, Event::Copy)), (Ok(9), 10));
        for space in [&parent, &child] {
            cpu.deactivate(space);
        }
        assert!([parent, child, second].into_iter().all(|space| cpu.exit(space).is_ok()));
    });
}

#[test]
fn objects_move_with_what_was_written_and_are_found_by_truncation() {
    on_swapping_machine(1, 256, 16, |cpus| {
        let [cpu] = cpus else { unreachable!() };
        let file = Arc::new(Store::new(cpu.memory().machine().bytes().clone(), |index| index as u8 + 1));
        let object = cpu.new_paged_object(40, file.clone()).unwrap();
        let space = cpu.new_space().unwrap();
        cpu.activate(&space).unwrap();
        let at = |page, write| access(cpu, cpu.memory(), &space, page, 0, write);
        // Two mappings, and private memory between them.
        cpu.map_object(&space, pages(70, 10), BOTH, &object, 0).unwrap();
        cpu.map(&space, pages(80, 5), BOTH).unwrap();
        cpu.map_private(&space, pages(85, 10), BOTH, &object, 20).unwrap();
        assert_eq!(
            (at(71, Some(200)), at(82, Some(201)), at(86, Some(202)), at(87, None)),
            (Ok(2), Ok(0), Ok(22), Ok(23))
        );
        cpu.protect(&space, pages(72, 1), Rights::READ).unwrap();
        assert_eq!(cpu.move_to(&space, pages(69, 26), pages(200, 30)), Err(SpaceError::NotMapped));
        assert_eq!(cpu.move_to(&space, pages(70, 25), pages(200, 36)), Err(SpaceError::BeyondObject));
        assert_eq!(cpu.move_to(&space, pages(70, 25), pages(90, 20)), Err(SpaceError::BadRange));
        assert_eq!(at(82, None), Ok(201), "nothing was changed");
        cpu.move_to(&space, pages(70, 25), pages(200, 30)).unwrap();
        assert_eq!((at(71, None), at(201, None), at(212, None), at(216, None)), (UNMAPPED, Ok(200), Ok(201), Ok(202)));
        assert_eq!((at(202, Some(1)), at(225, None)), (Err(FaultError::NotAllowed), Ok(31)), "more of the same");
        cpu.write_back(&object, 0, 40).unwrap();
        assert_eq!((file.page(1)[0], file.page(21)[0]), (200, 22), "what was written before it moved");
        cpu.truncate(&object, 1).unwrap();
        let beyond = Err(FaultError::BeyondObject);
        assert_eq!((at(201, None), at(217, None), at(216, None), at(200, None)), (beyond, beyond, Ok(202), Ok(1)));
        cpu.deactivate(&space);
        assert!(cpu.exit(space).is_ok());
        cpu.drop_object(object);
    });
}

#[test]
fn a_range_becomes_longer_in_place_or_moves() {
    on_swapping_machine(1, 64, 16, |cpus| {
        let [cpu] = cpus else { unreachable!() };
        let space = cpu.new_space().unwrap();
        cpu.activate(&space).unwrap();
        let at = |page, write| access(cpu, cpu.memory(), &space, page, 0, write);
        cpu.map(&space, pages(1, 2), BOTH).unwrap();
        cpu.map(&space, pages(10, 1), BOTH).unwrap();
        assert_eq!(at(2, Some(5)), Ok(0));
        cpu.resize(&space, pages(1, 2), 9).unwrap();
        assert_eq!((at(9, Some(6)), cpu.resize(&space, pages(1, 9), 10)), (Ok(0), Err(SpaceError::NoAddress)));
        let wanted = Anywhere::new(1 << 20).aligned(1 << 12);
        let chosen = cpu.move_anywhere(&space, pages(1, 9), wanted).unwrap();
        assert_eq!((chosen, at(2, None)), (pages(1 << 12, 1 << 20), UNMAPPED));
        assert_eq!(
            (at((1 << 12) + 1, None), at((1 << 12) + 8, None), at((2 << 12) - 1, Some(1))),
            (Ok(5), Ok(6), Ok(0))
        );
        // A large range that is hardly touched is a few slots, also where it moves to.
        cpu.resize(&space, chosen, 1 << 19).unwrap();
        cpu.move_to(&space, pages(1 << 12, 1 << 19), pages((1 << 30) + 77, 1 << 19)).unwrap();
        assert_eq!((at((1 << 30) + 78, None), at((1 << 30) + 77 + (1 << 19), None)), (Ok(5), UNMAPPED));
        assert_eq!(cpu.resize(&space, pages(0, 2), 1), Err(SpaceError::NotMapped));
        assert_eq!(cpu.resize(&space, pages(10, 1), 0), Err(SpaceError::BadRange));
        assert_eq!(cpu.frames().free(), 64 - 3);
        cpu.deactivate(&space);
        assert!(cpu.exit(space).is_ok());
    });
}
