//! Advice, and reading in clusters.

use crate::host::access;
use crate::store::{Store, on_swapping_machine};
use crate::{BOTH, counted, pages};
use faultline_memory::{Event, Hand};
use std::sync::Arc;

#[test]
fn what_will_be_needed_is_read_in_clusters_and_faults_read_ahead() {
    on_swapping_machine(1, 256, 16, |cpus| {
        let [cpu] = cpus else { unreachable!() };
        let file = Arc::new(Store::new(cpu.memory().machine().bytes().clone(), |index| index as u8 + 1));
        let object = cpu.new_paged_object(100, file).unwrap();
        let space = cpu.new_space().unwrap();
        cpu.activate(&space).unwrap();
        cpu.map_object(&space, pages(0, 100), BOTH, &object, 0).unwrap();
        cpu.map(&space, pages(200, 50), BOTH).unwrap();
        let at = |page, write| access(cpu, cpu.memory(), &space, page, 0, write);
        let reads = || (counted(cpu, Event::ReadCluster), counted(cpu, Event::PageIn), counted(cpu, Event::ReadAhead));
        assert_eq!((at(10, None), object.resident(), reads()), (Ok(11), 8, (1, 8, 7)));
        cpu.will_need(&space, pages(0, 40)).unwrap();
        // 0 to 9, up to the resident pages; then 18 to 33 and 34 to 39.
        assert_eq!((object.resident(), reads()), (40, (4, 40, 36)));
        assert!((0..40).all(|page| at(page, None) == Ok(page as u8 + 1)));
        assert_eq!(reads().0, 4);
        // At the object's end.
        assert_eq!((at(98, None), object.resident(), reads()), (Ok(99), 42, (5, 42, 37)));
        (200..250).for_each(|page| assert_eq!(at(page, Some(page as u8)), Ok(0)));
        let mut hand = Hand::new(0..cpu.frames().index_count());
        let used = 256 - cpu.frames().free();
        assert_eq!(cpu.sweep(&mut hand, used).reclaimed, used);
        let before = reads().0;
        cpu.will_need(&space, pages(190, 100)).unwrap();
        assert_eq!((reads().0 - before, cpu.frames().free()), (4, 256 - 50), "fifty pages in clusters of sixteen");
        assert!((200..250).all(|page| at(page, None) == Ok(page as u8)));
        assert_eq!(reads().0 - before, 4);
        cpu.deactivate(&space);
        assert!(cpu.exit(space).is_ok());
        cpu.drop_object(object);
    });
}

#[test]
fn what_is_given_up_is_taken_unwritten_unless_it_is_written_to() {
    on_swapping_machine(2, 128, 16, |cpus| {
        let memory = cpus[0].memory();
        let space = cpus[0].new_space().unwrap();
        cpus.iter().for_each(|cpu| cpu.activate(&space).unwrap());
        let at = |cpu: usize, page, write| access(&cpus[cpu], memory, &space, page, 0, write);
        cpus[0].map(&space, pages(0, 40), BOTH).unwrap();
        (0..40).for_each(|page| assert_eq!(at(0, page, Some(9)), Ok(0)));
        assert_eq!(at(1, 7, Some(8)), Ok(9));
        cpus[0].give_up(&space, pages(0, 20)).unwrap();
        assert_eq!((at(0, 3, None), at(0, 5, Some(1)), at(1, 7, Some(2))), (Ok(9), Ok(9), Ok(8)), "nothing is short");
        let mut hand = Hand::new(0..cpus[0].frames().index_count());
        assert_eq!(cpus[0].sweep(&mut hand, 40).reclaimed, 40);
        assert_eq!((counted(&cpus[0], Event::Dropped), memory.swapped()), (18, 22));
        assert_eq!((at(0, 3, None), at(0, 5, None), at(1, 7, None), at(0, 30, None)), (Ok(0), Ok(1), Ok(2), Ok(9)));
        // In the swap area it goes at once; what a child has too stays.
        cpus[0].give_up(&space, pages(20, 5)).unwrap();
        assert_eq!((at(0, 20, None), at(0, 25, None)), (Ok(0), Ok(9)));
        cpus[0].give_up(&space, pages(25, 5)).unwrap();
        let child = cpus[0].fork(&space).unwrap();
        let used = 128 - cpus[0].frames().free();
        let dropped = counted(&cpus[0], Event::Dropped);
        assert_eq!((cpus[0].sweep(&mut hand, used).reclaimed, counted(&cpus[0], Event::Dropped)), (used, dropped));
        cpus.iter().for_each(|cpu| cpu.deactivate(&space));
        assert!(cpus[0].exit(space).is_ok() && cpus[0].exit(child).is_ok());
    });
}
