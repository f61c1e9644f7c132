//! Cases whose transfers can be derived on paper. CPUs run step by step in a seeded random order,
//! as in a fine interleaving.

use faultline_coherence::{
    Access, Caches, Cause, Context, Costs, Count, Cpu, Distance, Kind, LineReport, Machine, Report, Topology, Work,
};
use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

fn access(address: u64, kind: Kind) -> Access {
    Access { address, size: 8, kind, site: address, context: Context::User, contents: false }
}

/// Transfers of a line by the bytes touched: first byte, number of bytes, transfers.
fn by_offset(line: &LineReport) -> Vec<(u8, u8, u64)> {
    let mut sums = BTreeMap::new();
    for (key, count) in &line.by_access {
        *sums.entry((key.offset, key.size)).or_insert(0) += count.total();
    }
    sums.into_iter().map(|((offset, size), transfers)| (offset, size, transfers)).collect()
}

/// Runs CPUs in random order, `rounds` steps each. Returns the report.
fn run(cpus: u16, rounds: u64, mut step: impl FnMut(&mut Cpu<'_>, u64)) -> Report {
    let machine = Machine::new(Topology::new(cpus.into(), 1, cpus.into()).unwrap());
    let mut all: Vec<Cpu<'_>> = (0..cpus).map(|id| machine.cpu(id)).collect();
    let mut random = ChaCha8Rng::seed_from_u64(1991);
    let ids: Vec<usize> = (0..all.len()).collect();
    for round in 0..rounds * u64::from(cpus) {
        let id = *ids.choose(&mut random).unwrap();
        step(&mut all[id], round);
    }
    Report::new(&machine, all.iter().map(|cpu| (cpu.id(), cpu.tally())))
}

fn per_step(report: &Report, cpus: u16, rounds: u64) -> f64 {
    report.count.total() as f64 / (rounds * u64::from(cpus)) as f64
}

#[test]
fn a_shared_counter_moves_whenever_another_cpu_comes() {
    for cpus in [2, 8, 32] {
        let report = run(cpus, 1000, |cpu, _| {
            cpu.access(&access(0x1000, Kind::Atomic));
        });
        // Two consecutive steps of the same CPU move nothing: one in `cpus`.
        let expected = 1.0 - 1.0 / f64::from(cpus);
        assert!((per_step(&report, cpus, 1000) - expected).abs() < 0.03, "{cpus} CPUs");
        assert_eq!(report.count.false_sharing, 0);
        assert_eq!(report.atomic, report.count.total());
    }
}

#[test]
fn counters_on_lines_of_their_own_never_move() {
    let report = run(8, 1000, |cpu, _| {
        cpu.access(&access(0x1000 + 64 * u64::from(cpu.id()), Kind::Atomic));
    });
    assert_eq!(report.count.total(), 0);
}

#[test]
fn counters_side_by_side_on_one_line_are_false_sharing() {
    let report = run(2, 1000, |cpu, _| {
        cpu.access(&access(0x1000 + 8 * u64::from(cpu.id()), Kind::Atomic));
    });
    assert!(report.count.total() > 500);
    assert_eq!(report.count.true_sharing, 0);
    assert_eq!(report.lines[0].line, 0x1000 / 64);
}

#[test]
fn a_line_that_is_only_read_comes_once_to_each() {
    let machine = Machine::new(Topology::new(8, 1, 8).unwrap());
    let mut cpus: Vec<Cpu<'_>> = (0..8).map(|id| machine.cpu(id)).collect();
    cpus[0].access(&access(0x2000, Kind::Write));
    for _ in 0..1000 {
        for cpu in &mut cpus {
            cpu.access(&access(0x2000, Kind::Read));
        }
    }
    let report = Report::new(&machine, cpus.iter().map(|cpu| (cpu.id(), cpu.tally())));
    assert_eq!(report.count.total(), 7);
}

#[test]
fn a_flag_beside_its_data_is_true_sharing_once_the_data_is_read() {
    let machine = Machine::new(Topology::new(2, 1, 2).unwrap());
    let (mut writer, mut reader) = (machine.cpu(0), machine.cpu(1));
    writer.access(&access(0x3000, Kind::Write));
    assert_eq!(reader.access(&access(0x3008, Kind::Read)), 1);
    assert_eq!(reader.tally().iter().map(|(_, count)| count.false_sharing).sum::<u64>(), 1);
    assert_eq!(reader.access(&access(0x3000, Kind::Read)), 0);
    assert_eq!(reader.tally().iter().map(|(_, count)| count.true_sharing).sum::<u64>(), 1);
}

/// Transfers per acquisition of a lock that passes from CPU to CPU while `waiters` wait.
fn handing_over(waiters: u16, poll: impl Fn(&mut Cpu<'_>), release: impl Fn(&mut Cpu<'_>, u16)) -> f64 {
    let cpus = waiters + 1;
    let machine = Machine::new(Topology::new(cpus.into(), 1, cpus.into()).unwrap());
    let mut all: Vec<Cpu<'_>> = (0..cpus).map(|id| machine.cpu(id)).collect();
    let rounds = 200;
    for turn in 0..rounds * cpus {
        let holder = turn % cpus;
        for cpu in &mut all {
            if cpu.id() != holder {
                poll(cpu);
            }
        }
        release(&mut all[usize::from(holder)], (holder + 1) % cpus);
    }
    let report = Report::new(&machine, all.iter().map(|cpu| (cpu.id(), cpu.tally())));
    report.count.total() as f64 / f64::from(rounds * cpus)
}

/// Mellor-Crummey and Scott, "Algorithms for scalable synchronization on shared-memory
/// multiprocessors", ACM TOCS 1991: with a ticket lock every release makes all waiters fetch the
/// line again; with an MCS lock each waiter spins on its own line.
#[test]
fn a_ticket_lock_grows_with_its_waiters_and_an_mcs_lock_does_not() {
    let ticket = |waiters| {
        handing_over(
            waiters,
            |cpu| {
                cpu.access(&access(0x4000, Kind::Read));
            },
            |cpu, _| {
                cpu.access(&access(0x4000, Kind::Write));
            },
        )
    };
    let mcs = |waiters| {
        handing_over(
            waiters,
            |cpu| {
                cpu.access(&access(0x5000 + 64 * u64::from(cpu.id()), Kind::Read));
            },
            |cpu, next| {
                cpu.access(&access(0x5000 + 64 * u64::from(next), Kind::Write));
            },
        )
    };
    assert!(ticket(31) > 30.0 && ticket(7) < 9.0, "{} {}", ticket(7), ticket(31));
    assert!((mcs(31) - mcs(7)).abs() < 0.1, "{} {}", mcs(7), mcs(31));
    assert!(mcs(31) < 2.1, "{}", mcs(31));
}

/// A ring of one producer and one consumer with 8 slots per line. Head and tail have their own
/// lines. Each end caches the other's position and reads it again only when the ring seems full or
/// empty. In lockstep, one item at a time, the consumer must read it for each item: the consumer
/// fetches the tail's line, then the producer takes it back. The slot's line behaves in the same
/// way. That makes four transfers.
#[test]
fn a_ring_in_lockstep_costs_what_paper_says() {
    let machine = Machine::new(Topology::new(2, 1, 2).unwrap());
    let (mut producer, mut consumer) = (machine.cpu(0), machine.cpu(1));
    let (slots, tail) = (0x8000, 0x9000);
    let slot = |item: u64| slots + 8 * (item % 64);
    let items = 6400;
    for item in 0..items {
        producer.access(&access(slot(item), Kind::Write));
        producer.access(&access(tail, Kind::Write));
        consumer.access(&access(tail, Kind::Read));
        consumer.access(&access(slot(item), Kind::Read));
    }
    let report = Report::new(&machine, [(0, producer.tally()), (1, consumer.tally())]);
    let per_item = report.count.total() as f64 / items as f64;
    assert!((per_item - 4.0).abs() < 0.01, "{per_item}");
}

#[test]
fn a_transfer_costs_what_its_distance_does() {
    let costs = Costs { same_cache: 40, same_socket: 90, other_socket: 250, memory: 1 };
    let machine = Machine::with(Topology::new(8, 2, 2).unwrap(), costs, None).unwrap();
    let mut cpus: Vec<Cpu<'_>> = (0..8).map(|id| machine.cpu(id)).collect();
    let mut write = |cpu: usize, kind| cpus[cpu].access(&access(0x1000, kind));
    assert_eq!([0, 1, 3, 4].map(|cpu| write(cpu, Kind::Write)), [0, 40, 90, 250]);
    // Invalidated in two CPUs of the same cache: counts as the machine's largest distance.
    assert_eq!([write(5, Kind::Read), write(5, Kind::Write)], [40, 40]);
    assert_eq!([write(4, Kind::Read), write(6, Kind::Write)], [40, 250]);
    assert_eq!(cpus.iter().map(|cpu| cpu.transfers(Work::Operation)).sum::<u64>(), 7);
    let report = Report::new(&machine, cpus.iter().map(|cpu| (cpu.id(), cpu.tally())));
    assert_eq!(report.by_distance[&Distance::SameCache], 4);
    assert_eq!(report.by_distance[&Distance::Several], 1);
}

#[test]
fn an_access_across_lines_pays_for_both() {
    let machine = Machine::new(Topology::new(2, 1, 2).unwrap());
    let (mut one, mut other) = (machine.cpu(0), machine.cpu(1));
    let across = access(0x103C, Kind::Write);
    assert_eq!((one.access(&across), other.access(&across), other.transfers(Work::Operation)), (0, 2, 2));
    let report = Report::new(&machine, [(1, other.tally())]);
    let offsets: Vec<_> = report.lines.iter().map(by_offset).collect();
    assert_eq!(offsets, [[(60, 4, 1)], [(0, 4, 1)]]);
}

#[test]
fn bytes_that_moved_a_line_are_distinguished() {
    let machine = Machine::new(Topology::new(2, 1, 2).unwrap());
    let (mut one, mut other) = (machine.cpu(0), machine.cpu(1));
    for field in [8u64, 8, 8, 48] {
        one.access(&access(0x1000, Kind::Write));
        other.access(&access(0x1000 + field, Kind::Write));
    }
    let report = Report::new(&machine, [(0, one.tally()), (1, other.tally())]);
    assert_eq!(by_offset(&report.lines[0]), [(0, 8, 3), (8, 8, 3), (48, 8, 1)]);
}

#[test]
fn words_that_others_used_since_are_reported() {
    let machine = Machine::new(Topology::new(2, 1, 2).unwrap());
    let (mut writer, mut reader) = (machine.cpu(0), machine.cpu(1));
    let at = |offset: u64, size, kind| Access { size, ..access(0x1000 + offset, kind) };
    for _ in 0..10 {
        writer.access(&at(8, 4, Kind::Write));
        writer.access(&at(12, 4, Kind::Write));
        reader.access(&at(48, 8, Kind::Read));
    }
    let report = Report::new(&machine, [(0, writer.tally()), (1, reader.tally())]);
    let [written, read] = &report.lines[0].by_access[..] else { panic!("{:?}", report.lines) };
    let used = |count: &Count| -> Vec<(usize, u32)> {
        count.others.iter().copied().enumerate().filter(|(_, transfers)| *transfers > 0).collect()
    };
    // The reader lost its copy ten times less one to the writer, and fetched what the writer had
    // written ten times.
    assert_eq!((written.0.offset, written.0.cause, used(&written.1)), (8, Cause::Write, vec![(12, 9), (13, 9)]));
    assert_eq!((read.0.offset, read.0.cause, used(&read.1)), (48, Cause::Read, vec![(2, 10), (3, 10)]));
    assert_eq!((written.1.false_sharing, read.1.false_sharing), (9, 10));
}

#[test]
fn a_page_is_contents_once_it_was_reached_from_user_space() {
    let machine = Machine::new(Topology::new(2, 1, 2).unwrap());
    let (mut one, mut other) = (machine.cpu(0), machine.cpu(1));
    let page = |offset: u64, kind| access(0x7000 + offset, kind);
    // The kernel clears the page. The process then finds all of it in the cache.
    one.access(&page(0, Kind::Write));
    one.access(&page(64, Kind::Write));
    let moved = |one: &Cpu<'_>, other: &Cpu<'_>| {
        let report = Report::new(&machine, [(0, one.tally()), (1, other.tally())]);
        (report.contents, report.lines.iter().map(|line| line.contents).collect::<Vec<_>>())
    };
    other.access(&page(64, Kind::Read));
    other.access(&access(0x8000, Kind::Read));
    assert_eq!(moved(&one, &other), (0, vec![false]));
    assert_eq!(one.access(&Access { contents: true, ..page(0, Kind::Read) }), 0);
    assert_eq!(moved(&one, &other), (1, vec![true]));
}

#[test]
fn a_small_cache_writes_back_and_fetches_again() {
    let costs = Costs { same_cache: 10, same_socket: 10, other_socket: 10, memory: 3 };
    let caches = Some(Caches { lines: 1, ways: 1 });
    let machine = Machine::with(Topology::new(2, 1, 2).unwrap(), costs, caches).unwrap();
    let (mut one, mut other) = (machine.cpu(0), machine.cpu(1));
    let (a, b) = (0x1000, 0x2000);
    assert_eq!(one.access(&access(a, Kind::Write)), 0);
    // The line is evicted and written back, so both CPUs fetch it from memory.
    assert_eq!(one.access(&access(b, Kind::Read)), 0);
    assert_eq!(other.access(&access(a, Kind::Read)), 3);
    assert_eq!(one.access(&access(a, Kind::Read)), 3);
    // Two CPUs have it. A write takes it from the other.
    assert_eq!(one.access(&access(a, Kind::Write)), 10);
    assert_eq!(other.access(&access(a, Kind::Read)), 10);
    assert_eq!((one.capacity_misses(Work::Operation), other.capacity_misses(Work::Operation)), (1, 1));
}

/// Three CPUs with a cache of one line each; `a` and `b` evict each other.
#[test]
fn what_the_others_have_evicted_moves_nothing() {
    let costs = Costs { same_cache: 10, same_socket: 10, other_socket: 10, memory: 3 };
    let machine = Machine::with(Topology::new(3, 1, 3).unwrap(), costs, Some(Caches { lines: 1, ways: 1 })).unwrap();
    let mut cpus: Vec<Cpu<'_>> = (0..3).map(|id| machine.cpu(id)).collect();
    let mut step = |cpu: usize, address, kind| cpus[cpu].access(&access(address, kind));
    let (a, b) = (0x1000, 0x2000);
    assert_eq!([step(0, a, Kind::Write), step(1, a, Kind::Read), step(2, a, Kind::Read)], [0, 10, 10]);
    // Both readers evict it: the write takes the line from no CPU.
    assert_eq!([step(1, b, Kind::Read), step(2, b, Kind::Read), step(0, a, Kind::Write)], [0, 0, 0]);
    // A reader that evicts it and fetches it again has a capacity miss, even if the writer still
    // holds it.
    assert_eq!([step(1, a, Kind::Read), step(1, b, Kind::Read), step(1, a, Kind::Read)], [10, 3, 3]);
    // The writer's next write takes it from that reader, and from no other CPU.
    assert_eq!([step(0, a, Kind::Write), step(0, a, Kind::Write)], [10, 0]);
    // The writer evicts it: the next writer fetches it from memory.
    assert_eq!([step(0, b, Kind::Read), step(2, a, Kind::Write)], [0, 3]);
    assert_eq!(cpus.iter().map(|cpu| cpu.capacity_misses(Work::Operation)).collect::<Vec<_>>(), [0, 2, 1]);
    assert_eq!(cpus.iter().map(|cpu| cpu.transfers(Work::Operation)).collect::<Vec<_>>(), [1, 2, 1]);
}

/// A page that one CPU cleared and freed long ago, and another CPU clears: a real cache has evicted
/// it by then.
#[test]
fn a_page_that_was_given_up_long_ago_comes_from_memory() {
    let costs = Costs { memory: 3, ..Costs::ONE_EACH };
    let machine = Machine::with(Topology::new(2, 1, 2).unwrap(), costs, Some(Caches::DEFAULT)).unwrap();
    let (mut one, mut other) = (machine.cpu(0), machine.cpu(1));
    let clear = |cpu: &mut Cpu<'_>, lines: std::ops::Range<u64>| -> u64 {
        lines.map(|line| cpu.access(&access(line * 64, Kind::Write))).sum()
    };
    let (page, whole) = (64, u64::from(Caches::DEFAULT.lines));
    assert_eq!(clear(&mut one, 0..whole + page), 0);
    assert_eq!(clear(&mut other, 0..page), 3 * page, "evicted by the last page");
    assert_eq!(clear(&mut other, whole..whole + page), page, "cleared just now");
    assert_eq!((other.capacity_misses(Work::Operation), other.transfers(Work::Operation)), (page, page));
}

#[test]
fn a_line_fetched_again_stays_when_it_loses_its_place_among_the_recent() {
    let costs = Costs { memory: 3, ..*Machine::new(Topology::new(1, 1, 1).unwrap()).costs() };
    let machine = Machine::with(Topology::new(1, 1, 1).unwrap(), costs, Some(Caches { lines: 2, ways: 2 })).unwrap();
    let mut cpu = machine.cpu(0);
    let mut read = |line: u64| cpu.access(&access(line << 46, Kind::Read));
    // The third evicts the first from the cache, and then the first evicts the second.
    assert_eq!([1, 2, 3, 1].map(&mut read), [0, 0, 0, 3]);
    // Both are in the cache now, and alternate in the same place of the table.
    assert_eq!([3, 1, 3, 1].map(&mut read), [0; 4]);
}

#[test]
fn suspicion_outlives_a_write_that_concerns_no_cpu() {
    let machine =
        Machine::with(Topology::new(2, 1, 2).unwrap(), Costs::ONE_EACH, Some(Caches { lines: 1, ways: 1 })).unwrap();
    let (mut one, mut other) = (machine.cpu(0), machine.cpu(1));
    one.access(&access(0x1000, Kind::Write));
    assert_eq!(other.access(&access(0x1008, Kind::Read)), 1);
    one.access(&access(0x2000, Kind::Read));
    // The first CPU has written the line back, so the second CPU, which has it, is the only holder.
    assert_eq!(other.access(&access(0x1008, Kind::Write)), 0);
    let true_sharing = |cpu: &Cpu<'_>| cpu.tally().iter().map(|(_, count)| count.true_sharing).sum::<u64>();
    assert_eq!(true_sharing(&other), 0);
    other.access(&access(0x1000, Kind::Read));
    assert_eq!(true_sharing(&other), 1);
}

#[test]
fn a_line_is_at_one_place_at_a_time() {
    let costs = Costs { same_cache: 50, same_socket: 50, other_socket: 50, memory: 0 };
    let machine = Machine::with(Topology::new(4, 1, 4).unwrap(), costs, None).unwrap();
    let mut cpus: Vec<Cpu<'_>> = (0..4).map(|id| machine.cpu(id)).collect();
    for cpu in &mut cpus {
        cpu.access(&access(0x1000, Kind::Atomic));
    }
    // One CPU writes the line and three read it: their copies can be on their way at once.
    cpus[0].access(&access(0x2000, Kind::Write));
    for cpu in &mut cpus[1..] {
        cpu.access(&access(0x2000, Kind::Read));
    }
    cpus[0].access(&access(0x2000, Kind::Write));
    let report = Report::new(&machine, cpus.iter().map(|cpu| (cpu.id(), cpu.tally())));
    let occupied = |number: u64| report.lines.iter().find(|line| line.line == number).unwrap().occupied;
    assert_eq!((occupied(0x1000 / 64), occupied(0x2000 / 64)), (150, 100));
}

#[test]
fn two_cpus_that_poll_and_write_one_word_share_it_truly() {
    let machine = Machine::new(Topology::new(2, 1, 2).unwrap());
    let mut cpus = [machine.cpu(0), machine.cpu(1)];
    for turn in 0..100 {
        let cpu = &mut cpus[turn % 2];
        cpu.access(&access(0x1000, Kind::Read));
        cpu.access(&access(0x1000, Kind::Write));
    }
    let report = Report::new(&machine, cpus.iter().map(|cpu| (cpu.id(), cpu.tally())));
    assert_eq!((report.count.true_sharing, report.count.false_sharing), (198, 0));
}

#[test]
fn what_an_interrupt_moves_is_counted_apart() {
    let costs = Costs { memory: 3, ..Costs::ONE_EACH };
    let caches = Some(Caches { lines: 1, ways: 1 });
    let machine = Machine::with(Topology::new(2, 1, 2).unwrap(), costs, caches).unwrap();
    let (mut one, mut other) = (machine.cpu(0), machine.cpu(1));
    let of = |context, address, kind| Access { context, ..access(address, kind) };
    one.access(&access(0x1000, Kind::Write));
    // The interrupt fetches the line for itself; the operation's next write takes it from no CPU.
    assert_eq!(other.access(&of(Context::Interrupt, 0x1000, Kind::Write)), 1);
    assert_eq!(other.access(&of(Context::Kernel, 0x1008, Kind::Write)), 0);
    assert_eq!(one.access(&of(Context::User, 0x1000, Kind::Atomic)), 1);
    other.access(&of(Context::Interrupt, 0x2000, Kind::Write));
    one.access(&of(Context::Kernel, 0x3000, Kind::Read));
    assert_eq!(other.access(&of(Context::Interrupt, 0x1000, Kind::Read)), 3);
    let sums = |cpu: &Cpu<'_>, work| (cpu.transfers(work), cpu.capacity_misses(work));
    assert_eq!((sums(&one, Work::Operation), sums(&one, Work::Interrupt)), ((1, 0), (0, 0)));
    assert_eq!((sums(&other, Work::Operation), sums(&other, Work::Interrupt)), ((0, 0), (1, 1)));
    let tallies = || [(0, one.tally()), (1, other.tally())];
    let total = |report: Report| (report.count.total(), report.user, report.lines.len());
    assert_eq!(total(Report::of(Work::Operation, &machine, tallies())), (1, 1, 1));
    assert_eq!(total(Report::of(Work::Interrupt, &machine, tallies())), (1, 0, 1));
    assert_eq!(total(Report::new(&machine, tallies())), (2, 1, 1));
}

/// A lock and the counter that it protects on one line. While one CPU holds the lock, another one
/// polls it between the holder's accesses. Both use the lock and the counter, so nothing here is
/// false sharing.
#[test]
fn a_lock_and_what_it_protects_are_used_together() {
    let machine = Machine::new(Topology::new(2, 1, 2).unwrap());
    let mut cpus = [machine.cpu(0), machine.cpu(1)];
    let (lock, data) = (0x1000, 0x1020);
    let at = |site, address, kind| Access { site, ..access(address, kind) };
    for turn in 0..100 {
        let (holder, waiter) = (turn % 2, 1 - turn % 2);
        let poll = |cpus: &mut [Cpu<'_>; 2]| cpus[waiter].access(&at(1, lock, Kind::Read));
        cpus[holder].access(&at(2, lock, Kind::Atomic));
        poll(&mut cpus);
        for _ in 0..5 {
            cpus[holder].access(&at(3, data, Kind::Read));
            cpus[holder].access(&at(4, data, Kind::Write));
            poll(&mut cpus);
        }
        cpus[holder].access(&at(5, lock, Kind::Write));
        poll(&mut cpus);
    }
    let report = Report::new(&machine, cpus.iter().map(|cpu| (cpu.id(), cpu.tally())));
    assert!(report.count.total() > 1000);
    assert!(report.count.false_sharing < report.count.total() / 50, "{:?}", report.count);
}

/// Each CPU counts in its own word, and one CPU rarely adds up all words.
#[test]
fn who_adds_up_now_and_then_shares_falsely_in_between() {
    let machine = Machine::new(Topology::new(2, 1, 2).unwrap());
    let mut cpus = [machine.cpu(0), machine.cpu(1)];
    for round in 0..10_000 {
        for (cpu, word) in cpus.iter_mut().zip([0, 8]) {
            cpu.access(&Access { site: 1, ..access(0x1000 + word, Kind::Atomic) });
        }
        if round % 100 == 99 {
            cpus[0].access(&Access { site: 2, ..access(0x1008, Kind::Read) });
        }
    }
    let report = Report::new(&machine, cpus.iter().map(|cpu| (cpu.id(), cpu.tally())));
    let share = report.count.false_sharing as f64 / report.count.total() as f64;
    assert!(share > 0.95, "{share}");
}

/// Transfers per step of CPUs in random order, and the share of false sharing: with two words on
/// one line, and with each on its own. `step` gets the addresses of the words, and true for the
/// first half of the CPU's work.
fn together_and_apart(step: impl Fn(&mut Cpu<'_>, [u64; 2], bool)) -> [(f64, f64); 2] {
    const CPUS: u16 = 8;
    const ROUNDS: u64 = 2000;
    [[0x1000, 0x1008], [0x1000, 0x2000]].map(|words| {
        let mut is_second = [false; CPUS as usize];
        let report = run(CPUS, ROUNDS, |cpu, _| {
            let half = &mut is_second[usize::from(cpu.id())];
            step(cpu, words, *half);
            *half = !*half;
        });
        let share = report.count.false_sharing as f64 / report.count.total().max(1) as f64;
        (per_step(&report, CPUS, ROUNDS), share)
    })
}

/// Asserts that the transfers of false sharing are those that separate lines save, within 5 % of a
/// step. A step is half of an operation.
fn assert_false_sharing_is_what_lines_of_their_own_save(step: impl Fn(&mut Cpu<'_>, [u64; 2], bool)) -> f64 {
    let [(together, false_share), (apart, false_apart)] = together_and_apart(step);
    let (saved, suspected) = ((together - apart).max(0.0), together * false_share);
    assert!((saved - suspected).abs() < 0.05, "{together} together, {false_share} of them false; {apart} apart");
    assert_eq!(false_apart, 0.0, "one word on a line");
    suspected
}

fn site(site: u64, address: u64, kind: Kind) -> Access {
    Access { site, ..access(address, kind) }
}

#[test]
fn two_words_that_each_operation_writes_are_true_sharing() {
    let at_once = assert_false_sharing_is_what_lines_of_their_own_save(|cpu, words, _| {
        cpu.access(&site(1, words[0], Kind::Atomic));
        cpu.access(&site(2, words[1], Kind::Atomic));
    });
    let one_after_the_other = assert_false_sharing_is_what_lines_of_their_own_save(|cpu, words, is_second| {
        cpu.access(&site(1 + u64::from(is_second), words[usize::from(is_second)], Kind::Atomic));
    });
    assert!(at_once == 0.0 && one_after_the_other < 0.001, "{at_once} {one_after_the_other}");
}

#[test]
fn a_word_of_one_cpu_beside_a_word_of_the_others_is_false_sharing() {
    let suspected = assert_false_sharing_is_what_lines_of_their_own_save(|cpu, words, _| {
        cpu.access(&access(words[usize::from(cpu.id() != 0)], Kind::Atomic));
    });
    assert!(suspected > 0.1, "{suspected}");
}

#[test]
fn a_word_that_is_read_beside_one_that_is_written_is_false_sharing() {
    let apart_in_time = assert_false_sharing_is_what_lines_of_their_own_save(|cpu, words, is_second| {
        let kind = if is_second { Kind::Atomic } else { Kind::Read };
        cpu.access(&site(1 + u64::from(is_second), words[usize::from(is_second)], kind));
    });
    let at_once = assert_false_sharing_is_what_lines_of_their_own_save(|cpu, words, _| {
        cpu.access(&site(1, words[0], Kind::Read));
        cpu.access(&site(2, words[1], Kind::Atomic));
    });
    assert!(apart_in_time > 0.35 && at_once > 0.8, "{apart_in_time} {at_once}");
    let the_other_way_round = assert_false_sharing_is_what_lines_of_their_own_save(|cpu, words, _| {
        cpu.access(&site(2, words[1], Kind::Atomic));
        cpu.access(&site(1, words[0], Kind::Read));
    });
    assert_eq!(the_other_way_round, 0.0);
}

#[test]
fn transfers_belong_to_the_program_that_the_cpu_runs() {
    let machine = Machine::new(Topology::new(2, 1, 2).unwrap());
    let (mut one, mut other) = (machine.cpu(0), machine.cpu(1));
    other.access(&access(0x1000, Kind::Write));
    for program in [7, 7, 300] {
        one.run(program);
        one.access(&access(0x1000, Kind::Write));
        other.access(&access(0x1000, Kind::Write));
    }
    let of = |cpu: &Cpu<'_>, program| cpu.tally().only(|key| key.program == program).total();
    assert_eq!([of(&one, 0), of(&one, 7), of(&one, 300), of(&other, 0)], [0, 2, 1, 3]);
}
