//! The kernel that a guest boots: a given file, or this machine's default.

use super::multiboot;
use crate::TargetError;
use crate::host::HostPaths;
use faultline_record::machine::{Accelerator, MachineShape};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const DIRECTORY: &str = "/boot";
const PREFIX: &str = "vmlinuz-";

/// First bytes of an ELF file.
const ELF: &[u8] = b"\x7fELF";

/// The environment variable that names the default kernel.
const VARIABLE: &str = "FAULTLINE_KERNEL";

/// A kernel's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelImage {
    /// Its path, absolute, in UTF-8.
    pub path: PathBuf,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// Identity of the build, if the file contains it: release, number, configuration and time of
    /// build.
    pub build: Option<(String, String)>,
}

impl KernelImage {
    /// The default: the image that `FAULTLINE_KERNEL` names, otherwise the newest in `/boot`,
    /// otherwise `unpacked`. Fails if there is none, or as [`KernelImage::open`] does.
    pub fn of_this_machine(unpacked: Option<&Path>) -> Result<Self, TargetError> {
        let of_environment = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        let image = of_environment.or_else(newest).or_else(|| unpacked.map(Path::to_owned)).ok_or_else(|| TargetError {
            problem: format!("there is no kernel image {DIRECTORY}/{PREFIX}*"),
            hint: "`make kernel` unpacks one; or install one, for example with `apt-get install linux-image-amd64`; or name one with `kernel=FILE`".to_owned(),
        })?;
        Self::open(&image)
    }

    /// Opens an image. Fails if it cannot be read or is not a kernel, or if its path is not UTF-8
    /// and so cannot be saved with a run.
    pub fn open(path: &Path) -> Result<Self, TargetError> {
        let path = path.canonicalize().map_err(|error| unreadable(path, &error))?;
        if path.to_str().is_none() {
            return Err(TargetError {
                problem: format!("the path of the kernel image {} is not UTF-8", path.display()),
                hint: "rename it; the path is saved with the run as text".to_owned(),
            });
        }
        let bytes = std::fs::read(&path).map_err(|error| unreadable(&path, &error))?;
        if !is_kernel(&bytes) {
            return Err(TargetError {
                problem: format!("{} is not a kernel image", path.display()),
                hint: "`kernel=FILE` takes a bzImage or a vmlinuz for x86-64".to_owned(),
            });
        }
        let sha256 = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(KernelImage { path, sha256, build: build(&bytes) })
    }
}

/// The first word of a Multiboot header, which is aligned.
const MULTIBOOT_MAGIC: [u8; 4] = multiboot::MAGIC.to_le_bytes();

/// Fails if the emulator cannot start a file: it is not a Linux image, bootable disk image or ELF
/// file that its loader takes, and has no Multiboot header.
pub fn check_startable(path: &Path) -> Result<(), TargetError> {
    let is_kernel = starts_as_kernel(path).map_err(|error| unreadable(path, &error))?;
    if !is_kernel && !may_boot(path) {
        return Err(TargetError {
            problem: format!("{} is not a kernel that the emulator starts", path.display()),
            hint: "name a bzImage, an ELF file, a file with a Multiboot header, or a disk image that boots".to_owned(),
        });
    }
    let bytes = if is_kernel { std::fs::read(path).map_err(|error| unreadable(path, &error))? } else { Vec::new() };
    match bytes.starts_with(ELF).then(|| multiboot::start(&bytes)) {
        Some(Err((problem, hint))) => {
            Err(TargetError { problem: format!("{} {problem}", path.display()), hint: hint.to_owned() })
        }
        Some(Ok(_)) | None => Ok(()),
    }
}

/// True for a Linux image.
pub(super) fn is_linux(path: &Path) -> bool {
    let mut beginning = Vec::new();
    let read = open(path).and_then(|file| file.take(multiboot::HEADER_WITHIN).read_to_end(&mut beginning));
    read.is_ok() && is_bzimage(&beginning)
}

/// True for a disk image that boots with its own loader and is not a kernel.
pub fn is_disk(path: &Path) -> bool {
    starts_as_kernel(path).is_ok_and(|is_kernel| !is_kernel) && may_boot(path)
}

fn starts_as_kernel(path: &Path) -> std::io::Result<bool> {
    let mut beginning = Vec::new();
    open(path)?.take(multiboot::HEADER_WITHIN).read_to_end(&mut beginning)?;
    // A boot loader for such kernels contains this word too, behind the first sector of its disk.
    let has_multiboot = || beginning.chunks_exact(4).any(|word| word == MULTIBOOT_MAGIC);
    Ok(is_kernel(&beginning) || !may_boot(path) && has_multiboot())
}

/// True for the first bytes of a bzImage (Linux, Documentation/arch/x86/boot.rst) or of an ELF
/// file, which newer emulators boot too.
fn is_kernel(bytes: &[u8]) -> bool {
    is_bzimage(bytes) || bytes.starts_with(ELF)
}

fn is_bzimage(bytes: &[u8]) -> bool {
    bytes.get(0x202..0x206) == Some(b"HdrS")
}

/// The release and the build from a bzImage's own description: `RELEASE (WHO) #1 SMP … TIME`, whose
/// offset is at 0x20e.
fn build(bytes: &[u8]) -> Option<(String, String)> {
    let place = bytes.get(0x20e..0x210).filter(|_| is_bzimage(bytes))?;
    let place = usize::from(u16::from_le_bytes(place.try_into().ok()?)) + 0x200;
    let text = bytes.get(place..)?.split(|&byte| byte == 0).next()?;
    let text = std::str::from_utf8(text).ok()?;
    let (release, build) = (text.split(' ').next()?, &text[text.find('#')?..]);
    Some((release.to_owned(), build.trim_end().to_owned()))
}

fn unreadable(path: &Path, error: &std::io::Error) -> TargetError {
    TargetError {
        problem: format!("cannot read the kernel image {}: {error}", path.display()),
        hint: "`kernel=FILE` takes a bzImage or a vmlinuz that you can read".to_owned(),
    }
}

/// The newest image that this machine's distribution installed.
fn newest() -> Option<PathBuf> {
    let entries = std::fs::read_dir(DIRECTORY).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let newest = names.filter(|name| name.starts_with(PREFIX)).max_by_key(|name| version_key(name));
    newest.map(|name| Path::new(DIRECTORY).join(name))
}

/// Orders versions with the numbers in a name by value.
fn version_key(name: &str) -> Vec<(u64, String)> {
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let word = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, behind) = rest.split_at(word);
        let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        let (number, behind) = behind.split_at(digits);
        key.push((0, text.to_owned()));
        key.push((number.parse().unwrap_or(0), String::new()));
        rest = behind;
    }
    key
}

/// The requested machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineRequest {
    /// CPUs, sockets, memory.
    pub shape: MachineShape,
    /// The kernel.
    pub kernel: KernelImage,
    /// Execution of instructions.
    pub accelerator: Accelerator,
    /// Maximum time without output of the kernel until the agent's hello.
    pub boot_limit: Duration,
    /// Further parameters for the kernel.
    pub parameters: Vec<String>,
    /// The user's notation for its properties.
    pub named: Named,
}

/// The user's notation for the properties of a machine, for hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// As keys of `--on`.
    InOn,
    /// By options of their own.
    ByOptions,
}

/// Paths on the host.
#[derive(Debug, Clone)]
pub struct GuestPaths {
    /// Directory with `agent` and `workloads/`, linked statically.
    pub guest: PathBuf,
    /// The host's own workloads and scratch directory, and the keeper.
    pub host: HostPaths,
    /// Directory of the user's caches; nothing is cached if `None`.
    pub cache: Option<PathBuf>,
}

/// Variable that names the directory of the machine's writes.
const OVERLAYS: &str = "TMPDIR";

/// First bytes of an image in QEMU's own format.
const QCOW2: [u8; 4] = *b"QFI\xfb";

/// Last bytes of a bootable disk's first sector.
const BOOTS: [u8; 2] = [0x55, 0xaa];

const SECTOR_BYTES: usize = 512;

/// Model of the disk. If the host has no room for the machine's writes, the write fails in the
/// machine. Otherwise the emulator would stop the machine, which would seem to hang.
pub(super) const VIRTIO_DISK: &str = "virtio-blk-pci,drive=disk,bootindex=0,werror=report";

/// Opens a file or a disk. Fails for another kind of file: reading a pipe would block.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let kind = path.metadata()?.file_type();
    match kind.is_file() || kind.is_block_device() {
        true => File::open(path),
        false => Err(io::Error::other("it is neither a file nor a disk")),
    }
}

/// The first sector of an image. Fails if it has none.
pub(super) fn first_sector(file: &Path) -> io::Result<[u8; SECTOR_BYTES]> {
    let mut sector = [0; SECTOR_BYTES];
    open(file)?.read_exact(&mut sector).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => io::Error::other("it is too short for a disk"),
        _ => error,
    })?;
    Ok(sector)
}

/// True for a disk image that may boot with its own loader. A Linux kernel begins with the same
/// bytes: check for a kernel first.
pub(super) fn may_boot(file: &Path) -> bool {
    first_sector(file).is_ok_and(|sector| sector.starts_with(&QCOW2) || sector.ends_with(&BOOTS))
}

/// The emulator's environment: the machine's disk writes are in a file in this directory.
pub(super) fn environment(directory: &Path) -> [(String, String); 1] {
    [(OVERLAYS.to_owned(), directory.to_string_lossy().into_owned())]
}

/// The emulator's option for a disk that is not written. An image that cannot be read counts as
/// raw: the emulator reports the reason. `name`: for devices that use it.
pub(super) fn drive(name: &str, file: &Path) -> OsString {
    let is_qcow2 = first_sector(file).is_ok_and(|sector| sector.starts_with(&QCOW2));
    let format = if is_qcow2 { "qcow2" } else { "raw" };
    let mut drive = OsString::from(format!("if=none,id={name},format={format},snapshot=on,file="));
    // A comma separates options, and a doubled one stands for itself.
    drive.push(file.to_string_lossy().replace(',', ",,"));
    drive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_whose_loader_knows_multiboot_is_a_disk() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("x");
        // Like GRUB's: behind the sectors that the firmware and its first stage read.
        let mut disk = vec![0; 16 * 512];
        disk[2908..2912].copy_from_slice(&MULTIBOOT_MAGIC);
        std::fs::write(&file, &disk).unwrap();
        assert!(starts_as_kernel(&file).unwrap() && !is_disk(&file));
        disk[510..512].copy_from_slice(&[0x55, 0xaa]);
        std::fs::write(&file, &disk).unwrap();
        assert!(!starts_as_kernel(&file).unwrap() && is_disk(&file));
    }

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        assert!(version_key("vmlinuz-6.10.0-1-amd64") > version_key("vmlinuz-6.9.12-amd64"));
        assert!(version_key("vmlinuz-6.1.0-56-amd64") > version_key("vmlinuz-6.1.0-9-amd64"));
    }

    #[test]
    fn an_image_that_is_not_there_is_named() {
        let error = KernelImage::open(Path::new("/nowhere/bzImage")).unwrap_err();
        assert!(error.problem.contains("/nowhere/bzImage"), "{error}");
    }

    #[test]
    fn an_image_is_known_by_its_head() {
        let mut image = vec![0; 0x206];
        assert!(!is_kernel(&image));
        image[0x202..].copy_from_slice(b"HdrS");
        assert!(is_kernel(&image));
        assert!(!is_kernel(b"no kernel"));
    }

    #[test]
    fn other_kernels_are_known_by_their_multiboot_header() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let with_word = |at: usize| {
            let mut bytes = vec![0; 3 * multiboot::HEADER_WITHIN as usize];
            bytes[at..at + 4].copy_from_slice(&MULTIBOOT_MAGIC);
            std::fs::write(file.path(), bytes).unwrap();
            check_startable(file.path())
        };
        assert!(with_word(4096).is_ok());
        for elsewhere in [4097, multiboot::HEADER_WITHIN as usize] {
            let error = with_word(elsewhere).unwrap_err();
            assert!(error.problem.ends_with("is not a kernel that the emulator starts"), "{error}");
        }
    }

    #[test]
    fn an_image_says_which_build_it_is() {
        let mut image = vec![0; 0x300];
        image[0x202..0x206].copy_from_slice(b"HdrS");
        assert_eq!(build(&image), None);
        image[0x20e..0x210].copy_from_slice(&0x80u16.to_le_bytes());
        let text = b"6.1.0-9-amd64 (who@where) #1 SMP Debian 6.1.27-1 (2023-05-08)\0";
        image[0x280..][..text.len()].copy_from_slice(text);
        let expected = ("6.1.0-9-amd64".to_owned(), "#1 SMP Debian 6.1.27-1 (2023-05-08)".to_owned());
        assert_eq!(build(&image), Some(expected));
    }

    #[test]
    fn bootable_images_are_recognised_by_their_first_sector() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("x");
        for (begin, end, boots) in
            [(&b"QFI\xfb"[..], &[0, 0], true), (b"\xeb\x63", &BOOTS, true), (b"\xeb\x63", &[0, 0], false)]
        {
            std::fs::write(&file, [begin, &vec![0; 510 - begin.len()], end].concat()).unwrap();
            assert_eq!(may_boot(&file), boots, "{begin:?}");
        }
        assert!(open(directory.path()).unwrap_err().to_string().contains("neither a file nor a disk"));
        std::fs::write(&file, "short").unwrap();
        assert!(!may_boot(&file) && first_sector(&file).unwrap_err().to_string().contains("too short"));
    }
}
