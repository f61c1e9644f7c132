//! Every line that a CPU ever held, with what the CPU must remember of it while it is not in the table of recent lines.

use crate::group::Group;
use crate::line::Bytes;
use crate::recent::Entry;
use crate::topology::CpuId;
use rustc_hash::FxHashMap;

/// Whether a CPU has a copy of a line, possibly an outdated one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copy {
    /// It never had one.
    Never,
    /// It had to drop it because its cache was full.
    Dropped,
    /// It has one, as long as the line's version is still the one that it fetched.
    Held,
}

/// Lines per chunk: few enough for a page that is little used, enough to make look-ups rare on a page that is fully
/// used.
const CHUNK_LINES: u64 = 16;

/// Number of chunks that are remembered. Lines that are fetched and lines that are evicted for them are in different ones.
const LAST: usize = 8;

/// The lines, in chunks of neighbours.
#[derive(Debug)]
pub(crate) struct Held<'m> {
    /// The place of the chunk with a given number.
    places: FxHashMap<u64, u32>,
    chunks: Vec<Chunk<'m>>,
    /// The last chunks that were looked for, by number and place: neighbours are often looked for one after the other.
    last: [(u64, u32); LAST],
}

#[derive(Debug)]
struct Chunk<'m> {
    group: &'m Group,
    lines: [Kept; CHUNK_LINES as usize],
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    /// Version · 4 + the copy.
    version_and_copy: u64,
    /// See [`Entry`].
    noted_read: Bytes,
}

impl<'m> Held<'m> {
    /// Holds no lines.
    pub(crate) fn new() -> Self {
        Held { places: FxHashMap::default(), chunks: Vec::new(), last: [(u64::MAX, 0); LAST] }
    }

    /// The entry of a line, and whether there is a copy. `find` returns the group of a line that is new here.
    pub(crate) fn load(&mut self, line: u64, cpu: CpuId, find: impl FnOnce() -> &'m Group) -> (Entry<'m>, Copy) {
        let chunk = self.chunk(line, find);
        let kept = chunk.lines[(line % CHUNK_LINES) as usize];
        let mut entry = Entry::new(line, chunk.group, cpu, kept.version_and_copy >> 2);
        entry.noted_read = kept.noted_read;
        (entry, kept.copy())
    }

    /// Saves what must be remembered of an entry that is evicted from the table, and the state of the copy.
    pub(crate) fn save(&mut self, entry: &Entry<'m>, copy: Copy) {
        let chunk = self.chunk(entry.number, || entry.group);
        chunk.lines[(entry.number % CHUNK_LINES) as usize] =
            Kept { version_and_copy: entry.version() << 2 | copy as u64, noted_read: entry.noted_read };
    }

    fn chunk(&mut self, line: u64, find: impl FnOnce() -> &'m Group) -> &mut Chunk<'m> {
        let number = line / CHUNK_LINES;
        let last = &mut self.last[number as usize % LAST];
        if last.0 != number {
            let place = *self.places.entry(number).or_insert_with(|| {
                let never = Kept { version_and_copy: Copy::Never as u64, noted_read: 0 };
                self.chunks.push(Chunk { group: find(), lines: [never; CHUNK_LINES as usize] });
                (self.chunks.len() - 1) as u32
            });
            *last = (number, place);
        }
        &mut self.chunks[last.1 as usize]
    }
}

impl Kept {
    fn copy(self) -> Copy {
        match self.version_and_copy & 3 {
            held if held == Copy::Held as u64 => Copy::Held,
            dropped if dropped == Copy::Dropped as u64 => Copy::Dropped,
            _ => Copy::Never,
        }
    }
}
