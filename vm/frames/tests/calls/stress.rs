//! Threads mix all operations for a while. At quiet points every frame is found exactly once.
//!
//! There are more threads than CPUs, so a thread may be preempted anywhere. `cargo test --release
//! --test calls -- --ignored`

use crate::machine::{Machine, area, boot};
use faultline_frames::{
    DomainId, FixedCpu, FrameNumber, Frames, GetError, HUGE_FRAMES, HugeFrame, Policy, PutError, RangeRequest,
    Watermarks,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

const THREADS: usize = 4;
const SEED: u64 = 0x5eed_f4a3;
/// Operations of each thread between two quiet points.
const STEPS: usize = 2000;

/// The frames of a thread's users. Extents are first frame and length.
#[derive(Default)]
struct Held {
    singles: Vec<FrameNumber>,
    huge: Vec<HugeFrame>,
    ranges: Vec<(FrameNumber, u64)>,
}

impl Held {
    fn extents(&self) -> impl Iterator<Item = (u64, u64)> {
        let singles = self.singles.iter().map(|frame| (frame.0, 1));
        let huge = self.huge.iter().map(|frame| (frame.first().0, HUGE_FRAMES));
        singles.chain(huge).chain(self.ranges.iter().map(|(first, count)| (first.0, *count)))
    }
}

/// Takes some consecutive entries of a list.
fn some<T>(list: &mut Vec<T>, most: usize, random: &mut SmallRng) -> Vec<T> {
    (0..most.min(list.len())).map(|_| list.swap_remove(random.random_range(0..list.len()))).collect()
}

fn step(frames: &Frames<'_, FixedCpu>, held: &mut Held, others: &Mutex<Vec<FrameNumber>>, random: &mut SmallRng) {
    let count = random.random_range(1..100);
    match random.random_range(0..20) {
        0..6 => held.singles.extend((0..count).map_while(|_| frames.get().ok())),
        6..10 => some(&mut held.singles, count, random).into_iter().for_each(|frame| frames.put(frame).unwrap()),
        10 => frames.put_batch(&some(&mut held.singles, count, random)).unwrap(),
        // Pass frames to other threads and take theirs: these are foreign frames.
        11..13 => others.lock().unwrap().extend(some(&mut held.singles, count, random)),
        13..15 => {
            let foreign = some(&mut others.lock().unwrap(), count, random);
            foreign.into_iter().for_each(|frame| frames.put(frame).unwrap());
        }
        15 => held.huge.extend(frames.get_huge().ok()),
        16 => some(&mut held.huge, 1, random).into_iter().for_each(|frame| {
            assert_eq!(frames.put(FrameNumber(frame.first().0 + 5)), Err(PutError::WrongOrder));
            if count % 2 == 0 {
                frames.split_huge(frame).unwrap();
                frames.join_huge(frame).unwrap();
            }
            frames.put_huge(frame).unwrap();
        }),
        17 => {
            let count = count as u64 + 1;
            let request = RangeRequest { alignment: 1 << random.random_range(0..6), ..RangeRequest::of(count) };
            held.ranges.extend(frames.get_range(&request).ok().map(|first| (first, count)));
        }
        18 => {
            if !held.ranges.is_empty() {
                let (first, count) = held.ranges.swap_remove(random.random_range(0..held.ranges.len()));
                frames.put_range(first, count).unwrap();
            }
        }
        _ => match random.random_range(0..12) {
            0 => _ = frames.drain(),
            1 => _ = frames.drain_own(),
            2 => _ = frames.age(),
            3 => _ = frames.fill_zeroed(3, |_| ()),
            _ => held.singles.extend(frames.get_zeroed().map(|frame| frame.number)),
        },
    }
}

/// At a quiet point: each frame belongs to exactly one user, or to the allocator.
fn check(frames: &Frames<'_, FixedCpu>, held: &[Mutex<Held>], others: &Mutex<Vec<FrameNumber>>, total: u64) {
    let mut extents: Vec<(u64, u64)> = others.lock().unwrap().iter().map(|frame| (frame.0, 1)).collect();
    held.iter().for_each(|held| extents.extend(held.lock().unwrap().extents()));
    extents.sort_unstable();
    assert!(extents.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "a frame has two users");
    let users: u64 = extents.iter().map(|(_, count)| count).sum();
    let census = frames.census();
    assert_eq!(census.taken + census.huge, users);
    assert_eq!(census.free + census.parked, total - users);
    assert_eq!(frames.free(), total - users);
}

fn mix(duration: Duration) {
    let machine = Machine {
        memory: vec![area(100, 20_000, 0), area(32_768, 16_384, 1)],
        offline: Vec::new(),
        cpus: (0..THREADS).map(|cpu| DomainId((cpu % 2) as u8)).collect(),
        marks: vec![Watermarks { low: 900, min: 300 }, Watermarks { low: 500, min: 100 }],
        distances: Vec::new(),
        policy: Policy::default().with_zeroed_most(16),
    };
    boot!(mut cpus, &machine);
    let others = Mutex::new(Vec::new());
    let held: Vec<Mutex<Held>> = (0..THREADS).map(|_| Mutex::default()).collect();
    let (barrier, done) = (Barrier::new(THREADS), AtomicBool::new(false));
    let end = Instant::now() + duration;
    let rounds: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = cpus
            .iter_mut()
            .zip(1_u64..)
            .map(|(frames, number)| {
                let (others, held, barrier, done, total) = (&others, &held, &barrier, &done, machine.frames());
                scope.spawn(move || {
                    let frames = &*frames;
                    let mut random = SmallRng::seed_from_u64(SEED + number);
                    let mut rounds = 0;
                    // Relaxed: the barriers order it.
                    while !done.load(Relaxed) {
                        let mut mine = held[number as usize - 1].lock().unwrap();
                        (0..STEPS).for_each(|_| step(frames, &mut mine, others, &mut random));
                        drop(mine);
                        if barrier.wait().is_leader() {
                            check(frames, held, others, total);
                            done.store(Instant::now() >= end, Relaxed);
                        }
                        barrier.wait();
                        rounds += 1;
                    }
                    rounds
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(rounds >= THREADS, "a quiet point at least");
    // All frames come back, and every frame can be allocated again.
    for held in &held {
        let held = std::mem::take(&mut *held.lock().unwrap());
        cpus[0].put_batch(&held.singles).unwrap();
        held.huge.iter().for_each(|frame| cpus[0].put_huge(*frame).unwrap());
        held.ranges.iter().for_each(|(first, count)| cpus[0].put_range(*first, *count).unwrap());
    }
    cpus[0].put_batch(&others.into_inner().unwrap()).unwrap();
    for frames in &cpus {
        frames.drain_own();
    }
    let first = cpus.remove(0);
    let found: BTreeSet<FrameNumber> =
        std::iter::from_fn(|| first.get_as(faultline_frames::Urgency::Reserve).ok()).collect();
    assert_eq!(found.len() as u64, machine.frames());
    assert_eq!(first.get(), Err(GetError::Exhausted));
    println!("{} quiet points\n{}", rounds / THREADS, first.counters());
}

#[test]
#[cfg_attr(miri, ignore = "hours")]
fn every_frame_is_found_once_for_a_moment() {
    mix(Duration::from_millis(300));
}

#[test]
#[ignore = "slow: a minute"]
fn every_frame_is_found_once_for_a_minute() {
    mix(Duration::from_secs(60));
}
