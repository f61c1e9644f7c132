//! A disk image's file: whether it may boot, and how the emulator is told to boot from it without writing to it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// The variable that names the directory of the file with what the machine writes.
const OVERLAYS: &str = "TMPDIR";

/// The beginning of an image in QEMU's own format.
const QCOW2: [u8; 4] = *b"QFI\xfb";

/// The end of a disk's first sector, if that boots.
const BOOTS: [u8; 2] = [0x55, 0xaa];

const SECTOR_BYTES: usize = 512;

/// The disk as it is named to a machine that has one. Without room for what the machine writes, the write fails there; the machine would be stopped, and seem
/// to hang.
pub(super) const VIRTIO_DISK: &str = "virtio-blk-pci,drive=disk,bootindex=0,werror=report";

/// Opens a file or a disk. Fails if it is neither: a pipe would be waited for.
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

/// Whether a file is a disk image that may boot with its own loader. A Linux kernel begins alike: whoever may have one looks for that first.
pub(super) fn may_boot(file: &Path) -> bool {
    first_sector(file).is_ok_and(|sector| sector.starts_with(&QCOW2) || sector.ends_with(&BOOTS))
}

/// The emulator's environment: what a machine writes to its disk is in a file in this directory.
pub(super) fn environment(directory: &Path) -> [(String, String); 1] {
    [(OVERLAYS.to_owned(), directory.to_string_lossy().into_owned())]
}

/// The emulator's option for a disk that is not written. An image that cannot be read counts as raw: the emulator says why.
/// `name`: by which a device names it.
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
    fn what_boots_is_told_by_its_first_sector() {
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
