//! The walk of the Arm ARM, "VMSAv8-64 translation table format": stage 1 of EL1&0, granule of 4
//! KiB, 48-bit input and output addresses, no hierarchical permissions used, PAN and WXN clear.

use super::{Access, Fault, Memory, Walked, bit, bits};
use std::sync::atomic::Ordering::SeqCst;

/// Translates an address below the table of TTBR0_EL1. `sets_bits`: TCR_EL1.{HA, HD} are set.
/// `mair`: contents of MAIR_EL1.
pub fn walk(
    memory: Memory<'_>,
    ttbr: u64,
    sets_bits: bool,
    mair: u64,
    address: u64,
    access: Access,
) -> Result<Walked, Fault> {
    if bits(address, 63, 48) != 0 {
        return Err(Fault::Translation);
    }
    'walk: loop {
        let mut table = bits(ttbr, 47, 12) << 12;
        // Lookup levels 0 to 3.
        for level in 0..4 {
            let low = 39 - 9 * level;
            let place = memory(table + 8 * bits(address, low + 8, low));
            let descriptor = place.load(SeqCst);
            match (level, bits(descriptor, 1, 0)) {
                (_, 0 | 2) => return Err(Fault::Translation),
                (0, 1) | (3, 1) => return Err(Fault::Reserved),
                (0..3, 3) => {
                    // APTable, XNTable, PXNTable: no limits. NSTable: secure tables do not exist.
                    if bits(descriptor, 63, 59) != 0 {
                        return Err(Fault::Reserved);
                    }
                    table = bits(descriptor, 47, 12) << 12;
                    continue;
                }
                _ => {}
            }
            // A block or a page. Bits of a block's address below its size, and nT, are 0.
            if level < 3 && bits(descriptor, low - 1, 12) != 0 || bit(descriptor, 5) || bits(descriptor, 50, 48) != 0 {
                return Err(Fault::Reserved);
            }
            let (ap1, ap2, dbm) = (bit(descriptor, 6), bit(descriptor, 7), bit(descriptor, 51));
            let (pxn, uxn) = (bit(descriptor, 53), bit(descriptor, 54));
            let may_write = !ap2 || dbm;
            let (reads, writes, fetches) = match access.is_user {
                true => (ap1, ap1 && may_write, !uxn),
                // Memory that EL0 can write is not executable at EL1.
                false => (true, may_write, !(pxn || ap1 && may_write)),
            };
            let allowed = if access.fetches { fetches } else { reads && (!access.writes || writes) };
            if !allowed {
                return Err(Fault::Permission);
            }
            // The access flag, and the dirty state: AP[2] with DBM.
            let mut used = descriptor | 1 << 10;
            if access.writes {
                used &= !(1 << 7);
            }
            if used != descriptor {
                if !sets_bits {
                    return Err(Fault::Bits);
                }
                if place.compare_exchange(descriptor, used, SeqCst, SeqCst).is_err() {
                    continue 'walk;
                }
            }
            let index = bits(descriptor, 4, 2) as u32;
            let memory = match bits(mair, 8 * index + 7, 8 * index) {
                0xff => "WB",
                0x44 => "NC",
                0x04 => "nGnRE",
                _ => return Err(Fault::Reserved),
            };
            return Ok(Walked {
                address: (bits(descriptor, 47, low) << low) + bits(address, low - 1, 0),
                bytes: 1 << low,
                reads,
                writes,
                fetches,
                is_dirty: !bit(used, 7),
                is_global: !bit(descriptor, 11),
                memory,
            });
        }
        return Err(Fault::Translation);
    }
}
