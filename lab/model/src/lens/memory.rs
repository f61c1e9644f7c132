//! The memory of a machine that stands still. One crate has it, another one reads it.

/// The physical memory of a machine that stands still.
pub trait PhysicalMemory {
    /// One past the highest address.
    fn end(&self) -> u64;

    /// Fills `bytes` from `address` on. Returns whether there is memory for all of them.
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool;

    /// The physical address of the topmost page table of who ended the counted part; `None` if it is not known.
    fn page_table(&self) -> Option<u64> {
        None
    }
}
