//! A kernel's start with the allocator: the firmware's memory map, memory for the metadata, a
//! handle for each CPU, and a page daemon that is woken when memory runs low. Here a vector stands
//! for the memory, and threads stand for CPUs.
//!
//! `cargo run -p faultline-frames --example kernel_start`

use faultline_frames::{
    Config, CpuNumber, DomainId, FRAME_BYTES, FixedCpu, FrameNumber, Frames, GetError, LowMemory, MemoryArea, Urgency,
    Watermarks,
};
use std::alloc::Layout;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const CPUS: u32 = 4;

/// The firmware's report: usable memory from the first address to the second.
const USABLE: [(u64, u64); 3] = [(0x1000, 0x9_f000), (0x10_0000, 0x7ff0_0000), (0x1_0000_0000, 0x1_8000_0000)];

/// Wakes the page daemon; here it only counts.
struct PageDaemon(AtomicU32);

impl LowMemory for PageDaemon {
    fn low(&self, domain: DomainId, free: u64) {
        // Relaxed: a count.
        self.0.fetch_add(1, Relaxed);
        println!("{domain} has {free} free frames: the page daemon wakes up");
    }
}

/// The firmware's map in frames, without the metadata's: the first frames of the first area that is
/// large enough.
fn without_metadata(map: &[MemoryArea], layout: Layout) -> Vec<MemoryArea> {
    let own = (layout.size() as u64).div_ceil(FRAME_BYTES);
    let mut left = Some(own);
    let mut areas = map.to_vec();
    for area in &mut areas {
        if let Some(own) = left.take_if(|own| area.frames > *own) {
            area.first.0 += own;
            area.frames -= own;
        }
    }
    assert!(left.is_none(), "no area is large enough");
    areas
}

fn main() {
    let area = |&(from, to): &(u64, u64)| MemoryArea {
        first: FrameNumber::containing(from),
        frames: (to - from) / FRAME_BYTES,
        domain: DomainId(0),
    };
    let map: Vec<MemoryArea> = USABLE.iter().map(area).collect();
    let all: u64 = map.iter().map(|area| area.frames).sum();
    let (cpus, marks) = ([DomainId(0); CPUS as usize], [Watermarks { low: all / 64, min: all / 256 }]);
    let config = |memory| Config::new(memory, &cpus).with_marks(&marks);

    // The layout of all memory is large enough for the memory that is left.
    let layout = Frames::layout(&config(&map)).expect("a sound map");
    let memory = without_metadata(&map, layout);
    // A kernel uses the frames that it has just set aside.
    let mut metadata = vec![MaybeUninit::uninit(); layout.size() + layout.align()];
    let daemon = PageDaemon(AtomicU32::new(0));
    let boot = Frames::new(&config(&memory), &mut metadata, ()).expect("a sound map").with_hook(&daemon);
    println!("{} of {all} frames are free, {} take the metadata", boot.free(), all - boot.free());

    std::thread::scope(|scope| {
        for number in (0..CPUS).map(CpuNumber) {
            let boot = &boot;
            scope.spawn(move || {
                // SAFETY: each number has one handle.
                let frames = boot.on(unsafe { FixedCpu::new(number) });
                let mut taken = Vec::new();
                // Down to the min watermark: the frames below are reserved.
                let error = loop {
                    match frames.try_get(Urgency::Normal) {
                        Ok(frame) => taken.push(frame),
                        Err(error) => break error,
                    }
                };
                assert_eq!(error, GetError::AtMinimum);
                // The page daemon still gets frames.
                let urgent = frames.get_as(Urgency::Reserve).expect("the reserve is there");
                frames.put(urgent).expect("it is ours");
                frames.put_batch(&taken).expect("they are ours");
                frames.drain_own();
            });
        }
    });
    assert!(daemon.0.load(Relaxed) > 0, "it was woken");
    let free: u64 = memory.iter().map(|area| area.frames).sum();
    assert_eq!(boot.free(), free);
    print!("{}", boot.counters());
}
