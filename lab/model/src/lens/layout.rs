//! The layout of a type in memory, as the kernel's BTF or a program's DWARF describes it. It is saved with a run, so that it
//! can be shown without the kernel or the program.

use serde::{Deserialize, Serialize};

/// What a type is declared as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
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
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Keyword::Struct => "struct",
            Keyword::Union => "union",
            Keyword::Class => "class",
        }
    }
}

/// The bits of a bit field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Bits {
    /// The first bit, from the first byte of the member.
    pub first: u64,
    /// How many.
    pub count: u64,
}

/// A member of a structure or union, or an element of an array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name, or `[3]` for an element; `None` for a structure or union without a name.
    pub name: Option<String>,
    /// Its type as it is written: `struct rw_semaphore`, `atomic_long_t`, `unsigned long[4]`.
    pub of: String,
    /// The name of its structure or union, whatever other name the type has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structure: Option<String>,
    /// Bytes from the beginning of the whole type.
    pub offset: u64,
    /// Bytes; 0 if they are not known.
    pub size: u64,
    /// Its bits, if it is a bit field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits: Option<Bits>,
    /// Its own members, if they are listed: those of structures and unions without a name, and where lines moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inner: Option<Inner>,
}

impl Member {
    /// One past its last byte.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }

    /// Whether its type has that name: `rw_semaphore`, `struct rw_semaphore` or `atomic_t`.
    pub fn is_of(&self, name: &str) -> bool {
        self.of == name || self.structure.as_deref() == Some(name)
    }
}

/// What a member consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inner {
    /// How it is declared; `None` for an array, of which only the elements are listed where lines moved.
    pub keyword: Option<Keyword>,
    /// Its members, in the order of their declaration.
    pub members: Vec<Member>,
}

/// The layout of a structure, union or class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// How it is declared.
    pub keyword: Keyword,
    /// Its name: `mm_struct`.
    pub name: String,
    /// The name is written without the keyword: it is another name for the structure (`typedef`), or that of a type without members.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_alias: bool,
    /// Bytes.
    pub size: u64,
    /// Its members, in the order of their declaration.
    pub members: Vec<Member>,
}
