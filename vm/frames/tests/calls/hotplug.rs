//! Memory that comes and goes at run time.

use crate::machine::{Machine, area, boot};
use faultline_frames::{
    ConfigError, CpuNumber, DomainId, Event, FrameNumber, Frames, GetError, HUGE_FRAMES, HugeFrame, PutError,
    RangeRequest, Urgency,
};

/// Two present blocks, and four that may come, far away and in another domain.
fn machine() -> Machine {
    let offline = vec![area(1 << 30, 4 * HUGE_FRAMES, 1)];
    Machine { memory: vec![area(0, 1024, 0)], offline, cpus: [0, 1].map(DomainId).to_vec(), ..Machine::flat(0, 1, 1) }
}

fn later(block: u64) -> HugeFrame {
    HugeFrame((1 << 30) / HUGE_FRAMES + block)
}

#[test]
fn memory_comes_and_goes() {
    boot!(frames, machine());
    assert_eq!((frames[0].free(), frames[0].free_in(DomainId(1)), frames[0].census().whole_blocks), (1024, 0, 2));
    assert_eq!(frames[1].get_in(DomainId(1), Urgency::Reserve), Err(GetError::NotAtHand));
    for block in [2, 0, 1] {
        assert_eq!(frames[0].put_online(later(block)), Ok(()));
    }
    assert_eq!((frames[0].free(), frames[0].free_in(DomainId(1)), frames[0].census().whole_blocks), (2560, 1536, 5));
    // CPU 1's share of its domain is four blocks, of which the last is not present yet.
    let got: Vec<FrameNumber> = (0..3 * HUGE_FRAMES).map(|_| frames[1].get().unwrap()).collect();
    assert!(got.iter().all(|frame| frame.0 >= 1 << 30), "the own domain comes first");
    assert!(frames[1].get().unwrap().0 < 1024);
    assert_eq!(frames[1].counters().of(Event::Scan), 0);
    frames[1].put_batch(&got).unwrap();
    frames[1].drain_own();
    // Out again: a block whose words have been made.
    let place = later(1).first();
    let bounds = RangeRequest { low: place, high: FrameNumber(place.0 + 512), ..RangeRequest::of(512) };
    assert_eq!(frames[0].get_range(&bounds), Ok(place));
    assert_eq!(frames[0].put_offline(later(1)), Err(PutError::WrongOrder));
    frames[0].join_huge(later(1)).unwrap();
    assert_eq!(frames[0].put_offline(later(1)), Ok(()));
    assert_eq!(frames[0].free_in(DomainId(1)), 1024);
    assert_eq!(frames[0].get_range(&bounds), Err(GetError::Exhausted));
    while frames[0].get().is_ok() {}
    while frames[1].get().is_ok() {}
    assert_eq!(frames[0].census().taken, 1024 + 1024);
    assert_eq!(frames[1].put_online(later(1)), Ok(()));
    let again: Vec<FrameNumber> = std::iter::from_fn(|| frames[1].get().ok()).collect();
    assert!(again.len() == 512 && again.iter().all(|frame| frame.huge() == later(1)));
}

/// Free in the range layer, and in a cache.
#[test]
fn a_bad_frame_that_is_free_is_taken_out() {
    boot!(frames, Machine::flat(0, 1024, 2));
    let only = |frame: FrameNumber| RangeRequest { low: frame, high: FrameNumber(frame.0 + 1), ..RangeRequest::of(1) };
    let far = FrameNumber(700);
    assert_eq!(frames[0].get_range(&only(far)), Ok(far));
    let cached = frames[0].get().unwrap();
    frames[0].put(cached).unwrap();
    assert_eq!(frames[0].get_range(&only(cached)), Ok(cached));
    let rest: Vec<FrameNumber> = std::iter::from_fn(|| frames[1].get().ok()).collect();
    assert_eq!(rest.len(), 1024 - 2 - frames[0].counters_of(CpuNumber(0)).unwrap().held as usize);
    assert!(!rest.contains(&far) && !rest.contains(&cached));
}

#[test]
fn mistakes_are_errors() {
    boot!(frames, machine());
    let offline = later(3);
    let before = frames[0].census();
    assert_eq!(frames[0].put(offline.first()), Err(PutError::Absent));
    assert_eq!(frames[0].put_huge(offline), Err(PutError::Absent));
    assert_eq!([frames[0].put_offline(offline), frames[0].split_huge(offline)], [Err(PutError::Absent); 2]);
    assert!(frames[0].join_huge(offline).is_err());
    assert_eq!(frames[0].put_online(HugeFrame(0)), Err(PutError::AlreadyFree));
    assert_eq!(frames[0].put_offline(HugeFrame(0)), Err(PutError::AlreadyFree));
    assert_eq!(frames[0].put_online(HugeFrame(1 << 20)), Err(PutError::OutOfRange));
    assert_eq!(frames[0].census(), before);
    assert_eq!(frames[0].put_online(offline), Ok(()));
    assert_eq!(frames[0].put_online(offline), Err(PutError::AlreadyFree));
    let huge = std::iter::from_fn(|| frames[0].get_huge().ok()).last().unwrap();
    assert_eq!(huge, offline, "the other domain's comes last");
    assert_eq!(frames[0].put_online(offline), Err(PutError::WrongOrder));
    frames[0].put_offline(offline).unwrap();
    assert_eq!(frames[1].put_offline(offline), Err(PutError::Absent));
    assert_eq!(frames[1].put(offline.first()), Err(PutError::Absent));
    assert_eq!(frames[1].put_huge(offline), Err(PutError::Absent));
    assert_eq!(frames[0].census().absent, before.absent);
}

#[test]
fn what_may_come_is_whole_units_apart_from_the_rest() {
    let layout = |offline| Frames::layout(&Machine { offline, ..machine() }.config()).map(|_| ());
    assert_eq!(layout(vec![area(2048, 512, 9)]), Ok(()));
    assert_eq!(layout(vec![area(2048, 513, 0)]), Err(ConfigError::Unaligned));
    assert_eq!(layout(vec![area(2049, 512, 0)]), Err(ConfigError::Unaligned));
    assert_eq!(layout(vec![area(512, 512, 0)]), Err(ConfigError::Overlap(1)));
    assert_eq!(layout(vec![area(2048, 0, 0)]), Err(ConfigError::NoMemory));
}
