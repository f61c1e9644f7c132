//! Kernels in ELF files: those that the emulator's loader starts, and 64-bit Multiboot kernels in
//! the form that it takes.
//!
//! The loader refuses a 64-bit file with a Multiboot header, and takes the same segments under a
//! 32-bit header: Multiboot starts every kernel in 32-bit mode, at physical addresses.

use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, LittleEndian, U16, U32, pod};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use tempfile::NamedTempFile;

/// A Multiboot header is aligned, and among this number of bytes at the beginning of the file
/// (Multiboot Specification 0.6.96, §3.1).
pub(super) const HEADER_WITHIN: u64 = 8192;

/// The first words of Multiboot headers, of both versions.
pub(super) const MAGIC: u32 = 0x1BAD_B002;
const MAGIC_OF_2: u32 = 0xE852_50D6;

/// Flag of a header that has the addresses itself: the loader does not read ELF.
const HAS_ADDRESSES: u32 = 1 << 16;

/// Owner and type of the note with the entry point of a PVH kernel (Xen,
/// xen/include/public/elfnote.h).
const PVH_OWNER: &[u8] = b"Xen";
const PVH_ENTRY: u32 = 18;

/// The form in which the emulator's loader starts an ELF file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Start {
    /// As it is.
    Unchanged,
    /// In this form.
    Changed(Vec<u8>),
}

/// A reason why the loader starts no ELF file: a sentence fragment, and a hint.
pub(super) type Refusal = (&'static str, &'static str);

const NO_HEADER: Refusal = (
    "has neither a Multiboot header in its first 8 KiB nor a note for PVH",
    "add one, or name a disk image with a boot loader",
);
const ONLY_MULTIBOOT_2: Refusal = (
    "has a header for Multiboot 2, and the emulator knows the first Multiboot only",
    "name a disk image with GRUB, as `grub-mkrescue` makes it",
);
const TOO_HIGH: Refusal = (
    "has segments for physical addresses above 4 GiB, where Multiboot loads nothing",
    "link it with physical load addresses (`AT` in a linker script)",
);
const DAMAGED: Refusal = ("has damaged ELF headers", "build it again");

/// Decides how the loader starts an ELF file. Fails if it does not.
pub(super) fn start(bytes: &[u8]) -> Result<Start, Refusal> {
    let class = bytes.get(elf::ELFMAG.len()).copied();
    let header = words(bytes).find_map(|(at, word)| (word == MAGIC).then(|| flags(bytes, at)).flatten());
    match (header, class) {
        (Some(flags), Some(elf::ELFCLASS64)) if flags & HAS_ADDRESSES == 0 => as_32_bit(bytes).map(Start::Changed),
        (Some(_), _) => Ok(Start::Unchanged),
        (None, Some(elf::ELFCLASS64)) if is_pvh::<FileHeader64<Endianness>>(bytes) => Ok(Start::Unchanged),
        (None, Some(elf::ELFCLASS32)) if is_pvh::<FileHeader32<Endianness>>(bytes) => Ok(Start::Unchanged),
        (None, _) if words(bytes).any(|(_, word)| word == MAGIC_OF_2) => Err(ONLY_MULTIBOOT_2),
        (None, _) => Err(NO_HEADER),
    }
}

/// A file in `directory` with the form of a kernel that the loader starts; `None` for a kernel that
/// it starts unchanged, and for a disk image. The kernel finds the path in its memory. The length
/// of the path depends on the directory alone. Fails if a file cannot be read or written.
pub(super) fn changed(kernel: &Path, directory: &Path) -> io::Result<Option<NamedTempFile>> {
    let mut file = File::open(kernel)?;
    let mut bytes = Vec::new();
    (&mut file).take(elf::ELFMAG.len() as u64).read_to_end(&mut bytes)?;
    // The image of a disk may be larger than this host's memory.
    if bytes != elf::ELFMAG {
        return Ok(None);
    }
    file.read_to_end(&mut bytes)?;
    let Ok(Start::Changed(bytes)) = start(&bytes) else { return Ok(None) };
    let mut file = tempfile::Builder::new().prefix("kernel-").tempfile_in(directory)?;
    file.write_all(&bytes)?;
    Ok(Some(file))
}

/// The aligned words that may begin a Multiboot header, each with its place.
fn words(bytes: &[u8]) -> impl Iterator<Item = (usize, u32)> {
    let within = bytes.len().min(HEADER_WITHIN as usize) & !3;
    (0..within).step_by(4).filter_map(|at| Some((at, word(bytes, at)?)))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The flags of the Multiboot header at a place; `None` if its checksum is wrong.
fn flags(bytes: &[u8], at: usize) -> Option<u32> {
    let (flags, checksum) = (word(bytes, at + 4)?, word(bytes, at + 8)?);
    (MAGIC.wrapping_add(flags).wrapping_add(checksum) == 0).then_some(flags)
}

fn is_pvh<H: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> bool {
    let Ok(header) = H::parse(bytes) else { return false };
    let Ok(endian) = header.endian() else { return false };
    let segments = header.program_headers(endian, bytes).unwrap_or_default();
    let notes = segments.iter().filter_map(|segment| segment.notes(endian, bytes).ok().flatten());
    notes
        .flat_map(|mut notes| std::iter::from_fn(move || notes.next().ok().flatten()))
        .any(|note| note.name() == PVH_OWNER && note.n_type(endian) == PVH_ENTRY)
}

/// A 64-bit ELF file under a 32-bit header. Everything else stays at its place, and the segments'
/// headers follow at the end. It has no sections.
fn as_32_bit(bytes: &[u8]) -> Result<Vec<u8>, Refusal> {
    let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(|_| DAMAGED)?;
    let segments = header.program_headers(LittleEndian, bytes).map_err(|_| DAMAGED)?;
    let below_4_gib = |address: u64| u32::try_from(address).map_err(|_| TOO_HIGH);
    let word = |value: u32| U32::new(LittleEndian, value);
    let half = |value: u16| U16::new(LittleEndian, value);
    let (mut entry, mut loaded) = (header.e_entry(LittleEndian), Vec::new());
    for segment in segments.iter().filter(|segment| segment.p_type(LittleEndian) == elf::PT_LOAD) {
        let (address, physical) = (segment.p_vaddr(LittleEndian), segment.p_paddr(LittleEndian));
        let size = segment.p_memsz(LittleEndian);
        below_4_gib(physical.saturating_add(size))?;
        if let Some(offset) = header.e_entry(LittleEndian).checked_sub(address).filter(|&offset| offset < size) {
            entry = physical + offset;
        }
        loaded.push(elf::ProgramHeader32 {
            p_type: word(elf::PT_LOAD),
            p_offset: word(below_4_gib(segment.p_offset(LittleEndian))?),
            p_vaddr: word(below_4_gib(physical)?),
            p_paddr: word(below_4_gib(physical)?),
            p_filesz: word(below_4_gib(segment.p_filesz(LittleEndian))?),
            p_memsz: word(below_4_gib(size)?),
            p_flags: word(segment.p_flags(LittleEndian)),
            p_align: word(4),
        });
    }
    let mut changed = bytes.to_vec();
    changed.resize(bytes.len().next_multiple_of(4), 0);
    let mut e_ident = header.e_ident;
    e_ident.class = elf::ELFCLASS32;
    let header = FileHeader32::<LittleEndian> {
        e_ident,
        e_type: half(elf::ET_EXEC),
        e_machine: half(elf::EM_386),
        e_version: word(1),
        e_entry: word(below_4_gib(entry)?),
        e_phoff: word(below_4_gib(changed.len() as u64)?),
        e_shoff: word(0),
        e_flags: word(0),
        e_ehsize: half(size_of::<FileHeader32<LittleEndian>>() as u16),
        e_phentsize: half(size_of::<elf::ProgramHeader32<LittleEndian>>() as u16),
        e_phnum: half(u16::try_from(loaded.len()).map_err(|_| DAMAGED)?),
        e_shentsize: half(0),
        e_shnum: half(0),
        e_shstrndx: half(0),
    };
    let header = pod::bytes_of(&header);
    changed[..header.len()].copy_from_slice(header);
    changed.extend_from_slice(pod::bytes_of_slice(&loaded));
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A 64-bit ELF file with one segment, linked high, that contains a Multiboot header with these
    /// flags; without a header if `None`.
    fn kernel(flags: Option<u32>, physical: u64) -> Vec<u8> {
        const HIGH: u64 = 0xffff_ffff_8000_0000;
        let numbers = |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
        let halves = |halves: &[u16]| halves.iter().flat_map(|half| half.to_le_bytes()).collect::<Vec<u8>>();
        let header = flags.map(|flags| [MAGIC, flags, 0u32.wrapping_sub(MAGIC).wrapping_sub(flags)]);
        [
            [&b"\x7fELF\x02\x01\x01"[..], &[0; 9], &halves(&[2, 62, 1, 0])].concat(),
            numbers(&[HIGH + 0x1010, 64, 0]),
            halves(&[0, 0, 64, 56, 1, 0, 0, 0]),
            // A loaded segment that may be executed.
            numbers(&[1 | 5 << 32, 120, HIGH + 0x1000, physical, 20, 0x5000, 0x1000]),
            header.iter().flatten().flat_map(|word| word.to_le_bytes()).collect(),
            b"the code".to_vec(),
        ]
        .concat()
    }

    #[test]
    fn a_64_bit_multiboot_kernel_gets_a_32_bit_header_with_physical_addresses() {
        let bytes = kernel(Some(3), 0x10_0000);
        let Ok(Start::Changed(changed)) = start(&bytes) else { panic!() };
        let header = FileHeader32::<LittleEndian>::parse(&changed[..]).unwrap();
        assert_eq!(header.e_entry.get(LittleEndian), 0x10_0010, "the entry point is physical too");
        let [segment] = header.program_headers(LittleEndian, &changed[..]).unwrap() else { panic!() };
        assert_eq!((segment.p_paddr(LittleEndian), segment.p_memsz(LittleEndian)), (0x10_0000, 0x5000));
        let data = segment.data(LittleEndian, &changed[..]).unwrap();
        assert_eq!(data, &bytes[120..140], "the contents are at their place, with the Multiboot header");
    }

    #[test]
    fn a_changed_kernel_has_a_path_of_constant_length() {
        let directory = tempfile::tempdir().unwrap();
        let original = directory.path().join("original");
        std::fs::write(&original, kernel(Some(3), 0x10_0000)).unwrap();
        let [one, other] = [0, 1].map(|_| changed(&original, directory.path()).unwrap().unwrap());
        assert_eq!(one.path().parent(), Some(directory.path()));
        assert_eq!(one.path().as_os_str().len(), other.path().as_os_str().len());
        assert!(std::fs::read(one.path()).unwrap().starts_with(b"\x7fELF\x01"));
        std::fs::write(&original, kernel(Some(HAS_ADDRESSES), 0)).unwrap();
        assert!(changed(&original, directory.path()).unwrap().is_none());
    }

    #[test]
    fn a_disk_image_is_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let disk = directory.path().join("disk");
        // More than any memory, and empty on the host's disk.
        File::create(&disk).unwrap().set_len(4 << 40).unwrap();
        assert!(changed(&disk, directory.path()).unwrap().is_none());
    }

    #[test]
    fn files_that_the_loader_takes_are_unchanged_and_others_are_refused() {
        assert_eq!(start(&kernel(Some(HAS_ADDRESSES), 0)), Ok(Start::Unchanged), "it has a 32-bit header's addresses");
        assert_eq!(start(&kernel(Some(0), 1 << 32)), Err(TOO_HIGH));
        assert_eq!(start(&kernel(None, 0)), Err(NO_HEADER));
        let mut later = kernel(None, 0);
        later.extend(MAGIC_OF_2.to_le_bytes());
        assert_eq!(start(&later), Err(ONLY_MULTIBOOT_2));
        let mut wrong = kernel(Some(0), 0);
        wrong[128] ^= 1;
        assert_eq!(start(&wrong), Err(NO_HEADER), "the checksum is wrong");
    }
}
