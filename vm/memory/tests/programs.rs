//! Random programs of several spaces, CPUs and objects, under memory pressure, with a page daemon
//! and a swap area, compared byte by byte with a model of POSIX memory; all frames are free at the
//! end. A failing program is printed with its seed, and shrunk.
//!
//! `FAULTLINE_SEED=N cargo test -p faultline-memory --test programs` runs that program alone;
//! `FAULTLINE_PROGRAMS=N` runs N programs. With `-- --ignored`: new ones for `FAULTLINE_MINUTES=N`,
//! default 60 (`make -C vm programs`).

mod host;
mod posix;
#[expect(dead_code, reason = "a program has one kind of page tables")]
mod store;

use faultline_memory::hosted::{Hosted, PageTable};
use faultline_memory::{
    Anywhere, Event, FaultError, Hand, Memory, MemoryObject, PageRange, Rights, Space, SpaceError, VirtualPage,
};
use host::{BOTH_TABLES, HostCpu, Tables, access};
use posix::{BYTES, Objects};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use store::{Store, on_swapping_machine_with};

const CPUS: usize = 3;
/// Fewer than programs want.
const FRAMES: u64 = 256;
/// For programs with large pages: a block of frames for each CPU, which uses single frames of it,
/// and four more.
const FRAMES_WITH_LARGE: u64 = 512 * (CPUS as u64 + 4);
/// Pages of a large page.
const LARGE: u64 = 512;
/// Free frames that a CPU cannot get: other CPUs' current magazines.
const STRANDED: u64 = 32 * (CPUS as u64 - 1);
const MOST_SPACES: usize = 5;
const OBJECT_PAGES: u64 = 150;
const STACK_LIMIT: u64 = 100;
/// First page of a range that no program maps.
const FAR: u64 = 1 << 30;

/// Operations of a program, and programs: together a million operations.
const OPERATIONS: usize = if cfg!(miri) { 60 } else { 2_000 };
const PROGRAMS: u64 = if cfg!(miri) { 2 } else { 500 };

/// An operation. Numbers are taken modulo what exists, so removing operations leaves a valid
/// program.
#[derive(Debug, Clone, Copy)]
struct Operation {
    kind: Kind,
    cpu: usize,
    space: usize,
    first: u64,
    pages: u64,
    number: usize,
    rights: Rights,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Access,
    Map,
    MapObject,
    Unmap,
    Protect,
    DontNeed,
    Fork,
    Exit,
    Activate,
    Deactivate,
    NewObject,
    /// Of a file.
    NewPagedObject,
    MapPrivate,
    Truncate,
    WriteBack,
    Sweep,
    Guard,
    Unguard,
    MapAnywhere,
    MapStack,
    Resize,
    MoveTo,
    MoveAnywhere,
    Lock,
    Unlock,
    WillNeed,
    GiveUp,
}

impl Kind {
    fn is_of_space(self) -> bool {
        use Kind::*;
        matches!(
            self,
            Access
                | Map
                | MapObject
                | MapPrivate
                | Unmap
                | Protect
                | DontNeed
                | Fork
                | Activate
                | Deactivate
                | Guard
                | Unguard
                | MapAnywhere
                | MapStack
                | Resize
                | MoveTo
                | MoveAnywhere
                | Lock
                | Unlock
                | WillNeed
                | GiveUp
        )
    }
}

fn operation(random: &mut SmallRng, has_large: bool) -> Operation {
    use Kind::*;
    let kind = match random.random_range(0..120) {
        0..62 => Access,
        62..70 => Map,
        70..73 => MapObject,
        73..75 => MapPrivate,
        75..80 => Unmap,
        80..85 => Protect,
        85..88 => DontNeed,
        88..90 => Fork,
        90..92 => Exit,
        92..94 => Activate,
        94 => Deactivate,
        95 => NewObject,
        96 => NewPagedObject,
        97 => Truncate,
        98 => WriteBack,
        99 => Guard,
        100 | 101 => Unguard,
        102 | 103 => MapAnywhere,
        104 | 105 => MapStack,
        106 => Resize,
        107..110 => MoveTo,
        110 => MoveAnywhere,
        111 | 112 => Lock,
        113..115 => Unlock,
        115 | 116 => WillNeed,
        117 | 118 => GiveUp,
        _ => Sweep,
    };
    // Around the borders of leaves, of the nodes above them, and of page tables; in an empty part
    // of the space too.
    let near = [0, 64, 512, 4096, 1 << 18, 1 << 27][random.random_range(0..6)] as u64;
    let pages = match random.random_range(0..20) {
        0..12 => random.random_range(1..10),
        12..18 => random.random_range(1..150),
        18 => 64,
        _ => 600,
    };
    let first = (near + random.random_range(0..90)).saturating_sub(40);
    let is_large = has_large && random.random_range(0..3) == 0;
    let (first, pages) = match kind {
        // Within what others map whole.
        Access if is_large => (first / LARGE * LARGE + random.random_range(0..LARGE), pages),
        _ if is_large => (first / LARGE * LARGE, LARGE * (1 + pages / 64 % 2)),
        _ => (first, pages),
    };
    let rights = match random.random_range(0..6) {
        _ if is_large && matches!(kind, Map) => Rights::READ | Rights::WRITE,
        0 => Rights::NONE,
        1 | 2 => Rights::READ,
        _ => Rights::READ | Rights::WRITE,
    };
    Operation {
        kind,
        cpu: random.random_range(0..CPUS),
        space: random.random_range(0..64),
        first,
        pages,
        number: random.random_range(0..10_000),
        rights,
    }
}

/// A space and its model.
struct Pair<'m> {
    ours: Space<'m, Hosted>,
    model: posix::Space,
    active: BTreeSet<usize>,
}

struct Run<'r, 'm, 'f> {
    cpus: &'r [HostCpu<'m, 'f>],
    memory: &'m Memory<Hosted>,
    pairs: Vec<Pair<'m>>,
    objects: Vec<Option<Named<'m>>>,
    contents: Objects,
    hand: Hand,
}

/// An object, and its file.
struct Named<'m> {
    ours: MemoryObject<'m, Hosted>,
    file: Option<Arc<Store>>,
}

/// Window for chosen addresses: near the program's mappings, and so small that it is full at times.
fn window(number: usize) -> PageRange {
    PageRange::new(VirtualPage(40 + number as u64 % 100), 1000).unwrap()
}

fn alignment(number: usize) -> u64 {
    [1, 1, 8, 64][number % 4]
}

fn wanted(number: usize, pages: u64) -> Anywhere {
    Anywhere::new(pages).aligned(alignment(number)).within(window(number))
}

fn check_choice(model: &posix::Space, number: usize, pages: u64, chosen: PageRange) -> Range<u64> {
    let (first, window) = (chosen.first().0, window(number));
    let range = first..first + chosen.pages();
    assert!(chosen.pages() == pages && first.is_multiple_of(alignment(number)) && model.is_room(&range), "{chosen:?}");
    assert!(first >= window.first().0 && range.end <= window.first().0 + window.pages(), "{chosen:?}");
    range
}

fn check_no_choice(model: &posix::Space, number: usize, pages: u64, error: SpaceError) {
    let window = window(number);
    let (begin, end) = (window.first().0, window.first().0 + window.pages());
    let first = (begin..)
        .take_while(|first| first + pages <= end)
        .find(|first| first.is_multiple_of(alignment(number)) && model.is_room(&(*first..first + pages)));
    assert_eq!((error, first), (SpaceError::NoAddress, None));
}

/// Initial contents of files.
fn pattern(index: u64) -> u8 {
    (index * 7 + 3) as u8
}

impl<'r, 'm, 'f> Run<'r, 'm, 'f> {
    fn new(cpus: &'r [HostCpu<'m, 'f>]) -> Self {
        let model = posix::Space::new(STACK_LIMIT);
        let first = Pair { ours: cpus[0].new_space().unwrap(), model, active: BTreeSet::new() };
        cpus[0].set_stack_limit(&first.ours, STACK_LIMIT);
        let hand = Hand::new(0..cpus[0].frames().index_count());
        let (memory, contents) = (cpus[0].memory(), Objects::default());
        Self { cpus, memory, pairs: vec![first], objects: Vec::new(), contents, hand }
    }

    fn step(&mut self, operation: &Operation) {
        let Operation { kind, cpu, first, pages, number, rights, .. } = *operation;
        let which = operation.space % self.pairs.len();
        let handle = &self.cpus[cpu];
        let range = PageRange::new(VirtualPage(first), pages).unwrap();
        let model_range = first..first + pages;
        let spaces = self.pairs.len();
        let pair = &mut self.pairs[which];
        if kind.is_of_space() && pair.active.insert(cpu) {
            handle.activate(&pair.ours).unwrap();
        }
        let memory = self.memory;
        let counted = |event| memory.counters().of(event);
        let (sent, scanned) = (counted(Event::ShootDown), counted(Event::Scanned));
        let is_alone = pair.active.len() == 1;
        match kind {
            Kind::Access => {
                for index in 0..pages.min(12) {
                    let (page, byte) = (first + index, (number + index as usize) % BYTES);
                    let write = (number % 2 == 0).then_some((number / 2 + index as usize) as u8);
                    let mut found = access(handle, self.memory, &pair.ours, page, byte, write);
                    if found == Err(FaultError::NoMemory) {
                        assert!(handle.frames().free() <= STRANDED, "a lack of memory while frames are free");
                        if number % 3 == 0 {
                            // A stack has grown by now.
                            pair.model.grow(page);
                            break;
                        }
                        assert!(handle.sweep(&mut self.hand, 20).reclaimed >= 20, "all pages can go");
                        found = access(handle, self.memory, &pair.ours, page, byte, write);
                    }
                    let expected = pair.model.access(&mut self.contents, page, byte, write, found.unwrap_or(0));
                    assert_eq!(found, expected, "page {page:#x} byte {byte} of space {which}");
                }
            }
            Kind::Map => {
                handle.map(&pair.ours, range, rights).unwrap();
                pair.model.map(model_range, rights);
            }
            Kind::MapObject | Kind::MapPrivate => {
                let place = number % self.objects.len().max(1);
                let Some(Some(object)) = self.objects.get(place) else { return };
                let from = (number as u64).wrapping_mul(7) % OBJECT_PAGES;
                let is_private = matches!(kind, Kind::MapPrivate);
                let mapped = match is_private {
                    true => handle.map_private(&pair.ours, range, rights, &object.ours, from),
                    false => handle.map_object(&pair.ours, range, rights, &object.ours, from),
                };
                match mapped {
                    Ok(()) if is_private => pair.model.map_private(model_range, rights, place, from),
                    Ok(()) => pair.model.map_object(model_range, rights, place, from),
                    Err(error) => {
                        assert_eq!((error, from + pages > OBJECT_PAGES), (SpaceError::BeyondObject, true));
                    }
                }
            }
            Kind::Unmap => {
                handle.unmap(&pair.ours, range).unwrap();
                pair.model.unmap(model_range);
            }
            Kind::Protect => {
                let ours = handle.protect(&pair.ours, range, rights);
                assert_eq!(ours, pair.model.protect(model_range, rights));
            }
            Kind::DontNeed => {
                handle.dont_need(&pair.ours, range).unwrap();
                pair.model.dont_need(model_range);
            }
            Kind::Guard => {
                let ours = handle.guard(&pair.ours, range);
                assert_eq!(ours, pair.model.guard(model_range));
            }
            Kind::Unguard => {
                handle.unguard(&pair.ours, range).unwrap();
                pair.model.unguard(model_range);
            }
            Kind::MapAnywhere => {
                let wanted = wanted(number, pages);
                match handle.map_anywhere(&pair.ours, wanted, rights) {
                    Ok(chosen) => {
                        let chosen = check_choice(&pair.model, number, pages, chosen);
                        pair.model.map(chosen, rights);
                    }
                    Err(error) => check_no_choice(&pair.model, number, pages, error),
                }
            }
            Kind::MapStack => {
                handle.map_stack(&pair.ours, range, rights).unwrap();
                pair.model.map_stack(model_range, rights);
                // Somewhere below it.
                let page = first.saturating_sub(number as u64 % (2 * STACK_LIMIT));
                let mut found = access(handle, self.memory, &pair.ours, page, 0, None);
                while found == Err(FaultError::NoMemory) {
                    assert!(handle.sweep(&mut self.hand, 20).reclaimed >= 20, "all pages can go");
                    found = access(handle, self.memory, &pair.ours, page, 0, None);
                }
                let expected = pair.model.access(&mut self.contents, page, 0, None, found.unwrap_or(0));
                assert_eq!(found, expected, "page {page:#x} below a stack");
            }
            Kind::Resize => {
                let length = 1 + number as u64 % 200;
                let ours = handle.resize(&pair.ours, range, length);
                assert_eq!(ours, pair.model.resize(model_range, length, OBJECT_PAGES));
            }
            Kind::MoveTo => {
                let (to, length) = (1 + number as u64 % 5000, 1 + number as u64 % 7 * pages / 4);
                let to_range = PageRange::new(VirtualPage(to), length).unwrap();
                let ours = Self::retried(&mut self.hand, handle, || handle.move_to(&pair.ours, range, to_range));
                assert_eq!(ours, pair.model.move_to(model_range, to..to + length, OBJECT_PAGES));
            }
            Kind::MoveAnywhere => {
                let length = 1 + number as u64 % 7 * pages / 4;
                let wanted = wanted(number, length);
                match Self::retried(&mut self.hand, handle, || handle.move_anywhere(&pair.ours, range, wanted)) {
                    Ok(chosen) => {
                        let chosen = check_choice(&pair.model, number, length, chosen);
                        pair.model.move_to(model_range, chosen, OBJECT_PAGES).unwrap();
                    }
                    Err(SpaceError::NoAddress) => {
                        check_no_choice(&pair.model, number, length, SpaceError::NoAddress);
                    }
                    Err(error) => {
                        assert_eq!(Err(error), pair.model.move_to(model_range, FAR..FAR + length, OBJECT_PAGES))
                    }
                }
            }
            Kind::Lock => {
                let is_wired = |index: &u32| memory.page_state(*index).unwrap().wired() > 0;
                let length = pages.min(8);
                if (0..handle.frames().index_count()).filter(is_wired).count() > 24 {
                    return;
                }
                let range = PageRange::new(VirtualPage(first), length).unwrap();
                let ours = Self::retried(&mut self.hand, handle, || handle.lock_pages(&pair.ours, range));
                assert_eq!(ours, pair.model.lock(first..first + length, &self.contents));
            }
            Kind::Unlock => handle.unlock_pages(&pair.ours, range).unwrap(),
            Kind::WillNeed => handle.will_need(&pair.ours, range).unwrap(),
            Kind::GiveUp => {
                handle.give_up(&pair.ours, range).unwrap();
                pair.model.give_up(model_range);
            }
            Kind::Fork if spaces < MOST_SPACES => {
                let ours = handle.fork(&pair.ours).unwrap();
                let model = pair.model.clone();
                self.pairs.push(Pair { ours, model, active: BTreeSet::new() });
            }
            Kind::Exit if spaces > 1 => {
                let pair = self.pairs.swap_remove(which);
                self.end(pair, handle);
            }
            Kind::Fork | Kind::Exit | Kind::Activate => {}
            Kind::Deactivate => {
                handle.deactivate(&pair.ours);
                pair.active.remove(&cpu);
            }
            Kind::NewObject | Kind::NewPagedObject if self.objects.iter().flatten().count() < 4 => {
                let is_paged = matches!(kind, Kind::NewPagedObject);
                let pattern: fn(u64) -> u8 = if is_paged { pattern } else { |_| 0 };
                let file = is_paged.then(|| Arc::new(Store::new(self.memory.machine().bytes().clone(), pattern)));
                let ours = match &file {
                    Some(file) => handle.new_paged_object(OBJECT_PAGES, file.clone()),
                    None => handle.new_object(OBJECT_PAGES),
                };
                let mut ours = ours.unwrap();
                assert!(number % 2 == 0 || handle.spread(&mut ours) == Ok(true));
                self.contents.add(self.objects.len(), OBJECT_PAGES, pattern);
                self.objects.push(Some(Named { ours, file }));
            }
            Kind::NewObject | Kind::NewPagedObject => {
                let place = number % self.objects.len();
                if let Some(object) = self.objects[place].take() {
                    handle.drop_object(object.ours);
                }
            }
            Kind::Truncate => {
                let place = number % self.objects.len().max(1);
                let Some(Some(object)) = self.objects.get(place) else { return };
                let length = if number % 3 == 0 { OBJECT_PAGES } else { number as u64 / 3 % OBJECT_PAGES };
                assert_eq!(handle.truncate(&object.ours, OBJECT_PAGES + 1), Err(SpaceError::BeyondObject));
                handle.truncate(&object.ours, length).unwrap();
                object.file.iter().for_each(|file| file.truncate(length));
                self.contents.truncate(place, length);
            }
            Kind::WriteBack => {
                let place = number % self.objects.len().max(1);
                let Some(Some(object)) = self.objects.get(place) else { return };
                let from = number as u64 % OBJECT_PAGES;
                handle.write_back(&object.ours, from, pages).unwrap();
                let Some(file) = &object.file else { return };
                for index in from..from + pages {
                    let expected = self.contents.page(place, index);
                    assert!(expected.is_none_or(|page| file.page(index) == page), "page {index} of the file");
                }
            }
            Kind::Sweep => drop(handle.sweep(&mut self.hand, number as u64 % 60)),
        }
        // The page daemon asks the CPUs of all spaces.
        if is_alone && kind.is_of_space() && counted(Event::Scanned) == scanned {
            assert_eq!(counted(Event::ShootDown), sent, "a shoot-down that was not due: {kind:?}");
        }
    }

    /// Result of a call that may need frames.
    fn retried<T>(
        hand: &mut Hand,
        handle: &HostCpu<'m, '_>,
        call: impl Fn() -> Result<T, SpaceError>,
    ) -> Result<T, SpaceError> {
        for _ in 0..20 {
            match call() {
                Err(SpaceError::NoMemory) => {
                    assert!(handle.frames().free() <= STRANDED, "a lack of memory while frames are free");
                    assert!(handle.sweep(hand, 60).reclaimed >= 60, "all pages can go");
                }
                end => return end,
            }
        }
        panic!("no frames for a call")
    }

    fn end(&self, pair: Pair<'m>, by: &HostCpu<'m, '_>) {
        let Pair { ours, active, .. } = pair;
        let ours = match by.exit(ours) {
            Err((ours, error)) => {
                assert_eq!((error, active.is_empty()), (SpaceError::Active, false));
                active.iter().for_each(|cpu| self.cpus[*cpu].deactivate(&ours));
                ours
            }
            Ok(()) => {
                assert!(active.is_empty());
                return;
            }
        };
        assert!(by.exit(ours).is_ok());
    }

    /// Compares all readable bytes, and ends.
    fn finish(mut self) {
        let handle = &self.cpus[0];
        for pair in &mut self.pairs {
            handle.activate(&pair.ours).unwrap();
            pair.active.insert(0);
            for page in pair.model.mapped().collect::<Vec<_>>() {
                for byte in 0..BYTES {
                    let mut found = access(handle, self.memory, &pair.ours, page, byte, None);
                    if found == Err(FaultError::NoMemory) {
                        assert!(handle.frames().free() <= STRANDED);
                        assert!(handle.sweep(&mut self.hand, 20).reclaimed >= 20, "all pages can go");
                        found = access(handle, self.memory, &pair.ours, page, byte, None);
                    }
                    let expected = pair.model.access(&mut self.contents, page, byte, None, found.unwrap_or(0));
                    assert_eq!(found, expected, "page {page:#x} byte {byte} at the end");
                }
            }
        }
        // One space is unmapped first: its page tables go with its last page.
        let last = self.pairs.len() - 1;
        let ours = &self.pairs[last].ours;
        handle.unmap(ours, ours.pages()).unwrap();
        let tables = self.cpus.iter().filter_map(|cpu| ours.pmap(cpu.number()).map(PageTable::tables));
        assert_eq!(tables.sum::<u64>(), 0, "page tables without entries are freed");
        while let Some(pair) = self.pairs.pop() {
            self.end(pair, handle);
        }
        self.objects.drain(..).flatten().for_each(|object| handle.drop_object(object.ours));
    }
}

/// A program, and the frames and page tables of its machine.
#[derive(Clone)]
struct Program {
    operations: Vec<Operation>,
    frames: u64,
    tables: Tables,
}

impl Program {
    /// One program in eight has room for large pages.
    fn of(seed: u64) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let has_large = seed.is_multiple_of(8);
        let operations = (0..OPERATIONS).map(|_| operation(&mut random, has_large)).collect();
        let frames = if has_large { FRAMES_WITH_LARGE } else { FRAMES };
        Self { operations, frames, tables: BOTH_TABLES[(seed + seed / 8) as usize % 2] }
    }
}

fn run(program: &Program) {
    on_swapping_machine_with(program.tables, CPUS as u32, program.frames, BYTES, |cpus| {
        let mut run = Run::new(cpus);
        program.operations.iter().for_each(|operation| run.step(operation));
        run.finish();
    });
}

fn fails(program: &Program) -> bool {
    catch_unwind(AssertUnwindSafe(|| run(program))).is_err()
}

/// Removes parts of the program, of half its length, a quarter, and so on, as long as it fails.
fn shrunk(mut program: Program) -> Program {
    let mut part = program.operations.len() / 2;
    while part > 0 {
        let mut begin = 0;
        while begin < program.operations.len() {
            let end = (begin + part).min(program.operations.len());
            let operations = [&program.operations[..begin], &program.operations[end..]].concat();
            let without = Program { operations, ..program };
            if fails(&without) {
                program = without;
            } else {
                begin = end;
            }
        }
        part /= 2;
    }
    program
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")))
}

#[test]
fn programs_agree_with_the_model_byte_by_byte() {
    let seeds = match number("FAULTLINE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..1 + number("FAULTLINE_PROGRAMS").unwrap_or(PROGRAMS),
    };
    seeds.for_each(check);
}

/// Runs a program. One that fails is printed, and shrunk.
fn check(seed: u64) {
    let program = Program::of(seed);
    if fails(&program) {
        let program = shrunk(program);
        let Program { tables, operations, .. } = &program;
        eprintln!(
            "FAULTLINE_SEED={seed} fails, with page tables {tables:?}; shrunk to {} operations:",
            operations.len()
        );
        program.operations.iter().for_each(|operation| eprintln!("{operation:?}"));
        run(&program);
        panic!("seed {seed} failed, and its shrunk program no longer does");
    }
}

/// New programs: their seeds begin with the time of day.
#[test]
#[ignore = "an hour: make -C vm programs"]
fn other_programs_agree_with_the_model_for_an_hour() {
    let minutes = number("FAULTLINE_MINUTES").unwrap_or(60);
    let end = Instant::now() + Duration::from_secs(60 * minutes);
    let first = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() << 20;
    let ran = (first..).take_while(|_| Instant::now() < end).map(check).count();
    println!("{ran} programs of {OPERATIONS} operations, from seed {first} on, agree with the model");
}

/// All kinds of events happen in a few programs.
#[test]
fn programs_reach_all_paths() {
    let mut reached = BTreeSet::new();
    for seed in 1..if cfg!(miri) { 2 } else { 30 } {
        let program = Program::of(seed);
        on_swapping_machine_with(program.tables, CPUS as u32, program.frames, BYTES, |cpus| {
            let mut run = Run::new(cpus);
            let memory = run.memory;
            program.operations.iter().for_each(|operation| run.step(operation));
            run.finish();
            let counters = memory.counters();
            reached.extend(Event::ALL.iter().filter(|event| counters.of(**event) > 0).map(|event| event.words()));
        });
    }
    // One thread drives all CPUs, so none waits for another. Pagers that are late or fail:
    // `pressure`. Broken invariants: `broken`.
    let missed: Vec<_> = Event::ALL.iter().filter(|event| !reached.contains(event.words())).collect();
    let others = [Event::FailedPageIn, Event::FailedPageOut, Event::PageWait, Event::Wait, Event::Broken];
    assert!(cfg!(miri) || missed == others.iter().collect::<Vec<_>>(), "{missed:?}");
}
