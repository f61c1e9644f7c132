//! The types of a kernel from its BTF: layouts of structures, types of variables, and the member at
//! a byte.
//!
//! BTF is the kernel's description of itself, and may be damaged. A type that refers to itself or
//! to nothing has no members here.

use crate::layout::{Declared, Describe, Form};
use btfparse::{Offset, Readable, TypeInformation, TypeVariant};
use faultline_record::lens::layout::{Bits, Keyword};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

/// Maximum depth of types that nest or refer to each other; a longer path is a loop.
const DEEPEST: usize = 64;

/// Maximum number of members visited for one query. The largest structures of a kernel have a few
/// thousand.
const MOST_MEMBERS: usize = 1 << 16;

/// Bytes of a pointer.
const POINTER_BYTES: u64 = 8;

/// A type, by its number in the BTF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TypeId(u32);

/// A member of a structure, or a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    /// Bytes from the structure's beginning.
    pub(crate) offset: u64,
    /// Its type.
    pub(crate) at: TypeId,
}

/// A type.
#[derive(Debug)]
enum Type {
    /// A structure or union.
    Members {
        name: Option<String>,
        size: u64,
        members: Vec<Member>,
        is_union: bool,
    },
    Array {
        element: TypeId,
        count: u64,
    },
    Pointer {
        to: TypeId,
    },
    /// Another name for a type, or a qualifier of it.
    Alias {
        name: Alias,
        of: TypeId,
    },
    /// A number.
    Plain {
        name: String,
        size: u64,
    },
    /// A structure or union of which only the name is known.
    Declared {
        name: String,
    },
    Function,
}

/// A type's other name or qualifier.
#[derive(Debug)]
enum Alias {
    Name(String),
    /// Empty for tags.
    Qualifier(&'static str),
}

/// A member as it is declared.
#[derive(Debug)]
struct Member {
    name: Option<String>,
    at: TypeId,
    offset: u64,
    /// The bits of a bit field.
    bits: Option<Bits>,
}

/// The types of a kernel.
pub(crate) struct BtfTypes {
    types: HashMap<TypeId, Type>,
    structures: HashMap<String, TypeId>,
    /// The type of each variable.
    variables: HashMap<String, TypeId>,
}

impl std::fmt::Debug for BtfTypes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BtfTypes").field("structures", &self.structures.len()).finish_non_exhaustive()
    }
}

/// The bytes of BTF for the parser.
struct Bytes<'a>(&'a [u8]);

impl Readable for Bytes<'_> {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> btfparse::Result<()> {
        let part = usize::try_from(offset).ok().and_then(|from| self.0.get(from..)?.get(..buffer.len()));
        let part = part.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::UnexpectedEof))?;
        buffer.copy_from_slice(part);
        Ok(())
    }
}

/// Names of structures and unions.
#[derive(Debug, Default)]
pub(crate) struct StructureNames {
    /// Names by which objects are counted: the structures' own, and the other name of a structure
    /// without its own, if it has exactly one.
    pub(crate) own: BTreeSet<String>,
    /// All other names, each with the structure's own name, or with all names of a structure that
    /// has several and none of its own.
    pub(crate) others: BTreeMap<String, Vec<String>>,
}

impl BtfTypes {
    /// Parses BTF. Fails with a message if it is damaged.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let parsed = TypeInformation::new(&Bytes(bytes)).map_err(|error| error.message().to_owned())?;
        let mut layouts = BtfTypes { types: HashMap::new(), structures: HashMap::new(), variables: HashMap::new() };
        for (&id, variant) in parsed.get() {
            let at = TypeId(id);
            if let TypeVariant::Var(of) = variant {
                put(&mut layouts.variables, of.name(), TypeId(*of.tid()));
            }
            let Some(of) = known(variant) else { continue };
            if let Type::Members { name, .. } = &of {
                put(&mut layouts.structures, name, at);
            }
            layouts.types.insert(at, of);
        }
        Ok(layouts)
    }

    /// The structure or union with that name.
    pub(crate) fn structure(&self, name: &str) -> Option<TypeId> {
        self.structures.get(name).copied()
    }

    /// The names of all structures and unions, including those known only by other names
    /// (`typedef`).
    pub(crate) fn structure_names(&self) -> StructureNames {
        let mut others: BTreeMap<TypeId, BTreeSet<&String>> = BTreeMap::new();
        for (&at, of) in &self.types {
            if let (Type::Alias { name: Alias::Name(name), .. }, Some(at)) = (of, self.resolved_id(at)) {
                others.entry(at).or_default().insert(name);
            }
        }
        let mut names = StructureNames { own: self.structures.keys().cloned().collect(), others: BTreeMap::new() };
        for (at, others) in others {
            let Some(Type::Members { name, .. }) = self.types.get(&at) else { continue };
            let all = || others.iter().map(|&name| name.clone());
            match name {
                Some(own) => names.others.extend(all().map(|other| (other, vec![own.clone()]))),
                None if others.len() == 1 => names.own.extend(all()),
                None => names.others.extend(all().map(|other| (other, all().collect()))),
            }
        }
        names.others.retain(|name, _| !names.own.contains(name));
        names
    }

    /// The type of the variable with that name.
    pub(crate) fn variable(&self, name: &str) -> Option<TypeId> {
        self.variables.get(name).copied()
    }

    /// The names of all variables, with their types.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&str, TypeId)> {
        self.variables.iter().map(|(name, &at)| (name.as_str(), at))
    }

    /// The name of a structure, through other names for it.
    pub(crate) fn name(&self, at: TypeId) -> Option<&str> {
        match self.resolved(at)? {
            Type::Members { name, .. } => name.as_deref(),
            _ => None,
        }
    }

    /// All structures and unions that have a name.
    pub(crate) fn structures(&self) -> impl Iterator<Item = TypeId> {
        self.structures.values().copied()
    }

    /// The structure at the beginning of a structure.
    pub(crate) fn first_member(&self, at: TypeId) -> Option<TypeId> {
        let Some(Type::Members { members, is_union: false, .. }) = self.resolved(at) else { return None };
        let first = members.first().filter(|member| member.offset == 0)?;
        let inner = self.itself(first.at);
        self.name(inner).is_some().then_some(inner)
    }

    /// The type without other names and qualifiers.
    pub(crate) fn itself(&self, at: TypeId) -> TypeId {
        self.resolved_id(at).unwrap_or(at)
    }

    /// Bytes of a value of that type; `None` if it has no size.
    pub(crate) fn size(&self, at: TypeId) -> Option<u64> {
        let mut elements = 1u64;
        let mut at = at;
        for _ in 0..DEEPEST {
            let size = match self.resolved(at)? {
                Type::Array { element, count } => {
                    elements = elements.checked_mul(*count)?;
                    at = *element;
                    continue;
                }
                Type::Members { size, .. } | Type::Plain { size, .. } => *size,
                Type::Pointer { .. } => POINTER_BYTES,
                Type::Alias { .. } | Type::Declared { .. } | Type::Function => return None,
            };
            return elements.checked_mul(size);
        }
        None
    }

    /// The member at a path of names: `node_zones`, `vmstats.state`. Members without a name are
    /// transparent.
    pub(crate) fn field(&self, structure: TypeId, path: &str) -> Option<Field> {
        path.split('.').try_fold(Field { offset: 0, at: structure }, |field, name| {
            let inner = self.named_member(field.at, name, &mut MOST_MEMBERS.clone(), DEEPEST)?;
            Some(Field { offset: field.offset.checked_add(inner.offset)?, at: inner.at })
        })
    }

    /// The member of a structure as it is declared.
    pub(crate) fn declared(&self, structure: TypeId, name: &str) -> Option<Declared<TypeId>> {
        self.members(structure).iter().find(|member| member.name.as_deref() == Some(name)).map(Member::declared)
    }

    fn named_member(&self, at: TypeId, name: &str, left: &mut usize, depth: usize) -> Option<Field> {
        let depth = depth.checked_sub(1)?;
        for member in self.members(at) {
            *left = left.checked_sub(1)?;
            if member.name.as_deref() == Some(name) {
                return Some(Field { offset: member.offset, at: member.at });
            }
            if member.name.is_none()
                && let Some(inner) = self.named_member(member.at, name, left, depth)
            {
                return Some(Field { offset: member.offset.checked_add(inner.offset)?, at: inner.at });
            }
        }
        None
    }

    /// The path of the member at a byte of a value of that type: `lock`, `[3].value`. `None` for a
    /// type without members.
    pub(crate) fn path(&self, at: TypeId, byte: u64) -> Option<String> {
        let (mut at, mut byte) = (at, byte);
        let mut path = String::new();
        for _ in 0..DEEPEST {
            match self.resolved(at) {
                Some(&Type::Array { element, .. }) => {
                    let Some(size) = self.size(element).filter(|&size| size > 0) else { break };
                    put_index(&mut path, byte / size);
                    (at, byte) = (element, byte % size);
                }
                Some(Type::Members { members, .. }) => {
                    let Some(member) = members.iter().find(|member| self.covers(member, byte)) else { break };
                    if let Some(name) = &member.name {
                        put_name(&mut path, name);
                    }
                    (at, byte) = (member.at, byte - member.offset);
                }
                _ => break,
            }
        }
        (!path.is_empty()).then_some(path)
    }

    fn covers(&self, member: &Member, byte: u64) -> bool {
        let of_bits = member.bits.map(|bits| (bits.first + bits.count).div_ceil(8));
        let size = of_bits.or_else(|| self.size(member.at)).unwrap_or(0);
        member.offset <= byte && byte - member.offset < size
    }

    /// Every pointer in a value of that type, with the type that it points to. `bytes`: the size of
    /// the value; an array without a length, at the end of a structure, extends to its end.
    pub(crate) fn pointers(&self, at: TypeId, bytes: u64) -> Vec<Field> {
        let open = self.members(at).last().map(|member| member.offset);
        let mut pointers = Pointers { found: Vec::new(), left: MOST_MEMBERS, open, bytes };
        self.put_pointers(Field { offset: 0, at }, &mut pointers, DEEPEST);
        pointers.found
    }

    fn put_pointers(&self, field: Field, pointers: &mut Pointers, depth: usize) {
        let (Some(depth), Some(left)) = (depth.checked_sub(1), pointers.left.checked_sub(1)) else { return };
        pointers.left = left;
        let inner = |offset: u64, at| Field { offset: field.offset.saturating_add(offset), at };
        match self.resolved(field.at) {
            Some(Type::Members { members, .. }) => {
                for member in members {
                    self.put_pointers(inner(member.offset, member.at), pointers, depth);
                }
            }
            Some(&Type::Array { element, count }) => {
                let size = self.size(element).unwrap_or(0);
                let is_open = count == 0 && pointers.open == Some(field.offset);
                let count = match is_open {
                    true => pointers.bytes.saturating_sub(field.offset).checked_div(size).unwrap_or(0),
                    false => count,
                };
                for index in (0..count).take(MOST_MEMBERS) {
                    self.put_pointers(inner(index.saturating_mul(size), element), pointers, depth);
                }
            }
            Some(&Type::Pointer { to }) => pointers.found.push(Field { offset: field.offset, at: to }),
            _ => {}
        }
    }

    /// The members of a structure or union; empty for other types.
    fn members(&self, at: TypeId) -> &[Member] {
        match self.resolved(at) {
            Some(Type::Members { members, .. }) => members,
            _ => &[],
        }
    }

    /// The type itself, without other names and qualifiers.
    fn resolved(&self, at: TypeId) -> Option<&Type> {
        self.types.get(&self.resolved_id(at)?)
    }

    fn resolved_id(&self, mut at: TypeId) -> Option<TypeId> {
        for _ in 0..DEEPEST {
            match self.types.get(&at)? {
                Type::Alias { of, .. } => at = *of,
                _ => return Some(at),
            }
        }
        None
    }
}

/// The pointers of a value, while they are collected.
struct Pointers {
    found: Vec<Field>,
    /// Number of members that may still be visited.
    left: usize,
    /// Offset of the last member.
    open: Option<u64>,
    /// Size of the value.
    bytes: u64,
}

impl Describe for BtfTypes {
    type Id = TypeId;

    fn form(&self, at: TypeId) -> Form<TypeId> {
        // Type 0 is `void`.
        let known = |at: TypeId| (at.0 != 0).then_some(at);
        match self.types.get(&at) {
            Some(Type::Members { name, members, is_union, .. }) => Form::Structure {
                keyword: if *is_union { Keyword::Union } else { Keyword::Struct },
                name: name.clone(),
                members: members.iter().map(Member::declared).collect(),
            },
            Some(&Type::Array { element, count }) => Form::Array { element, count: (count > 0).then_some(count) },
            Some(&Type::Pointer { to }) => Form::Pointer { to: known(to) },
            Some(Type::Alias { name: Alias::Name(name), of }) => Form::Named { name: name.clone(), of: known(*of) },
            Some(Type::Alias { name: Alias::Qualifier(word), of }) => Form::Qualified { word, of: known(*of) },
            Some(Type::Plain { name, .. } | Type::Declared { name }) => Form::Plain { name: name.clone() },
            Some(Type::Function) => Form::Function,
            None => Form::Unknown,
        }
    }

    fn bytes(&self, at: TypeId) -> Option<u64> {
        self.size(at)
    }
}

impl Member {
    fn declared(&self) -> Declared<TypeId> {
        Declared { name: self.name.clone(), at: self.at, offset: self.offset, bits: self.bits }
    }
}

/// The type of a BTF entry; `None` for variables and other entries.
fn known(variant: &TypeVariant) -> Option<Type> {
    let members = |list: &[btfparse::Member]| list.iter().map(member).collect();
    let text = |name: &Option<String>| name.clone().unwrap_or_default();
    let alias = |name: Alias, id: u32| Type::Alias { name, of: TypeId(id) };
    let plain = |name: String, size: usize| Type::Plain { name, size: size as u64 };
    let whole = |name: &Option<String>, size: usize, list: &[btfparse::Member], is_union| {
        let name = name.clone().filter(|name| !name.is_empty());
        Type::Members { name, size: size as u64, members: members(list), is_union }
    };
    Some(match variant {
        TypeVariant::Struct(of) => whole(of.name(), *of.size(), of.member_list(), false),
        TypeVariant::Union(of) => whole(of.name(), *of.size(), of.member_list(), true),
        TypeVariant::Array(of) => {
            Type::Array { element: TypeId(*of.element_tid()), count: u64::from(*of.element_count()) }
        }
        TypeVariant::Ptr(of) => Type::Pointer { to: TypeId(*of.tid()) },
        TypeVariant::Typedef(of) => alias(Alias::Name(text(of.name())), *of.tid()),
        TypeVariant::Const(of) => alias(Alias::Qualifier("const"), *of.tid()),
        TypeVariant::Volatile(of) => alias(Alias::Qualifier("volatile"), *of.tid()),
        TypeVariant::Restrict(of) => alias(Alias::Qualifier("restrict"), *of.tid()),
        TypeVariant::TypeTag(of) => alias(Alias::Qualifier(""), *of.tid()),
        TypeVariant::Int(of) => plain(text(of.name()), *of.size()),
        TypeVariant::Float(of) => plain(text(of.name()), *of.size()),
        TypeVariant::Enum(of) => plain(enumeration(of.name()), *of.size()),
        TypeVariant::Enum64(of) => plain(enumeration(of.name()), *of.size()),
        TypeVariant::Fwd(of) => Type::Declared { name: format!("struct {}", text(of.name())) },
        TypeVariant::FuncProto(_) => Type::Function,
        _ => return None,
    })
}

fn enumeration(name: &Option<String>) -> String {
    match name.as_deref() {
        Some(name) if !name.is_empty() => format!("enum {name}"),
        _ => "enum".to_owned(),
    }
}

fn member(member: &btfparse::Member) -> Member {
    let (offset, bits) = match member.offset() {
        Offset::ByteOffset(offset) => (u64::from(offset), None),
        Offset::BitOffsetAndSize(bit, bits) => {
            let (bit, count) = (u64::from(bit), u64::from(bits));
            (bit / 8, Some(Bits { first: bit % 8, count }))
        }
    };
    Member { name: member.name().filter(|name| !name.is_empty()), at: TypeId(member.tid()), offset, bits }
}

/// Enters a type by its name. Of several types with one name, the first is kept.
fn put(names: &mut HashMap<String, TypeId>, name: &Option<String>, at: TypeId) {
    if let Some(name) = name.as_ref().filter(|name| !name.is_empty()) {
        names.entry(name.clone()).or_insert(at);
    }
}

fn put_name(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

fn put_index(path: &mut String, index: u64) {
    write!(path, "[{index}]").expect("a text takes every text");
}

#[cfg(test)]
mod tests;
