//! An ELF file, program or kernel: its symbols, and its DWARF if it has any. Addresses are those in
//! the file.

use crate::address_space::PAGE_BYTES;
use crate::debug_file::{self, DebugDirectories, DebugFiles};
use crate::dwarf::{DwarfTypes, Slice, TypeAt};
use crate::layout::{Describe, layout, structure_at, structure_name};
use crate::library::is_library;
use crate::names::{InObject, Located};
use crate::table::{Kind, Symbol, SymbolError, SymbolTable, demangle};
use crate::unwind::eh_frame::Tables;
use addr2line::Context;
use faultline_record::lens::callers;
use faultline_record::lens::data::{Code, Data, OwnPlace};
use faultline_record::lens::layout::Layout;
use gimli::{Dwarf, RunTimeEndian, SectionId};
use object::{
    Object, ObjectSection, ObjectSegment, ObjectSymbol, SectionFlags, SectionKind, SegmentFlags, SymbolKind, elf,
};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// The names in a file.
pub struct Image {
    pub(crate) table: SymbolTable,
    has_debug_information: bool,
    /// The end of the memory that it occupies.
    pub(crate) end: u64,
    code: Vec<CodeSegment>,
    banner: Option<String>,
    lines: Context<Slice>,
    pub(crate) types: DwarfTypes,
    /// Tables for finding the callers of its functions.
    pub(crate) unwinding: Option<Tables>,
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Image").field("types", &self.types).finish_non_exhaustive()
    }
}

impl Image {
    /// Parses a file's bytes. A file without symbols or without DWARF has fewer names. Fails if it
    /// is not ELF, or its DWARF is damaged.
    pub fn parse(bytes: &[u8]) -> Result<Self, SymbolError> {
        Image::parse_with(bytes, &DebugFiles::default())
    }

    /// Parses a file with its debug files.
    fn parse_with(bytes: &[u8], debug: &DebugFiles) -> Result<Self, SymbolError> {
        let file = object::File::parse(bytes).map_err(|error| {
            SymbolError::new(format!("not an ELF file: {error}"), "name a program, or a kernel's vmlinux")
        })?;
        let own = debug.own.as_deref().and_then(|bytes| object::File::parse(bytes).ok());
        let shared = debug.shared.as_deref().and_then(|bytes| object::File::parse(bytes).ok());
        let with_debug = own.as_ref().unwrap_or(&file);
        let damaged = |error: &dyn std::fmt::Display| {
            SymbolError::new(format!("cannot read its debug information: {error}"), "rebuild it, or strip it")
        };
        let dwarf = Arc::new(dwarf(with_debug, shared.as_ref()).map_err(|error| damaged(&error))?);
        // A debug file has all symbols or none.
        let symbols = Some(symbols(with_debug)).filter(|symbols| !symbols.is_empty()).unwrap_or_else(|| symbols(&file));
        Ok(Image {
            table: SymbolTable::new(symbols),
            has_debug_information: with_debug.section_by_name(SectionId::DebugInfo.name()).is_some(),
            end: file.segments().map(|segment| segment.address().saturating_add(segment.size())).max().unwrap_or(0),
            code: file.segments().filter_map(|segment| code_segment(&segment)).collect(),
            banner: banner(&file),
            lines: Context::from_arc_dwarf(dwarf.clone()).map_err(|error| damaged(&error))?,
            unwinding: Tables::of(&file),
            types: DwarfTypes::new(dwarf).map_err(|error| damaged(&error))?,
        })
    }

    /// Reads a file. Fails if it cannot be read, or as [`Image::parse`] does.
    pub fn read(path: &Path) -> Result<Self, SymbolError> {
        Image::read_with(path, |_| DebugFiles::default())
    }

    /// Reads a file; if it has no debug information, also its debug file in these directories.
    /// Fails like [`Image::read`].
    pub fn read_with_debug_file(path: &Path, directories: &DebugDirectories) -> Result<Self, SymbolError> {
        Image::read_with(path, |bytes| debug_file::find(path, bytes, directories))
    }

    fn read_with(path: &Path, debug: impl FnOnce(&[u8]) -> DebugFiles) -> Result<Self, SymbolError> {
        let bytes = std::fs::read(path).map_err(|error| {
            SymbolError::new(format!("cannot read {}: {error}", path.display()), "name another file")
        })?;
        Image::parse_with(&bytes, &debug(&bytes))
            .map_err(|error| SymbolError { problem: format!("{}: {}", path.display(), error.problem), ..error })
    }

    /// The difference between addresses in memory and in the file, if the code at `offset` of the
    /// file was loaded at `address`; `None` if the file has no code there.
    pub(crate) fn load_base(&self, address: u64, offset: u64) -> Option<u64> {
        // A mapping begins at the page that contains the segment's first byte.
        let segment = self
            .code
            .iter()
            .find(|segment| offset < segment.to && segment.from < offset + PAGE_BYTES)
            .or_else(|| self.code.iter().find(|segment| (segment.from..segment.to).contains(&offset)))?;
        let in_file = segment.address.wrapping_add(offset).wrapping_sub(segment.from);
        Some(address.wrapping_sub(in_file))
    }

    /// The place in the file of the code at an address.
    pub(crate) fn code_offset(&self, address: u64) -> Option<u64> {
        let is_in = |segment: &&CodeSegment| {
            (segment.address..segment.address + (segment.to - segment.from)).contains(&address)
        };
        self.code.iter().find(is_in).map(|segment| segment.from + (address - segment.address))
    }

    /// The file's code, each part with the address of its first byte.
    pub(crate) fn code_segments<'a>(&self, file: &'a [u8]) -> impl Iterator<Item = (u64, &'a [u8])> {
        self.code.iter().filter_map(|segment| {
            Some((segment.address, file.get(segment.from as usize..(segment.to as usize).min(file.len()))?))
        })
    }

    /// True if it has names.
    pub fn has_symbols(&self) -> bool {
        !self.table.is_empty()
    }

    /// True if it has source lines and members.
    pub fn has_debug_information(&self) -> bool {
        self.has_debug_information
    }

    /// True if DWARF describes a structure, union or class of that name.
    pub fn has_structure(&self, name: &str) -> bool {
        self.types.has_structure(name)
    }

    /// True if it has a variable of that name.
    pub fn has_variable(&self, name: &str) -> bool {
        self.table.has_data(name) || self.types.has_variable(name)
    }

    /// A kernel's description of itself: release, compiler, build.
    pub fn banner(&self) -> Option<&str> {
        self.banner.as_deref()
    }

    /// The place of an instruction: function and offset from its symbol; innermost function, file
    /// and line from DWARF.
    pub fn code(&self, address: u64) -> Option<Code> {
        let symbol = self.table.find(address, Kind::Code);
        let frames = self.frames(address);
        let (function, location) = match frames.first() {
            Some(Frame { function: Some(function), file, line }) => (function.clone(), (file.clone(), *line)),
            Some(Frame { function: None, file, line }) => (symbol?.0.name.clone(), (file.clone(), *line)),
            None => (symbol?.0.name.clone(), (None, None)),
        };
        let mut around: Vec<String> = frames.iter().skip(1).filter_map(|frame| frame.function.clone()).collect();
        let inlined_into = around.pop();
        let (file, line) = location;
        let own = own_place(&frames);
        Some(Code {
            function,
            offset: symbol.map_or(0, |(_, offset)| offset),
            inlined_into,
            between: around,
            file,
            line,
            own,
        })
    }

    /// File and line at which a function begins; `None` without a symbol of that name, or without
    /// DWARF.
    pub fn first_line(&self, function: &str) -> Option<(String, u32)> {
        let address = self.table.address_of(function)?;
        // Inlined functions begin elsewhere.
        let Frame { file, line, .. } = self.frames(address).pop()?;
        file.zip(line)
    }

    /// All functions that contain an instruction, innermost first; empty without a symbol and
    /// DWARF.
    pub(crate) fn functions(&self, address: u64) -> Vec<callers::Frame> {
        let symbol = || self.table.find(address, Kind::Code).map(|(symbol, _)| symbol.name.clone());
        let frames = self.frames(address);
        let outermost = frames.len().saturating_sub(1);
        let named = frames.into_iter().enumerate().map(|(index, Frame { function, file, line })| {
            let name = |file: String| file.rsplit('/').next().unwrap_or_default().to_owned();
            callers::Frame {
                source: file.zip(line).map(|(file, line)| format!("{}:{line}", name(file))),
                is_inlined: index < outermost,
                // Only the outermost function has a symbol.
                function: function.or_else(|| symbol().filter(|_| index == outermost)),
            }
        });
        let mut functions: Vec<callers::Frame> = named.collect();
        if functions.is_empty() {
            let by_symbol = |name| callers::Frame { function: Some(name), source: None, is_inlined: false };
            functions.extend(symbol().map(by_symbol));
        }
        functions
    }

    /// The variable that contains `address`, with the member there and its structure if DWARF
    /// describes it.
    pub(crate) fn variable(&self, address: u64) -> Option<Variable> {
        if let Some((name, at, offset, field)) = self.types.find(address) {
            let structure = structure_at(&self.types, at, offset);
            return Some(Variable { name: name.to_owned(), offset, field, structure });
        }
        let (symbol, offset) = self.table.find(address, Kind::Data)?;
        Some(Variable { name: symbol.name.clone(), offset, field: None, structure: None })
    }

    /// The name and size of a structure.
    pub(crate) fn structure(&self, at: TypeAt) -> Option<(String, u64)> {
        Some((structure_name(&self.types, at)?, self.types.bytes(at)?))
    }

    /// The layout of a structure, with the members of its members that contain one of `bytes`.
    pub(crate) fn layout(&self, at: TypeAt, bytes: &BTreeSet<u64>) -> Option<Layout> {
        layout(&self.types, at, bytes)
    }

    /// The functions that contain an instruction, innermost first. Empty if the DWARF is damaged.
    fn frames(&self, address: u64) -> Vec<Frame> {
        let mut frames = Vec::new();
        let Ok(mut found) = self.lines.find_frames(address).skip_all_loads() else { return frames };
        while let Ok(Some(frame)) = found.next() {
            let location = frame.location.as_ref();
            frames.push(Frame {
                function: frame.function.as_ref().and_then(|name| Some(name.demangle().ok()?.into_owned())),
                file: location.and_then(|location| location.file.map(str::to_owned)),
                line: location.and_then(|location| location.line).filter(|&line| line > 0),
            });
        }
        frames
    }
}

/// The innermost place outside of standard libraries, if the innermost place of all is in one.
fn own_place(frames: &[Frame]) -> Option<OwnPlace> {
    let is_of_library = |frame: &Frame| frame.file.as_deref().is_some_and(is_library);
    let (inner, around) = frames.split_first()?;
    let own = around.iter().filter(|_| is_of_library(inner)).find(|frame| !is_of_library(frame))?;
    Some(OwnPlace { function: own.function.clone()?, file: own.file.clone()?, line: own.line? })
}

/// A byte of a variable.
pub(crate) struct Variable {
    /// The variable's name.
    pub(crate) name: String,
    /// Bytes from the variable's beginning.
    pub(crate) offset: u64,
    /// The member there.
    pub(crate) field: Option<String>,
    /// The structure that contains the byte, and the byte's offset in it.
    pub(crate) structure: Option<(TypeAt, u64)>,
}

impl Variable {
    /// The variable as data. `file`: the number of the file.
    pub(crate) fn located(self, file: usize) -> Located {
        let Variable { name, offset, field, structure } = self;
        let object = structure.map(|structure| InObject::of_file(file, structure));
        Located { data: Data::Symbol { name, offset, field }, object }
    }
}

/// A part of the file that is loaded as code.
struct CodeSegment {
    /// Its range in the file.
    from: u64,
    to: u64,
    /// The address of its first byte.
    address: u64,
}

fn code_segment(segment: &object::Segment<'_, '_>) -> Option<CodeSegment> {
    let SegmentFlags::Elf { p_flags, .. } = segment.flags() else { return None };
    let (from, bytes) = segment.file_range();
    let is_code = p_flags.0 & elf::PF_X.0 != 0;
    is_code.then(|| CodeSegment { from, to: from.saturating_add(bytes), address: segment.address() })
}

/// A function that contains an instruction, and the place in it.
struct Frame {
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
}

/// The debug information of a file, with the part shared with others.
fn dwarf(file: &object::File<'_>, shared: Option<&object::File<'_>>) -> Result<Dwarf<Slice>, object::Error> {
    let mut dwarf = Dwarf::load(|id| section(file, id))?;
    if let Some(shared) = shared {
        dwarf.load_sup(|id| section(shared, id))?;
    }
    Ok(dwarf)
}

fn section(file: &object::File<'_>, id: SectionId) -> Result<Slice, object::Error> {
    let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let data = match file.section_by_name(id.name()) {
        Some(section) => section.uncompressed_data()?,
        None => Default::default(),
    };
    Ok(Slice::new(Arc::from(data.as_ref()), endian))
}

/// The text of the variable with Linux's version.
fn banner(file: &object::File<'_>) -> Option<String> {
    let symbol = file.symbol_by_name("linux_banner")?;
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    let from = usize::try_from(symbol.address().checked_sub(section.address())?).ok()?;
    let text = section.data().ok()?.get(from..)?.split(|&byte| byte == 0).next()?;
    Some(String::from_utf8_lossy(text).trim_end().to_owned())
}

fn is_code(section: &object::Section<'_, '_>) -> bool {
    matches!(section.flags(), SectionFlags::Elf { sh_flags, .. } if sh_flags.0 & elf::SHF_EXECINSTR.0 != 0)
}

fn symbols(file: &object::File<'_>) -> Vec<Symbol> {
    let of = |symbol: object::Symbol<'_, '_>| {
        let name = unversioned(symbol.name().ok()?);
        let name = Some(name).filter(|name| !name.is_empty())?;
        let section = file.section_by_index(symbol.section_index()?).ok()?;
        let kind = match symbol.kind() {
            SymbolKind::Text => Kind::Code,
            SymbolKind::Data => Kind::Data,
            // Written in assembly: the section determines the kind.
            SymbolKind::Label | SymbolKind::Unknown => match section.kind() {
                // A debug file has the sections without their contents.
                _ if is_code(&section) => Kind::Code,
                SectionKind::Data | SectionKind::ReadOnlyData | SectionKind::UninitializedData => Kind::Data,
                _ => return None,
            },
            _ => return None,
        };
        // A label at the end of its section, such as the top of a stack, has no bytes.
        let is_end = symbol.size() == 0 && symbol.address() >= section.address().saturating_add(section.size());
        let kind = if is_end { Kind::Edge } else { kind };
        Some(Symbol { address: symbol.address(), size: symbol.size(), kind, name: demangle(name) })
    };
    let mut symbols: Vec<Symbol> = file.symbols().filter_map(of).collect();
    if symbols.is_empty() {
        symbols = file.dynamic_symbols().filter_map(of).collect();
    }
    if !symbols.is_empty() {
        symbols.extend(file.sections().filter_map(|section| end_of(&section)));
    }
    symbols
}

/// A symbol's name without the version of a library's interface, which `.symtab` has in the name:
/// `pthread_create@@GLIBC_2.34`.
fn unversioned(name: &str) -> &str {
    name.split_once('@').map_or(name, |(name, _)| name)
}

/// The end of a section in memory, where symbols without a size end too.
fn end_of(section: &object::Section<'_, '_>) -> Option<Symbol> {
    let is_loaded = match section.kind() {
        SectionKind::Data | SectionKind::ReadOnlyData | SectionKind::UninitializedData => true,
        _ => is_code(section),
    };
    let address = section.address().checked_add(section.size()).filter(|_| is_loaded && section.address() > 0)?;
    Some(Symbol { address, size: 0, kind: Kind::Edge, name: String::new() })
}

#[cfg(test)]
mod tests {
    use super::unversioned;

    #[test]
    fn names_have_no_version() {
        let named = ["pthread_create@@GLIBC_2.34", "memcpy@GLIBC_2.2.5", "main"].map(unversioned);
        assert_eq!(named, ["pthread_create", "memcpy", "main"]);
    }
}
