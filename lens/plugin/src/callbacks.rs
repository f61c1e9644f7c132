// SPDX-License-Identifier: GPL-2.0-or-later
//! The functions that QEMU calls while it runs the machine, and their registration. They are `extern "C"`, so a panic
//! ends the process; none is expected.

use crate::address::KERNEL;
use crate::arguments::Arguments;
use crate::guest_clock;
use crate::inspector;
use crate::instruction::{self, Mark};
use crate::lens::{BlockStart, LENS, Lens, Shows, fail, say};
use crate::nest::Nest;
use crate::output;
use crate::qemu::{Block, Instruction, MemoryInfo};
use crate::report;
use crate::site::Site;
use std::ffi::{c_uint, c_void};

/// Registers the callbacks that apply from now on: at installation, and after the reset at the first begin mark, when
/// no CPU runs.
///
/// After the end mark everything stays registered, and only the counting stops. A reset then would free data that QEMU
/// 7.2 may still read: an instruction that leaves its translation block from within a helper, as `syscall` and `pause`
/// do, leaves the CPU's pointer to the instruction's memory callbacks set, and the next helper of an instruction
/// without its own callbacks would follow that pointer.
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

/// A CPU is created (before QEMU 8.2) or starts. Nothing has run yet, so a QEMU that does not fit is refused
/// here.
extern "C" fn on_cpu(first: usize, second: usize) {
    let Some(lens) = LENS.get() else { return };
    let parts = lens.machine_parts;
    if lens.qemu.subject(first, second) as c_uint != 0 {
        return;
    }
    let Arguments { topology, quanta, costs, .. } = &lens.arguments;
    let (cpus, instruction_ps) = (topology.cpus(), costs.instruction_ps);
    let quantum_ps = quanta.contended * u64::from(instruction_ps);
    // SAFETY: CPUs share a thread, and CPU 0 is the first of them.
    let installed = unsafe { guest_clock::install(parts.icount, cpus, instruction_ps, quantum_ps) };
    installed.unwrap_or_else(|error| fail(error));
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

/// Before the first region: only a begin mark is instrumented, and where a CPU pauses.
extern "C" fn watch_for_mark(first: usize, second: usize) {
    let Some(lens) = LENS.get() else { return };
    let block = lens.qemu.subject(first, second) as *mut Block;
    let mut buffer = [0; 16];
    // SAFETY: `block` is what this callback got, and the instructions are used only within it.
    unsafe {
        for instruction in lens.qemu.instructions(block) {
            let bytes = lens.qemu.bytes(instruction, &mut buffer);
            if instruction::mark(bytes) == Some(Mark::Begin) && lens.obeys_mark(lens.qemu.address(instruction)) {
                lens.qemu.on_instruction(instruction, on_first_begin, 0);
            }
            if instruction::pauses(bytes) {
                lens.qemu.on_instruction(instruction, on_pause, 0);
            }
        }
    }
}

/// After that: every translation block, access and region mark is instrumented, and the places where a CPU
/// waits.
extern "C" fn instrument(first: usize, second: usize) {
    let Some(lens) = LENS.get() else { return };
    let block = lens.qemu.subject(first, second) as *mut Block;
    let mut buffer = [0; 16];
    let mut is_first = true;
    let mut shows = Shows::Nothing;
    // SAFETY: `block` is what this callback got, and the instructions are used only within it.
    unsafe {
        let instructions = lens.qemu.instructions(block);
        let length = instructions.len();
        for instruction in instructions {
            let bytes = lens.qemu.bytes(instruction, &mut buffer);
            // A block that consists of one repeated instruction is how QEMU loops: the instruction began in the
            // previous block.
            let address = lens.qemu.address(instruction);
            if is_first {
                shows = lens.shows(address);
            }
            if is_first && !(length == 1 && instruction::is_repeated(bytes)) {
                let is_counted = lens.arguments.selection.counts(address);
                let is_user = address < KERNEL;
                let start = BlockStart { instructions: length as u32, is_counted, is_user, shows };
                lens.qemu.on_block(block, on_block_in_turn, start.pack());
            }
            is_first = false;
            match instruction::mark(bytes).filter(|_| lens.obeys_mark(address)) {
                Some(Mark::Begin) => lens.qemu.on_instruction(instruction, on_begin, 0),
                Some(Mark::End) => lens.qemu.on_instruction(instruction, on_end, 0),
                None => {}
            }
            if instruction::pauses(bytes) || instruction::halts(bytes) {
                lens.qemu.on_instruction(instruction, on_wait, usize::from(instruction::halts(bytes)));
            }
            let is_atomic = instruction::is_atomic(bytes);
            let site = Site { address, is_atomic }.pack();
            lens.qemu.on_access_with_registers(instruction, on_access_in_turn, site);
            if lens.knows_interrupts() {
                watch_context(lens, instruction, bytes, shows == Shows::Handler);
            }
        }
    }
}

/// Instruments the instructions by which a CPU enters or leaves interrupts. `is_handler`: the instruction is in the
/// first block of a handler.
///
/// # Safety
/// `instruction` must come from [`Qemu::instructions`](crate::qemu::Qemu::instructions) within the same translation
/// callback.
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
    if let Some(lens) = LENS.get()
        && lens.arm()
    {
        if lens.arguments.selection.counts(KERNEL) || lens.arguments.delays.is_some() {
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

extern "C" fn on_end(_cpu: c_uint, _data: *mut c_void) {
    if let Some(lens) = LENS.get() {
        lens.stop();
    }
}

/// The CPU whose turn it is. The number that QEMU passes to its callbacks may be another CPU's.
#[inline]
fn running_cpu(lens: &Lens) -> c_uint {
    // SAFETY: this is called in callbacks of a CPU.
    unsafe { lens.pace.scheduler.running_cpu() }.unwrap_or_else(|error| fail(error))
}

extern "C" fn on_pause(_cpu: c_uint, _data: *mut c_void) {
    guest_clock::note_pause();
}

/// `halts`: 0 for a pause.
extern "C" fn on_wait(_cpu: c_uint, halts: *mut c_void) {
    if let Some(lens) = LENS.get() {
        lens.wait(running_cpu(lens), !halts.is_null());
    }
}

/// Passes its return address, which lies in the code of the block, to [`on_block_in_turn_from`].
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
extern "C" fn on_block_in_turn(cpu: c_uint, block: *mut c_void) {
    core::arch::naked_asm!("mov rdx, [rsp]", "jmp {}", sym on_block_in_turn_from)
}

/// The same on a host whose calls leave the return address in a register.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
extern "C" fn on_block_in_turn(cpu: c_uint, block: *mut c_void) {
    core::arch::naked_asm!("mov x2, x30", "b {}", sym on_block_in_turn_from)
}

extern "C" fn on_block_in_turn_from(_cpu: c_uint, block: *mut c_void, return_address: usize) {
    let Some(lens) = LENS.get() else { return };
    let cpu = running_cpu(lens);
    if !lens.begin_block(cpu, BlockStart::unpack(block as usize)) {
        // SAFETY: 1. this is the callback of the CPU's block, at the block's beginning; 2. nothing here or above has to
        // be dropped.
        unsafe { lens.refuse_block(cpu, return_address) };
    }
}

extern "C" fn on_raise(_cpu: c_uint, _data: *mut c_void) {
    if let Some(lens) = LENS.get() {
        lens.change_context(running_cpu(lens), Nest::raise);
    }
}

extern "C" fn on_access_of_handler(_cpu: c_uint, info: MemoryInfo, address: u64, _data: *mut c_void) {
    if let Some(lens) = LENS.get()
        && lens.qemu.is_store(info)
    {
        lens.change_context(running_cpu(lens), |nest| nest.store(address));
    }
}

extern "C" fn on_access_of_return(_cpu: c_uint, _info: MemoryInfo, address: u64, _data: *mut c_void) {
    if let Some(lens) = LENS.get() {
        lens.change_context(running_cpu(lens), |nest| nest.load_for_return(address));
    }
}

extern "C" fn on_access_in_turn(_cpu: c_uint, info: MemoryInfo, address: u64, site: *mut c_void) {
    if let Some(lens) = LENS.get() {
        lens.access_in_turn(running_cpu(lens), info, address, Site::unpack(site as usize));
    }
}

/// The machine ends: writes the report.
extern "C" fn on_exit(_: usize, _: usize) {
    let Some(lens) = LENS.get() else { return };
    lens.end();
    // SAFETY: this is the exit callback.
    let counters = unsafe { lens.counters() };
    // SAFETY: this is the exit callback.
    let samples = unsafe { lens.samples.lend() };
    let report = report::to_json(&report::Facts {
        arguments: &lens.arguments,
        machine: lens.machine,
        space: &lens.space,
        regions: lens.regions(),
        // SAFETY: this is the exit callback.
        times: unsafe { lens.pace.times() },
        // SAFETY: this is the exit callback.
        spent: unsafe { lens.pace.spent() },
        // SAFETY: this is the exit callback.
        clocks: (0..counters.len()).map(|cpu| unsafe { lens.pace.clock(cpu) }).collect(),
        counters,
        samples,
        knows_interrupts: lens.knows_interrupts(),
    });
    let path = &lens.arguments.output;
    if let Err(error) = output::write(path, &report) {
        say(format_args!("{}: the report can't be written: {error}", path.display()));
    }
}
