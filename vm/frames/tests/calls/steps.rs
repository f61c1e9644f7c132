//! Bounded steps: between two of them the caller is not pinned. The `try_` calls leave all other
//! CPUs' caches alone.

use crate::machine::{Machine, area, boot};
use faultline_frames::{
    Config, CpuNumber, CurrentCpu, DomainId, Event, FrameNumber, Frames, GetError, HUGE_FRAMES, Order, RangeRequest,
    RangeSearch, Urgency,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::cell::Cell;
use std::mem::MaybeUninit;

/// Counts how often a caller is pinned.
struct Pins<'a>(&'a Cell<u64>);

// SAFETY: one thread has the only handle.
unsafe impl CurrentCpu for Pins<'_> {
    type Pinned = CpuNumber;

    fn pin(&self) -> CpuNumber {
        self.0.set(self.0.get() + 1);
        CpuNumber(0)
    }
}

/// Memory without its odd blocks and without free frames: `blocks` blocks, with enough CPUs.
fn full(blocks: u64, cpus: usize, run: impl FnOnce(&Frames<'_, Pins<'_>>, &Cell<u64>)) {
    let machine = Machine::flat(0, blocks * HUGE_FRAMES, cpus);
    let mut metadata: Vec<MaybeUninit<u8>> = machine.metadata();
    let pins = Cell::new(0);
    let frames = Frames::new(&machine.config(), &mut metadata, Pins(&pins)).unwrap();
    while frames.try_get_huge(Urgency::Normal).is_ok() {}
    run(&frames, &pins);
}

/// A failing call is pinned once per step: the blocks it walks, divided by those of one step.
#[test]
fn a_call_that_finds_nothing_goes_in_steps() {
    let blocks = if cfg!(miri) { 300 } else { 5_000 };
    let cpus = 40;
    full(blocks, cpus, |frames, pins| {
        let took = |call: &dyn Fn() -> Option<GetError>| {
            let before = pins.get();
            (call(), pins.get() - before)
        };
        let scan = blocks.div_ceil(64) * 2;
        let drain = (cpus as u64).div_ceil(8);
        let (error, steps) = took(&|| frames.get().err());
        assert_eq!(error, Some(GetError::Exhausted));
        assert!(steps >= scan + drain, "{steps} steps for a scan of {blocks} blocks and a drain of {cpus} CPUs");
        let (error, steps) = took(&|| frames.get_huge().err());
        assert_eq!(error, Some(GetError::Exhausted));
        // Index: a word of a place for 128 blocks, three places; one step counts the failure. No
        // frame is cached, so no drain.
        assert!((scan..=scan + 3 + 5 * blocks / 4096 + 1).contains(&steps), "{steps}");
        let (error, steps) = took(&|| frames.get_range(&RangeRequest::of(2)).err());
        assert_eq!(error, Some(GetError::Exhausted));
        assert!(steps >= blocks / 1024 + drain, "{steps}");
        // Index: two words of a place for 128 blocks; each step reads 64.
        let (error, steps) = took(&|| frames.try_get(Urgency::Normal).err());
        assert_eq!(error, Some(GetError::NotAtHand));
        assert!(steps <= 3 + 5 * blocks / 4096, "{steps}");
        let (error, steps) = took(&|| frames.try_get_range(&RangeRequest::of(2), Urgency::Normal).err());
        assert_eq!((error, steps), (Some(GetError::NotAtHand), 1));
    });
}

/// A call on many frames is pinned once per batch of them.
#[test]
fn a_call_on_frames_goes_in_steps() {
    let (blocks, cpus) = (if cfg!(miri) { 4 } else { 200 }, 40);
    let machine = Machine::flat(0, blocks * HUGE_FRAMES, cpus);
    let mut metadata = machine.metadata();
    let pins = Cell::new(0);
    let frames = Frames::new(&machine.config(), &mut metadata, Pins(&pins)).unwrap();
    let took = |call: &dyn Fn() -> bool| {
        let before = pins.get();
        assert!(call());
        pins.get() - before
    };
    let single = frames.get().unwrap();
    let huge = frames.get_huge().unwrap();
    let calls: [&dyn Fn() -> bool; 9] = [
        &|| frames.split_huge(huge).is_ok(),
        &|| frames.join_huge(huge).is_ok(),
        &|| frames.put_offline(huge).is_ok(),
        &|| frames.put_online(huge).is_ok(),
        &|| frames.get_huge() == Ok(huge),
        &|| frames.put_huge(huge).is_ok(),
        &|| frames.put(single).is_ok(),
        &|| frames.drain_own() > 0,
        &|| frames.set_stock_most(CpuNumber(0), 1).is_ok() && frames.try_get_run(Order(8), Urgency::Normal).is_ok(),
    ];
    // The first three use no data of their CPU, so they need not be pinned.
    assert_eq!(calls.map(took), [0, 0, 0, 1, 1, 1, 1, 1, 1]);
    let got: Vec<FrameNumber> = (0..150).map(|_| frames.get().unwrap()).collect();
    assert_eq!(took(&|| frames.put_batch(&got).is_ok()), 3, "64 frames each");
    let range = RangeRequest { alignment: HUGE_FRAMES, ..RangeRequest::of((blocks - 3) * HUGE_FRAMES) };
    let first = frames.get_range(&range).unwrap();
    assert_eq!(took(&|| frames.put_range(first, range.frames).is_ok()), (blocks - 3).div_ceil(64), "64 blocks each");
    // 8 CPUs per step, a last step that finds no more, and for a drain one for its own magazine.
    assert_eq!([took(&|| frames.age() == 0), took(&|| frames.drain() > 0)], [6, 7]);
}

/// A long range is claimed in steps, and freed again if one of its frames is taken.
#[test]
#[cfg_attr(miri, ignore = "many frames")]
fn a_long_range_goes_in_steps() {
    let machine = Machine::flat(0, 300 * HUGE_FRAMES, 1);
    let mut metadata = machine.metadata();
    let pins = Cell::new(0);
    let frames = Frames::new(&machine.config(), &mut metadata, Pins(&pins)).unwrap();
    let low = frames.get().unwrap();
    frames.drain_own();
    assert!(low.0 < HUGE_FRAMES);
    let before = pins.get();
    let first = frames.try_get_range(&RangeRequest::of(200 * HUGE_FRAMES), Urgency::Normal);
    assert_eq!(first, Err(GetError::NotAtHand), "the lowest place may fit, but for the frame that was got");
    assert_eq!(pins.get() - before, 1 + 4, "the search, and checks of 64 blocks each, from the end");
    assert_eq!(frames.census().whole_blocks, 299, "nothing was broken");
    let before = pins.get();
    let first = frames.get_range(&RangeRequest::of(200 * HUGE_FRAMES)).unwrap();
    assert_eq!(first.0, low.0 + 1);
    assert_eq!(frames.census().taken, 200 * HUGE_FRAMES + 1);
    // As above, then a second search, the checks, the steps that park and take, and one that
    // counts.
    assert_eq!(pins.get() - before, 1 + 4 + 1 + 3 * 4 + 1);
    frames.put_range(first, 200 * HUGE_FRAMES).unwrap();
    frames.put(low).unwrap();
    frames.drain_own();
    assert_eq!(frames.census().whole_blocks, 300);
}

/// Every second frame is taken: no range of two. A search reads about 50 blocks in each step, not
/// each place by itself.
#[test]
fn a_range_search_continues_where_it_was() {
    let blocks = if cfg!(miri) { 3 } else { 300 };
    boot!([frames], Machine::flat(0, blocks * HUGE_FRAMES, 1));
    let got: Vec<FrameNumber> = std::iter::from_fn(|| frames.get().ok()).collect();
    let last = got.iter().max().copied().unwrap();
    let odd: Vec<FrameNumber> = got.into_iter().filter(|frame| frame.0 % 2 == 1 && *frame != last).collect();
    frames.put_batch(&odd).unwrap();
    let mut search = RangeSearch::new(&RangeRequest::of(2)).unwrap();
    let mut steps = 0;
    let error = loop {
        steps += 1;
        match frames.continue_range(&mut search, Urgency::Normal) {
            Ok(None) => {}
            Ok(Some(found)) => panic!("{found:?}"),
            Err(error) => break error,
        }
    };
    assert_eq!(error, GetError::NotAtHand);
    // A step reads at most 1,024 words. One pass reads each of a block's 16 words once, and a few
    // again where a place may go on in the next block.
    assert!(steps >= blocks * 16 / 1024, "{steps} steps");
    assert!(steps <= blocks * 24 / 1024 + 1, "{steps} steps");
    // It finds frames that are freed behind its current place.
    let mut search = RangeSearch::new(&RangeRequest::of(2)).unwrap();
    assert_eq!(frames.continue_range(&mut search, Urgency::Normal), Ok(None));
    frames.put(last).unwrap();
    frames.put(FrameNumber(last.0 - 1)).unwrap();
    frames.drain_own();
    let found = loop {
        if let Some(found) = frames.continue_range(&mut search, Urgency::Normal).unwrap() {
            break found;
        }
    };
    assert!(found.0 + 1 >= last.0 - 1, "{found:?}");
}

/// The lowest place at which enough frames are free, in blocks with random free frames.
#[test]
fn a_short_range_is_found_wherever_there_is_one() {
    let end = 3 * HUGE_FRAMES;
    let mut random = SmallRng::seed_from_u64(3);
    for round in 0..if cfg!(miri) { 3 } else { 200 } {
        boot!([frames], Machine::flat(0, end, 1));
        let all: Vec<FrameNumber> = std::iter::from_fn(|| frames.get().ok()).collect();
        let density = 0.2 + 0.6 * f64::from(round % 20) / 20.0;
        let mut is_free: Vec<bool> = (0..end).map(|_| random.random_bool(density)).collect();
        // So that no block is whole.
        (0..3).for_each(|block| is_free[block * 512 + 300] = false);
        let free: Vec<FrameNumber> = all.into_iter().filter(|frame| is_free[frame.0 as usize]).collect();
        frames.put_batch(&free).unwrap();
        for _ in 0..40 {
            let (length, alignment) = (random.random_range(1..=40), 1 << random.random_range(0..4));
            let boundary = [0, 64, 1024][random.random_range(0..3)];
            let low = random.random_range(0..end);
            let request = RangeRequest { low: FrameNumber(low), alignment, boundary, ..RangeRequest::of(length) };
            let expected = (low..=end.saturating_sub(length)).find(|first| {
                first % alignment == 0
                    && (boundary == 0 || first / boundary == (first + length - 1) / boundary)
                    && (*first..first + length).all(|frame| is_free[frame as usize])
            });
            assert_eq!(frames.get_range(&request).ok().map(|first| first.0), expected, "{request:?}");
            if let Some(first) = expected {
                is_free[first as usize..(first + length) as usize].fill(false);
            }
        }
    }
}

/// A get of a huge frame drains caches only if that may complete one.
#[test]
fn a_huge_get_that_cannot_succeed_leaves_caches_alone() {
    boot!(frames, Machine::flat(0, 3 * HUGE_FRAMES, 2));
    let got: Vec<FrameNumber> = (0..300).map(|_| frames[0].get().unwrap()).collect();
    let (kept, put) = got.split_at(100);
    put.iter().for_each(|frame| frames[0].put(*frame).unwrap());
    let held = || frames[0].counters_of(CpuNumber(0)).unwrap().held;
    let before = held();
    assert!(before > 32);
    assert!((0..2).all(|_| frames[1].get_huge().is_ok()));
    assert_eq!(frames[1].get_huge(), Err(GetError::Exhausted));
    assert_eq!(held(), before, "frames of the third block are taken");
    kept.iter().for_each(|frame| frames[0].put(*frame).unwrap());
    assert!(held() > 32);
    assert_eq!(frames[1].get_huge(), Err(GetError::Exhausted));
    assert!(held() <= 32, "they are only cached: a drain is worth it, but a magazine stays");
    frames[0].drain_own();
    assert!(frames[1].get_huge().is_ok());
}

/// A `try_` get leaves other CPUs' caches alone, and its error gives the reason.
#[test]
fn what_is_at_hand_is_all_that_is_touched() {
    boot!(frames, Machine::flat(0, 4 * HUGE_FRAMES, 2));
    let got: Vec<FrameNumber> = (0..400).map(|_| frames[0].get().unwrap()).collect();
    got.iter().for_each(|frame| frames[0].put(*frame).unwrap());
    let held = |cpu: u32| frames[0].counters_of(CpuNumber(cpu)).unwrap().held;
    let drains = || (0..2).map(|cpu| frames[0].counters_of(CpuNumber(cpu)).unwrap().of(Event::Drain)).sum::<u64>();
    let (before, blocks, drained) = (held(0), frames[0].census().whole_blocks, drains());
    assert!(before > 32);
    let huge = std::iter::from_fn(|| frames[1].try_get_huge(Urgency::Normal).ok()).count() as u64;
    assert!(huge >= blocks - 1, "all but the block that CPU 0 has reserved");
    while frames[1].try_get(Urgency::Normal).is_ok() {}
    assert_eq!(frames[1].try_get(Urgency::Normal), Err(GetError::NotAtHand));
    assert_eq!(frames[1].try_get_huge(Urgency::Normal), Err(GetError::NotAtHand));
    assert_eq!((held(0), drains()), (before, drained));
    assert!(frames[1].get().is_ok(), "the other call looks there");
    assert!(held(0) < before);
}

#[test]
fn a_watermark_is_distinguished_from_a_lack_of_frames() {
    boot!([frames], Machine::flat(0, 4 * HUGE_FRAMES, 1).with_marks(600, 600));
    while frames.try_get(Urgency::Normal).is_ok() {}
    assert_eq!(frames.try_get(Urgency::Normal), Err(GetError::AtMinimum));
    assert_eq!(frames.try_get_huge(Urgency::Normal), Err(GetError::AtMinimum));
    assert_eq!(frames.try_get_range(&RangeRequest::of(9), Urgency::Normal), Err(GetError::AtMinimum));
    assert!(frames.try_get_huge(Urgency::Reserve).is_ok());
    assert!(frames.try_get_range(&RangeRequest::of(9), Urgency::Reserve).is_ok());
    while frames.try_get(Urgency::Reserve).is_ok() {}
    assert_eq!(frames.free(), 0);
}

/// A batch of gets ends where `try_get` fails.
#[test]
fn a_batch_is_as_large_as_it_can_be() {
    boot!([frames], Machine { memory: vec![area(0, 100, 0)], ..Machine::flat(0, 1, 1) });
    let mut batch = [FrameNumber(0); 80];
    assert_eq!(frames.get_batch(Urgency::Normal, &mut batch), Ok(80));
    assert_eq!(frames.get_batch(Urgency::Normal, &mut batch), Ok(20));
    assert_eq!(frames.get_batch(Urgency::Normal, &mut batch), Err(GetError::NotAtHand));
    assert_eq!(frames.get_batch(Urgency::Normal, &mut []), Ok(0));
}

#[test]
fn a_split_huge_frame_is_512_frames_and_joins_again() {
    boot!([frames], Machine::flat(0, 2 * HUGE_FRAMES, 1));
    let huge = frames.get_huge().unwrap();
    frames.split_huge(huge).unwrap();
    assert_eq!(frames.census().taken, HUGE_FRAMES);
    frames.put(FrameNumber(huge.first().0 + 9)).unwrap();
    assert!(frames.join_huge(huge).is_err());
    assert_eq!(frames.census().taken, HUGE_FRAMES - 1);
    let again = frames.get_range(&RangeRequest { low: huge.first(), ..RangeRequest::of(1) }).unwrap();
    assert_eq!(again.0, huge.first().0 + 9);
    frames.join_huge(huge).unwrap();
    assert_eq!(frames.census().huge, HUGE_FRAMES);
    frames.put_huge(huge).unwrap();
    assert_eq!(frames.census().whole_blocks, 2);
}

/// Setting up 128 GiB writes its blocks' words, 256 KiB, and besides them only the index grows with
/// memory.
#[test]
#[cfg_attr(miri, ignore = "much memory")]
fn set_up_writes_no_state_words() {
    let memory = [area(0, 1 << 25, 0)];
    let config = Config::new(&memory, &[DomainId(0); 64]);
    let mut metadata = vec![MaybeUninit::new(0xa5_u8); Frames::layout(&config).unwrap().size() + 127];
    assert_eq!(Frames::new(&config, &mut metadata, ()).unwrap().free_in(DomainId(0)), 1 << 25);
    // SAFETY: all bytes were initialised, and numbers were written to them.
    let written = metadata.iter().filter(|byte| unsafe { byte.assume_init() } != 0xa5).count();
    assert!((256 << 10..512 << 10).contains(&written), "{written} bytes");
}
