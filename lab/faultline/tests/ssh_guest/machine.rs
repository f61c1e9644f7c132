//! A host in an emulator: a small system with an OpenSSH server on a virtual disk. This file acts
//! as its firmware: at each start of the machine, it reads the installed kernel from the disk and
//! boots it. After a power cycle it boots the previous kernel, like a boot manager that tries a new
//! kernel once.

use crate::lab::{Lab, await_within, guest};
use crate::ssh_guest::disk::{log_in, make, run};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The machine, which is switched off on drop.
pub struct Machine {
    directory: PathBuf,
    port: u16,
    is_off: Arc<AtomicBool>,
    firmware: Option<JoinHandle<()>>,
}

impl Machine {
    /// Switches on a machine whose disk has this kernel, and waits until its SSH server listens.
    pub fn start(lab: &Lab, kernel: &Path) -> Self {
        let directory = lab.path("machine");
        make(&directory, kernel);
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        log_in(&directory, &format!("[127.0.0.1]:{port}"));
        let is_off = Arc::new(AtomicBool::new(false));
        let firmware = Firmware { directory: directory.clone(), port, is_off: Arc::clone(&is_off) };
        let firmware = Some(thread::spawn(move || firmware.run()));
        let machine = Machine { directory, port, is_off, firmware };
        await_within(Duration::from_secs(180), "a host that is up", || machine.console().contains("Server listening"));
        machine
    }

    /// The machine's declaration in `faultline.toml` as the host `lab`. The power-cycle command
    /// writes a line to a file that the firmware polls.
    pub fn declaration(&self, back_limit: &str) -> String {
        format!(
            "[host.lab]\nssh = \"root@127.0.0.1:{}\"\nconfig = \"machine/ssh_config\"\nback_limit = \"{back_limit}\"\n\
             install = [\"install-kernel\", \"{{artefact}}\"]\nreboot = [\"sh\", \"-c\", \"sync; reboot -f\"]\n\
             power_cycle = [\"sh\", \"-c\", \"echo cycle >>machine/power\"]\n",
            self.port
        )
    }

    /// All output on its console.
    pub fn console(&self) -> String {
        fs::read_to_string(self.directory.join("console")).unwrap_or_default()
    }

    /// Releases of the booted kernels, in order.
    pub fn boots(&self) -> Vec<String> {
        self.console().lines().filter_map(|line| line.trim().strip_prefix("up: ")).map(str::to_owned).collect()
    }

    /// Number of power cycles.
    pub fn power_cycles(&self) -> usize {
        cycles(&self.directory)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Relaxed: the thread reads no other data of ours, and is joined.
        self.is_off.store(true, Ordering::Relaxed);
        if let Some(firmware) = self.firmware.take() {
            let _ = firmware.join();
        }
    }
}

fn cycles(directory: &Path) -> usize {
    fs::read_to_string(directory.join("power")).unwrap_or_default().lines().count()
}

/// Starts the machine after each shutdown.
struct Firmware {
    directory: PathBuf,
    port: u16,
    is_off: Arc<AtomicBool>,
}

impl Firmware {
    fn run(&self) {
        let (mut seen, mut falls_back) = (0, false);
        // Relaxed: the flag guards no other data.
        while !self.is_off.load(Ordering::Relaxed) {
            let mut emulator = self.boot(falls_back);
            falls_back = false;
            // The emulator ends when the system reboots.
            while emulator.try_wait().unwrap().is_none() {
                thread::sleep(Duration::from_millis(100));
                let is_cycled = cycles(&self.directory) > seen;
                if is_cycled || self.is_off.load(Ordering::Relaxed) {
                    emulator.kill().unwrap();
                    emulator.wait().unwrap();
                    (seen, falls_back) = (cycles(&self.directory), true);
                }
            }
        }
    }

    /// Boots the kernel installed on the disk; with `falls_back`, the one installed before it.
    fn boot(&self, falls_back: bool) -> Child {
        let path = |name: &str| self.directory.join(name);
        // Repairs the file system after a power loss, as the machine's own kernel does at the next
        // start.
        let checked = Command::new("e2fsck").args(["-p"]).arg(path("disk.img")).output().unwrap();
        assert!(checked.status.code().is_some_and(|status| status <= 1), "{checked:?}");
        let (suffix, parameter) = if falls_back { (".old", " fallback") } else { ("", "") };
        for name in ["vmlinuz", "initrd"] {
            let dump = format!("dump /boot/{name}{suffix} {}", path(name).display());
            run(Command::new("debugfs").args(["-R", &dump]).arg(path("disk.img")));
        }
        let console = fs::OpenOptions::new().create(true).append(true).open(path("console")).unwrap();
        let emulator = guest::emulator().unwrap_or_else(|| "qemu-system-x86_64".into());
        // The emulator ends with our thread, whichever way the thread ends.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(emulator);
        command
            .args(["-accel", "tcg", "-cpu", "max", "-m", "512", "-smp", "1", "-display", "none", "-monitor", "none"]);
        command
            .args(["-serial", "stdio", "-no-reboot", "-kernel"])
            .arg(path("vmlinuz"))
            .arg("-initrd")
            .arg(path("initrd"));
        command.arg("-append").arg(format!("console=ttyS0 quiet panic=0{parameter}"));
        command.arg("-drive").arg(format!("file={},format=raw,if=virtio", path("disk.img").display()));
        let forward = format!("user,id=n,restrict=on,hostfwd=tcp:127.0.0.1:{}-10.0.2.15:22", self.port);
        command.args(["-netdev", &forward, "-device", "virtio-net-pci,netdev=n,romfile="]);
        command.stdin(Stdio::null()).stdout(console.try_clone().unwrap()).stderr(console).spawn().unwrap()
    }
}
