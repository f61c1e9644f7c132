//! Facts of a BSD from sysctl(8): of this machine, or of a host that sent the program's output.

use faultline_record::facts::Facts;
use std::collections::BTreeMap;

/// A fact and its names on the BSDs. The first existing name is used.
const TEXTS: &[(&str, &[&str])] = &[
    ("kernel.name", &["kern.ostype"]),
    ("kernel.release", &["kern.osrelease"]),
    ("kernel.version", &["kern.version"]),
    ("host.name", &["kern.hostname"]),
    ("cpu.model", &["hw.model"]),
    ("boot.id", &["kern.boot_id", "kern.boottime"]),
    ("kernel.command_line", &["kern.bootfile"]),
    ("clock.source", &["kern.timecounter.hardware", "kern.cputimer.name"]),
    ("aslr.setting", &["kern.elf64.aslr.enable", "security.pax.aslr.enabled"]),
    ("virtualisation.reported", &["kern.vm_guest", "hw.product"]),
];

const COUNTS: &[(&str, &[&str])] = &[
    ("cpu.logical", CPUS),
    ("cpu.cores", &["kern.smp.cores"]),
    ("cpu.threads_per_core", &["kern.smp.threads_per_core"]),
    ("numa.nodes", &["vm.ndomains"]),
    ("memory.total_bytes", &["hw.physmem64", "hw.physmem"]),
    ("memory.page_bytes", &["hw.pagesize"]),
];

/// Number of online CPUs. FreeBSD and DragonFly have the second name only.
const CPUS: &[&str] = &["hw.ncpuonline", "hw.ncpu"];

const LOAD: &str = "vm.loadavg";

/// Separators between a name and its value: FreeBSD and DragonFly, NetBSD, OpenBSD.
const SEPARATORS: [&str; 3] = [": ", " = ", "="];

/// Values by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sysctls(BTreeMap<&'static str, String>);

/// All names that this module reads.
pub(crate) fn names() -> Vec<&'static str> {
    let tables = [TEXTS, COUNTS].into_iter().flatten().flat_map(|(_, names)| names.iter().copied());
    tables.chain([LOAD]).collect()
}

impl Sysctls {
    /// Collects the value of each name.
    #[cfg(any(test, not(target_os = "linux")))]
    pub(crate) fn of(value: impl Fn(&str) -> Option<String>) -> Self {
        Sysctls(names().into_iter().filter_map(|name| Some((name, value(name)?))).collect())
    }

    /// Parses the output of `sysctl NAME…`. Continuation lines of values are ignored.
    pub(crate) fn parse(printed: &str) -> Self {
        let names = names();
        let value = |line: &str| {
            names.iter().find_map(|&name| {
                let rest = line.strip_prefix(name)?;
                let value = SEPARATORS.iter().find_map(|separator| rest.strip_prefix(separator))?;
                Some((name, value.trim().to_owned()))
            })
        };
        Sysctls(printed.lines().filter_map(value).collect())
    }

    fn first(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.0.get(*name)).map(String::as_str).filter(|value| !value.is_empty())
    }

    fn number(&self, names: &[&str]) -> Option<i64> {
        self.first(names)?.parse().ok()
    }

    /// Numbers of the online CPUs; empty if the count is missing.
    pub(crate) fn cpus(&self) -> Vec<u32> {
        let count = self.number(CPUS).and_then(|count| u32::try_from(count).ok());
        (0..count.unwrap_or(0)).collect()
    }
}

/// Adds the facts.
pub(crate) fn read(sysctls: &Sysctls, facts: &mut Facts) {
    for (key, names) in TEXTS {
        if let Some(text) = sysctls.first(names) {
            facts.text(key, text);
        }
    }
    for (key, names) in COUNTS {
        if let Some(count) = sysctls.number(names) {
            facts.count(key, count);
        }
    }
    if let Some(load) = sysctls.first(&[LOAD]).and_then(one_minute) {
        facts.real("load.one_minute", load);
    }
}

/// `{ 0.10 0.20 0.30 }`, or without the braces.
fn one_minute(text: &str) -> Option<f64> {
    text.trim_start_matches('{').split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREEBSD: &str = "\
kern.ostype: FreeBSD
kern.osrelease: 14.1-RELEASE-p5
kern.version: FreeBSD 14.1-RELEASE-p5 GENERIC

kern.hostname: lab.example
hw.model: Intel(R) Xeon(R) CPU E5-2670 v3 @ 2.30GHz
kern.boottime: { sec = 1732700000, usec = 123456 } Wed Nov 27 09:33:20 2026
kern.bootfile: /boot/kernel/kernel
kern.timecounter.hardware: TSC-low
kern.elf64.aslr.enable: 1
kern.vm_guest: none
hw.ncpu: 48
kern.smp.cores: 24
kern.smp.threads_per_core: 2
vm.ndomains: 2
hw.physmem: 137286987776
hw.pagesize: 4096
vm.loadavg: { 0.15 0.22 0.19 }
";

    const NETBSD: &str = "\
kern.ostype = NetBSD
kern.osrelease = 10.1
kern.version = NetBSD 10.1 (GENERIC) #0: Mon Dec 16 13:08:11 UTC 2024
\tmkrepro@mkrepro.NetBSD.org:/usr/src/sys/arch/amd64/compile/GENERIC
kern.hostname = lab
hw.model = AMD EPYC 7302P 16-Core Processor
kern.boottime = Fri Nov 27 09:33:20 2026
kern.timecounter.hardware = TSC
security.pax.aslr.enabled = 1
hw.ncpu = 4
hw.ncpuonline = 3
hw.physmem = -1
hw.physmem64 = 17100009472
hw.pagesize = 4096
vm.loadavg: 0.04 0.02 0.00
";

    const OPENBSD: &str = "\
kern.ostype=OpenBSD
kern.osrelease=7.8
kern.version=OpenBSD 7.8 (GENERIC.MP) #54: Sun Oct 12 12:55:31 MDT 2025
    deraadt@amd64.openbsd.org:/usr/src/sys/arch/amd64/compile/GENERIC.MP
kern.hostname=lab.example
hw.model=QEMU Virtual CPU version 2.5+
hw.product=Standard PC (i440FX + PIIX, 1996)
kern.boottime=Fri Nov 27 09:33:20 2026
kern.timecounter.hardware=tsc
hw.ncpu=2
hw.ncpuonline=2
hw.physmem=1056796672
hw.pagesize=4096
vm.loadavg=1.11 0.53 0.21
";

    fn facts(printed: &str) -> Facts {
        let mut facts = Facts::default();
        read(&Sysctls::parse(printed), &mut facts);
        facts
    }

    #[test]
    fn each_bsd_prints_names_and_values_in_its_own_way() {
        for (printed, name, release, version, host, cpus, bytes, load) in [
            (
                FREEBSD,
                "FreeBSD",
                "14.1-RELEASE-p5",
                "FreeBSD 14.1-RELEASE-p5 GENERIC",
                "lab.example",
                48,
                137_286_987_776,
                0.15,
            ),
            (
                NETBSD,
                "NetBSD",
                "10.1",
                "NetBSD 10.1 (GENERIC) #0: Mon Dec 16 13:08:11 UTC 2024",
                "lab",
                3,
                17_100_009_472,
                0.04,
            ),
            (
                OPENBSD,
                "OpenBSD",
                "7.8",
                "OpenBSD 7.8 (GENERIC.MP) #54: Sun Oct 12 12:55:31 MDT 2025",
                "lab.example",
                2,
                1_056_796_672,
                1.11,
            ),
        ] {
            let facts = facts(printed);
            assert_eq!(facts.get_text("kernel.name"), Some(name));
            assert_eq!(facts.get_text("kernel.release"), Some(release));
            assert_eq!(facts.get_text("kernel.version"), Some(version));
            assert_eq!(facts.get_text("host.name"), Some(host));
            assert_eq!(facts.get_count("cpu.logical"), Some(cpus));
            assert_eq!(facts.get_count("memory.total_bytes"), Some(bytes));
            assert_eq!(facts.get_real("load.one_minute"), Some(load));
            assert_eq!(facts.get_count("memory.page_bytes"), Some(4096));
            assert!(facts.get_text("boot.id").is_some_and(|boot| boot.contains("2026")), "{facts:?}");
            assert_eq!(Sysctls::parse(printed).cpus().len() as i64, cpus);
        }
    }

    #[test]
    fn what_only_one_of_them_has_is_read_there() {
        let (freebsd, netbsd) = (facts(FREEBSD), facts(NETBSD));
        assert_eq!((freebsd.get_count("cpu.cores"), freebsd.get_count("numa.nodes")), (Some(24), Some(2)));
        assert_eq!((freebsd.get_text("aslr.setting"), netbsd.get_text("aslr.setting")), (Some("1"), Some("1")));
        assert_eq!(netbsd.get_count("cpu.cores"), None);
    }

    #[test]
    fn a_host_that_says_nothing_has_no_cpus() {
        assert_eq!(Sysctls::parse("sh: sysctl: not found\n").cpus(), Vec::<u32>::new());
        assert_eq!(Sysctls::parse("hw.ncpu: many\n").cpus(), Vec::<u32>::new());
        assert_eq!(Sysctls::of(|name| (name == "hw.ncpu").then(|| "2".to_owned())).cpus(), [0, 1]);
    }
}
