//! The kernel in a boot image, and the types that it describes, read before anything boots. A
//! bzImage holds the kernel as a compressed ELF file (Linux, Documentation/arch/x86/boot.rst).

use crate::btf::{BtfTypes, StructureNames};
use object::{Object, ObjectSection};
use std::io::Read;

/// Upper bound of an uncompressed kernel, in bytes.
const MOST_BYTES: u64 = 1 << 30;

/// The ELF file of a bzImage, or the image itself if it is one. `None` if it is neither, is
/// damaged, or is compressed by a method other than gzip, xz or zstd.
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

/// The names of the types that a kernel's image describes.
#[derive(Debug)]
pub struct KernelTypes(StructureNames);

impl KernelTypes {
    /// Reads an image, a bzImage or an ELF file. Empty without BTF. `None` if it is damaged, or
    /// compressed by a method other than gzip, xz or zstd.
    pub fn of_image(image: &[u8]) -> Option<Self> {
        let kernel = unpacked(image)?;
        let file = object::File::parse(&*kernel).ok()?;
        let Some(section) = file.section_by_name(".BTF") else { return Some(KernelTypes(StructureNames::default())) };
        let layouts = BtfTypes::parse(section.data().ok()?).ok()?;
        Some(KernelTypes(layouts.structure_names()))
    }

    /// True if objects of a structure or union are counted by that name.
    pub fn has(&self, name: &str) -> bool {
        self.0.own.contains(name)
    }

    /// For another name (`typedef`) of a structure: the name by which its objects are counted, or
    /// all of its names if there is no single one.
    pub fn names_of(&self, other_name: &str) -> Option<&[String]> {
        self.0.others.get(other_name).map(Vec::as_slice)
    }

    /// True if the kernel describes no types.
    pub fn is_empty(&self) -> bool {
        self.0.own.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written_btf::Written;
    use std::io::Write;

    /// An ELF file with one section, and the table of the sections' names.
    fn elf(name: &str, section: &[u8]) -> Vec<u8> {
        let names = format!("\0{name}\0.shstrtab\0");
        let (at_names, at_headers) = (64 + section.len(), 64 + section.len() + names.len());
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        let halves = |halves: &[u16]| -> Vec<u8> { halves.iter().flat_map(|half| half.to_le_bytes()).collect() };
        file.extend(halves(&[2, 62, 1, 0]));
        [0, 0, at_headers as u64].iter().for_each(|word: &u64| file.extend(word.to_le_bytes()));
        file.extend(halves(&[0, 0, 64, 0, 0, 64, 3, 2]));
        file.extend([section, names.as_bytes()].concat());
        let header = |name: u32, kind: u32, from: usize, size: usize| -> Vec<u8> {
            let words = [0, 0, from as u64, size as u64, 0, 1, 0];
            let words = words.iter().flat_map(|word| word.to_le_bytes());
            [name, kind].iter().flat_map(|half| half.to_le_bytes()).chain(words).collect()
        };
        file.extend(header(0, 0, 0, 0));
        file.extend(header(1, 1, 64, section.len()));
        file.extend(header(name.len() as u32 + 2, 3, at_names, names.len()));
        file
    }

    fn kernel() -> Vec<u8> {
        let mut btf = Written::new();
        let int = btf.int("int", 4);
        btf.structure("mm_struct", 4, &[("users", int, 0)]);
        let bare = btf.structure("", 4, &[("counter", int, 0)]);
        btf.other_name("atomic_t", bare);
        btf.other_name("pid_t", int);
        elf(".BTF", &btf.bytes())
    }

    /// A bzImage with one sector of set-up code behind the first.
    fn image(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 1024];
        image[0x1f1] = 1;
        image[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        [image, payload.to_vec()].concat()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap()
    }

    fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut writer = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn a_compressed_kernel_has_its_types() {
        let kernel = kernel();
        let zstd = ruzstd::encoding::compress_to_vec(&*kernel, ruzstd::encoding::CompressionLevel::Fastest);
        // The length of the kernel follows what xz and zstd compressed.
        let with_length = |bytes: Vec<u8>| [bytes, vec![1, 2, 3, 4]].concat();
        let packed = [gzip(&kernel), with_length(xz(&kernel)), with_length(zstd)].map(|payload| image(&payload));
        for image in packed.iter().chain([&kernel]) {
            let types = KernelTypes::of_image(image).unwrap();
            let known = ["mm_struct", "atomic_t", "pid_t", "int", "users"].map(|name| types.has(name));
            assert_eq!(known, [true, true, false, false, false]);
        }
    }

    #[test]
    fn other_names_lead_to_the_name_by_which_objects_are_counted() {
        let mut btf = Written::new();
        let int = btf.int("int", 4);
        let node = btf.structure("pglist_data", 4, &[("id", int, 0)]);
        btf.other_name("pg_data_t", node);
        let bare = btf.structure("", 8, &[("counter", int, 0)]);
        let first = btf.other_name("atomic64_t", bare);
        btf.other_name("atomic_long_t", first);
        let types = KernelTypes::of_image(&elf(".BTF", &btf.bytes())).unwrap();
        let names_of = |name: &str| types.names_of(name).map(<[String]>::to_vec);
        assert_eq!((types.has("pglist_data"), names_of("pglist_data")), (true, None));
        assert_eq!((types.has("pg_data_t"), names_of("pg_data_t").unwrap()), (false, vec!["pglist_data".to_owned()]));
        let both = vec!["atomic64_t".to_owned(), "atomic_long_t".to_owned()];
        assert_eq!((types.has("atomic64_t"), names_of("atomic_long_t").unwrap()), (false, both));
    }

    #[test]
    fn a_kernel_without_types_has_none_and_a_damaged_one_is_not_known() {
        assert!(KernelTypes::of_image(&elf(".text", &[0; 8])).unwrap().is_empty());
        let whole = image(&gzip(&kernel()));
        assert!(KernelTypes::of_image(&whole[..whole.len() - 20]).is_none());
        assert!(KernelTypes::of_image(&image(b"LZ4 or whatever")).is_none());
        assert!(KernelTypes::of_image(b"no kernel").is_none());
    }
}
