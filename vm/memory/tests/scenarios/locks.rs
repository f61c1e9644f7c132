//! Locked memory.

use crate::host::{HostCpu, access};
use crate::store::{Store, on_swapping_machine};
use crate::{BOTH, counted, pages};
use faultline_memory::{Event, FaultError, Hand, Rights, SpaceError};
use std::sync::Arc;

/// Sweeps all reclaimable pages.
fn sweep_all(cpu: &HostCpu<'_, '_>) {
    let mut hand = Hand::new(0..cpu.frames().index_count());
    (0..5).for_each(|_| assert!(cpu.sweep(&mut hand, u64::MAX).scanned > 0));
}

/// Total number of wires of all frames.
fn wires(cpu: &HostCpu<'_, '_>) -> u64 {
    (0..cpu.frames().index_count()).map(|index| u64::from(cpu.memory().page_state(index).unwrap().wired())).sum()
}

#[test]
fn what_is_locked_is_brought_and_stays() {
    on_swapping_machine(1, 128, 16, |cpus| {
        let [cpu] = cpus else { unreachable!() };
        let space = cpu.new_space().unwrap();
        cpu.activate(&space).unwrap();
        let file = Arc::new(Store::new(cpu.memory().machine().bytes().clone(), |index| index as u8 + 1));
        let object = cpu.new_paged_object(40, file).unwrap();
        let at = |page, write| access(cpu, cpu.memory(), &space, page, 0, write);
        cpu.map(&space, pages(0, 20), BOTH).unwrap();
        cpu.map_object(&space, pages(20, 20), BOTH, &object, 0).unwrap();
        cpu.map_private(&space, pages(40, 20), Rights::READ, &object, 20).unwrap();
        (0..20).for_each(|page| assert_eq!(at(page, Some(9)), Ok(0)));
        sweep_all(cpu);
        assert_eq!((cpu.frames().free(), cpu.lock_pages(&space, pages(59, 2))), (128, Err(SpaceError::NotMapped)));
        cpu.lock_pages(&space, pages(10, 40)).unwrap();
        assert_eq!((wires(cpu), counted(cpu, Event::Wire)), (40, 40));
        sweep_all(cpu);
        let faults = counted(cpu, Event::Fault);
        assert!(
            (10..20).all(|page| at(page, None) == Ok(9)) && (20..50).all(|page| at(page, None) == Ok(page as u8 - 19))
        );
        assert_eq!((counted(cpu, Event::Fault), cpu.frames().free()), (faults, 128 - 40), "all were there");
        // Again, partly from another mapping: a page has a wire per slot.
        cpu.lock_pages(&space, pages(10, 40)).unwrap();
        cpu.map_object(&space, pages(100, 5), BOTH, &object, 0).unwrap();
        cpu.lock_pages(&space, pages(100, 5)).unwrap();
        assert_eq!(wires(cpu), 45);
        cpu.unlock_pages(&space, pages(0, 30)).unwrap();
        sweep_all(cpu);
        assert_eq!((wires(cpu), cpu.frames().free()), (25, 128 - 25), "five of the object's by the other mapping");
        // A copy that replaces a locked page is locked.
        cpu.protect(&space, pages(40, 10), BOTH).unwrap();
        assert_eq!((at(45, Some(1)), at(45, None), wires(cpu)), (Ok(26), Ok(1), 25));
        cpu.write_back(&object, 0, 40).unwrap();
        assert_eq!(at(101, Some(77)), Ok(2));
        cpu.unmap(&space, pages(100, 5)).unwrap();
        cpu.dont_need(&space, pages(40, 10)).unwrap();
        assert_eq!((wires(cpu), at(45, None), wires(cpu)), (10, Ok(26), 11), "locked when it comes again");
        cpu.guard(&space, pages(45, 1)).unwrap();
        assert_eq!(wires(cpu), 10);
        cpu.deactivate(&space);
        assert!(cpu.exit(space).is_ok());
        assert_eq!(wires(cpu), 0);
        cpu.drop_object(object);
    });
}

#[test]
fn forks_moves_and_copies_keep_each_wire_where_it_belongs() {
    on_swapping_machine(1, 128, 16, |cpus| {
        let [cpu] = cpus else { unreachable!() };
        let parent = cpu.new_space().unwrap();
        cpu.activate(&parent).unwrap();
        let object = cpu.new_object(10).unwrap();
        cpu.map(&parent, pages(0, 10), BOTH).unwrap();
        cpu.map_object(&parent, pages(10, 10), BOTH, &object, 0).unwrap();
        cpu.lock_pages(&parent, pages(0, 20)).unwrap();
        let child = cpu.fork(&parent).unwrap();
        cpu.activate(&child).unwrap();
        assert_eq!(access(cpu, cpu.memory(), &child, 3, 0, Some(1)), Ok(0), "the child has a copy");
        assert_eq!(access(cpu, cpu.memory(), &parent, 4, 0, Some(2)), Ok(0), "the parent has a copy");
        assert_eq!(access(cpu, cpu.memory(), &child, 15, 0, Some(3)), Ok(0));
        sweep_all(cpu);
        assert_eq!((wires(cpu), cpu.frames().free()), (20, 128 - 20), "the parent's alone");
        // The pages that the child has too are copied.
        cpu.move_to(&parent, pages(0, 20), pages(1000, 20)).unwrap();
        sweep_all(cpu);
        assert_eq!((wires(cpu), cpu.frames().free()), (20, 128 - 20));
        assert_eq!(
            (access(cpu, cpu.memory(), &parent, 1004, 0, None), access(cpu, cpu.memory(), &parent, 1015, 0, None)),
            (Ok(2), Ok(3))
        );
        cpu.deactivate(&parent);
        assert!(cpu.exit(parent).is_ok());
        sweep_all(cpu);
        assert_eq!((wires(cpu), cpu.frames().free()), (0, 128));
        assert_eq!(
            (access(cpu, cpu.memory(), &child, 3, 0, None), access(cpu, cpu.memory(), &child, 4, 0, None)),
            (Ok(1), Ok(0))
        );
        cpu.deactivate(&child);
        assert!(cpu.exit(child).is_ok());
        cpu.drop_object(object);
    });
}

#[test]
fn truncation_takes_locked_pages_and_what_comes_again_is_locked() {
    on_swapping_machine(1, 64, 16, |cpus| {
        let [cpu] = cpus else { unreachable!() };
        let space = cpu.new_space().unwrap();
        cpu.activate(&space).unwrap();
        let object = cpu.new_object(10).unwrap();
        cpu.map_object(&space, pages(0, 10), BOTH, &object, 0).unwrap();
        cpu.lock_pages(&space, pages(0, 10)).unwrap();
        cpu.truncate(&object, 4).unwrap();
        assert_eq!((wires(cpu), cpu.frames().free()), (4, 60));
        assert_eq!(access(cpu, cpu.memory(), &space, 7, 0, None), Err(FaultError::BeyondObject));
        assert_eq!(cpu.lock_pages(&space, pages(0, 10)), Err(SpaceError::BeyondObject));
        cpu.truncate(&object, 10).unwrap();
        assert_eq!((access(cpu, cpu.memory(), &space, 7, 0, None), wires(cpu)), (Ok(0), 5));
        cpu.drop_object(object);
        cpu.unmap(&space, pages(0, 3)).unwrap();
        assert_eq!(wires(cpu), 2);
        // More than there are frames.
        cpu.map(&space, pages(100, 100), BOTH).unwrap();
        assert_eq!(cpu.lock_pages(&space, pages(100, 100)), Err(SpaceError::NoMemory));
        cpu.unlock_pages(&space, pages(100, 100)).unwrap();
        sweep_all(cpu);
        assert_eq!(wires(cpu), 2);
        cpu.deactivate(&space);
        assert!(cpu.exit(space).is_ok());
    });
}
