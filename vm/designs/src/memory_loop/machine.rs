//! A hosted machine with a CPU for each thread, and its threads.

use super::patterns::{FORKED_PAGES, Member, Task};
use crate::systems::{Cpu, Refused, Shape, System, on_machine};
use crate::team::Team;
use faultline_frames::Policy;
use faultline_memory::Event;

/// How often each event happened in the region.
pub(super) type Counted = Vec<(&'static str, u64)>;

/// Contents are no part of what is counted: as small as a frame can be on lines of its own.
const FRAME_BYTES: usize = 128;

/// Frames of an allocator's block, of which each CPU reserves one.
const BLOCK_FRAMES: u64 = 512;

/// Runs the threads on a fresh machine.
pub(super) fn run<S: System>(task: &Task, team: &Team) -> Result<Counted, Refused> {
    let shape = Shape { cpus: task.threads, frames: frames(task), frame_bytes: FRAME_BYTES, policy: Policy::default() };
    on_machine::<S, _>(&shape, |system, cpus| {
        let (count, pages) = task.objects();
        let objects = (0..count).map(|_| system.new_object(&cpus[0], pages)).collect::<Result<Vec<_>, _>>()?;
        let spaces = if task.pattern.is_of_threads() { &cpus[..1] } else { &cpus[..] };
        let spaces = spaces.iter().map(|cpu| system.new_space(cpu)).collect::<Result<Vec<_>, _>>()?;
        Ok(in_threads(task, team, system, cpus, &spaces, &objects))
    })?
    .0
}

/// Twice the pages that are there at once, and some blocks for each thread's cache.
fn frames(task: &Task) -> u64 {
    let of_thread = (2 * (task.part_pages() + FORKED_PAGES)).next_multiple_of(BLOCK_FRAMES) + 4 * BLOCK_FRAMES;
    let (objects, pages) = task.objects();
    u64::from(task.threads) * of_thread + (objects * pages).next_multiple_of(BLOCK_FRAMES)
}

fn in_threads<'m, S: System>(
    task: &Task,
    team: &Team,
    system: &S,
    cpus: Vec<Cpu<'m>>,
    spaces: &[S::Space<'m>],
    objects: &[S::Object<'m>],
) -> Counted {
    let parts: Vec<[u64; Event::ALL.len()]> = std::thread::scope(|scope| {
        let start = |(number, cpu): (u32, Cpu<'m>)| {
            let space = &spaces[number as usize % spaces.len()];
            scope.spawn(move || {
                let member = Member { task, number, system, cpu, space, objects };
                member.work(team).unwrap_or_else(|refused| give_up(&refused))
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
