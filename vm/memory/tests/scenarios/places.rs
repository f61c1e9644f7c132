//! Choices of addresses, and stacks that grow.

use crate::host::access;
use crate::store::on_swapping_machine;
use crate::{BOTH, counted, pages};
use faultline_memory::{Anywhere, Event, FaultError, Rights, STACK_GAP, SpaceError};

#[test]
fn chosen_ranges_are_free_aligned_and_used_again() {
    on_swapping_machine(2, 64, 16, |cpus| {
        let space = cpus[0].new_space().unwrap();
        cpus.iter().for_each(|cpu| cpu.activate(&space).unwrap());
        let first = cpus[0].map_anywhere(&space, Anywhere::new(10), BOTH).unwrap();
        assert_eq!((first.first().0, first.pages()), (16, 10), "no null pointers");
        let second = cpus[0].map_anywhere(&space, Anywhere::new(100).aligned(512), BOTH).unwrap();
        assert_eq!(second.first().0, 512);
        let object = cpus[0].new_object(8).unwrap();
        let third = cpus[0].map_object_anywhere(&space, Anywhere::new(8), BOTH, &object, 0).unwrap();
        assert_eq!(third.first().0, 612, "behind what was chosen last");
        let beyond = cpus[0].map_private_anywhere(&space, Anywhere::new(8), BOTH, &object, 1);
        assert_eq!(beyond, Err(SpaceError::BeyondObject));
        assert_eq!(access(&cpus[0], cpus[0].memory(), &space, 613, 0, Some(4)), Ok(0));
        let copies = cpus[0].map_private_anywhere(&space, Anywhere::new(7), BOTH, &object, 1).unwrap();
        assert_eq!(access(&cpus[0], cpus[0].memory(), &space, copies.first().0, 0, Some(5)), Ok(4));
        // Unmapped addresses are chosen again, so they do not run away.
        for _ in 0..100 {
            cpus[0].unmap(&space, third).unwrap();
            assert_eq!(cpus[0].map_anywhere(&space, Anywhere::new(8), BOTH), Ok(third));
        }
        let other = cpus[1].map_anywhere(&space, Anywhere::new(10), BOTH).unwrap();
        assert!(other.first().0 > space.pages().pages() / 512, "another CPU looks elsewhere: {other:?}");
        assert_eq!(counted(&cpus[0], Event::Chosen), 105);
        cpus[0].drop_object(object);
        cpus.iter().for_each(|cpu| cpu.deactivate(&space));
        assert!(cpus[0].exit(space).is_ok());
    });
}

#[test]
fn a_window_is_filled_to_its_last_page_and_then_refused() {
    on_swapping_machine(2, 64, 16, |cpus| {
        let space = cpus[0].new_space().unwrap();
        cpus.iter().for_each(|cpu| cpu.activate(&space).unwrap());
        let wanted = |pages| Anywhere::new(pages).within(self::pages(1000, 300));
        cpus[0].map(&space, pages(1100, 50), BOTH).unwrap();
        assert_eq!(cpus[1].map_anywhere(&space, wanted(151), BOTH), Err(SpaceError::NoAddress));
        assert_eq!(cpus[1].map_anywhere(&space, wanted(150), BOTH), Ok(pages(1150, 150)));
        for _ in 0..50 {
            cpus[0].map_anywhere(&space, wanted(2), BOTH).unwrap();
        }
        assert_eq!(cpus[0].map_anywhere(&space, wanted(1), BOTH), Err(SpaceError::NoAddress));
        cpus[1].unmap(&space, pages(1099, 1)).unwrap();
        assert_eq!(cpus[0].map_anywhere(&space, wanted(1), BOTH), Ok(pages(1099, 1)));
        assert_eq!(cpus[0].map_anywhere(&space, Anywhere::new(0), BOTH), Err(SpaceError::BadRange));
        assert_eq!(cpus[0].map_anywhere(&space, Anywhere::new(u64::MAX), BOTH), Err(SpaceError::NoAddress));
        assert_eq!(
            cpus[0].map_anywhere(&space, Anywhere::new(1).aligned(u64::MAX).within(pages(1, 9)), BOTH),
            Err(SpaceError::NoAddress)
        );
        cpus.iter().for_each(|cpu| cpu.deactivate(&space));
        assert!(cpus[0].exit(space).is_ok());
    });
}

#[test]
fn a_stack_grows_to_its_limit_and_keeps_its_gap() {
    on_swapping_machine(1, 256, 16, |cpus| {
        let [cpu] = cpus else { unreachable!() };
        let space = cpu.new_space().unwrap();
        cpu.activate(&space).unwrap();
        let at = |page, write| access(cpu, cpu.memory(), &space, page, 0, write);
        let unmapped = Err(FaultError::NotMapped);
        cpu.set_stack_limit(&space, 1000);
        cpu.map_stack(&space, pages(9_990, 10), BOTH).unwrap();
        assert_eq!((at(9_989, Some(1)), at(9_980, Some(2)), at(9_985, None)), (Ok(0), Ok(0), Ok(0)));
        assert_eq!((counted(cpu, Event::Grow), at(10_000, None)), (2, unmapped));
        assert_eq!((at(9_000, Some(3)), at(8_999, None)), (Ok(0), unmapped), "a thousand pages");
        assert_eq!((at(9_989, None), at(9_500, None), cpu.frames().free()), (Ok(1), Ok(0), 256 - 5));
        // A mapping below stops it; before that, the gap does.
        cpu.set_stack_limit(&space, 2000);
        cpu.map(&space, pages(8_000, 10), BOTH).unwrap();
        assert_eq!((at(8_010 + STACK_GAP - 1, None), at(8_010 + STACK_GAP, None)), (unmapped, Ok(0)));
        assert_eq!(at(8_010 + STACK_GAP - 1, None), unmapped);
        // Chosen addresses leave the gap, too.
        let wanted = Anywhere::new(10).within(pages(8_010, STACK_GAP));
        assert_eq!(cpu.map_anywhere(&space, wanted, BOTH), Err(SpaceError::NoAddress));
        cpu.unmap(&space, pages(8_000, 10)).unwrap();
        assert_eq!(cpu.map_anywhere(&space, wanted.within(pages(8_000, 100)), BOTH), Ok(pages(8_000, 10)));
        // A guard as its lowest page ends its growth; a child's grows on its own.
        let child = cpu.fork(&space).unwrap();
        cpu.activate(&child).unwrap();
        cpu.unmap(&child, pages(8_000, 10)).unwrap();
        assert_eq!(access(cpu, cpu.memory(), &child, 8_100, 0, Some(1)), Ok(0));
        cpu.unmap(&space, pages(8_000, 10)).unwrap();
        cpu.guard(&space, pages(8_010 + STACK_GAP, 1)).unwrap();
        assert_eq!((at(8_200, None), at(8_010 + STACK_GAP, None)), (unmapped, Err(FaultError::Guarded)));
        cpu.map_stack(&space, pages(100, 5), Rights::READ).unwrap();
        assert_eq!((at(50, None), at(51, Some(1))), (Ok(0), Err(FaultError::NotAllowed)), "with the stack's rights");
        for space in [space, child] {
            cpu.deactivate(&space);
            assert!(cpu.exit(space).is_ok());
        }
    });
}
