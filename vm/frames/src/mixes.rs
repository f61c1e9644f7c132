//! Random mixes of all operations on a few CPUs, under random schedules of `shuttle`. The seed
//! determines a run. A failure also prints the schedule, which `shuttle::replay` repeats.
//!
//! `RUSTFLAGS="--cfg shuttle" cargo test --release -p faultline-frames --lib mixes`

use crate::config::{Config, MemoryArea, Policy};
use crate::cpu::FixedCpu;
use crate::error::{GetError, PutError};
use crate::frame::{BLOCK_FRAMES, RangeRequest};
use crate::frames::Frames;
use crate::layers::Urgency;
use core::mem::MaybeUninit;
use faultline_numbers::{CpuNumber, DomainId, FrameNumber, Order};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::{Arc, Mutex};
use std::collections::BTreeMap;
use std::vec::Vec;

const CPUS: usize = 4;
const SCHEDULES: usize = 400;
const STEPS: usize = 240;

/// Users' frames, each with its length. The list is shared, so CPUs put frames that other CPUs got.
type Users = Arc<Mutex<BTreeMap<FrameNumber, u64>>>;

fn config<'a>(memory: &'a [MemoryArea], cpus: &'a [DomainId]) -> Config<'a> {
    Config::new(memory, cpus).with_policy(Policy::default().with_stock_most(1).with_zeroed_most(2))
}

/// Two domains of two blocks and a half each.
fn memory() -> [MemoryArea; 2] {
    let half = BLOCK_FRAMES / 2;
    [(0, 5 * half, 0), (6 * half, 5 * half, 1)].map(|(first, frames, domain)| MemoryArea {
        first: FrameNumber(first),
        frames,
        domain: DomainId(domain),
    })
}

fn take(users: &Users, first: FrameNumber, frames: u64) {
    let mut users = users.lock().unwrap();
    let before = users.range(..FrameNumber(first.0 + frames)).next_back();
    assert!(before.is_none_or(|(other, count)| other.0 + count <= first.0), "{first:?} is given out twice");
    users.insert(first, frames);
}

fn give(users: &Users, random: &mut SmallRng, such: impl Fn(u64) -> bool) -> Option<(FrameNumber, u64)> {
    let mut users = users.lock().unwrap();
    let fit: Vec<_> = users.iter().filter(|(_, count)| such(**count)).map(|(first, _)| *first).collect();
    let first = *fit.get(random.random_range(0..fit.len().max(1)))?;
    Some((first, users.remove(&first).unwrap()))
}

fn step(cpu: &Frames<'_, FixedCpu>, users: &Users, random: &mut SmallRng) {
    match random.random_range(0..13) {
        0..4 => (0..random.random_range(1..70)).for_each(|_| match cpu.get() {
            Ok(frame) => take(users, frame, 1),
            Err(error) => assert_eq!(error, GetError::Exhausted),
        }),
        4..7 => (0..random.random_range(1..70)).for_each(|_| {
            if let Some((frame, _)) = give(users, random, |count| count == 1) {
                assert_eq!(cpu.put(frame), Ok(()));
            }
        }),
        7 => {
            let batch: Vec<_> =
                (0..40).map_while(|_| give(users, random, |count| count == 1)).map(|(frame, _)| frame).collect();
            assert_eq!(cpu.put_batch(&batch), Ok(()));
        }
        8 => match if random.random() { cpu.get_huge() } else { cpu.try_get_huge(Urgency::Normal) } {
            Ok(huge) => take(users, huge.first(), BLOCK_FRAMES),
            Err(error) => assert!(matches!(error, GetError::Exhausted | GetError::NotAtHand)),
        },
        9 => {
            if let Some((first, _)) = give(users, random, |count| count == BLOCK_FRAMES) {
                assert_eq!(cpu.put(FrameNumber(first.0 + 1)), Err(PutError::WrongOrder));
                if random.random() {
                    assert_eq!(cpu.split_huge(first.huge()), Ok(()));
                    if random.random() {
                        // Both halves, put by other CPUs at any time.
                        take(users, first, BLOCK_FRAMES / 2);
                        take(users, FrameNumber(first.0 + BLOCK_FRAMES / 2), BLOCK_FRAMES / 2);
                        return;
                    }
                    assert_eq!(cpu.join_huge(first.huge()), Ok(()));
                }
                if random.random() {
                    assert_eq!(cpu.put_offline(first.huge()), Ok(()));
                    assert_eq!(cpu.put(first), Err(PutError::Absent));
                    assert_eq!(cpu.put_online(first.huge()), Ok(()));
                } else {
                    assert_eq!(cpu.put_huge(first.huge()), Ok(()));
                }
            }
        }
        10 => {
            let frames = random.random_range(2..100);
            if let Ok(first) = cpu.get_range(&RangeRequest { alignment: 4, ..RangeRequest::of(frames) }) {
                take(users, first, frames);
            }
            if let Some((first, count)) = give(users, random, |count| (2..BLOCK_FRAMES).contains(&count)) {
                assert_eq!(cpu.put_range(first, count), Ok(()));
            }
        }
        11 => {
            let order = Order(random.random_range(0..8));
            match if random.random() { cpu.get_run(order) } else { cpu.try_get_run(order, Urgency::Normal) } {
                Ok(first) => take(users, first, order.frames().unwrap()),
                Err(error) => assert!(matches!(error, GetError::Exhausted | GetError::NotAtHand)),
            }
        }
        _ => {
            match random.random_range(0..4) {
                0 => cpu.drain(),
                1 => cpu.drain_own(),
                2 => cpu.age(),
                _ => cpu.fill_zeroed(2, |_| ()),
            };
        }
    }
}

fn mix(seed: u64) {
    let (memory, cpus) = (memory(), [0, 0, 1, 1].map(DomainId));
    let config = config(&memory, &cpus);
    let mut metadata = Vec::new();
    metadata.resize(Frames::layout(&config).unwrap().size() + 127, MaybeUninit::uninit());
    // SAFETY: each number has one handle at a time, which only one thread has.
    let cpu = |number: usize| unsafe { FixedCpu::new(CpuNumber(number as u32)) };
    let first = Frames::new(&config, metadata.leak(), cpu(0)).unwrap();
    let users = Users::default();
    let threads: Vec<_> = (0..CPUS)
        .map(|number| {
            let (frames, users) = (first.on(cpu(number)), users.clone());
            shuttle::thread::spawn(move || {
                let mut random = SmallRng::seed_from_u64(seed << 8 | number as u64);
                (0..STEPS / CPUS).for_each(|_| step(&frames, &users, &mut random));
                frames
            })
        })
        .collect();
    let frames: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let taken: u64 = users.lock().unwrap().values().sum();
    for frames in &frames {
        frames.drain_own();
    }
    frames[0].drain();
    let census = frames[0].census();
    assert_eq!((census.taken + census.huge, census.parked), (taken, 0));
    assert_eq!(frames[0].free(), census.free);
    for (first, count) in users.lock().unwrap().iter() {
        if *count == BLOCK_FRAMES {
            frames[1].put_huge(first.huge()).unwrap();
        } else {
            frames[1].put_range(*first, *count).unwrap();
        }
    }
    assert_eq!(frames[0].census().free, 5 * BLOCK_FRAMES);
}

fn run(scheduler: impl Scheduler + 'static) {
    let seed = core::sync::atomic::AtomicU64::new(1);
    let mut config = shuttle::Config::new();
    config.max_steps = shuttle::MaxSteps::FailAfter(10_000_000);
    // Relaxed: schedules run one after the other.
    shuttle::Runner::new(scheduler, config).run(move || mix(seed.fetch_add(1, core::sync::atomic::Ordering::Relaxed)));
}

#[test]
fn mixes_in_random_order() {
    run(RandomScheduler::new_from_seed(0x0f0a_3e55, SCHEDULES));
}

#[test]
fn mixes_with_few_interruptions() {
    run(PctScheduler::new_from_seed(0x0f0a_3e55, 3, SCHEDULES));
}
