//! Watermarks, the hook, urgency, zeroed frames.

use crate::machine::{Machine, area, boot};
use faultline_frames::{
    ConfigError, DomainId, Event, FixedCpu, FrameNumber, Frames, GetError, HUGE_FRAMES, LowMemory, Policy,
    RangeRequest, Urgency, Watermarks,
};
use std::sync::Mutex;

/// Records its calls.
#[derive(Default)]
struct Calls(Mutex<Vec<(DomainId, u64)>>, Mutex<Vec<u64>>);

impl LowMemory for Calls {
    fn low(&self, domain: DomainId, free: u64) {
        self.0.lock().unwrap().push((domain, free));
    }

    fn enough(&self, _: DomainId, free: u64) {
        self.1.lock().unwrap().push(free);
    }
}

#[test]
fn the_hook_is_called_again_when_memory_falls_further_and_when_it_was_back() {
    let machine = Machine::flat(0, 4096, 1).with_marks(1000, 100);
    let mut metadata = machine.metadata();
    let calls = Calls::default();
    let mut handles = machine.boot(&mut metadata);
    let frames = handles.remove(0).with_hook(&calls);
    let mut got = Vec::new();
    while calls.0.lock().unwrap().is_empty() {
        assert!(frames.free_in(DomainId(0)) > 1000 - 250, "a quarter of the mark on account at most");
        got.push(frames.get().unwrap());
    }
    let first = calls.0.lock().unwrap().clone();
    assert_eq!(first.len(), 1);
    assert!(first[0].0 == DomainId(0) && first[0].1 < 1000 && first[0].1 > 1000 - 250);
    // An eighth of the mark, noticed late because of frames on account.
    let again = first[0].1 - 1000 / 8;
    while calls.0.lock().unwrap().len() == 1 {
        assert!(frames.free_in(DomainId(0)) > again - 250, "called again an eighth lower");
        got.push(frames.get().unwrap());
    }
    assert!(calls.0.lock().unwrap()[1].1 <= again, "not before");
    assert_eq!(calls.1.lock().unwrap().len(), 0);
    frames.put_batch(&got.split_off(got.len() - 1000)).unwrap();
    frames.drain();
    assert!(matches!(calls.1.lock().unwrap()[..], [free] if free >= 1000), "it is enough again, and that is said once");
    got.extend(std::iter::from_fn(|| (frames.free_in(DomainId(0)) >= 900).then(|| frames.get().unwrap())));
    assert_eq!(calls.0.lock().unwrap().len(), 3, "again once it was back");
}

/// New watermarks hold from the next call on. The hook is called when they make memory scarce, or
/// sufficient again.
#[test]
fn watermarks_change_at_run_time() {
    let machine = Machine::flat(0, 2048, 2);
    let mut metadata = machine.metadata();
    let calls = Calls::default();
    let mut handles = machine.boot(&mut metadata);
    let (other, frames) = (handles.remove(1).with_hook(&calls), handles.remove(0).with_hook(&calls));
    let set = |low, min| frames.set_marks(DomainId(0), Watermarks { low, min });
    let got: Vec<FrameNumber> = (0..1024).map(|_| other.get().unwrap()).collect();
    assert_eq!(set(1500, 1024), Ok(()));
    assert_eq!(*calls.0.lock().unwrap(), [(DomainId(0), 1024)], "less than the new low watermark is free");
    assert_eq!(other.get_huge(), Err(GetError::AtMinimum));
    assert_eq!(other.get(), Err(GetError::AtMinimum), "no frame is cached, and the others are reserved");
    assert_eq!(set(1500, 1501), Err(ConfigError::Marks));
    assert_eq!(frames.set_marks(DomainId(1), Watermarks::default()), Err(ConfigError::Domains));
    assert_eq!(frames.marks(DomainId(0)), Some(Watermarks { low: 1500, min: 1024 }), "a refusal changes nothing");
    assert_eq!(frames.marks(DomainId(1)), None);
    assert_eq!(set(1000, 512), Ok(()));
    assert_eq!(*calls.1.lock().unwrap(), [1024]);
    assert_eq!(std::iter::from_fn(|| other.get().ok()).count(), 512, "down to the new min watermark");
    assert_eq!(set(0, 0), Ok(()));
    assert_eq!(*calls.1.lock().unwrap(), [1024, 512], "without watermarks there is always enough");
    assert_eq!(std::iter::from_fn(|| other.get().ok()).count(), 512);
    other.put_batch(&got).unwrap();
}

#[test]
fn the_hook_is_called_for_each_domain_that_a_range_takes_from() {
    let machine = Machine { memory: vec![area(0, 1024, 0), area(1024, 1024, 1)], ..Machine::flat(0, 1, 1) };
    let machine = machine.with_marks(600, 0);
    let mut metadata = machine.metadata();
    let calls = Calls::default();
    let frames = machine.boot(&mut metadata).remove(0).with_hook(&calls);
    frames.get_range(&RangeRequest { low: FrameNumber(512), ..RangeRequest::of(1000) }).unwrap();
    assert_eq!(*calls.0.lock().unwrap(), [(DomainId(0), 512), (DomainId(1), 536)]);
}

#[test]
fn below_the_min_mark_frames_are_for_urgent_callers() {
    boot!(frames, Machine::flat(0, 2048, 2).with_marks(700, 600));
    let normal = std::iter::from_fn(|| frames[0].get().ok()).count() as u64;
    assert_eq!(normal, 2048 - 600);
    assert_eq!(frames[0].get(), Err(GetError::AtMinimum));
    assert_eq!(frames[1].get(), Err(GetError::AtMinimum));
    assert_eq!(frames[1].get_huge(), Err(GetError::AtMinimum));
    assert_eq!(frames[1].get_range(&RangeRequest::of(8)), Err(GetError::AtMinimum));
    let urgent = std::iter::from_fn(|| frames[1].get_as(Urgency::Reserve).ok()).count() as u64;
    assert_eq!(urgent, 600);
    assert_eq!(frames[1].get_as(Urgency::Reserve), Err(GetError::Exhausted));
}

/// Urgent and normal callers alternate on one CPU: the rest of an urgent refill is not for normal
/// ones.
#[test]
fn the_reserve_does_not_leak_to_normal_callers() {
    let reserve = if cfg!(miri) { 64 } else { 1024 };
    boot!([frames], Machine::flat(0, 2048, 1).with_marks(reserve, reserve));
    let normal = std::iter::from_fn(|| frames.get().ok()).count() as u64;
    assert_eq!(normal, 2048 - reserve);
    let mut urgent = 0;
    while frames.get_as(Urgency::Reserve).is_ok() {
        urgent += 1;
        while frames.get().is_ok() {}
    }
    assert!(urgent >= reserve - 24, "urgent callers got {urgent} of {reserve} frames");
}

/// CPUs that alternately take and free near the marks do not touch the domain's count, so its value
/// stays the same.
#[test]
fn near_the_marks_accounts_absorb_what_comes_and_goes() {
    boot!(frames, Machine::flat(0, 64 * HUGE_FRAMES, 4).with_marks(20_000, 16_000));
    let held: Vec<FrameNumber> = (0..64 * HUGE_FRAMES - 20_000 - 4_096).map(|_| frames[0].get().unwrap()).collect();
    let round = || {
        for frames in &frames {
            let got: Vec<FrameNumber> = (0..300).map(|_| frames.get().unwrap()).collect();
            frames.put_batch(&got).unwrap();
        }
    };
    round();
    let settled = |frames: &Frames<'_, FixedCpu>| frames.counters().of(Event::Settled);
    let before = settled(&frames[0]);
    (0..if cfg!(miri) { 3 } else { 50 }).for_each(|_| round());
    assert_eq!(settled(&frames[0]), before);
    frames[1].put_batch(&held).unwrap();
}

/// As above, for huge frames.
#[test]
fn huge_frames_that_come_and_go_do_not_touch_the_shared_count() {
    boot!(frames, Machine::flat(0, 64 * HUGE_FRAMES, 2));
    let round = || frames.iter().for_each(|frames| frames.put_huge(frames.get_huge().unwrap()).unwrap());
    round();
    let before = frames[0].counters().of(Event::Settled);
    (0..50).for_each(|_| round());
    assert_eq!(frames[0].counters().of(Event::Settled), before);
}

#[test]
fn marks_are_each_domains_own() {
    let marks = [(100, 50), (300, 200), (10, 0)].map(|(low, min)| Watermarks { low, min });
    let memory = vec![area(0, 1024, 0), area(1024, 1024, 1), area(2048, 60, 2)];
    boot!(frames, Machine { memory, marks: marks.to_vec(), ..Machine::flat(0, 1, 1) });
    let got: Vec<FrameNumber> = std::iter::from_fn(|| frames[0].get().ok()).collect();
    assert_eq!(got.len(), (1024 - 50) + (1024 - 200) + 60);
    assert!(got[..1024 - 50].iter().all(|frame| frame.0 < 1024), "the own domain's come first");
    assert_eq!([0, 1, 2].map(|domain| frames[0].free_in(DomainId(domain))), [50, 200, 0]);
}

#[test]
fn ranges_leave_each_domain_its_min() {
    let memory = vec![area(0, 2048, 0), area(2048, 512, 1), area(2560, 2048, 2)];
    let machine = Machine { memory, ..Machine::flat(0, 1, 1) }.with_marks(300, 300);
    let range = |low, high, frames| {
        let mut metadata = machine.metadata();
        let frames = RangeRequest { low: FrameNumber(low), high: FrameNumber(high), ..RangeRequest::of(frames) };
        machine.boot(&mut metadata)[0].get_range(&frames)
    };
    assert_eq!(range(2000, 2700, 700), Err(GetError::AtMinimum), "it would take all of the domain in the midst");
    assert_eq!(range(2000, 4608, 700), Ok(FrameNumber(2348)), "the first place that takes 212 of it");
    assert_eq!(range(1500, 2200, 700), Ok(FrameNumber(1500)), "of the second domain it takes 152 alone");
    assert_eq!(range(0, 2560, 1800), Ok(FrameNumber(300)), "a place that ends in the next domain");
}

/// Checking each of its places one by one would take minutes.
#[test]
#[cfg_attr(miri, ignore = "much memory")]
fn a_range_that_a_mark_forbids_is_refused_at_once() {
    let frames = 1 << 22;
    boot!(cpus, Machine::flat(0, frames, 1).with_marks(frames / 4, frames / 4));
    assert_eq!(cpus[0].get_range(&RangeRequest::of(frames / 4 * 3 + 1)), Err(GetError::AtMinimum));
    assert_eq!(cpus[0].get_range(&RangeRequest::of(frames / 4 * 3)), Ok(FrameNumber(0)));
}

#[test]
fn zeroed_frames_are_kept_apart_until_they_are_wanted() {
    let machine = Machine::flat(0, 2 * HUGE_FRAMES, 2).with_policy(Policy::default().with_zeroed_most(8));
    boot!(frames, &machine);
    let mut zeroed = Vec::new();
    assert!(!frames[0].get_zeroed().unwrap().zeroed, "none is kept yet");
    assert_eq!(frames[0].fill_zeroed(5, |frame| zeroed.push(frame)), 5);
    assert_eq!(frames[0].fill_zeroed(100, |frame| zeroed.push(frame)), 3, "no more than the policy's");
    assert_eq!(frames[0].free(), machine.frames() - 1);
    let first = frames[1].get_zeroed().unwrap();
    assert!(first.zeroed && zeroed.contains(&first.number));
    assert_eq!(frames[1].counters().of(Event::ZeroedHit), 1);
    // Under pressure they are used like other frames.
    let got = std::iter::from_fn(|| frames[1].get().ok()).count() as u64;
    assert!(got >= machine.frames() - 2 - 32, "{got}");
    assert!(frames[1].get_zeroed().is_err());
}

#[test]
fn zeroed_frames_are_not_zeroed_again_for_want_of_others() {
    boot!(frames, Machine::flat(0, HUGE_FRAMES, 2).with_policy(Policy::default().with_zeroed_most(8)));
    (3..HUGE_FRAMES).for_each(|_| assert!(frames[0].get().is_ok()));
    let mut zeroed = Vec::new();
    assert_eq!(frames[0].fill_zeroed(u64::MAX, |frame| zeroed.push(frame)), 3);
    assert_eq!(zeroed.len(), 3);
    assert_eq!(frames[0].free(), 3);
    assert!((0..3).all(|_| frames[1].get_zeroed().unwrap().zeroed));
}
