//! The walk of the Intel SDM, volume 3A, "4-level paging and 5-level paging": CR0.WP, CR4.PGE and
//! EFER.NXE set, CR4.SMEP, SMAP and PKE clear.

use super::{Access, Fault, Memory, Walked, bit, bits};
use std::sync::atomic::Ordering::SeqCst;

/// Physical-address width.
const MAXPHYADDR: u32 = 46;

/// Translates a linear address. `levels`: 4 or 5. `pat`: contents of IA32_PAT.
pub fn walk(memory: Memory<'_>, cr3: u64, levels: u32, pat: u64, linear: u64, access: Access) -> Result<Walked, Fault> {
    let sign = 9 * levels + 11;
    // A linear address that is not canonical causes a general-protection exception.
    if bits(linear, 63, sign) != 0 && bits(linear, 63, sign) != u64::MAX >> sign {
        return Err(Fault::Translation);
    }
    'walk: loop {
        let mut table = bits(cr3, 51, 12) << 12;
        let (mut writes, mut user, mut fetches) = (true, true, true);
        for level in (1..=levels).rev() {
            let index = bits(linear, 9 * level + 11, 9 * level + 3);
            let place = memory(table + 8 * index);
            let entry = place.load(SeqCst);
            if !bit(entry, 0) {
                return Err(Fault::Translation);
            }
            let is_page = level == 1 || bit(entry, 7);
            let page_bits = 9 * level + 3;
            // Reserved: bits above MAXPHYADDR; PS of a PML4E or PML5E; the address bits of a large
            // page below its size, except the PAT bit.
            if bits(entry, 51, MAXPHYADDR) != 0
                || is_page && level > 3
                || is_page && level > 1 && bits(entry, page_bits - 1, 13) != 0
            {
                return Err(Fault::Reserved);
            }
            writes &= bit(entry, 1);
            user &= bit(entry, 2);
            fetches &= !bit(entry, 63);
            if access.is_user && !user {
                return Err(Fault::Permission);
            }
            if !is_page {
                if place.compare_exchange(entry, entry | 1 << 5, SeqCst, SeqCst).is_err() {
                    continue 'walk;
                }
                table = bits(entry, 51, 12) << 12;
                continue;
            }
            if access.writes && !writes || access.fetches && !fetches {
                return Err(Fault::Permission);
            }
            let used = entry | 1 << 5 | if access.writes { 1 << 6 } else { 0 };
            if place.compare_exchange(entry, used, SeqCst, SeqCst).is_err() {
                continue 'walk;
            }
            let frame = bits(entry, 51, page_bits) << page_bits;
            // The memory type: PAT, PCD and PWT select a byte of the register.
            let selected = u64::from(bit(entry, if level == 1 { 7 } else { 12 })) << 2 | bits(entry, 4, 3);
            let memory = match bits(pat, 8 * selected as u32 + 7, 8 * selected as u32) {
                0 => "UC",
                1 => "WC",
                4 => "WT",
                5 => "WP",
                6 => "WB",
                7 => "UC-",
                _ => return Err(Fault::Reserved),
            };
            return Ok(Walked {
                address: frame + bits(linear, page_bits - 1, 0),
                bytes: 1 << page_bits,
                reads: true,
                writes,
                fetches,
                is_dirty: bit(used, 6),
                is_global: bit(entry, 8),
                memory,
            });
        }
        return Err(Fault::Translation);
    }
}
