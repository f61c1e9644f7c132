// SPDX-License-Identifier: GPL-2.0-or-later
//! The functions that QEMU calls while it runs the program, and their registration. They are `extern "C"`, so a panic
//! ends the process; none is expected.

use crate::address::KERNEL;
use crate::arguments::Arguments;
use crate::guest_clock;
use crate::inspector;
use crate::instruction::{self, Mark};
use crate::lens::{BlockStart, LENS, Lens, Shows, Watched, fail, say};
use crate::nest::Nest;
use crate::output;
use crate::pace::Pace;
use crate::qemu::{Block, Instruction, MemoryInfo};
use crate::report;
use crate::site::Site;
use crate::system_call::SystemCall;
use std::ffi::{c_uint, c_void};

/// Registers the callbacks that apply from now on: at installation, and after the reset at the first begin mark, when
/// no CPU runs.
///
/// After the end mark everything stays registered, and only the counting stops. A reset then would free data that QEMU
/// 7.2 may still read: an instruction that leaves its translation block from within a helper, as `syscall` and `pause`
/// do, leaves the CPU's pointer to the instruction's memory callbacks set, and the next helper of an instruction
/// without its own callbacks would follow that pointer.
pub(crate) fn register(lens: &Lens) {
    if lens.watched == Watched::Kernel {
        lens.qemu.on_cpu(lens.id, on_cpu);
    } else {
        lens.qemu.on_system_call(lens.id, on_system_call);
        lens.qemu.on_system_call_return(lens.id, on_system_call_return);
    }
    lens.qemu.on_exit(lens.id, on_exit);
    if lens.is_instrumenting() {
        lens.qemu.on_translation(lens.id, instrument);
        lens.start();
    } else {
        lens.qemu.on_translation(lens.id, watch_for_mark);
    }
}

/// A machine's CPU is created (before QEMU 8.2) or starts. Nothing has run yet, so a QEMU that does not fit is refused
/// here.
extern "C" fn on_cpu(first: usize, second: usize) {
    let Some((lens, parts)) = LENS.get().and_then(|lens| Some((lens, lens.machine_parts?))) else { return };
    if lens.qemu.subject(first, second) as c_uint != 0 {
        return;
    }
    let Arguments { topology, quanta, costs, .. } = &lens.arguments;
    let round_ps = u64::from(topology.cpus()) * quanta.contended * u64::from(costs.instruction_ps);
    // SAFETY: CPUs share a thread, and CPU 0 is the first of them.
    unsafe { guest_clock::install(parts.icount, costs.instruction_ps, round_ps) }.unwrap_or_else(|error| fail(error));
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

/// Before the first region: only a begin mark is instrumented.
extern "C" fn watch_for_mark(first: usize, second: usize) {
    let Some(lens) = LENS.get() else { return };
    let block = lens.qemu.subject(first, second) as *mut Block;
    lens.note_program();
    let mut buffer = [0; 16];
    // SAFETY: `block` is what this callback got, and the instructions are used only within it.
    unsafe {
        for instruction in lens.qemu.instructions(block) {
            if instruction::mark(lens.qemu.bytes(instruction, &mut buffer)) == Some(Mark::Begin)
                && lens.obeys_mark(lens.qemu.address(instruction))
            {
                lens.qemu.on_instruction(instruction, on_first_begin, 0);
            }
        }
    }
}

/// After that: every translation block, access and region mark is instrumented, and the places where a machine's CPU
/// waits.
extern "C" fn instrument(first: usize, second: usize) {
    let Some(lens) = LENS.get() else { return };
    let block = lens.qemu.subject(first, second) as *mut Block;
    lens.note_program();
    let mut buffer = [0; 16];
    let mut is_first = true;
    let mut shows = Shows::Nothing;
    let is_kernel = lens.watched == Watched::Kernel;
    let on_access = if is_kernel { on_access_in_turn } else { on_access };
    let on_block = if is_kernel { on_block_in_turn } else { on_block };
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
                let start = BlockStart { instructions: length as u32, is_counted, shows };
                lens.qemu.on_block(block, on_block, start.pack());
            }
            is_first = false;
            match instruction::mark(bytes).filter(|_| lens.obeys_mark(address)) {
                Some(Mark::Begin) => lens.qemu.on_instruction(instruction, on_begin, 0),
                Some(Mark::End) => lens.qemu.on_instruction(instruction, on_end, 0),
                None => {}
            }
            if is_kernel && instruction::waits(bytes) {
                lens.qemu.on_instruction(instruction, on_wait, 0);
            }
            let is_atomic = instruction::is_atomic(bytes, lens.watched.is_64_bit());
            lens.qemu.on_access(instruction, on_access, Site { address, is_atomic }.pack());
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
        if lens.watched == Watched::Kernel && lens.arguments.selection.counts(KERNEL) {
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

/// The CPU whose turn it is on a machine. The number that QEMU passes to its callbacks may be another CPU's.
#[inline]
fn running_cpu(lens: &Lens) -> c_uint {
    let Pace::Turns(_, scheduler) = &lens.pace else { return 0 };
    // SAFETY: this is called in callbacks of a CPU.
    unsafe { scheduler.running_cpu() }.unwrap_or_else(|error| fail(error))
}

extern "C" fn on_wait(_cpu: c_uint, _data: *mut c_void) {
    if let Some(lens) = LENS.get() {
        lens.wait(running_cpu(lens));
    }
}

extern "C" fn on_block(cpu: c_uint, block: *mut c_void) {
    if let Some(lens) = LENS.get() {
        // A program's thread waits in its callback, so its blocks always run.
        let _runs = lens.begin_block(cpu, BlockStart::unpack(block as usize));
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

extern "C" fn on_access(cpu: c_uint, info: MemoryInfo, address: u64, site: *mut c_void) {
    if let Some(lens) = LENS.get() {
        lens.access(cpu, info, address, Site::unpack(site as usize));
    }
}

extern "C" fn on_access_in_turn(_cpu: c_uint, info: MemoryInfo, address: u64, site: *mut c_void) {
    if let Some(lens) = LENS.get() {
        lens.access_in_turn(running_cpu(lens), info, address, Site::unpack(site as usize));
    }
}

extern "C" fn on_system_call(a: u64, b: u64, c: u64, d: u64, e: u64) {
    let Some(lens) = LENS.get().filter(|lens| !lens.is_child()) else { return };
    let (cpu, number, [first, second]) = lens.qemu.system_call([a, b, c, d, e]);
    match SystemCall::classify(number, first, second, lens.watched.is_64_bit()) {
        SystemCall::ExitGroup => lens.stop(),
        SystemCall::Exec => {
            say("the program calls execve: if that succeeds, the new program isn't counted, and there is no report")
        }
        SystemCall::Brief => {}
        SystemCall::Wake | SystemCall::Thread => lens.begin_waking(cpu),
        SystemCall::Other => lens.rest(cpu),
    }
}

extern "C" fn on_system_call_return(a: u64, b: u64, c: u64, d: u64, e: u64) {
    let Some(lens) = LENS.get() else { return };
    let (cpu, number, [result, _]) = lens.qemu.system_call([a, b, c, d, e]);
    let result = result as i64;
    // The call's number tells whether it creates a thread. A new thread counts as one, whatever its id.
    let is_thread = matches!(number, 56 | 120 | 435);
    lens.end_waking(cpu, if is_thread { result.min(1) } else { result });
    lens.resume(cpu);
}

/// The program has ended: writes the report. Forks write none, and neither does a program that could not be loaded.
extern "C" fn on_exit(_: usize, _: usize) {
    let Some(lens) = LENS.get().filter(|lens| !lens.is_child()) else { return };
    // No code was ever translated, so the program could not be loaded.
    if lens.watched != Watched::Kernel && lens.program.get().is_none() {
        return;
    }
    lens.end();
    // SAFETY: this is the exit callback.
    let counters = unsafe { lens.counters() };
    let report = report::to_json(&report::Facts {
        arguments: &lens.arguments,
        machine: lens.machine,
        space: &lens.space,
        watched: lens.watched,
        run: lens.run(),
        stepping: lens.pace.stepping(),
        // SAFETY: this is the exit callback.
        times: unsafe { lens.pace.times() },
        // SAFETY: this is the exit callback.
        clocks: (0..counters.len()).map(|cpu| unsafe { lens.pace.clock(cpu) }).collect(),
        counters,
        program: lens.program.get().and_then(Option::as_ref),
        knows_interrupts: lens.knows_interrupts(),
    });
    let path = &lens.arguments.output;
    if let Err(error) = output::write(path, &report) {
        say(format_args!("{}: the report can't be written: {error}", path.display()));
    }
}
