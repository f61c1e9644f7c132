//! A machine that boots from a disk image with the image's own loader, while it is switched on:
//! arguments, console, and end. Nothing is written to the image: the emulator keeps the machine's
//! writes in a file of its own, which is removed with the machine.

use super::command_line::{Packages, cpu, machine};
use super::kernel_image::{VIRTIO_DISK, drive, environment, first_sector};
use super::{Emulator, console};
use crate::host::HostPaths;
use crate::keep::{Deadline, End, Ended, Grace, Kept, Output, Program};
use crate::{StopFlag, TargetError, scratch_directory, socket_path};
use faultline_record::machine::{DiskImage, ImageDevices};
use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tempfile::TempDir;

/// Maximum length of a console line.
const LONGEST_LINE_BYTES: usize = 4096;

/// Time for further output of a system that panicked.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// The port of the system's SSH server.
const SSH_PORT: u16 = 22;

/// Fails if the image does not exist or cannot be read.
pub(crate) fn check(image: &DiskImage) -> Result<(), TargetError> {
    let refused = |error: io::Error| TargetError {
        problem: format!("cannot read the disk image {}: {error}", image.file.display()),
        hint: "`image:FILE` takes a file that you may read".to_owned(),
    };
    first_sector(&image.file).map(drop).map_err(refused)
}

/// Access to a machine from this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Way {
    /// A port of the loopback device leads to its SSH server.
    Port(u16),
    /// Both serial ports are sockets in this directory.
    Serial(PathBuf),
}

/// Devices for access to a machine.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Entrance<'a> {
    /// Its SSH server, to which this port of the loopback device leads.
    Port(u16),
    /// Its serial ports.
    Serial {
        /// All bytes of its second disk.
        second_disk: &'a [u8],
        /// Typed text that is removed from the kept output, should the console print it.
        secret: Option<&'a str>,
    },
}

/// The socket of the first serial port, the console, in a directory of sockets.
pub(crate) fn console_socket(directory: &Path) -> PathBuf {
    directory.join("console")
}

/// The socket of the second serial port. It exists after that of the first one.
pub(crate) fn channel_socket(directory: &Path) -> PathBuf {
    directory.join("channel")
}

/// The file of the second disk, in the directory of the serial ports.
fn programs(directory: &Path) -> PathBuf {
    directory.join("programs")
}

/// The devices for access: the serial ports, and a disk. They come last, so that other devices keep
/// their addresses. Without `logappend` the emulator would empty the file, and its standard output
/// may be a file.
fn entrance(devices: ImageDevices, way: &Way) -> Vec<(&'static str, OsString)> {
    let Way::Serial(directory) = way else {
        return vec![("-chardev", "stdio,id=console,signal=off".into()), ("-serial", "chardev:console".into())];
    };
    let socket = |name: &str, path: PathBuf, more: &str| {
        let path = path.to_string_lossy().replace(',', ",,");
        OsString::from(format!("socket,id={name},path={path},server=on,wait=off{more}"))
    };
    let logged = ",logfile=/dev/stdout,logappend=on";
    let disk = match devices {
        ImageDevices::Virtio => "virtio-blk-pci,drive=programs",
        ImageDevices::Old => "ide-hd,drive=programs",
    };
    vec![
        ("-chardev", socket("console", console_socket(directory), logged)),
        ("-serial", "chardev:console".into()),
        ("-chardev", socket("channel", channel_socket(directory), "")),
        ("-serial", "chardev:channel".into()),
        ("-drive", drive("programs", &programs(directory))),
        ("-device", disk.into()),
    ]
}

/// The emulator's arguments.
pub(crate) fn arguments(image: &DiskImage, way: &Way) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    let mut put = |name: &str, value: OsString| arguments.extend([OsString::from(name), value]);
    for (name, value) in cpu(image.accelerator) {
        put(name, value.into());
    }
    for (name, value) in machine(&image.shape, Packages::OnePerSocket, &[]) {
        put(name, value.into());
    }
    put("-drive", drive("disk", &image.file));
    let forwarded = match way {
        Way::Port(port) => format!(",hostfwd=tcp:127.0.0.1:{port}-:{SSH_PORT}"),
        Way::Serial(_) => String::new(),
    };
    put("-netdev", format!("user,id=network,restrict=on{forwarded}").into());
    let devices: &[&str] = match image.devices {
        ImageDevices::Virtio => &[VIRTIO_DISK, "virtio-net-pci,netdev=network,romfile=", "virtio-rng-pci"],
        ImageDevices::Old => &["ide-hd,drive=disk,bootindex=0,werror=report", "e1000,netdev=network,romfile="],
    };
    devices.iter().for_each(|device| put("-device", (*device).into()));
    for (name, value) in [
        // Many loaders print nothing without a screen.
        ("-vga", "std"),
        ("-display", "none"),
        ("-monitor", "none"),
    ] {
        put(name, value.into());
    }
    entrance(image.devices, way).into_iter().for_each(|(name, value)| put(name, value));
    arguments.extend(["-nodefaults".into(), "-no-reboot".into()]);
    arguments
}

/// A machine that is or was switched on. Dropping it switches it off.
#[derive(Debug)]
pub(crate) struct DiskMachine {
    console: Arc<Mutex<Console>>,
    switch_off: StopFlag,
    emulator: Option<JoinHandle<Ended>>,
    /// Directory of the machine's writes and sockets.
    written: TempDir,
}

/// The last output of a machine.
#[derive(Debug, Default)]
struct Console {
    text: String,
    panic: Option<String>,
    /// Text that is removed from both.
    secret: Option<String>,
}

impl DiskMachine {
    /// Switches a machine on. Fails, with a text, if the emulator cannot be started.
    pub(crate) fn on(
        image: &DiskImage,
        entrance: Entrance<'_>,
        emulator: &Emulator,
        host: &HostPaths,
    ) -> Result<Self, String> {
        let written = directory_of_writes(&host.scratch)?;
        let way = match entrance {
            Entrance::Port(port) => Way::Port(port),
            Entrance::Serial { second_disk, .. } => serial_way(written.path(), second_disk)?,
        };
        let secret = match entrance {
            Entrance::Serial { secret, .. } => secret.map(str::to_owned),
            Entrance::Port(_) => None,
        };
        let arguments = arguments(image, &way);
        let kept = Kept::start(&Program {
            keeper: &host.keeper,
            scratch: &host.scratch,
            file: &emulator.program,
            arguments: &|_| arguments.clone(),
            directory: None,
            namespace: None,
            sandbox: None,
            output: Output { longest_line: LONGEST_LINE_BYTES, stderr_bytes: console::KEPT_BYTES },
            waiting_is_free: false,
            grace: Grace::NONE,
            ours: Some(written.path()),
            environment: &environment(written.path()),
            system_settings: &[],
        })?;
        let console = Arc::new(Mutex::new(Console { secret, ..Console::default() }));
        let switch_off = StopFlag::default();
        let (heard, stop) = (Arc::clone(&console), switch_off.clone());
        let emulator = thread::spawn(move || {
            let take = &mut |line: &[u8], deadline: &mut Deadline| {
                // A panic in another thread leaves the text valid: it is only added and removed.
                let mut console = heard.lock().unwrap_or_else(PoisonError::into_inner);
                if console.take(line) {
                    *deadline = Deadline::after(LAST_WORDS);
                }
                ControlFlow::Continue(())
            };
            kept.follow(Duration::MAX, take, &stop)
        });
        Ok(DiskMachine { console, switch_off, emulator: Some(emulator), written })
    }

    /// Directory of the serial ports' sockets, if they give access.
    pub(crate) fn directory(&self) -> &Path {
        self.written.path()
    }

    /// False after the machine switched itself off or panicked.
    pub(crate) fn is_on(&self) -> bool {
        self.emulator.as_ref().is_some_and(|emulator| !emulator.is_finished())
    }

    /// The line with which its system panicked.
    pub(crate) fn panic(&self) -> Option<String> {
        self.console.lock().unwrap_or_else(PoisonError::into_inner).panic.clone()
    }

    /// The last line of its console.
    pub(crate) fn last_line(&self) -> Option<String> {
        console::last_line(&console::readable(&self.console.lock().unwrap_or_else(PoisonError::into_inner).text))
    }

    /// Switches the machine off, or waits for the last output after a panic. Returns the end of its
    /// console, and the emulator's error.
    pub(crate) fn off(mut self) -> (String, Option<String>) {
        let ended = self.switch_off();
        let complaint = ended.and_then(|ended| match ended.end {
            End::NotStarted(text) => Some(text),
            _ => console::complaint(&console::readable(&ended.stderr)),
        });
        let console = self.console.lock().unwrap_or_else(PoisonError::into_inner);
        (console::readable(&console.text), complaint)
    }

    fn switch_off(&mut self) -> Option<Ended> {
        if self.panic().is_none() {
            self.switch_off.set();
        }
        self.emulator.take()?.join().ok()
    }
}

impl Drop for DiskMachine {
    fn drop(&mut self) {
        self.switch_off.set();
        self.switch_off();
    }
}

impl Console {
    /// Handles a line. True if the system just panicked.
    fn take(&mut self, line: &[u8]) -> bool {
        let mut line = console::readable(&String::from_utf8_lossy(line));
        if let Some(secret) = &self.secret {
            line = line.replace(secret, "…");
        }
        self.text.push_str(&line);
        self.text.push('\n');
        if self.text.len() > 2 * console::KEPT_BYTES {
            let from = self.text.len() - console::KEPT_BYTES;
            let from = (from..self.text.len()).find(|&at| self.text.is_char_boundary(at)).unwrap_or_default();
            self.text.drain(..from);
        }
        let panics = self.panic.is_none();
        self.panic = self.panic.take().or_else(|| console::final_panic(&line));
        panics && self.panic.is_some()
    }
}

/// A new directory for the machine's writes. An emulator that is killed may leave a file, so the
/// directory is removed with it.
fn directory_of_writes(scratch: &Path) -> Result<TempDir, String> {
    let made = scratch_directory::create("faultline-disk-", scratch);
    made.map_err(|error| format!("no directory in {}: {}", scratch.display(), error.kind()))
}

/// Access by serial ports, with the second disk's file. Fails, with a text, if there is no room for
/// the file, or if the directory's path is too long.
fn serial_way(directory: &Path, second_disk: &[u8]) -> Result<Way, String> {
    socket_path::check(&console_socket(directory))?;
    let file = programs(directory);
    let failed = |error: io::Error| format!("cannot write {}: {error}", file.display());
    std::fs::write(&file, second_disk).map_err(failed)?;
    Ok(Way::Serial(directory.to_owned()))
}

/// A port that was free a moment ago. If another process takes it before the emulator, the emulator
/// ends with an error. Fails, with a text, if there is none.
pub(crate) fn free_port() -> Result<u16, String> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    bound.map(|address| address.port()).map_err(|error| format!("no free port on the loopback device: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::machine::Machine;

    fn line(keys: &str, head: &[u8]) -> String {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a,b.img");
        std::fs::write(&file, head).unwrap();
        let text = format!("image:{}{keys}", file.display().to_string().replace(',', ",,"));
        let Ok(Machine::Image(mut image)) = text.replace("a,,b.img", "ab.img").parse() else { panic!("{text}") };
        image.file = file;
        let serial = || Way::Serial("/d,1".into());
        let way = if keys.contains("login=serial") { serial() } else { Way::Port(4321) };
        let words = arguments(&image, &way);
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn nothing_is_written_to_the_image_and_only_loopback_leads_to_it() {
        for (head, format) in [(b"QFI\xfb", "qcow2"), (b"\xeb\x63\x90\0", "raw")] {
            let line = line("", &[&head[..], &[0; 508]].concat());
            assert!(line.contains(&format!("-drive if=none,id=disk,format={format},snapshot=on,file=/")), "{line}");
            assert!(line.contains("/a,,b.img -netdev user,id=network,restrict=on,hostfwd=tcp:127.0.0.1:4321-:22 "));
            assert!(line.contains("-device virtio-blk-pci,drive=disk") && line.ends_with(" -no-reboot"), "{line}");
        }
        let old = line(",devices=old,cpus=2,memory=512M", b"abcd");
        assert!(old.contains("-smp 2,") && old.contains("-m 512M") && old.contains("-device e1000,"), "{old}");
        assert!(!old.contains("virtio"), "{old}");
    }

    #[test]
    fn serial_ports_lead_to_a_machine_with_a_second_disk() {
        let own = line(",login=serial", b"abcd");
        assert!(own.contains(" -netdev user,id=network,restrict=on -device"), "{own}");
        let console =
            "-chardev socket,id=console,path=/d,,1/console,server=on,wait=off,logfile=/dev/stdout,logappend=on";
        let channel = "-chardev socket,id=channel,path=/d,,1/channel,server=on,wait=off -serial chardev:channel";
        let disk = "-drive if=none,id=programs,format=raw,snapshot=on,file=/d,,1/programs -device virtio-blk-pci,drive=programs";
        assert!(own.contains(&format!("{console} -serial chardev:console {channel} {disk} ")), "{own}");
        assert!(line(",login=serial,devices=old", b"abcd").contains(" -device ide-hd,drive=programs "));
        let too_long = serial_way(Path::new(&format!("/{}", "a".repeat(100))), b"").unwrap_err();
        assert!(too_long.contains("--scratch"), "{too_long}");
    }

    #[test]
    fn the_end_of_a_console_is_kept_and_a_panic_is_heard_once() {
        let mut console = Console::default();
        for _ in 0..5000 {
            assert!(!console.take("[    1.0] ein längerer Satz\r".as_bytes()));
        }
        assert!(console.text.len() <= 2 * console::KEPT_BYTES);
        assert!(console.take(b"[    9.1] Kernel panic - not syncing: x"));
        assert!(!console.take(b"panic: y"));
        assert_eq!(console.panic.as_deref(), Some("Kernel panic - not syncing: x"));
        assert!(console.text.ends_with("ein längerer Satz\n[    9.1] Kernel panic - not syncing: x\npanic: y\n"));
        let mut console = Console { secret: Some("pass".to_owned()), ..Console::default() };
        console.take(b"Password: pass");
        assert_eq!(console.text, "Password: …\n", "a console that shows what is typed");
    }
}
