//! The algorithm of the RISC-V privileged architecture, "Virtual address translation process", for
//! Sv39 and Sv48: sstatus.{SUM, MXR} clear, no Svnapot.

use super::{Access, Fault, Memory, Walked, bit, bits};
use std::sync::atomic::Ordering::SeqCst;

/// Translates a virtual address. `levels`: 3 or 4. `sets_bits`: Svadu is there and enabled.
/// `has_types`: Svpbmt is.
pub fn walk(
    memory: Memory<'_>,
    root: u64,
    levels: u32,
    (sets_bits, has_types): (bool, bool),
    address: u64,
    access: Access,
) -> Result<Walked, Fault> {
    // The upper bits equal the highest translated one.
    let sign = 9 * levels + 11;
    if bits(address, 63, sign) != 0 && bits(address, 63, sign) != u64::MAX >> sign {
        return Err(Fault::Translation);
    }
    'walk: loop {
        // Step 1.
        let mut a = root;
        let mut i = levels - 1;
        loop {
            // Step 2.
            let place = memory(a + 8 * bits(address, 9 * i + 20, 9 * i + 12));
            let pte = place.load(SeqCst);
            let (v, r, w, x, u) = (bit(pte, 0), bit(pte, 1), bit(pte, 2), bit(pte, 3), bit(pte, 4));
            // Step 3.
            if !v || !r && w || bits(pte, 60, 54) != 0 || bit(pte, 63) || bits(pte, 62, 61) != 0 && !has_types {
                return Err(if v { Fault::Reserved } else { Fault::Translation });
            }
            // Step 4.
            if !r && !x {
                // D, A and U of a pointer, and its PBMT, are reserved.
                if bit(pte, 7) || bit(pte, 6) || u || bits(pte, 62, 61) != 0 || i == 0 {
                    return Err(Fault::Reserved);
                }
                a = bits(pte, 53, 10) << 12;
                i -= 1;
                continue;
            }
            // Steps 5 and 6: a leaf. The superpage is aligned.
            if i > 0 && bits(pte, 9 * i + 9, 10) != 0 || bits(pte, 62, 61) == 3 {
                return Err(Fault::Reserved);
            }
            // Steps 7 and 8. Without SUM the kernel has no access to pages of programs.
            if u != access.is_user || if access.fetches { !x } else { !r || access.writes && !w } {
                return Err(Fault::Permission);
            }
            // Step 9.
            let used = pte | 1 << 6 | if access.writes { 1 << 7 } else { 0 };
            if used != pte {
                if !sets_bits {
                    return Err(Fault::Bits);
                }
                if place.compare_exchange(pte, used, SeqCst, SeqCst).is_err() {
                    continue 'walk;
                }
            }
            // Step 10.
            let page_bits = 9 * i + 12;
            return Ok(Walked {
                address: (bits(pte, 53, 10 + 9 * i) << page_bits) + bits(address, page_bits - 1, 0),
                bytes: 1 << page_bits,
                reads: r,
                writes: w,
                fetches: x,
                is_dirty: bit(used, 7),
                is_global: bit(pte, 5),
                memory: ["PMA", "NC", "IO"][bits(pte, 62, 61) as usize],
            });
        }
    }
}
