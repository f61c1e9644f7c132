//! Carves the caller's memory into the layers' arrays, and fills in their initial values.

use crate::block::BlockWord;
use crate::cache::Cache;
use crate::config::{Config, DomainId, Span};
use crate::domain::{Domain, Extent, share_of};
use crate::error::ConfigError;
use crate::frame::HUGE_FRAMES;
use crate::index::{self, Index};
use crate::pool::Pool;
use crate::primitive::{AtomicU32, AtomicU64};
use crate::state::{FRAMES_PER_BLOCK, FRAMES_PER_WORD, StateWord, WORDS_PER_BLOCK, Word};
use core::alloc::{Layout, LayoutError};
use core::mem::MaybeUninit;

/// Two cache lines: many CPUs fetch lines in pairs.
const ALIGNMENT: usize = 128;

/// Length of each array.
struct Lengths {
    states: usize,
    blocks: usize,
    index: usize,
    caches: usize,
    domains: usize,
    zeroed: usize,
}

impl Lengths {
    fn of(config: &Config<'_>, span: Span) -> Self {
        Self {
            states: span.blocks as usize * WORDS_PER_BLOCK as usize,
            blocks: span.blocks as usize,
            index: index::words(span.blocks),
            caches: config.cpus.len(),
            domains: span.domains,
            zeroed: span.domains * config.policy.zeroed_most as usize,
        }
    }

    /// All arrays, in the order in which they are carved. Each begins at a pair of lines, and so ends at one.
    fn layout(&self) -> Result<Layout, LayoutError> {
        let arrays = [
            Layout::array::<StateWord>(self.states)?,
            Layout::array::<BlockWord>(self.blocks)?,
            Layout::array::<AtomicU64>(self.index)?,
            Layout::array::<AtomicU64>(self.index)?,
            Layout::array::<Extent>(self.domains)?,
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
    Lengths::of(config, config.span()?).layout().map_err(|_| ConfigError::TooFarApart)
}

/// The part of the caller's memory that is not carved yet.
struct Carver<'m> {
    rest: &'m mut [MaybeUninit<u8>],
}

impl<'m> Carver<'m> {
    /// An array of `length`. `make` makes each element from its index.
    fn carve<T>(&mut self, length: usize, mut make: impl FnMut(usize) -> T) -> Result<&'m [T], ConfigError> {
        let too_small = ConfigError::MetadataTooSmall;
        let rest = core::mem::take(&mut self.rest);
        let skip = rest.as_ptr().align_offset(ALIGNMENT.max(align_of::<T>()));
        let bytes = length.checked_mul(size_of::<T>()).ok_or(too_small)?;
        let (_, rest) = rest.split_at_mut_checked(skip).ok_or(too_small)?;
        let (array, rest) = rest.split_at_mut_checked(bytes).ok_or(too_small)?;
        self.rest = rest;
        let first = array.as_mut_ptr().cast::<T>();
        for index in 0..length {
            // SAFETY: 1. `array` holds `length` elements of T from `first` on, and `index` is below `length`. 2. It is
            // aligned to T, because `skip` has aligned it. 3. It is borrowed mutably, so nobody else reads it.
            unsafe { first.add(index).write(make(index)) };
        }
        // SAFETY: 1. As above; and all `length` elements have been written. 2. The memory is borrowed for 'm, mutably,
        // and no other reference to this part of it exists any more, so it may be shared for that long.
        Ok(unsafe { core::slice::from_raw_parts(first, length) })
    }
}

/// The initial value of a state word: free where there is memory.
fn first_word(config: &Config<'_>, base: u64, word: usize) -> Word {
    let first = base + word as u64 * u64::from(FRAMES_PER_WORD);
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

/// The domain of a block: that of its lowest frame. For a block in a hole it is 0; nobody asks for it.
fn first_domain(config: &Config<'_>, base: u64, block: usize) -> DomainId {
    let first = base + block as u64 * HUGE_FRAMES;
    let areas = config.memory.iter().filter(|area| area.first.0 < first + HUGE_FRAMES && first < area.end());
    areas.min_by_key(|area| area.first).map_or(DomainId(0), |area| area.domain)
}

/// Carves the arrays, and fills them with the initial state of memory: all of it free.
pub(crate) fn build<'m>(config: &Config<'_>, memory: &'m mut [MaybeUninit<u8>]) -> Result<Pool<'m>, ConfigError> {
    let span = config.span()?;
    let lengths = Lengths::of(config, span);
    let mut carver = Carver { rest: memory };
    let states = carver.carve(lengths.states, |word| StateWord::new(first_word(config, span.base, word)))?;
    let free = |block: usize| -> u32 {
        let words = states.iter().skip(block * WORDS_PER_BLOCK as usize).take(WORDS_PER_BLOCK as usize);
        words.map(|word| word.load().free().count_ones()).sum()
    };
    let blocks = carver.carve(lengths.blocks, |block| {
        BlockWord::new(first_domain(config, span.base, block), free(block) < FRAMES_PER_BLOCK)
    })?;
    let mut bits = |such: fn(u32) -> bool| {
        carver.carve(lengths.index, |word| {
            let blocks = (word * 64..lengths.blocks.min(word * 64 + 64)).filter(|&block| such(free(block)));
            AtomicU64::new(blocks.fold(0, |bits, block| bits | 1 << (block % 64)))
        })
    };
    let open = bits(|free| free > 0 && free < FRAMES_PER_BLOCK)?;
    let whole = bits(|free| free == FRAMES_PER_BLOCK)?;
    let of_domain = |domain: usize| {
        let blocks = blocks.iter().enumerate();
        blocks.filter(move |(_, word)| usize::from(word.glance().domain().0) == domain).map(|(block, _)| block)
    };
    let extents = carver.carve(lengths.domains, |domain| {
        let mut extent = Extent::NOTHING;
        of_domain(domain).filter(|&block| free(block) > 0).for_each(|block| extent.add(block as u32));
        extent
    })?;
    let caches = carver.carve(lengths.caches, |cpu| {
        let domain = config.cpus.get(cpu).copied().unwrap_or(DomainId(0));
        let extent = extents.get(usize::from(domain.0)).copied().unwrap_or(Extent::NOTHING);
        Cache::new(domain, share_of(config, cpu, domain, extent), config.policy.stock_most)
    })?;
    let domains = carver.carve(lengths.domains, |domain| {
        let marks = config.marks.get(domain).copied().unwrap_or_default();
        Domain::new(of_domain(domain).map(|block| i64::from(free(block))).sum(), marks, config.cpus.len())
    })?;
    let zeroed = carver.carve(lengths.zeroed, |_| AtomicU32::new(0))?;
    Ok(Pool {
        base: span.base,
        span: span.blocks * FRAMES_PER_BLOCK,
        policy: config.policy,
        states,
        blocks,
        open: Index(open),
        whole: Index(whole),
        caches,
        extents,
        domains,
        zeroed,
    })
}
