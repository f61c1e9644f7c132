//! Random sequences of all operations from several CPUs, including mistakes, compared with a plain
//! list of each frame's owner.
//!
//! After each step the allocator's answer is checked against the list: an allocated frame was free,
//! an error is the expected one, and all frames are accounted for.

use crate::machine::{Machine, area};
use faultline_frames::{
    CpuNumber, DomainId, Event, FixedCpu, FrameNumber, Frames, GetError, HUGE_FRAMES, HugeFrame, Order, Policy,
    PutError, RangeRequest, Urgency,
};
use proptest::prelude::*;

/// The owner of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// Free or in a cache.
    Allocator,
    User,
    /// A user, as part of a huge frame.
    HugeUser,
    Hole,
}

/// The list, from frame 0 on.
struct Reference {
    owners: Vec<Owner>,
}

impl Reference {
    fn new(machine: &Machine, end: u64) -> Self {
        let mut owners = vec![Owner::Hole; end as usize];
        for area in &machine.memory {
            owners[area.first.0 as usize..(area.first.0 + area.frames) as usize].fill(Owner::Allocator);
        }
        Self { owners }
    }

    fn owner(&self, frame: u64) -> Owner {
        self.owners.get(frame as usize).copied().unwrap_or(Owner::Hole)
    }

    fn count(&self, owner: Owner) -> u64 {
        self.owners.iter().filter(|other| **other == owner).count() as u64
    }

    fn give(&mut self, first: FrameNumber, frames: u64, to: Owner) {
        for frame in first.0..first.0 + frames {
            assert_eq!(self.owner(frame), Owner::Allocator, "frame {frame} is given out twice");
            self.owners[frame as usize] = to;
        }
    }

    /// Takes a single frame back, or returns the expected errors.
    fn put(&mut self, frame: FrameNumber) -> Result<(), &'static [PutError]> {
        match self.owner(frame.0) {
            Owner::User => {
                self.owners[frame.0 as usize] = Owner::Allocator;
                Ok(())
            }
            Owner::Allocator => Err(&[PutError::AlreadyFree]),
            Owner::HugeUser => Err(&[PutError::WrongOrder]),
            Owner::Hole => Err(&[PutError::Absent, PutError::OutOfRange]),
        }
    }

    fn put_huge(&mut self, frame: HugeFrame) -> Result<(), &'static [PutError]> {
        let first = frame.first().0;
        match self.owner(first) {
            Owner::HugeUser => {
                self.owners[first as usize..(first + HUGE_FRAMES) as usize].fill(Owner::Allocator);
                Ok(())
            }
            Owner::Allocator => Err(&[PutError::AlreadyFree]),
            Owner::User => Err(&[PutError::WrongOrder]),
            Owner::Hole => Err(&[PutError::Absent, PutError::OutOfRange]),
        }
    }

    /// True if any range fits, including frames in caches.
    fn has_range(&self, request: &RangeRequest) -> bool {
        (request.low.0..request.high.0.min(self.owners.len() as u64)).any(|first| self.fits(request, first))
    }

    fn fits(&self, request: &RangeRequest, first: u64) -> bool {
        let end = first + request.frames;
        first >= request.low.0
            && end <= request.high.0
            && first.is_multiple_of(request.alignment)
            && (request.boundary == 0 || first / request.boundary == (end - 1) / request.boundary)
            && (first..end).all(|frame| self.owner(frame) == Owner::Allocator)
    }
}

#[derive(Debug, Clone)]
enum Step {
    Get(u16),
    GetZeroed,
    /// Puts users' frames, chosen by number, on the current CPU.
    Put(Vec<prop::sample::Index>),
    PutBatch(Vec<prop::sample::Index>, bool),
    PutAnything(u64),
    /// Gets without drains and scans.
    TryGets(u8),
    GetHuge,
    /// Splits a huge frame, and possibly joins it again, with one of its frames put in between.
    Split(prop::sample::Index, bool),
    JoinAnything(u64),
    PutHuge(prop::sample::Index),
    PutHugeAnything(u64),
    GetRange(RangeRequest),
    /// A run; true: without drains and scans.
    GetRun(u8, bool),
    GetBelow(u64),
    PutRange(u64, u64),
    FillZeroed(u64),
    Drain,
    DrainOwn,
    DrainOffline(prop::sample::Index),
    Age,
}

const END: u64 = 6 * 512 + 700;

fn request() -> impl Strategy<Value = RangeRequest> {
    (1..700_u64, 0..END, 0..END, 0..11_u32, prop::option::of(0..11_u32)).prop_map(
        |(frames, one, two, alignment, boundary)| RangeRequest {
            frames: if frames > 600 { frames } else { frames % 70 + 1 },
            low: FrameNumber(one.min(two)),
            high: FrameNumber(one.max(two) + 64),
            alignment: 1 << alignment,
            boundary: boundary.map_or(0, |bits| 1 << bits),
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let some = || prop::collection::vec(any::<prop::sample::Index>(), 1..120);
    prop_oneof![
        6 => (1..400_u16).prop_map(Step::Get),
        1 => Just(Step::GetZeroed),
        4 => some().prop_map(Step::Put),
        2 => (some(), any::<bool>()).prop_map(|(frames, twice)| Step::PutBatch(frames, twice)),
        2 => (0..END + 600).prop_map(Step::PutAnything),
        2 => (1..100_u8).prop_map(Step::TryGets),
        3 => Just(Step::GetHuge),
        1 => (any::<prop::sample::Index>(), any::<bool>()).prop_map(|(huge, put)| Step::Split(huge, put)),
        1 => (0..END + 600).prop_map(Step::JoinAnything),
        2 => any::<prop::sample::Index>().prop_map(Step::PutHuge),
        1 => (0..END + 600).prop_map(Step::PutHugeAnything),
        3 => request().prop_map(Step::GetRange),
        4 => (0..10_u8, any::<bool>()).prop_map(|(order, at_hand)| Step::GetRun(order, at_hand)),
        1 => (0..END + 600).prop_map(Step::GetBelow),
        1 => (0..END, 1..200_u64).prop_map(|(first, frames)| Step::PutRange(first, frames)),
        1 => (0..9_u64).prop_map(Step::FillZeroed),
        1 => Just(Step::Drain),
        1 => Just(Step::DrainOwn),
        1 => any::<prop::sample::Index>().prop_map(Step::DrainOffline),
        1 => Just(Step::Age),
    ]
}

struct Run<'m> {
    frames: Vec<Frames<'m, FixedCpu>>,
    reference: Reference,
    singles: Vec<FrameNumber>,
    huge: Vec<HugeFrame>,
}

impl Run<'_> {
    fn got(&mut self, frame: FrameNumber) {
        self.reference.give(frame, 1, Owner::User);
        self.singles.push(frame);
    }

    fn forget_free(&mut self) {
        let reference = &self.reference;
        self.singles.retain(|frame| reference.owner(frame.0) == Owner::User);
    }

    fn choose(&mut self, chosen: &[prop::sample::Index]) -> Vec<FrameNumber> {
        let mut frames = Vec::new();
        for index in chosen {
            if !self.singles.is_empty() {
                frames.push(self.singles.swap_remove(index.index(self.singles.len())));
            }
        }
        frames
    }

    fn take(&mut self, cpu: usize, step: &Step) {
        match step {
            Step::Get(count) => {
                for _ in 0..*count {
                    match self.frames[cpu].get() {
                        Ok(frame) => self.got(frame),
                        Err(error) => {
                            assert_eq!(error, GetError::Exhausted);
                            let others = self.frames.len() as u64 - 1;
                            let left = self.reference.count(Owner::Allocator);
                            let zeroed_and_current = others * 32 + 2 * 4;
                            assert!(left <= zeroed_and_current, "exhausted with {left} frames left");
                            break;
                        }
                    }
                }
            }
            Step::GetZeroed => {
                if let Ok(frame) = self.frames[cpu].get_zeroed() {
                    self.got(frame.number);
                }
            }
            Step::Put(chosen) => {
                for frame in self.choose(chosen) {
                    assert_eq!(self.frames[cpu].put(frame), Ok(()));
                    self.reference.put(frame).unwrap();
                }
            }
            Step::PutBatch(chosen, twice) => {
                let mut frames = self.choose(chosen);
                for frame in &frames {
                    self.reference.put(*frame).unwrap();
                }
                let count = frames.len();
                if *twice {
                    frames.extend_from_within(..count / 2);
                    frames.push(FrameNumber(END + 5000));
                }
                let result = self.frames[cpu].put_batch(&frames);
                assert_eq!(result.map_or_else(|error| error.refused, |()| 0), (frames.len() - count) as u64);
            }
            Step::PutAnything(number) => {
                let frame = FrameNumber(*number);
                let result = self.frames[cpu].put(frame);
                match self.reference.put(frame) {
                    Ok(()) => assert_eq!(result, Ok(())),
                    Err(errors) => assert!(errors.contains(&result.unwrap_err()), "{result:?}, but due was {errors:?}"),
                }
                self.forget_free();
            }
            Step::GetHuge => match self.frames[cpu].get_huge() {
                Ok(frame) => {
                    self.reference.give(frame.first(), HUGE_FRAMES, Owner::HugeUser);
                    self.huge.push(frame);
                }
                Err(error) => {
                    assert_eq!(error, GetError::Exhausted);
                    assert_eq!(self.frames[cpu].census().whole_blocks, 0);
                }
            },
            Step::TryGets(count) => {
                let frames = &self.frames[cpu];
                let scans = (frames.counters().of(Event::Scan), frames.counters().of(Event::Drain));
                let mut batch = vec![FrameNumber(0); usize::from(*count)];
                match self.frames[cpu].get_batch(Urgency::Normal, &mut batch) {
                    Ok(got) => batch[..got].iter().for_each(|frame| self.got(*frame)),
                    Err(error) => assert_eq!(error, GetError::NotAtHand),
                }
                match self.frames[cpu].try_get_huge(Urgency::Normal) {
                    Ok(frame) => {
                        self.reference.give(frame.first(), HUGE_FRAMES, Owner::HugeUser);
                        self.huge.push(frame);
                    }
                    Err(error) => assert_eq!(error, GetError::NotAtHand),
                }
                let request = RangeRequest::of(u64::from(*count));
                match self.frames[cpu].try_get_range(&request, Urgency::Normal) {
                    Ok(first) => (first.0..first.0 + request.frames).for_each(|frame| self.got(FrameNumber(frame))),
                    Err(error) => assert_eq!(error, GetError::NotAtHand),
                }
                let frames = &self.frames[cpu];
                assert_eq!((frames.counters().of(Event::Scan), frames.counters().of(Event::Drain)), scans);
            }
            Step::Split(index, put) => {
                if !self.huge.is_empty() {
                    let huge = self.huge.swap_remove(index.index(self.huge.len()));
                    assert_eq!(self.frames[cpu].split_huge(huge), Ok(()));
                    assert_eq!(self.frames[cpu].split_huge(huge), Err(PutError::WrongOrder));
                    for frame in huge.frames() {
                        self.reference.owners[frame.0 as usize] = Owner::Allocator;
                        self.got(frame);
                    }
                    if *put {
                        let one = FrameNumber(huge.first().0 + 77);
                        assert_eq!(self.frames[cpu].put(one), Ok(()));
                        self.reference.put(one).unwrap();
                        self.forget_free();
                    }
                }
            }
            Step::JoinAnything(number) => {
                let huge = FrameNumber(*number).huge();
                let frames = huge.first().0..huge.first().0 + HUGE_FRAMES;
                let joins = frames.clone().all(|frame| self.reference.owner(frame) == Owner::User);
                assert_eq!(self.frames[cpu].join_huge(huge).is_ok(), joins);
                if joins {
                    self.reference.owners[frames.start as usize..frames.end as usize].fill(Owner::HugeUser);
                    self.forget_free();
                    self.huge.push(huge);
                }
            }
            Step::PutHuge(index) => {
                if !self.huge.is_empty() {
                    let frame = self.huge.swap_remove(index.index(self.huge.len()));
                    assert_eq!(self.frames[cpu].put_huge(frame), Ok(()));
                    self.reference.put_huge(frame).unwrap();
                }
            }
            Step::PutHugeAnything(number) => {
                let frame = FrameNumber(*number).huge();
                let result = self.frames[cpu].put_huge(frame);
                match self.reference.put_huge(frame) {
                    Ok(()) => assert_eq!(result, Ok(())),
                    Err(errors) => assert!(errors.contains(&result.unwrap_err()), "{result:?}, but due was {errors:?}"),
                }
                self.huge.retain(|other| *other != frame || result.is_err());
            }
            Step::GetRun(order, at_hand) => {
                let (order, frames) = (Order(*order), &self.frames[cpu]);
                let got = if *at_hand { frames.try_get_run(order, Urgency::Normal) } else { frames.get_run(order) };
                let request = RangeRequest { alignment: 1 << order.0, ..RangeRequest::of(1 << order.0) };
                match got {
                    Ok(first) => {
                        assert!(self.reference.fits(&request, first.0), "{order} got {first}");
                        (first.0..first.0 + request.frames).for_each(|frame| self.got(FrameNumber(frame)));
                    }
                    Err(GetError::BadRequest) => assert_eq!(order, Order(9)),
                    Err(error) if *at_hand => assert_eq!(error, GetError::NotAtHand),
                    Err(error) => {
                        assert_eq!(error, GetError::Exhausted);
                        self.frames.iter().for_each(|frames| assert!(frames.drain_own() < u64::MAX));
                        let possible = self.reference.has_range(&request);
                        let again = self.frames[cpu].try_get_run(order, Urgency::Normal);
                        assert_eq!(again.is_ok(), possible, "{order}: what is free and in no cache is in the index");
                        if let Ok(first) = again {
                            (first.0..first.0 + request.frames).for_each(|frame| self.got(FrameNumber(frame)));
                        }
                    }
                }
            }
            Step::GetBelow(limit) => match self.frames[cpu].get_below(FrameNumber(*limit), Urgency::Normal) {
                Ok(frame) => {
                    assert!(frame.0 < *limit / HUGE_FRAMES * HUGE_FRAMES);
                    self.got(frame);
                }
                Err(error) => assert_eq!(error, GetError::NotAtHand),
            },
            Step::GetRange(request) => match self.frames[cpu].get_range(request) {
                Ok(first) => {
                    assert!(self.reference.fits(request, first.0), "{request:?} got {first:?}");
                    for frame in first.0..first.0 + request.frames {
                        self.got(FrameNumber(frame));
                    }
                }
                Err(GetError::BadRequest) => assert!(request.boundary != 0 && request.boundary < request.frames),
                Err(error) => {
                    assert_eq!(error, GetError::Exhausted);
                    // The current magazines of other CPUs are out of reach: empty them and try
                    // again.
                    for frames in &self.frames {
                        frames.drain_own();
                    }
                    let possible = self.reference.has_range(request);
                    assert_eq!(self.frames[cpu].get_range(request).is_ok(), possible, "{request:?}");
                    if possible {
                        // The list does not know which frame it was: find one that the allocator
                        // reports as taken.
                        self.recount();
                    }
                }
            },
            Step::PutRange(first, frames) => {
                let range = *first..first + frames;
                // Also huge frames; of those that lie only partly in it, the rest stays taken.
                for huge in std::mem::take(&mut self.huge) {
                    let is_met = |frame: &FrameNumber| range.contains(&frame.0);
                    if !huge.frames().any(|frame| is_met(&frame)) {
                        self.huge.push(huge);
                        continue;
                    }
                    for frame in huge.frames() {
                        self.reference.owners[frame.0 as usize] = Owner::User;
                        self.singles.push(frame);
                    }
                }
                let mut refused = 0;
                for frame in range.clone() {
                    refused += u64::from(self.reference.put(FrameNumber(frame)).is_err());
                }
                let result = self.frames[cpu].put_range(FrameNumber(*first), *frames);
                assert_eq!(result.map_or_else(|error| error.refused, |()| 0), refused);
                self.forget_free();
            }
            Step::FillZeroed(most) => {
                let mut zeroed = Vec::new();
                let filled = self.frames[cpu].fill_zeroed(*most, |frame| zeroed.push(frame));
                assert!(filled <= *most && filled <= zeroed.len() as u64);
                assert!(zeroed.iter().all(|frame| self.reference.owner(frame.0) == Owner::Allocator));
            }
            Step::Drain => {
                self.frames[cpu].drain();
                for (number, frames) in self.frames.iter().enumerate() {
                    let held = frames.counters_of(CpuNumber(number as u32)).unwrap().held;
                    assert!(held <= if number == cpu { 0 } else { 32 });
                }
            }
            Step::DrainOwn => {
                self.frames[cpu].drain_own();
                assert_eq!(self.frames[cpu].counters_of(CpuNumber(cpu as u32)).unwrap().held, 0);
            }
            Step::DrainOffline(index) => {
                let other = index.index(self.frames.len());
                // SAFETY: there is only one thread, so no call on that CPU runs.
                unsafe { self.frames[cpu].drain_offline(CpuNumber(other as u32)) };
                assert_eq!(self.frames[cpu].counters_of(CpuNumber(other as u32)).unwrap().held, 0);
            }
            Step::Age => drop(self.frames[cpu].age()),
        }
    }

    /// Puts back a range that is not in the list: the second attempt got it.
    fn recount(&mut self) {
        let known = self.reference.count(Owner::User);
        let before = self.frames[0].census().taken;
        let mut returned = 0;
        for frame in 0..END {
            if self.reference.owner(frame) == Owner::Allocator && self.frames[0].put(FrameNumber(frame)).is_ok() {
                returned += 1;
            }
        }
        assert_eq!(before - returned, known);
    }

    fn check(&self) {
        let census = self.frames[0].census();
        assert_eq!(census.taken, self.reference.count(Owner::User));
        assert_eq!(census.huge, self.reference.count(Owner::HugeUser));
        assert_eq!(census.free + census.parked, self.reference.count(Owner::Allocator));
        assert_eq!(self.frames[0].free(), census.free + census.parked);
        let by_domain: u64 = (0..2).map(|domain| self.frames[0].free_in(DomainId(domain))).sum();
        assert_eq!(by_domain, census.free);
    }
}

fn config() -> ProptestConfig {
    // Files of failed cases need the current directory, which Miri's isolation does not provide.
    if cfg!(miri) {
        ProptestConfig { cases: 2, failure_persistence: None, ..ProptestConfig::default() }
    } else {
        ProptestConfig { cases: 400, ..ProptestConfig::default() }
    }
}

proptest! {
    #![proptest_config(config())]
    #[test]
    fn each_frame_has_one_owner(
        steps in prop::collection::vec((0..3_usize, step()), 1..if cfg!(miri) { 12 } else { 60 }),
        stock_most in 0..5_u8,
    ) {
        // Two domains; a hole in the middle; memory that begins and ends within a block.
        let machine = Machine {
            memory: vec![area(40, 1000, 0), area(1100, 900, 0), area(2048, END - 2048, 1)],
            offline: Vec::new(),
            cpus: vec![DomainId(0), DomainId(1), DomainId(0)],
            marks: Vec::new(),
            distances: vec![10, 20, 20, 10],
            policy: Policy::default().with_stock_most(stock_most).with_zeroed_most(4),
        };
        let mut metadata = machine.metadata();
        let reference = Reference::new(&machine, END);
        let mut run = Run { frames: machine.boot(&mut metadata), reference, singles: Vec::new(), huge: Vec::new() };
        for (cpu, step) in &steps {
            run.take(*cpu, step);
            run.check();
        }
        // All frames come back, and all of them can be allocated again in the same form.
        for frame in core::mem::take(&mut run.singles) {
            prop_assert_eq!(run.frames[0].put(frame), Ok(()));
        }
        for frame in core::mem::take(&mut run.huge) {
            prop_assert_eq!(run.frames[1].put_huge(frame), Ok(()));
        }
        for frames in &run.frames {
            frames.drain_own();
        }
        run.frames[2].drain();
        let census = run.frames[0].census();
        prop_assert_eq!((census.free, census.parked, census.taken, census.huge), (machine.frames(), 0, 0, 0));
        prop_assert_eq!(census.whole_blocks, 4);
        let scans = run.frames[0].counters().of(Event::Scan);
        for _ in 0..census.whole_blocks {
            prop_assert!(run.frames[0].get_huge().is_ok());
        }
        let rest = machine.frames() - census.whole_blocks * HUGE_FRAMES;
        for _ in 0..rest {
            prop_assert!(run.frames[0].get().is_ok());
        }
        prop_assert_eq!(run.frames[0].counters().of(Event::Scan), scans, "the index lost some");
        prop_assert_eq!(run.frames[0].free(), 0);
        prop_assert_eq!(run.frames[0].get_huge(), Err(GetError::Exhausted));
    }
}
