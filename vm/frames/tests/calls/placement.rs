//! Placement: shares, domains, huge frames kept whole; and the detection of mistakes.

use crate::machine::{Machine, area, boot};
use faultline_frames::{
    BatchError, Config, ConfigError, CpuNumber, DomainId, Event, FixedCpu, FrameNumber, Frames, GetError, HUGE_FRAMES,
    HugeFrame, MemoryArea, Order, PutError, RangeRequest, Urgency, Watermarks,
};
use std::mem::MaybeUninit;

#[test]
fn local_comes_before_remote() {
    boot!(
        frames,
        Machine {
            memory: vec![area(0, 4096, 0), area(8192, 4096, 1)],
            cpus: [0, 0, 1, 1].map(DomainId).to_vec(),
            ..Machine::flat(0, 1, 1)
        }
    );
    let shares = [0..2048, 2048..4096, 8192..10240, 10240..12288];
    for (cpu, share) in shares.iter().enumerate() {
        let got: Vec<FrameNumber> = (0..2000).map(|_| frames[cpu].get().unwrap()).collect();
        assert!(got.iter().all(|frame| share.contains(&frame.0)), "CPU {cpu} keeps to its share");
        frames[cpu].put_batch(&got).unwrap();
    }
    let got: Vec<FrameNumber> = (0..4096 + 100).map_while(|_| frames[3].get().ok()).collect();
    // CPU 2 has a magazine and a reserved block. Other CPUs spare these frames while there are
    // others.
    assert!(got[..4096 - 32 - 512].iter().all(|frame| frame.0 >= 8192));
    assert!(got.last().unwrap().0 < 4096, "then from the other domain");
    assert!(frames[3].counters_of(CpuNumber(3)).unwrap().of(Event::RemoteFrame) > 0);
}

/// A CPU tries the huge frame that it has put last, but only after its own domain's.
#[test]
fn a_local_huge_frame_comes_before_a_remote_one_that_was_just_put() {
    let memory = vec![area(0, 2 * HUGE_FRAMES, 0), area(2 * HUGE_FRAMES, 2 * HUGE_FRAMES, 1)];
    boot!(frames, Machine { memory, cpus: [0, 1].map(DomainId).to_vec(), ..Machine::flat(0, 1, 1) });
    let (local, remote) = (frames[0].get_huge().unwrap(), frames[1].get_huge().unwrap());
    assert_eq!((local, remote), (HugeFrame(1), HugeFrame(3)));
    frames[0].put_huge(local).unwrap();
    frames[0].put_huge(remote).unwrap();
    let got: Vec<HugeFrame> = std::iter::from_fn(|| frames[0].get_huge().ok()).collect();
    assert_eq!(got, [1, 0, 3, 2].map(HugeFrame));
}

#[test]
fn huge_frames_are_kept_whole_where_others_are_broken() {
    boot!(frames, Machine::flat(0, 16 * HUGE_FRAMES, 2));
    let got: Vec<FrameNumber> = (0..900).map(|_| frames[0].get().unwrap()).collect();
    assert_eq!(frames[0].census().whole_blocks, 14);
    let range = frames[1].get_range(&RangeRequest::of(24)).unwrap();
    assert!(range.0 < 1024, "from a block that is broken: {range:?}");
    let huge: Vec<HugeFrame> = std::iter::from_fn(|| frames[1].get_huge().ok()).collect();
    assert_eq!(huge.len(), 14);
    frames[0].put_batch(&got).unwrap();
    frames[0].put_range(range, 24).unwrap();
    frames[0].drain_own();
    assert_eq!(frames[1].get_huge().map(|frame| frame.0 < 2), Ok(true), "what came back is whole again");
}

/// A CPU fills the fullest block of its share, but fills other shares' blocks before one of its own
/// that is nearly empty.
#[test]
fn whole_blocks_are_broken_when_no_other_has_free_frames() {
    boot!(frames, Machine::flat(0, 8 * HUGE_FRAMES, 2));
    let block = |frame: FrameNumber| frame.0 / HUGE_FRAMES;
    let got: Vec<FrameNumber> = (0..300).map(|_| frames[1].get().unwrap()).collect();
    frames[1].drain_own();
    assert!(got.iter().all(|frame| block(*frame) == 4), "in the share of CPU 1");
    assert!((0..212).all(|_| block(frames[0].get().unwrap()) == 4));
    assert_eq!(frames[0].census().whole_blocks, 7);
    let own: Vec<FrameNumber> = (0..412).map(|_| frames[0].get().unwrap()).collect();
    assert!(own.iter().all(|frame| block(*frame) == 0), "then in the share of CPU 0");
    frames[0].drain_own();
    frames[0].put_batch(&got[..50]).unwrap();
    assert_eq!([0, 1].map(|cpu| block(frames[cpu].get().unwrap())), [0, 4], "100 frames are free in 0, and 50 in 4");
    frames.iter().for_each(|cpu| assert!(cpu.drain_own() > 0));
    frames[0].put_batch(&own).unwrap();
    assert_eq!(
        [0, 1].map(|cpu| block(frames[cpu].get().unwrap())),
        [4, 0],
        "511 are free in 0, and 4 is reserved then"
    );
}

#[test]
fn a_huge_frame_can_be_had_though_caches_hold_parts_of_it() {
    boot!(frames, Machine::flat(0, HUGE_FRAMES, 2));
    let got: Vec<FrameNumber> = (0..100).map(|_| frames[0].get().unwrap()).collect();
    got.iter().for_each(|frame| frames[0].put(*frame).unwrap());
    assert_eq!(frames[0].get_huge(), Ok(HugeFrame(0)));
    assert_eq!(frames[1].get(), Err(GetError::Exhausted));
}

#[test]
fn mistakes_are_errors_and_change_nothing() {
    let machine = Machine { memory: vec![area(512, 1024, 0), area(2048, 100, 0)], ..Machine::flat(0, 1, 2) };
    boot!(frames, &machine);
    let (one, huge) = (frames[0].get().unwrap(), frames[1].get_huge().unwrap());
    let before = frames[0].census();
    let put = |number| frames[1].put(FrameNumber(number)).unwrap_err();
    assert_eq!([0, 511, u64::MAX].map(put), [PutError::OutOfRange; 3]);
    assert_eq!([1536, 2047, 2148].map(put), [PutError::Absent; 3]);
    assert_eq!([2147, one.0 + 1].map(put), [PutError::AlreadyFree; 2]);
    assert_eq!([huge.first().0, huge.first().0 + 511].map(put), [PutError::WrongOrder; 2]);
    let put_huge = |number| frames[0].put_huge(FrameNumber(number).huge()).unwrap_err();
    assert_eq!(put_huge(one.0), PutError::WrongOrder);
    assert_eq!([1536, 1 << 40].map(put_huge), [PutError::Absent, PutError::OutOfRange]);
    assert_eq!(frames[0].census(), before);
    assert_eq!(frames[0].put(one), Ok(()));
    assert_eq!([0, 1].map(|cpu| frames[cpu].put(one)), [Err(PutError::AlreadyFree); 2]);
    assert_eq!(frames[0].put_huge(huge), Ok(()));
    assert_eq!(frames[1].put_huge(huge), Err(PutError::AlreadyFree));
    let error = BatchError { refused: 1024, frame: FrameNumber(512), error: PutError::AlreadyFree };
    assert_eq!(frames[0].put_range(FrameNumber(512), 1024), Err(error));
    let counted = frames[0].counters().of(Event::Refused);
    assert_eq!(counted, 10 + 3 + 2 + 1 + 1024);
    assert_eq!(frames[0].free(), machine.frames());
}

#[test]
fn a_cpu_that_is_not_there_gets_nothing() {
    boot!(frames, Machine::flat(0, 512, 1));
    // SAFETY: the only handle with number 1.
    let other = frames[0].on(unsafe { FixedCpu::new(CpuNumber(1)) });
    assert_eq!(other.get(), Err(GetError::NoSuchCpu));
    assert_eq!(other.put(FrameNumber(0)), Err(PutError::NoSuchCpu));
    assert_eq!((other.drain(), other.age()), (0, 0));
    assert_eq!(frames[0].free(), 512);
}

#[test]
fn configurations_that_can_not_be() {
    let layout = |memory: &[MemoryArea], cpus: &[DomainId], marks: &[Watermarks]| {
        Frames::layout(&Config::new(memory, cpus).with_marks(marks))
    };
    let one = [DomainId(0)];
    assert_eq!(layout(&[], &one, &[]), Err(ConfigError::NoMemory));
    assert_eq!(layout(&[area(7, 0, 0)], &one, &[]), Err(ConfigError::NoMemory));
    assert_eq!(layout(&[area(0, 9, 0), area(20, 4, 0), area(8, 1, 0)], &one, &[]), Err(ConfigError::Overlap(2)));
    assert_eq!(layout(&[area(0, 1 << 32, 0)], &one, &[]), Err(ConfigError::TooMuchMemory));
    assert_eq!(layout(&[area(0, 1 << 31, 0), area(1 << 40, 1 << 31, 0)], &one, &[]), Err(ConfigError::TooMuchMemory));
    assert!(layout(&[area(0, 1 << 31, 0), area(1 << 40, 1 << 30, 0)], &one, &[]).is_ok());
    assert_eq!(layout(&[area(u64::MAX, 2, 0)], &one, &[]), Err(ConfigError::NoAddress));
    assert_eq!(layout(&[area((1 << 52) - 1, 2, 0)], &one, &[]), Err(ConfigError::NoAddress));
    assert!(layout(&[area((1 << 52) - 1, 1, 0)], &one, &[]).is_ok(), "the last frame there is");
    assert_eq!(layout(&[area(0, 1, 0)], &[], &[]), Err(ConfigError::Cpus));
    assert_eq!(layout(&[area(0, 1, 32)], &one, &[]), Err(ConfigError::Domains));
    assert_eq!(
        layout(&[area(0, 1, 0)], &one, &[Watermarks::default(), Watermarks { low: 1, min: 2 }]),
        Err(ConfigError::Marks)
    );
    let distances = [10, 20, 20, 10];
    let distant =
        |distances| Frames::layout(&Config::new(&[area(0, 1, 1)], &one).with_distances(distances)).map(|_| ());
    assert_eq!(distant(&distances[..3]), Err(ConfigError::Distances));
    assert_eq!([distant(&distances), distant(&[])], [Ok(()); 2]);
    let memory = [area(0, 1, 0)];
    let config = Config::new(&memory, &one);
    let mut metadata = vec![MaybeUninit::uninit(); Frames::layout(&config).unwrap().size() - 1];
    // SAFETY: the only handle.
    let frames = Frames::new(&config, &mut metadata, unsafe { FixedCpu::new(CpuNumber(0)) });
    assert_eq!(frames.err(), Some(ConfigError::MetadataTooSmall));
}

#[test]
fn metadata_of_a_terabyte_are_small() {
    let terabyte = [area(0, 1 << 28, 0)];
    let config = Config::new(&terabyte, &[DomainId(0); 128]);
    let share = Frames::layout(&config).unwrap().size() as f64 / (1_u64 << 40) as f64;
    assert!(share < 7e-5, "{share}");
}

#[test]
fn a_named_domain_is_the_only_one() {
    let memory = vec![area(100, 700, 0), area(1024, 600, 1)];
    let machine = Machine { memory, ..Machine::flat(0, 1, 2) };
    boot!(frames, &machine);
    let got: Vec<FrameNumber> = std::iter::from_fn(|| frames[0].get_in(DomainId(1), Urgency::Normal).ok()).collect();
    assert_eq!(got.len(), 600);
    assert!(got.iter().all(|frame| (1024..1624).contains(&frame.0)));
    assert_eq!(frames[0].get_in(DomainId(1), Urgency::Normal), Err(GetError::NotAtHand));
    assert_eq!(frames[0].get_in(DomainId(7), Urgency::Normal), Err(GetError::NotAtHand));
    assert_eq!((frames[0].free_in(DomainId(0)), frames[0].free_in(DomainId(1))), (700, 0));
    got.iter().for_each(|frame| frames[1].put(*frame).unwrap());
    assert_eq!(frames[0].free(), machine.frames());
}

#[test]
fn each_frame_has_an_index() {
    boot!([frames], Machine::flat(700, 1000, 1));
    assert_eq!((frames.index_of(FrameNumber(512)), frames.index_of(FrameNumber(511))), (Some(0), None));
    assert_eq!(frames.index_of(frames.frame_at(700).unwrap()), Some(700));
    assert_eq!((frames.index_count(), frames.frame_at(frames.index_count())), (3 * 512, None));
}

/// Four domains of a block each; a CPU of domain 0, which lacks memory, takes the nearest frames.
#[test]
fn other_domains_follow_by_distance() {
    let memory = (0..4).map(|domain| area(u64::from(domain) * HUGE_FRAMES, HUGE_FRAMES, domain)).collect();
    let distances = vec![10, 255, 20, 16, 255, 10, 16, 20, 20, 16, 10, 255, 16, 20, 255, 10];
    boot!([frames], Machine { memory, distances, ..Machine::flat(0, 1, 1) });
    let order: Vec<u64> = (0..4 * HUGE_FRAMES).map(|_| frames.get().unwrap().0 / HUGE_FRAMES).collect();
    let nearest = [0, 3, 2, 1].map(|domain| [domain; HUGE_FRAMES as usize]).concat();
    assert_eq!(order, nearest, "single frames");
    frames.put_range(FrameNumber(0), 4 * HUGE_FRAMES).unwrap();
    frames.drain_own();
    let huge: Vec<u64> = std::iter::from_fn(|| frames.get_huge().ok()).map(|frame| frame.0).collect();
    assert_eq!(huge, [0, 3, 2, 1], "huge frames");
    assert!(frames.nearest(DomainId(0)).eq([3, 2, 1].map(DomainId)));
    assert!(frames.nearest(DomainId(9)).next().is_none());
}

/// Memory below an address limit can be a domain of its own, farther than all others: it is used
/// last.
#[test]
fn a_zone_is_the_last_that_is_taken() {
    let memory = vec![area(0, 1024, 2), area(1024, 1024, 0), area(2048, 1024, 1)];
    let distances = vec![10, 20, 255, 20, 10, 255, 20, 20, 10];
    let cpus = vec![DomainId(0), DomainId(1)];
    let marks = [0, 0, 600].map(|low| Watermarks { low, min: low / 2 }).to_vec();
    boot!(frames, Machine { memory, distances, cpus, marks, ..Machine::flat(0, 1, 1) });
    for frames in &frames {
        assert!((0..1024).all(|_| frames.get().unwrap().0 >= 1024));
    }
    let rest = std::iter::from_fn(|| frames[1].get().ok()).count();
    assert_eq!(rest, 1024 - 300, "of the zone, all above its min watermark");
    let zone: Vec<_> = std::iter::from_fn(|| frames[0].get_in(DomainId(2), Urgency::Reserve).ok()).collect();
    assert!(zone.len() == 300 && zone.iter().all(|frame| frame.0 < 1024));
}

/// Finds low frames without a walk, though most of memory lies above and all shares prefer it.
#[test]
fn a_limit_of_address_holds() {
    boot!(
        frames,
        Machine {
            memory: vec![area(100, 2000, 0), area(4096, 4096, 1)],
            cpus: [0, 1, 1].map(DomainId).to_vec(),
            ..Machine::flat(0, 1, 1)
        }
    );
    let below = |limit, cpu: usize| frames[cpu].get_below(FrameNumber(limit), Urgency::Normal);
    assert_eq!(below(511, 0), Err(GetError::NotAtHand), "the unit of the limit itself has none");
    let low: Vec<FrameNumber> = std::iter::from_fn(|| below(1024 + 300, 1).ok()).collect();
    assert_eq!(low.len(), 1024 - 100);
    assert!(low.iter().all(|frame| (100..1024).contains(&frame.0)));
    assert!(below(5000, 2).unwrap().0 >= 4096, "the own domain is preferred, if it lies low enough");
    assert_eq!(below(u64::MAX, 0).map(|frame| frame.0 < 2100), Ok(true));
    frames[1].put_batch(&low).unwrap();
    assert!(below(512, 1).is_ok());
}

/// Runs of all orders: aligned, apart from each other, and each frame of memory is in one.
#[test]
fn runs_fill_memory() {
    for order in (0..=8).map(Order) {
        let machine = Machine::flat(512, 4 * HUGE_FRAMES, 2);
        boot!(frames, &machine);
        let length = order.frames().unwrap();
        let mut runs: Vec<u64> =
            std::iter::from_fn(|| frames[0].try_get_run(order, Urgency::Normal).ok()).map(|first| first.0).collect();
        runs.sort_unstable();
        let all: Vec<u64> = (512..512 + 4 * HUGE_FRAMES).step_by(length as usize).collect();
        assert_eq!(runs, all, "{order}");
        assert_eq!(frames[1].get_run(order), Err(GetError::Exhausted));
        for first in runs {
            frames[1].put_range(FrameNumber(first), length).unwrap();
        }
        frames[0].drain_own();
        assert_eq!(frames[0].census().whole_blocks, 4);
        assert_eq!(frames[0].free(), machine.frames());
    }
}

/// A CPU that alternately gets and puts runs stays with its block; other blocks' runs and single
/// frames spare it.
#[test]
fn runs_come_from_one_block_as_long_as_it_has_some() {
    boot!([frames], Machine::flat(0, 8 * HUGE_FRAMES, 1));
    let single = frames.get().unwrap();
    let mut blocks = std::collections::BTreeSet::new();
    let rounds = if cfg!(miri) { 5 } else { 200 };
    for round in 0..rounds {
        let orders = [1, 3, 5, 6, 2, 7].map(Order);
        let got = orders.map(|order| (frames.get_run(order).unwrap(), order.frames().unwrap()));
        blocks.extend(got.map(|(first, _)| first.0 / HUGE_FRAMES));
        for (first, length) in got {
            frames.put_range(first, length).unwrap();
        }
        assert_eq!(frames.census().whole_blocks, 7, "round {round}: all but that of the single frame");
    }
    assert_eq!(blocks.len(), 1);
    assert!(!blocks.contains(&(single.0 / HUGE_FRAMES)));
    assert_eq!(frames.counters().of(Event::RunGet), rounds * 6);
    assert_eq!(frames.get_run(Order(9)), Err(GetError::BadRequest));
}

/// Of many partly free blocks the only one with a run is found, in steps.
#[test]
#[cfg_attr(miri, ignore = "much memory")]
fn a_rare_run_is_found() {
    let blocks = 200;
    boot!([frames], Machine::flat(0, blocks * HUGE_FRAMES, 1));
    let got: Vec<FrameNumber> = std::iter::from_fn(|| frames.get().ok()).collect();
    let hidden = (blocks - 1) * HUGE_FRAMES + 200;
    let back = |frame: &FrameNumber| frame.0.is_multiple_of(2) || frame.0 / 8 == hidden / 8;
    frames.put_batch(&got.into_iter().filter(back).collect::<Vec<_>>()).unwrap();
    assert_eq!(frames.try_get_run(Order(3), Urgency::Normal), Ok(FrameNumber(hidden)));
    assert_eq!(frames.try_get_run(Order(1), Urgency::Normal), Err(GetError::NotAtHand));
}

#[test]
fn runs_leave_a_domain_its_min() {
    boot!([frames], Machine::flat(0, 2 * HUGE_FRAMES, 1).with_marks(200, 200));
    let normal = std::iter::from_fn(|| frames.try_get_run(Order(4), Urgency::Normal).ok()).count();
    assert_eq!(normal, (1024 - 200) / 16);
    assert_eq!(frames.get_run(Order(4)), Err(GetError::AtMinimum));
    let urgent = std::iter::from_fn(|| frames.get_run_as(Order(3), Urgency::Reserve).ok()).count();
    assert_eq!(urgent, (1024 - normal * 16) / 8);
}

/// Two pieces of memory of one domain, 2 TiB apart, act as one except for ranges, without metadata
/// for the hole.
#[test]
fn memory_may_lie_far_apart() {
    let far = 1 << 29;
    let machine = Machine { memory: vec![area(100, 1436, 0), area(far + 7, 1017, 0)], ..Machine::flat(0, 1, 2) };
    assert!(Frames::layout(&machine.config()).unwrap().size() < 10_000);
    let mut metadata = machine.metadata();
    let frames = machine.boot(&mut metadata);
    let mut all: Vec<u64> = std::iter::from_fn(|| frames[0].get().ok()).map(|frame| frame.0).collect();
    all.sort_unstable();
    assert!(all.iter().copied().eq((100..1536).chain(far + 7..far + 1024)));
    let error = BatchError { refused: 3, frame: FrameNumber(1536), error: PutError::OutOfRange };
    assert_eq!(frames[1].put_range(FrameNumber(1530), 9), Err(error));
    let error = BatchError { refused: far + 7 - 1536, frame: FrameNumber(1536), error: PutError::OutOfRange };
    let refused = frames[1].put_range(FrameNumber(100), far + 1024 - 100).unwrap_err();
    assert_eq!(
        (refused.refused, refused.frame),
        (error.refused + 6, FrameNumber(1530)),
        "what was put before, and the hole"
    );
    frames[0].drain_own();
    assert_eq!(frames[0].free(), machine.frames());
    let range = |low, frames: u64| RangeRequest {
        low: FrameNumber(low),
        alignment: frames.next_power_of_two().min(512),
        ..RangeRequest::of(frames)
    };
    let first = frames[1].get_range(&range(0, 1024)).unwrap();
    assert_eq!(first, FrameNumber(512), "the only one of two blocks that lies within a span");
    assert_eq!(frames[1].get_range(&range(0, 520)), Err(GetError::Exhausted), "none goes on in the other span");
    assert_eq!(frames[1].get_range(&range(0, 500)), Ok(FrameNumber(far + 512)));
    assert_eq!(frames[1].get_range(&range(1 << 20, 256)), Ok(FrameNumber(far + 256)));
    assert_eq!(frames[1].get_huge(), Err(GetError::Exhausted));
    let index = frames[0].index_of(FrameNumber(far + 8)).unwrap();
    assert_eq!((index, frames[0].frame_at(index)), (1536 + 512 + 8, Some(FrameNumber(far + 8))));
    assert_eq!((frames[0].frame_at(1600), frames[0].index_count()), (None, 1536 + 512 + 1024));
    assert_eq!(frames[0].put(FrameNumber(1 << 20)), Err(PutError::OutOfRange));
}
