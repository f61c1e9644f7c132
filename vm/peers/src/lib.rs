//! LLFree (Wrenger et al., USENIX ATC 2023) as one of the [designs](faultline_frame_designs),
//! configured as in its own evaluation: a class for single frames and one for huge frames, with one
//! reservation per CPU and class.

use faultline_frame_designs::{BLOCK_FRAMES, Design, Frame, Memory, Metadata};
use llfree::{Alloc, Class, Classing, FrameId, HUGE_ORDER, Init, LLFree, MetaData, Request};
use std::alloc::Layout;

/// Alignment of LLFree's metadata.
const ALIGNMENT: usize = 128;

const SINGLE: Class = Class(0);
const HUGE: Class = Class(1);

const _: () = assert!(1 << HUGE_ORDER == BLOCK_FRAMES);

/// LLFree with its metadata.
#[derive(Debug)]
pub struct LlFree {
    // Declared before the memory that it uses: fields are dropped in this order.
    allocator: LLFree<'static>,
    _metadata: [Metadata; 3],
}

fn metadata(bytes: usize) -> Metadata {
    Metadata::new(Layout::from_size_align(bytes.max(1), ALIGNMENT).expect("a size that memory has"))
}

/// All of the memory as bytes.
///
/// # Safety
/// As for [`Metadata::lend`].
unsafe fn lend(metadata: &mut Metadata) -> &'static mut [u8] {
    // SAFETY: 1. the caller's promise; 2. it is zeroed, so all bytes are initialised.
    unsafe { &mut *(std::ptr::from_mut(metadata.lend()) as *mut [u8]) }
}

#[inline(always)]
fn single(cpu: usize) -> Request {
    Request::new(0, SINGLE, Some(cpu))
}

fn huge(cpu: usize) -> Request {
    Request::new(HUGE_ORDER, HUGE, Some(cpu))
}

impl Design for LlFree {
    const NAME: &'static str = "llfree";
    const HAS_HUGE: bool = true;

    fn new(memory: &Memory) -> Self {
        let (classing, _) = Classing::simple(memory.cpus);
        let sizes = LLFree::metadata_size(&classing, memory.frames);
        let mut metadata = [sizes.local, sizes.trees, sizes.lower].map(metadata);
        // SAFETY: each is lent once, to the allocator, which is dropped first.
        let [local, trees, lower] = metadata.each_mut().map(|metadata| unsafe { lend(metadata) });
        let allocator = LLFree::new(memory.frames, Init::FreeAll, &classing, MetaData { local, trees, lower });
        LlFree { allocator: allocator.expect("sizes are as it asked"), _metadata: metadata }
    }

    #[inline]
    unsafe fn get(&self, cpu: usize) -> Option<Frame> {
        // Frame numbers have 32 bits.
        self.allocator.get(None, single(cpu)).ok().map(|(frame, _)| Frame(frame.0 as u32))
    }

    #[inline]
    unsafe fn put(&self, cpu: usize, frame: Frame) {
        self.allocator.put(FrameId(frame.index()), single(cpu)).expect("a frame that was got");
    }

    unsafe fn get_huge(&self, cpu: usize) -> Option<Frame> {
        self.allocator.get(None, huge(cpu)).ok().map(|(frame, _)| Frame(frame.0 as u32))
    }

    unsafe fn put_huge(&self, cpu: usize, first: Frame) {
        self.allocator.put(FrameId(first.index()), huge(cpu)).expect("a huge frame that was got");
    }

    /// Drains all CPUs: LLFree has no other drain.
    unsafe fn drain(&self, _cpu: usize) {
        self.allocator.drain();
    }
}
