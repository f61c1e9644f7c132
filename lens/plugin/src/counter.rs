// SPDX-License-Identifier: GPL-2.0-or-later
//! The counts of one CPU: its part of the cache model, its instructions and its accesses, and the
//! addresses at which it reached lines.

use crate::instruction::Site;
use crate::nest::Nest;
use crate::processes::ProgramId;
use crate::settled::Words;
use faultline_coherence::{Access, Cpu, Kind, LINE_BYTES, Work};
use std::collections::BTreeMap;

/// The counts of one CPU.
#[derive(Debug)]
pub(crate) struct Counter {
    /// Its caches and transfers.
    pub(crate) cpu: Cpu<'static>,
    /// The addresses at which a machine's program reached lines that moved.
    pub(crate) reached: Reached,
    /// Instructions started, of counted code, in the part of the counts to which the present
    /// context belongs, of the present program. Accesses to memory, likewise; an atomic
    /// read-modify-write counts as one.
    words: &'static Words,
    /// Instructions and accesses of the other part, and of other programs.
    apart: BTreeMap<(Work, ProgramId), (u64, u64)>,
    /// The program that the CPU runs.
    program: ProgramId,
    /// Its processes are counted.
    is_chosen: bool,
    /// Capacity misses of counted code, in operations and in interrupts.
    capacity_misses: (u64, u64),
    /// Interrupts that the CPU is in. Change it only with [`Counter::change_context`].
    nest: Nest,
    /// An atomic instruction has loaded from this address and will store to it.
    store_to_come: Option<(Site, u64)>,
}

impl Counter {
    /// A counter with zero counts, in words of its own.
    #[cfg(test)]
    pub(crate) fn new(cpu: Cpu<'static>) -> Self {
        Counter::with(cpu, Box::leak(Box::default()))
    }

    /// A counter with zero counts, in the words of the CPU's turn.
    pub(crate) fn with(cpu: Cpu<'static>, words: &'static Words) -> Self {
        Counter {
            cpu,
            reached: Reached::default(),
            words,
            apart: BTreeMap::new(),
            program: 0,
            is_chosen: true,
            capacity_misses: (0, 0),
            nest: Nest::default(),
            store_to_come: None,
        }
    }

    /// Counts instructions of the present part.
    #[inline]
    pub(crate) fn add_instructions(&self, instructions: u64) {
        self.words.instructions.set(self.words.instructions.get() + instructions);
    }

    /// Counts an access of the present part, unless its code `is_counted` is false.
    #[inline]
    pub(crate) fn add_access(&self, is_counted: bool) {
        self.words.accesses.set(self.words.accesses.get() + u64::from(is_counted));
    }

    /// True if the CPU is in an interrupt.
    #[inline]
    pub(crate) fn is_in_interrupt(&self) -> bool {
        self.nest.is_in_interrupt()
    }

    /// Changes the interrupts that the CPU is in. Later counts go to the part of the new context.
    pub(crate) fn change_context(&mut self, change: impl FnOnce(&mut Nest)) {
        let before = self.part();
        change(&mut self.nest);
        self.leave(before);
    }

    /// Changes the program that the CPU runs. `is_chosen`: its processes are counted.
    pub(crate) fn run(&mut self, program: ProgramId, is_chosen: bool) {
        let before = self.part();
        (self.program, self.is_chosen) = (program, is_chosen);
        self.cpu.run(program);
        self.leave(before);
    }

    /// True if the processes of the present program are counted.
    #[inline]
    pub(crate) fn is_chosen(&self) -> bool {
        self.is_chosen
    }

    /// The part to which later counts belong.
    fn part(&self) -> (Work, ProgramId) {
        (if self.is_in_interrupt() { Work::Interrupt } else { Work::Operation }, self.program)
    }

    /// Puts the counts of the part `before` aside, unless it is still the present one.
    fn leave(&mut self, before: (Work, ProgramId)) {
        if before != self.part() {
            let (instructions, accesses) = self.apart.remove(&self.part()).unwrap_or_default();
            let counts = (self.words.instructions.replace(instructions), self.words.accesses.replace(accesses));
            self.apart.insert(before, counts);
        }
    }

    /// Notes the beginning of a block. Returns true if the CPU has come from user mode into the
    /// kernel.
    #[inline]
    pub(crate) fn enters_kernel(&mut self, is_user: bool) -> bool {
        self.words.is_user.replace(is_user.into()) != 0 && !is_user
    }

    /// Instructions and accesses of a part, of the programs that are `counted`.
    pub(crate) fn done(&self, work: Work, counted: impl Fn(ProgramId) -> bool) -> (u64, u64) {
        let now = (self.part(), (self.words.instructions.get(), self.words.accesses.get()));
        let all = self.apart.iter().map(|(&part, &counts)| (part, counts)).chain([now]);
        let wanted = all.filter(|&((of, program), _)| of == work && counted(program));
        wanted.fold((0, 0), |sum, (_, counts)| (sum.0 + counts.0, sum.1 + counts.1))
    }

    /// Capacity misses of a part, in counted code.
    pub(crate) fn capacity_misses(&self, work: Work) -> u64 {
        match work {
            Work::Operation => self.capacity_misses.0,
            Work::Interrupt => self.capacity_misses.1,
        }
    }

    /// The kind of access of an instruction's load or store; `None` for the second half of an
    /// earlier access.
    ///
    /// If several threads run, QEMU executes an atomic read-modify-write in a helper and reports
    /// one store. If there is only one thread, it reports a load and then a store. Both count as
    /// one atomic access, at the first event.
    #[inline]
    pub(crate) fn kind(&mut self, site: Site, address: u64, is_store: bool) -> Option<Kind> {
        match (site.is_atomic, is_store) {
            (false, false) => Some(Kind::Read),
            (false, true) => Some(Kind::Write),
            (true, is_store) if self.completes(site, address, is_store) => None,
            (true, is_store) => {
                self.begin_atomic(site, address, is_store);
                Some(Kind::Atomic)
            }
        }
    }

    /// True if an atomic instruction's event is the second half of its access, which ends here.
    #[inline]
    pub(crate) fn completes(&mut self, site: Site, address: u64, is_store: bool) -> bool {
        let completes = is_store && self.store_to_come == Some((site, address));
        if completes {
            self.store_to_come = None;
        }
        completes
    }

    /// Notes an atomic instruction's first event.
    #[inline]
    pub(crate) fn begin_atomic(&mut self, site: Site, address: u64, is_store: bool) {
        self.store_to_come = (!is_store).then_some((site, address));
    }

    /// Executes an access in the cache model. Returns its cost in clocks: 0 if the CPU's own cache
    /// has the line in the necessary state. `is_counted`: the access is made by counted code.
    #[inline]
    pub(crate) fn access(&mut self, access: &Access, is_counted: bool) -> u64 {
        let work = access.context.work();
        let before = self.cpu.capacity_misses(work);
        let cost = self.cpu.access(access);
        if is_counted {
            let counted = match work {
                Work::Operation => &mut self.capacity_misses.0,
                Work::Interrupt => &mut self.capacity_misses.1,
            };
            *counted += self.cpu.capacity_misses(work) - before;
        }
        cost
    }
}

/// The virtual addresses at which a machine's program reached lines that moved, by the lines'
/// numbers. Lines of programs are counted by their place in the machine's memory; their names
/// follow from the addresses that the program used.
#[derive(Debug, Default)]
pub(crate) struct Reached(BTreeMap<u64, u64>);

impl Reached {
    /// Notes that a byte with the number `place` was reached at `address`. Keeps the first address
    /// of a line.
    pub(crate) fn note(&mut self, place: u64, address: u64) {
        self.0.entry(place / LINE_BYTES).or_insert(address & !(LINE_BYTES - 1));
    }

    /// The virtual address of the line's first byte.
    pub(crate) fn address(&self, line: u64) -> Option<u64> {
        self.0.get(&line).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_coherence::{Caches, Context, Costs, Machine, Topology};

    fn accesses(counter: &Counter) -> u64 {
        done(counter, Work::Operation).1
    }

    /// Counts a load or store of 8 bytes at a fixed address.
    fn event(counter: &mut Counter, is_atomic: bool, is_store: bool) -> u64 {
        let (address, site) = (0x1000, Site { address: 0x40_1000, is_atomic });
        let kind = counter.kind(site, address, is_store);
        let access =
            |kind| Access { address, size: 8, kind, site: site.address, context: Context::User, contents: false };
        kind.map_or(0, |kind| {
            counter.add_access(true);
            counter.access(&access(kind), true)
        })
    }

    #[test]
    fn a_load_and_a_store_of_one_atomic_are_one_access() {
        let machine: &'static Machine = Box::leak(Box::new(Machine::new(Topology::new(2, 1, 2).unwrap())));
        let (mut one, mut other) = (Counter::new(machine.cpu(0)), Counter::new(machine.cpu(1)));
        event(&mut one, true, false);
        event(&mut one, true, true);
        assert_eq!(accesses(&one), 1);
        assert_eq!(event(&mut other, true, false), 1);
        assert_eq!(event(&mut other, true, true), 0);
        assert_eq!(event(&mut one, true, true), 1);
        assert_eq!((accesses(&one), accesses(&other)), (2, 1));
        assert!(one.cpu.tally().iter().all(|(key, _)| key.atomic));
    }

    #[test]
    fn plain_loads_and_stores_are_two() {
        let machine: &'static Machine = Box::leak(Box::new(Machine::new(Topology::new(1, 1, 1).unwrap())));
        let mut counter = Counter::new(machine.cpu(0));
        event(&mut counter, false, false);
        event(&mut counter, false, true);
        assert_eq!(accesses(&counter), 2);
    }

    #[test]
    fn only_counted_code_has_capacity_misses() {
        let caches = Some(Caches { lines: 1, ways: 1 });
        let machine = Machine::with(Topology::new(1, 1, 1).unwrap(), Costs::ONE_EACH, caches).unwrap();
        let mut counter = Counter::new(Box::leak(Box::new(machine)).cpu(0));
        let mut read = |address, context, is_counted| {
            let access = Access { address, size: 8, kind: Kind::Write, site: 0x1000, context, contents: false };
            counter.access(&access, is_counted)
        };
        // Each line evicts the previous one.
        read(0x1000, Context::User, true);
        read(0x2000, Context::Kernel, false);
        let again = [read(0x1000, Context::User, true), read(0x2000, Context::Kernel, false)];
        assert_eq!((again, read(0x1000, Context::Interrupt, true)), ([1, 1], 1));
        assert_eq!([Work::Operation, Work::Interrupt].map(|work| counter.capacity_misses(work)), [1, 1]);
        assert_eq!(counter.cpu.capacity_misses(Work::Operation), 2, "the caches are modelled for all code");
    }

    /// Instructions and accesses of all programs.
    fn done(counter: &Counter, work: Work) -> (u64, u64) {
        counter.done(work, |_| true)
    }

    #[test]
    fn programs_are_counted_apart() {
        let machine: &'static Machine = Box::leak(Box::new(Machine::new(Topology::new(1, 1, 1).unwrap())));
        let mut counter = Counter::new(machine.cpu(0));
        for (program, instructions) in [(1, 10), (2, 5), (1, 1)] {
            counter.run(program, program == 1);
            counter.add_instructions(instructions);
            event(&mut counter, false, false);
        }
        assert!(counter.is_chosen());
        let of = |program| counter.done(Work::Operation, |of| of == program);
        assert_eq!([of(0), of(1), of(2)], [(0, 0), (11, 2), (5, 1)]);
        counter.change_context(Nest::enter);
        counter.add_instructions(3);
        assert_eq!((done(&counter, Work::Operation), done(&counter, Work::Interrupt)), ((16, 3), (3, 0)));
    }

    #[test]
    fn what_is_done_in_interrupts_is_counted_apart() {
        let machine: &'static Machine = Box::leak(Box::new(Machine::new(Topology::new(1, 1, 1).unwrap())));
        let mut counter = Counter::new(machine.cpu(0));
        event(&mut counter, false, false);
        counter.add_instructions(10);
        counter.change_context(Nest::enter);
        counter.add_instructions(3);
        counter.change_context(Nest::enter);
        counter.add_instructions(4);
        assert_eq!((done(&counter, Work::Operation), done(&counter, Work::Interrupt)), ((10, 1), (7, 0)));
        counter.change_context(Nest::leave_kernel);
        counter.add_instructions(1);
        event(&mut counter, false, false);
        assert_eq!((done(&counter, Work::Operation), done(&counter, Work::Interrupt)), ((11, 2), (7, 0)));
    }

    #[test]
    fn the_first_address_of_a_line_is_kept() {
        let mut reached = Reached::default();
        reached.note(0x1008, 0x7fff_0048);
        reached.note(0x1010, 0x5555_0050);
        assert_eq!((reached.address(0x40), reached.address(0x41)), (Some(0x7fff_0040), None));
    }
}
