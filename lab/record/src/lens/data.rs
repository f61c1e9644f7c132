//! Names of code and data: of instructions and of lines, and their text form.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The place of an instruction in the code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Code {
    /// The function; the innermost one if functions were inlined.
    pub function: String,
    /// Bytes from the beginning of the function that contains the instruction, inlined or not.
    pub offset: u64,
    /// The function that `function` was inlined into, directly or indirectly, and that has a
    /// symbol; `None` if `function` was not inlined.
    pub inlined_into: Option<String>,
    /// The functions between `function` and `inlined_into`, innermost first. They were inlined too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub between: Vec<String>,
    /// Source file.
    pub file: Option<String>,
    /// Line in the file, from 1.
    pub line: Option<u32>,
    /// The place in the program's own source from which inlined library code got here; `None` if
    /// `file` is no library's, or if no function around is the program's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<OwnPlace>,
}

/// A place in a program's own source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct OwnPlace {
    /// The function: one of [`Code::between`], or [`Code::inlined_into`].
    pub function: String,
    /// Source file.
    pub file: String,
    /// Line in the file, from 1.
    pub line: u32,
}

impl Code {
    /// `file:line`, the file without its directories, if both are known.
    pub fn source(&self) -> Option<String> {
        Some(source(self.file.as_deref()?, self.line?))
    }

    /// The place as seen from the program's own source: itself, or the own place around it.
    pub fn seen(&self) -> Seen<'_> {
        let around: Vec<&str> = self.between.iter().chain(&self.inlined_into).map(String::as_str).collect();
        let own = self.own.as_ref().and_then(|own| Some((own, around.iter().position(|name| *name == own.function)?)));
        match own {
            Some((own, at)) => Seen {
                function: &own.function,
                source: Some(source(&own.file, own.line)),
                around: around[at + 1..].to_vec(),
                library: Some(self.to_string()),
            },
            None => Seen { function: &self.function, source: self.source(), around, library: None },
        }
    }
}

/// A place in the code, named by the program's own source where possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen<'a> {
    /// The function.
    pub function: &'a str,
    /// Source file and line, if known.
    pub source: Option<String>,
    /// The functions that this function was inlined into, innermost first.
    pub around: Vec<&'a str>,
    /// The library's function and source line, if it was inlined into this place.
    pub library: Option<String>,
}

impl Seen<'_> {
    /// Function and source line: `increment counter.c:12`.
    pub fn name(&self) -> String {
        let source = self.source.as_ref().map_or_else(String::new, |source| format!(" {source}"));
        format!("{}{source}", self.function)
    }
}

/// `file:line`, the file without its directories.
fn source(file: &str, line: u32) -> String {
    format!("{}:{line}", file.rsplit('/').next().unwrap_or(file))
}

/// The place without the offset, which changes from build to build: `increment counter.c:12`,
/// `do_fault`.
impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.function)?;
        if let Some(source) = self.source() {
            write!(f, " {source}")?;
        }
        Ok(())
    }
}

/// An arena of the C library's `malloc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arena {
    /// The arena of the first thread, and of threads that find no other.
    Main,
    /// An arena that threads created for themselves.
    Thread,
}

impl Arena {
    /// `main arena`
    fn words(self) -> &'static str {
        match self {
            Arena::Main => "main arena",
            Arena::Thread => "thread arena",
        }
    }
}

/// The owner of a byte of memory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Data {
    /// A variable.
    Symbol {
        /// The variable's name.
        name: String,
        /// Offset from the variable's beginning, in bytes.
        offset: u64,
        /// The member at that offset: `lock`, `[3].value`.
        field: Option<String>,
    },
    /// A per-CPU variable.
    PerCpu {
        /// The CPU.
        cpu: u32,
        /// The variable's name; `None` if it was allocated at run time.
        symbol: Option<String>,
        /// Offset in bytes from the variable's beginning; for a variable without a name, from the
        /// beginning of the CPU's area.
        offset: u64,
        /// The member at that offset.
        field: Option<String>,
    },
    /// The kernel's record of a page frame.
    StructPage {
        /// Number of the frame.
        frame: u64,
        /// Offset from the record's beginning, in bytes.
        offset: u64,
        /// The member at that offset.
        field: Option<String>,
    },
    /// A structure that a kernel allocated.
    Object {
        /// The structure's type: `mm_struct`.
        of: String,
        /// The structure's address, physical if places were identified by physical address.
        address: u64,
        /// Offset from the structure's beginning, in bytes.
        offset: u64,
        /// The member at that offset.
        field: Option<String>,
    },
    /// A kernel's allocation from a cache whose objects have no known type.
    Allocated {
        /// The cache: `kmalloc-64`.
        cache: String,
        /// The object's address, physical if places were identified by physical address.
        address: u64,
        /// Offset from the object's beginning, in bytes.
        offset: u64,
    },
    /// A kernel's page table.
    PageTable {
        /// Number of the frame.
        frame: u64,
        /// Offset from the page's beginning, in bytes.
        offset: u64,
    },
    /// A page that was free when the counted part ended.
    FreePage {
        /// Number of the frame.
        frame: u64,
        /// Offset from the page's beginning, in bytes.
        offset: u64,
    },
    /// A task's stack in a kernel.
    TaskStack {
        /// The task's name.
        task: String,
        /// Offset from the stack's lowest address, in bytes.
        offset: u64,
    },
    /// A page without a name: its contents, or the kernel's allocations in it.
    Page {
        /// Number of the frame.
        frame: u64,
        /// Offset from the page's beginning, in bytes.
        offset: u64,
        /// True for a page that was reached through a user mapping.
        contents: bool,
    },
    /// The kernel's `vmalloc` memory: stacks of tasks, and other allocations.
    Vmalloc {
        /// Address of the byte.
        address: u64,
    },
    /// The program's heap directly above its variables.
    Heap {
        /// Offset from the heap's beginning, in bytes.
        offset: u64,
    },
    /// Memory that a program allocated with `malloc`, possibly freed since.
    Allocation {
        /// The allocation's arena.
        arena: Arena,
        /// The address that `malloc` returned.
        address: u64,
        /// Number of usable bytes: the size class.
        bytes: u64,
        /// Offset from the allocation's address, in bytes.
        offset: u64,
    },
    /// Memory that a program mapped: stacks of threads, large or per-thread allocations, shared
    /// libraries.
    Mapped {
        /// Address of the byte.
        address: u64,
    },
    /// Unknown data.
    Unknown {
        /// Address of the byte.
        address: u64,
    },
}

impl Data {
    /// The part of the name that does not depend on run or build: the variable and member, or the
    /// kind of page. `None` if the data have no such name.
    pub fn name(&self) -> Option<String> {
        match self {
            Data::Symbol { name, field, .. } => Some(member(name, field.as_deref())),
            Data::PerCpu { symbol: Some(symbol), field, .. } => {
                Some(format!("{} (per CPU)", member(symbol, field.as_deref())))
            }
            Data::StructPage { field, offset, .. } => Some(match field {
                Some(field) => member("struct page", Some(field)),
                None => format!("struct page+{offset:#x}"),
            }),
            Data::Object { of, field, .. } => Some(member(of, field.as_deref())),
            Data::PageTable { .. } => Some("page table".to_owned()),
            Data::TaskStack { .. } => Some("task stack".to_owned()),
            Data::Page { contents: true, .. } => Some("page contents".to_owned()),
            Data::PerCpu { symbol: None, .. }
            | Data::Allocated { .. }
            | Data::FreePage { .. }
            | Data::Page { contents: false, .. }
            | Data::Vmalloc { .. }
            | Data::Heap { .. }
            | Data::Allocation { .. }
            | Data::Mapped { .. }
            | Data::Unknown { .. } => None,
        }
    }
}

/// `zone.lock`, `counters[3].value`, `zone`.
fn member(name: &str, field: Option<&str>) -> String {
    match field {
        None => name.to_owned(),
        Some(field) if field.starts_with('[') => format!("{name}{field}"),
        Some(field) => format!("{name}.{field}"),
    }
}

/// The name with the details that distinguish this item from others: `runqueues.lock of CPU 3`,
/// `heap+0x40`.
impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Data::Symbol { name, offset, field } => place(f, name, *offset, field.as_deref()),
            Data::PerCpu { cpu, symbol: Some(symbol), offset, field } => {
                place(f, symbol, *offset, field.as_deref())?;
                write!(f, " of CPU {cpu}")
            }
            Data::PerCpu { cpu, symbol: None, offset, .. } => {
                write!(f, "allocated per CPU, +{offset:#x} of CPU {cpu}")
            }
            Data::StructPage { frame, offset, field } => {
                place(f, "struct page", *offset, field.as_deref())?;
                write!(f, " of frame {frame:#x}")
            }
            Data::Object { of, address, offset, field } => {
                place(f, of, *offset, field.as_deref())?;
                write!(f, " at {address:#x}")
            }
            Data::Allocated { cache, address, offset } => write!(f, "{cache}+{offset:#x} at {address:#x}"),
            Data::PageTable { frame, offset } => write!(f, "page table, frame {frame:#x}+{offset:#x}"),
            Data::FreePage { frame, offset } => write!(f, "free page, frame {frame:#x}+{offset:#x}"),
            Data::TaskStack { task, offset } => write!(f, "stack of {task}+{offset:#x}"),
            Data::Page { frame, offset, contents: true } => write!(f, "page contents, frame {frame:#x}+{offset:#x}"),
            Data::Page { frame, offset, contents: false } => write!(f, "kernel memory, frame {frame:#x}+{offset:#x}"),
            Data::Vmalloc { address } => write!(f, "kernel stack or vmalloc {address:#x}"),
            Data::Heap { offset } => write!(f, "heap+{offset:#x}"),
            Data::Allocation { arena, address, bytes, offset } => {
                write!(f, "malloc of up to {bytes} bytes+{offset:#x} at {address:#x}, {}", arena.words())
            }
            Data::Mapped { address } => write!(f, "stack or mapping {address:#x}"),
            Data::Unknown { address } => write!(f, "{address:#x}"),
        }
    }
}

fn place(f: &mut fmt::Formatter<'_>, name: &str, offset: u64, field: Option<&str>) -> fmt::Result {
    match (field, offset) {
        (None, 0) => f.write_str(name),
        (None, offset) => write!(f, "{name}+{offset:#x}"),
        (field, _) => f.write_str(&member(name, field)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_leave_out_what_shifts() {
        let field = |text: &str| Some(text.to_owned());
        let rq = Data::PerCpu { cpu: 3, symbol: Some("runqueues".into()), offset: 4, field: field("lock") };
        assert_eq!((rq.to_string(), rq.name()), ("runqueues.lock of CPU 3".into(), field("runqueues.lock (per CPU)")));
        let counter = Data::Symbol { name: "counters".into(), offset: 24, field: field("[3].value") };
        assert_eq!((counter.to_string(), counter.name()), ("counters[3].value".into(), field("counters[3].value")));
        let plain = Data::Symbol { name: "lock".into(), offset: 8, field: None };
        assert_eq!((plain.to_string(), plain.name()), ("lock+0x8".into(), field("lock")));
        let lock = Data::Object { of: "mm_struct".into(), address: 0x1000, offset: 8, field: field("mmap_lock.count") };
        assert_eq!(lock.to_string(), "mm_struct.mmap_lock.count at 0x1000");
        assert_eq!(lock.name(), field("mm_struct.mmap_lock.count"));
        let unknown = Data::Allocated { cache: "kmalloc-64".into(), address: 0x1000, offset: 8 };
        assert_eq!((unknown.to_string(), unknown.name()), ("kmalloc-64+0x8 at 0x1000".into(), None));
        assert_eq!(Data::TaskStack { task: "init".into(), offset: 8 }.to_string(), "stack of init+0x8");
        assert_eq!(Data::Heap { offset: 64 }.name(), None);
        let allocation = Data::Allocation { arena: Arena::Thread, address: 0x7f00_0010, bytes: 72, offset: 8 };
        assert_eq!(allocation.to_string(), "malloc of up to 72 bytes+0x8 at 0x7f000010, thread arena");
        assert_eq!(allocation.name(), None);
        assert_eq!(Data::Page { frame: 1, offset: 0, contents: true }.name(), field("page contents"));
    }

    #[test]
    fn code_reads_without_directories() {
        let code = Code {
            function: "f".into(),
            offset: 3,
            inlined_into: None,
            between: Vec::new(),
            file: Some("/a/b.c".into()),
            line: Some(7),
            own: None,
        };
        assert_eq!(code.to_string(), "f b.c:7");
        assert_eq!(code.seen().name(), "f b.c:7");
        assert_eq!(Code { line: None, ..code }.to_string(), "f");
    }

    #[test]
    fn inlined_library_code_is_seen_from_the_programs_own_line() {
        let own = OwnPlace { function: "bump".into(), file: "/src/main.rs".into(), line: 12 };
        let code = Code {
            function: "atomic_add".into(),
            offset: 3,
            inlined_into: Some("work".into()),
            between: vec!["fetch_add".into(), "bump".into()],
            file: Some("/rustc/1/library/atomic.rs".into()),
            line: Some(7),
            own: Some(own.clone()),
        };
        let seen = code.seen();
        assert_eq!((seen.name().as_str(), &seen.around[..]), ("bump main.rs:12", &["work"][..]));
        assert_eq!(seen.library.as_deref(), Some("atomic_add atomic.rs:7"));
        let outermost = Code { own: Some(OwnPlace { function: "work".into(), ..own }), ..code };
        assert_eq!((outermost.seen().function, outermost.seen().around.len()), ("work", 0));
    }
}
