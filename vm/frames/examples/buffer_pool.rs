//! A buffer pool, as in a database: it owns its memory, keeps a record for each frame, and serves
//! pages of 4 KiB and 2 MiB to several threads.
//!
//! `cargo run -p faultline-frames --example buffer_pool`

use faultline_frames::{
    Config, CpuNumber, DomainId, FRAME_BYTES, FixedCpu, FrameNumber, Frames, HUGE_FRAMES, MemoryArea,
};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const THREADS: u32 = 2;
const FRAMES: u64 = 16 * HUGE_FRAMES;

/// The page in each frame. A frame's number is its index, because the pool's frames are numbered
/// from 0.
struct Records(Vec<AtomicU64>);

impl Records {
    fn of(&self, frame: FrameNumber) -> &AtomicU64 {
        &self.0[frame.0 as usize]
    }
}

fn main() {
    let records = Records((0..FRAMES).map(|_| AtomicU64::new(0)).collect());
    let memory = [MemoryArea { first: FrameNumber(0), frames: FRAMES, domain: DomainId(0) }];
    let cpus = [DomainId(0); THREADS as usize];
    let config = Config::new(&memory, &cpus);
    let layout = Frames::layout(&config).expect("a sound configuration");
    let mut metadata = vec![MaybeUninit::uninit(); layout.size() + layout.align()];
    let pool = Frames::new(&config, &mut metadata, ()).expect("a sound configuration");
    std::thread::scope(|scope| {
        for number in (0..THREADS).map(CpuNumber) {
            let (pool, records) = (&pool, &records);
            scope.spawn(move || {
                // SAFETY: each number has one handle.
                let frames = pool.on(unsafe { FixedCpu::new(number) });
                let mut cached = Vec::new();
                for page in 1..2000 {
                    let frame = frames.get().expect("the pool is large enough");
                    // Relaxed: only the frame's owner accesses its record.
                    assert_eq!(records.of(frame).swap(page, Relaxed), 0, "a frame has one owner");
                    cached.push(frame);
                    if page % 3 == 0 {
                        let evicted = cached.swap_remove(page as usize % cached.len());
                        records.of(evicted).store(0, Relaxed);
                        frames.put(evicted).expect("it is ours");
                    }
                }
                // A sort needs 2 MiB at once.
                let run = frames.get_huge().expect("whole blocks are left");
                run.frames().for_each(|frame| assert_eq!(records.of(frame).load(Relaxed), 0));
                frames.put_huge(run).expect("it is ours");
                cached.iter().for_each(|frame| records.of(*frame).store(0, Relaxed));
                frames.put_batch(&cached).expect("they are ours");
            });
        }
    });
    assert_eq!(pool.free(), FRAMES);
    println!("{} MiB, {} bytes of records of the allocator", (FRAMES * FRAME_BYTES) >> 20, layout.size());
    print!("{}", pool.table());
}
