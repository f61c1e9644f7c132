//! A hosted machine with a CPU for each thread, and its threads.

use super::patterns::{FORKED_PAGES, HostCpu, HostObject, HostSpace, Member, Refused, Task};
use crate::Metadata;
use crate::team::Team;
use faultline_frames::{Config, DomainId, FixedCpu, Frames, MemoryArea};
use faultline_memory::hosted::Hosted;
use faultline_memory::{Cpu, CpuNumber, Event, FrameNumber, Memory};

/// How often each event happened in the region.
pub(super) type Counted = Vec<(&'static str, u64)>;

/// Contents are no part of what is counted: as small as a frame can be on lines of its own.
const FRAME_BYTES: usize = 128;
const FIRST: FrameNumber = FrameNumber(0x200);

/// Frames of an allocator's block, of which each CPU reserves one.
const BLOCK_FRAMES: u64 = 512;

/// Runs the threads on a fresh machine.
pub(super) fn run(task: &Task, team: &Team) -> Result<Counted, Refused> {
    let frames = frames(task);
    let area = [MemoryArea { first: FIRST, frames, domain: DomainId(0) }];
    let domains = vec![DomainId(0); task.threads as usize];
    let config = Config::new(&area, &domains);
    let mut metadata = Metadata::new(Frames::layout(&config)?);
    // SAFETY: 1. Lent once. 2. The allocator ends before it.
    let allocator = Frames::new(&config, unsafe { metadata.lend() }, ())?;
    let machine = Hosted::new(task.threads, FIRST, frames, FRAME_BYTES)?;
    let memory = Memory::new(machine, task.threads, allocator.index_count())?;
    let cpu = |number| {
        // SAFETY: each number has one handle.
        let frames = allocator.on(unsafe { FixedCpu::new(number) });
        // SAFETY: 1. Each number has one handle. 2. All frames come from one allocator, and the machine has as many.
        unsafe { memory.cpu(number, frames) }
    };
    let cpus: Vec<HostCpu<'_, '_>> = (0..task.threads).filter_map(|number| cpu(CpuNumber(number))).collect();
    let (count, pages) = task.objects();
    let objects = (0..count).map(|_| cpus[0].new_object(pages)).collect::<Result<Vec<_>, _>>()?;
    let spaces = if task.pattern.is_of_threads() { &cpus[..1] } else { &cpus[..] };
    let spaces = spaces.iter().map(Cpu::new_space).collect::<Result<Vec<_>, _>>()?;
    Ok(in_threads(task, team, cpus, &spaces, &objects))
}

/// Twice the pages that are there at once, and some blocks for each thread's cache.
fn frames(task: &Task) -> u64 {
    let of_thread = (2 * (task.part_pages() + FORKED_PAGES)).next_multiple_of(BLOCK_FRAMES) + 4 * BLOCK_FRAMES;
    let (objects, pages) = task.objects();
    u64::from(task.threads) * of_thread + (objects * pages).next_multiple_of(BLOCK_FRAMES)
}

fn in_threads<'m, 'f>(
    task: &Task,
    team: &Team,
    cpus: Vec<HostCpu<'m, 'f>>,
    spaces: &[HostSpace<'m>],
    objects: &[HostObject<'m>],
) -> Counted {
    let parts: Vec<[u64; Event::ALL.len()]> = std::thread::scope(|scope| {
        let start = |(number, cpu): (u32, HostCpu<'m, 'f>)| {
            let space = &spaces[number as usize % spaces.len()];
            scope.spawn(move || {
                Member { task, number, cpu, space, objects }.work(team).unwrap_or_else(|refused| give_up(&refused))
            })
        };
        let members: Vec<_> = (0..).zip(cpus).map(start).collect();
        team.start();
        members.into_iter().map(|member| member.join().expect("members do not panic")).collect()
    });
    let sum = |event: &Event| (event.words(), parts.iter().map(|part| part[*event as usize]).sum());
    Event::ALL.iter().map(sum).filter(|(_, count)| *count > 0).collect()
}

/// The others would wait for this thread.
fn give_up(refused: &Refused) -> ! {
    eprintln!("error: {refused}");
    std::process::exit(1)
}
