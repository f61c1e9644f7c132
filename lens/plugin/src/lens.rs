// SPDX-License-Identifier: GPL-2.0-or-later
//! State shared by the callbacks: the counters, the clocks, and the state of counting.

use crate::address::{AddressSpace, FIXED_MAP, KERNEL};
use crate::arguments::Arguments;
use crate::counter::Counter;
use crate::icount::Icount;
use crate::inspector;
use crate::instruction::{BlockStart, Shows, Site};
use crate::nest::Nest;
use crate::processes::{Processes, ProgramId};
use crate::qemu::{EventWords, PluginId, Qemu};
use crate::region;
use crate::registers::Registers;
use crate::samples::{Sample, Samples};
use crate::scheduler::{Housekeeping, OneThread, Scheduler};
use crate::settled;
use crate::turns::{Step, Turns};
use faultline_coherence::{Access, Context, Kind, LINE_BYTES, Machine, Work};
use std::collections::HashSet;
use std::fmt::Display;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

/// The lens of this process; set at installation.
pub(crate) static LENS: OnceLock<Lens> = OnceLock::new();

/// State shared by the callbacks.
///
/// The flags are atomics with relaxed ordering: a thread that reads one late counts a few
/// translation blocks more or fewer at a mark. Where a late read would matter, QEMU orders it: it
/// re-registers callbacks, and calls the last one, with all CPUs stopped, under its own locks.
pub(crate) struct Lens {
    pub(crate) qemu: Qemu,
    pub(crate) id: PluginId,
    pub(crate) arguments: Arguments,
    pub(crate) machine: OneThread<&'static Machine>,
    /// The clocks of the CPUs, and whose turn it is.
    pub(crate) turns: OneThread<Turns>,
    /// Ends turns.
    pub(crate) scheduler: Scheduler,
    pub(crate) machine_parts: MachineParts,
    pub(crate) space: AddressSpace,
    /// Addresses at which interrupts enter the kernel. Set before anything is instrumented;
    /// contains `None` if QEMU does not provide them, or if the kernel is not counted.
    pub(crate) handlers: OnceLock<Option<HashSet<u64>>>,
    pub(crate) registers: Registers,
    /// The programs that CPUs run. Known only if a program is counted.
    pub(crate) processes: OneThread<Processes>,
    /// A sample of the transfers, each with the stack of its CPU.
    pub(crate) samples: OneThread<Samples>,
    event_words: EventWords,
    counters: Box<[OneThread<Counter>]>,
    /// Accesses are counted at the moment.
    is_counting: AtomicBool,
    /// Callbacks for all accesses are needed: from the first begin mark on.
    is_instrumenting: AtomicBool,
    regions: AtomicU32,
    /// Number of regions that ended with a call of the function named for it.
    ended_by_call: AtomicU32,
    /// Number of settled accesses that were compared with the model.
    pub(crate) checked: AtomicU64,
}

/// The code that ends a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndedBy {
    /// A mark in counted code.
    Mark,
    /// A mark of the agent. Its memory is not the program's.
    AgentsMark,
    /// A call of the function named for it, by a counted process.
    Call,
}

/// The parts of QEMU to change so that the machine repeats itself.
#[derive(Clone, Copy)]
pub(crate) struct MachineParts {
    pub(crate) icount: Icount,
    pub(crate) housekeeping: Housekeeping,
}

impl Lens {
    /// A lens that does not count yet.
    pub(crate) fn new(
        qemu: Qemu,
        id: PluginId,
        arguments: Arguments,
        machine: Machine,
        scheduler: Scheduler,
        machine_parts: MachineParts,
        registers: Registers,
    ) -> Self {
        // Never freed: the CPUs borrow it until the process ends.
        let machine: &'static Machine = Box::leak(Box::new(machine));
        let cpus = arguments.topology.cpus();
        let turns = Turns::new(cpus.into(), arguments.grain()).with(arguments.delays());
        let counter = |cpu: u16| Counter::with(machine.cpu(cpu), turns.settled.words(cpu.into()));
        Lens {
            event_words: EventWords::new(&qemu),
            samples: OneThread::new(Samples::new(arguments.most_samples)),
            qemu,
            id,
            scheduler,
            machine_parts,
            registers,
            processes: OneThread::new(Processes::new(cpus.into())),
            handlers: OnceLock::new(),
            space: AddressSpace::new(arguments.addresses),
            counters: (0..cpus).map(|cpu| OneThread::new(counter(cpu))).collect(),
            turns: OneThread::new(turns),
            is_counting: AtomicBool::new(false),
            // The agent of a program in a machine begins its region with a mark.
            is_instrumenting: AtomicBool::new(arguments.whole && !arguments.selection.is_program()),
            regions: AtomicU32::new(0),
            ended_by_call: AtomicU32::new(0),
            checked: AtomicU64::new(0),
            machine: OneThread::new(machine),
            arguments,
        }
    }

    /// True if a region mark at that address begins or ends a region.
    pub(crate) fn obeys_mark(&self, code: u64) -> bool {
        self.arguments.selection.obeys_mark(code, self.arguments.whole)
    }

    /// Notes a begin mark that was executed before anything was instrumented. Returns true for the
    /// first one: the callbacks must be registered again.
    pub(crate) fn arm(&self) -> bool {
        // Relaxed: see the struct.
        !self.is_instrumenting.swap(true, Relaxed)
    }

    /// True if callbacks for all accesses are needed.
    pub(crate) fn is_instrumenting(&self) -> bool {
        // Relaxed: see the struct.
        self.is_instrumenting.load(Relaxed)
    }

    /// True if interrupts are recognised. They are not if the kernel is not counted.
    pub(crate) fn knows_interrupts(&self) -> bool {
        self.arguments.selection.counts(KERNEL) && self.handlers.get().is_some_and(Option::is_some)
    }

    /// True if the programs that CPUs run are recognised.
    pub(crate) fn knows_processes(&self) -> bool {
        self.arguments.selection.is_program()
    }

    /// Notes that a CPU runs a program from now on.
    pub(crate) fn run(&self, cpu: u32, program: ProgramId) {
        let Some(counter) = self.counters.get(cpu as usize) else { return };
        // SAFETY: this is called in a CPU's callback, and the loans end at once.
        let (counter, processes) = unsafe { (counter.lend(), self.processes.lend()) };
        counter.run(program, self.arguments.chooses(processes, program));
    }

    /// The running CPU. Call in a callback of a CPU. The number that QEMU passes to its callbacks
    /// may be another CPU's.
    #[inline]
    pub(crate) fn running_cpu(&self) -> u32 {
        // SAFETY: this is called in callbacks of a CPU.
        unsafe { self.scheduler.running_cpu() }.unwrap_or_else(|error| fail(error))
    }

    /// True if a CPU runs a process that is counted.
    pub(crate) fn is_chosen(&self, cpu: u32) -> bool {
        // SAFETY: this is called in a CPU's callback, and the loan ends at once.
        self.counters.get(cpu as usize).is_some_and(|counter| unsafe { counter.lend() }.is_chosen())
    }

    /// The evidence that a block at an address gives of the interrupts that its CPU is in.
    pub(crate) fn shows(&self, address: u64) -> Shows {
        match self.handlers.get().and_then(Option::as_ref) {
            Some(handlers) if handlers.contains(&address) => Shows::Handler,
            Some(_) if address < KERNEL => Shows::User,
            _ => Shows::Nothing,
        }
    }

    /// Starts counting. A machine that ends with its first region begins no other.
    pub(crate) fn start(&self) {
        // Relaxed, all: see the struct.
        if self.is_counting.load(Relaxed) || self.arguments.once && self.regions() > 0 {
            return;
        }
        // SAFETY: a mark's callback is a CPU's; otherwise this is installation or reset.
        unsafe { self.turns.lend() }.begin();
        self.regions.fetch_add(1, Relaxed);
        self.is_counting.store(true, Relaxed);
    }

    /// Ends counting. The page table of the CPU is reported if it runs a counted process: names of
    /// allocations come from there.
    pub(crate) fn stop(&self, by: EndedBy) {
        // Relaxed: see the struct.
        if self.is_counting.swap(false, Relaxed) {
            // Relaxed: a count.
            self.ended_by_call.fetch_add(u32::from(by == EndedBy::Call), Relaxed);
            // SAFETY: a mark's callback is a CPU's.
            unsafe { self.turns.lend() }.end();
            // Relaxed: see the struct.
            if region::is_end_shown(self.regions.load(Relaxed)) {
                // SAFETY: a mark's callback is a CPU's.
                let cpu = unsafe { self.scheduler.running_cpu() }.unwrap_or_else(|error| fail(error));
                let is_counted = by != EndedBy::AgentsMark && self.is_chosen(cpu);
                self.show_end(inspector::page_table(cpu as u16).filter(|_| is_counted));
            }
            if self.arguments.once {
                // SAFETY: this process may send itself a signal. QEMU handles it on its main thread
                // and ends the machine as if it were switched off; the CPU threads block signals.
                unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
            }
        }
    }

    /// Ends counting at the end of the machine. If it is within a region, this is the region's end.
    pub(crate) fn end(&self) {
        // Relaxed: see the struct.
        if self.is_counting.load(Relaxed) {
            // No CPU runs.
            self.show_end(None);
        }
    }

    /// Lets another process inspect the machine's memory. All CPUs stand still meanwhile, because
    /// they share this thread.
    fn show_end(&self, page_table: Option<u64>) {
        if let Some(Err(error)) = self.arguments.region_end.as_ref().map(|end| end.show(page_table)) {
            say(format_args!("cannot report the end of the region: {error}"));
        }
    }

    /// The clocks of a machine's CPUs while accesses are counted.
    ///
    /// # Safety
    /// Call on the thread of the CPUs while no callback runs. Return the loan before the next
    /// callback.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn turns_in_region(&self) -> Option<&mut Turns> {
        // SAFETY: as the caller promises.
        let turns = || unsafe { self.turns.lend() };
        // Relaxed: see the struct.
        self.is_counting.load(Relaxed).then(turns)
    }

    /// Notes that a CPU begins a translation block. Returns false if the block must not run now:
    /// call [`Lens::refuse_block`].
    #[inline]
    #[must_use]
    pub(crate) fn begin_block(&self, cpu: u32, block: BlockStart) -> bool {
        let Some(counter) = self.counting(cpu) else { return true };
        let instructions = u64::from(block.instructions);
        // SAFETY: this is a CPU's callback, and the loan ends at once.
        match unsafe { self.turns.lend() }.advance(cpu as usize, instructions) {
            Step::Runs => {}
            Step::Last => self.scheduler.end_turn(cpu),
            Step::Refused => return false,
        }
        // SAFETY: this is a CPU's callback, and the loan ends with it.
        let counter = unsafe { counter.lend() };
        if counter.enters_kernel(block.is_user) {
            // SAFETY: as above.
            unsafe { self.turns.lend() }.pay_entry();
        }
        // A refused block gives its evidence when it runs.
        match block.shows {
            Shows::Nothing => {}
            Shows::Handler => {
                counter.change_context(Nest::enter);
                // SAFETY: as above.
                unsafe { self.turns.lend() }.pay_interrupt();
            }
            Shows::User => counter.change_context(Nest::leave_kernel),
        }
        if block.is_counted {
            counter.add_instructions(instructions);
        }
        true
    }

    /// Leaves a block that [`Lens::begin_block`] refused. `return_address`: of the block's
    /// callback.
    ///
    /// # Safety
    /// As for [`crate::scheduler::Scheduler::refuse_block`].
    #[cold]
    pub(crate) unsafe fn refuse_block(&self, cpu: u32, return_address: usize) {
        // SAFETY: as the caller promises.
        unsafe { self.scheduler.refuse_block(cpu, return_address) };
    }

    /// Changes the interrupts that a CPU is in.
    pub(crate) fn change_context(&self, cpu: u32, change: impl FnOnce(&mut Nest)) {
        if let Some(counter) = self.counting(cpu) {
            // SAFETY: this is a CPU's callback, and the loan ends at once.
            unsafe { counter.lend() }.change_context(change);
        }
    }

    /// Notes that a CPU is about to pause or to halt.
    pub(crate) fn wait(&self, cpu: u32, halts: bool) {
        if self.counting(cpu).is_some() {
            // SAFETY: this is a CPU's callback, and the loan ends at once.
            unsafe { self.turns.lend() }.wait(cpu as usize, halts);
        }
    }

    /// Counts a memory access of the running CPU.
    ///
    /// Nearly all accesses finish here, so this function makes no calls. If it is the CPU's turn,
    /// accesses are being counted.
    #[inline]
    pub(crate) fn access_in_turn(&self, cpu: u32, info: u32, address: u64, site: Site) {
        if let Some(counter) = self.counters.get(cpu as usize)
            // A user address may lead elsewhere later; kernel addresses do not.
            && self.space.is_fixed(address)
            && let Some((size, is_store)) = self.event_words.known(info)
        {
            // SAFETY: this is a CPU's callback, and the loans end with it.
            let (counter, turns) = unsafe { (counter.lend(), self.turns.lend()) };
            if site.is_atomic && counter.completes(site, address, is_store) {
                return;
            }
            let writes = is_store || site.is_atomic;
            if let Some(line) = turns.settled_line(cpu as usize, address, size, writes) {
                counter.add_access(self.arguments.selection.counts(site.address));
                if site.is_atomic {
                    counter.begin_atomic(site, address, is_store);
                    turns.pay_atomic(line);
                }
                return;
            }
        }
        self.access_in_turn_closely(cpu, info, address, site);
    }

    /// Compares an access that translated code found settled with the model. Ends the emulator if
    /// they disagree.
    #[cold]
    pub(crate) fn check_hit(&self, cpu: u32, info: u32, address: u64, site: Site) {
        let agrees = || {
            // SAFETY: this is a CPU's callback, and the loans end with it.
            let (counter, turns) = unsafe { (self.counting(cpu)?.lend(), self.turns.lend()) };
            let (size, is_store) = self.event_words.known(info)?;
            let place = self.space.locate(&self.qemu, info, address)?;
            let bytes = settled::bytes(address, size)?;
            let is_settled = counter.cpu.grant(place.address / LINE_BYTES).allows(bytes, is_store);
            (is_settled && self.space.is_fixed(address) && !site.is_atomic && !turns.is_over(cpu as usize))
                .then_some(())
        };
        if agrees().is_none() {
            fail(format_args!("the emulator left out an access of CPU {cpu} to {address:#x} at {:#x}", site.address));
        }
        // Relaxed: see the struct.
        self.checked.fetch_add(1, Relaxed);
    }

    #[inline(never)]
    fn access_in_turn_closely(&self, cpu: u32, info: u32, address: u64, site: Site) {
        let Some(counter) = self.counting(cpu) else { return };
        // SAFETY: this is a CPU's callback, and the loans end with it.
        let (counter, turns) = unsafe { (counter.lend(), self.turns.lend()) };
        // A string instruction may continue in a turn in which no translation block has begun.
        if turns.is_over(cpu as usize) && turns.advance(cpu as usize, 0) != Step::Runs {
            self.scheduler.end_turn(cpu);
        }
        let Some(place) = self.space.locate(&self.qemu, info, address) else { return };
        let name = if self.space.is_fixed(address) { address } else { settled::name_of_place(place.address) };
        let (size, is_store) = self.event_words.meaning(&self.qemu, info);
        let size = AddressSpace::located_bytes(address, size);
        let Some(kind) = counter.kind(site, name, is_store) else { return };
        let is_counted = self.arguments.selection.counts(site.address);
        counter.add_access(is_counted);
        let is_counted = is_counted && counter.is_chosen();
        if kind == Kind::Atomic {
            turns.pay_atomic(place.address / LINE_BYTES);
        }
        if turns.settled_line(cpu as usize, name, size, kind != Kind::Read).is_some() {
            return;
        }
        let access = Access {
            address: place.address,
            size,
            kind,
            site: site.address,
            context: match () {
                _ if site.address < KERNEL => Context::User,
                _ if counter.is_in_interrupt() => Context::Interrupt,
                _ => Context::Kernel,
            },
            contents: place.contents,
        };
        let cost = counter.access(&access, is_counted);
        if cost != 0 && is_counted && !self.space.is_fixed(address) {
            counter.reached.note(place.address, address);
        }
        if cost != 0 && is_counted && access.context.work() == Work::Operation {
            self.sample(counter, cpu, site);
        }
        let line = place.address / LINE_BYTES;
        turns.pay(cost, line, kind != Kind::Read);
        let table = &mut turns.settled;
        counter.cpu.evicted().iter().for_each(|&gone| table.forget(cpu as usize, gone));
        counter.cpu.disturbed().for_each(|disturbance| table.disturb(cpu as usize, disturbance));
        // Its second part may have opened a question about the next line, which the next access has
        // to answer.
        if place.address % LINE_BYTES + u64::from(size) > LINE_BYTES {
            table.forget(cpu as usize, line + 1);
        }
        // The fixed map may lead elsewhere later.
        if name < FIXED_MAP {
            table.put(cpu as usize, name, line, counter.cpu.grant(line));
        }
    }

    /// Keeps the stack of the CPU if a transfer by its last access belongs to the sample.
    fn sample(&self, counter: &Counter, cpu: u32, site: Site) {
        // SAFETY: this is a CPU's callback, and the loan ends with it.
        let samples = unsafe { self.samples.lend() };
        for &line in counter.cpu.moved() {
            if samples.note() {
                // SAFETY: this is the callback of an access of the CPU that runs, registered to
                // read registers.
                let (registers, stack) = unsafe { self.registers.state() }.unwrap_or_else(|error| fail(error));
                samples.keep(Sample { cpu, site: site.address, line, registers, stack });
            }
        }
    }

    /// Number of regions of interest begun; 0 if no mark was executed.
    pub(crate) fn regions(&self) -> u32 {
        // Relaxed: see the struct.
        self.regions.load(Relaxed)
    }

    /// Number of regions that ended with a call; `None` without a function for it.
    pub(crate) fn ended_by_call(&self) -> Option<u32> {
        // Relaxed: a count.
        self.arguments.to.as_ref().map(|_| self.ended_by_call.load(Relaxed))
    }

    /// All counters, by CPU.
    ///
    /// # Safety
    /// Call only in the exit callback.
    pub(crate) unsafe fn counters(&self) -> Vec<&Counter> {
        // SAFETY: no other callback runs any more, as the caller promises.
        self.counters.iter().map(|counter| unsafe { &*counter.lend() }).collect()
    }

    #[inline]
    fn counting(&self, cpu: u32) -> Option<&OneThread<Counter>> {
        // Relaxed: see the struct.
        if !self.is_counting.load(Relaxed) {
            return None;
        }
        self.counters.get(cpu as usize)
    }
}

/// Reports that QEMU is not as expected, and ends the emulator before it can count wrongly. Writes
/// no report.
#[cold]
pub(crate) fn fail(why: impl Display) -> ! {
    say(why);
    // SAFETY: it ends the process at once. Handlers for a normal exit would wait for this thread.
    unsafe { libc::_exit(1) }
}

/// Prints one line on standard error. The program may have closed it, so a failed write is not an
/// error.
pub(crate) fn say(what: impl Display) {
    let _ = writeln!(std::io::stderr(), "faultline lens: {what}");
}
