//! The metadata: carves the caller's memory into the layers' arrays, and fills in their initial
//! values.

use crate::block::{BlockState, BlockWord};
use crate::cache::Cache;
use crate::config::{Config, MemoryArea};
use crate::domain::{Domain, Domains, Extent, Fallback, share_of};
use crate::error::ConfigError;
use crate::frame::{BLOCK_FRAMES, Block, FRAMES_PER_WORD, WORDS_PER_BLOCK};
use crate::index::{self, Index};
use crate::layers::Layers;
use crate::primitive::{AtomicU32, AtomicU64};
use crate::range_layer::RangeLayer;
use crate::spans::{Span, Spans, SpansOf};
use crate::state::Word;
use crate::state::{StateCell, Words};
use crate::stock::Zeroed;
use core::alloc::{Layout, LayoutError};
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;
use faultline_numbers::{DomainId, FrameNumber};

/// Two cache lines: many CPUs fetch lines in pairs.
const ALIGNMENT: usize = 128;

/// Number of elements of each array.
struct Lengths {
    spans: usize,
    states: usize,
    blocks: usize,
    index: usize,
    summary: usize,
    caches: usize,
    domains: usize,
    zeroed: usize,
}

impl Lengths {
    /// Also checks the configuration.
    fn of(config: &Config<'_>) -> Result<Self, ConfigError> {
        let domains = config.check()?;
        let (mut spans, mut end) = (0, 0);
        for span in SpansOf::new(config.memory, config.offline) {
            (spans, end) = (spans + 1, span.first.saturating_add(span.frames));
        }
        // Leaves room below 2³², so that an offset plus one is still an offset.
        if end > u64::from(u32::MAX) - 2 * BLOCK_FRAMES {
            return Err(ConfigError::TooMuchMemory);
        }
        let blocks = (end / BLOCK_FRAMES) as u32;
        Ok(Self {
            spans,
            states: blocks as usize * WORDS_PER_BLOCK as usize,
            blocks: blocks as usize,
            index: index::words(blocks),
            summary: index::summary_words(blocks),
            caches: config.cpus.len(),
            domains,
            zeroed: domains * config.policy.zeroed_most as usize,
        })
    }

    /// Layout of all arrays, in the order in which they are carved. Each starts and ends at a pair
    /// of lines.
    fn layout(&self) -> Result<Layout, LayoutError> {
        let arrays = [
            Layout::array::<Span>(self.spans)?,
            Layout::array::<StateCell>(self.states)?,
            Layout::array::<BlockWord>(self.blocks)?,
            Layout::array::<AtomicU64>(self.index)?,
            Layout::array::<AtomicU64>(self.index)?,
            Layout::array::<AtomicU64>(self.summary)?,
            Layout::array::<AtomicU64>(self.summary)?,
            Layout::array::<Cache>(self.caches)?,
            Layout::array::<Domain>(self.domains)?,
            Layout::array::<AtomicU32>(self.zeroed)?,
        ];
        let mut layout = Layout::from_size_align(0, ALIGNMENT)?;
        for array in arrays {
            (layout, _) = layout.extend(array.align_to(ALIGNMENT)?)?;
        }
        Ok(layout.pad_to_align())
    }
}

/// Memory that the metadata needs.
pub(crate) fn layout(config: &Config<'_>) -> Result<Layout, ConfigError> {
    Lengths::of(config)?.layout().map_err(|_| ConfigError::TooMuchMemory)
}

/// The part of the caller's memory that is not carved yet.
struct Carver<'m> {
    rest: &'m mut [MaybeUninit<u8>],
}

impl<'m> Carver<'m> {
    /// Carves an array of `length` places whose contents are made later.
    fn carve_unmade(&mut self, length: usize) -> Result<&'m [StateCell], ConfigError> {
        let first = self.reserve::<StateCell>(length)?.cast_const();
        // SAFETY: 1. `reserve` has returned aligned memory for `length` elements, borrowed for 'm,
        // with no other references. 2. A `StateCell` may be uninitialised.
        Ok(unsafe { core::slice::from_raw_parts(first, length) })
    }

    /// Carves an array of `length`. `make` makes each element from its index.
    fn carve<T>(&mut self, length: usize, mut make: impl FnMut(usize) -> T) -> Result<&'m [T], ConfigError> {
        let first = self.reserve::<T>(length)?;
        for index in 0..length {
            // SAFETY: `reserve` has returned aligned memory for `length` elements, with no other
            // references.
            unsafe { first.add(index).write(make(index)) };
        }
        // SAFETY: 1. As above, and all `length` elements have been written. 2. The memory is
        // borrowed for 'm, mutably, so it may be shared for that long.
        Ok(unsafe { core::slice::from_raw_parts(first, length) })
    }

    /// Memory for `length` elements, borrowed for 'm, with no other references.
    fn reserve<T>(&mut self, length: usize) -> Result<*mut T, ConfigError> {
        let too_small = ConfigError::MetadataTooSmall;
        let rest = core::mem::take(&mut self.rest);
        let skip = rest.as_ptr().align_offset(ALIGNMENT.max(align_of::<T>()));
        let bytes = length.checked_mul(size_of::<T>()).ok_or(too_small)?;
        let (_, rest) = rest.split_at_mut_checked(skip).ok_or(too_small)?;
        let (array, rest) = rest.split_at_mut_checked(bytes).ok_or(too_small)?;
        self.rest = rest;
        // Aligned, because of `skip`.
        Ok(array.as_mut_ptr().cast::<T>())
    }
}

/// Number of frames of areas in the block that starts at `first`, and its domain: that of the
/// lowest frame.
fn content(areas: &[MemoryArea], first: FrameNumber) -> (u64, DomainId) {
    let (first, end) = (first.0, first.0 + BLOCK_FRAMES);
    let areas = areas.iter().filter(|area| area.first.0 < end && first < area.end());
    let frames = areas.clone().map(|area| area.end().min(end) - area.first.0.max(first)).sum();
    (frames, areas.min_by_key(|area| area.first).map_or(DomainId(0), |area| area.domain))
}

/// Initial value of a state word of the block that starts at `block`: free where there is memory.
fn first_word(config: &Config<'_>, block: FrameNumber, word: u32) -> Word {
    let first = block.0 + u64::from(word * FRAMES_PER_WORD);
    let mut state = Word::CLOSED.0;
    for area in config.memory {
        let from = area.first.0.max(first);
        let end = area.end().min(first + u64::from(FRAMES_PER_WORD));
        for frame in from..end {
            state &= !(0b11 << (2 * (frame - first)));
        }
    }
    Word(state)
}

/// The initial states of blocks, in ascending order, so that each area is examined once, and at its
/// ends.
struct FirstStates<'a> {
    config: &'a Config<'a>,
    spans: Spans<'a>,
    /// The state of all blocks below `until`.
    current: BlockState,
    until: u64,
}

impl FirstStates<'_> {
    fn of(&mut self, block: u64) -> BlockState {
        if block >= self.until {
            self.find(block);
        }
        self.current
    }

    /// Sets the state of this block, and up to which block it holds.
    #[cold]
    fn find(&mut self, block: u64) {
        let Some(FrameNumber(first)) = self.spans.number(Block(block as u32).first()) else {
            (self.current, self.until) = (BlockState::ABSENT, block + 1);
            return;
        };
        let (frames, domain) = content(self.config.memory, FrameNumber(first));
        let (later, its_domain) = content(self.config.offline, FrameNumber(first));
        let has_first = |area: &&MemoryArea| area.first.0 <= first && first < area.end();
        let (areas, offline) = (self.config.memory.iter(), self.config.offline.iter());
        // The end of the area that contains the whole block, or the start of the next area.
        let end = match (frames, later) {
            (BLOCK_FRAMES, _) => areas.filter(has_first).map(MemoryArea::end).max(),
            (0, BLOCK_FRAMES) => offline.filter(has_first).map(MemoryArea::end).max(),
            (0, 0) => areas.chain(offline).map(|area| area.first.0).filter(|begin| *begin > first).min(),
            _ => None,
        };
        let blocks = end.map_or(0, |end| end.saturating_sub(first) / BLOCK_FRAMES);
        self.until = block + blocks.max(1);
        self.current = match (frames, later) {
            (0, 0) => BlockState::ABSENT,
            (0, BLOCK_FRAMES) => BlockState::offline(its_domain),
            (0, _) => BlockState::partly_offline(its_domain),
            (BLOCK_FRAMES, _) => BlockState::whole(domain),
            _ => BlockState::partial(domain),
        };
    }
}

/// Initial value of a word of an index's summary. The index is not shared yet.
fn summary_of(words: &[AtomicU64], word: usize) -> AtomicU64 {
    let words = words.iter().skip(word * 64).take(64).zip(0..);
    // Relaxed: see above.
    AtomicU64::new(words.fold(0, |marks, (word, place): (_, u32)| marks | u64::from(word.load(Relaxed) != 0) << place))
}

/// Extent and number of frames of a domain. Reads the blocks at the ends of each area one by one.
fn domain_of(config: &Config<'_>, spans: Spans<'_>, domain: usize) -> (Extent, u64) {
    let (mut extent, mut frames) = (Extent::NOTHING, 0);
    let block_of = |number: u64| spans.offset(FrameNumber(number)).map_or(0, |offset| Block::of(offset).0);
    let id = |domain: DomainId| usize::from(domain.0);
    for (index, area) in config.memory.iter().enumerate() {
        let (first, last) = (block_of(area.first.0), block_of(area.end() - 1));
        let is_end = |block: u32, area: &MemoryArea| {
            [area.first.0, area.end() - 1].iter().any(|frame| block_of(*frame) == block)
        };
        for block in [Some(first), (last > first).then_some(last)].into_iter().flatten() {
            let Some(begin) = spans.number(Block(block).first()) else { continue };
            let (count, owner) = content(config.memory, begin);
            // Areas may share a block: it is counted with the first of them.
            if id(owner) == domain && !config.memory.iter().take(index).any(|area| is_end(block, area)) {
                extent.add(block);
                frames += count;
            }
        }
        if id(area.domain) == domain && last > first + 1 {
            extent.add(first + 1);
            extent.add(last - 1);
            frames += u64::from(last - first - 1) * BLOCK_FRAMES;
        }
    }
    for area in config.offline.iter().filter(|area| id(area.domain) == domain) {
        extent.add(block_of(area.first.0));
        extent.add(block_of(area.end() - 1));
    }
    (extent, frames)
}

/// Carves the arrays, and fills them with the initial state: all memory free. Makes state words
/// only for blocks that lie partly in holes.
pub(crate) fn build<'m>(config: &Config<'_>, memory: &'m mut [MaybeUninit<u8>]) -> Result<Layers<'m>, ConfigError> {
    let lengths = Lengths::of(config)?;
    let mut carver = Carver { rest: memory };
    let mut found = SpansOf::new(config.memory, config.offline);
    let nothing = Span { base: 0, first: 0, frames: 0 };
    let spans = carver.carve(lengths.spans, |_| found.next().unwrap_or(nothing))?;
    let (lowest, others) = spans.split_first().unwrap_or((&nothing, &[]));
    let spans = Spans { lowest: *lowest, others };
    let words = Words(carver.carve_unmade(lengths.states)?);
    let mut first_states = FirstStates { config, spans, current: BlockState::ABSENT, until: 0 };
    let blocks = carver.carve(lengths.blocks, |block| BlockWord::new(first_states.of(block as u64)))?;
    let bits_of = |word: usize, such: fn(BlockState) -> bool| {
        let blocks = blocks.iter().skip(word * 64).take(64).zip(0..);
        blocks.fold(0, |bits, (block, place): (&BlockWord, u32)| bits | u64::from(such(block.glance())) << place)
    };
    let is_partial = |state: BlockState| state.is_opened();
    let open = carver.carve(lengths.index, |word| AtomicU64::new(bits_of(word, is_partial)))?;
    let whole = carver.carve(lengths.index, |word| AtomicU64::new(bits_of(word, BlockState::is_whole)))?;
    let open = Index { words: open, summary: carver.carve(lengths.summary, |word| summary_of(open, word))? };
    let whole = Index { words: whole, summary: carver.carve(lengths.summary, |word| summary_of(whole, word))? };
    for area in config.memory {
        for block in [area.first.0, area.end() - 1].map(|number| spans.offset(FrameNumber(number)).map(Block::of)) {
            let Some(block) = block else { continue };
            let Some(begin) = spans.number(block.first()) else { continue };
            if blocks.get(block.0 as usize).is_some_and(|word| word.glance().is_opened()) {
                // SAFETY: 1. The metadata is not shared yet. 2. If areas share the block, its words
                // are made again, with the same values, and have no references yet.
                unsafe { words.make(block, |word| first_word(config, begin, word)) };
            }
        }
    }
    let caches = carver.carve(lengths.caches, |cpu| {
        let domain = config.cpus.get(cpu).copied().unwrap_or(DomainId(0));
        let (extent, _) = domain_of(config, spans, usize::from(domain.0));
        Cache::new(domain, share_of(config, cpu, domain, extent), config.policy.stock_most)
    })?;
    let domains = carver.carve(lengths.domains, |domain| {
        let (extent, frames) = domain_of(config, spans, domain);
        let marks = config.marks.get(domain).copied().unwrap_or_default();
        Domain::new(extent, frames, marks, Fallback::of(config, domain, lengths.domains), config.cpus.len())
    })?;
    let slots = carver.carve(lengths.zeroed, |_| AtomicU32::new(0))?;
    let range = RangeLayer { spans, words, blocks, open, whole };
    Ok(Layers {
        caches,
        domains: Domains(domains),
        zeroed: Zeroed { slots, each: config.policy.zeroed_most as usize },
        range,
    })
}
