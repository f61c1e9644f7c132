// SPDX-License-Identifier: GPL-2.0-or-later
//! QEMU's functions that tell the registers and the memory of a machine's CPU: for the handlers of its interrupts, and
//! its page table.

use crate::gates;
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

/// QEMU's functions that tell the registers and the memory of a CPU.
///
/// They are not part of the plugin interface either. QEMU's monitor is built on them, so they and the form of their text
/// have stayed the same for long.
#[derive(Clone, Copy)]
struct Inspector {
    get_cpu: unsafe extern "C" fn(c_int) -> *mut Cpu,
    dump_registers: unsafe extern "C" fn(*mut Cpu, *mut libc::FILE, c_int),
    access_memory: unsafe extern "C" fn(*mut Cpu, u64, *mut c_void, usize, bool) -> c_int,
}

impl Inspector {
    fn find() -> Result<Self, Missing> {
        // SAFETY: the types are those of `qemu_get_cpu`, `cpu_dump_state` and `cpu_memory_rw_debug` in QEMU's
        // include/hw/core/cpu.h and include/exec/cpu-common.h (cpu-all.h up to 8), from 7.2 to 10.2.
        unsafe {
            Ok(Inspector {
                get_cpu: function(c"qemu_get_cpu")?,
                dump_registers: function(c"cpu_dump_state")?,
                access_memory: function(c"cpu_memory_rw_debug")?,
            })
        }
    }

    /// A CPU by its number. Call it in a callback of a CPU.
    fn cpu(&self, number: u16) -> Option<*mut Cpu> {
        // SAFETY: the list of CPUs is complete, since one runs.
        let cpu = unsafe { (self.get_cpu)(number.into()) };
        (!cpu.is_null()).then_some(cpu)
    }

    /// The registers of a CPU as text.
    fn registers(&self, cpu: *mut Cpu) -> Option<String> {
        let (mut text, mut length) = (std::ptr::null_mut::<c_char>(), 0usize);
        // SAFETY: 1. both pointers outlive the stream; 2. the stream is closed here, which sets them; 3. `cpu` is a CPU,
        // and no CPU runs in between, since all share the thread of this callback; 4. what the stream leaves is one
        // block with a zero at its end, which is freed here and not used after that.
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

    /// The bytes at a virtual address of a CPU. None if they are not mapped.
    fn memory(&self, cpu: *mut Cpu, address: u64, bytes: usize) -> Option<Vec<u8>> {
        let mut buffer = vec![0; bytes];
        // SAFETY: 1. `cpu` is a CPU; 2. the buffer has room for the bytes; 3. the last argument says that they are read.
        let status = unsafe { (self.access_memory)(cpu, address, buffer.as_mut_ptr().cast(), bytes, false) };
        (status == 0).then_some(buffer)
    }
}

/// The addresses at which interrupts enter the kernel of a machine with that many CPUs. None if QEMU does not tell, or no
/// CPU has a table of them. Call it in a callback of a machine whose CPUs share one thread.
pub(crate) fn interrupt_handlers(cpus: u16) -> Option<HashSet<u64>> {
    let inspector = Inspector::find().ok()?;
    let of = |cpu: u16| {
        let cpu = inspector.cpu(cpu)?;
        let table = gates::find_table(&inspector.registers(cpu)?)?;
        Some(gates::handlers(&inspector.memory(cpu, table.base, table.bytes)?))
    };
    let handlers: HashSet<u64> = (0..cpus).filter_map(of).flatten().collect();
    (!handlers.is_empty()).then_some(handlers)
}

/// Bits of the register that are no address: an identifier and flags.
const NO_ADDRESS: u64 = 0xfff;

/// The physical address of the topmost page table that a CPU uses. None if QEMU does not tell. Call it in a callback of a
/// machine whose CPUs share one thread.
pub(crate) fn page_table(cpu: u16) -> Option<u64> {
    let inspector = Inspector::find().ok()?;
    page_table_among(&inspector.registers(inspector.cpu(cpu)?)?)
}

/// Finds the register in QEMU's description of a CPU: `CR0=80050033 CR2=00007ffe12345678 CR3=0000000004a2c003 CR4=…`.
fn page_table_among(registers: &str) -> Option<u64> {
    let word = registers.split_whitespace().find_map(|word| word.strip_prefix("CR3="))?;
    u64::from_str_radix(word, 16).ok().map(|value| value & !NO_ADDRESS)
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
}
