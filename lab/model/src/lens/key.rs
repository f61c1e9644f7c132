//! What identifies data and code across runs. Addresses change between builds and runs, so they are never part of it.

use crate::lens::data::Code;
use serde::{Deserialize, Serialize};

/// Data or code, as it is found again in another run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Key {
    /// Data with a name.
    Named {
        /// The name: the variable or type, with the member.
        name: String,
    },
    /// Data without a name. It is identified by the code that moves it.
    Unnamed {
        /// What kind of data it is.
        what: Unnamed,
        /// The places that each cause a good part of its transfers, in order; `None` for code without a name. Empty: there are many, and none causes much.
        moved_by: Vec<Option<CodePlace>>,
    },
    /// Code; `None` if it has no name.
    Code {
        /// Where it is.
        place: Option<CodePlace>,
    },
}

/// Kinds of data without a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case")]
pub enum Unnamed {
    /// An object of a kernel's cache of which no type is known.
    Cache {
        /// The cache: `kmalloc-64`.
        cache: String,
    },
    /// A page that was free at the end.
    FreePage,
    /// Memory that each CPU has for itself.
    PerCpu,
    /// A page of the kernel.
    KernelPage,
    /// A kernel's stack, or other `vmalloc` memory.
    Vmalloc,
    /// A program's heap.
    Heap,
    /// What a program mapped: stacks, large allocations, libraries.
    Mapped,
    /// Anything else.
    Unknown,
}

/// A place in the code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CodePlace {
    /// The function; the innermost one if functions were inlined.
    pub function: String,
    /// Source file and line, if known: `counter.c:12`.
    pub source: Option<String>,
    /// The function that it was inlined into, and so on up to the one that has a symbol.
    pub inlined_into: Option<String>,
}

impl From<&Code> for CodePlace {
    fn from(code: &Code) -> Self {
        CodePlace { function: code.function.clone(), source: code.source(), inlined_into: code.inlined_into.clone() }
    }
}
