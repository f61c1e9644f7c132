// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs that take turns, simulated block by block.

use super::*;
use faultline_coherence::{Access, Context, Kind, Machine, Topology};

/// Gives turns to the CPUs in that many rounds, as the emulator does. `block` returns the cost
/// of a CPU's next block, and true if the CPU continues after it, or false if it pauses; `None`
/// if the CPU is halted.
fn rounds(turns: &mut Turns, rounds: usize, mut block: impl FnMut(usize, u64) -> Option<(u64, bool)>) {
    for _ in 0..rounds {
        for cpu in 0..turns.cpus.len() {
            while let Some((cost, goes_on)) = block(cpu, turns.clock(cpu)) {
                let ends = turns.advance(cpu, cost) != Step::Runs;
                if !goes_on {
                    turns.wait(cpu, true);
                }
                if ends || !goes_on {
                    break;
                }
            }
        }
    }
}

#[test]
fn clocks_stay_within_a_quantum_and_a_block_whatever_blocks_cost() {
    let mut turns = Turns::new(4, Grain::Coarse(1000));
    turns.begin();
    for _ in 0..200 {
        rounds(&mut turns, 1, |cpu, _| Some((1 + 30 * cpu as u64, true)));
        let clocks: Vec<u64> = (0..4).map(|cpu| turns.clock(cpu)).collect();
        let spread = clocks.iter().max().unwrap() - clocks.iter().min().unwrap();
        assert!(spread <= 1000 + 2 * 91, "{clocks:?}");
    }
    assert!(turns.clock(0) > 50_000);
}

#[test]
fn a_cpu_alone_goes_on() {
    let mut turns = Turns::new(3, Grain::Coarse(100));
    turns.begin();
    rounds(&mut turns, 50, |cpu, _| (cpu == 1).then_some((10, true)));
    assert!((5000..=5600).contains(&turns.clock(1)), "{}", turns.clock(1));
}

#[test]
fn one_that_was_idle_starts_where_the_slowest_is() {
    let mut turns = Turns::new(3, Grain::Coarse(100));
    turns.begin();
    rounds(&mut turns, 50, |cpu, _| (cpu != 2).then_some((10, true)));
    let slowest = turns.clock(0).min(turns.clock(1));
    rounds(&mut turns, 1, |_, _| Some((10, true)));
    assert!(turns.clock(2) >= slowest && turns.clock(2) <= slowest + 330, "{slowest} {}", turns.clock(2));
}

#[test]
fn one_that_pauses_is_taken_along_and_delays_no_other() {
    let mut turns = Turns::new(3, Grain::Coarse(1000));
    turns.begin();
    let mut looks = 0;
    rounds(&mut turns, 100, |cpu, _| match cpu {
        0 => Some((10, true)),
        _ => {
            looks += 1;
            Some((5, false))
        }
    });
    assert!(turns.clock(0) > 80_000, "{}", turns.clock(0));
    assert!(turns.clock(1) + 2100 > turns.clock(0) && turns.clock(2) + 2100 > turns.clock(0));
    assert_eq!(looks, 200);
}

#[test]
fn one_whose_turn_a_device_ended_is_not_set_on() {
    let mut turns = Turns::new(2, Grain::Coarse(1000));
    turns.begin();
    for _ in 0..50 {
        rounds(&mut turns, 1, |cpu, _| (cpu == 0).then_some((10, true)));
        // It has one block per turn, and the plugin does not end the turn.
        turns.advance(1, 10);
    }
    assert_eq!(turns.clock(1), 500);
    assert!((1500..=1520).contains(&turns.clock(0)), "{}", turns.clock(0));
}

#[test]
fn one_that_halts_and_is_woken_in_the_next_round_has_waited_for_the_slowest() {
    for cost in [10, 1000] {
        let mut turns = Turns::new(2, Grain::Coarse(1000));
        turns.begin();
        rounds(&mut turns, 20, |_, _| Some((10, true)));
        // It halts: during its turn, or in the last block of the turn.
        while turns.advance(0, 10) == Step::Runs {}
        turns.advance(1, cost);
        turns.wait(1, true);
        while turns.advance(0, 10) == Step::Runs {}
        let other = turns.clock(0);
        turns.advance(1, 10);
        assert!(turns.clock(1) >= other, "{cost}: {} {other}", turns.clock(1));
    }
}

#[test]
fn one_that_is_woken_by_one_that_waits_for_it_has_been_idle_all_the_same() {
    let mut turns = Turns::new(64, Grain::Coarse(1000));
    turns.begin();
    rounds(&mut turns, 3, |cpu, _| (cpu < 2).then_some((10, true)));
    rounds(&mut turns, 30, |cpu, _| (cpu == 0).then_some((10, true)));
    rounds(&mut turns, 1, |cpu, _| (cpu == 0).then_some((10, false)));
    let waker = turns.clock(0);
    assert!(waker > 30_000);
    turns.advance(1, 10);
    assert!(turns.clock(1) + 1100 > waker, "{} {waker}", turns.clock(1));
}

#[test]
fn all_may_pause_and_each_look_takes_its_time() {
    let mut turns = Turns::new(3, Grain::Coarse(1000));
    turns.begin();
    rounds(&mut turns, 100, |_, _| Some((5, false)));
    assert!((0..3).all(|cpu| (500..=505).contains(&turns.clock(cpu))), "{turns:?}");
}

#[test]
fn time_that_all_spend_idle_passes_for_all() {
    let mut turns = Turns::new(3, Grain::Coarse(100));
    turns.begin();
    rounds(&mut turns, 50, |cpu, _| (cpu != 2).then_some((10, true)));
    let before = turns.virtual_time();
    turns.skip(70_000);
    assert_eq!(turns.virtual_time(), before + 70_000);
    // The first CPU to wake had the last turn before.
    turns.advance(1, 10);
    assert_eq!(turns.clock(1), before + 70_010);
    rounds(&mut turns, 2, |_, _| Some((10, true)));
    assert!((0..3).all(|cpu| turns.clock(cpu) > before + 70_000), "{turns:?}");
}

#[test]
fn turns_of_busy_cpus_overlap_and_those_of_one_do_not() {
    let share = |busy: &[usize]| {
        let mut turns = Turns::new(3, Grain::Coarse(1000));
        turns.begin();
        rounds(&mut turns, 200, |cpu, _| busy.contains(&cpu).then_some((10, true)));
        turns.end();
        let times = turns.overlap.times();
        times.overlapping as f64 / times.busy as f64
    };
    assert!(share(&[0, 2]) > 0.95 && share(&[1]) == 0.0, "{} {}", share(&[0, 2]), share(&[1]));
}

#[test]
fn a_second_region_goes_on_where_the_first_ended() {
    let mut turns = Turns::new(2, Grain::Coarse(100));
    turns.begin();
    rounds(&mut turns, 50, |_, _| Some((10, true)));
    let slowest = turns.clock(0).min(turns.clock(1));
    let machine: &'static Machine = Box::leak(Box::new(Machine::new(Topology::new(2, 1, 2).unwrap())));
    let mut cpu = machine.cpu(1);
    let (kind, context) = (Kind::Write, Context::Kernel);
    cpu.access(&Access { address: 0x1000, size: 8, kind, site: 1, context, contents: false });
    turns.settled.put(1, 0x1000, 0x40, cpu.grant(0x40));
    assert!(turns.settled_line(turns.current, 0x1000, 1, false).is_some() == (turns.current == 1));
    turns.end();
    assert!((0..2).all(|cpu| turns.is_over(cpu) && turns.settled_line(cpu, 0x1000, 1, false).is_none()));
    turns.begin();
    rounds(&mut turns, 1, |cpu, _| (cpu == 1).then_some((10, true)));
    assert!(turns.clock(1) >= slowest && turns.clock(1) <= slowest + 330);
    assert!(turns.settled_line(1, 0x1000, 1, false).is_none());
}

const FINE: Grain = Grain::Fine(Quanta { contended: 5, private: 200 });

/// Gives turns to the CPUs in that many rounds. `block` returns the instructions of a CPU's
/// next block and the cost of its transfers.
fn fine_rounds(turns: &mut Turns, rounds: usize, mut block: impl FnMut(usize) -> (u64, u64)) {
    for _ in 0..rounds {
        for cpu in 0..turns.cpus.len() {
            while turns.clock(cpu) < 1_000_000 {
                let (instructions, cost) = block(cpu);
                match turns.advance(cpu, instructions) {
                    Step::Runs => turns.pay(cost, 0, true),
                    Step::Refused => break,
                    Step::Last => panic!("a fine turn ends before a block"),
                }
            }
        }
    }
}

#[test]
fn a_line_that_all_write_moves_each_time() {
    for cpus in [2, 3, 8] {
        let mut turns = Turns::new(cpus, FINE);
        turns.begin();
        let (mut owner, mut writes, mut moves) = (usize::MAX, 0, 0);
        for round in 0..200 {
            // Until all have had a turn, none is limited by the others, and then the slow ones
            // catch up.
            if round == 100 {
                (writes, moves) = (0, 0);
            }
            for cpu in 0..cpus {
                while turns.advance(cpu, 4) == Step::Runs {
                    writes += 1;
                    if owner != cpu {
                        owner = cpu;
                        moves += 1;
                        turns.pay(100, 0, true);
                    }
                }
            }
        }
        assert!(writes > 100 && moves == writes, "{cpus} CPUs: {moves} of {writes}");
    }
}

/// Delays with which a request takes 75 of the 100 clocks of a transfer.
const REQUESTS: Delays = Delays { atomic: 0, request_percent: 75, wake: 0, interrupt: 0, entry: 0 };

#[test]
fn a_cpu_uses_a_contended_line_until_the_other_cpus_request_arrives() {
    let quanta = Quanta { contended: 75, private: 200 };
    let mut turns = Turns::new(2, Grain::Fine(quanta)).with(REQUESTS);
    turns.begin();
    let (mut owner, mut writes, mut moves) = (usize::MAX, 0u64, 0u64);
    for _ in 0..200 {
        for cpu in 0..2 {
            while turns.advance(cpu, 5) == Step::Runs {
                turns.pay_atomic(7);
                writes += 1;
                if owner != cpu {
                    owner = cpu;
                    moves += 1;
                    turns.pay(100, 7, true);
                }
            }
        }
    }
    // A CPU requests the line again when it loses it. The other CPU gets it 25 clocks later,
    // and loses it when the request arrives, after 75. So a CPU has the line for 50 clocks,
    // which are ten writes, and the line moves every 75.
    let each = writes as f64 / moves as f64;
    assert!((9.0..=12.0).contains(&each), "{each} writes for each transfer");
    let time = turns.clock(0).max(turns.clock(1)) as f64 / moves as f64;
    assert!((70.0..=85.0).contains(&time), "{time} clocks for each transfer");
    assert_eq!(turns.spent().transfers, moves * 100);
}

#[test]
fn passing_a_turn_takes_a_request_and_a_transfer() {
    let mut turns = Turns::new(2, Grain::Fine(Quanta { contended: 75, private: 200 })).with(REQUESTS);
    turns.begin();
    // A word with the number of the CPU whose turn it is. Each CPU reads it and pauses, or
    // writes it.
    let (mut word, mut copies, mut passed) = (0, [false; 2], 0);
    while passed < 100 {
        for cpu in 0..2 {
            while turns.advance(cpu, 4) == Step::Runs {
                if !copies[cpu] {
                    copies[cpu] = true;
                    turns.pay(100, 7, false);
                }
                if word != cpu {
                    turns.wait(cpu, false);
                    break;
                }
                turns.pay(100, 7, true);
                (word, copies, passed) = (1 - cpu, [cpu == 0, cpu == 1], passed + 1);
            }
        }
    }
    let each = turns.clock(0).max(turns.clock(1)) / passed;
    // The line leaves the waiting CPU after 75 clocks. That CPU requests it again at once, and
    // has it after another 100.
    assert!((170..=185).contains(&each), "{each} clocks for each pass");
}

/// A ticket lock that two CPUs acquire and release, one block of instructions at a time.
struct TicketLock {
    turns: Turns,
    cpus: [faultline_coherence::Cpu<'static>; 2],
    next: u64,
    serving: u64,
}

impl TicketLock {
    const NEXT: u64 = 0x1000;
    const SERVING: u64 = 0x2000;

    fn access(&mut self, cpu: usize, address: u64, kind: Kind) {
        let line = address / 64;
        if kind == Kind::Atomic {
            self.turns.pay_atomic(line);
        }
        let access = Access { address, size: 4, kind, site: address, context: Context::User, contents: false };
        let cost = self.cpus[cpu].access(&access);
        self.turns.pay(cost, line, kind != Kind::Read);
    }

    /// Runs a block of a CPU that has this ticket, or none. Returns the ticket that it has
    /// after it, and true if it released the lock.
    fn block(&mut self, cpu: usize, ticket: Option<u64>) -> (Option<u64>, bool) {
        let Some(ticket) = ticket else {
            self.access(cpu, Self::NEXT, Kind::Atomic);
            self.next += 1;
            return (Some(self.next - 1), false);
        };
        self.access(cpu, Self::SERVING, Kind::Read);
        if self.serving != ticket {
            self.turns.wait(cpu, false);
            return (Some(ticket), false);
        }
        self.access(cpu, Self::SERVING, Kind::Write);
        self.serving += 1;
        (None, true)
    }
}

#[test]
fn a_ticket_lock_that_two_cpus_want_is_handed_over_each_time() {
    let delays = Delays { atomic: 20, ..REQUESTS };
    let costs = faultline_coherence::Costs { same_cache: 100, same_socket: 100, other_socket: 100, memory: 0 };
    let machine = Machine::with(Topology::new(2, 1, 2).unwrap(), costs, None).unwrap();
    let machine: &'static Machine = Box::leak(Box::new(machine));
    let turns = Turns::new(2, Grain::Fine(Quanta { contended: 75, private: 200 })).with(delays);
    let mut lock = TicketLock { turns, cpus: [machine.cpu(0), machine.cpu(1)], next: 0, serving: 0 };
    lock.turns.begin();
    let (mut tickets, mut released) = ([None; 2], 0);
    while released < 1000 {
        for (cpu, ticket) in tickets.iter_mut().enumerate() {
            while lock.turns.advance(cpu, 4) == Step::Runs {
                let (next, has_released) = lock.block(cpu, *ticket);
                *ticket = next;
                released += u64::from(has_released);
                if lock.turns.is_waiting {
                    break;
                }
            }
        }
    }
    // One CPU takes the line of the word on which the other waits: a request of 75 clocks. The
    // other reads it: a transfer of 100. The line of the tickets moves meanwhile.
    let each = lock.turns.clock(0).max(lock.turns.clock(1)) / released;
    assert!((150..=200).contains(&each), "{each} clocks for each acquisition");
}

#[test]
fn waking_an_interrupt_an_entry_and_an_atomic_take_their_time() {
    let delays = Delays { atomic: 3, request_percent: 75, wake: 10_000, interrupt: 500, entry: 40 };
    let mut turns = Turns::new(2, Grain::Coarse(1000)).with(delays);
    turns.begin();
    rounds(&mut turns, 3, |cpu, _| Some((10, cpu == 0)));
    let before = turns.clock(1);
    rounds(&mut turns, 1, |cpu, _| (cpu == 1).then_some((10, true)));
    assert!(turns.clock(1) >= before + 10_000, "{before} {}", turns.clock(1));
    let spent = turns.spent();
    assert_eq!((spent.wakes, spent.times_woken), (spent.times_woken * 10_000, 3));
    let clock = turns.clock(1);
    turns.pay_atomic(0);
    turns.pay_interrupt();
    turns.pay_entry();
    assert_eq!(turns.clock(1), clock + 543);
    let after = turns.spent();
    assert_eq!((after.atomics, after.interrupts, after.entries, after.times_interrupted), (3, 500, 40, 1));
}

#[test]
fn a_cpu_that_pays_more_gets_fewer_turns() {
    let mut turns = Turns::new(3, FINE);
    turns.begin();
    let mut blocks = [0; 3];
    for _ in 0..3000 {
        for (cpu, blocks) in blocks.iter_mut().enumerate() {
            while turns.advance(cpu, 10) == Step::Runs {
                *blocks += 1;
                turns.pay(if cpu == 2 { 390 } else { 90 }, 0, true);
            }
        }
    }
    assert!(blocks[2] > 100 && (3.9..4.1).contains(&(f64::from(blocks[0]) / f64::from(blocks[2]))), "{blocks:?}");
    let clocks = [0, 1, 2].map(|cpu| turns.clock(cpu));
    assert!(clocks.iter().max().unwrap() - clocks.iter().min().unwrap() <= 500, "{clocks:?}");
}

#[test]
fn private_work_stays_within_the_private_quantum() {
    let mut turns = Turns::new(4, FINE);
    turns.begin();
    for _ in 0..100 {
        fine_rounds(&mut turns, 1, |cpu| (1 + cpu as u64, 0));
        let clocks: Vec<u64> = (0..4).map(|cpu| turns.clock(cpu)).collect();
        assert!(clocks.iter().max().unwrap() - clocks.iter().min().unwrap() <= 204, "{clocks:?}");
    }
    assert!(turns.clock(0) > 10_000);
}

#[test]
fn one_that_waits_is_taken_along_at_a_fine_grain_too() {
    let mut turns = Turns::new(2, FINE);
    turns.begin();
    for _ in 0..100 {
        while turns.advance(0, 10) == Step::Runs {}
        if turns.advance(1, 5) == Step::Runs {
            turns.wait(1, true);
        }
    }
    assert!(turns.clock(0) > 10_000 && turns.clock(1) + 600 > turns.clock(0), "{} {}", turns.clock(0), turns.clock(1));
}

#[test]
fn time_in_waiting_loops_is_noted_and_that_of_halted_cpus_is_not() {
    for halts in [false, true] {
        let mut turns = Turns::new(2, FINE);
        turns.begin();
        for _ in 0..100 {
            while turns.advance(0, 10) == Step::Runs {}
            if turns.advance(1, 5) == Step::Runs {
                turns.wait(1, halts);
            }
        }
        let (waits, clock) = (turns.spent().waits, turns.clock(1));
        assert!(if halts { waits == 0 } else { waits > clock / 2 && waits < clock }, "{halts}: {waits} of {clock}");
    }
}

#[test]
fn only_a_turn_that_ended_before_a_refused_block_is_skipped() {
    let mut turns = Turns::new(2, FINE);
    turns.begin();
    assert!(!turns.skips(0), "it has had no turn");
    for _ in 0..3 {
        for cpu in 0..2 {
            while turns.advance(cpu, 10) == Step::Runs {
                turns.pay(1000 * cpu as u64, 0, true);
            }
        }
    }
    let before = [0, 1].map(|cpu| turns.clock(cpu));
    assert!(!turns.skips(0) && turns.skips(1), "{before:?}");
    assert_eq!([0, 1].map(|cpu| turns.clock(cpu)), before);
    assert!(turns.advance(0, 10) == Step::Runs && turns.skips(1));
    // It halts: when it is woken, its next block is another one.
    assert_eq!(turns.advance(0, 10), Step::Runs);
    turns.wait(0, true);
    assert!(turns.skips(1) && !turns.skips(0));
}
