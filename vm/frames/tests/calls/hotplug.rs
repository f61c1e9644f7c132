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
fn what_may_come_lies_apart_from_the_rest() {
    let layout = |offline| Frames::layout(&Machine { offline, ..machine() }.config()).map(|_| ());
    assert_eq!(layout(vec![area(2048, 512, 9)]), Ok(()));
    assert_eq!(layout(vec![area(2049, 7, 0)]), Ok(()));
    assert_eq!(layout(vec![area(512, 512, 0)]), Err(ConfigError::Overlap(1)));
    assert_eq!(layout(vec![area(2048, 0, 0)]), Err(ConfigError::NoMemory));
}

/// Memory of a block, pieces of it that come later, a block that comes in three pieces, and one of
/// which a part comes.
fn machine_of_pieces() -> Machine {
    let offline = vec![area(700, 100, 1), area(1024, 512, 1), area(1600, 1000, 1)];
    Machine { memory: vec![area(0, 700, 0)], offline, cpus: [0, 1].map(DomainId).to_vec(), ..Machine::flat(0, 1, 1) }
}

#[test]
fn memory_comes_in_pieces() {
    boot!(frames, machine_of_pieces());
    let add = |first, count| frames[0].put_online_range(FrameNumber(first), count);
    let figures = || (frames[0].free(), frames[0].free_in(DomainId(1)), frames[0].census().whole_blocks);
    assert_eq!((figures(), add(700, 60)), ((700, 0, 1), Ok(())));
    assert_eq!((figures(), add(760, 1)), ((760, 0, 1), Ok(())));
    for (first, count) in [(1030, 500), (1024, 6)] {
        assert_eq!(add(first, count), Ok(()));
    }
    assert_eq!((figures(), add(1530, 6)), ((1267, 506, 1), Ok(())));
    assert_eq!(figures(), (1273, 512, 2), "the block is whole");
    let huge: Vec<_> = std::iter::from_fn(|| frames[1].get_huge().ok()).collect();
    assert_eq!(huge, [HugeFrame(2), HugeFrame(0)]);
    huge.into_iter().for_each(|huge| frames[1].put_huge(huge).unwrap());
    // Parts of two units, and all of one between them.
    assert_eq!((add(1600, 1000), figures()), (Ok(()), (2273, 1512, 3)));
    let census = frames[0].census();
    // Mistakes: present, beyond memory, in a unit that was not named.
    let mistakes = [(0, 512), (1024, 512), (690, 70), (1 << 20, 3), (3072, 512)];
    let refused = mistakes.map(|(first, count)| add(first, count).map_err(|error| (error.refused, error.error)));
    let absent = [Err((3, PutError::OutOfRange)), Err((512, PutError::OutOfRange))];
    assert_eq!(refused[..2], [Err((512, PutError::AlreadyFree)), Err((512, PutError::AlreadyFree))]);
    assert_eq!(refused[2], Err((70, PutError::AlreadyFree)));
    assert_eq!(refused[3..], absent);
    assert_eq!(frames[0].census(), census);
    let all: Vec<_> = std::iter::from_fn(|| frames[1].get().ok()).collect();
    assert_eq!((all.len(), frames[0].free()), (2273, 0));
    assert_eq!(add(1600, 2).map_err(|error| error.error), Err(PutError::WrongOrder));
    frames[0].put_batch(&all).unwrap();
    frames[1].drain_own();
    assert_eq!(figures(), (2273, 1512, 3));
}

#[test]
fn a_reservation_takes_what_is_there() {
    let memory = vec![area(0, 1024 + 300, 0), area(1400, 700, 0), area(4096, 1024, 0)];
    boot!(frames, Machine { memory, ..Machine::flat(0, 1, 2) });
    let reserve = |first, count| frames[0].reserve_range(FrameNumber(first), count);
    let all = 1324 + 700 + 1024;
    // From within a block over two holes into one that is taken as a whole.
    assert_eq!(reserve(500, 4608 - 500), Ok(all - 500 - 512));
    assert_eq!((frames[0].free(), frames[0].census().taken), (1012, all - 1012));
    assert_eq!(reserve(0, 501), Err(GetError::Exhausted));
    assert_eq!((frames[0].free(), frames[0].census().whole_blocks), (1012, 1), "nothing is taken");
    assert_eq!(reserve(2200, 1000), Ok(0), "a hole");
    assert_eq!(reserve(1 << 40, 1 << 20), Ok(0), "beyond memory");
    let frame = frames[1].get().unwrap();
    frames[1].put(frame).unwrap();
    let around = reserve(frame.0 / 512 * 512, 100);
    assert!(around.is_err() || around == Ok(100), "others' current magazines are out of reach: {around:?}");
    around.into_iter().for_each(|_| frames[0].put_range(FrameNumber(frame.0 / 512 * 512), 100).unwrap());
    // Reserved frames come back in any parts; the holes are refused.
    let holes = 76 + 1996;
    let back = frames[1].put_range(FrameNumber(500), 4608 - 500).unwrap_err();
    assert_eq!((back.refused, back.error), (holes, PutError::Absent));
    frames.iter().for_each(|frames| _ = frames.drain_own());
    assert_eq!((frames[0].free(), frames[0].census().whole_blocks), (all, 5));
}
