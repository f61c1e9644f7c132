//! The file system as a program in the sandbox sees it: a list of changes to this one, made before
//! the program starts.

use super::Sandbox;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Directory for the sandbox in an execution's scratch directory.
const OWN: &str = "sandbox";

/// Directories that are hidden if they exist: homes, sockets of services, databases of servers.
const HIDDEN: [&str; 6] = ["/root", "/home", "/run", "/var/run", "/var/lib/postgresql", "/var/lib/mysql"];

/// Variables that name directories of a user's files.
const HIDDEN_BY: [&str; 6] =
    ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"];

/// Directories for temporary files.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// Beginning of the names of directories for overlays.
const WRITTEN: &str = "written";

/// Directory of shared memory.
const SHARED_MEMORY: &str = "/dev/shm";

/// Directories that tools read and write: a variable, and the default below the home directory.
const WRITTEN_TOOLS: [(&str, Option<&str>); 3] =
    [("CARGO_HOME", Some(".cargo")), ("GOPATH", Some("go")), ("GOMODCACHE", None)];

/// Directories that tools only read.
const READ_TOOLS: [(&str, Option<&str>); 5] = [
    ("RUSTUP_HOME", Some(".rustup")),
    ("PYENV_ROOT", Some(".pyenv")),
    ("GOROOT", None),
    ("JAVA_HOME", None),
    ("VIRTUAL_ENV", None),
];

/// Variables that name a tool by its path.
const NAMING: [&str; 8] = ["AR", "AS", "CC", "CXX", "FC", "LD", "RUSTC", "RUSTC_WRAPPER"];

/// Files with secrets in directories of tools.
const SECRETS: [&str; 2] = ["credentials", "credentials.toml"];

/// Directory that programs share with a user's data: of it, only these parts are tools.
const LOCAL: &str = ".local";
const OF_LOCAL: [&str; 2] = ["bin", "lib"];

/// Devices of a program. Others could be disks, cameras, or the terminal of the user, into which a
/// program could type.
const DEVICES: [&str; 6] = ["/dev/full", "/dev/kvm", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];

/// Symbolic links beside these devices.
const LINKS: [(&str, &str); 4] = [
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
];

/// A change at a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// An empty directory of our own, for reading and writing, from this directory.
    Own(PathBuf),
    /// An empty directory in memory, for reading and writing.
    Memory,
    /// The host's directory, for reading and writing, from this path.
    Writable(PathBuf),
    /// Nothing is visible except changes below it.
    Hidden,
    /// The host's file or directory, for reading, from this path.
    Visible(PathBuf),
}

impl What {
    fn hides(&self) -> bool {
        matches!(self, What::Own(_) | What::Memory | What::Hidden)
    }
}

/// A change, with the directories to make before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) at: PathBuf,
    pub(super) what: What,
    /// Directories to make, parents first; the last one is `at`, unless `at` is a file.
    pub(super) directories: Vec<PathBuf>,
    /// True if `at` is a file to make.
    pub(super) is_file: bool,
}

/// A directory of which the program gets its own writable copy, if the kernel can make one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Overlay {
    pub(super) at: PathBuf,
    /// Directories of ours: for changed files, and for the kernel.
    pub(super) upper: PathBuf,
    pub(super) work: PathBuf,
}

/// Everything that differs from the host's file system.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    /// Parents before their children.
    pub(super) changes: Vec<Change>,
    pub(super) overlays: Vec<Overlay>,
    /// Files that look empty.
    pub(super) emptied: Vec<PathBuf>,
    /// Symbolic links to make: their texts and places.
    pub(super) links: Vec<(&'static str, &'static str)>,
}

/// The program's words and the directories around it.
pub(super) struct Around<'a> {
    /// The program, its arguments, and the values of its own variables.
    pub(super) words: Vec<&'a OsStr>,
    /// Scratch directory of the execution.
    pub(super) scratch: &'a Path,
    /// Working directory.
    pub(super) directory: &'a Path,
    /// The environment of the program before it is cleared.
    pub(super) environment: &'a dyn Fn(&str) -> Option<OsString>,
}

impl View {
    /// The view of a sandbox. Makes directories in the scratch directory. Fails if it cannot.
    pub(super) fn new(sandbox: &Sandbox, around: &Around<'_>) -> io::Result<Self> {
        let own = around.scratch.join(OWN);
        let mut wanted = Vec::new();
        let mut want = |at: PathBuf, what: What| wanted.push((at, what));
        let home = home(around).and_then(|home| home.canonicalize().ok()).filter(|home| may_hide(home));
        // The variables of a recipe replace the user's, whose directories are hidden too.
        let of_user = HIDDEN_BY.iter().filter_map(std::env::var_os).map(PathBuf::from).chain(std::env::home_dir());
        let named = HIDDEN_BY.iter().filter_map(|name| (around.environment)(name)).map(PathBuf::from);
        let hidden = HIDDEN.iter().map(PathBuf::from).chain(named).chain(of_user).chain(sandbox.hidden.iter().cloned());
        let hidden: Vec<PathBuf> =
            hidden.filter_map(|path| path.canonicalize().ok()).filter(|path| path.is_dir() && may_hide(path)).collect();
        hidden.iter().for_each(|path| want(path.clone(), What::Hidden));
        // A file beside the system's directories, which cannot be hidden, looks empty.
        let is_hidden = |file: &PathBuf| hidden.iter().any(|directory| file.starts_with(directory));
        let files = sandbox.hidden.iter().filter_map(|path| path.canonicalize().ok()).filter(|path| path.is_file());
        let mut emptied: Vec<PathBuf> = files.filter(|file| !is_hidden(file)).collect();
        for (name, at) in TEMPORARY.iter().map(PathBuf::from).chain(home.clone()).enumerate() {
            if let Ok(at) = at.canonicalize() {
                let mode = if Some(&at) == home.as_ref() { 0o700 } else { 0o1777 };
                want(at, What::Own(made(&own.join(name.to_string()), mode)?));
            }
        }
        if Path::new(SHARED_MEMORY).is_dir() {
            want(SHARED_MEMORY.into(), What::Memory);
        }
        if Path::new("/dev").is_dir() {
            want("/dev".into(), What::Hidden);
            let there = DEVICES.iter().map(PathBuf::from).filter(|device| device.exists());
            there.for_each(|device| want(device.clone(), What::Visible(device)));
        }
        for path in sandbox.writable.iter().map(PathBuf::as_path).chain([around.scratch]) {
            let path = path.canonicalize()?;
            want(path.clone(), What::Writable(path));
        }
        let is_hiding = |path: &Path| {
            let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            hidden.iter().any(|hidden| hidden.starts_with(&path))
        };
        let (written, read) = tools(home.as_deref(), &is_hiding, around.environment);
        let named = NAMING.iter().filter_map(|name| (around.environment)(name)).flat_map(|value| paths_of(&value));
        // A compiler reads files beside its own.
        let beside = |file: PathBuf| match file.parent().filter(|parent| !is_hiding(parent)) {
            Some(parent) => with_libraries(parent.to_owned(), home.as_deref(), &is_hiding),
            None => vec![file],
        };
        let compilers: Vec<PathBuf> = named.flat_map(beside).collect();
        let named = around.words.iter().flat_map(|word| paths_of(word)).filter(|path| !is_hiding(path));
        let resolver = sandbox.has_network.then(|| PathBuf::from("/etc/resolv.conf"));
        let directory = around.directory.to_owned();
        let visible =
            written.iter().chain(&read).chain(&compilers).chain(&sandbox.visible).cloned().chain(named).chain(resolver);
        for path in visible.chain([directory]) {
            for at in places(&path) {
                want(at.clone(), What::Visible(at.canonicalize().unwrap_or(at)));
            }
        }
        let mut overlays = Vec::new();
        for at in written.iter().filter_map(|path| path.canonicalize().ok()).filter(|path| path.is_dir()) {
            let place = own.join(format!("{WRITTEN}{}", overlays.len()));
            let (upper, work) = (made(&place.join("upper"), 0o755)?, made(&place.join("work"), 0o755)?);
            emptied.extend(SECRETS.iter().map(|name| at.join(name)).filter(|file| file.is_file()));
            overlays.push(Overlay { at, upper, work });
        }
        // An overlay in another one is a part of it.
        overlays.sort_by(|a, b| a.at.cmp(&b.at));
        overlays.dedup_by(|inner, outer| inner.at.starts_with(&outer.at));
        Ok(View { changes: in_order(wanted), overlays, emptied, links: LINKS.to_vec() })
    }
}

/// A new directory. Fails if it cannot be made.
fn made(path: &Path, mode: u32) -> io::Result<PathBuf> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    // Not subject to the mask of new files.
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    path.canonicalize()
}

/// Lets the owner list and change all directories below one, and it. Follows no link.
pub(super) fn open_directories(directory: &Path) {
    let _ = fs::set_permissions(directory, fs::Permissions::from_mode(0o700));
    let Ok(entries) = fs::read_dir(directory) else { return };
    let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.flatten().filter(is_directory).for_each(|entry| open_directories(&entry.path()));
}

/// The home directory: of the environment, or of the list of users.
fn home(around: &Around<'_>) -> Option<PathBuf> {
    let named = (around.environment)("HOME").map(PathBuf::from);
    named.or_else(std::env::home_dir).filter(|home| home.is_absolute())
}

/// False for a directory that contains the system's.
fn may_hide(path: &Path) -> bool {
    path.is_absolute()
        && !["/usr", "/etc", "/proc", "/sys", "/dev"].iter().any(|system| Path::new(system).starts_with(path))
}

/// The canonical path, and the path itself if a part of it is a symbolic link in a directory that
/// may be hidden. Empty if nothing is there.
fn places(path: &Path) -> Vec<PathBuf> {
    let Ok(canonical) = path.canonicalize() else { return Vec::new() };
    let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
    let written = parent.zip(path.file_name()).map(|(parent, name)| parent.join(name));
    let written = written.filter(|written| *written != canonical && may_hide(written));
    std::iter::once(canonical).chain(written).collect()
}

/// Existing absolute paths in a word of a command or in the value of a variable: `/data/x`,
/// `--input=/data/x`, `/a:/b`, `/a/cc -O2`.
fn paths_of(word: &OsStr) -> Vec<PathBuf> {
    let whole = word.as_bytes();
    let parts = whole.split(|byte| b"=: ".contains(byte));
    let mut paths: Vec<PathBuf> = std::iter::once(whole)
        .chain(parts)
        .map(|bytes| PathBuf::from(OsStr::from_bytes(bytes)))
        .filter(|path| path.is_absolute() && may_hide(path) && path.exists())
        .collect();
    paths.dedup();
    paths
}

/// Directories of tools: those that they write, and those that they only read. `is_hiding`: true
/// for a directory with a hidden one in it.
fn tools(
    home: Option<&Path>,
    is_hiding: &dyn Fn(&Path) -> bool,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let is_tool = |path: &PathBuf| path.is_absolute() && !is_hiding(path);
    let of = |&(name, usual): &(&str, Option<&str>)| -> Vec<PathBuf> {
        match environment(name).filter(|value| !value.is_empty()) {
            Some(value) => std::env::split_paths(&value).filter(is_tool).collect(),
            None => home.zip(usual).map(|(home, usual)| home.join(usual)).into_iter().collect(),
        }
    };
    let searched = environment("PATH").unwrap_or_default();
    let searched = std::env::split_paths(&searched).filter(is_tool);
    let read = searched.flat_map(|directory| with_libraries(directory, home, is_hiding));
    (WRITTEN_TOOLS.iter().flat_map(of).collect(), READ_TOOLS.iter().flat_map(of).chain(read).collect())
}

/// A directory of programs, with the directory around it, where their libraries are.
fn with_libraries(directory: PathBuf, home: Option<&Path>, is_hiding: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let is_bin = directory.file_name().is_some_and(|name| ["bin", "sbin", "shims"].iter().any(|bin| name == *bin));
    let around = directory.parent().filter(|around| is_bin && !is_hiding(around)).map(Path::to_owned);
    match around {
        Some(around) if home.is_some_and(|home| home.join(LOCAL) == around) => {
            OF_LOCAL.map(|part| around.join(part)).into()
        }
        Some(around) => vec![around],
        None => vec![directory],
    }
}

/// The necessary changes, parents before their children, without those that change nothing.
fn in_order(mut wanted: Vec<(PathBuf, What)>) -> Vec<Change> {
    // At the same path, the first kind counts.
    wanted.sort();
    wanted.dedup_by(|next, first| next.0 == first.0);
    let mut changes: Vec<Change> = Vec::new();
    for (at, what) in wanted {
        let above = changes.iter().rev().find(|change| at.starts_with(&change.at));
        let is_hidden = above.is_some_and(|above| above.what.hides());
        let is_needed = match (&what, above.map(|above| &above.what)) {
            (What::Own(_) | What::Memory, _) => true,
            (What::Hidden, _) => !is_hidden,
            (What::Visible(_), _) => is_hidden,
            (What::Writable(_), Some(What::Writable(_))) => false,
            (What::Writable(_), _) => true,
        };
        if !is_needed {
            continue;
        }
        let is_file = is_hidden && matches!(&what, What::Visible(source) if !source.is_dir());
        let top = above.filter(|_| is_hidden).map_or_else(|| at.clone(), |above| above.at.clone());
        let mut directories: Vec<PathBuf> =
            at.ancestors().take_while(|path| **path != *top).map(Path::to_owned).collect();
        directories.reverse();
        if is_file {
            directories.pop();
        }
        changes.push(Change { at, what, directories, is_file });
    }
    changes
}

/// A mount: where it is, and the options that it keeps when it is made read-only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) at: PathBuf,
    pub(super) options: Vec<String>,
}

/// The mounts of a process, as its file `mountinfo` lists them.
pub(super) fn mounts(mountinfo: &[u8]) -> Vec<Mount> {
    let lines = mountinfo.split(|&byte| byte == b'\n');
    let mount = |line: &[u8]| {
        let mut fields = line.split(|&byte| byte == b' ').skip(4);
        let at = PathBuf::from(OsString::from_vec(unescaped(fields.next()?)));
        let options = String::from_utf8_lossy(fields.next()?).split(',').map(str::to_owned).collect();
        Some(Mount { at, options })
    };
    lines.filter_map(mount).collect()
}

/// A path in which a blank is written as `\040`.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let (mut path, mut rest) = (Vec::new(), text);
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| byte == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        path.push(code.unwrap_or(byte));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(at: &str, what: What) -> (PathBuf, What) {
        (at.into(), what)
    }

    fn visible(at: &str) -> (PathBuf, What) {
        change(at, What::Visible(at.into()))
    }

    fn writable(at: &str) -> (PathBuf, What) {
        change(at, What::Writable(at.into()))
    }

    fn kept(wanted: &[(PathBuf, What)]) -> Vec<String> {
        in_order(wanted.to_vec()).iter().map(|change| change.at.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn only_what_changes_something_is_changed() {
        let home = || change("/home", What::Hidden);
        assert_eq!(kept(&[visible("/usr/bin")]), [""; 0], "it is visible anyway");
        assert_eq!(
            kept(&[home(), visible("/home/a/.cargo"), visible("/home/a/.cargo/bin")]),
            ["/home", "/home/a/.cargo"]
        );
        assert_eq!(kept(&[home(), change("/home/a/.config", What::Hidden)]), ["/home"]);
        assert_eq!(kept(&[visible("/home"), home()]), ["/home"], "what is hidden is not visible");
        assert_eq!(in_order(vec![visible("/home"), home()])[0].what, What::Hidden);
        assert_eq!(kept(&[writable("/srv/a"), writable("/srv/a/b")]), ["/srv/a"]);
        assert_eq!(kept(&[home(), visible("/home/a"), writable("/home/a/b")]), ["/home", "/home/a", "/home/a/b"]);
        assert_eq!(kept(&[home(), visible("/home/a"), change("/home/a/db", What::Hidden)]).len(), 3);
    }

    #[test]
    fn directories_are_made_where_nothing_is_visible() {
        let own = change("/home/a", What::Own("/s/0".into()));
        let changes = in_order(vec![change("/home", What::Hidden), own, visible("/home/a/x/y"), visible("/home/b")]);
        let made: Vec<Vec<PathBuf>> = changes.into_iter().map(|change| change.directories).collect();
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        // None of these exists, so each counts as a file.
        assert_eq!(made, [paths(&[]), paths(&["/home/a"]), paths(&["/home/a/x"]), paths(&[])]);
    }

    #[test]
    fn tools_are_found_by_variables_and_by_the_path() {
        let environment = |name: &str| match name {
            "PATH" => Some("/usr/bin:/home/a/.local/bin:/home/a/bin:/home/a/node/bin:relative".into()),
            "CARGO_HOME" => Some("/opt/cargo".into()),
            "RUSTUP_HOME" => Some("/home".into()),
            _ => None,
        };
        let is_hiding = |path: &Path| Path::new("/home/a").starts_with(path);
        let (written, read) = tools(Some(Path::new("/home/a")), &is_hiding, &environment);
        let texts =
            |paths: &[PathBuf]| paths.iter().map(|path| path.to_string_lossy().into_owned()).collect::<Vec<_>>();
        assert_eq!(texts(&written), ["/opt/cargo", "/home/a/go"]);
        let read = texts(&read);
        for path in
            ["/home/a/.pyenv", "/usr", "/home/a/.local/bin", "/home/a/.local/lib", "/home/a/bin", "/home/a/node"]
        {
            assert!(read.contains(&path.to_owned()), "{path}: {read:?}");
        }
        for path in ["/home", "/home/a", "/home/a/.local"] {
            assert!(!read.contains(&path.to_owned()), "{path}: {read:?}");
        }
    }

    #[test]
    fn paths_in_a_command_are_found() {
        let paths = |word: &str| paths_of(OsStr::new(word));
        assert_eq!(paths("/usr/bin"), [PathBuf::from("/usr/bin")]);
        assert_eq!(paths("--x=/usr/bin"), [PathBuf::from("/usr/bin")]);
        assert_eq!(paths("/usr/bin:/usr/lib /no/such"), ["/usr/bin", "/usr/lib"].map(PathBuf::from));
        for word in ["usr", "/", "/no/such", "./usr", ""] {
            assert_eq!(paths(word), Vec::<PathBuf>::new(), "{word}");
        }
    }

    #[test]
    fn directories_are_opened_and_links_are_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let [own, other] = ["own", "other"].map(|name| place.path().join(name));
        let closed = own.join("a/b");
        fs::create_dir_all(&closed).unwrap();
        fs::create_dir(&other).unwrap();
        std::os::unix::fs::symlink(&other, own.join("link")).unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        for (path, bits) in [(&closed, 0), (&own.join("a"), 0), (&other, 0o751)] {
            mode(path, bits);
        }
        open_directories(&own);
        let found = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((found(&own.join("a")), found(&closed), found(&other)), (0o700, 0o700, 0o751));
    }

    #[test]
    fn mounts_are_read() {
        let text = b"22 27 0:21 / /proc rw,relatime - proc proc rw\n30 25 8:1 /x /mnt/a\\040b ro,nosuid shared:3 - ext4 d rw\n\n";
        let found = mounts(text);
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[1].at.as_path(), &found[1].options[..]),
            (Path::new("/mnt/a b"), &["ro".to_owned(), "nosuid".to_owned()][..])
        );
    }
}
