// SPDX-License-Identifier: GPL-2.0-or-later
//! State that the callbacks share: the counters, the clocks, and whether anything is counted at the moment.

use crate::address::{AddressSpace, DirectMap, KERNEL};
use crate::arguments::Arguments;
use crate::counter::Counter;
use crate::event_word::EventWords;
use crate::housekeeping::Housekeeping;
use crate::icount::Icount;
use crate::lockstep::Stall;
use crate::nest::Nest;
use crate::pace::Pace;
use crate::program::Program;
use crate::qemu::{PluginId, Qemu};
use crate::region_end::{self, RegionEnd};
use crate::site::Site;
use crate::turns::{Step, Turns};
use faultline_coherence::{Access, Context, Kind, LINE_BYTES, Machine};
use std::cell::UnsafeCell;
use std::collections::HashSet;
use std::fmt::Display;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// The lens of this process; set at installation.
pub(crate) static LENS: OnceLock<Lens> = OnceLock::new();

/// Everything that the callbacks share.
///
/// The flags are atomics with relaxed ordering: a thread that sees one late counts a few translation blocks more or
/// fewer at a mark. QEMU orders what must not be seen late: it re-registers callbacks, and calls the last one, with all
/// CPUs stopped, under its own locks.
pub(crate) struct Lens {
    pub(crate) qemu: Qemu,
    pub(crate) id: PluginId,
    pub(crate) arguments: Arguments,
    pub(crate) watched: Watched,
    pub(crate) machine: &'static Machine,
    pub(crate) pace: Pace,
    /// For a machine.
    pub(crate) machine_parts: Option<MachineParts>,
    /// Set when the program's first code is translated; contains none if QEMU does not tell.
    pub(crate) program: OnceLock<Option<Program>>,
    pub(crate) space: AddressSpace,
    /// Where interrupts enter the kernel. Set before anything is instrumented; contains none if QEMU does not tell, or if
    /// the kernel is not counted.
    pub(crate) handlers: OnceLock<Option<HashSet<u64>>>,
    event_words: EventWords,
    counters: Box<[CounterCell]>,
    /// For each CPU, whether its thread runs the program's own code, according to its system calls.
    is_running: Box<[AtomicBool]>,
    /// Whether accesses are counted at the moment.
    is_counting: AtomicBool,
    /// Whether callbacks for all accesses are needed: from the first begin mark on.
    is_instrumenting: AtomicBool,
    /// This process is a fork of the one that is counted.
    is_child: AtomicBool,
    regions: AtomicU32,
    forks: AtomicU32,
    /// 1 + the highest number of a thread for which there was no CPU.
    threads_beyond: AtomicU32,
}

/// The parts of QEMU that make a machine repeat itself.
#[derive(Clone, Copy)]
pub(crate) struct MachineParts {
    pub(crate) icount: Icount,
    pub(crate) housekeeping: Housekeeping,
}

/// What runs in the emulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watched {
    /// A program in user mode; each of its threads has a CPU.
    Program { is_64_bit: bool },
    /// A whole machine with a kernel.
    Kernel,
}

impl Watched {
    pub(crate) fn is_64_bit(self) -> bool {
        self != Watched::Program { is_64_bit: false }
    }
}

/// A translation block that begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockStart {
    pub(crate) instructions: u32,
    /// Whether its code is among that which is counted.
    pub(crate) is_counted: bool,
    /// What it shows of the interrupts that its CPU is in.
    pub(crate) shows: Shows,
}

/// What a translation block shows of the interrupts that its CPU is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shows {
    Nothing,
    /// An interrupt's handler begins.
    Handler,
    /// The CPU runs in user mode, so it is in no interrupt.
    User,
}

impl BlockStart {
    /// Packs it into the word that QEMU passes back.
    pub(crate) fn pack(self) -> usize {
        (self.instructions as usize) << 3 | (self.shows as usize) << 1 | usize::from(self.is_counted)
    }

    /// From a word that [`BlockStart::pack`] made.
    pub(crate) fn unpack(word: usize) -> Self {
        let shows = match word >> 1 & 3 {
            0 => Shows::Nothing,
            1 => Shows::Handler,
            _ => Shows::User,
        };
        BlockStart { instructions: (word >> 3) as u32, is_counted: word & 1 != 0, shows }
    }
}

/// One CPU's counter, on separate cache lines.
#[repr(align(128))]
struct CounterCell(UnsafeCell<Counter>);

// SAFETY: 1. a counter is touched in the callbacks of its vCPU, which QEMU calls on the thread that runs it, one at a
// time; they do not nest, because none calls back into the emulation; 2. when a thread has ended and its number goes to
// a new one, QEMU's lock around its list of CPUs lies between the two; 3. the report reads counters in the exit
// callback, before which QEMU stops all CPUs and drops all other callbacks (`qemu_plugin_user_exit`); for a machine,
// see `OneThread`.
unsafe impl Sync for CounterCell {}

/// Facts about the run for the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    /// Number of regions of interest begun; 0 if no mark was seen.
    pub(crate) regions: u32,
    /// Processes that the program forked; they are not counted.
    pub(crate) forks: u32,
    /// If the machine had too few CPUs: the number of threads that would have needed one.
    pub(crate) threads_beyond: Option<u32>,
}

impl Lens {
    /// A lens that does not count yet.
    pub(crate) fn new(
        qemu: Qemu,
        id: PluginId,
        arguments: Arguments,
        machine: Machine,
        watched: Watched,
        pace: Pace,
        machine_parts: Option<MachineParts>,
    ) -> Self {
        // Never freed: the CPUs borrow it, and threads may outlive any owner until the process ends.
        let machine: &'static Machine = Box::leak(Box::new(machine));
        let cpus = arguments.topology.cpus();
        Lens {
            event_words: EventWords::new(&qemu),
            qemu,
            id,
            watched,
            pace,
            machine_parts,
            program: OnceLock::new(),
            handlers: OnceLock::new(),
            space: match watched {
                Watched::Program { .. } => AddressSpace::Process,
                Watched::Kernel => AddressSpace::Kernel(DirectMap::new()),
            },
            counters: (0..cpus).map(|cpu| CounterCell(UnsafeCell::new(Counter::new(machine.cpu(cpu))))).collect(),
            is_counting: AtomicBool::new(false),
            is_running: (0..cpus).map(|_| AtomicBool::new(false)).collect(),
            // The agent of a program in a machine begins its region with a mark.
            is_instrumenting: AtomicBool::new(arguments.whole && !arguments.selection.is_program()),
            is_child: AtomicBool::new(false),
            regions: AtomicU32::new(0),
            forks: AtomicU32::new(0),
            threads_beyond: AtomicU32::new(0),
            machine,
            arguments,
        }
    }

    /// Code is being translated, so the program is loaded.
    pub(crate) fn note_program(&self) {
        if self.watched == Watched::Kernel {
            return;
        }
        self.program.get_or_init(|| self.qemu.program().map(|(path, code)| Program::new(path, code)));
    }

    /// Whether a region mark at that address begins or ends a region.
    pub(crate) fn obeys_mark(&self, code: u64) -> bool {
        self.arguments.selection.obeys_mark(code, self.arguments.whole)
    }

    /// A begin mark was executed before anything was instrumented. Returns whether it is the first, so that the
    /// callbacks must be registered anew.
    pub(crate) fn arm(&self) -> bool {
        // Relaxed, both: see the struct.
        !self.is_child.load(Relaxed) && !self.is_instrumenting.swap(true, Relaxed)
    }

    /// Whether callbacks for all accesses are needed.
    pub(crate) fn is_instrumenting(&self) -> bool {
        // Relaxed: see the struct.
        self.is_instrumenting.load(Relaxed)
    }

    /// Whether interrupts are recognised. They are not if the kernel is not counted.
    pub(crate) fn knows_interrupts(&self) -> bool {
        self.handlers.get().is_some_and(Option::is_some)
    }

    /// What a block at an address shows of the interrupts that its CPU is in.
    pub(crate) fn shows(&self, address: u64) -> Shows {
        match self.handlers.get().and_then(Option::as_ref) {
            Some(handlers) if handlers.contains(&address) => Shows::Handler,
            Some(_) if address < KERNEL => Shows::User,
            _ => Shows::Nothing,
        }
    }

    /// Starts counting.
    pub(crate) fn start(&self) {
        // Relaxed, all: see the struct.
        if self.is_child.load(Relaxed) || self.is_counting.load(Relaxed) {
            return;
        }
        let busy = self.is_running.iter().enumerate().filter(|(_, is_running)| is_running.load(Relaxed));
        // SAFETY: a mark's callback is a CPU's; otherwise this is installation or reset.
        unsafe { self.pace.begin(busy.map(|(cpu, _)| cpu)) };
        self.regions.fetch_add(1, Relaxed);
        self.is_counting.store(true, Relaxed);
    }

    /// Ends counting; waiting CPUs continue.
    pub(crate) fn stop(&self) {
        // Relaxed: see the struct.
        if self.is_counting.swap(false, Relaxed) {
            // SAFETY: a mark's callback is a CPU's, and so is that of the program's last system call.
            unsafe { self.pace.end() };
            // Relaxed: see the struct.
            if region_end::is_shown(self.regions.load(Relaxed)) {
                self.show_end();
            }
        }
    }

    /// The machine ends. If it does so in a region, this is the region's end.
    pub(crate) fn end(&self) {
        // Relaxed: see the struct.
        if self.is_counting.load(Relaxed) {
            self.show_end();
        }
    }

    /// Lets the machine's memory be looked at. All CPUs of a machine stand still meanwhile, because they share this thread.
    fn show_end(&self) {
        if let Some(Err(error)) = self.arguments.region_end.as_ref().map(RegionEnd::show) {
            say(format_args!("nobody looks at the end of the region: {error}"));
        }
    }

    /// The clocks of a machine's CPUs while accesses are counted.
    ///
    /// # Safety
    /// Call it on the thread of the CPUs while no callback runs. Return what is lent before the next callback.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn turns_in_region(&self) -> Option<&mut Turns> {
        // Relaxed: see the struct.
        match &self.pace {
            // SAFETY: as the caller promises.
            Pace::Turns(turns, _) if self.is_counting.load(Relaxed) => Some(unsafe { turns.lend() }),
            _ => None,
        }
    }

    /// A CPU begins a translation block. Returns false if the block is not to run now: see [`Lens::refuse_block`].
    #[inline]
    #[must_use]
    pub(crate) fn begin_block(&self, cpu: u32, block: BlockStart) -> bool {
        let Some(cell) = self.counting_cell(cpu) else { return true };
        let instructions = u64::from(block.instructions);
        match &self.pace {
            Pace::Threads(lockstep) => {
                if let Some(stall) = lockstep.advance(cpu as usize, instructions) {
                    self.say_stall(stall);
                }
            }
            Pace::Turns(turns, scheduler) => {
                // SAFETY: this is a CPU's callback, and what is lent is given back at once.
                match unsafe { turns.lend() }.advance(cpu as usize, instructions) {
                    Step::Runs => {}
                    Step::Last => scheduler.end_turn(cpu),
                    Step::Refused => return false,
                }
            }
        }
        // SAFETY: this thread runs the CPU; see `CounterCell`.
        let counter = unsafe { &mut *cell.0.get() };
        // A refused block has shown nothing yet: it does so when it runs.
        match block.shows {
            Shows::Nothing => {}
            Shows::Handler => counter.change_context(Nest::enter),
            Shows::User => counter.change_context(Nest::leave_kernel),
        }
        if block.is_counted {
            counter.instructions += instructions;
        }
        true
    }

    /// Leaves a block that [`Lens::begin_block`] refused. `return_address`: of the block's callback.
    ///
    /// # Safety
    /// As for [`crate::scheduler::Scheduler::refuse_block`].
    #[cold]
    pub(crate) unsafe fn refuse_block(&self, cpu: u32, return_address: usize) {
        if let Pace::Turns(_, scheduler) = &self.pace {
            // SAFETY: as the caller promises.
            unsafe { scheduler.refuse_block(cpu, return_address) };
        }
    }

    /// Something happens on a machine's CPU by which it may enter or leave an interrupt.
    pub(crate) fn change_context(&self, cpu: u32, change: impl FnOnce(&mut Nest)) {
        if let Some(cell) = self.counting_cell(cpu) {
            // SAFETY: this thread runs the CPU; see `CounterCell`.
            unsafe { (*cell.0.get()).change_context(change) };
        }
    }

    /// A machine's CPU is about to pause or to halt.
    pub(crate) fn wait(&self, cpu: u32) {
        if let (Some(_), Pace::Turns(turns, _)) = (self.counting_cell(cpu), &self.pace) {
            // SAFETY: this is a CPU's callback, and what is lent is given back at once.
            unsafe { turns.lend() }.wait(cpu as usize);
        }
    }

    /// A program's thread accesses memory.
    #[inline]
    pub(crate) fn access(&self, cpu: u32, info: u32, address: u64, site: Site) {
        let (Some(cell), Pace::Threads(lockstep)) = (self.counting_cell(cpu), &self.pace) else { return };
        // SAFETY: this thread runs the CPU; see `CounterCell`.
        let counter = unsafe { &mut *cell.0.get() };
        let (size, is_store) = self.event_words.meaning(&self.qemu, info);
        let Some(kind) = counter.kind(site, address, is_store) else { return };
        let access = Access { address, size, kind, site: site.address, context: Context::User, contents: false };
        counter.accesses += 1;
        let cost = counter.access(&access);
        if cost != 0 {
            lockstep.pay(cpu as usize, cost);
        }
    }

    /// A machine's CPU accesses memory.
    ///
    /// Nearly all accesses finish here, so this function makes no calls. If it is the CPU's turn, accesses are being
    /// counted.
    #[inline]
    pub(crate) fn access_in_turn(&self, cpu: u32, info: u32, address: u64, site: Site) {
        if let (Some(cell), Pace::Turns(turns, _)) = (self.counters.get(cpu as usize), &self.pace)
            && let Some((size, is_store)) = self.event_words.known(info)
            // SAFETY: this is a CPU's callback, and what is lent is given back in this line.
            && unsafe { turns.lend() }.has_settled(cpu as usize, address, size, is_store)
            // An atomic access may be the second half of one. A user address may lead elsewhere within a turn; kernel
            // addresses do not.
            && address >= KERNEL && !site.is_atomic
        {
            // SAFETY: this thread runs the CPU; see `CounterCell`.
            unsafe { (*cell.0.get()).accesses += u64::from(self.arguments.selection.counts(site.address)) };
            return;
        }
        self.access_in_turn_closely(cpu, info, address, site);
    }

    #[cold]
    #[inline(never)]
    fn access_in_turn_closely(&self, cpu: u32, info: u32, address: u64, site: Site) {
        let (Some(cell), Pace::Turns(turns, scheduler)) = (self.counting_cell(cpu), &self.pace) else { return };
        // SAFETY: this thread runs the CPU; see `CounterCell`.
        let counter = unsafe { &mut *cell.0.get() };
        // SAFETY: this is a CPU's callback, and what is lent is given back at its end.
        let turns = unsafe { turns.lend() };
        // A string instruction may continue in a turn in which no translation block has begun.
        if turns.is_over(cpu as usize) && turns.advance(cpu as usize, 0) != Step::Runs {
            scheduler.end_turn(cpu);
        }
        let Some(place) = self.space.locate(&self.qemu, info, address) else { return };
        let name = if address < KERNEL { place.address } else { address };
        let (size, is_store) = self.event_words.meaning(&self.qemu, info);
        let Some(kind) = counter.kind(site, name, is_store) else { return };
        let is_counted = self.arguments.selection.counts(site.address);
        counter.accesses += u64::from(is_counted);
        if turns.has_settled(cpu as usize, name, size, kind != Kind::Read) {
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
        let cost = counter.access(&access);
        if cost != 0 && is_counted && address < KERNEL {
            counter.reached.note(place.address, address);
        }
        turns.pay(cost);
        counter.cpu.evicted().iter().for_each(|&gone| turns.settled.forget(gone));
        let line = place.address / LINE_BYTES;
        turns.settled.put(name, line, counter.cpu.settled(line));
    }

    /// A CPU may sleep in the operating system from now on.
    pub(crate) fn rest(&self, cpu: u32) {
        self.set_running(cpu, false);
        if let (Some(_), Pace::Threads(lockstep)) = (self.counting_cell(cpu), &self.pace) {
            lockstep.rest(cpu as usize);
        }
    }

    /// A CPU is in a system call that may make others busy.
    pub(crate) fn begin_waking(&self, cpu: u32) {
        if let (Some(_), Pace::Threads(lockstep)) = (self.counting_cell(cpu), &self.pace) {
            lockstep.begin_waking(cpu as usize);
        }
    }

    /// A CPU is back from a system call that has made `woken` others busy, if the call was one of those; a negative
    /// value is an error.
    pub(crate) fn end_waking(&self, cpu: u32, woken: i64) {
        if let (Some(_), Pace::Threads(lockstep)) = (self.counting_cell(cpu), &self.pace) {
            lockstep.end_waking(cpu as usize, u32::try_from(woken).unwrap_or(0));
        }
    }

    /// A CPU is back from the operating system. For the clocks it is busy from its next translation block on.
    pub(crate) fn resume(&self, cpu: u32) {
        self.set_running(cpu, true);
    }

    fn set_running(&self, cpu: u32, value: bool) {
        if let Some(is_running) = self.is_running.get(cpu as usize) {
            // Relaxed: a CPU whose flag is seen late counts as idle until its first block.
            is_running.store(value, Relaxed);
        }
    }

    /// The process has forked, and continues.
    pub(crate) fn note_fork(&self) {
        // Relaxed: a count.
        self.forks.fetch_add(1, Relaxed);
    }

    /// This process is the fork. It must not take the lockstep's lock: a thread that does not exist here may have held
    /// it.
    pub(crate) fn become_child(&self) {
        // Relaxed, both: the child has one thread.
        self.is_child.store(true, Relaxed);
        self.is_counting.store(false, Relaxed);
    }

    /// Whether this process is a fork of the one that is counted.
    pub(crate) fn is_child(&self) -> bool {
        // Relaxed: see the struct.
        self.is_child.load(Relaxed)
    }

    /// Facts about the run.
    pub(crate) fn run(&self) -> Run {
        // Relaxed, all: see the struct.
        let beyond = self.threads_beyond.load(Relaxed);
        Run {
            regions: self.regions.load(Relaxed),
            forks: self.forks.load(Relaxed),
            threads_beyond: (beyond != 0).then_some(beyond),
        }
    }

    /// All counters, by CPU.
    ///
    /// # Safety
    /// Call it only in the exit callback.
    pub(crate) unsafe fn counters(&self) -> Vec<&Counter> {
        // SAFETY: no other callback runs any more, as the caller promises; see `CounterCell`.
        self.counters.iter().map(|cell| unsafe { &*cell.0.get() }).collect()
    }

    #[inline]
    fn counting_cell(&self, cpu: u32) -> Option<&CounterCell> {
        // Relaxed: see the struct.
        if !self.is_counting.load(Relaxed) {
            return None;
        }
        let cell = self.counters.get(cpu as usize);
        if cell.is_none() {
            self.refuse_thread(cpu);
        }
        cell
    }

    #[cold]
    fn refuse_thread(&self, cpu: u32) {
        // Relaxed: of several threads that race here, one sees 0 and prints the message.
        if self.threads_beyond.fetch_max(cpu + 1, Relaxed) == 0 {
            let cpus = self.counters.len();
            say(format_args!(
                "thread {cpu} (from 0) has no CPU on a machine of {cpus}, and is not counted; ask for more CPUs"
            ));
        }
    }

    #[cold]
    fn say_stall(&self, stall: Stall) {
        let seconds = self.arguments.stall.as_secs();
        let Stall { cpu, clock } = stall;
        say(format_args!(
            "CPU {cpu} has stood at clock {clock} for {seconds} s while others waited for it; CPUs are no longer kept in step"
        ));
    }
}

/// QEMU is not as expected: prints why, and ends the emulator before it can count wrongly. There is no report.
#[cold]
pub(crate) fn fail(why: impl Display) -> ! {
    say(why);
    // SAFETY: it ends the process at once. Handlers for a normal exit would wait for this thread.
    unsafe { libc::_exit(1) }
}

/// Prints one line on standard error. The program may have closed it, so a failed write is not an error.
pub(crate) fn say(what: impl Display) {
    let _ = writeln!(std::io::stderr(), "faultline lens: {what}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_block_fits_a_word() {
        for shows in [Shows::Nothing, Shows::Handler, Shows::User] {
            for (instructions, is_counted) in [(0, false), (1, true), (512, false), (u32::MAX, true)] {
                let start = BlockStart { instructions, is_counted, shows };
                assert_eq!(BlockStart::unpack(start.pack()), start);
            }
        }
    }
}
