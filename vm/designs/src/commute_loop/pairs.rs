//! Pairs of commuting operations, each in a state of its own: drawn at random from its number, and
//! kept if the specification says that they commute.

use super::operation::{Content, Kind, Operation, Pages};
use super::specification::{OBJECT_PAGES, Returned, State};
use faultline_memory::Rights;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Spaces at the start, and as many children of them: a child's number is its parent's plus 2.
pub(super) const SPACES: usize = 2;
/// Spaces and objects made by a CPU's operation have this number, plus the CPU's.
pub(super) const NEW: usize = 4;
const OBJECTS: usize = 2;

/// Pages per leaf of a space's tree, and per page table.
const NODE_PAGES: u64 = 64;
const TABLE_PAGES: u64 = 512;
/// Start of a space's parts, each at a page table of its own: two of private pages, one of each
/// object, two unmapped.
const PARTS: [u64; 6] = [8, 9, 10, 11, 12, 13];
const MAPPED_PARTS: usize = 4;
/// Mapped pages of a part, from its beginning.
const PART_PAGES: u64 = 256;
/// One more page of each mapped part stays translated, so that no page table comes or goes.
const KEPT_PAGE: u64 = TABLE_PAGES - 1;

/// Maximum number of states drawn until two operations of these kinds commute.
const MOST_DRAWN: u64 = 300;

const BOTH: Rights = Rights::from_bits(3);

/// A pair.
#[derive(Debug)]
pub(super) struct Pair {
    /// Operations that make the state, each with its CPU.
    pub(super) before: Vec<(usize, Operation)>,
    /// The operations, the first on CPU 0, the second on CPU 1.
    pub(super) operations: [Operation; 2],
    /// Their results by the specification, one after the other.
    pub(super) returned: [Returned; 2],
    /// Relation of their places.
    pub(super) relation: &'static str,
}

/// Number of pairs, with `each` for every two kinds.
pub(super) fn count(each: usize) -> usize {
    Kind::ALL.len() * (Kind::ALL.len() + 1) / 2 * each
}

/// The kinds of a pair.
fn kinds(number: usize, each: usize) -> [Kind; 2] {
    let all = Kind::ALL.iter().enumerate();
    let mut pairs = all.flat_map(|(place, first)| Kind::ALL[place..].iter().map(move |second| [*first, *second]));
    pairs.nth(number / each).expect("a number below the count")
}

/// The pair with a number, with `each` for every two kinds. `None` if no state was found in which
/// such operations commute.
pub(super) fn pair(number: usize, each: usize, seed: u64) -> Option<Pair> {
    let kinds = kinds(number, each);
    (0..MOST_DRAWN).find_map(|attempt| {
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ (number as u64) << 32 ^ attempt << 16);
        draw(&mut random, kinds)
    })
}

fn draw(random: &mut ChaCha8Rng, mut kinds: [Kind; 2]) -> Option<Pair> {
    if random.random() {
        kinds.swap(0, 1);
    }
    let first = operation(random, kinds[0], 0, None);
    let operations = [first, operation(random, kinds[1], 1, first.place())];
    let before = Before::of(random, &operations, kinds.map(Kind::content));
    let returned = before.state.commute(&operations)?;
    let relation = relation(&operations);
    Some(Pair { before: before.operations, operations, returned, relation })
}

/// Random pages of an operation, often near those of the other one.
fn pages(random: &mut ChaCha8Rng, count: u64, near: Option<Pages>) -> Pages {
    let part = |random: &mut ChaCha8Rng| PARTS[random.random_range(0..PARTS.len())] * TABLE_PAGES;
    let first = match near {
        Some(near) => match random.random_range(0..8) {
            0 | 1 => near.first,
            2 => near.end() - 1,
            3 => near.end(),
            4 => near.end() + random.random_range(1..12),
            5 => near.first + NODE_PAGES + random.random_range(0..8),
            _ => part(random) + random.random_range(0..64),
        },
        None => part(random) + random.random_range(0..64),
    };
    Pages { first, count }
}

/// The page of an access, in a part that can have such contents.
fn page(random: &mut ChaCha8Rng, content: Content, near: Option<Pages>) -> u64 {
    let parts = if content == Content::Object { &PARTS[2..4] } else { &PARTS[..2] };
    let fits = |page: u64| parts.contains(&(page / TABLE_PAGES)) && page % TABLE_PAGES < PART_PAGES;
    let page = pages(random, 1, near).first;
    let other = || parts[0] * TABLE_PAGES + page % NODE_PAGES;
    if fits(page) { page } else { other() }
}

/// A random operation on a CPU. `other`: the other operation's place.
fn operation(random: &mut ChaCha8Rng, kind: Kind, cpu: usize, other: Option<(usize, Option<Pages>)>) -> Operation {
    let other_space = other.map(|(space, _)| space).filter(|space| *space < SPACES && random.random_ratio(2, 3));
    let space = other_space.unwrap_or_else(|| random.random_range(0..SPACES));
    let near = other.and_then(|(_, pages)| pages).filter(|_| random.random_ratio(4, 5));
    let count = random.random_range(1..=4);
    let pages = |random: &mut ChaCha8Rng, count| pages(random, count, near);
    let rights = *[BOTH, BOTH, Rights::READ, Rights::NONE].choose(random).expect("not empty");
    match kind {
        Kind::Map => Operation::Map { space, pages: pages(random, count), rights },
        Kind::MapObject => {
            let pages = pages(random, count);
            let from = if random.random() { pages.first % PART_PAGES } else { random.random_range(0..PART_PAGES) };
            Operation::MapObject { space, pages, rights, object: random.random_range(0..OBJECTS), from }
        }
        Kind::Unmap => Operation::Unmap { space, pages: pages(random, count) },
        Kind::Protect => Operation::Protect { space, pages: pages(random, count), rights },
        Kind::DontNeed => Operation::DontNeed { space, pages: pages(random, count) },
        Kind::Read(content) => Operation::Read { space, page: page(random, content, near) },
        Kind::Write(content) => {
            Operation::Write { space, page: page(random, content, near), value: random.random_range(1..4) }
        }
        Kind::Fork => Operation::Fork { space, child: NEW + cpu },
        Kind::Exit => Operation::Exit { space: SPACES + space },
        Kind::NewSpace => Operation::NewSpace { space: NEW + cpu },
        Kind::NewObject => Operation::NewObject { object: NEW + cpu },
        Kind::DropObject => Operation::DropObject { object: random.random_range(0..OBJECTS) },
        Kind::Activate => Operation::Activate { space: random.random_range(0..2 * SPACES) },
        Kind::Deactivate => Operation::Deactivate { space },
    }
}

/// Wanted contents of a page.
struct Wanted {
    space: usize,
    page: u64,
    content: Content,
}

impl Wanted {
    fn of((operation, content): (&Operation, Option<Content>)) -> Option<Self> {
        let (space, pages) = operation.place()?;
        Some(Self { space, page: pages?.first, content: content? })
    }
}

/// A state, and the operations that made it.
struct Before {
    state: State,
    operations: Vec<(usize, Operation)>,
}

impl Before {
    /// `contents`: wanted contents of accessed pages, unless both access one page.
    fn of(random: &mut ChaCha8Rng, pair: &[Operation; 2], contents: [Option<Content>; 2]) -> Self {
        let mut before = Self { state: State::default(), operations: Vec::new() };
        let wanted: Vec<Wanted> = pair.iter().zip(contents).filter_map(Wanted::of).collect();
        (0..OBJECTS).for_each(|object| before.apply(0, Operation::NewObject { object }));
        for space in 0..SPACES {
            before.make_space(random, space, pair);
        }
        before.touch(random, pair, &wanted);
        wanted.iter().for_each(|wanted| before.make_content(random, wanted));
        for space in 0..SPACES {
            let child = SPACES + space;
            // The child must exist where an operation ends or activates it, or copies a page of it.
            let is_used = pair.iter().any(|operation| operation.place().is_some_and(|(used, _)| used == child));
            let is_shared = |wanted: &Wanted| wanted.space == space && wanted.content == Content::Shared;
            let is_used = is_used || wanted.iter().any(is_shared);
            if is_used || random.random() {
                before.apply(before.user(random, space), Operation::Fork { space, child });
                if random.random() {
                    before.touch(random, pair, &wanted);
                }
                let is_private = |wanted: &&Wanted| wanted.space == space && wanted.content == Content::Private;
                wanted.iter().filter(is_private).for_each(|wanted| before.make_content(random, wanted));
                if !is_used && random.random_ratio(1, 3) {
                    before.apply(0, Operation::Exit { space: child });
                }
            }
        }
        before
    }

    fn apply(&mut self, cpu: usize, operation: Operation) {
        self.state.apply(cpu, &operation);
        self.operations.push((cpu, operation));
    }

    /// A CPU on which a space is active.
    fn user(&self, random: &mut ChaCha8Rng, space: usize) -> usize {
        let cpu = random.random_range(0..2);
        if self.state.is_active(cpu, space) { cpu } else { 1 - cpu }
    }

    /// A space with its parts, active on at least the CPUs that use it in the pair.
    fn make_space(&mut self, random: &mut ChaCha8Rng, space: usize, pair: &[Operation; 2]) {
        self.apply(0, Operation::NewSpace { space });
        let at_least = random.random_range(0..2);
        for (cpu, operation) in pair.iter().enumerate() {
            let is_user = operation.place().is_some_and(|(used, _)| used == space);
            let is_activated = matches!(operation, Operation::Activate { .. });
            if is_user && !is_activated || cpu == at_least || random.random_ratio(2, 3) {
                self.apply(cpu, Operation::Activate { space });
            }
        }
        let cpu = self.user(random, space);
        for (index, part) in PARTS[..MAPPED_PARTS].iter().enumerate() {
            let pages = Pages { first: part * TABLE_PAGES, count: PART_PAGES };
            let kept = pages.first + KEPT_PAGE;
            self.apply(
                cpu,
                match index.checked_sub(2) {
                    None => Operation::Map { space, pages, rights: BOTH },
                    Some(object) => Operation::MapObject { space, pages, rights: BOTH, object, from: 0 },
                },
            );
            self.apply(cpu, Operation::Map { space, pages: Pages { first: kept, count: 1 }, rights: BOTH });
            self.apply(cpu, Operation::Write { space, page: kept, value: 9 });
        }
        const { assert!(PART_PAGES <= OBJECT_PAGES) };
    }

    /// Makes the contents of an access's page. Pages of zeroes need nothing.
    fn make_content(&mut self, random: &mut ChaCha8Rng, wanted: &Wanted) {
        let (space, page) = (wanted.space, wanted.page);
        let space = match wanted.content {
            Content::Zeroes => return,
            Content::Private | Content::Shared => space,
            Content::Object => 1 - space,
        };
        self.apply(self.user(random, space), Operation::Write { space, page, value: 8 });
    }

    /// Reads and writes some of the pair's pages and their neighbours, except those with wanted
    /// contents.
    fn touch(&mut self, random: &mut ChaCha8Rng, pair: &[Operation; 2], wanted: &[Wanted]) {
        let places = pair.iter().filter_map(|operation| operation.place()?.1);
        let pages: Vec<u64> = places.flat_map(|pages| pages.first.saturating_sub(1)..=pages.end()).collect();
        for space in 0..SPACES {
            for page in &pages {
                let is_wanted = wanted.iter().any(|wanted| (wanted.space, wanted.page) == (space, *page));
                if !is_wanted && random.random() && self.state.mapped(space).any(|mapped| mapped == *page) {
                    let cpu = self.user(random, space);
                    let value = random.random_range(4..8);
                    let (page, is_write) = (*page, random.random());
                    let write = Operation::Write { space, page, value };
                    self.apply(cpu, if is_write { write } else { Operation::Read { space, page } });
                }
            }
        }
    }
}

/// The relation of two operations' places, in words.
fn relation([first, second]: &[Operation; 2]) -> &'static str {
    let (Some((space, pages)), Some((other_space, other_pages))) = (first.place(), second.place()) else {
        return "no common space";
    };
    if space != other_space {
        return "other space";
    }
    let (Some(pages), Some(others)) = (pages, other_pages) else { return "same space" };
    let (low, high) = if pages.first <= others.first { (pages, others) } else { (others, pages) };
    match high.first {
        first if first < low.end() => "common pages",
        first if first == low.end() => "adjacent pages",
        first if first / NODE_PAGES == (low.end() - 1) / NODE_PAGES => "same 64 pages",
        first if first / TABLE_PAGES == low.first / TABLE_PAGES => "same 512 pages",
        _ => "far pages",
    }
}
