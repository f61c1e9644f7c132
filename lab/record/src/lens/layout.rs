//! A type's layout in memory, as the kernel's BTF or a program's DWARF describes it. It is saved
//! with a run, to be shown without the kernel or the program.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keyword of a type's declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "lowercase")]
pub enum Keyword {
    /// `struct`
    Struct,
    /// `union`: its members share their bytes.
    Union,
    /// `class`
    Class,
}

impl Keyword {
    /// The word in C or C++.
    pub fn word(self) -> &'static str {
        match self {
            Keyword::Struct => "struct",
            Keyword::Union => "union",
            Keyword::Class => "class",
        }
    }
}

/// The bits of a bit field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Bits {
    /// Number of the first bit, from the first byte of the member.
    pub first: u64,
    /// Number of bits.
    pub count: u64,
}

/// A member of a structure or union, or an element of an array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Member {
    /// The member's name, or `[3]` for an element; `None` for an unnamed structure or union.
    pub name: Option<String>,
    /// The member's type as it is written: `struct rw_semaphore`, `atomic_long_t`,
    /// `unsigned long[4]`.
    pub of: String,
    /// The name of the member's structure or union, which may differ from the type's other names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structure: Option<String>,
    /// Offset from the beginning of the whole type, in bytes.
    pub offset: u64,
    /// Size in bytes; 0 if it is not known.
    pub size: u64,
    /// The bits of a bit field; `None` for other members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits: Option<Bits>,
    /// The member's own members, if they are listed: those of unnamed structures and unions, and
    /// those where lines moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inner: Option<Inner>,
}

impl Member {
    /// Offset of the end: one past the last byte.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }

    /// True if the member's type has that name: `rw_semaphore`, `struct rw_semaphore` or
    /// `atomic_t`.
    pub fn is_of(&self, name: &str) -> bool {
        self.of == name || self.structure.as_deref() == Some(name)
    }
}

/// The parts of a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Inner {
    /// Keyword of the declaration; `None` for an array, of which only the elements where lines
    /// moved are listed.
    pub keyword: Option<Keyword>,
    /// The parts, in the order of their declaration.
    pub members: Vec<Member>,
}

/// The layout of a structure, union or class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Layout {
    /// Keyword of the declaration.
    pub keyword: Keyword,
    /// The type's name: `mm_struct`.
    pub name: String,
    /// True for a name that is written without the keyword: another name for the structure
    /// (`typedef`), or the name of a type without members.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_alias: bool,
    /// Size in bytes.
    pub size: u64,
    /// The type's members, in the order of their declaration.
    pub members: Vec<Member>,
}
