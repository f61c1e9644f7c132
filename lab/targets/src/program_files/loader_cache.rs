//! The dynamic loader's cache, `/etc/ld.so.cache`: where shared libraries are, by name. The format is that of glibc from 2.2 on
//! (`struct cache_file_new` in its elf/cache.c).

use crate::executable::Architecture;
use std::path::PathBuf;

/// The cache's path.
pub(super) const FILE: &str = "/etc/ld.so.cache";

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER_BYTES: usize = 48;
const ENTRY_BYTES: usize = 24;

/// A library for x86-64 with glibc (`FLAG_ELF_LIBC6 | FLAG_X8664_LIB64`).
const X86_64: u32 = 0x0303;

/// One for 32-bit x86 (`FLAG_ELF_LIBC6`).
const I386: u32 = 0x0003;

/// A library in the cache.
#[derive(Debug)]
struct Entry {
    flags: u32,
    name: String,
    path: PathBuf,
}

/// Libraries with their paths, in the cache's order.
#[derive(Debug, Default)]
pub(super) struct LoaderCache(Vec<Entry>);

impl LoaderCache {
    /// Reads the system's cache; an empty one if there is none that can be read.
    pub(super) fn read() -> Self {
        std::fs::read(FILE).ok().and_then(|bytes| Self::parse(&bytes)).unwrap_or_default()
    }

    /// Older caches have another format in front of this one.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = &bytes[bytes.windows(MAGIC.len()).position(|window| window == MAGIC)?..];
        let count = word(bytes, MAGIC.len())? as usize;
        let entry = |index: usize| {
            let at = HEADER_BYTES + index * ENTRY_BYTES;
            let (flags, key, value) = (word(bytes, at)?, word(bytes, at + 4)?, word(bytes, at + 8)?);
            Some(Entry { flags, name: text(bytes, key)?, path: PathBuf::from(text(bytes, value)?) })
        };
        (0..count).map(entry).collect::<Option<_>>().map(LoaderCache)
    }

    /// The files for a library: several if there are builds for newer CPUs.
    pub(super) fn find<'a>(&'a self, name: &'a str, architecture: Architecture) -> impl Iterator<Item = &'a PathBuf> {
        let flags = if architecture == Architecture::I386 { I386 } else { X86_64 };
        let is_meant = move |entry: &&Entry| entry.flags == flags && entry.name == name;
        self.0.iter().filter(is_meant).map(|entry| &entry.path)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn text(bytes: &[u8], at: u32) -> Option<String> {
    let rest = bytes.get(at as usize..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    String::from_utf8(rest[..end].to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(entries: &[(u32, &str, &str)]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((entries.len() as u32).to_le_bytes());
        bytes.resize(HEADER_BYTES, 0);
        let mut strings = Vec::new();
        let from = HEADER_BYTES + entries.len() * ENTRY_BYTES;
        for (flags, key, value) in entries {
            let mut put = |text: &str| {
                let at = (from + strings.len()) as u32;
                strings.extend(text.bytes().chain([0]));
                at
            };
            let (key, value) = (put(key), put(value));
            bytes.extend([*flags, key, value, 0, 0, 0].map(u32::to_le_bytes).concat());
        }
        [bytes, strings].concat()
    }

    #[test]
    fn libraries_are_found_by_name() {
        let bytes = cache(&[(0x0303, "libz.so.1", "/lib/libz.so.1"), (0x0003, "libz.so.1", "/lib32/libz.so.1")]);
        for bytes in [bytes.clone(), [b"ld.so-1.7.0\0\0\0\0\0".to_vec(), bytes.clone()].concat()] {
            let cache = LoaderCache::parse(&bytes).unwrap();
            let found = |architecture| cache.find("libz.so.1", architecture).collect::<Vec<_>>();
            assert_eq!(found(Architecture::X86_64), [&PathBuf::from("/lib/libz.so.1")]);
            assert_eq!(found(Architecture::I386), [&PathBuf::from("/lib32/libz.so.1")]);
            assert_eq!(cache.find("libq.so", Architecture::X86_64).count(), 0);
        }
        assert!(LoaderCache::parse(&bytes[..bytes.len() - 1]).is_none() && LoaderCache::parse(b"text").is_none());
    }
}
