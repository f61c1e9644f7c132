//! Searches for a block, in a CPU's order of preference; and scans of all memory as a last resort.
//! Both go in bounded steps.
//!
//! A step of a search reads at most [`STEP_WORDS`] words of the index, passes over as many
//! stretches that are empty according to the summary, and reads the words of at most [`LOOKS`]
//! blocks each time it finds some. Then the caller may let its CPU do something else, and continue
//! later, even on another CPU.
//!
//! A scan takes free frames wherever they are, even from blocks that other CPUs have reserved, in
//! steps of [`BLOCKS_PER_STEP`] blocks.

use crate::counters::Event;
use crate::error::GetError;
use crate::frame::{Block, FRAMES_PER_BLOCK, Offset, WORDS_PER_BLOCK};
use crate::index::BITS;
use crate::layers::Urgency;
use crate::layers::{Layers, Local};
use crate::range_layer::RangeLayer;
use crate::state::run_frames;
use core::ops::Range;
use faultline_numbers::DomainId;

/// Number of index words that one step reads: 4,096 blocks, 8 GiB. Takes some microseconds if no
/// word is in a CPU cache.
pub(crate) const STEP_WORDS: u32 = 64;
/// A CPU refills from its own share while the share has a partly free block with at most this many
/// free frames (three quarters). Emptier blocks are spared as long as any CPU's share has a fuller
/// one, so that they can become whole.
const WORTH_FILLING: u32 = FRAMES_PER_BLOCK / 4 * 3;
/// Number of partly free blocks, from the lowest on, among which each reservation picks the
/// fullest. More would keep no more memory whole, and cost two cache lines each.
const LOOKS: usize = 32;
/// A block with at most this many free frames (an eighth) is taken without reading others. In
/// nearly full memory all blocks are such, and reading one costs as much as getting its few frames.
const FULL_ENOUGH: u32 = FRAMES_PER_BLOCK / 8;
/// Maximum number of blocks that a step tries to get if other CPUs are faster each time.
const TRIES: u32 = 8;

/// The kind of block to search for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Partly free: some frames free, not all.
    Open,
    /// Partly free, with at most [`WORTH_FILLING`] frames free.
    Fuller,
    /// Whole: all frames free.
    Whole,
}

/// The result of a step of a search.
pub(crate) type Step<T> = Result<T, Pause>;

/// A step that found nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The search can be continued.
    More,
    /// The search has ended.
    End,
}

/// The blocks to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Among {
    /// All blocks, in the CPU's order of preference.
    #[default]
    All,
    /// The blocks of one domain.
    Domain(DomainId),
    /// This many blocks from the lowest on.
    Below(u32),
}

/// Progress of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Search {
    /// Index in the order of preference.
    place: u32,
    /// Number of blocks of that place that were searched.
    done: u32,
    among: Among,
    /// The block must have a free run of this order.
    order: u8,
    /// A min watermark forbade taking from a domain.
    is_kept: bool,
}

impl Search {
    /// A search in one domain.
    pub(crate) fn only(domain: DomainId) -> Self {
        Self { among: Among::Domain(domain), ..Self::default() }
    }

    /// A search in the first `blocks` blocks of memory.
    pub(crate) fn below(blocks: u32) -> Self {
        Self { among: Among::Below(blocks), ..Self::default() }
    }

    /// A search for a block that has a free run.
    pub(crate) fn run(order: u8) -> Self {
        Self { order, ..Self::default() }
    }

    /// Minimum number of frames that the caller wants.
    fn wanted(&self) -> u64 {
        run_frames(self.order)
    }

    /// Skips `done` more of the place's blocks.
    fn advance(&mut self, within: &Range<u32>, done: u32) {
        self.done += done;
        if self.done >= within.end.saturating_sub(within.start) {
            (self.place, self.done) = (self.place + 1, 0);
        }
    }

    /// The reason why the search found nothing.
    pub(crate) fn error(&self) -> GetError {
        if self.is_kept { GetError::AtMinimum } else { GetError::NotAtHand }
    }

    fn skip(&mut self) {
        (self.place, self.done) = (self.place + 1, 0);
    }
}

impl<'m> Layers<'m> {
    /// The next place to search for a block to reserve, in the order of preference.
    fn place(&self, local: &Local<'m>, search: &Search) -> Option<(DomainId, Range<u32>, Look)> {
        let (own, number) = (local.cache.domain, search.place);
        match search.among {
            Among::All => {}
            Among::Domain(domain) => {
                let look = [Look::Open, Look::Whole].get(number as usize).copied()?;
                return Some((domain, self.domains.extent(domain), look));
            }
            Among::Below(blocks) => {
                let look = if number % 2 == 0 { Look::Open } else { Look::Whole };
                let domain = core::iter::once(own).chain(self.domains.others(own)).nth(number as usize / 2)?;
                let all = self.domains.extent(domain);
                return Some((domain, all.start.min(blocks)..all.end.min(blocks), look));
            }
        }
        let (share, all) = (local.cache.share.0..local.cache.share.1, self.domains.extent(own));
        Some(match number {
            0 => (own, share, Look::Fuller),
            1 => (own, all, Look::Open),
            2 => (own, share, Look::Whole),
            3 => (own, all, Look::Whole),
            _ => {
                let domain = self.domains.others(own).nth((number as usize - 4) / 2)?;
                let look = if number % 2 == 0 { Look::Open } else { Look::Whole };
                (domain, self.domains.extent(domain), look)
            }
        })
    }

    /// Reserves a block with free frames: from this CPU's share, then its domain, then the other
    /// domains.
    pub(crate) fn find(&self, local: &Local<'m>, urgency: Urgency, search: &mut Search) -> Step<Block> {
        let (mut left, mut tries) = (STEP_WORDS, TRIES);
        while left > 0 && tries > 0 {
            let Some((domain, within, look)) = self.place(local, search) else { return Err(Pause::End) };
            let wanted = search.wanted();
            if within.is_empty() || self.allowance(local, domain, urgency, wanted) < wanted {
                search.is_kept |= !within.is_empty();
                left -= 1;
                search.skip();
                continue;
            }
            let from = (within.start + search.done).min(within.end);
            let index = if look == Look::Whole { self.range.whole } else { self.range.open };
            let next = index.skip_empty(from..within.end);
            if next > from {
                left -= 1;
                search.advance(&within, next - from);
                continue;
            }
            // Up to the end of a word of the index.
            let end = ((from / BITS + left) * BITS).min(within.end);
            let block = match self.range.choose(domain, from..end, look, search.order) {
                Ok(block) => block,
                Err(until) => {
                    let looks = if until < end { STEP_WORDS / TRIES } else { 0 };
                    left -= (until - from).div_ceil(BITS).max(1).max(looks).min(left);
                    search.advance(&within, until - from);
                    continue;
                }
            };
            if self.range.reserve(block, local.number) {
                return Ok(block);
            }
            tries -= 1;
        }
        Err(Pause::More)
    }

    /// Takes a whole block: from the end of this CPU's share, which refills use last; then from its
    /// domain, then from the other domains.
    pub(crate) fn find_huge(&self, local: &Local<'m>, urgency: Urgency, search: &mut Search) -> Step<Block> {
        let (mut left, mut tries) = (STEP_WORDS, TRIES);
        let (own, huge) = (local.cache.domain, u64::from(FRAMES_PER_BLOCK));
        while left > 0 && tries > 0 {
            let (domain, within) = match search.place {
                0 => (own, local.cache.share.0..local.cache.share.1),
                1 => (own, self.domains.extent(own)),
                number => match self.domains.others(own).nth(number as usize - 2) {
                    Some(domain) => (domain, self.domains.extent(domain)),
                    None => return Err(Pause::End),
                },
            };
            if within.is_empty() || self.allowance(local, domain, urgency, huge) < huge {
                search.is_kept |= !within.is_empty();
                left -= 1;
                search.skip();
                continue;
            }
            let end = within.end.saturating_sub(search.done).max(within.start);
            let next = self.range.whole.skip_empty_back(within.start..end);
            if next < end {
                left -= 1;
                search.advance(&within, end - next);
                continue;
            }
            // Down to the start of a word of the index.
            let from = (end.div_ceil(BITS).saturating_sub(left) * BITS).max(within.start);
            let Some(block) = self.range.last_whole(domain, from..end) else {
                left -= (end - from).div_ceil(BITS).max(1).min(left);
                search.advance(&within, end - from);
                continue;
            };
            if self.range.take_whole(block) {
                return Ok(block);
            }
            tries -= 1;
        }
        Err(Pause::More)
    }
}

impl RangeLayer<'_> {
    /// A block of a domain that has a free run of an order: the fullest of some partly free ones,
    /// or the lowest whole one. The error is a block before which there is none, or none worth
    /// reading.
    fn choose(&self, domain: DomainId, within: Range<u32>, look: Look, order: u8) -> Result<Block, u32> {
        match look {
            Look::Whole => self.candidates(domain, within.clone(), look).next().ok_or(within.end),
            Look::Open => self.fullest(domain, within, look, FRAMES_PER_BLOCK, order),
            Look::Fuller => self.fullest(domain, within, look, WORTH_FILLING, order),
        }
    }

    fn candidates(&self, domain: DomainId, within: Range<u32>, look: Look) -> impl Iterator<Item = Block> {
        let mut from = within.start;
        core::iter::from_fn(move || {
            let block = match look {
                Look::Open | Look::Fuller => self.open.first(from..within.end, Some(self.whole)),
                Look::Whole => self.whole.first(from..within.end, None),
            }?;
            from = block.0 + 1;
            Some(block)
        })
        .filter(move |&block| self.domain_of(block) == Some(domain))
    }

    fn fullest(&self, domain: DomainId, within: Range<u32>, look: Look, most: u32, order: u8) -> Result<Block, u32> {
        let (mut looks, mut behind, mut fullest) = (0, within.start, None::<(u32, Block)>);
        for block in self.candidates(domain, within.clone(), look).take(LOOKS) {
            (looks, behind) = (looks + 1, block.0 + 1);
            let free = self.free_in_block(block);
            if free > most || order > 0 && !self.has_run(block, order) {
                continue;
            }
            fullest = Some(fullest.map_or((free, block), |best| best.min((free, block))));
            if free <= FULL_ENOUGH {
                break;
            }
        }
        match fullest {
            Some((_, block)) => Ok(block),
            // Fuller blocks are only preferred, but one with a run may be the only one.
            None if order > 0 && look == Look::Open && looks == LOOKS => Err(behind),
            None => Err(within.end),
        }
    }

    /// The highest whole block of a domain.
    fn last_whole(&self, domain: DomainId, within: Range<u32>) -> Option<Block> {
        let mut end = within.end;
        loop {
            let block = self.whole.last(within.start..end)?;
            if self.domain_of(block) == Some(domain) {
                return Some(block);
            }
            end = block.0;
        }
    }
}

/// Number of blocks that a step of a scan reads: 128 MiB of memory. Takes some microseconds if no
/// word is in a CPU cache.
pub(crate) const BLOCKS_PER_STEP: u32 = 64;

/// Progress of a scan of all memory: first the blocks of the CPU's own domain, then all others.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Scan {
    is_in_others: bool,
    next: u32,
    /// A min watermark forbade taking free frames.
    is_kept: bool,
    /// No frame of some block is taken, but some are in caches.
    has_cached: bool,
}

impl Scan {
    /// True if frames that are in caches may be what a huge frame lacks.
    pub(crate) fn may_drain(&self) -> bool {
        self.is_kept || self.has_cached
    }

    /// The reason why the scan found nothing.
    pub(crate) fn error(&self) -> GetError {
        if self.is_kept { GetError::AtMinimum } else { GetError::Exhausted }
    }
}

impl<'m> Layers<'m> {
    /// A step of a scan that takes a single frame.
    pub(crate) fn scan(&self, local: &Local<'m>, urgency: Urgency, scan: &mut Scan) -> Step<Offset> {
        if let Some(offset) = self.pop(local) {
            return Ok(offset);
        }
        self.scan_blocks(local, scan, |block, scan| {
            if self.range.free_in_block(block) == 0 {
                return None;
            }
            self.range.break_whole(block);
            let got = self.park_from(local, block, 0..WORDS_PER_BLOCK, urgency) > 0;
            self.range.publish(block);
            scan.is_kept |= !got;
            got.then(|| self.pop(local)).flatten()
        })
    }

    /// A step of a scan that takes a whole block, even if it is reserved or has no bit in the
    /// index.
    pub(crate) fn scan_huge(&self, local: &Local<'m>, urgency: Urgency, scan: &mut Scan) -> Step<Offset> {
        self.scan_blocks(local, scan, |block, scan| {
            match self.range.is_cached(block) {
                None => return None,
                Some(true) => {
                    scan.has_cached = true;
                    return None;
                }
                Some(false) => {}
            }
            if !self.may_take_huge(local, block, urgency) {
                scan.is_kept = true;
                return None;
            }
            self.range.take_all_free(block).then(|| self.note_huge(local, block))
        })
    }

    fn scan_blocks(
        &self,
        local: &Local<'m>,
        scan: &mut Scan,
        mut take: impl FnMut(Block, &mut Scan) -> Option<Offset>,
    ) -> Step<Offset> {
        if scan.next == 0 && !scan.is_in_others {
            local.count(Event::Scan, 1);
        }
        let end = scan.next.saturating_add(BLOCKS_PER_STEP).min(self.range.blocks.len() as u32);
        for block in (scan.next..end).map(Block) {
            let domain = self.range.domain_of(block);
            if (domain != Some(local.cache.domain)) == scan.is_in_others
                && let Some(offset) = take(block, scan)
            {
                return Ok(offset);
            }
        }
        if end < self.range.blocks.len() as u32 {
            scan.next = end;
        } else if scan.is_in_others {
            return Err(Pause::End);
        } else {
            (scan.is_in_others, scan.next) = (true, 0);
        }
        Err(Pause::More)
    }
}
