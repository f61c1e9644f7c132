//! Our repository made from archives of releases: one commit each, so that everything that works
//! with commits works with them. `git fast-import` unpacks each archive once, into git objects;
//! nothing else is written. The commits have no author and the release's date, so the same list
//! gives the same commits on every host.

use super::git::Git;
use super::{Repository, unwritable};
use crate::archive::{ArchiveKind, ArchivedFile, Content, for_each_file};
use crate::tools;
use faultline_experiment::{Error, Lab};
use faultline_record::artefact::Release;
use faultline_targets::lack;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Reference to the newest release of the list opened last.
pub(super) const NEWEST: &str = "refs/faultline/releases";

/// Reference to the commit into which an archive is unpacked.
const UNPACKED: &str = "refs/faultline/unpacked";

/// Prefix of references to trees, followed by the digest of their archive.
const OF_ARCHIVES: &str = "refs/faultline/archives";

/// Type and name of an entry, in the output of `ls-tree`.
const TYPE_AND_NAME: &str = "--format=%(objecttype) %(objectname)";

impl Repository {
    /// The repository in `ours` with the releases of a list, oldest first. Created if missing.
    /// Fails if an archive cannot be read, or if the directory cannot be written.
    pub(crate) fn of_archives(releases: &[Release], ours: &Path, lab: &Lab<'_>) -> Result<Self, Error> {
        let repository = Repository {
            git: Git::below(ours, lab)?,
            modules: Vec::new(),
            theirs_shallow: PathBuf::new(),
            forge: None,
        };
        repository.create(lab)?;
        let mut commits = Vec::new();
        for release in releases {
            let tree = repository.tree_of(release, lab)?;
            commits.extend(commit(release, &tree));
        }
        commits.extend(b"done\n");
        let list = repository.git.directory().join("releases.import");
        fs::write(&list, commits).map_err(|error| unwritable(&list, &error))?;
        repository.import(&list, "make commits of releases", lab)?;
        let set = ["update-ref", "--no-deref", "HEAD", NEWEST];
        repository.git.run(&set, "name the newest release", lab)?;
        Ok(repository)
    }

    /// The tree with an archive's files. Unpacks it the first time.
    fn tree_of(&self, release: &Release, lab: &Lab<'_>) -> Result<String, Error> {
        let archive = Path::new(release.file.path());
        let digest = digest(archive).map_err(|error| unreadable(release, &error))?;
        let known = format!("{OF_ARCHIVES}/{digest}");
        if let Ok(found) = self.git.lines(&["rev-parse", "--verify", "--quiet", &known], lab)
            && let [tree] = found.as_slice()
        {
            return Ok(tree.clone());
        }
        let stream = self.git.directory().join("archive.import");
        let kind = unpack(release, &stream, lab)?;
        let imported = self.import(&stream, "unpack an archive", lab);
        let _ = fs::remove_file(&stream);
        imported?;
        let tree = self.top(kind, lab)?;
        self.git.run(&["update-ref", &known, &tree], "name an archive's files", lab)?;
        Ok(tree)
    }

    /// The unpacked tree; for a tarball with everything in one directory, that directory.
    fn top(&self, kind: ArchiveKind, lab: &Lab<'_>) -> Result<String, Error> {
        let what = "read what was unpacked";
        let entries = self.git.run(&["ls-tree", TYPE_AND_NAME, UNPACKED], what, lab)?;
        if let ([only], ArchiveKind::Tarball) = (entries.as_slice(), kind)
            && let Some(tree) = only.strip_prefix("tree ")
        {
            return Ok(tree.to_owned());
        }
        let found = self.git.run(&["rev-parse", "--verify", &format!("{UNPACKED}^{{tree}}")], what, lab)?;
        Ok(found.concat())
    }

    fn import(&self, stream: &Path, what: &str, lab: &Lab<'_>) -> Result<(), Error> {
        let import = ["fast-import", "--quiet", "--force", "--done", "--date-format=raw"];
        self.git.run_reading(stream, &import, what, lab).map(drop)
    }
}

/// Writes an archive's files as a commit for `git fast-import`.
fn unpack(release: &Release, stream: &Path, lab: &Lab<'_>) -> Result<ArchiveKind, Error> {
    let unwritten = |error: io::Error| match lack::is_error(&error) {
        true => tools::lab_failed(format!("{} could not be unpacked: {error}", release.file.path())),
        false => unwritable(stream, &error),
    };
    let mut out = Stream { file: BufWriter::new(File::create(stream).map_err(unwritten)?), broken: None };
    let begun = out.write(format!("commit {UNPACKED}\ncommitter <> 0 +0000\ndata 0\n\n").as_bytes());
    let unpacked = begun.and_then(|()| {
        for_each_file(Path::new(release.file.path()), &mut |file| match lab.stop.is_set() {
            true => Err(io::ErrorKind::Interrupted.into()),
            false => out.add(file),
        })
    });
    if lab.stop.is_set() {
        return Err(Error::stopped());
    }
    let ended = out.write(b"done\n").and_then(|()| out.flush());
    match (out.broken.or(ended.err()), unpacked) {
        (Some(error), _) => Err(unwritten(error)),
        (None, unpacked) => unpacked.map_err(|error| unreadable(release, &error)),
    }
}

/// Input of `git fast-import`.
struct Stream {
    file: BufWriter<File>,
    /// First error of writing, as opposed to reading the archive.
    broken: Option<io::Error>,
}

impl Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.file.write_all(bytes);
        self.noted(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.noted(flushed)
    }

    fn noted(&mut self, done: io::Result<()>) -> io::Result<()> {
        done.map_err(|error| {
            let kind = error.kind();
            self.broken.get_or_insert(error);
            kind.into()
        })
    }

    /// Adds a file to the commit.
    fn add(&mut self, file: ArchivedFile<'_>) -> io::Result<()> {
        let path = quoted(&file.path);
        match file.content {
            Content::Bytes { is_executable, count, reader } => {
                let mode: &[u8] = if is_executable { b"100755" } else { b"100644" };
                self.write(&[b"M ", mode, b" inline ", &path, b"\n"].concat())?;
                self.add_bytes(count, reader)
            }
            Content::Link(target) => {
                self.write(&[b"M 120000 inline ", &*path, b"\n"].concat())?;
                self.add_bytes(target.len() as u64, &mut target.as_slice())
            }
            Content::Same(other) => self.write(&[b"C ", &*quoted(&other), b" ", &path, b"\n"].concat()),
        }
    }

    fn add_bytes(&mut self, count: u64, reader: &mut dyn Read) -> io::Result<()> {
        self.write(format!("data {count}\n").as_bytes())?;
        let mut buffer = [0; 64 << 10];
        let mut left = count;
        while left > 0 {
            let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let read = reader.read(&mut buffer[..most])?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.write(&buffer[..read])?;
            left -= read as u64;
        }
        self.write(b"\n")
    }
}

/// The commit of a release with these files, after the previous release, for `git fast-import`.
fn commit(release: &Release, tree: &str) -> Vec<u8> {
    let Release { name, released_s, .. } = release;
    // Git has no times before 1970.
    let released_s = released_s.max(&0);
    let length = name.len();
    format!("commit {NEWEST}\ncommitter <> {released_s} +0000\ndata {length}\n{name}\nM 040000 {tree} \"\"\n")
        .into_bytes()
}

/// A path quoted for `git fast-import`.
fn quoted(path: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for byte in path {
        match byte {
            b'"' | b'\\' => quoted.extend([b'\\', *byte]),
            b'\n' => quoted.extend(b"\\n"),
            _ => quoted.push(*byte),
        }
    }
    quoted.push(b'"');
    quoted
}

/// Digest of a file's bytes.
fn digest(path: &Path) -> io::Result<String> {
    let mut sha256 = Sha256::new();
    io::copy(&mut File::open(path)?, &mut sha256)?;
    Ok(sha256.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn unreadable(release: &Release, error: &io::Error) -> Error {
    let archive = release.file.path().escape_debug();
    Error::usage(
        format!("cannot read {archive}, the archive of the release {}: {error}", release.name),
        "an archive is a tarball (gzip, bzip2, xz, zstd or plain) or a Debian package; restore it, or leave the release out of faultline.toml",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::artefact::ReleaseFile;

    #[test]
    fn paths_and_commits_are_as_git_reads_them() {
        assert_eq!(quoted(b"a \"b\"\\c\nd\xff"), b"\"a \\\"b\\\"\\\\c\\nd\xff\"");
        let file = ReleaseFile::Archive("/a.tar".to_owned());
        let release = Release { name: "1.0~rc1".to_owned(), released_s: -5, file, uname: None };
        let expected = "commit refs/faultline/releases\ncommitter <> 0 +0000\ndata 7\n1.0~rc1\nM 040000 1f3a \"\"\n";
        assert_eq!(String::from_utf8(commit(&release, "1f3a")).unwrap(), expected);
    }
}
