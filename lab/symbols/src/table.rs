//! Symbols by address, their demangled names, and errors of their sources.

use std::cmp::Reverse;

/// The kind of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A function.
    Code,
    /// A variable.
    Data,
    /// An edge of a section: other symbols end there; it names nothing itself.
    Edge,
}

/// A symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) address: u64,
    /// Size in bytes; 0 if the table has no size, so that the symbol extends to the next one, but
    /// not over [`MOST_WITHOUT_SIZE`] bytes.
    pub(crate) size: u64,
    pub(crate) kind: Kind,
    pub(crate) name: String,
}

/// Maximum length in bytes of a symbol without a size. A longer distance to the next symbol is a
/// gap, such as that between low memory and a kernel's own addresses.
const MOST_WITHOUT_SIZE: u64 = 1 << 24;

/// Number of symbols before an address that are checked: small ones (labels, aliases) may be within
/// a large one.
const LOOK_BACK: usize = 64;

/// Symbols, ordered by address.
#[derive(Debug, Default)]
pub(crate) struct SymbolTable(Vec<Symbol>);

impl SymbolTable {
    pub(crate) fn new(mut symbols: Vec<Symbol>) -> Self {
        // The best of several symbols at one address comes last: one with a size, then one without
        // underscores, then the shortest.
        symbols.sort_by(|a, b| rank(a).cmp(&rank(b)));
        SymbolTable(symbols)
    }

    /// The symbol of that kind that contains `address`, with the distance from its beginning.
    pub(crate) fn find(&self, address: u64, kind: Kind) -> Option<(&Symbol, u64)> {
        let after = self.0.partition_point(|symbol| symbol.address <= address);
        let next = self.0.get(after).map(|symbol| symbol.address);
        let nearest = self.0[..after].last()?.address;
        let covers = |symbol: &&Symbol| match symbol.size {
            // A symbol without a size ends where the next one begins; the end of the last one is
            // not known.
            0 => symbol.address == nearest && next.is_some() && address - symbol.address < MOST_WITHOUT_SIZE,
            size => address - symbol.address < size,
        };
        let found = self.0[..after].iter().rev().take(LOOK_BACK).filter(|symbol| symbol.kind == kind).find(covers)?;
        Some((found, address - found.address))
    }

    /// The address of the symbol with that name.
    pub(crate) fn address_of(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|symbol| symbol.name == name).map(|symbol| symbol.address)
    }

    /// True if data have that name.
    pub(crate) fn has_data(&self, name: &str) -> bool {
        self.0.iter().any(|symbol| symbol.kind == Kind::Data && symbol.name == name)
    }

    /// Addresses and sizes of the functions with that name, each address once.
    pub(crate) fn code_named(&self, name: &str) -> Vec<(u64, u64)> {
        let named = self.0.iter().filter(|symbol| symbol.kind == Kind::Code && symbol.name == name);
        let mut found: Vec<(u64, u64)> = named.map(|symbol| (symbol.address, symbol.size)).collect();
        found.sort_unstable();
        found.dedup_by_key(|(address, _)| *address);
        found
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn rank(symbol: &Symbol) -> (u64, bool, bool, Reverse<usize>, Reverse<&str>) {
    let name = symbol.name.as_str();
    (symbol.address, symbol.size > 0, !name.starts_with('_'), Reverse(name.len()), Reverse(name))
}

/// The name as in its source; unchanged if it is not mangled. The mangled name itself shows the
/// language.
pub(crate) fn demangle(name: &str) -> String {
    addr2line::demangle_auto(name.into(), None).into_owned()
}

/// An unusable source of names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct SymbolError {
    /// The problem, in one line.
    pub problem: String,
    /// A way to resolve it.
    pub hint: &'static str,
}

impl SymbolError {
    pub(crate) fn new(problem: impl Into<String>, hint: &'static str) -> Self {
        SymbolError { problem: problem.into(), hint }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(address: u64, size: u64, kind: Kind, name: &str) -> Symbol {
        Symbol { address, size, kind, name: name.into() }
    }

    fn found(table: &SymbolTable, address: u64, kind: Kind) -> Option<(&str, u64)> {
        table.find(address, kind).map(|(symbol, offset)| (symbol.name.as_str(), offset))
    }

    #[test]
    fn a_symbol_without_a_size_ends_at_the_next() {
        let table = SymbolTable::new(vec![
            symbol(100, 0, Kind::Code, "first"),
            symbol(200, 0, Kind::Edge, "_etext"),
            symbol(300, 0, Kind::Data, "lock"),
            symbol(308, 0, Kind::Data, "last"),
        ]);
        assert_eq!(found(&table, 99, Kind::Code), None);
        assert_eq!(found(&table, 199, Kind::Code), Some(("first", 99)));
        assert_eq!(found(&table, 200, Kind::Code), None);
        assert_eq!(found(&table, 307, Kind::Data), Some(("lock", 7)));
        assert_eq!(found(&table, 307, Kind::Code), None);
        assert_eq!(found(&table, 308, Kind::Data), None, "nothing says where the last one ends");
    }

    #[test]
    fn a_gap_in_memory_belongs_to_no_symbol() {
        let kernel = 0xffff_ffff_8010_0000;
        let table = SymbolTable::new(vec![
            symbol(0x10_8000, 0, Kind::Data, "boot_stack_top"),
            symbol(kernel, 64, Kind::Data, "counter"),
        ]);
        assert_eq!(found(&table, 0x10_8040, Kind::Data), Some(("boot_stack_top", 0x40)));
        assert_eq!(found(&table, kernel - 8, Kind::Data), None);
        assert_eq!(found(&table, 0x10_8000 + MOST_WITHOUT_SIZE, Kind::Data), None);
    }

    #[test]
    fn a_size_is_kept_to_and_reaches_over_smaller_symbols() {
        let table = SymbolTable::new(vec![
            symbol(100, 50, Kind::Code, "outer"),
            symbol(110, 0, Kind::Code, "label"),
            symbol(120, 4, Kind::Code, "inner"),
        ]);
        assert_eq!(found(&table, 122, Kind::Code), Some(("inner", 2)));
        assert_eq!(found(&table, 130, Kind::Code), Some(("outer", 30)));
        assert_eq!(found(&table, 150, Kind::Code), None);
    }

    #[test]
    fn of_several_names_the_plainest_is_taken() {
        let table = SymbolTable::new(vec![
            symbol(100, 0, Kind::Code, "__pfx_do_fault"),
            symbol(100, 0, Kind::Code, "do_fault"),
            symbol(100, 0, Kind::Code, "do_fault_alias"),
            symbol(200, 0, Kind::Edge, "end"),
        ]);
        assert_eq!(found(&table, 101, Kind::Code), Some(("do_fault", 1)));
    }

    #[test]
    fn both_languages_and_neither() {
        assert_eq!(demangle("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE"), "core::fmt::Formatter::write_str");
        assert_eq!(demangle("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
        assert_eq!(demangle("_ZN5Shape4areaEv"), "Shape::area()");
        assert_eq!(demangle("do_anonymous_page"), "do_anonymous_page");
    }
}
