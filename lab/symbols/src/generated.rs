//! Functions that programs generated at run time (by a just-in-time compiler), as they report in
//! `/tmp/perf-PID.map`.

use faultline_record::lens::counted::GeneratedCode;
use faultline_record::lens::data::Code;
use std::collections::BTreeMap;

/// The functions of each process, by their first address.
#[derive(Debug, Default)]
pub(crate) struct Generated(BTreeMap<u32, BTreeMap<u64, Function>>);

#[derive(Debug)]
struct Function {
    end: u64,
    name: String,
}

impl Generated {
    /// Builds the table from `code` in the order of the programs' reports. A later function
    /// replaces earlier ones that it overlaps, because a compiler reuses memory.
    pub(crate) fn new(code: &[GeneratedCode]) -> Self {
        let mut processes: BTreeMap<u32, BTreeMap<u64, Function>> = BTreeMap::new();
        for GeneratedCode { process, address, length, name } in code {
            let functions = processes.entry(*process).or_default();
            let end = address.saturating_add(*length);
            let overlapped = functions.range(..end).rev().take_while(|(_, function)| function.end > *address);
            for begin in overlapped.map(|(&begin, _)| begin).collect::<Vec<_>>() {
                functions.remove(&begin);
            }
            functions.insert(*address, Function { end, name: name.clone() });
        }
        Generated(processes)
    }

    /// The function at an address; `None` if there is none, or if processes have different ones
    /// there.
    pub(crate) fn code(&self, address: u64) -> Option<Code> {
        let mut found = self.0.values().filter_map(|functions| {
            let (begin, function) = functions.range(..=address).next_back()?;
            (address < function.end).then(|| (function.name.as_str(), address - begin))
        });
        let (name, offset) = found.next()?;
        let code = || Code {
            function: name.to_owned(),
            offset,
            inlined_into: None,
            between: Vec::new(),
            file: None,
            line: None,
            own: None,
        };
        found.all(|other| other == (name, offset)).then(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(process: u32, address: u64, length: u64, name: &str) -> GeneratedCode {
        GeneratedCode { process, address, length, name: name.to_owned() }
    }

    fn at(generated: &Generated, address: u64) -> Option<String> {
        generated.code(address).map(|code| format!("{}+{}", code.function, code.offset))
    }

    #[test]
    fn functions_are_found_by_address() {
        let generated = Generated::new(&[code(7, 0x1000, 0x20, "a"), code(7, 0x1040, 0x10, "b")]);
        assert_eq!(at(&generated, 0x101f).as_deref(), Some("a+31"));
        assert_eq!(at(&generated, 0x1040).as_deref(), Some("b+0"));
        assert_eq!([0xfff, 0x1020, 0x1050].map(|address| at(&generated, address)), [None, None, None]);
    }

    #[test]
    fn memory_that_is_used_again_has_its_last_name() {
        let first = [code(7, 0x1000, 0x20, "a"), code(7, 0x1020, 0x20, "b"), code(7, 0x1040, 0x20, "c")];
        let generated = Generated::new(&[&first[..], &[code(7, 0x1010, 0x20, "new")]].concat());
        assert_eq!(at(&generated, 0x1018).as_deref(), Some("new+8"));
        assert_eq!([0x1000, 0x1038].map(|address| at(&generated, address)), [None, None], "gone in whole");
        assert_eq!(at(&generated, 0x1040).as_deref(), Some("c+0"));
    }

    #[test]
    fn what_processes_name_differently_has_no_name() {
        let generated = Generated::new(&[code(7, 0x1000, 0x20, "a"), code(8, 0x1000, 0x20, "a")]);
        assert_eq!(at(&generated, 0x1001).as_deref(), Some("a+1"));
        let generated = Generated::new(&[code(7, 0x1000, 0x20, "a"), code(8, 0x1010, 0x20, "b")]);
        assert_eq!(at(&generated, 0x1001).as_deref(), Some("a+1"));
        assert_eq!(at(&generated, 0x1018), None);
    }
}
