//! A CPU of a design: the promise about its number is made once, and then calls are safe.

use crate::{Design, Frame};

/// A CPU, owned by one thread.
///
/// It returns frames as numbers, so a number can be put twice by mistake. The caller must avoid that, as in a kernel.
#[derive(Debug)]
pub struct Cpu<'d, D> {
    design: &'d D,
    number: usize,
}

impl<'d, D: Design> Cpu<'d, D> {
    /// The CPU of that number.
    ///
    /// # Safety
    /// 1. `number` is below `Memory::cpus`; 2. at most one `Cpu` of a design has it at a time; 3. only frames that were
    ///    got and not put since are put through it and the design's other `Cpu`s.
    pub unsafe fn new(design: &'d D, number: usize) -> Self {
        Cpu { design, number }
    }

    /// See [`Design::get`].
    #[inline]
    pub fn get(&mut self) -> Option<Frame> {
        // SAFETY: `new`'s promise: the number belongs to a CPU, and only to us, while we are borrowed mutably.
        unsafe { self.design.get(self.number) }
    }

    /// See [`Design::put`].
    #[inline]
    pub fn put(&mut self, frame: Frame) {
        // SAFETY: as in `get`; the third part of the promise.
        unsafe { self.design.put(self.number, frame) }
    }

    /// See [`Design::put_batch`].
    #[inline]
    pub fn put_batch(&mut self, frames: &[Frame]) {
        // SAFETY: as in `put`.
        unsafe { self.design.put_batch(self.number, frames) }
    }

    /// See [`Design::get_huge`].
    #[inline]
    pub fn get_huge(&mut self) -> Option<Frame> {
        // SAFETY: as in `get`.
        unsafe { self.design.get_huge(self.number) }
    }

    /// See [`Design::put_huge`].
    #[inline]
    pub fn put_huge(&mut self, first: Frame) {
        // SAFETY: as in `put`.
        unsafe { self.design.put_huge(self.number, first) }
    }

    /// See [`Design::get_run`].
    #[inline]
    pub fn get_run(&mut self) -> Option<Frame> {
        // SAFETY: as in `get`.
        unsafe { self.design.get_run(self.number) }
    }

    /// See [`Design::put_run`].
    #[inline]
    pub fn put_run(&mut self, first: Frame) {
        // SAFETY: as in `put`.
        unsafe { self.design.put_run(self.number, first) }
    }

    /// See [`Design::drain`].
    pub fn drain(&mut self) {
        // SAFETY: as in `get`.
        unsafe { self.design.drain(self.number) }
    }
}
