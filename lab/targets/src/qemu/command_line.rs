//! The emulator's arguments.

use super::kernel_image;
use super::memory::LOW_GIB;
use crate::Plugin;
use crate::network::wires::Wire;
use faultline_record::machine::{Accelerator, MachineShape};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Parameters for the guest's kernel, with reasons.
const KERNEL_PARAMETERS: &[&str] = &[
    // Its messages show that a boot makes progress, so it is not `quiet`.
    "console=ttyS0",
    // A panic or an oops ends the emulator: with its option -no-reboot, a restart is the end.
    "panic=-1",
    "oops=panic",
    // Addresses are those of the image, so the symbols of one boot are valid for all.
    "nokaslr",
    // With many CPUs on few real ones, each CPU looks stuck.
    "nowatchdog",
    "rcupdate.rcu_cpu_stall_suppress=1",
    "workqueue.watchdog_thresh=0",
    // If all CPUs tick at the same moment, they contend for the same locks and for the host's CPUs.
    "skew_tick=1",
    // The kernel otherwise tests its ciphers at each boot, which takes half of a boot's
    // instructions.
    "cryptomgr.notests",
    "no_timer_check",
];

/// Precision of the time stamp counter's early frequency, in kHz. The kernel refines it, and two
/// boots on one host get the same value.
const TSC_STEP_KHZ: u64 = 1000;

/// CONFIG_HZ of distributions' kernels. With another value a kernel's delay loops are longer or
/// shorter, which does not affect emulated devices.
const TICKS_PER_SECOND: u64 = 250;

/// Frequency of the counter under the lens, where it follows the instructions: QEMU's counter then
/// has one tick per nanosecond of the guest's time.
const EXACT_TSC_KHZ: u64 = 1_000_000;

/// Arguments that keep the host's clock and randomness out of a guest under the lens, so that two
/// boots execute the same instructions.
const EXACT: [(&str, &str); 3] = [
    // All CPUs on one thread, in turn. The size of the buffer for translated code would depend on
    // the host's memory, and when it is full, a turn ends.
    ("-accel", "tcg,thread=single,tb-size=512"),
    // Time follows the instructions: 16 ns each until the region of interest, where the plugin sets
    // the time. With a shorter time, waiting loops take most of a boot. If all CPUs are idle, it
    // skips to the next timer.
    ("-icount", "shift=4,sleep=off"),
    ("-rtc", "base=2020-01-01,clock=vm"),
];

/// CPU under the lens, as for other guests. With `fsrm` and counted instructions, QEMU 10 hangs at
/// boot.
const EXACT_CPU: &str = "max,erms=off,fsrm=off,la57=off";

/// As [`EXACT_CPU`], for systems without Faultline's agent. With counted instructions, QEMU ends
/// with "Bad icount read" when a system uses the timer of an x2APIC. Linux does not use it there,
/// but looks for it: without it, Linux's counts could change a little.
const EXACT_CPU_OF_ANY_SYSTEM: &str = "max,erms=off,fsrm=off,la57=off,x2apic=off";

/// Boot files in addition to the kernel.
#[derive(Debug, Clone, Copy)]
pub(super) enum Beside<'a> {
    /// Faultline's agent, in an initramfs. The kernel is Linux. The agent reports over the second
    /// serial port.
    Agent(&'a Path),
    /// Files, each with its arguments, for the kernel of any system. They are its Multiboot
    /// modules; Linux takes one initramfs.
    Modules(&'a [String]),
    /// None: a disk image boots with its own loader.
    OwnLoader,
}

/// All of a boot's arguments.
pub(super) struct CommandLine<'a> {
    pub(super) shape: MachineShape,
    pub(super) accelerator: Accelerator,
    /// The kernel, or the disk image that contains it.
    pub(super) kernel: &'a Path,
    pub(super) beside: Beside<'a>,
    /// Further parameters for the kernel.
    pub(super) parameters: &'a [String],
    /// Frequency of the time stamp counter, if it is known.
    pub(super) tsc_khz: Option<u64>,
    pub(super) plugin: Option<&'a Plugin>,
    /// Seed of the guest's random numbers; they come from the host if `None`.
    pub(super) seed: Option<u64>,
    /// A file for the memory of each node; empty if the emulator keeps the memory for itself.
    pub(super) memory: &'a [PathBuf],
    /// Wires, each with a network card.
    pub(super) wires: &'a [Wire],
}

impl CommandLine<'_> {
    /// The kernel's command line.
    pub(super) fn kernel_parameters(&self) -> String {
        match self.beside {
            Beside::Agent(_) => self.linux_parameters(),
            Beside::Modules(_) | Beside::OwnLoader => self.parameters.join(" "),
        }
    }

    fn linux_parameters(&self) -> String {
        let mut parameters: Vec<String> = KERNEL_PARAMETERS.iter().map(|&parameter| parameter.to_owned()).collect();
        if let Some(khz) = self.tsc_khz() {
            // Other emulated timers are slow to read and late on a loaded host, too late to
            // calibrate this counter. With the frequency, CPUs also skip the measurement of their
            // delay loops, which takes most of a boot with many CPUs.
            let loops = khz * 1000 / TICKS_PER_SECOND;
            parameters.extend(["tsc=reliable".to_owned(), format!("tsc_early_khz={khz}"), format!("lpj={loops}")]);
        }
        if self.plugin.is_some() {
            // Otherwise caches of objects of one size are merged, and their objects have no known
            // type.
            parameters.push("slab_nomerge".to_owned());
        }
        parameters.extend(self.parameters.iter().cloned());
        parameters.join(" ")
    }

    /// Frequency of the time stamp counter on the kernel's command line.
    fn tsc_khz(&self) -> Option<u64> {
        if self.plugin.is_some() {
            return Some(EXACT_TSC_KHZ);
        }
        self.tsc_khz.map(|khz| (khz + TSC_STEP_KHZ / 2) / TSC_STEP_KHZ * TSC_STEP_KHZ)
    }

    /// The emulator's arguments. The first serial port is the kernel's console and goes to standard
    /// error; the second is the channel, and goes to standard output.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        let mut option = |name: &str, value: &OsStr| arguments.extend([OsString::from(name), value.to_owned()]);
        let mut put = |name: &str, value: &str| option(name, OsStr::new(value));
        match self.accelerator {
            Accelerator::Tcg if self.plugin.is_some() => {
                EXACT.into_iter().for_each(|(name, value)| put(name, value));
                put("-cpu", if self.has_agent() { EXACT_CPU } else { EXACT_CPU_OF_ANY_SYSTEM });
            }
            accelerator => cpu(accelerator).into_iter().for_each(|(name, value)| put(name, value)),
        }
        let packages = match self.has_agent() || kernel_image::is_linux(self.kernel) {
            true => Packages::OnePerSocket,
            false => Packages::OnePerCpu,
        };
        for (name, value) in machine(&self.shape, packages, self.memory) {
            put(name, &value);
        }
        for (name, value) in [
            ("-display", "none"),
            ("-monitor", "none"),
            ("-chardev", "file,id=console,path=/dev/stderr"),
            ("-serial", "chardev:console"),
        ] {
            put(name, value);
        }
        for (number, wire) in self.wires.iter().enumerate() {
            // A comma in a path is doubled.
            let [own, other] = wire.sockets.each_ref().map(|path| path.to_string_lossy().replace(',', ",,"));
            let sockets = format!("local.type=unix,local.path={own},remote.type=unix,remote.path={other}");
            put("-netdev", &format!("dgram,id=wire{number},{sockets}"));
            put("-device", &format!("virtio-net-pci,netdev=wire{number},mac={},romfile=", wire.hardware_address()));
        }
        if !self.has_own_loader() {
            put("-append", &self.kernel_parameters());
        }
        match self.beside {
            Beside::OwnLoader => {
                option("-drive", &kernel_image::drive("disk", self.kernel));
                option("-device", OsStr::new(kernel_image::VIRTIO_DISK));
            }
            Beside::Agent(initramfs) => {
                put("-chardev", "stdio,id=channel,signal=off");
                put("-serial", "chardev:channel");
                option("-initrd", initramfs.as_os_str());
            }
            Beside::Modules([]) => {}
            // A comma separates modules, and a doubled one stands for itself.
            Beside::Modules(modules) => {
                put("-initrd", &modules.iter().map(|module| module.replace(',', ",,")).collect::<Vec<_>>().join(","));
            }
        }
        if !self.has_own_loader() {
            arguments.extend([OsString::from("-kernel"), self.kernel.into()]);
        }
        let mut option = |name: &str, value: &OsStr| arguments.extend([OsString::from(name), value.to_owned()]);
        if let Some(seed) = self.seed {
            option("-seed", OsStr::new(&seed.to_string()));
        }
        if let Some(plugin) = self.plugin {
            option("-plugin", &plugin.option());
        }
        arguments.extend(["-nodefaults".into(), "-no-reboot".into()]);
        arguments
    }

    fn has_agent(&self) -> bool {
        matches!(self.beside, Beside::Agent(_))
    }

    fn has_own_loader(&self) -> bool {
        matches!(self.beside, Beside::OwnLoader)
    }

    /// True if a guest with these arguments repeats itself exactly in every boot, on any host: its
    /// random numbers come from a seed, and its time from the executed instructions (`-icount`),
    /// not from the host's clock. A disk's transfers end when the host's do.
    pub(super) fn repeats_exactly(&self) -> bool {
        self.seed.is_some() && !self.has_own_loader() && self.arguments().iter().any(|argument| argument == "-icount")
    }
}

/// Options for the execution of instructions without the lens.
pub(super) fn cpu(accelerator: Accelerator) -> [(&'static str, &'static str); 2] {
    match accelerator {
        // Without `rep stosb`, where each iteration is an access, and without five-level paging,
        // which moves the kernel's direct map.
        Accelerator::Tcg => [("-accel", "tcg,thread=multi"), ("-cpu", "max,erms=off,fsrm=off,la57=off")],
        Accelerator::Kvm => [("-accel", "kvm"), ("-cpu", "host")],
    }
}

/// The processor packages that a machine shows to its system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packages {
    /// The sockets of the machine.
    OnePerSocket,
    /// One for each CPU. The firmware's MP table names only the first CPU of a package, so a kernel
    /// that reads this table would not find the others. Nodes are still those of the sockets.
    OnePerCpu,
}

/// CPUs, memory, and their topology. `files`: for the memory of each node; empty if the emulator
/// keeps the memory for itself.
pub(super) fn machine(shape: &MachineShape, packages: Packages, files: &[PathBuf]) -> Vec<(&'static str, String)> {
    let (cpus, sockets, memory) = (shape.cpus(), shape.sockets(), shape.memory_mib());
    let cores = cpus / sockets;
    let smp = match packages {
        Packages::OnePerSocket => format!("{cpus},sockets={sockets},cores={cores},threads=1"),
        Packages::OnePerCpu => format!("{cpus},sockets={cpus},cores=1,threads=1"),
    };
    let mut options = vec![("-smp", smp), ("-m", format!("{memory}M"))];
    if !files.is_empty() {
        options.push(("-machine", format!("max-ram-below-4g={LOW_GIB}G")));
    }
    if sockets == 1 && files.is_empty() {
        return options;
    }
    for node in 0..sockets {
        let (first, last) = (node * cores, (node + 1) * cores - 1);
        let share = memory / u64::from(sockets);
        let backend = match files.get(node as usize) {
            Some(path) => format!("memory-backend-file,share=on,mem-path={},", path.display()),
            None => "memory-backend-ram,".to_owned(),
        };
        options.push(("-object", format!("{backend}id=memory{node},size={share}M")));
        options.push(match sockets {
            1 => ("-machine", format!("memory-backend=memory{node}")),
            _ => ("-numa", format!("node,nodeid={node},cpus={first}-{last},memdev=memory{node}")),
        });
    }
    options
}

/// Length of the measurement, long enough for four digits or more. A reading's delay is well below
/// 1 µs unless it is interrupted.
const SPAN: Duration = Duration::from_millis(20);

/// Maximum time of a reading that was not interrupted.
const UNDISTURBED: Duration = Duration::from_micros(20);

/// Number of readings before one that was interrupted is accepted.
const TRIALS: u32 = 100;

/// Frequency of the time stamp counter in kHz; `None` on hosts without one.
pub(super) fn tsc_khz() -> Option<u64> {
    let (from, from_ticks) = reading()?;
    std::thread::sleep(SPAN);
    let (to, to_ticks) = reading()?;
    let nanoseconds = to.duration_since(from).as_nanos().max(1);
    let ticks = u128::from(to_ticks.wrapping_sub(from_ticks));
    u64::try_from(ticks * 1_000_000 / nanoseconds).ok().filter(|&khz| khz > 0)
}

/// The clock and the counter at the same moment.
fn reading() -> Option<(Instant, u64)> {
    let mut last = None;
    for _ in 0..TRIALS {
        let before = Instant::now();
        let ticks = counter()?;
        let undisturbed = before.elapsed() < UNDISTURBED;
        last = Some((before, ticks));
        if undisturbed {
            break;
        }
    }
    last
}

#[cfg(target_arch = "x86_64")]
fn counter() -> Option<u64> {
    // SAFETY:
    // 1. Every x86-64 CPU has the instruction; it reads a counter and touches no memory.
    // 2. The kernel lets programs execute it unless a process asked for the contrary (PR_SET_TSC),
    //    which we do not.
    Some(unsafe { std::arch::x86_64::_rdtsc() })
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command_line<'a>(
        cpus: u32,
        sockets: u32,
        plugin: Option<&'a Plugin>,
        parameters: &'a [String],
    ) -> CommandLine<'a> {
        CommandLine {
            shape: MachineShape::new(cpus, sockets, Some(1024)).unwrap(),
            accelerator: Accelerator::Tcg,
            kernel: Path::new("/boot/a,b"),
            beside: Beside::Agent(Path::new("/i")),
            parameters,
            tsc_khz: Some(2_596_131),
            plugin,
            seed: None,
            memory: &[],
            wires: &[],
        }
    }

    fn line(cpus: u32, sockets: u32, plugin: Option<&Plugin>) -> String {
        joined(&command_line(cpus, sockets, plugin, &["maxcpus=2".to_owned()]))
    }

    fn joined(command_line: &CommandLine<'_>) -> String {
        let words = command_line.arguments();
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn one_socket_needs_no_nodes() {
        let line = line(8, 1, None);
        assert!(line.contains("-smp 8,sockets=1,cores=8,threads=1 -m 1024M -display"), "{line}");
        assert!(line.contains("-accel tcg,thread=multi "), "{line}");
        assert!(
            line.contains(
                "no_timer_check tsc=reliable tsc_early_khz=2596000 lpj=10384000 maxcpus=2 -chardev stdio,id=channel,signal=off -serial \
                 chardev:channel -initrd /i -kernel /boot/a,b -nodefaults"
            ),
            "{line}"
        );
    }

    #[test]
    fn each_socket_is_a_node() {
        let line = line(8, 2, None);
        assert!(line.contains("-smp 8,sockets=2,cores=4,threads=1"), "{line}");
        assert!(line.contains("-object memory-backend-ram,id=memory1,size=512M"), "{line}");
        assert!(line.contains("-numa node,nodeid=1,cpus=4-7,memdev=memory1"), "{line}");
    }

    #[test]
    fn a_plugin_is_loaded() {
        let plugin = Plugin { file: "/p.so".into(), values: vec![("a".into(), "1,2".into())], directory: None };
        let line = line(1, 1, Some(&plugin));
        assert!(line.contains("-plugin file=/p.so,a=1,,2 ") && line.contains("-accel tcg,thread=single,"), "{line}");
        assert!(line.contains(" slab_nomerge maxcpus=2 "), "{line}");
    }

    #[test]
    fn nothing_of_the_host_s_clock_gets_into_a_guest_under_the_lens() {
        let plugin = Plugin { file: "/p.so".into(), values: Vec::new(), directory: None };
        let line = line(1, 1, Some(&plugin));
        assert!(
            line.contains(
                "-icount shift=4,sleep=off -rtc base=2020-01-01,clock=vm -cpu max,erms=off,fsrm=off,la57=off "
            ),
            "{line}"
        );
        assert!(line.contains("tsc=reliable tsc_early_khz=1000000 lpj=4000000 ") && !line.contains("2596"), "{line}");
    }

    #[test]
    fn a_seed_is_passed_on_and_nothing_repeats_without_one() {
        let without = command_line(2, 1, None, &[]);
        assert!(!joined(&without).contains("-seed") && !without.repeats_exactly());
        let with = CommandLine { seed: Some(u64::MAX), ..without };
        assert!(joined(&with).contains("-seed 18446744073709551615 "), "{}", joined(&with));
    }

    #[test]
    fn another_system_gets_its_own_words_alone() {
        let parameters = ["console=com0".to_owned(), "x".to_owned()];
        let with = |modules: &[String]| {
            joined(&CommandLine { beside: Beside::Modules(modules), ..command_line(2, 1, None, &parameters) })
        };
        let line = with(&["/m a,b".to_owned(), "/n".to_owned()]);
        assert!(
            line.ends_with(" -append console=com0 x -initrd /m a,,b,/n -kernel /boot/a,b -nodefaults -no-reboot"),
            "{line}"
        );
        assert!(!line.contains("channel") && !with(&[]).contains("-initrd"), "{line}");
    }

    #[test]
    fn another_system_finds_all_cpus_in_the_mp_table_and_no_x2apic() {
        let plugin = Plugin { file: "/p.so".into(), values: Vec::new(), directory: None };
        let line = |sockets, beside| joined(&CommandLine { beside, ..command_line(8, sockets, Some(&plugin), &[]) });
        let any = line(1, Beside::Modules(&[]));
        assert!(any.contains("-smp 8,sockets=8,cores=1,threads=1 ") && !any.contains("-numa"), "{any}");
        assert!(any.contains("la57=off,x2apic=off "), "{any}");
        let two = line(2, Beside::OwnLoader);
        assert!(two.contains("-smp 8,sockets=8,cores=1,threads=1 "), "{two}");
        assert!(two.contains("-numa node,nodeid=1,cpus=4-7,memdev=memory1 "), "{two}");
        let linux = line(1, Beside::Agent(Path::new("/i")));
        assert!(linux.contains("-smp 8,sockets=1,cores=8,threads=1 ") && !linux.contains("x2apic"), "{linux}");
    }

    #[test]
    fn a_disk_boots_with_its_own_loader_and_is_not_written() {
        let disk = CommandLine { beside: Beside::OwnLoader, seed: Some(1), ..command_line(1, 1, None, &[]) };
        let line = joined(&disk);
        assert!(
            line.contains("-drive if=none,id=disk,format=raw,snapshot=on,file=/boot/a,,b -device virtio-blk"),
            "{line}"
        );
        assert!(!line.contains("-kernel") && !line.contains("-append") && !disk.repeats_exactly(), "{line}");
    }

    #[test]
    fn memory_may_be_shared() {
        let line = |sockets, paths: &[&str]| {
            let memory: Vec<_> = paths.iter().map(PathBuf::from).collect();
            joined(&CommandLine { memory: &memory, ..command_line(8, sockets, None, &[]) })
        };
        let one = line(1, &["/proc/1/fd/5"]);
        let backend = "-object memory-backend-file,share=on,mem-path=/proc/1/fd/5,id=memory0,size=1024M";
        assert!(
            one.contains(&format!("-machine max-ram-below-4g=3G {backend} -machine memory-backend=memory0 ")),
            "{one}"
        );
        let two = line(2, &["/a", "/b"]);
        assert!(two.contains("mem-path=/b,id=memory1,size=512M -numa node,nodeid=1,cpus=4-7,memdev=memory1 "), "{two}");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_counter_runs_as_fast_as_a_cpu_and_steadily() {
        let [one, other] = [tsc_khz().unwrap(), tsc_khz().unwrap()];
        assert!((100_000..20_000_000).contains(&one), "{one} kHz");
        assert!(one.abs_diff(other) < one / 100, "{one} and {other} kHz");
    }
}
