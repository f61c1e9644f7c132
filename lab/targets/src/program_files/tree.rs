//! A tree of files for a guest, with the paths, links and permissions of this host.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// Maximum number of symbolic links in a path, as in Linux.
const MOST_LINKS: u32 = 40;

/// `PATH` of a guest that has none of the directories in the host's `PATH`.
const USUAL_PATH: &str = "/usr/bin:/bin";

/// The node at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    /// A directory, with its permissions.
    Directory(u32),
    /// A symbolic link with its text.
    Link(PathBuf),
    /// A file of this host.
    File {
        /// Path on this host.
        source: PathBuf,
        /// Its permissions.
        mode: u32,
        /// Its length.
        bytes: u64,
    },
    /// A file with this content.
    Text(&'static str),
}

/// Files by path in the guest, directories before their entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tree(BTreeMap<PathBuf, Node>);

impl Tree {
    /// Adds the file or directory at an absolute path, with all links on the way, and without a
    /// directory's entries. Returns its path without links. Fails if the path does not exist.
    pub(crate) fn add(&mut self, path: &Path) -> io::Result<PathBuf> {
        let mut resolved = PathBuf::from("/");
        let mut rest: Vec<OsString> = words(path);
        let mut links = 0;
        while let Some(word) = rest.pop() {
            if word == ".." {
                resolved.pop();
                continue;
            }
            let next = resolved.join(&word);
            let metadata = fs::symlink_metadata(&next)?;
            if !metadata.is_symlink() {
                self.put(&next, &next, &metadata);
                resolved = next;
                continue;
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(io::Error::other("too many symbolic links"));
            }
            let text = fs::read_link(&next)?;
            if text.is_absolute() {
                resolved = PathBuf::from("/");
            }
            rest.extend(words(&text));
            self.0.insert(next, Node::Link(text));
        }
        Ok(resolved)
    }

    /// Adds a directory with all entries, except devices and the like. Calls `found` with the
    /// host's path of each file. Fails if an entry cannot be read.
    pub(crate) fn add_all(&mut self, source: &Path, place: &Path, found: &mut dyn FnMut(&Path)) -> io::Result<()> {
        for entry in fs::read_dir(source)? {
            let entry = entry?;
            let (from, to) = (entry.path(), place.join(entry.file_name()));
            let metadata = fs::symlink_metadata(&from)?;
            if metadata.is_symlink() {
                self.0.insert(to, Node::Link(fs::read_link(&from)?));
                continue;
            }
            self.put(&from, &to, &metadata);
            if metadata.is_dir() {
                self.add_all(&from, &to, found)?;
            } else if metadata.is_file() {
                found(&from);
            }
        }
        Ok(())
    }

    /// Adds a file or directory of this host at another path, and creates missing directories above
    /// it. Fails if it does not exist.
    pub(crate) fn add_at(&mut self, source: &Path, place: &Path) -> io::Result<()> {
        let metadata = fs::metadata(source)?;
        self.directories_above(place);
        self.put(source, place, &metadata);
        Ok(())
    }

    /// Adds a file with this content, unless the path exists.
    pub(crate) fn add_text(&mut self, place: &Path, text: &'static str) {
        self.directories_above(place);
        self.0.entry(place.to_owned()).or_insert(Node::Text(text));
    }

    /// Adds an empty directory that every user may write to, unless the path exists.
    pub(crate) fn add_scratch(&mut self, place: &Path) {
        self.directories_above(place);
        self.0.insert(place.to_owned(), Node::Directory(0o1777));
    }

    /// Adds an empty directory, unless the path exists.
    pub(crate) fn add_empty(&mut self, place: &Path) {
        self.directories_above(place);
        self.0.entry(place.to_owned()).or_insert(Node::Directory(0o755));
    }

    /// The directories of `path`, or otherwise of our `PATH`, that are in the tree: a search finds
    /// the same files in them.
    pub(crate) fn search_path(&self, path: Option<&OsStr>) -> String {
        let own = std::env::var_os("PATH").unwrap_or_default();
        let directories = std::env::split_paths(path.unwrap_or(&own));
        let here = directories.filter(|directory| directory.is_relative() || self.0.contains_key(directory));
        let here: Vec<String> = here.map(|directory| directory.to_string_lossy().into_owned()).collect();
        if here.is_empty() { USUAL_PATH.to_owned() } else { here.join(":") }
    }

    /// All paths with their nodes, directories first.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (&Path, &Node)> {
        self.0.iter().map(|(path, node)| (path.as_path(), node))
    }

    /// The file of this host at a path of the guest without links.
    pub(crate) fn source(&self, place: &Path) -> Option<&Path> {
        match self.0.get(place)? {
            Node::File { source, .. } => Some(source),
            _ => None,
        }
    }

    /// Total size of all files in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = |node: &Node| match node {
            Node::File { bytes, .. } => *bytes,
            _ => 0,
        };
        self.0.values().map(bytes).sum()
    }

    fn directories_above(&mut self, place: &Path) {
        for above in place.ancestors().skip(1).filter(|above| above.parent().is_some()) {
            self.0.entry(above.to_owned()).or_insert(Node::Directory(0o755));
        }
    }

    fn put(&mut self, source: &Path, place: &Path, metadata: &Metadata) {
        let mode = metadata.permissions().mode() & 0o7777;
        let node = match metadata {
            _ if metadata.is_dir() => Node::Directory(mode),
            _ if metadata.is_file() => Node::File { source: source.to_owned(), mode, bytes: metadata.len() },
            _ => return,
        };
        self.0.insert(place.to_owned(), node);
    }
}

/// Names of a path, in reverse order.
fn words(path: &Path) -> Vec<OsString> {
    let name = |component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().rev().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_on_the_way_are_kept() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("usr/lib")).unwrap();
        fs::write(root.join("usr/lib/libx.so.1.2"), "library").unwrap();
        symlink("libx.so.1.2", root.join("usr/lib/libx.so.1")).unwrap();
        symlink("usr/lib", root.join("lib")).unwrap();
        let mut tree = Tree::default();
        let resolved = tree.add(&root.join("lib/../lib/libx.so.1")).unwrap();
        assert_eq!(resolved, root.join("usr/lib/libx.so.1.2"));
        let node = |path: &str| tree.0.get(&root.join(path));
        assert_eq!(node("lib"), Some(&Node::Link("usr/lib".into())));
        assert_eq!(node("usr/lib/libx.so.1"), Some(&Node::Link("libx.so.1.2".into())));
        assert!(matches!(node("usr"), Some(Node::Directory(_))));
        assert_eq!((tree.bytes(), tree.source(&resolved)), (7, Some(resolved.as_path())));
        symlink("b", root.join("a")).unwrap();
        symlink("a", root.join("b")).unwrap();
        assert!(tree.add(&root.join("a")).is_err() && tree.add(&root.join("none")).is_err());
    }

    #[test]
    fn a_directory_comes_whole_and_may_come_elsewhere() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("data/deep")).unwrap();
        fs::write(place.path().join("data/deep/x"), "abc").unwrap();
        let mut tree = Tree::default();
        let mut found = Vec::new();
        tree.add_at(&place.path().join("data"), Path::new("/srv/data")).unwrap();
        tree.add_all(&place.path().join("data"), Path::new("/srv/data"), &mut |file| found.push(file.to_owned()))
            .unwrap();
        let paths: Vec<&Path> = tree.nodes().map(|(path, _)| path).collect();
        assert_eq!(paths, ["/srv", "/srv/data", "/srv/data/deep", "/srv/data/deep/x"].map(Path::new));
        assert_eq!(found, [place.path().join("data/deep/x")]);
    }
}
