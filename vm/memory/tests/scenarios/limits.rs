//! Limits of spaces: the user halves of some machines, and narrower ones.

use crate::host::{HostCpu, access};
use crate::{BOTH, pages};
use faultline_frames::{Config, DomainId, FixedCpu, Frames, MemoryArea};
use faultline_memory::hosted::Hosted;
use faultline_memory::{
    Anywhere, CpuNumber, FaultError, FrameNumber, Memory, PageRange, Rights, STACK_GAP, SpaceError, VirtualPage,
};
use std::mem::MaybeUninit;

/// As many as a memory can have.
const CPUS: u32 = 256;
const FRAMES: u64 = 4096;
const HALVES: [PageRange; 4] = [PageRange::X86_64, PageRange::X86_64_LA57, PageRange::SV39, PageRange::SV48];

/// Runs `run` with the CPUs of a machine whose programs have these pages.
fn on_machine_with(pages: PageRange, has_tables_of_each_cpu: bool, run: impl FnOnce(&[HostCpu<'_, '_>])) {
    let area = [MemoryArea { first: FrameNumber(0), frames: FRAMES, domain: DomainId(0) }];
    let domains = [DomainId(0); CPUS as usize];
    let config = Config::new(&area, &domains);
    let mut metadata = vec![MaybeUninit::uninit(); Frames::layout(&config).unwrap().size() + 127];
    let allocator = Frames::new(&config, &mut metadata, ()).unwrap();
    let machine = Hosted::new(CPUS, FrameNumber(0), FRAMES, 16).unwrap().with_pages(pages);
    let machine = if has_tables_of_each_cpu { machine.with_tables_of_each_cpu() } else { machine };
    let memory = Memory::new(machine, CPUS, allocator.index_count()).unwrap();
    // SAFETY: 1. Each number has one handle. 2. All frames come from one allocator, and the machine
    // has as many.
    let handle = |number| unsafe {
        let number = CpuNumber(number);
        memory.cpu(number, allocator.on(FixedCpu::new(number))).unwrap()
    };
    let cpus: Vec<_> = (0..CPUS).map(handle).collect();
    run(&cpus);
    assert_eq!(allocator.free(), FRAMES);
}

fn on_each_machine(run: impl Fn(PageRange, &[HostCpu<'_, '_>])) {
    for half in HALVES {
        [false, true].into_iter().for_each(|own| on_machine_with(half, own, |cpus| run(half, cpus)));
    }
}

fn end(range: PageRange) -> u64 {
    range.first().0 + range.pages()
}

#[test]
fn addresses_chosen_on_any_cpu_lie_below_the_limit() {
    on_each_machine(|half, cpus| {
        let space = cpus[0].new_space().unwrap();
        assert_eq!(space.pages(), half);
        let mut chosen = Vec::new();
        for number in [0, 1, 8, 127, 128, 150, 255] {
            let cpu = &cpus[number];
            cpu.activate(&space).unwrap();
            let range = cpu.map_anywhere(&space, Anywhere::new(100), BOTH).unwrap();
            assert!(half.contains(range), "CPU {number}: {range:?}");
            assert_eq!(access(cpu, cpu.memory(), &space, end(range) - 1, 0, Some(number as u8)), Ok(0));
            assert!(chosen.iter().all(|other: &PageRange| other.first().0.abs_diff(range.first().0) > 1 << 12));
            chosen.push(range);
        }
        // All of the space, from the first pages that are chosen.
        cpus[0].unmap(&space, half).unwrap();
        let all = Anywhere::new(half.pages() - 16);
        let range = cpus[150].map_anywhere(&space, all, Rights::READ).unwrap();
        assert_eq!((range.first().0, end(range)), (16, end(half)));
        assert_eq!(cpus[150].map_anywhere(&space, Anywhere::new(1), BOTH), Err(SpaceError::NoAddress));
        cpus.iter().for_each(|cpu| cpu.deactivate(&space));
        assert!(cpus[0].exit(space).is_ok());
    });
}

#[test]
fn the_last_page_is_like_any_other_and_none_lies_behind_it() {
    on_each_machine(|half, cpus| {
        let cpu = &cpus[0];
        let space = cpu.new_space().unwrap();
        cpu.activate(&space).unwrap();
        let last = end(half) - 1;
        cpu.map(&space, pages(last, 1), BOTH).unwrap();
        assert_eq!(access(cpu, cpu.memory(), &space, last, 0, Some(7)), Ok(0));
        let child = cpu.fork(&space).unwrap();
        assert_eq!(child.pages(), half);
        cpu.activate(&child).unwrap();
        assert_eq!(access(cpu, cpu.memory(), &child, last, 0, Some(8)), Ok(7));
        assert_eq!(access(cpu, cpu.memory(), &space, last, 0, None), Ok(7));
        refuses_all_calls(cpu, &space, pages(last, 2));
        refuses_all_calls(cpu, &space, pages(end(half), 1));
        // A page whose number has the same lower bits as the last one.
        let fault = |page| cpu.fault(&space, VirtualPage(page), Rights::READ);
        assert_eq!([fault(end(half)), fault(2 * end(half) + 1), fault(u64::MAX)], [Err(FaultError::NotMapped); 3]);
        for space in [space, child] {
            cpu.deactivate(&space);
            assert!(cpu.exit(space).is_ok());
        }
    });
}

type Space<'m> = faultline_memory::Space<'m, Hosted>;

fn refuses_all_calls<'m>(cpu: &HostCpu<'m, '_>, space: &Space<'m>, range: PageRange) {
    let object = cpu.new_object(range.pages()).unwrap();
    let near = pages(space.pages().first().0 + 100, range.pages());
    cpu.map(space, near, BOTH).unwrap();
    let refused = [
        cpu.map(space, range, BOTH),
        cpu.map_object(space, range, BOTH, &object, 0),
        cpu.map_private(space, range, BOTH, &object, 0),
        cpu.map_stack(space, range, BOTH),
        cpu.unmap(space, range),
        cpu.protect(space, range, BOTH),
        cpu.dont_need(space, range),
        cpu.give_up(space, range),
        cpu.will_need(space, range),
        cpu.guard(space, range),
        cpu.unguard(space, range),
        cpu.lock_pages(space, range),
        cpu.unlock_pages(space, range),
        cpu.resize(space, range, 1),
        cpu.resize(space, near, end(space.pages())),
        cpu.move_to(space, range, near),
        cpu.move_to(space, near, range),
        cpu.move_anywhere(space, range, Anywhere::new(1)).map(drop),
    ];
    for (number, refused) in refused.into_iter().enumerate() {
        assert_eq!(refused, Err(SpaceError::BadRange), "call {number}");
    }
    let behind = Anywhere::new(1).within(pages(end(space.pages()), 64));
    assert_eq!(cpu.map_anywhere(space, behind, BOTH), Err(SpaceError::NoAddress));
    cpu.unmap(space, near).unwrap();
    cpu.drop_object(object);
}

#[test]
fn a_space_may_have_narrower_limits() {
    on_machine_with(PageRange::X86_64, true, |cpus| {
        let cpu = &cpus[150];
        // Addresses of 32 bits, without the lowest MiB.
        let narrow = pages(256, (1 << 20) - 256);
        assert!(cpu.new_space_within(pages(0, 1 << 36)).is_err_and(|error| error == SpaceError::BadRange));
        let space = cpu.new_space_within(narrow).unwrap();
        cpu.activate(&space).unwrap();
        let range = cpu.map_anywhere(&space, Anywhere::new(10), BOTH).unwrap();
        assert!(narrow.contains(range) && range.first().0 > 1 << 18, "{range:?}");
        assert_eq!(cpu.map_anywhere(&space, Anywhere::new(1).within(pages(0, 256)), BOTH), Err(SpaceError::NoAddress));
        refuses_all_calls(cpu, &space, pages(255, 2));
        // A stack grows down to the lowest page, and no further.
        cpu.unmap(&space, narrow).unwrap();
        cpu.map_stack(&space, pages(256 + STACK_GAP, 1), BOTH).unwrap();
        assert_eq!(access(cpu, cpu.memory(), &space, 256, 0, Some(1)), Ok(0));
        assert_eq!(access(cpu, cpu.memory(), &space, 255, 0, Some(1)), Err(FaultError::NotMapped));
        cpu.deactivate(&space);
        assert!(cpu.exit(space).is_ok());
    });
}

#[test]
fn more_cpus_than_a_memory_can_have_are_refused() {
    let machine = || Hosted::new(1, FrameNumber(0), 1, 16).unwrap();
    assert!(Memory::new(machine(), CPUS, 1).is_ok());
    assert_eq!(Memory::new(machine(), CPUS + 1, 1).err(), Some(SpaceError::TooManyCpus));
}
