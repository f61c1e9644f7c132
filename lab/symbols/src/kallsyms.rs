//! The kernel's own symbol table, as in `/proc/kallsyms`.

use crate::table::{Kind, Symbol, SymbolError, SymbolTable, demangle};
use faultline_record::lens::guest_kernel::KernelSymbol;

/// Names that mark the beginning or end of a section.
const EDGES: &[&str] = &[
    "_text",
    "_stext",
    "_etext",
    "_sdata",
    "_edata",
    "_end",
    "__bss_start",
    "__bss_stop",
    "__brk_base",
    "__brk_limit",
    "__init_begin",
    "__init_end",
    "__start_rodata",
    "__end_rodata",
    "__end_rodata_aligned",
    "__end_rodata_hpage_align",
    "__per_cpu_start",
    "__per_cpu_end",
];

/// A kernel's symbols.
#[derive(Debug)]
pub struct Kallsyms {
    pub(crate) table: SymbolTable,
}

impl Kallsyms {
    /// True if a variable, per-CPU or not, has that name.
    pub fn has_variable(&self, name: &str) -> bool {
        self.table.has_data(name)
    }

    /// Builds the table. Per-CPU variables, with addresses from near 0, are included. Fails if
    /// there are no symbols, or if none has an address.
    pub fn new(symbols: impl IntoIterator<Item = KernelSymbol>) -> Result<Self, SymbolError> {
        let symbols: Vec<Symbol> = symbols.into_iter().filter_map(symbol).collect();
        if symbols.is_empty() {
            return Err(SymbolError::new("the table of kernel symbols is empty", "the kernel needs CONFIG_KALLSYMS"));
        }
        if symbols.iter().all(|symbol| symbol.address == 0) {
            return Err(SymbolError::new(
                "the table of kernel symbols has no addresses",
                "read it as root, with kernel.kptr_restrict at 0 or 1",
            ));
        }
        Ok(Kallsyms { table: SymbolTable::new(symbols) })
    }
}

/// Symbols that name code or data, or mark the end of a section; `None` for the rest.
fn symbol(KernelSymbol { address, kind, name }: KernelSymbol) -> Option<Symbol> {
    let kind = match kind {
        _ if EDGES.contains(&name.as_str()) => Kind::Edge,
        't' | 'T' | 'w' | 'W' | 'i' => Kind::Code,
        'a' | 'A' | 'b' | 'B' | 'd' | 'D' | 'g' | 'G' | 'r' | 'R' | 's' | 'S' | 'v' | 'V' => Kind::Data,
        _ => return None,
    };
    Some(Symbol { address, size: 0, kind, name: demangle(&name) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "0000000000000000 A fixed_percpu_data
0000000000000000 A __per_cpu_start
0000000000020a00 A runqueues
0000000000021680 A tick_cpu_sched
0000000000034000 A __per_cpu_end
ffffffff81000000 T startup_64
ffffffff81000000 T _text
ffffffff81234560 t do_anonymous_page
ffffffff81234a00 W weak_function
ffffffff82a01240 D jiffies_lock
ffffffff82a01280 b zonelists
ffffffff82b00000 B _end
ffffffffc0001000 t _ZN4core3fmt5write17h0123456789abcdefE
ffffffffc0001100 t rust_end
ffffffffc0001200 N debugging
";

    fn table(text: &str) -> Result<Kallsyms, SymbolError> {
        Kallsyms::new(text.lines().map(|line| line.parse().unwrap()))
    }

    fn named(address: u64, kind: Kind) -> Option<(String, u64)> {
        let symbols = table(TEXT).unwrap();
        symbols.table.find(address, kind).map(|(symbol, offset)| (symbol.name.clone(), offset))
    }

    fn some(name: &str, offset: u64) -> Option<(String, u64)> {
        Some((name.to_owned(), offset))
    }

    #[test]
    fn code_and_data_are_found_with_their_offsets() {
        assert_eq!(named(0xffff_ffff_8123_4570, Kind::Code), some("do_anonymous_page", 0x10));
        assert_eq!(named(0xffff_ffff_82a0_1250, Kind::Data), some("jiffies_lock", 0x10));
        assert_eq!(named(0xffff_ffff_8100_0010, Kind::Code), some("startup_64", 0x10));
        assert_eq!(named(0x20a08, Kind::Data), some("runqueues", 8));
        assert_eq!(named(0xffff_ffff_c000_1004, Kind::Code), some("core::fmt::write", 4));
    }

    #[test]
    fn what_lies_beyond_an_edge_has_no_name() {
        assert_eq!(named(0xffff_ffff_82b0_0040, Kind::Data), None);
        assert_eq!(named(0x35000, Kind::Data), None);
        assert_eq!(named(0xffff_ffff_82a0_1250, Kind::Code), None);
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let said = |text: &str| table(text).unwrap_err().problem;
        assert_eq!(said(""), "the table of kernel symbols is empty");
        assert_eq!(
            said("0000000000000000 T a\n0000000000000000 T b\n"),
            "the table of kernel symbols has no addresses"
        );
    }
}
