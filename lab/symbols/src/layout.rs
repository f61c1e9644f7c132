//! Layouts of types, for BTF and DWARF: members with their types as written, as deep as lines
//! moved.

use faultline_record::lens::layout::{Bits, Inner, Keyword, Layout, Member};
use std::collections::BTreeSet;

/// Maximum depth of types that nest or refer to each other; a longer path is a loop.
const DEEPEST: usize = 64;

/// Maximum number of listed members of a type. The largest structures of a kernel have a few
/// thousand.
const MOST_MEMBERS: usize = 1 << 14;

/// Types as BTF or DWARF describe them.
pub(crate) trait Describe {
    /// The identifier of a type.
    type Id: Copy;

    /// The form of a type.
    fn form(&self, at: Self::Id) -> Form<Self::Id>;

    /// Bytes of a value of that type; `None` if it has no size.
    fn bytes(&self, at: Self::Id) -> Option<u64>;
}

/// The form of a type.
pub(crate) enum Form<Id> {
    Structure {
        keyword: Keyword,
        name: Option<String>,
        members: Vec<Declared<Id>>,
    },
    Array {
        element: Id,
        count: Option<u64>,
    },
    /// The target; `None` for `void`.
    Pointer {
        to: Option<Id>,
    },
    /// Another name for a type; `None` for `void`.
    Named {
        name: String,
        of: Option<Id>,
    },
    /// A type with a qualifier such as `const`; without a word, the type itself.
    Qualified {
        word: &'static str,
        of: Option<Id>,
    },
    /// A number.
    Plain {
        name: String,
    },
    Function,
    Unknown,
}

/// A member as it is declared.
pub(crate) struct Declared<Id> {
    pub(crate) name: Option<String>,
    pub(crate) at: Id,
    /// Bytes from the beginning of its structure.
    pub(crate) offset: u64,
    pub(crate) bits: Option<Bits>,
}

/// The structure that contains a byte of a value, and the byte's offset in it: the value itself, or
/// an element of an array. `None` for values without a structure.
pub(crate) fn structure_at<D: Describe>(types: &D, at: D::Id, byte: u64) -> Option<(D::Id, u64)> {
    let (mut at, mut byte) = (at, byte);
    let mut named = at;
    for _ in 0..DEEPEST {
        match types.form(at) {
            // A structure without a name of its own is known by the other name for it.
            Form::Structure { name, .. } => return Some((if name.is_some() { at } else { named }, byte)),
            Form::Array { element, .. } => {
                byte %= types.bytes(element).filter(|&bytes| bytes > 0)?;
                (at, named) = (element, element);
            }
            Form::Named { of, .. } => {
                named = at;
                at = of?;
            }
            Form::Qualified { of, .. } => at = of?,
            Form::Pointer { .. } | Form::Plain { .. } | Form::Function | Form::Unknown => return None,
        }
    }
    None
}

/// The name of a structure, or the other name by which it is known.
pub(crate) fn structure_name<D: Describe>(types: &D, at: D::Id) -> Option<String> {
    let (mut at, mut other) = (at, None);
    for _ in 0..DEEPEST {
        match types.form(at) {
            Form::Structure { name, .. } => return name.or(other),
            Form::Named { name, of } => {
                other = Some(name);
                at = of?;
            }
            Form::Qualified { of, .. } => at = of?,
            Form::Array { .. } | Form::Pointer { .. } | Form::Plain { .. } | Form::Function | Form::Unknown => {
                return None;
            }
        }
    }
    None
}

/// The layout of a structure. The members of its members are listed where they contain one of
/// `bytes`, and where they have no name. `None` if it is not a structure, or has no name or size.
pub(crate) fn layout<D: Describe>(types: &D, at: D::Id, bytes: &BTreeSet<u64>) -> Option<Layout> {
    let mut listing = Listing { types, left: MOST_MEMBERS };
    let (at, name) = (resolved(types, at)?, structure_name(types, at)?);
    let Form::Structure { keyword, name: own, members } = types.form(at) else { return None };
    let members = listing.members(members, 0, bytes.clone(), DEEPEST);
    Some(Layout { keyword, name, is_alias: own.is_none(), size: types.bytes(at)?, members })
}

/// A layout in the making.
struct Listing<'a, D> {
    types: &'a D,
    /// Number of members that may still be listed.
    left: usize,
}

impl<D: Describe> Listing<'_, D> {
    /// The members of a structure that begins at `base`. If several members contain a byte of
    /// `bytes`, the first one has it.
    fn members(
        &mut self,
        declared: Vec<Declared<D::Id>>,
        base: u64,
        mut bytes: BTreeSet<u64>,
        depth: usize,
    ) -> Vec<Member> {
        let mut members = Vec::new();
        for Declared { name, at, offset, bits } in declared {
            let Some(left) = self.left.checked_sub(1) else { break };
            self.left = left;
            let spanned = bits.map(|bits| (bits.first + bits.count).div_ceil(8));
            let size = spanned.or_else(|| self.types.bytes(at)).unwrap_or(0);
            let member = self.member(name, at, base.saturating_add(offset), size, &bytes, depth);
            bytes.retain(|byte| !(member.offset..member.end()).contains(byte));
            members.push(Member { bits, ..member });
        }
        members
    }

    fn member(
        &mut self,
        name: Option<String>,
        at: D::Id,
        offset: u64,
        size: u64,
        bytes: &BTreeSet<u64>,
        depth: usize,
    ) -> Member {
        let within: BTreeSet<u64> = bytes.range(offset..offset.saturating_add(size)).copied().collect();
        let wanted = name.is_none() || !within.is_empty();
        let inner = depth.checked_sub(1).filter(|_| wanted).and_then(|depth| self.inner(at, offset, within, depth));
        let structure = resolved(self.types, at).and_then(|at| match self.types.form(at) {
            Form::Structure { name, .. } => name,
            _ => None,
        });
        Member { name, of: text(self.types, Some(at)), structure, offset, size, bits: None, inner }
    }

    fn inner(&mut self, at: D::Id, offset: u64, bytes: BTreeSet<u64>, depth: usize) -> Option<Inner> {
        match self.types.form(resolved(self.types, at)?) {
            Form::Structure { keyword, members, .. } => {
                Some(Inner { keyword: Some(keyword), members: self.members(members, offset, bytes, depth) })
            }
            Form::Array { element, .. } => {
                let size = self.types.bytes(element).filter(|&size| size > 0)?;
                let indices: BTreeSet<u64> = bytes.iter().map(|byte| (byte - offset) / size).collect();
                let indices = indices.into_iter().take(self.left);
                let members: Vec<Member> = indices
                    .map(|index| {
                        let name = Some(format!("[{index}]"));
                        self.member(name, element, offset + index * size, size, &bytes, depth)
                    })
                    .collect();
                self.left = self.left.saturating_sub(members.len());
                Some(Inner { keyword: None, members })
            }
            _ => None,
        }
    }
}

/// The type itself, without other names and qualifiers.
fn resolved<D: Describe>(types: &D, mut at: D::Id) -> Option<D::Id> {
    for _ in 0..DEEPEST {
        match types.form(at) {
            Form::Named { of, .. } | Form::Qualified { of, .. } => at = of?,
            _ => return Some(at),
        }
    }
    None
}

/// A type as written in C, without a variable's name: `struct list_head *`, `unsigned long[4]`.
fn text<D: Describe>(types: &D, at: Option<D::Id>) -> String {
    written(types, at, DEEPEST)
}

fn written<D: Describe>(types: &D, at: Option<D::Id>, depth: usize) -> String {
    let (Some(at), Some(depth)) = (at, depth.checked_sub(1)) else { return "void".to_owned() };
    match types.form(at) {
        Form::Structure { keyword, name: Some(name), .. } => format!("{} {name}", keyword.word()),
        Form::Structure { keyword, name: None, .. } => keyword.word().to_owned(),
        Form::Named { name, .. } | Form::Plain { name } => name,
        Form::Qualified { word: "", of } => written(types, of, depth),
        Form::Qualified { word, of } => format!("{word} {}", written(types, of, depth)),
        Form::Pointer { to } => {
            let to = written(types, to, depth);
            let blank = if to.ends_with('*') { "" } else { " " };
            format!("{to}{blank}*")
        }
        Form::Array { element, count } => {
            let count = count.map_or_else(String::new, |count| count.to_string());
            let element = written(types, Some(element), depth);
            // The outermost dimension is written first.
            let (of, inner) = element.split_at(element.find('[').unwrap_or(element.len()));
            format!("{of}[{count}]{inner}")
        }
        Form::Function => "function".to_owned(),
        Form::Unknown => "?".to_owned(),
    }
}
