//! Frames stranded after a drain: at most 32 per CPU, even when idle; none once it is offline.

use crate::machine::{Machine, boot};
use faultline_frames::{ConfigError, CpuNumber, FixedCpu, FrameNumber, Frames, GetError, Policy};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A magazine: the frames that a CPU keeps after a drain.
const KEPT: u64 = 32;

/// Makes each CPU fill its cache to the limit.
fn fill_caches(frames: &[Frames<'_, FixedCpu>], each: usize) {
    for frames in frames {
        let got: Vec<FrameNumber> = (0..each).map(|_| frames.get().unwrap()).collect();
        for frame in got {
            frames.put(frame).unwrap();
        }
    }
}

fn held(frames: &[Frames<'_, FixedCpu>]) -> Vec<u64> {
    (0..frames.len()).map(|cpu| frames[0].counters_of(CpuNumber(cpu as u32)).unwrap().held).collect()
}

#[test]
#[cfg_attr(miri, ignore = "many calls of one thread")]
fn idle_cpus_keep_a_magazine() {
    let machine = Machine::flat(0, 64 * 512, 16);
    boot!(frames, &machine);
    fill_caches(&frames, 600);
    assert!(held(&frames).iter().all(|&held| held > KEPT), "there is something to drain: {:?}", held(&frames));
    let before: u64 = held(&frames).iter().sum();
    let freed = frames[3].drain();
    let after = held(&frames);
    assert!(after.iter().all(|&held| held <= KEPT), "{after:?}");
    assert_eq!(after[3], 0, "the CPU that drains keeps nothing");
    assert_eq!(before - after.iter().sum::<u64>(), freed);
    let census = frames[0].census();
    assert_eq!((census.parked, census.free), (after.iter().sum(), machine.frames() - after.iter().sum::<u64>()));
}

#[test]
#[cfg_attr(miri, ignore = "many calls of one thread")]
fn a_cpu_that_goes_idle_or_offline_keeps_nothing() {
    let machine = Machine::flat(0, 64 * 512, 4);
    boot!(frames, &machine);
    fill_caches(&frames, 600);
    frames[1].drain_own();
    // SAFETY: no other call runs.
    unsafe { frames[0].drain_offline(CpuNumber(2)) };
    assert_eq!(held(&frames)[1..3], [0, 0]);
    assert!(held(&frames)[0] > KEPT && held(&frames)[3] > KEPT);
    // Other CPUs can use CPU 2's frames: CPU 1 can get all frames except those in caches.
    let in_caches: u64 = held(&frames).iter().sum();
    let got = std::iter::from_fn(|| frames[1].get().ok()).count() as u64;
    assert!(got >= machine.frames() - in_caches);
    // And a CPU that comes back starts from scratch.
    assert_eq!(frames[2].get(), Err(GetError::Exhausted));
}

/// Drains while CPUs work. A drain leaves each of them at most a magazine, and one that is being
/// moved.
#[test]
fn busy_cpus_keep_two_magazines_at_most() {
    let machine = Machine::flat(0, 16 * 512, 3);
    boot!(mut frames, &machine);
    let idle = frames.pop().unwrap();
    fill_caches(std::slice::from_ref(&idle), 600);
    let busy = frames.pop().unwrap();
    let drainer = frames.pop().unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let done = &done;
        scope.spawn(move || {
            let mut mine = Vec::new();
            // Relaxed: a flag; no other data depends on it.
            while !done.load(Relaxed) {
                mine.extend((0..200).map_while(|_| busy.get().ok()));
                mine.drain(..).for_each(|frame| busy.put(frame).unwrap());
            }
        });
        for _ in 0..if cfg!(miri) { 3 } else { 300 } {
            drainer.drain();
            // The idle CPU's bound holds immediately. The busy CPU's stock may be refilled as soon
            // as it is empty.
            assert!(drainer.counters_of(CpuNumber(2)).unwrap().held <= KEPT);
            std::thread::yield_now();
        }
        done.store(true, Relaxed);
    });
    drainer.drain();
    let left: u64 = (0..3).map(|cpu| drainer.counters_of(CpuNumber(cpu)).unwrap().held).sum();
    assert!(left <= 2 * KEPT);
    assert_eq!(drainer.free(), machine.frames());
}

#[test]
#[cfg_attr(miri, ignore = "many calls of one thread")]
fn stocks_shrink_with_age_and_grow_with_use() {
    boot!(frames, Machine::flat(0, 64 * 512, 2).with_policy(Policy::default().with_stock_most(4)));
    // Each round uses more frames than the stock holds, so it overflows and refills.
    (0..4).for_each(|_| fill_caches(&frames[..1], 600));
    assert_eq!(held(&frames)[0], 5 * KEPT);
    // The first call finds that the CPU was busy.
    let freed: Vec<u64> = (0..6).map(|_| frames[1].age()).collect();
    assert_eq!(freed, [0, KEPT, KEPT, KEPT, KEPT, 0]);
    assert_eq!(held(&frames)[0], KEPT);
    (0..6).for_each(|_| fill_caches(&frames[..1], 600));
    assert_eq!(held(&frames)[0], 5 * KEPT);
}

#[test]
#[cfg_attr(miri, ignore = "many calls of one thread")]
fn a_stock_has_no_more_than_it_may() {
    boot!(frames, Machine::flat(0, 64 * 512, 2));
    (0..4).for_each(|_| fill_caches(&frames[..1], 600));
    assert_eq!(held(&frames)[0], 5 * KEPT);
    assert_eq!(frames[1].set_stock_most(CpuNumber(0), 1), Ok(()));
    assert_eq!(held(&frames)[0], 5 * KEPT, "what it has, it keeps");
    assert_eq!(frames[1].age(), 3 * KEPT, "until it ages");
    (0..4).for_each(|_| fill_caches(&frames[..1], 600));
    assert_eq!(held(&frames)[0], 2 * KEPT);
    assert_eq!(frames[1].set_stock_most(CpuNumber(0), 5), Err(ConfigError::Stock));
    assert_eq!(frames[1].set_stock_most(CpuNumber(2), 0), Err(ConfigError::Cpus));
    let layout = |stock_most| {
        let policy = Policy::default().with_stock_most(stock_most);
        Frames::layout(&Machine::flat(0, 512, 1).with_policy(policy).config()).map(|_| ())
    };
    assert_eq!((layout(4), layout(5)), (Ok(()), Err(ConfigError::Stock)));
}

#[test]
fn nothing_is_exhausted_but_for_current_magazines() {
    let machine = Machine::flat(0, 4 * 512, 4);
    boot!(frames, &machine);
    fill_caches(&frames, 400);
    let got = std::iter::from_fn(|| frames[0].get().ok()).count() as u64;
    assert!(got >= machine.frames() - 3 * KEPT, "{got} of {}", machine.frames());
    assert_eq!(frames[0].get(), Err(GetError::Exhausted));
    assert!((1..4).all(|cpu| frames[cpu].counters_of(CpuNumber(cpu as u32)).unwrap().held <= KEPT));
}
