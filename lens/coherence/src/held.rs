//! Every line that a CPU ever held, with what it must remember when it has no time for it.

use crate::group::Group;
use crate::line::Bytes;
use crate::recent::Entry;
use crate::topology::CpuId;
use rustc_hash::FxHashMap;

/// Whether a CPU has a copy of a line, be it outdated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copy {
    /// It never had.
    Never,
    /// It had no room for it any more.
    Dropped,
    /// It has, as long as the line's version is still the one that it fetched.
    Held,
}

/// Lines of a chunk: few enough for a page of which little is used, enough to look up seldom where all is.
const CHUNK_LINES: u64 = 16;

/// The lines, in chunks of neighbours.
#[derive(Debug)]
pub(crate) struct Held<'m> {
    /// Where the chunk of a number is.
    places: FxHashMap<u64, u32>,
    chunks: Vec<Chunk<'m>>,
}

#[derive(Debug)]
struct Chunk<'m> {
    group: &'m Group,
    lines: [Kept; CHUNK_LINES as usize],
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    /// Version by 4, and the copy.
    version_and_copy: u64,
    /// See [`Entry`].
    noted_read: Bytes,
}

impl<'m> Held<'m> {
    /// No lines.
    pub(crate) fn new() -> Self {
        Held { places: FxHashMap::default(), chunks: Vec::new() }
    }

    /// The entry of a line, and whether there is a copy. `find` finds the group of one that is new here.
    pub(crate) fn load(&mut self, line: u64, cpu: CpuId, find: impl FnOnce() -> &'m Group) -> (Entry<'m>, Copy) {
        let chunk = self.chunk(line, find);
        let kept = chunk.lines[(line % CHUNK_LINES) as usize];
        let mut entry = Entry::new(line, chunk.group, cpu, kept.version_and_copy >> 2);
        entry.noted_read = kept.noted_read;
        (entry, kept.copy())
    }

    /// Keeps what must be remembered of an entry that loses its place, and what became of the copy. A suspicion is forgotten:
    /// the transfer stays counted as false sharing.
    pub(crate) fn save(&mut self, entry: &Entry<'m>, copy: Copy) {
        let chunk = self.chunk(entry.number, || entry.group);
        chunk.lines[(entry.number % CHUNK_LINES) as usize] =
            Kept { version_and_copy: entry.version() << 2 | copy as u64, noted_read: entry.noted_read };
    }

    fn chunk(&mut self, line: u64, find: impl FnOnce() -> &'m Group) -> &mut Chunk<'m> {
        let place = *self.places.entry(line / CHUNK_LINES).or_insert_with(|| {
            let never = Kept { version_and_copy: Copy::Never as u64, noted_read: 0 };
            self.chunks.push(Chunk { group: find(), lines: [never; CHUNK_LINES as usize] });
            (self.chunks.len() - 1) as u32
        });
        &mut self.chunks[place as usize]
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
