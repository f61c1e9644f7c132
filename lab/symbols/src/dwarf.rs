//! Variables and the layouts of their types, from DWARF; and the member at a byte of a variable.
//!
//! Type units and split DWARF are not supported: their types have no members here.

use crate::layout::{Declared, Describe, Form, structure_name};
use faultline_record::lens::layout::{Bits, Keyword};
use gimli::{AttributeValue, DebugInfoOffset, Dwarf, EndianArcSlice, Operation, RunTimeEndian, Unit, UnitOffset};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// The reader for DWARF.
pub(crate) type Slice = EndianArcSlice<RunTimeEndian>;

type Entry = gimli::DebuggingInformationEntry<Slice>;

/// Maximum depth of types that nest or refer to each other; a longer path is a loop.
const DEEPEST: usize = 64;

/// A type: the index of its unit in [`DwarfTypes::units`], and its entry there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TypeAt {
    unit: usize,
    entry: UnitOffset,
}

/// A variable at a fixed address.
#[derive(Debug, Clone)]
struct Variable {
    name: String,
    at: TypeAt,
}

/// All units' variables and types.
pub(crate) struct DwarfTypes {
    dwarf: Arc<Dwarf<Slice>>,
    units: Vec<Unit<Slice>>,
    variables: BTreeMap<u64, Variable>,
    /// The kernel's `struct page`, if there is one.
    page: Option<TypeAt>,
}

impl std::fmt::Debug for DwarfTypes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DwarfTypes")
            .field("units", &self.units.len())
            .field("variables", &self.variables.len())
            .finish()
    }
}

impl DwarfTypes {
    /// Reads the variables of every unit; types are read on demand. Fails if the DWARF is damaged.
    pub(crate) fn new(dwarf: Arc<Dwarf<Slice>>) -> gimli::Result<Self> {
        let mut types = DwarfTypes { dwarf: dwarf.clone(), units: Vec::new(), variables: BTreeMap::new(), page: None };
        let mut headers = dwarf.units();
        while let Some(header) = headers.next()? {
            let unit = dwarf.unit(header)?;
            types.units.push(unit);
            types.collect(types.units.len() - 1)?;
        }
        Ok(types)
    }

    /// Collects the unit's variables at fixed addresses, at any depth.
    fn collect(&mut self, unit: usize) -> gimli::Result<()> {
        let mut found = Vec::new();
        let mut page = None;
        let mut entries = self.units[unit].entries();
        while let Some(entry) = entries.next_dfs()? {
            match entry.tag() {
                gimli::DW_TAG_variable => found.extend(self.variable(unit, entry)),
                gimli::DW_TAG_structure_type if self.page.is_none() && page.is_none() => {
                    let whole = entry.attr_value(gimli::DW_AT_byte_size).is_some();
                    if whole && self.name(unit, entry).as_deref() == Some("page") {
                        page = Some(TypeAt { unit, entry: entry.offset() });
                    }
                }
                _ => {}
            }
        }
        self.variables.extend(found);
        self.page = self.page.or(page);
        Ok(())
    }

    fn variable(&self, unit: usize, entry: &Entry) -> Option<(u64, Variable)> {
        let address = self.address(unit, entry.attr_value(gimli::DW_AT_location)?)?;
        // A definition may leave name and type to the declaration that it completes.
        let declared = [gimli::DW_AT_specification, gimli::DW_AT_abstract_origin]
            .into_iter()
            .find_map(|attribute| self.reference(unit, entry.attr_value(attribute)?))
            .and_then(|at| Some((at.unit, self.units.get(at.unit)?.entry(at.entry).ok()?)));
        let name =
            self.name(unit, entry).or_else(|| declared.as_ref().and_then(|(unit, entry)| self.name(*unit, entry)))?;
        let at = self
            .type_of(unit, entry)
            .or_else(|| declared.as_ref().and_then(|(unit, entry)| self.type_of(*unit, entry)))?;
        Some((address, Variable { name, at }))
    }

    /// The address, if the location is a single address.
    fn address(&self, unit: usize, location: AttributeValue<Slice>) -> Option<u64> {
        let unit = &self.units[unit];
        let AttributeValue::Exprloc(expression) = location else { return None };
        let mut operations = expression.operations(unit.encoding());
        let address = match operations.next().ok()?? {
            Operation::Address { address } => address,
            Operation::AddressIndex { index } => self.dwarf.address(unit, index).ok()?,
            _ => return None,
        };
        operations.next().ok()?.is_none().then_some(address)
    }

    fn name(&self, unit: usize, entry: &Entry) -> Option<String> {
        let value = entry.attr_value(gimli::DW_AT_name)?;
        let text = self.dwarf.attr_string(&self.units[unit], value).ok()?;
        Some(gimli::Reader::to_string_lossy(&text).ok()?.into_owned())
    }

    fn type_of(&self, unit: usize, entry: &Entry) -> Option<TypeAt> {
        self.reference(unit, entry.attr_value(gimli::DW_AT_type)?)
    }

    fn reference(&self, unit: usize, value: AttributeValue<Slice>) -> Option<TypeAt> {
        match value {
            AttributeValue::UnitRef(entry) => Some(TypeAt { unit, entry }),
            AttributeValue::DebugInfoRef(offset) => self.unit_of(offset),
            _ => None,
        }
    }

    /// The unit that contains an offset into all units.
    fn unit_of(&self, offset: DebugInfoOffset) -> Option<TypeAt> {
        let begins = |unit: &Unit<Slice>| unit.header.debug_info_offset().map_or(0, |begin| begin.0);
        let unit = self.units.partition_point(|unit| begins(unit) <= offset.0).checked_sub(1)?;
        Some(TypeAt { unit, entry: offset.to_unit_offset(&self.units[unit].header)? })
    }

    /// The variable that contains `address`: name, type, offset, and the member there.
    pub(crate) fn find(&self, address: u64) -> Option<(&str, TypeAt, u64, Option<String>)> {
        let (begin, variable) = self.variables.range(..=address).next_back()?;
        let offset = address - begin;
        if offset >= self.size(variable.at, DEEPEST)? {
            return None;
        }
        Some((&variable.name, variable.at, offset, self.member(variable.at, offset)))
    }

    /// True if a variable at a fixed address has that name.
    pub(crate) fn has_variable(&self, name: &str) -> bool {
        self.variables.values().any(|variable| variable.name == name)
    }

    /// True if a structure, union or class has that name, or another name for one.
    pub(crate) fn has_structure(&self, name: &str) -> bool {
        (0..self.units.len()).any(|unit| {
            let mut entries = self.units[unit].entries();
            while let Ok(Some(entry)) = entries.next_dfs() {
                let is_named = || self.name(unit, entry).as_deref() == Some(name);
                let found = match entry.tag() {
                    gimli::DW_TAG_structure_type | gimli::DW_TAG_union_type | gimli::DW_TAG_class_type => is_named(),
                    gimli::DW_TAG_typedef => {
                        is_named() && structure_name(self, TypeAt { unit, entry: entry.offset() }).is_some()
                    }
                    _ => false,
                };
                if found {
                    return true;
                }
            }
            false
        })
    }

    /// The kernel's `struct page`.
    pub(crate) fn page(&self) -> Option<TypeAt> {
        self.page
    }

    /// The member at a byte of `struct page`.
    pub(crate) fn page_member(&self, offset: u64) -> Option<String> {
        self.member(self.page?, offset)
    }

    /// The path of the member at a byte of a value of that type: `lock`, `[3].value`. `None` for a
    /// type without members.
    fn member(&self, at: TypeAt, byte: u64) -> Option<String> {
        let mut path = String::new();
        self.descend(at, byte, &mut path, DEEPEST);
        (!path.is_empty()).then_some(path)
    }

    fn descend(&self, at: TypeAt, byte: u64, path: &mut String, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let entry = self.units[at.unit].entry(at.entry).ok()?;
        match entry.tag() {
            tag if is_alias(tag) => self.descend(self.type_of(at.unit, &entry)?, byte, path, depth),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                let (name, at, offset) = self.member_covering(at, byte)?;
                if let Some(name) = name {
                    let dot = if path.is_empty() { "" } else { "." };
                    path.push_str(dot);
                    path.push_str(&name);
                }
                self.descend(at, byte - offset, path, depth)
            }
            gimli::DW_TAG_array_type => {
                let element = self.type_of(at.unit, &entry)?;
                let size = self.size(element, depth).filter(|&size| size > 0)?;
                self.indices(at, byte / size, path);
                self.descend(element, byte % size, path, depth)
            }
            _ => Some(()),
        }
    }

    /// The first member that contains the byte: its name, type and offset. Members without a name
    /// (anonymous unions, base classes) are included.
    fn member_covering(&self, at: TypeAt, byte: u64) -> Option<(Option<String>, TypeAt, u64)> {
        let mut tree = self.units[at.unit].entries_tree(Some(at.entry)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Some(child) = children.next().ok()? {
            let entry = child.entry();
            if !matches!(entry.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance) {
                continue;
            }
            // A static member of a class is stored elsewhere.
            if entry.has_attr(gimli::DW_AT_external) || entry.has_attr(gimli::DW_AT_const_value) {
                continue;
            }
            let Some(member) = self.type_of(at.unit, entry) else { continue };
            let offset = member_offset(entry);
            let size = self.size(member, DEEPEST).unwrap_or(0);
            if offset <= byte && byte - offset < size {
                let name = (entry.tag() == gimli::DW_TAG_member).then(|| self.name(at.unit, entry)).flatten();
                return Some((name, member, offset));
            }
        }
        None
    }

    /// Lengths of an array's dimensions, outermost first; `None` for an unstated length.
    fn dimensions(&self, at: TypeAt) -> Vec<Option<u64>> {
        let mut lengths = Vec::new();
        let Ok(mut tree) = self.units[at.unit].entries_tree(Some(at.entry)) else { return lengths };
        let Ok(root) = tree.root() else { return lengths };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            if entry.tag() == gimli::DW_TAG_subrange_type {
                let number = |attribute| entry.attr_value(attribute).and_then(|value| value.udata_value());
                let last = || number(gimli::DW_AT_upper_bound).and_then(|last| last.checked_add(1));
                lengths.push(number(gimli::DW_AT_count).or_else(last));
            }
        }
        lengths
    }

    /// Writes the element's index in each dimension.
    fn indices(&self, at: TypeAt, element: u64, path: &mut String) {
        let lengths = self.dimensions(at);
        let mut rest = element;
        for place in 0..lengths.len() {
            let below: u64 = lengths[place + 1..].iter().map(|length| length.unwrap_or(1).max(1)).product();
            write!(path, "[{}]", rest / below).expect("a text takes every text");
            rest %= below;
        }
    }

    /// Size of a value of that type; `None` if DWARF does not state it.
    fn size(&self, at: TypeAt, depth: usize) -> Option<u64> {
        let depth = depth.checked_sub(1)?;
        let unit = &self.units[at.unit];
        let entry = unit.entry(at.entry).ok()?;
        if let Some(size) = entry.attr_value(gimli::DW_AT_byte_size).and_then(|value| value.udata_value()) {
            return Some(size);
        }
        match entry.tag() {
            tag if is_alias(tag) => self.size(self.type_of(at.unit, &entry)?, depth),
            gimli::DW_TAG_array_type => {
                let element = self.size(self.type_of(at.unit, &entry)?, depth)?;
                self.dimensions(at).into_iter().try_fold(element, |size, length| size.checked_mul(length?))
            }
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => Some(u64::from(unit.encoding().address_size)),
            _ => None,
        }
    }
}

impl Describe for DwarfTypes {
    type Id = TypeAt;

    fn form(&self, at: TypeAt) -> Form<TypeAt> {
        let Ok(entry) = self.units[at.unit].entry(at.entry) else { return Form::Unknown };
        let (of, name) = (self.type_of(at.unit, &entry), self.name(at.unit, &entry));
        let structure = |keyword| Form::Structure { keyword, name: name.clone(), members: self.declared(at) };
        match entry.tag() {
            gimli::DW_TAG_structure_type => structure(Keyword::Struct),
            gimli::DW_TAG_class_type => structure(Keyword::Class),
            gimli::DW_TAG_union_type => structure(Keyword::Union),
            gimli::DW_TAG_array_type => self.array(at, of),
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => Form::Pointer { to: of },
            gimli::DW_TAG_typedef => Form::Named { name: name.unwrap_or_default(), of },
            gimli::DW_TAG_const_type => Form::Qualified { word: "const", of },
            gimli::DW_TAG_volatile_type => Form::Qualified { word: "volatile", of },
            gimli::DW_TAG_restrict_type => Form::Qualified { word: "restrict", of },
            gimli::DW_TAG_atomic_type => Form::Qualified { word: "_Atomic", of },
            gimli::DW_TAG_subroutine_type => Form::Function,
            gimli::DW_TAG_enumeration_type => {
                Form::Plain { name: name.map_or_else(|| "enum".to_owned(), |name| format!("enum {name}")) }
            }
            _ => name.map_or(Form::Unknown, |name| Form::Plain { name }),
        }
    }

    fn bytes(&self, at: TypeAt) -> Option<u64> {
        self.size(at, DEEPEST)
    }
}

impl DwarfTypes {
    /// The members of a structure in order of declaration; base classes have no name.
    fn declared(&self, at: TypeAt) -> Vec<Declared<TypeAt>> {
        let mut declared = Vec::new();
        let Ok(mut tree) = self.units[at.unit].entries_tree(Some(at.entry)) else { return declared };
        let Ok(root) = tree.root() else { return declared };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            declared.extend(self.declared_member(at.unit, child.entry()));
        }
        declared
    }

    /// A member; `None` for other entries, and for static members of classes, which are stored
    /// elsewhere.
    fn declared_member(&self, unit: usize, entry: &Entry) -> Option<Declared<TypeAt>> {
        let is_member = entry.tag() == gimli::DW_TAG_member;
        let is_stored = !entry.has_attr(gimli::DW_AT_external) && !entry.has_attr(gimli::DW_AT_const_value);
        if !is_stored || !is_member && entry.tag() != gimli::DW_TAG_inheritance {
            return None;
        }
        let number = |attribute| entry.attr_value(attribute).and_then(|value| value.udata_value());
        let bits = number(gimli::DW_AT_bit_size).map(|count| {
            let first = number(gimli::DW_AT_data_bit_offset).unwrap_or(0) % 8;
            Bits { first, count }
        });
        let name = if is_member { self.name(unit, entry) } else { None };
        Some(Declared { name, at: self.type_of(unit, entry)?, offset: member_offset(entry), bits })
    }

    /// An array. Several dimensions become one with all elements.
    fn array(&self, at: TypeAt, element: Option<TypeAt>) -> Form<TypeAt> {
        let Some(element) = element else { return Form::Unknown };
        let count = self.dimensions(at).into_iter().try_fold(1u64, |all, length| all.checked_mul(length?));
        Form::Array { element, count }
    }
}

/// True for another name or a qualifier of a type.
fn is_alias(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type
    )
}

/// Bytes from the beginning of the member's structure; 0 for members of a union.
fn member_offset(entry: &Entry) -> u64 {
    let number = |attribute| entry.attr_value(attribute).and_then(|value| value.udata_value());
    number(gimli::DW_AT_data_member_location)
        .or_else(|| number(gimli::DW_AT_data_bit_offset).map(|bits| bits / 8))
        .unwrap_or(0)
}
