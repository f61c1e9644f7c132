//! Guards: refusals, costs, and their end.

use crate::host::access;
use crate::store::on_swapping_machine;
use crate::{BOTH, counted, pages};
use faultline_memory::{Event, FaultError, Pmap, Rights, SpaceError, VirtualPage};

#[test]
fn a_guard_refuses_every_access_costs_nothing_and_is_inherited() {
    on_swapping_machine(2, 64, 16, |cpus| {
        let memory = cpus[0].memory();
        let space = cpus[0].new_space().unwrap();
        cpus.iter().for_each(|cpu| cpu.activate(&space).unwrap());
        let at = |page, write| access(&cpus[0], memory, &space, page, 0, write);
        // Larger than memory, and in part no whole slot.
        cpus[0].map(&space, pages(10, 10_000), BOTH).unwrap();
        (10..20).for_each(|page| assert_eq!(at(page, Some(7)), Ok(0)));
        assert_eq!(access(&cpus[1], memory, &space, 11, 0, None), Ok(7));
        assert_eq!(cpus[0].guard(&space, pages(9, 5)), Err(SpaceError::NotMapped));
        assert_eq!(at(12, None), Ok(7), "nothing was changed");
        cpus[0].guard(&space, pages(11, 9_000)).unwrap();
        assert_eq!((cpus[0].frames().free(), space.pmap(cpus[0].number()).unwrap().query(VirtualPage(11))), (63, None));
        assert_eq!(access(&cpus[1], memory, &space, 11, 0, None), Err(FaultError::Guarded), "its TLB was told");
        assert_eq!((at(10, None), at(5000, Some(1)), at(9011, Some(1))), (Ok(7), Err(FaultError::Guarded), Ok(0)));
        // Rights and contents that are given up do not end it.
        cpus[0].protect(&space, pages(11, 2), Rights::READ).unwrap();
        cpus[0].dont_need(&space, pages(11, 2)).unwrap();
        assert_eq!(at(11, None), Err(FaultError::Guarded));
        let child = cpus[0].fork(&space).unwrap();
        cpus[0].activate(&child).unwrap();
        assert_eq!(access(&cpus[0], memory, &child, 11, 0, None), Err(FaultError::Guarded));
        cpus[0].unguard(&space, pages(0, 20)).unwrap();
        assert_eq!((at(11, None), at(11, Some(1)), at(13, Some(1))), (Ok(0), Err(FaultError::NotAllowed), Ok(0)));
        assert_eq!((at(20, None), access(&cpus[0], memory, &child, 13, 0, None)), (guarded(), guarded()));
        cpus[0].map(&space, pages(20, 1), BOTH).unwrap();
        assert_eq!((at(20, Some(3)), counted(&cpus[0], Event::Guard)), (Ok(0), 1));
        cpus.iter().for_each(|cpu| cpu.deactivate(&space));
        cpus[0].deactivate(&child);
        assert!(cpus[0].exit(space).is_ok() && cpus[0].exit(child).is_ok());
    });
}

fn guarded() -> Result<u8, FaultError> {
    Err(FaultError::Guarded)
}
