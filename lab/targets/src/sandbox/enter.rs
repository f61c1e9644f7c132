//! Entry into the sandbox on Linux, between fork and exec of the program.
//!
//! Everything is prepared before the fork: paths as C strings, room for descriptors. After it, only
//! system calls follow. An ordinary user gets a user namespace, in which the program has no
//! capability after exec. Root gets none, because a chroot allows none, and loses the capabilities
//! that could undo the sandbox.

use super::view::{Around, Mount, View, What, mounts};
use super::{NotMade, Sandbox, is_refusal};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::{Errno, FdFlags};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind, mount_change, mount_remount,
    move_mount, open_tree,
};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::process::{chdir, chroot, fchdir, getegid, geteuid};
use rustix::thread::{
    CapabilitySet, UnshareFlags, capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs, unshare_unsafe,
};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Capabilities that root keeps: for its own files and limits. As another user it could reach that
/// user's processes outside of the sandbox, and their files.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::SYS_RESOURCE)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// A step of the entry, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Step {
    Namespaces,
    Identity,
    Private,
    ReadOnly,
    Open,
    Place,
    Network,
    Directory,
    Privileges,
}

const STEPS: [(Step, &str); 9] = [
    (Step::Namespaces, "the system gives no namespaces"),
    (Step::Identity, "the user cannot be mapped"),
    (Step::Private, "mounts cannot be made private"),
    (Step::ReadOnly, "the file system cannot be made read-only"),
    (Step::Open, "a directory cannot be opened"),
    (Step::Place, "a directory cannot be placed"),
    (Step::Network, "the loopback device cannot be started"),
    (Step::Directory, "the working directory cannot be entered"),
    (Step::Privileges, "privileges cannot be dropped"),
];

/// An existing mount to make read-only.
struct ReadOnly {
    at: CString,
    flags: MountFlags,
    /// True if the sandbox must not start without it.
    is_needed: bool,
}

/// An overlay: its place and its options.
struct Overlay {
    at: CString,
    options: CString,
}

/// A change of the view, ready for system calls.
struct Change {
    at: CString,
    directories: Vec<CString>,
    is_file: bool,
    source: Source,
    /// The source's tree, when it is open.
    tree: Option<OwnedFd>,
}

enum Source {
    /// A directory in memory: for reading and writing, or with mount points only.
    Memory { is_writable: bool },
    /// A tree, opened before mounts are made read-only, or after.
    Tree { path: CString, is_writable: bool },
}

/// Everything that the entry needs.
pub(crate) struct Entrance {
    /// Identity in a user namespace; `None` for root.
    identity: Option<[(&'static CStr, CString); 3]>,
    has_network: bool,
    /// True if the root directory is not a mount point.
    is_in_chroot: bool,
    read_only: Vec<ReadOnly>,
    overlays: Vec<Overlay>,
    changes: Vec<Change>,
    emptied: Vec<CString>,
    links: Vec<(CString, CString)>,
    directory: CString,
}

/// The failed step of an entry, if one failed. Read it after the command is dropped.
pub(crate) struct Failed(PipeReader);

impl Failed {
    /// The failure; `None` if the entry did not fail. `error`: of the start.
    pub(crate) fn not_made(mut self, error: &io::Error) -> Option<NotMade> {
        let mut number = [0; 1];
        self.0.read_exact(&mut number).ok()?;
        let (_, step) = STEPS.iter().find(|(step, _)| *step as u8 == number[0])?;
        let why = format!("{step}: {error}");
        Some(if is_refusal(error) { NotMade::refused(why) } else { NotMade::failed(why) })
    }
}

impl Entrance {
    /// Prepares the entry of a program. `words`: the program, its arguments, and the values of its
    /// own variables. `environment`: of the program before it is cleared. Makes directories in
    /// `scratch`.
    pub(crate) fn prepare(
        sandbox: &Sandbox,
        words: Vec<&OsStr>,
        environment: &dyn Fn(&str) -> Option<OsString>,
        scratch: &Path,
    ) -> Result<Self, NotMade> {
        let directory = std::env::current_dir().map_err(NotMade::failed)?;
        let mountinfo = std::fs::read("/proc/self/mountinfo")
            .map_err(|error| NotMade::failed(format!("/proc/self/mountinfo: {error}")))?;
        let existing = mounts(&mountinfo);
        let is_in_chroot = !existing.iter().any(|mount| mount.at == Path::new("/"));
        if is_in_chroot
            && (is_shared(&mountinfo) || std::fs::read("/proc/1/mountinfo").is_ok_and(|text| is_shared(&text)))
        {
            return Err(NotMade::refused("mounts in a chroot are shared with the host"));
        }
        let is_root = geteuid().is_root();
        let around = Around { words, scratch, directory: &directory, environment };
        let view = View::new(sandbox, &around).map_err(NotMade::failed)?;
        Self::of_view(view, existing, is_root, sandbox.has_network, is_in_chroot, &directory)
            .ok_or_else(|| NotMade::failed("a path has a NUL character"))
    }

    fn of_view(
        view: View,
        existing: Vec<Mount>,
        is_root: bool,
        has_network: bool,
        is_in_chroot: bool,
        directory: &Path,
    ) -> Option<Self> {
        let change = |change: super::view::Change| {
            let source = match &change.what {
                What::Hidden => Source::Memory { is_writable: false },
                What::Memory => Source::Memory { is_writable: true },
                What::Own(path) | What::Writable(path) => Source::Tree { path: c_string(path)?, is_writable: true },
                What::Visible(path) => Source::Tree { path: c_string(path)?, is_writable: false },
            };
            let directories = change.directories.iter().map(|path| c_string(path)).collect::<Option<_>>()?;
            Some(Change { at: c_string(&change.at)?, directories, is_file: change.is_file, source, tree: None })
        };
        let overlay = |overlay: super::view::Overlay| {
            Some(Overlay { at: c_string(&overlay.at)?, options: overlay_options(&overlay)? })
        };
        let links = view.links.iter().map(|(text, at)| Some((c_string(Path::new(text))?, c_string(Path::new(at))?)));
        Some(Entrance {
            identity: if is_root { None } else { Some(identity()?) },
            has_network,
            is_in_chroot,
            read_only: read_only(existing, is_root, is_in_chroot),
            overlays: view.overlays.into_iter().filter_map(overlay).collect(),
            changes: view.changes.into_iter().map(change).collect::<Option<_>>()?,
            emptied: view.emptied.iter().map(|path| c_string(path)).collect::<Option<_>>()?,
            links: links.collect::<Option<_>>()?,
            directory: c_string(directory)?,
        })
    }

    /// Makes the command enter the sandbox before it becomes the program. Fails if there is no
    /// pipe.
    pub(crate) fn enter_with(mut self, command: &mut Command) -> io::Result<Failed> {
        let (failed, says) = io::pipe()?;
        close_on_exec();
        let enter = move || self.enter().map_err(|(step, error)| say(&says, step, error));
        // SAFETY:
        // 1. `enter` runs in the forked child before exec, where only async-signal-safe work is
        //    allowed.
        // 2. It makes system calls on strings that exist already, and stores descriptors in fields
        //    that exist already. It allocates nothing and takes no lock; its error is built from a
        //    number.
        // 3. The child has one thread, so `unshare` is complete for it, and no other thread uses
        //    the descriptors.
        unsafe {
            command.pre_exec(enter);
        }
        Ok(Failed(failed))
    }

    fn enter(&mut self) -> Result<(), (Step, Errno)> {
        let at = |step: Step| move |error: Errno| (step, error);
        self.unshare().map_err(at(Step::Namespaces))?;
        self.map_identity().map_err(at(Step::Identity))?;
        self.make_private().map_err(at(Step::Private))?;
        self.mount_overlays();
        self.open(true).map_err(at(Step::Open))?;
        self.make_read_only().map_err(at(Step::ReadOnly))?;
        self.open(false).map_err(at(Step::Open))?;
        self.place().map_err(at(Step::Place))?;
        if !self.has_network {
            start_loopback().map_err(at(Step::Network))?;
        }
        chdir(self.directory.as_c_str()).map_err(at(Step::Directory))?;
        self.drop_privileges().map_err(at(Step::Privileges))
    }

    fn unshare(&self) -> rustix::io::Result<()> {
        let mut flags = UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
        if self.identity.is_some() {
            flags |= UnshareFlags::NEWUSER;
        }
        if !self.has_network {
            flags |= UnshareFlags::NEWNET;
        }
        // SAFETY: the flags do not separate the table of descriptors.
        unsafe { unshare_unsafe(flags) }
    }

    /// Maps the user and the group to themselves.
    fn map_identity(&self) -> rustix::io::Result<()> {
        for (file, text) in self.identity.iter().flatten() {
            let file = rustix::fs::open(*file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
            rustix::io::write(&file, text.as_bytes())?;
        }
        Ok(())
    }

    /// Keeps later mounts in this namespace. A root directory that is not a mount point becomes
    /// one.
    fn make_private(&self) -> rustix::io::Result<()> {
        if self.is_in_chroot {
            let tree = clone_of(c"/")?;
            move_mount(&tree, c"", CWD, c"/", MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
            fchdir(&tree)?;
            chroot(c".")?;
        }
        mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
    }

    /// Errors are ignored: without an overlay, the directory is read-only.
    fn mount_overlays(&self) {
        for overlay in &self.overlays {
            let flags = MountFlags::NOSUID | MountFlags::NODEV;
            let _ = mount(c"overlay", overlay.at.as_c_str(), c"overlay", flags, overlay.options.as_c_str());
        }
    }

    /// Opens the sources of changes, writable or not, before they are hidden.
    fn open(&mut self, writable: bool) -> rustix::io::Result<()> {
        for change in &mut self.changes {
            if let Source::Tree { path, is_writable } = &change.source
                && *is_writable == writable
            {
                change.tree = Some(clone_of(path)?);
            }
        }
        Ok(())
    }

    fn make_read_only(&self) -> rustix::io::Result<()> {
        for mount in &self.read_only {
            match mount_remount(mount.at.as_c_str(), mount.flags, c"") {
                Err(error) if mount.is_needed => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn place(&mut self) -> rustix::io::Result<()> {
        for change in &mut self.changes {
            for directory in &change.directories {
                there(rustix::fs::mkdir(directory.as_c_str(), Mode::from_raw_mode(0o755)))?;
            }
            let at = change.at.as_c_str();
            if change.is_file {
                let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
                rustix::fs::open(at, flags, Mode::from_raw_mode(0o644))?;
            }
            match (&change.source, change.tree.take()) {
                (Source::Memory { is_writable }, _) => {
                    let options = if *is_writable { c"mode=1777" } else { c"mode=755" };
                    mount(c"tmpfs", at, c"tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options)?;
                }
                (Source::Tree { .. }, Some(tree)) => {
                    move_mount(&tree, c"", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
                }
                (Source::Tree { .. }, None) => {}
            }
        }
        for (text, at) in &self.links {
            there(rustix::fs::symlink(text.as_c_str(), at.as_c_str()))?;
        }
        for file in &self.emptied {
            mount_bind(c"/dev/null", file.as_c_str())?;
        }
        let mount_points = |change: &&Change| matches!(change.source, Source::Memory { is_writable: false });
        for change in self.changes.iter().filter(mount_points) {
            let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
            mount_remount(change.at.as_c_str(), flags, c"")?;
        }
        Ok(())
    }

    fn drop_privileges(&self) -> rustix::io::Result<()> {
        set_no_new_privs(true)?;
        // Fails on kernels before 4.3, which have no ambient set.
        let _ = clear_ambient_capability_set();
        if self.identity.is_some() {
            return Ok(());
        }
        for number in 0..64 {
            let capability = CapabilitySet::from_bits_retain(1 << number);
            if KEPT.contains(capability) {
                continue;
            }
            match remove_capability_from_bounding_set(capability) {
                // The kernel has fewer.
                Err(Errno::INVAL) => break,
                dropped => dropped?,
            }
        }
        // After exec, root has the bounding set and what it inherits.
        let mut sets = capabilities(None)?;
        sets.inheritable = CapabilitySet::empty();
        set_capabilities(None, sets)
    }
}

/// Reports the failed step, and returns the error for the parent.
fn say(says: &PipeWriter, step: Step, error: Errno) -> io::Error {
    // Fails if the parent is gone.
    let _ = rustix::io::write(says, &[step as u8]);
    io::Error::from(error)
}

/// A copy of a mount with all mounts below it.
fn clone_of(path: &CStr) -> rustix::io::Result<OwnedFd> {
    open_tree(
        CWD,
        path,
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE,
    )
}

/// Accepts that something exists already.
fn there(made: rustix::io::Result<()>) -> rustix::io::Result<()> {
    match made {
        Err(Errno::EXIST) => Ok(()),
        made => made,
    }
}

/// A message of rtnetlink that starts device 1, the loopback device of a new namespace: header
/// (length, `RTM_NEWLINK`, request with acknowledgement, number, port), then `struct ifinfomsg`.
fn start_loopback() -> rustix::io::Result<()> {
    const UP: u32 = 1;
    let mut message = [0; 32];
    let mut put = |at: usize, bytes: &[u8]| message[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &32u32.to_ne_bytes());
    put(4, &16u16.to_ne_bytes());
    put(6, &5u16.to_ne_bytes());
    put(8, &1u32.to_ne_bytes());
    put(20, &1u32.to_ne_bytes());
    put(24, &UP.to_ne_bytes());
    put(28, &UP.to_ne_bytes());
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    rustix::net::send(&socket, &message, SendFlags::empty())?;
    let mut answer = [0; 128];
    let (bytes, _) = rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    // The error number follows the header.
    match i32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]) {
        0 if bytes >= 20 => Ok(()),
        error => Err(Errno::from_raw_os_error(if error < 0 { -error } else { Errno::PROTO.raw_os_error() })),
    }
}

/// Keeps descriptors that the keeper inherited from the program.
fn close_on_exec() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    for number in numbers.filter(|number| *number > 2) {
        // SAFETY:
        // 1. The number is not -1.
        // 2. The borrow ends here, and closes nothing. If the descriptor is gone, as that of the
        //    listing is, the call fails.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        let _ = rustix::io::fcntl_setfd(descriptor.as_fd(), FdFlags::CLOEXEC);
    }
}

fn c_string(path: &Path) -> Option<CString> {
    CString::new(path.as_os_str().as_bytes()).ok()
}

/// Files that map a user, with their contents: the user and the group are themselves.
fn identity() -> Option<[(&'static CStr, CString); 3]> {
    let map = |number: u32| CString::new(format!("{number} {number} 1")).ok();
    Some([
        (c"/proc/self/setgroups", CString::new("deny").ok()?),
        (c"/proc/self/gid_map", map(getegid().as_raw())?),
        (c"/proc/self/uid_map", map(geteuid().as_raw())?),
    ])
}

/// Options of an overlay. `None` if a path has a character with a meaning there.
fn overlay_options(overlay: &super::view::Overlay) -> Option<CString> {
    let [lower, upper, work] = [&overlay.at, &overlay.upper, &overlay.work]
        .map(|path| path.to_str().filter(|path| !path.contains([',', ':', '\\'])));
    CString::new(format!("lowerdir={},upperdir={},workdir={},userxattr", lower?, upper?, work?)).ok()
}

/// True if a mount is shared with other namespaces.
fn is_shared(mountinfo: &[u8]) -> bool {
    mountinfo.windows(8).any(|bytes| bytes == b" shared:")
}

/// The mounts to make read-only. Devices and processes stay as they are, but root could change the
/// kernel through its files.
fn read_only(existing: Vec<Mount>, is_root: bool, is_in_chroot: bool) -> Vec<ReadOnly> {
    let root = Mount { at: "/".into(), options: Vec::new() };
    let existing = is_in_chroot.then_some(root).into_iter().chain(existing);
    let stays = |at: &Path| at.starts_with("/dev") || (!is_root && at.starts_with("/proc"));
    let of = |mount: Mount| {
        let needed = if is_root { &["/", "/proc", "/sys"][..] } else { &["/"] };
        let is_needed = needed.iter().any(|needed| mount.at == Path::new(needed));
        Some(ReadOnly { at: c_string(&mount.at)?, flags: flags(&mount.options), is_needed })
    };
    existing.filter(|mount| !stays(&mount.at)).filter_map(of).collect()
}

/// Flags that make a mount read-only and keep its other options.
fn flags(options: &[String]) -> MountFlags {
    let flag = |option: &String| match option.as_str() {
        "nosuid" => MountFlags::NOSUID,
        "nodev" => MountFlags::NODEV,
        "noexec" => MountFlags::NOEXEC,
        "noatime" => MountFlags::NOATIME,
        "nodiratime" => MountFlags::NODIRATIME,
        "relatime" => MountFlags::RELATIME,
        "nosymfollow" => MountFlags::NOSYMFOLLOW,
        _ => MountFlags::empty(),
    };
    options.iter().map(flag).fold(MountFlags::BIND | MountFlags::RDONLY, MountFlags::union)
}
