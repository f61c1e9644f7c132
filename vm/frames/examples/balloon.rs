//! A balloon: a guest gives memory back to its hypervisor, in huge frames where possible, and takes
//! it back later. It never goes below the min watermark, and never empties other CPUs' caches.
//!
//! `cargo run -p faultline-frames --example balloon`

use faultline_frames::{
    Config, CpuNumber, DomainId, FixedCpu, FrameNumber, Frames, GetError, HUGE_FRAMES, HugeFrame, MemoryArea, Urgency,
    Watermarks,
};
use std::mem::MaybeUninit;

/// The hypervisor's frames.
#[derive(Default)]
struct Balloon {
    huge: Vec<HugeFrame>,
    single: Vec<FrameNumber>,
}

impl Balloon {
    fn size(&self) -> u64 {
        self.huge.len() as u64 * HUGE_FRAMES + self.single.len() as u64
    }

    /// Grows to `target` frames, or as far as memory permits. The error is the reason for stopping
    /// early.
    fn inflate(&mut self, frames: &Frames<'_, FixedCpu>, target: u64) -> Result<(), GetError> {
        while self.size() + HUGE_FRAMES <= target {
            match frames.try_get_huge(Urgency::Normal) {
                Ok(huge) => self.huge.push(huge),
                Err(_) => break,
            }
        }
        while self.size() < target {
            let mut batch = [FrameNumber(0); 64];
            let most = (target - self.size()).min(64) as usize;
            let got = frames.get_batch(Urgency::Normal, &mut batch[..most])?;
            self.single.extend(&batch[..got]);
        }
        Ok(())
    }

    /// Shrinks to `target` frames. A huge frame is split if only a part of it is wanted.
    fn deflate(&mut self, frames: &Frames<'_, FixedCpu>, target: u64) {
        let excess = self.size().saturating_sub(target) as usize;
        let singles = self.single.split_off(self.single.len() - excess.min(self.single.len()));
        frames.put_batch(&singles).expect("they are ours");
        while self.size() > target {
            let Some(huge) = self.huge.pop() else { break };
            if self.size() >= target {
                frames.put_huge(huge).expect("it is ours");
            } else {
                frames.split_huge(huge).expect("it is ours");
                self.single.extend(huge.frames());
                return self.deflate(frames, target);
            }
        }
    }
}

fn main() {
    let memory = [MemoryArea { first: FrameNumber(0), frames: 64 * HUGE_FRAMES, domain: DomainId(0) }];
    let marks = [Watermarks { low: 4096, min: 2048 }];
    let config = Config::new(&memory, &[DomainId(0)]).with_marks(&marks);
    let layout = Frames::layout(&config).expect("a sound configuration");
    let mut metadata = vec![MaybeUninit::uninit(); layout.size() + layout.align()];
    // SAFETY: the only handle.
    let cpu = unsafe { FixedCpu::new(CpuNumber(0)) };
    let frames = Frames::new(&config, &mut metadata, cpu).expect("a sound configuration");
    let all = frames.free();

    let mut balloon = Balloon::default();
    balloon.inflate(&frames, 10_000).expect("there is enough");
    assert_eq!((balloon.size(), frames.free()), (10_000, all - 10_000));
    println!("{} huge frames and {} single ones are in the balloon", balloon.huge.len(), balloon.single.len());

    // More than there is: stops at the min watermark.
    assert_eq!(balloon.inflate(&frames, u64::MAX), Err(GetError::AtMinimum));
    assert_eq!(frames.free(), 2048);
    assert!(frames.get_as(Urgency::Reserve).is_ok_and(|frame| frames.put(frame).is_ok()));

    balloon.deflate(&frames, 1_000);
    assert_eq!((balloon.size(), frames.free()), (1_000, all - 1_000));
    balloon.deflate(&frames, 0);
    assert_eq!(
        frames.census().whole_blocks + frames.counters().held.div_ceil(HUGE_FRAMES),
        64,
        "memory is whole again"
    );
    println!("{} blocks of 2 MiB are whole again", frames.census().whole_blocks);
}
