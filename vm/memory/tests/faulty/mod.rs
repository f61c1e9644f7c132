//! A pager to a real file, whose transfers fail, end early and come late, by a seed.

use faultline_memory::hosted::FrameBytes;
use faultline_memory::{FrameNumber, Pager, Started, Transfer};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;

/// Rates per 100 transfers.
#[derive(Debug, Clone, Copy)]
pub struct Faults {
    pub fail: u32,
    pub short: u32,
    pub late: u32,
}

#[derive(Debug)]
pub struct Faulty {
    bytes: FrameBytes,
    file: File,
    faults: Faults,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    random: SmallRng,
    /// Pending transfers, with their remaining work.
    late: Vec<Late>,
}

#[derive(Debug)]
struct Late {
    is_write: bool,
    first: u64,
    frames: Vec<FrameNumber>,
    transfer: Transfer,
    pages: usize,
}

impl Faulty {
    pub fn new(bytes: FrameBytes, faults: Faults, seed: u64) -> Self {
        let state = State { random: SmallRng::seed_from_u64(seed), late: Vec::new() };
        Self { bytes, file: tempfile::tempfile().unwrap(), faults, state: Mutex::new(state) }
    }

    /// A page of the file.
    pub fn page(&self, index: u64) -> Vec<u8> {
        let mut page = vec![0; self.bytes.frame_bytes()];
        // Pages never written are not in the file.
        let place = index * page.len() as u64;
        let _ = self.file.read_at(&mut page, place).unwrap();
        page
    }

    /// Performs a pending transfer, if any, for `Cpu::finish`.
    pub fn next(&self) -> Option<(Transfer, usize)> {
        let mut state = self.state.lock().unwrap();
        let place =
            (!state.late.is_empty()).then(|| state.late.len()).map(|most| state.random.random_range(0..most))?;
        let late = state.late.swap_remove(place);
        self.make(late.is_write, late.first, &late.frames[..late.pages]);
        Some((late.transfer, late.pages))
    }

    fn make(&self, is_write: bool, first: u64, frames: &[FrameNumber]) {
        let mut page = vec![0; self.bytes.frame_bytes()];
        for (index, frame) in (first..).zip(frames) {
            if is_write {
                self.bytes.read(*frame, &mut page);
                self.file.write_all_at(&page, index * page.len() as u64).unwrap();
            } else {
                self.bytes.write(*frame, &self.page(index));
            }
        }
    }

    fn start(&self, is_write: bool, first: u64, frames: &[FrameNumber], transfer: Transfer) -> Started {
        let mut state = self.state.lock().unwrap();
        let pages = match state.random.random_range(0..100) {
            chance if chance < self.faults.fail => 0,
            chance if chance < self.faults.fail + self.faults.short => state.random.random_range(0..frames.len()),
            _ => frames.len(),
        };
        if state.random.random_range(0..100) < self.faults.late {
            state.late.push(Late { is_write, first, frames: frames.to_vec(), transfer, pages });
            return Started::Later;
        }
        self.make(is_write, first, &frames[..pages]);
        Started::Done(transfer, pages)
    }
}

impl Pager for Faulty {
    fn read(&self, first: u64, frames: &[FrameNumber], transfer: Transfer) -> Started {
        self.start(false, first, frames, transfer)
    }

    fn write(&self, first: u64, frames: &[FrameNumber], transfer: Transfer) -> Started {
        self.start(true, first, frames, transfer)
    }
}
