//! Spaces: copies, takeovers, shoot-downs, refusals.

use crate::host::{Tables, access};
use crate::store::{on_swapping_machine, on_swapping_machine_with};
use crate::{BOTH, counted, pages};
use faultline_memory::{Event, FaultError, Queue, Rights, SpaceError, VirtualPage};

#[test]
fn the_last_owner_takes_a_page_over_without_a_copy() {
    on_swapping_machine(1, 256, 16, |cpus| {
        let [cpu] = cpus else { unreachable!() };
        let memory = cpu.memory();
        let parent = cpu.new_space().unwrap();
        cpu.activate(&parent).unwrap();
        cpu.map(&parent, pages(10, 2), BOTH).unwrap();
        assert_eq!(access(cpu, memory, &parent, 10, 0, Some(1)), Ok(0));
        let child = cpu.fork(&parent).unwrap();
        cpu.activate(&child).unwrap();
        assert_eq!(access(cpu, memory, &child, 10, 0, Some(2)), Ok(1));
        assert_eq!((counted(cpu, Event::Copy), counted(cpu, Event::TakenOver)), (1, 0));
        assert_eq!(access(cpu, memory, &parent, 10, 0, Some(3)), Ok(1));
        assert_eq!((counted(cpu, Event::Copy), counted(cpu, Event::TakenOver)), (1, 1));
        assert_eq!(access(cpu, memory, &child, 10, 0, None), Ok(2));
        for space in [parent, child] {
            cpu.deactivate(&space);
            assert!(cpu.exit(space).is_ok());
        }
    });
}

#[test]
fn a_thousand_forks_in_a_row_copy_and_lose_nothing() {
    let forks = if cfg!(miri) { 20 } else { 1_000 };
    on_swapping_machine(1, 4096, 16, |cpus| {
        let [cpu] = cpus else { unreachable!() };
        let memory = cpu.memory();
        let mut generations = vec![cpu.new_space().unwrap()];
        cpu.activate(&generations[0]).unwrap();
        cpu.map(&generations[0], pages(0, 2), BOTH).unwrap();
        assert_eq!(access(cpu, memory, &generations[0], 1, 0, Some(77)), Ok(0));
        for generation in 1..=forks {
            let child = cpu.fork(generations.last().unwrap()).unwrap();
            cpu.activate(&child).unwrap();
            // Each writes a page of its own: the other page stays shared.
            assert_eq!(access(cpu, memory, &child, 0, 0, Some(generation as u8)), Ok((generation - 1) as u8));
            assert_eq!(access(cpu, memory, &child, 1, 0, None), Ok(77));
            generations.push(child);
        }
        // One page that all own, and one of each.
        assert_eq!(cpu.frames().free(), 4096 - 1 - forks as u64);
        for space in generations {
            cpu.deactivate(&space);
            assert!(cpu.exit(space).is_ok());
        }
    });
}

#[test]
fn only_cpus_that_have_the_space_active_are_shot_down() {
    on_swapping_machine_with(Tables::Shared, 4, 256, 16, |cpus| {
        let memory = cpus[0].memory();
        let space = cpus[0].new_space().unwrap();
        cpus[0].activate(&space).unwrap();
        cpus[0].map(&space, pages(0, 200), BOTH).unwrap();
        cpus[0].unmap(&space, pages(0, 100)).unwrap();
        let asked = |event| memory.counters().of(event);
        assert_eq!((asked(Event::LocalFlush), asked(Event::ShootDown)), (0, 0), "nothing was ever there");
        let touch =
            || (100..200).for_each(|page| assert_eq!(access(&cpus[0], memory, &space, page, 0, Some(1)), Ok(0)));
        touch();
        cpus[0].dont_need(&space, pages(100, 100)).unwrap();
        assert_eq!((asked(Event::LocalFlush), asked(Event::ShootDown)), (1, 0), "no other CPU");
        cpus[1].activate(&space).unwrap();
        cpus[2].activate(&space).unwrap();
        cpus[2].deactivate(&space);
        touch();
        cpus[0].protect(&space, pages(100, 100), Rights::READ).unwrap();
        assert_eq!((asked(Event::ShootDown), asked(Event::ShotCpu)), (1, 1), "one other CPU, once for a hundred pages");
        cpus[0].protect(&space, pages(100, 100), BOTH).unwrap();
        assert_eq!(asked(Event::ShootDown), 1, "rights that are added");
        cpus[1].unmap(&space, pages(100, 100)).unwrap();
        assert_eq!((asked(Event::ShootDown), asked(Event::ShotCpu)), (2, 2));
        assert!(cpus.iter().filter_map(|cpu| space.pmap(cpu.number())).all(|pmap| pmap.tables() == 0));
        cpus[..2].iter().for_each(|cpu| cpu.deactivate(&space));
        assert!(cpus[3].exit(space).is_ok());
    });
}

/// With page tables for each CPU.
#[test]
fn only_cpus_that_used_a_page_are_shot_down() {
    on_swapping_machine_with(Tables::OfEachCpu, 12, 256, 16, |cpus| {
        let memory = cpus[0].memory();
        let space = cpus[0].new_space().unwrap();
        cpus.iter().for_each(|cpu| cpu.activate(&space).unwrap());
        cpus[0].map(&space, pages(100, 10), BOTH).unwrap();
        let write = |cpu: usize, page| access(&cpus[cpu], memory, &space, page, 0, Some(cpu as u8)).unwrap();
        let asked = || [Event::LocalFlush, Event::ShootDown, Event::ShotCpu].map(|event| memory.counters().of(event));
        (100..110).for_each(|page| assert_eq!(write(0, page), 0));
        cpus[0].protect(&space, pages(100, 10), Rights::READ).unwrap();
        cpus[0].protect(&space, pages(100, 10), BOTH).unwrap();
        cpus[0].dont_need(&space, pages(100, 5)).unwrap();
        assert_eq!(asked(), [2, 0, 0], "nobody else has used them");
        cpus[3].dont_need(&space, pages(105, 5)).unwrap();
        assert_eq!(asked(), [2, 1, 1], "the CPU that used them, and not the one that asks");
        // CPU 11 may be any CPU whose number is 3 modulo 8.
        assert_eq!([write(2, 100), write(5, 101), write(11, 101)], [0, 0, 5]);
        cpus[2].protect(&space, pages(100, 1), Rights::READ).unwrap();
        assert_eq!(asked(), [3, 1, 1]);
        cpus[2].protect(&space, pages(101, 1), Rights::READ).unwrap();
        assert_eq!(asked(), [3, 2, 1 + 3], "CPUs 3, 5 and 11");
        // A CPU on which the space is no longer active has page tables of it, but no TLB entries.
        cpus[2].deactivate(&space);
        cpus[0].unmap(&space, pages(100, 1)).unwrap();
        assert_eq!(asked(), [4, 2, 4]);
        cpus[2].activate(&space).unwrap();
        assert_eq!(access(&cpus[2], memory, &space, 100, 0, None), Err(FaultError::NotMapped));
        // A whole leaf. Its node, which is walked by all, waits until there are many.
        cpus[0].map(&space, pages(64, 64), BOTH).unwrap();
        cpus[0].unmap(&space, pages(64, 64)).unwrap();
        assert_eq!(asked(), [4, 3, 4 + 3], "CPUs 3, 5 and 11 had pages");
        cpus[0].map(&space, pages(512, 512), BOTH).unwrap();
        assert_eq!(write(0, 600), 0);
        cpus[0].unmap(&space, pages(512, 512)).unwrap();
        assert_eq!(asked(), [5, 3, 7], "its node waits, too");
        cpus[0].map(&space, pages(64 * 64, 64 * 64), BOTH).unwrap();
        (64..128).for_each(|leaf| assert_eq!(write(0, 64 * leaf), 0));
        cpus[0].unmap(&space, pages(64 * 64, 64 * 64)).unwrap();
        // In pieces of two leaves, each with a flush. All are asked once, for many nodes.
        assert_eq!(asked(), [5 + 31, 4, 7 + 11]);
        assert!(cpus.iter().filter_map(|cpu| space.pmap(cpu.number())).all(|pmap| pmap.tables() == 0));
        cpus.iter().for_each(|cpu| cpu.deactivate(&space));
        assert!(cpus[3].exit(space).is_ok());
    });
}

#[test]
fn spaces_share_an_objects_pages_and_it_outlives_its_handle() {
    on_swapping_machine(2, 256, 16, |cpus| {
        let memory = cpus[0].memory();
        let object = cpus[0].new_object(10).unwrap();
        let spaces = [0, 1].map(|number: usize| {
            let space = cpus[number].new_space().unwrap();
            cpus[number].activate(&space).unwrap();
            assert_eq!(cpus[number].map_object(&space, pages(50, 9), BOTH, &object, 2), Err(SpaceError::BeyondObject));
            cpus[number].map_object(&space, pages(50 + 100 * number as u64, 8), BOTH, &object, 2).unwrap();
            space
        });
        assert_eq!(access(&cpus[0], memory, &spaces[0], 51, 3, Some(9)), Ok(0));
        let page = object.page(3).unwrap();
        assert_eq!((object.resident(), memory.page_state(page).unwrap().owners()), (1, 1));
        cpus[0].drop_object(object);
        assert_eq!(access(&cpus[1], memory, &spaces[1], 151, 3, None), Ok(9));
        assert_eq!(counted(&cpus[0], Event::ObjectHit), 1);
        // The page tables knew that it was written.
        cpus[0].dont_need(&spaces[0], pages(50, 8)).unwrap();
        let state = memory.page_state(page).unwrap();
        assert!(state.is_dirty() && state.is_referenced() && state.queue() == Queue::None);
        assert_eq!(access(&cpus[0], memory, &spaces[0], 51, 3, None), Ok(9));
        for (space, cpu) in spaces.into_iter().zip(cpus) {
            cpu.deactivate(&space);
            assert!(cpu.exit(space).is_ok());
        }
    });
}

#[test]
fn what_is_not_mapped_or_not_allowed_is_refused() {
    on_swapping_machine(2, 64, 16, |cpus| {
        let memory = cpus[0].memory();
        let space = cpus[0].new_space().unwrap();
        assert_eq!(cpus[0].map(&space, pages(0, 1), BOTH), Err(SpaceError::NotActive));
        cpus[0].activate(&space).unwrap();
        cpus[0].map(&space, pages(5, 2), Rights::READ).unwrap();
        assert_eq!(access(&cpus[0], memory, &space, 5, 0, Some(1)), Err(FaultError::NotAllowed));
        assert_eq!(access(&cpus[0], memory, &space, 7, 0, None), Err(FaultError::NotMapped));
        assert_eq!(cpus[0].fault(&space, VirtualPage(space.pages().pages()), Rights::READ), Err(FaultError::NotMapped));
        assert_eq!(cpus[1].fault(&space, VirtualPage(5), Rights::READ), Err(FaultError::NotActive));
        assert_eq!(cpus[0].protect(&space, pages(5, 3), BOTH), Err(SpaceError::NotMapped));
        assert_eq!(access(&cpus[0], memory, &space, 5, 0, Some(1)), Err(FaultError::NotAllowed), "nothing was changed");
        let (space, error) = cpus[1].exit(space).err().unwrap();
        assert_eq!(error, SpaceError::Active);
        cpus[0].deactivate(&space);
        assert!(cpus[1].exit(space).is_ok());
    });
}

#[test]
fn a_lack_of_frames_is_an_error_and_loses_nothing() {
    on_swapping_machine(1, 64, 16, |cpus| {
        let [cpu] = cpus else { unreachable!() };
        let memory = cpu.memory();
        let space = cpu.new_space().unwrap();
        cpu.activate(&space).unwrap();
        cpu.map(&space, pages(0, 100), BOTH).unwrap();
        let write = |page| access(cpu, memory, &space, page, 0, Some(page as u8));
        assert!((0..64).all(|page| write(page) == Ok(0)));
        assert_eq!(write(64), Err(FaultError::NoMemory));
        let child = cpu.fork(&space).unwrap();
        assert_eq!(write(3), Err(FaultError::NoMemory), "no frame for the copy");
        assert_eq!(access(cpu, memory, &space, 3, 0, None), Ok(3));
        assert!(cpu.exit(child).is_ok());
        assert_eq!(write(3), Ok(3), "taken over");
        cpu.deactivate(&space);
        assert!(cpu.exit(space).is_ok());
    });
}
