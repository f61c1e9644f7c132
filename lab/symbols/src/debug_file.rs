//! Separate debug files, as distributions' debugging packages have them. A file is found by the
//! build id, or by the name in the program's file (`.gnu_debuglink`). Debug information that
//! several files share may be in a further file (`.gnu_debugaltlink`). Files whose build id or
//! checksum does not match are ignored.

use flate2::Crc;
use object::Object;
use std::path::{Path, PathBuf};

/// Directory of distributions' debug files.
const OF_THE_SYSTEM: &str = "/usr/lib/debug";

/// The directories that are searched for debug files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DebugDirectories(Vec<PathBuf>);

impl DebugDirectories {
    /// These directories, then the system's.
    pub fn new(first: &[PathBuf]) -> Self {
        DebugDirectories(first.iter().cloned().chain([OF_THE_SYSTEM.into()]).collect())
    }
}

/// The bytes of files with debug information.
#[derive(Debug, Default)]
pub(crate) struct DebugFiles {
    /// The program's debug file; `None` if the program has its own debug information.
    pub(crate) own: Option<Vec<u8>>,
    /// Debug information shared with other files.
    pub(crate) shared: Option<Vec<u8>>,
}

/// The debug files of the program or library at `path` with these bytes. Files that cannot be found
/// or read are left out.
pub(crate) fn find(path: &Path, bytes: &[u8], directories: &DebugDirectories) -> DebugFiles {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let Ok(file) = object::File::parse(bytes) else { return DebugFiles::default() };
    let own = match file.section_by_name(".debug_info") {
        Some(_) => None,
        None => by_build_id(&file, directories).or_else(|| by_link(&file, &path, directories)),
    };
    let (holder, holder_path) = match &own {
        Some((path, bytes)) => (bytes.as_slice(), path.as_path()),
        None => (bytes, path.as_path()),
    };
    let shared = shared(holder, holder_path, directories);
    DebugFiles { own: own.map(|(_, bytes)| bytes), shared }
}

/// A file with its path.
type Found = (PathBuf, Vec<u8>);

fn by_build_id(file: &object::File<'_>, directories: &DebugDirectories) -> Option<Found> {
    let id = file.build_id().ok()??;
    directories.0.iter().find_map(|directory| read_with_id(directory.join(place(id)?), id))
}

/// The path by build id: `.build-id/ab/cdef….debug`.
fn place(id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = id.split_first()?;
    let hexadecimal = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Some(Path::new(".build-id").join(hexadecimal(&[*first])).join(format!("{}.debug", hexadecimal(rest))))
}

/// Reads the file if it has that build id.
fn read_with_id(path: PathBuf, id: &[u8]) -> Option<Found> {
    // The path by build id is often a link; files that it refers to are beside the target.
    let path = path.canonicalize().ok()?;
    let bytes = std::fs::read(&path).ok()?;
    let has_id = object::File::parse(&*bytes).is_ok_and(|file| file.build_id() == Ok(Some(id)));
    has_id.then_some((path, bytes))
}

/// The debug file by name: beside the file, in `.debug` beside it, or under its directory's path in
/// the directories for debug files.
fn by_link(file: &object::File<'_>, path: &Path, directories: &DebugDirectories) -> Option<Found> {
    let (name, checksum) = file.gnu_debuglink().ok()??;
    let name = Path::new(std::str::from_utf8(name).ok()?).file_name()?;
    let beside = path.parent()?;
    let below = beside.strip_prefix("/").unwrap_or(beside);
    let of_directories = directories.0.iter().map(|directory| directory.join(below).join(name));
    let places = [beside.join(name), beside.join(".debug").join(name)].into_iter().chain(of_directories);
    places.into_iter().filter(|place| place != path).find_map(|place| {
        let bytes = std::fs::read(&place).ok()?;
        let mut sum = Crc::new();
        sum.update(&bytes);
        (sum.sum() == checksum).then_some((place, bytes))
    })
}

/// The file of debug information that the file at `path` shares with others.
fn shared(bytes: &[u8], path: &Path, directories: &DebugDirectories) -> Option<Vec<u8>> {
    let file = object::File::parse(bytes).ok()?;
    let (name, id) = file.gnu_debugaltlink().ok()??;
    let named = path.parent()?.join(std::str::from_utf8(name).ok()?);
    let by_id = directories.0.iter().filter_map(|directory| Some(directory.join(place(id)?)));
    [named].into_iter().chain(by_id).find_map(|place| read_with_id(place, id)).map(|(_, bytes)| bytes)
}
