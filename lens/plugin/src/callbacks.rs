// SPDX-License-Identifier: GPL-2.0-or-later
//! The functions that QEMU calls while it runs the program, and their registration. They are `extern "C"`, so a panic
//! ends the process; none is expected.

use crate::instruction::{self, Mark};
use crate::lens::{LENS, Lens, Watched, say};
use crate::output;
use crate::qemu::{Block, MemoryInfo, PluginId};
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
    if lens.watched != Watched::Kernel {
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

extern "C" fn on_reset(_id: PluginId) {
    if let Some(lens) = LENS.get() {
        register(lens);
    }
}

/// Before the first region: only a begin mark is instrumented.
extern "C" fn watch_for_mark(_id: PluginId, block: *mut Block) {
    let Some(lens) = LENS.get() else { return };
    lens.note_program();
    let mut buffer = [0; 16];
    // SAFETY: `block` is what this callback got, and the instructions are used only within it.
    unsafe {
        for instruction in lens.qemu.instructions(block) {
            if instruction::mark(lens.qemu.bytes(instruction, &mut buffer)) == Some(Mark::Begin) {
                lens.qemu.on_instruction(instruction, on_first_begin, 0);
            }
        }
    }
}

/// After that: every translation block, access and region mark is instrumented, and the places where a machine's CPU
/// waits.
extern "C" fn instrument(_id: PluginId, block: *mut Block) {
    let Some(lens) = LENS.get() else { return };
    lens.note_program();
    let mut buffer = [0; 16];
    let mut is_first = true;
    let on_access = if lens.watched == Watched::Kernel { on_access_in_turn } else { on_access };
    // SAFETY: `block` is what this callback got, and the instructions are used only within it.
    unsafe {
        let instructions = lens.qemu.instructions(block);
        let length = instructions.len();
        for instruction in instructions {
            let bytes = lens.qemu.bytes(instruction, &mut buffer);
            // A block that consists of one repeated instruction is how QEMU loops: the instruction began in the
            // previous block.
            if is_first && !(length == 1 && instruction::is_repeated(bytes)) {
                lens.qemu.on_block(block, on_block, length);
            }
            is_first = false;
            match instruction::mark(bytes).filter(|_| !lens.arguments.whole) {
                Some(Mark::Begin) => lens.qemu.on_instruction(instruction, on_begin, 0),
                Some(Mark::End) => lens.qemu.on_instruction(instruction, on_end, 0),
                None => {}
            }
            if lens.watched == Watched::Kernel && instruction::waits(bytes) {
                lens.qemu.on_instruction(instruction, on_wait, 0);
            }
            let is_atomic = instruction::is_atomic(bytes, lens.watched.is_64_bit());
            let site = Site { address: lens.qemu.address(instruction), is_atomic };
            lens.qemu.on_access(instruction, on_access, site.pack());
        }
    }
}

extern "C" fn on_first_begin(_cpu: c_uint, _data: *mut c_void) {
    if let Some(lens) = LENS.get()
        && lens.arm()
    {
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

extern "C" fn on_wait(cpu: c_uint, _data: *mut c_void) {
    if let Some(lens) = LENS.get() {
        lens.wait(cpu);
    }
}

extern "C" fn on_block(cpu: c_uint, instructions: *mut c_void) {
    if let Some(lens) = LENS.get() {
        lens.begin_block(cpu, instructions as u64);
    }
}

extern "C" fn on_access(cpu: c_uint, info: MemoryInfo, address: u64, site: *mut c_void) {
    if let Some(lens) = LENS.get() {
        lens.access(cpu, info, address, Site::unpack(site as usize));
    }
}

extern "C" fn on_access_in_turn(cpu: c_uint, info: MemoryInfo, address: u64, site: *mut c_void) {
    if let Some(lens) = LENS.get() {
        lens.access_in_turn(cpu, info, address, Site::unpack(site as usize));
    }
}

#[allow(clippy::too_many_arguments)]
extern "C" fn on_system_call(
    _id: PluginId,
    cpu: c_uint,
    number: i64,
    first: u64,
    second: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
) {
    let Some(lens) = LENS.get().filter(|lens| !lens.is_child()) else { return };
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

extern "C" fn on_system_call_return(_id: PluginId, cpu: c_uint, number: i64, result: i64) {
    let Some(lens) = LENS.get() else { return };
    // The call's number tells whether it creates a thread. A new thread counts as one, whatever its id.
    let is_thread = matches!(number, 56 | 120 | 435);
    lens.end_waking(cpu, if is_thread { result.min(1) } else { result });
    lens.resume(cpu);
}

/// The program has ended: writes the report. Forks write none, and neither does a program that could not be loaded.
extern "C" fn on_exit(_id: PluginId, _data: *mut c_void) {
    let Some(lens) = LENS.get().filter(|lens| !lens.is_child()) else { return };
    // No code was ever translated, so the program could not be loaded.
    if lens.watched != Watched::Kernel && lens.program.get().is_none() {
        return;
    }
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
        clocks: (0..counters.len()).map(|cpu| unsafe { lens.pace.clock(cpu) }).collect(),
        counters,
        program: lens.program.get().and_then(Option::as_ref),
    });
    let path = &lens.arguments.output;
    if let Err(error) = output::write(path, &report) {
        say(format_args!("{}: the report can't be written: {error}", path.display()));
    }
}
