//! The memory system of a pair, in the pair's arena: brought into the pair's state, before each CPU
//! performs its operation.

use super::Problem;
use super::arena::Part;
use super::operation::Operation;
use super::pairs::{NEW, Pair};
use super::specification::{BYTE, OBJECT_PAGES, Returned};
use crate::Metadata;
use crate::design::Padded;
use crate::team::{pin_to, region_begin, region_end};
use faultline_frames::{Config, DomainId, FixedCpu, Frames, MemoryArea};
use faultline_memory::hosted::{Hosted, Outcome};
use faultline_memory::{
    Counters, Cpu, CpuNumber, Event, FrameNumber, Memory, MemoryObject, PageRange, Rights, Space, SpaceError,
    VirtualPage,
};

type HostCpu<'m, 'f> = Cpu<'m, Hosted, Frames<'f, FixedCpu>>;

/// Blocks of 512 frames: one reserved by each CPU, and one more for each.
const FRAMES: u64 = 4 * 512;
/// A frame is a line, so contents are shared only if a page is.
const FRAME_BYTES: usize = 64;
const FIRST: FrameNumber = FrameNumber(0x200);
/// Frames that each CPU first takes and frees, so that its cache has both frames and room.
const WARM_FRAMES: usize = 24;

/// The state of a pair. Data of each space or object is on lines of its own.
struct System<'m, 'f> {
    memory: &'m Memory<Hosted>,
    cpus: [Padded<HostCpu<'m, 'f>>; 2],
    spaces: [Padded<Option<Space<'m, Hosted>>>; NEW + 2],
    objects: [Padded<Option<MemoryObject<'m, Hosted>>>; NEW + 2],
}

fn range(pages: super::operation::Pages) -> Result<PageRange, SpaceError> {
    PageRange::new(VirtualPage(pages.first), pages.count)
}

impl System<'_, '_> {
    fn counters(&self, cpu: usize) -> Counters {
        self.memory.counters_of(CpuNumber(cpu as u32)).expect("there are two")
    }

    /// A program's access: repeats until it succeeds or its fault cannot be resolved.
    fn access(&self, cpu: usize, space: usize, page: u64, write: Option<u8>) -> Returned {
        let (rights, page) = (if write.is_some() { Rights::WRITE } else { Rights::READ }, VirtualPage(page));
        let (cpu, Some(space)) = (&self.cpus[cpu].0, &self.spaces[space].0) else { return Returned::Gone };
        loop {
            match self.memory.machine().access(cpu.number(), space, page, BYTE, write) {
                Outcome::Done(before) => return Returned::Byte(before),
                Outcome::Fault => {}
            }
            if let Err(error) = cpu.fault(space, page, rights) {
                return Returned::Faulted(error);
            }
        }
    }

    fn apply(&mut self, cpu_number: usize, operation: &Operation) -> Returned {
        use Operation::*;
        let cpu = &self.cpus[cpu_number].0;
        match *operation {
            Read { space, page } => return self.access(cpu_number, space, page, None),
            Write { space, page, value } => return self.access(cpu_number, space, page, Some(value)),
            NewSpace { space } => {
                self.spaces[space].0 = cpu.new_space().ok();
                return if self.spaces[space].0.is_some() { Returned::Done } else { NO_MEMORY };
            }
            NewObject { object } => {
                self.objects[object].0 = cpu.new_object(OBJECT_PAGES).ok();
                return if self.objects[object].0.is_some() { Returned::Done } else { NO_MEMORY };
            }
            DropObject { object } => {
                let Some(object) = self.objects[object].0.take() else { return Returned::Gone };
                cpu.drop_object(object);
                return Returned::Done;
            }
            Exit { space } => {
                let place = &mut self.spaces[space].0;
                let Some(space) = place.take() else { return Returned::Gone };
                return match cpu.exit(space) {
                    Ok(()) => Returned::Done,
                    Err((space, error)) => {
                        *place = Some(space);
                        Returned::Refused(error)
                    }
                };
            }
            _ => {}
        }
        let Some((number, _)) = operation.place() else { return Returned::Gone };
        let Some(space) = &self.spaces[number].0 else { return Returned::Gone };
        match *operation {
            Map { pages, rights, .. } => range(pages).and_then(|pages| cpu.map(space, pages, rights)).into(),
            MapObject { pages, rights, object, from, .. } => {
                let Some(object) = &self.objects[object].0 else { return Returned::Gone };
                range(pages).and_then(|pages| cpu.map_object(space, pages, rights, object, from)).into()
            }
            Unmap { pages, .. } => range(pages).and_then(|pages| cpu.unmap(space, pages)).into(),
            Protect { pages, rights, .. } => range(pages).and_then(|pages| cpu.protect(space, pages, rights)).into(),
            DontNeed { pages, .. } => range(pages).and_then(|pages| cpu.dont_need(space, pages)).into(),
            Activate { .. } => cpu.activate(space).into(),
            Deactivate { .. } => {
                cpu.deactivate(space);
                Returned::Done
            }
            Fork { child, .. } => match cpu.fork(space) {
                Ok(forked) => {
                    self.spaces[child].0 = Some(forked);
                    Returned::Done
                }
                Err(error) => Returned::Refused(error),
            },
            Read { .. } | Write { .. } | Exit { .. } | NewSpace { .. } | NewObject { .. } | DropObject { .. } => {
                Returned::Gone
            }
        }
    }

    /// Performs an operation of the pair, in the region of interest. Returns its name, with an
    /// access's kind of fault.
    fn operate(&mut self, cpu: usize, operation: &Operation, part: &mut Part) -> (Returned, String) {
        let before = self.counters(cpu);
        // On this thread's own stack, so that the region has no lines of the other one's.
        let operation = &{ *operation };
        let returned = part.within(|| {
            region_begin();
            let returned = self.apply(cpu, operation);
            region_end();
            returned
        });
        let after = self.counters(cpu);
        let happened = |event: Event| after.of(event) > before.of(event);
        let fault = match operation {
            Operation::Read { .. } | Operation::Write { .. } => FAULTS.iter().find(|(event, _)| happened(*event)),
            _ => None,
        };
        let is_access = matches!(operation, Operation::Read { .. } | Operation::Write { .. });
        let of = match fault {
            Some((_, words)) => words,
            None if is_access && happened(Event::Fault) => " of a private page that is there",
            None if is_access => " of a translated page",
            None => "",
        };
        (returned, format!("{}{of}", operation.name()))
    }
}

const NO_MEMORY: Returned = Returned::Refused(SpaceError::NoMemory);

/// Kinds of faults, by the first event counted.
const FAULTS: [(Event, &str); 7] = [
    (Event::Refused, " that is refused"),
    (Event::Copy, " that copies a page"),
    (Event::TakenOver, " that takes a page over"),
    (Event::ZeroFill, " of a page of zeroes"),
    (Event::ObjectFill, " of a new page of an object"),
    (Event::ObjectHit, " of a page of an object"),
    (Event::Spurious, " of a page that another CPU has entered"),
];

fn warm_up(frames: &Frames<'_, FixedCpu>) -> Result<(), Problem> {
    let mut taken = [FIRST; WARM_FRAMES];
    for frame in &mut taken {
        *frame = frames.get()?;
    }
    for frame in taken {
        frames.put(frame)?;
    }
    Ok(())
}

/// Runs a pair in its arena. Returns the names of the operations, with the kinds of their faults.
pub(super) fn run(pair: &Pair, parts: [Part; 2], cpus: [usize; 2]) -> Result<[String; 2], Problem> {
    let [mut first_part, mut second_part] = parts;
    let area = [MemoryArea { first: FIRST, frames: FRAMES, domain: DomainId(0) }];
    let config = Config::new(&area, &[DomainId(0); 2]);
    let layout = Frames::layout(&config)?;
    let mut metadata = first_part.within(|| Metadata::new(layout));
    // SAFETY: 1. Lent once. 2. The allocator ends before it.
    let allocator = Frames::new(&config, unsafe { metadata.lend() }, ())?;
    let memory = first_part.within(|| {
        let machine = Hosted::new(2, FIRST, FRAMES, FRAME_BYTES)?.with_tables_of_each_cpu();
        Memory::new(machine, 2, allocator.index_count())
    })?;
    let handle = |number| {
        // SAFETY: each number has one handle.
        let frames = allocator.on(unsafe { FixedCpu::new(CpuNumber(number)) });
        // SAFETY: 1. Each number has one handle. 2. All frames come from one allocator, and the
        // machine has as many.
        Padded(unsafe { memory.cpu(CpuNumber(number), frames) }.expect("there are two"))
    };
    let mut system = first_part.within(|| {
        Box::new(System {
            memory: &memory,
            cpus: [handle(0), handle(1)],
            spaces: std::array::from_fn(|_| Padded(None)),
            objects: std::array::from_fn(|_| Padded(None)),
        })
    });
    system.cpus.iter().try_for_each(|cpu| warm_up(cpu.0.frames()))?;
    for (cpu, operation) in &pair.before {
        let returned = first_part.within(|| system.apply(*cpu, operation));
        if let Returned::Refused(_) | Returned::Gone = returned {
            return Err(format!("{operation}: {returned:?} on the way to the state").into());
        }
    }
    let [first, second] = &pair.operations;
    let first = system.operate(0, first, &mut first_part);
    let second = std::thread::scope(|scope| {
        let on_second = || -> Result<_, Problem> {
            pin_to(cpus[1])?;
            Ok(system.operate(1, second, &mut second_part))
        };
        scope.spawn(on_second).join().unwrap_or_else(|_| Err("a panic".into()))
    })?;
    // Its spaces' frames are in the arena.
    let returned = [first.0, second.0];
    if returned != pair.returned {
        return Err(format!("returned {returned:?}, by the specification {:?}", pair.returned).into());
    }
    Ok([first.1, second.1])
}
