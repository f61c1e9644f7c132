// SPDX-License-Identifier: GPL-2.0-or-later
//! Functions of programs that begin or end a region. Independent of QEMU. A function is
//! recognised by its first bytes and by its place in a page, wherever its file is loaded.

use crate::address::KERNEL;
use std::str::FromStr;

/// Maximum number of compared bytes.
const MOST_BYTES: usize = 64;

const PAGE_BYTES: u64 = 4096;

/// The beginning of a function, written `OFFSET:BYTES`: the offset of its first byte in a page, and
/// its first bytes, both in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FunctionStart {
    offset: u64,
    bytes: Vec<u8>,
}

impl FromStr for FunctionStart {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (offset, digits) = text.split_once(':').ok_or(())?;
        let offset = u64::from_str_radix(offset, 16).map_err(|_| ())?;
        let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return Err(()) };
        let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Vec<u8> = pairs.iter().map(byte).collect::<Option<_>>().ok_or(())?;
        let is_possible = (1..=MOST_BYTES).contains(&bytes.len()) && offset + bytes.len() as u64 <= PAGE_BYTES;
        if offset < PAGE_BYTES && is_possible { Ok(FunctionStart { offset, bytes }) } else { Err(()) }
    }
}

impl FunctionStart {
    /// True if an instruction may be the function's first.
    pub(crate) fn may_begin_with(&self, address: u64, instruction: &[u8]) -> bool {
        let compared = instruction.len().min(self.bytes.len());
        address < KERNEL && address % PAGE_BYTES == self.offset && self.bytes[..compared] == instruction[..compared]
    }

    /// Its first bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_recognised_at_any_page() {
        let function: FunctionStart = "ff0:f30f1efa55".parse().unwrap();
        let endbr = [0xf3, 0x0f, 0x1e, 0xfa];
        assert!(function.may_begin_with(0x5555_0000_0ff0, &endbr) && function.may_begin_with(0xff0, &endbr));
        assert!(!function.may_begin_with(0xff4, &endbr) && !function.may_begin_with(0xff0, &[0x55]));
        assert!(!function.may_begin_with(KERNEL + 0xff0, &endbr));
        let long: FunctionStart = "10:48".parse().unwrap();
        assert!(long.may_begin_with(0x10, &[0x48, 0x89, 0xe5]), "an instruction longer than the function");
    }

    #[test]
    fn nonsense_is_no_function() {
        let long = format!("0:{}", "90".repeat(65));
        for text in ["", "10", "10:", "x:90", "10:9", "10:9x", "1000:90", "fff:9090", &long] {
            assert_eq!(text.parse::<FunctionStart>(), Err(()), "{text}");
        }
    }
}
