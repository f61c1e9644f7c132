//! The host's kernel, for comparison: maps, touches and unmaps anonymous memory in base pages. This
//! is much more than handing out frames: a fault, a page-table entry, a cleared page. At most 256
//! MiB at a time.
//!
//! `bulk`: touch all pages, unmap them · `repeat`: touch a page and give it back with
//! `MADV_DONTNEED` · `fault`: map, touch and unmap as many pages as a task has. There is no `rand`,
//! because a process cannot unmap the memory of another.

use super::benchmark::{Bench, Figures, Metric, Shape};
use crate::measure::benchmark::{Span, per_operation_ns, pinned};
use rustix::io::Result;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ffi::c_void;

const PAGE_BYTES: usize = 4096;
const PAGES_MOST: usize = 65_536;
const TASK_PAGES: usize = 32;

/// `None` if the host's kernel cannot do it, or refuses.
pub(super) fn sample(bench: Bench, shape: &Shape<'_>) -> Option<Figures> {
    let pages = shape.frames_of_thread().min(PAGES_MOST / shape.threads);
    match bench {
        Bench::Bulk => bulk(shape.threads, pages),
        Bench::Repeat => Some(vec![(Metric::Repeat, per_page(shape.threads, pages, give_back_by_one)?)]),
        Bench::Rand | Bench::NearlyFull | Bench::Huge => None,
        Bench::Faults => Some(vec![(Metric::Fault, per_page(shape.threads, pages, tasks)?)]),
    }
}

/// Memory of this process, in base pages.
struct Mapping {
    first: *mut c_void,
    pages: usize,
}

impl Mapping {
    fn of(pages: usize) -> Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel picks an unused address.
        let first = unsafe { mmap_anonymous(std::ptr::null_mut(), pages * PAGE_BYTES, protection, flags)? };
        let mapping = Mapping { first, pages };
        // SAFETY: the whole mapping is ours, and this changes no contents.
        unsafe { madvise(first, pages * PAGE_BYTES, Advice::LinuxNoHugepage)? };
        Ok(mapping)
    }

    fn touch(&self, page: usize) {
        assert!(page < self.pages);
        // SAFETY: 1. within the mapping; 2. no reference points into it; 3. aligned, as pages are.
        unsafe { self.first.cast::<u64>().add(page * PAGE_BYTES / size_of::<u64>()).write_volatile(1) };
    }

    fn touch_all(&self) {
        (0..self.pages).for_each(|page| self.touch(page));
    }

    fn give_back(&self) -> Result<()> {
        // SAFETY: the whole mapping is ours, and its contents need not stay.
        unsafe { madvise(self.first, self.pages * PAGE_BYTES, Advice::LinuxDontNeed) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the whole mapping is ours, and no reference points into it. The call cannot fail
        // for an existing mapping.
        let _ = unsafe { munmap(self.first, self.pages * PAGE_BYTES) };
    }
}

fn bulk(threads: usize, pages: usize) -> Option<Figures> {
    let spans = pinned(threads, |_, barrier| {
        let mapping = Mapping::of(pages);
        barrier.wait();
        let touch = Span::of(|| mapping.iter().for_each(Mapping::touch_all));
        barrier.wait();
        let is_there = mapping.is_ok();
        let unmap = Span::of(|| drop(mapping));
        is_there.then_some((touch, unmap))
    });
    let (touches, unmaps): (Vec<_>, Vec<_>) = spans.into_iter().collect::<Option<Vec<_>>>()?.into_iter().unzip();
    Some(vec![
        (Metric::BulkGet, per_operation_ns(&touches, pages)),
        (Metric::BulkPut, per_operation_ns(&unmaps, pages)),
    ])
}

fn per_page(threads: usize, pages: usize, run: fn(usize) -> Result<()>) -> Option<f64> {
    let results = pinned(threads, |_, barrier| {
        barrier.wait();
        let mut result = Ok(());
        let span = Span::of(|| result = run(pages));
        result.ok().map(|()| span)
    });
    let spans: Vec<Span> = results.into_iter().collect::<Option<_>>()?;
    Some(per_operation_ns(&spans, pages))
}

fn give_back_by_one(pages: usize) -> Result<()> {
    let mapping = Mapping::of(1)?;
    for _ in 0..pages {
        mapping.touch(0);
        mapping.give_back()?;
    }
    Ok(())
}

fn tasks(pages: usize) -> Result<()> {
    for _ in 0..pages.div_ceil(TASK_PAGES) {
        Mapping::of(TASK_PAGES)?.touch_all();
    }
    Ok(())
}
