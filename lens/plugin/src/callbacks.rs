// SPDX-License-Identifier: GPL-2.0-or-later
//! The functions that QEMU calls while it runs the machine, and their registration. They are
//! `extern "C"`, so a panic ends the process; none is expected.

use crate::address::KERNEL;
use crate::arguments::Arguments;
use crate::function_start::FunctionStart;
use crate::guest_clock;
use crate::inspector;
use crate::instruction::{self, BlockStart, Mark, Shows, Site};
use crate::lens::{EndedBy, LENS, Lens, fail, say};
use crate::nest::Nest;
use crate::qemu::{Block, HIT, Instruction, MemoryInfo};
use crate::report;
use crate::{stall, switches};
use std::ffi::{c_uint, c_void};
use std::sync::atomic::Ordering::Relaxed;

/// Registers the current callbacks: at installation, and after the reset at the first begin mark,
/// when no CPU runs.
///
/// After the end mark everything stays registered, and only the counting stops. A reset then would
/// free data that QEMU 7.2 may still read. An instruction that leaves its translation block from
/// within a helper, as `syscall` and `pause` do, leaves the CPU's pointer to the instruction's
/// memory callbacks set. The next helper of an instruction without callbacks of its own would
/// follow that pointer.
pub(crate) fn register(lens: &Lens) {
    lens.qemu.on_cpu(lens.id, on_cpu);
    lens.qemu.on_exit(lens.id, on_exit);
    if lens.is_instrumenting() {
        lens.qemu.on_translation(lens.id, instrument);
        lens.start();
    } else {
        lens.qemu.on_translation(lens.id, watch_for_mark);
    }
}

/// A CPU is created (before QEMU 8.2) or starts. Refuses an incompatible QEMU before anything runs.
extern "C" fn on_cpu(first: usize, second: usize) {
    let Some(lens) = LENS.get() else { return };
    let (parts, cpu) = (lens.machine_parts, lens.qemu.subject(first, second));
    if let Some(slot) = lens.qemu.slot(cpu as c_uint) {
        // SAFETY: CPUs share a thread, this is it, and the loan ends at once.
        unsafe { lens.turns.lend() }.settled.set_slot(cpu, slot);
    }
    if cpu as c_uint != 0 {
        return;
    }
    let Arguments { topology, machine, .. } = &lens.arguments;
    let (cpus, instruction_ps) = (topology.cpus(), machine.times.instruction_ps);
    let quantum_ps = machine.quantum * u64::from(instruction_ps);
    // SAFETY: CPUs share a thread, and CPU 0 is the first of them.
    let installed = unsafe { guest_clock::install(parts.icount, cpus, instruction_ps, quantum_ps) };
    installed.unwrap_or_else(|error| fail(error));
    if let Some(patience) = lens.arguments.patience {
        stall::watch(patience).unwrap_or_else(|error| fail(format_args!("cannot watch the machine: {error}")));
    }
    if parts.icount.is_on_cpu_thread() {
        // SAFETY: no CPU has executed code yet.
        unsafe { parts.housekeeping.stop_interrupting() }.unwrap_or_else(|error| fail(error));
    }
}

extern "C" fn on_reset(_: usize, _: usize) {
    if let Some(lens) = LENS.get() {
        register(lens);
    }
}

/// Notes the code of a block as progress of the machine.
///
/// # Safety
/// `block` must be what the present translation callback got.
unsafe fn note_code(lens: &Lens, block: *mut Block) {
    // SAFETY: as the caller promises.
    unsafe { lens.qemu.instructions(block).next().into_iter().for_each(|first| stall::note(lens.qemu.address(first))) }
}

/// Instruments code before the first region: begin marks, pauses, and changes of the process.
extern "C" fn watch_for_mark(first: usize, second: usize) {
    let Some(lens) = LENS.get() else { return };
    let block = lens.qemu.subject(first, second) as *mut Block;
    let mut buffer = [0; 16];
    // SAFETY: `block` is what this callback got, and the instructions are used only within it.
    unsafe {
        note_code(lens, block);
        for instruction in lens.qemu.instructions(block) {
            let bytes = lens.qemu.bytes(instruction, &mut buffer);
            let address = lens.qemu.address(instruction);
            if lens.knows_processes() {
                switches::watch(lens, instruction, address, bytes);
                watch_for_first(lens, instruction, address, bytes);
            }
            if instruction::mark(bytes) == Some(Mark::Begin) && lens.obeys_mark(address) {
                lens.qemu.on_instruction(instruction, on_first_begin, 0);
            }
            if instruction::pauses(bytes) {
                lens.qemu.on_instruction(instruction, on_pause, 0);
            }
        }
    }
}

/// Instruments code from the first region on: every translation block, access and region mark, and
/// the instructions that wait.
extern "C" fn instrument(first: usize, second: usize) {
    let Some(lens) = LENS.get() else { return };
    let block = lens.qemu.subject(first, second) as *mut Block;
    let mut buffer = [0; 16];
    let mut is_first = true;
    let mut shows = Shows::Nothing;
    // SAFETY: `block` is what this callback got, and the instructions are used only within it.
    unsafe {
        note_code(lens, block);
        let instructions = lens.qemu.instructions(block);
        let length = instructions.len();
        for instruction in instructions {
            let bytes = lens.qemu.bytes(instruction, &mut buffer);
            // A block of one repeated instruction is how QEMU loops: the instruction began in the
            // previous block.
            let address = lens.qemu.address(instruction);
            if is_first {
                shows = lens.shows(address);
            }
            if is_first && !(length == 1 && instruction::is_repeated(bytes)) {
                let is_counted = lens.arguments.selection.counts(address);
                let is_user = address < KERNEL;
                let start = BlockStart { instructions: length as u32, is_counted, is_user, shows };
                lens.qemu.on_block_in_turn(block, on_block_in_turn, on_block_of_own, start);
            }
            is_first = false;
            match instruction::mark(bytes).filter(|_| lens.obeys_mark(address)) {
                Some(Mark::Begin) => lens.qemu.on_instruction(instruction, on_begin, 0),
                Some(Mark::End) => {
                    let is_counted = lens.arguments.selection.counts(address);
                    lens.qemu.on_instruction(instruction, on_end, usize::from(is_counted));
                }
                None => {}
            }
            if instruction::pauses(bytes) || instruction::halts(bytes) {
                lens.qemu.on_instruction(instruction, on_wait, usize::from(instruction::halts(bytes)));
            }
            let is_atomic = instruction::is_atomic(bytes);
            let (site, is_counted) = (Site { address, is_atomic }, lens.arguments.selection.counts(address));
            lens.qemu.on_unsettled_access(instruction, on_access_in_turn, site, is_counted);
            if lens.knows_processes() {
                switches::watch(lens, instruction, address, bytes);
                watch_bounds(lens, instruction, address, bytes);
            }
            if lens.knows_interrupts() {
                watch_context(lens, instruction, bytes, shows == Shows::Handler);
            }
        }
    }
}

/// Instruments the instructions by which a CPU enters or leaves interrupts. `is_handler`: the
/// instruction is in the first block of a handler.
///
/// # Safety
/// `instruction` must come from [`Qemu::instructions`](crate::qemu::Qemu::instructions) within the
/// same translation callback.
unsafe fn watch_context(lens: &Lens, instruction: *mut Instruction, bytes: &[u8], is_handler: bool) {
    // SAFETY: as the caller promises.
    unsafe {
        if is_handler {
            lens.qemu.on_access(instruction, on_access_of_handler, 0);
        }
        if instruction::returns(bytes) {
            lens.qemu.on_access(instruction, on_access_of_return, 0);
        }
        if instruction::raises(bytes) {
            lens.qemu.on_instruction(instruction, on_raise, 0);
        }
    }
}

extern "C" fn on_first_begin(_cpu: c_uint, _data: *mut c_void) {
    LENS.get().into_iter().for_each(arm);
}

/// Begins the first region, once everything is instrumented.
fn arm(lens: &Lens) {
    if lens.arm() {
        if lens.arguments.selection.counts(KERNEL) || lens.arguments.machine.delays.is_some() {
            lens.handlers.get_or_init(|| inspector::interrupt_handlers(lens.arguments.topology.cpus()));
        }
        lens.qemu.reset(lens.id, on_reset);
    }
}

extern "C" fn on_begin(_cpu: c_uint, _data: *mut c_void) {
    if let Some(lens) = LENS.get() {
        lens.start();
    }
}

/// `is_counted`: 0 for a mark of the agent.
extern "C" fn on_end(_cpu: c_uint, is_counted: *mut c_void) {
    if let Some(lens) = LENS.get() {
        lens.stop(if is_counted.is_null() { EndedBy::AgentsMark } else { EndedBy::Mark });
    }
}

/// Instruments an instruction before the first region, if it may begin it.
///
/// # Safety
/// `instruction` must come from [`Qemu::instructions`](crate::qemu::Qemu::instructions) within the
/// same translation callback.
unsafe fn watch_for_first(lens: &Lens, instruction: *mut Instruction, address: u64, bytes: &[u8]) {
    if lens.arguments.from.as_ref().is_some_and(|from| from.may_begin_with(address, bytes)) {
        // SAFETY: as the caller promises.
        unsafe { lens.qemu.on_instruction_with_registers(instruction, on_first_from, address as usize) };
    }
}

/// Instruments an instruction that may begin or end a region.
///
/// # Safety
/// As for [`watch_for_first`].
unsafe fn watch_bounds(lens: &Lens, instruction: *mut Instruction, address: u64, bytes: &[u8]) {
    let may_be = |function: &Option<FunctionStart>| {
        function.as_ref().is_some_and(|function| function.may_begin_with(address, bytes))
    };
    // SAFETY: as the caller promises.
    unsafe {
        if may_be(&lens.arguments.from) {
            lens.qemu.on_instruction_with_registers(instruction, on_from, address as usize);
        }
        if may_be(&lens.arguments.to) {
            lens.qemu.on_instruction_with_registers(instruction, on_to, address as usize);
        }
    }
}

extern "C" fn on_first_from(_cpu: c_uint, address: *mut c_void) {
    if let Some(lens) = LENS.get()
        && is_called(lens, lens.arguments.from.as_ref(), address as u64)
    {
        arm(lens);
    }
}

extern "C" fn on_from(_cpu: c_uint, address: *mut c_void) {
    if let Some(lens) = LENS.get()
        && is_called(lens, lens.arguments.from.as_ref(), address as u64)
    {
        lens.start();
    }
}

extern "C" fn on_to(_cpu: c_uint, address: *mut c_void) {
    if let Some(lens) = LENS.get()
        && is_called(lens, lens.arguments.to.as_ref(), address as u64)
    {
        lens.stop(EndedBy::Call);
    }
}

/// True if a counted process is about to execute the function at `address`. Call in the callback of
/// an instruction that was registered to read registers.
fn is_called(lens: &Lens, function: Option<&FunctionStart>, address: u64) -> bool {
    // SAFETY: this is such a callback, as the caller promises.
    let has_bytes = |bytes: &[u8]| unsafe { lens.registers.memory(address, bytes.len()) } == bytes;
    lens.is_chosen(lens.running_cpu()) && function.is_some_and(|function| has_bytes(function.bytes()))
}

extern "C" fn on_pause(_cpu: c_uint, _data: *mut c_void) {
    guest_clock::note_pause();
}

/// `halts`: 0 for a pause.
extern "C" fn on_wait(_cpu: c_uint, halts: *mut c_void) {
    if let Some(lens) = LENS.get() {
        lens.wait(lens.running_cpu(), !halts.is_null());
    }
}

/// Passes its return address, which lies in the code of the block, to [`on_block_in_turn_from`].
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
extern "C" fn on_block_in_turn(cpu: c_uint, block: *mut c_void) {
    core::arch::naked_asm!("mov rdx, [rsp]", "jmp {}", sym on_block_in_turn_from)
}

/// Passes its return address likewise, on a host whose calls leave it in a register.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
extern "C" fn on_block_in_turn(cpu: c_uint, block: *mut c_void) {
    core::arch::naked_asm!("mov x2, x30", "b {}", sym on_block_in_turn_from)
}

extern "C" fn on_block_in_turn_from(_cpu: c_uint, block: *mut c_void, return_address: usize) {
    let Some(lens) = LENS.get() else { return };
    let cpu = lens.running_cpu();
    if !lens.begin_block(cpu, BlockStart::unpack(block as usize)) {
        // SAFETY: 1. this is the callback of the CPU's block, at the block's beginning; 2. nothing
        // here or above needs to be dropped.
        unsafe { lens.refuse_block(cpu, return_address) };
    }
}

/// As [`on_block_in_turn`], in an emulator of our own.
extern "C" fn on_block_of_own(_cpu: c_uint, block: *mut c_void) -> u32 {
    let Some(lens) = LENS.get() else { return 0 };
    let cpu = lens.running_cpu();
    let runs = lens.begin_block(cpu, BlockStart::unpack(block as usize));
    if !runs {
        lens.scheduler.end_turn(cpu);
    }
    u32::from(!runs)
}

/// A CPU that is ready to run is about to begin a turn, in an emulator of our own.
pub(crate) extern "C" fn skips_turn(cpu: c_uint) -> bool {
    let Some(lens) = LENS.get() else { return false };
    // SAFETY: this is the thread of the CPUs, no callback runs, and the loan ends at once.
    unsafe { lens.turns_in_region() }.is_some_and(|turns| turns.skips(cpu as usize))
}

extern "C" fn on_raise(_cpu: c_uint, _data: *mut c_void) {
    if let Some(lens) = LENS.get() {
        lens.change_context(lens.running_cpu(), Nest::raise);
    }
}

extern "C" fn on_access_of_handler(_cpu: c_uint, info: MemoryInfo, address: u64, _data: *mut c_void) {
    if let Some(lens) = LENS.get()
        && lens.qemu.is_store(info)
    {
        lens.change_context(lens.running_cpu(), |nest| nest.store(address));
    }
}

extern "C" fn on_access_of_return(_cpu: c_uint, _info: MemoryInfo, address: u64, _data: *mut c_void) {
    if let Some(lens) = LENS.get() {
        lens.change_context(lens.running_cpu(), |nest| nest.load_for_return(address));
    }
}

extern "C" fn on_access_in_turn(_cpu: c_uint, info: MemoryInfo, address: u64, site: *mut c_void) {
    let Some(lens) = LENS.get() else { return };
    let (cpu, site) = (lens.running_cpu(), Site::unpack(site as usize));
    if info & HIT != 0 {
        lens.check_hit(cpu, info & !HIT, address, site);
    }
    lens.access_in_turn(cpu, info & !HIT, address, site);
}

/// The machine ends. Writes the report.
extern "C" fn on_exit(_: usize, _: usize) {
    let Some(lens) = LENS.get() else { return };
    lens.end();
    if lens.arguments.check {
        // Relaxed: see the struct.
        say(format_args!("{} settled accesses agree with the model", lens.checked.load(Relaxed)));
    }
    // SAFETY: this is the exit callback.
    let (counters, samples, turns, machine, processes) = unsafe {
        (lens.counters(), lens.samples.lend(), lens.turns.lend(), *lens.machine.lend(), lens.processes.lend())
    };
    let report = report::report(&report::Facts {
        arguments: &lens.arguments,
        machine,
        space: &lens.space,
        regions: lens.regions(),
        ended_by_call: lens.ended_by_call(),
        stalled: stall::found(),
        times: turns.overlap.times(),
        spent: turns.spent(),
        clocks: (0..counters.len()).map(|cpu| turns.clock(cpu)).collect(),
        counters,
        samples,
        processes,
        knows_interrupts: lens.knows_interrupts(),
    });
    let path = &lens.arguments.output;
    if let Err(error) = report::write(path, &report) {
        say(format_args!("cannot write the report {}: {error}", path.display()));
    }
}
