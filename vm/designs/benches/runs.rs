//! Cost of runs of 2ⁿ frames in our own allocator, beside single frames: CPU time of a get and its
//! put, on one CPU with 1 GiB.
//!
//! `cargo bench -p faultline-frame-designs --bench runs`

use faultline_frame_designs::measure::cpu_time;
use faultline_frames::{
    Config, CpuNumber, DomainId, FixedCpu, FrameNumber, Frames, HUGE_FRAMES, MemoryArea, Order, RangeRequest, Urgency,
};
use std::mem::MaybeUninit;

const FRAMES: u64 = 1 << 18;
/// Gets and puts per sample.
const PAIRS: usize = 100_000;
/// Odd, so that one is the median.
const SAMPLES: usize = 11;
/// Number of frames held in the second column.
const HELD: u64 = 8192;

type Cpu<'m> = Frames<'m, FixedCpu>;
type Get<'a> = &'a dyn Fn() -> FrameNumber;
type Put<'a> = &'a dyn Fn(FrameNumber);

/// CPU time of this thread, in nanoseconds.
fn now() -> u64 {
    cpu_time().as_nanos() as u64
}

/// Nanoseconds of a get and its put, with `held` frames got before the first put.
fn pair(held: usize, get: Get<'_>, put: Put<'_>) -> f64 {
    let mut got = Vec::with_capacity(held);
    let rounds = PAIRS / held;
    let mut samples = [0.0; SAMPLES];
    for sample in &mut samples {
        let begin = now();
        for _ in 0..rounds {
            got.extend((0..held).map(|_| get()));
            got.drain(..).rev().for_each(put);
        }
        *sample = (now() - begin) as f64 / (rounds * held) as f64;
    }
    samples.sort_by(f64::total_cmp);
    samples[SAMPLES / 2]
}

fn show(what: &str, frames: u64, get: Get<'_>, put: Put<'_>) {
    println!("{what:34} {:10.1} {:10.1}", pair(1, get, put), pair((HELD / frames) as usize, get, put));
}

fn show_runs(cpu: &Cpu<'_>, order: Order) {
    let frames = order.frames().expect("a small order");
    let put = |first| cpu.put_range(first, frames).expect("it is ours");
    show(
        &format!("a run of {frames}"),
        frames,
        &|| cpu.try_get_run(order, Urgency::Normal).expect("there are many"),
        &put,
    );
}

fn main() {
    let memory = [MemoryArea { first: FrameNumber(0), frames: FRAMES, domain: DomainId(0) }];
    let config = Config::new(&memory, &[DomainId(0)]);
    let layout = Frames::layout(&config).expect("a sound configuration");
    let mut metadata = vec![MaybeUninit::uninit(); layout.size() + layout.align()];
    // SAFETY: there is one thread and one handle.
    let cpu =
        Frames::new(&config, &mut metadata, unsafe { FixedCpu::new(CpuNumber(0)) }).expect("a sound configuration");
    println!("{:34} {:>10} {:>10}", "nanoseconds of a get and its put", "1 held", "32 MiB held");
    show("a frame", 1, &|| cpu.get().expect("there are many"), &|frame| cpu.put(frame).expect("it is ours"));
    (0..=8).map(Order).for_each(|order| show_runs(&cpu, order));
    let eight = RangeRequest { alignment: 8, ..RangeRequest::of(8) };
    let put = |first| cpu.put_range(first, 8).expect("it is ours");
    show("a range of 8, by a search", 8, &|| cpu.get_range(&eight).expect("there are many"), &put);
    show("a huge frame", 512, &|| cpu.get_huge().expect("there are many").first(), &|first| {
        cpu.put_huge(first.huge()).expect("it is ours");
    });
    let split = || {
        let huge = cpu.get_huge().expect("there are many");
        cpu.split_huge(huge).expect("it is ours");
        huge.first()
    };
    show("a huge frame, split, as a range", 512, &split, &|first| {
        cpu.put_range(first, HUGE_FRAMES).expect("it is ours");
    });
}
