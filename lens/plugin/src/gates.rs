// SPDX-License-Identifier: GPL-2.0-or-later
//! Where a machine's interrupts enter the kernel: the handlers in the interrupt descriptor tables of its CPUs. Source:
//! Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3, sections 6.3 (vectors) and 6.14 (gates).

use crate::address::KERNEL;
use std::collections::HashSet;

/// Vectors below this one are exceptions, and the non-maskable interrupt.
const FIRST_VECTOR: usize = 32;
const VECTORS: usize = 256;
const GATE_BYTES: usize = 16;

/// The descriptor table of a CPU: the address of its first byte, and its size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) base: u64,
    pub(crate) bytes: usize,
}

/// Finds the table in QEMU's description of a CPU's registers, a line `IDT=     fffffe0000000000 00000fff`: base, and
/// size less one. None for a CPU that has not set one.
pub(crate) fn find_table(registers: &str) -> Option<Table> {
    let line = registers.lines().find_map(|line| line.trim_start().strip_prefix("IDT="))?;
    let mut words = line.split_whitespace().map(|word| u64::from_str_radix(word, 16));
    let (base, limit) = (words.next()?.ok()?, words.next()?.ok()?);
    (base >= KERNEL).then(|| Table { base, bytes: (limit as usize + 1).min(VECTORS * GATE_BYTES) })
}

/// The addresses of the handlers of a table's interrupts.
pub(crate) fn handlers(table: &[u8]) -> HashSet<u64> {
    let (gates, _) = table.as_chunks::<GATE_BYTES>();
    gates.iter().skip(FIRST_VECTOR).filter_map(handler).collect()
}

/// The handler of a gate. None if the gate is not present, or leads elsewhere than into the kernel.
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
        assert_eq!(find_table(registers), Some(Table { base: 0xffff_fe00_0000_0000, bytes: 4096 }));
        assert_eq!(find_table("IDT=     0000000000000000 0000ffff"), None);
        assert_eq!(find_table("IDT=     fffffe0000000000"), None);
        assert_eq!(find_table("RAX=0000000000000001"), None);
    }

    #[test]
    fn handlers_of_interrupts_are_told_from_those_of_exceptions() {
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
