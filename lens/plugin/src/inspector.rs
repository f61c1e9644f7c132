// SPDX-License-Identifier: GPL-2.0-or-later
//! Inspection of a machine's CPU through QEMU: the handlers of its interrupts, and its page table.
//! Source of the descriptor table's form: Intel 64 and IA-32 Architectures Software Developer's
//! Manual, volume 3, sections 6.3 (vectors) and 6.14 (gates).

use crate::address::KERNEL;
use crate::qemu::{Missing, function};
use std::collections::HashSet;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;

/// A CPU of QEMU's.
#[repr(C)]
struct Cpu {
    opaque: [u8; 0],
    not_send: PhantomData<*mut u8>,
}

/// QEMU's functions that read the registers and the memory of a CPU.
///
/// They are not part of the plugin interface. QEMU's monitor is built on them, so they and the form
/// of their text have been stable for long.
#[derive(Clone, Copy)]
struct Inspector {
    get_cpu: unsafe extern "C" fn(c_int) -> *mut Cpu,
    dump_registers: unsafe extern "C" fn(*mut Cpu, *mut libc::FILE, c_int),
    access_memory: unsafe extern "C" fn(*mut Cpu, u64, *mut c_void, usize, bool) -> c_int,
}

impl Inspector {
    fn find() -> Result<Self, Missing> {
        // SAFETY: the types are those of `qemu_get_cpu`, `cpu_dump_state` and `cpu_memory_rw_debug`
        // in QEMU's include/hw/core/cpu.h and include/exec/cpu-common.h (cpu-all.h up to 8), from
        // 7.2 to 10.2.
        unsafe {
            Ok(Inspector {
                get_cpu: function(c"qemu_get_cpu")?,
                dump_registers: function(c"cpu_dump_state")?,
                access_memory: function(c"cpu_memory_rw_debug")?,
            })
        }
    }

    /// A CPU by its number. Call in a callback of a CPU.
    fn cpu(&self, number: u16) -> Option<*mut Cpu> {
        // SAFETY: the list of CPUs is complete, since one runs.
        let cpu = unsafe { (self.get_cpu)(number.into()) };
        (!cpu.is_null()).then_some(cpu)
    }

    /// The registers of a CPU as text.
    fn registers(&self, cpu: *mut Cpu) -> Option<String> {
        let (mut text, mut length) = (std::ptr::null_mut::<c_char>(), 0usize);
        // SAFETY: 1. both pointers outlive the stream; 2. the stream is closed here, which sets
        // them; 3. `cpu` is a CPU, and no CPU runs in between, since all share the thread of this
        // callback; 4. what the stream leaves is one block with a zero at its end, which is freed
        // here and not used after that.
        unsafe {
            let stream = libc::open_memstream(&mut text, &mut length);
            if stream.is_null() {
                return None;
            }
            (self.dump_registers)(cpu, stream, 0);
            libc::fclose(stream);
            let registers = (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned());
            libc::free(text.cast());
            registers
        }
    }

    /// The bytes at a virtual address of a CPU; `None` if they are not mapped.
    fn memory(&self, cpu: *mut Cpu, address: u64, bytes: usize) -> Option<Vec<u8>> {
        let mut buffer = vec![0; bytes];
        // SAFETY: 1. `cpu` is a CPU; 2. the buffer has room for the bytes; 3. the last argument
        // requests a read.
        let status = unsafe { (self.access_memory)(cpu, address, buffer.as_mut_ptr().cast(), bytes, false) };
        (status == 0).then_some(buffer)
    }
}

/// The addresses at which interrupts enter the kernel of a machine with that many CPUs; `None` if
/// QEMU does not provide them, or no CPU has a descriptor table. Call in a callback of a machine
/// whose CPUs share one thread.
pub(crate) fn interrupt_handlers(cpus: u16) -> Option<HashSet<u64>> {
    let inspector = Inspector::find().ok()?;
    let of = |cpu: u16| {
        let cpu = inspector.cpu(cpu)?;
        let table = find_table(&inspector.registers(cpu)?)?;
        Some(handlers(&inspector.memory(cpu, table.base, table.bytes)?))
    };
    let handlers: HashSet<u64> = (0..cpus).filter_map(of).flatten().collect();
    (!handlers.is_empty()).then_some(handlers)
}

/// Bits of the register that are not part of the address: an identifier and flags.
const NO_ADDRESS: u64 = 0xfff;

/// The physical address of a CPU's topmost page table; `None` if QEMU does not provide it. Call in
/// a callback of a machine whose CPUs share one thread.
pub(crate) fn page_table(cpu: u16) -> Option<u64> {
    let inspector = Inspector::find().ok()?;
    page_table_among(&inspector.registers(inspector.cpu(cpu)?)?)
}

/// Finds the register in QEMU's description of a CPU:
/// `CR0=80050033 CR2=00007ffe12345678 CR3=0000000004a2c003 CR4=…`.
fn page_table_among(registers: &str) -> Option<u64> {
    let word = registers.split_whitespace().find_map(|word| word.strip_prefix("CR3="))?;
    u64::from_str_radix(word, 16).ok().map(|value| value & !NO_ADDRESS)
}

/// First vector of an interrupt. Lower vectors are exceptions and the non-maskable interrupt.
const FIRST_VECTOR: usize = 32;
const VECTORS: usize = 256;
const GATE_BYTES: usize = 16;

/// A CPU's interrupt descriptor table: the address of its first byte, and its size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InterruptTable {
    pub(crate) base: u64,
    pub(crate) bytes: usize,
}

/// Finds the table in QEMU's description of a CPU's registers, in a line such as
/// `IDT=     fffffe0000000000 00000fff`: base, and size minus 1. `None` if the CPU has not set one.
pub(crate) fn find_table(registers: &str) -> Option<InterruptTable> {
    let line = registers.lines().find_map(|line| line.trim_start().strip_prefix("IDT="))?;
    let mut words = line.split_whitespace().map(|word| u64::from_str_radix(word, 16));
    let (base, limit) = (words.next()?.ok()?, words.next()?.ok()?);
    (base >= KERNEL).then(|| InterruptTable { base, bytes: (limit as usize + 1).min(VECTORS * GATE_BYTES) })
}

/// The addresses of a table's interrupt handlers.
pub(crate) fn handlers(table: &[u8]) -> HashSet<u64> {
    let (gates, _) = table.as_chunks::<GATE_BYTES>();
    gates.iter().skip(FIRST_VECTOR).filter_map(handler).collect()
}

/// The handler of a gate; `None` if the gate is not present, or leads elsewhere than into the
/// kernel.
fn handler(gate: &[u8; GATE_BYTES]) -> Option<u64> {
    const PRESENT: u8 = 1 << 7;
    const INTERRUPT_OR_TRAP: u8 = 0xe;
    let [low_0, low_1, _, _, _, kind, mid_0, mid_1, high @ ..] = *gate;
    let low = u32::from_le_bytes([low_0, low_1, mid_0, mid_1]);
    let high = u32::from_le_bytes([high[0], high[1], high[2], high[3]]);
    let address = u64::from(high) << 32 | u64::from(low);
    (kind & PRESENT != 0 && kind & INTERRUPT_OR_TRAP == INTERRUPT_OR_TRAP && address >= KERNEL).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn the_page_table_is_found_among_registers() {
        let registers = "GDT=     0000 007f\nCR0=80050033 CR2=00007ffe12345678 CR3=0000000004a2c003 CR4=000006f0\n";
        assert_eq!(page_table_among(registers), Some(0x4a2_c000));
        assert_eq!(page_table_among("CR0=80050033"), None);
    }

    fn gate(address: u64, kind: u8) -> [u8; GATE_BYTES] {
        let mut gate = [0; GATE_BYTES];
        gate[..2].copy_from_slice(&(address as u16).to_le_bytes());
        gate[5] = kind;
        gate[6..8].copy_from_slice(&((address >> 16) as u16).to_le_bytes());
        gate[8..12].copy_from_slice(&((address >> 32) as u32).to_le_bytes());
        gate
    }

    #[test]
    fn a_table_is_found_among_registers() {
        let registers = "RAX=0000000000000001 RBX=0000000000000002\nGDT=     fffffe0000001000 0000007f\n\
                         IDT=     fffffe0000000000 00000fff\nCR0=80050033";
        assert_eq!(find_table(registers), Some(InterruptTable { base: 0xffff_fe00_0000_0000, bytes: 4096 }));
        assert_eq!(find_table("IDT=     0000000000000000 0000ffff"), None);
        assert_eq!(find_table("IDT=     fffffe0000000000"), None);
        assert_eq!(find_table("RAX=0000000000000001"), None);
    }

    #[test]
    fn handlers_of_interrupts_are_distinguished_from_those_of_exceptions() {
        let mut table = Vec::new();
        for vector in 0..40u64 {
            let kind = match vector {
                34 => 0x0e,
                35 => 0x8f,
                36 => 0x85,
                _ => 0x8e,
            };
            table.extend(gate(0xffff_ffff_8200_0000 + vector * 16, kind));
        }
        table.extend(gate(0x1000, 0x8e));
        let of = |vector: u64| 0xffff_ffff_8200_0000 + vector * 16;
        assert_eq!(handlers(&table), [32, 33, 35, 37, 38, 39].map(of).into());
        assert_eq!(handlers(&table[..34 * GATE_BYTES + 8]), [32, 33].map(of).into());
        assert!(handlers(&[]).is_empty());
    }
}
