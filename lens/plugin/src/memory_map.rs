// SPDX-License-Identifier: GPL-2.0-or-later
//! What memory of this process may be read and written. QEMU's structures are followed only that far.

use std::fs;

/// Number of bytes from an address to the end of the mapping that holds it. 0 if it cannot be read and written.
pub(crate) fn writable_bytes_from(address: usize) -> usize {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let bytes = |line: &str| {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let (from, to) = (usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?);
        (rest.starts_with("rw") && (from..to).contains(&address)).then(|| to - address)
    };
    maps.lines().find_map(bytes).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    static CONSTANT: &str = "constants can't be written";

    #[test]
    fn only_memory_that_can_be_written_counts() {
        let mut variable = 0_u64;
        assert!(writable_bytes_from(&raw mut variable as usize) >= size_of::<u64>());
        assert_eq!(writable_bytes_from(CONSTANT.as_ptr() as usize), 0);
        assert_eq!(writable_bytes_from(5), 0);
    }
}
