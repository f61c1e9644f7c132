//! Reader of release archives: a tarball, plain or compressed by gzip, bzip2, xz or zstd, or a
//! Debian package, which contains such a tarball. The first bytes decide the format, not the name.
//! Nothing is written here, so a path in an archive cannot leave the checkout.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Error, ErrorKind, Read};
use std::path::Path;
use tar::EntryType;

/// First bytes of a Debian package, an archive of `ar`.
const PACKAGE: &[u8] = b"!<arch>\n";

/// Prefix of the name of a package's tarball.
const FILES_OF_PACKAGE: &[u8] = b"data.tar";

/// Git's own directory, whose content must not come from others.
const OF_GIT: &[u8] = b".git";

/// Kind of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArchiveKind {
    /// A tarball, often with everything in one directory.
    Tarball,
    /// A package: its paths are those of the installed system.
    Package,
}

/// A file in an archive.
pub(crate) struct ArchivedFile<'a> {
    /// Its path: names between slashes, none of them `.` or `..`.
    pub(crate) path: Vec<u8>,
    /// The content.
    pub(crate) content: Content<'a>,
}

/// The content of a file.
pub(crate) enum Content<'a> {
    /// Bytes.
    Bytes { is_executable: bool, count: u64, reader: &'a mut dyn Read },
    /// A symbolic link to this path, as written.
    Link(Vec<u8>),
    /// The content of an earlier file of the archive.
    Same(Vec<u8>),
}

/// Calls `each` for each file of an archive, in its order. Skips directories and files of a git
/// repository. Fails if the archive cannot be read or cannot be checked out, or if `each` fails.
pub(crate) fn for_each_file(
    archive: &Path,
    each: &mut dyn FnMut(ArchivedFile<'_>) -> io::Result<()>,
) -> io::Result<ArchiveKind> {
    let mut reader = BufReader::new(File::open(archive)?);
    if !begins_with(&mut reader, PACKAGE)? {
        return for_each_of_tarball(reader, each).map(|()| ArchiveKind::Tarball);
    }
    let mut package = ar::Archive::new(reader);
    while let Some(member) = package.next_entry() {
        let member = member?;
        if member.header().identifier().starts_with(FILES_OF_PACKAGE) {
            return for_each_of_tarball(BufReader::new(member), each).map(|()| ArchiveKind::Package);
        }
    }
    Err(invalid("it is not a package: data.tar is missing"))
}

fn for_each_of_tarball(
    reader: impl BufRead,
    each: &mut dyn FnMut(ArchivedFile<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut tarball = tar::Archive::new(uncompressed(reader)?);
    let mut is_empty = true;
    for entry in tarball.entries()? {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        let written = entry.path_bytes().into_owned();
        let Some(path) = plain(&written)? else { continue };
        let target = || match entry.link_name_bytes() {
            Some(target) => Ok(target.into_owned()),
            None => Err(invalid(&format!("the link {} is broken", shown(&written)))),
        };
        let content = match kind {
            EntryType::Directory | EntryType::XGlobalHeader => continue,
            EntryType::Symlink => Content::Link(target()?),
            EntryType::Link => match plain(&target()?)? {
                Some(target) => Content::Same(target),
                None => continue,
            },
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                let is_executable = entry.header().mode()? & 0o100 != 0;
                Content::Bytes { is_executable, count: entry.size(), reader: &mut entry }
            }
            _ => return Err(invalid(&format!("{} is neither a file nor a link", shown(&written)))),
        };
        is_empty = false;
        each(ArchivedFile { path, content })?;
    }
    if is_empty { Err(invalid("it holds no files")) } else { Ok(()) }
}

/// The bytes of a tarball, decompressed.
fn uncompressed<'a>(mut reader: impl BufRead + 'a) -> io::Result<Box<dyn Read + 'a>> {
    Ok(if begins_with(&mut reader, &[0x1f, 0x8b])? {
        Box::new(flate2::bufread::MultiGzDecoder::new(reader))
    } else if begins_with(&mut reader, b"BZh")? {
        Box::new(bzip2::bufread::MultiBzDecoder::new(reader))
    } else if begins_with(&mut reader, &[0xfd, b'7', b'z', b'X', b'Z', 0])? {
        Box::new(lzma_rust2::XzReader::new(reader, true))
    } else if begins_with(&mut reader, &[0x28, 0xb5, 0x2f, 0xfd])? {
        let decoder = ruzstd::decoding::StreamingDecoder::new(reader);
        Box::new(decoder.map_err(|error| invalid(&error.to_string()))?)
    } else {
        Box::new(reader)
    })
}

/// True if the next bytes are these. Consumes nothing.
fn begins_with(reader: &mut impl BufRead, bytes: &[u8]) -> io::Result<bool> {
    Ok(reader.fill_buf()?.starts_with(bytes))
}

/// A path without `.` and empty names; `None` if nothing is left, or if it belongs to a git
/// repository. Fails if it leads up.
fn plain(written: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let names: Vec<&[u8]> =
        written.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".").collect();
    if names.contains(&&b".."[..]) || written.contains(&0) {
        return Err(invalid(&format!("the path {} leads out of it", shown(written))));
    }
    let is_of_git = names.iter().any(|name| name.eq_ignore_ascii_case(OF_GIT));
    Ok((!names.is_empty() && !is_of_git).then(|| names.join(&b'/')))
}

fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).escape_debug().to_string()
}

fn invalid(problem: &str) -> Error {
    Error::new(ErrorKind::InvalidData, problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A tarball of files, of which those with `#!` are executable, and of links, as `path ->
    /// target`.
    fn tarball(files: &[(&str, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, text) in files {
            let mut header = tar::Header::new_gnu();
            // The crate refuses paths that a foreign archive may have.
            header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_mode(if text.starts_with("#!") { 0o755 } else { 0o644 });
            match text.strip_prefix("-> ") {
                Some(target) => {
                    header.set_entry_type(EntryType::Symlink);
                    header.set_link_name(target).unwrap();
                    header.set_size(0);
                }
                None => header.set_size(text.len() as u64),
            }
            header.set_cksum();
            builder.append(&header, if text.starts_with("-> ") { &b""[..] } else { text.as_bytes() }).unwrap();
        }
        builder.into_inner().unwrap()
    }

    /// Kind, and files as text.
    fn read(bytes: &[u8]) -> io::Result<(ArchiveKind, Vec<String>)> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let mut files = Vec::new();
        let kind = for_each_file(file.path(), &mut |file| {
            let path = String::from_utf8(file.path).unwrap();
            files.push(match file.content {
                Content::Bytes { is_executable, count, reader } => {
                    let mut text = String::new();
                    if reader.read_to_string(&mut text)? as u64 != count {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                    format!("{path}{} {text}", if is_executable { "*" } else { "" })
                }
                Content::Link(target) => format!("{path} -> {}", String::from_utf8(target).unwrap()),
                Content::Same(other) => format!("{path} = {}", String::from_utf8(other).unwrap()),
            });
            Ok(())
        })?;
        Ok((kind, files))
    }

    #[test]
    fn a_tarball_is_read_however_it_is_compressed() {
        let plain = tarball(&[("./x-1.0/a", "text"), ("x-1.0/run", "#!/bin/sh"), ("x-1.0/l", "-> ../../etc")]);
        let expected = ["x-1.0/a text", "x-1.0/run* #!/bin/sh", "x-1.0/l -> ../../etc"];
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&plain).unwrap();
        let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        bzip2.write_all(&plain).unwrap();
        let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::default()).unwrap();
        xz.write_all(&plain).unwrap();
        let zstd = ruzstd::encoding::compress_to_vec(&*plain, ruzstd::encoding::CompressionLevel::Fastest);
        for bytes in [plain.clone(), gzip.finish().unwrap(), bzip2.finish().unwrap(), xz.finish().unwrap(), zstd] {
            let (kind, files) = read(&bytes).unwrap();
            assert_eq!(kind, ArchiveKind::Tarball);
            assert_eq!(files, expected);
        }
    }

    #[test]
    fn a_package_has_its_files_in_a_tarball() {
        let mut package = ar::Builder::new(Vec::new());
        for (name, bytes) in [("debian-binary", b"2.0\n".to_vec()), ("data.tar", tarball(&[("./usr/bin/x", "#!")]))] {
            package.append(&ar::Header::new(name.into(), bytes.len() as u64), &*bytes).unwrap();
        }
        let bytes = package.into_inner().unwrap();
        assert_eq!(read(&bytes).unwrap(), (ArchiveKind::Package, vec!["usr/bin/x* #!".to_owned()]));
        assert!(read(&bytes[..60]).is_err(), "cut off");
    }

    #[test]
    fn paths_that_lead_out_are_refused_and_those_of_git_left_out() {
        let wrong = |files: &[(&str, &str)]| read(&tarball(files)).unwrap_err().to_string();
        assert_eq!(wrong(&[("a/../../etc/passwd", "x")]), "the path a/../../etc/passwd leads out of it");
        assert_eq!(wrong(&[(".git/config", "x")]), "it holds no files");
        let (_, files) = read(&tarball(&[("a/.GIT/hooks/x", "x"), ("/etc/x", "x"), ("a/.gitignore", "x")])).unwrap();
        assert_eq!(files, ["etc/x x", "a/.gitignore x"]);
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        for bytes in [&b""[..], b"no archive", &[0x1f, 0x8b, 0], &[0x28, 0xb5, 0x2f, 0xfd], PACKAGE] {
            assert!(read(bytes).is_err(), "{bytes:?}");
        }
        let whole = tarball(&[("a", &"x".repeat(5000))]);
        assert!(read(&whole[..3000]).is_err(), "cut off");
        let missing = for_each_file(Path::new("/no/such/archive"), &mut |_| Ok(()));
        assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
    }
}
