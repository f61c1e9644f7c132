//! The kernel in an image that is booted: a bzImage holds it as a compressed ELF file (Linux, Documentation/arch/x86/boot.rst).

use std::io::Read;

/// More than any kernel takes, uncompressed.
const MOST_BYTES: u64 = 1 << 30;

/// The ELF file of a bzImage, or the image itself if it is one. `None` if it is neither, is compressed in another way than by gzip, xz or zstd, or is damaged.
pub fn unpacked(image: &[u8]) -> Option<Vec<u8>> {
    match image.starts_with(b"\x7fELF") {
        true => Some(image.to_vec()),
        false => uncompressed(payload(image)?),
    }
}

/// The compressed kernel in a bzImage.
fn payload(image: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| Some(u32::from_le_bytes(*image.get(at..)?.first_chunk()?) as usize);
    let setup_sectors = usize::from(*image.get(0x1f1)?);
    let from = (setup_sectors + 1) * 512 + number(0x248)?;
    image.get(from..)?.get(..number(0x24c)?)
}

fn uncompressed(payload: &[u8]) -> Option<Vec<u8>> {
    let reader: Box<dyn Read + '_> = match payload {
        [0x1f, 0x8b, ..] => Box::new(flate2::read::GzDecoder::new(payload)),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Box::new(lzma_rust2::XzReader::new(payload, false)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(ruzstd::decoding::StreamingDecoder::new(payload).ok()?),
        _ => return None,
    };
    let mut bytes = Vec::new();
    reader.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
