//! The code of functions: their first bytes, and their places in a page, by which they are
//! recognised wherever their file is loaded.

use crate::address_space::PAGE_BYTES;
use crate::image::Image;

/// Maximum number of bytes of a function's code that are compared.
const MOST_BYTES: u64 = 64;

/// The beginning of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionCode {
    /// Offset of its first byte in a page.
    pub page_offset: u64,
    /// Its first bytes, at most up to the end of the page.
    pub bytes: Vec<u8>,
}

impl Image {
    /// The functions with a name, of which a file may have several. `file`: the bytes from which
    /// the image was parsed.
    pub fn functions_named(&self, name: &str, file: &[u8]) -> Vec<FunctionCode> {
        let addresses = self.table.code_named(name).into_iter();
        addresses.filter_map(|(address, size)| self.function_code(address, size, file)).collect()
    }

    fn function_code(&self, address: u64, size: u64, file: &[u8]) -> Option<FunctionCode> {
        let page_offset = address % PAGE_BYTES;
        let wanted = if size == 0 { MOST_BYTES } else { size.min(MOST_BYTES) };
        let from = self.code_offset(address)?;
        let to = from + wanted.min(PAGE_BYTES - page_offset);
        let bytes = file.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)?.to_vec();
        Some(FunctionCode { page_offset, bytes })
    }

    /// Number of places in the file's code that cannot be distinguished from a function's
    /// beginning. `file`: as above.
    pub fn places_like(&self, function: &FunctionCode, file: &[u8]) -> usize {
        let FunctionCode { page_offset, bytes } = function;
        let in_segment = |(address, code): (u64, &[u8])| {
            let first = page_offset.wrapping_sub(address) % PAGE_BYTES;
            let places = (first as usize..code.len()).step_by(PAGE_BYTES as usize);
            places.filter(|&at| code[at..].starts_with(bytes)).count()
        };
        self.code_segments(file).map(in_segment).sum()
    }
}
