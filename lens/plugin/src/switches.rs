// SPDX-License-Identifier: GPL-2.0-or-later
//! The instructions by which a CPU comes to run another process, and their callbacks: loads of the
//! page-table register, returns to user mode, and system calls that fork.

use crate::address::KERNEL;
use crate::instruction;
use crate::lens::{LENS, Lens, fail};
use crate::processes::{Return, path_address};
use crate::qemu::Instruction;
use crate::registers::Registers;
use std::ffi::{c_uint, c_void};

/// The registers that the callbacks need, by their DWARF numbers.
const RAX: usize = 0;
const RCX: usize = 2;
const RSI: usize = 4;
const RDI: usize = 5;
const RSP: usize = 7;

/// DWARF numbers of the registers, in the order in which instructions number them.
const BY_CODE: [u8; 16] = [0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15];

/// Bytes of `syscall`.
const CALL_BYTES: u64 = 2;

/// Numbers of Linux's system calls on x86-64.
mod call {
    pub(super) const CLONE: u64 = 56;
    pub(super) const FORK: u64 = 57;
    pub(super) const CLONE3: u64 = 435;
}

/// Flag of `clone`: the child has its parent's page table.
const SHARES_MEMORY: u64 = 0x100;

/// Code segments of user mode.
const USER_CODE_32: u64 = 0x23;
const USER_CODE_64: u64 = 0x33;

/// Instruments an instruction at `address` if a CPU may change its process by it.
///
/// # Safety
/// `instruction` must come from [`Qemu::instructions`](crate::qemu::Qemu::instructions) within the
/// same translation callback.
pub(crate) unsafe fn watch(lens: &Lens, instruction: *mut Instruction, address: u64, bytes: &[u8]) {
    let (callback, data): (extern "C" fn(c_uint, *mut c_void), u64) = match instruction::loads_page_table(bytes) {
        _ if address < KERNEL && instruction::calls(bytes) => (on_call, address + CALL_BYTES),
        _ if address < KERNEL => return,
        Some(register) => (on_table, BY_CODE[usize::from(register)].into()),
        None if instruction::returns(bytes) => (on_return, 1),
        None if instruction::returns_from_call(bytes) => (on_return, 0),
        None => return,
    };
    // SAFETY: as the caller promises.
    unsafe { lens.qemu.on_instruction_with_registers(instruction, callback, data as usize) };
}

/// A CPU is about to load its page-table register from `register`.
extern "C" fn on_table(_cpu: c_uint, register: *mut c_void) {
    let Some(lens) = LENS.get() else { return };
    let cpu = lens.running_cpu();
    // SAFETY: this is the callback of an instruction of the CPU that runs, registered to read
    // registers; the loan ends at once.
    let program = unsafe {
        let value = lens.registers.value(register as usize).unwrap_or_else(|error| fail(error));
        lens.processes.lend().change_table(cpu as usize, value)
    };
    lens.run(cpu, program);
}

/// A CPU is about to return to user mode. `interrupted`: 0 for a return from a system call.
extern "C" fn on_return(_cpu: c_uint, interrupted: *mut c_void) {
    let Some(lens) = LENS.get() else { return };
    let cpu = lens.running_cpu();
    // SAFETY: 1. this is the callback of an instruction of the CPU that runs, registered to read
    // registers; 2. the loan ends with it.
    let (processes, registers) = unsafe { (lens.processes.lend(), &lens.registers) };
    if !processes.is_new(cpu as usize) {
        return;
    }
    // SAFETY: as above.
    let values = unsafe { registers.values() }.unwrap_or_else(|error| fail(error));
    let others_are_zero = values.iter().enumerate().all(|(number, &value)| value == 0 || number == RSP);
    let mut word_bytes = 8;
    let state = if interrupted.is_null() {
        Return { instruction: values[RCX], stack: values[RSP], result: values[RAX], is_blank: false }
    } else {
        // The frame: instruction pointer, code segment, flags, stack pointer, stack segment.
        // SAFETY: as above.
        let frame = unsafe { words(registers, values[RSP], 40, 8) };
        let &[instruction, code @ (USER_CODE_32 | USER_CODE_64), _, stack, _] = &frame[..] else { return };
        word_bytes = if code == USER_CODE_32 { 4 } else { 8 };
        Return { instruction, stack, result: values[RAX], is_blank: others_are_zero }
    };
    // SAFETY: as above.
    let program = processes.enter_user(cpu as usize, state, || unsafe { path(registers, state.stack, word_bytes) });
    lens.run(cpu, program);
}

/// A program is about to call the kernel. `next`: the instruction after the call.
extern "C" fn on_call(_cpu: c_uint, next: *mut c_void) {
    let Some(lens) = LENS.get() else { return };
    // SAFETY: 1. this is the callback of an instruction of the CPU that runs, registered to read
    // registers; 2. the loan ends with it.
    let stack = unsafe { child_stack(&lens.registers) };
    if let Some(stack) = stack {
        let cpu = lens.running_cpu() as usize;
        // SAFETY: as above.
        unsafe { lens.processes.lend() }.fork(cpu, next as u64, stack);
    }
}

/// The stack pointer of the process that the present system call creates; `None` if the call
/// creates none, or one that shares its parent's memory.
///
/// # Safety
/// As for [`Registers::values`].
unsafe fn child_stack(registers: &Registers) -> Option<u64> {
    // SAFETY: as the caller promises.
    let value = |number| unsafe { registers.value(number) }.unwrap_or_else(|error| fail(error));
    let (flags, stack) = match value(RAX) {
        call::FORK => (0, 0),
        call::CLONE => (value(RDI), value(RSI)),
        call::CLONE3 => {
            // Of its arguments: flags, and the stack's first byte and size.
            // SAFETY: as the caller promises.
            let arguments = unsafe { words(registers, value(RDI), 56, 8) };
            (*arguments.first()?, arguments.get(5)?.wrapping_add(*arguments.get(6)?))
        }
        _ => return None,
    };
    let own = || value(RSP);
    (flags & SHARES_MEMORY == 0).then(|| if stack == 0 { own() } else { stack })
}

/// Words at an address; none if they are not mapped.
///
/// # Safety
/// As for [`Registers::values`].
unsafe fn words(registers: &Registers, address: u64, bytes: usize, word_bytes: usize) -> Vec<u64> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    // SAFETY: as the caller promises.
    unsafe { registers.memory(address, bytes) }.chunks_exact(word_bytes).map(word).collect()
}

const PAGE_BYTES: u64 = 4096;

/// Maximum length of a path.
const MOST_PATH_BYTES: usize = 4096;

/// The path of a program that begins with that stack pointer.
///
/// # Safety
/// As for [`Registers::values`].
unsafe fn path(registers: &Registers, stack: u64, word_bytes: usize) -> Option<String> {
    let to_page_end = |address: u64| (PAGE_BYTES - address % PAGE_BYTES) as usize;
    // `None` behind the last page of the address space.
    let mut next = Some(stack);
    let pages = std::iter::from_fn(|| {
        let address = next?;
        let bytes = to_page_end(address);
        // SAFETY: as the caller promises.
        let page = unsafe { words(registers, address, bytes, word_bytes) };
        next = address.checked_add(bytes as u64);
        (!page.is_empty()).then_some(page)
    });
    let mut at = path_address(pages.flatten())?;
    let mut path = Vec::new();
    while path.len() < MOST_PATH_BYTES {
        // SAFETY: as the caller promises.
        let bytes = unsafe { registers.memory(at, to_page_end(at)) };
        match bytes.iter().position(|&byte| byte == 0) {
            Some(end) => {
                path.extend(&bytes[..end]);
                return Some(String::from_utf8_lossy(&path).into_owned());
            }
            None if bytes.is_empty() => return None,
            None => {
                at = at.checked_add(bytes.len() as u64)?;
                path.extend(bytes);
            }
        }
    }
    None
}
