//! A machine's text, as in `--on`: `host`, `netns`, `qemu:KEY=VALUE,…`, or `ssh:USER@HOST:PORT,KEY=VALUE,…`. A comma in a value is written twice.

use super::{Accelerator, Guest, Machine, MachineShape, SshHost, usual_boot_limit};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The beginning of a guest's name.
const QEMU: &str = "qemu";

/// The beginning of another host's name.
const SSH: &str = "ssh";

/// Default number of CPUs.
const DEFAULT_CPUS: u32 = 4;

impl FromStr for Machine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match kind {
            "host" if rest.is_empty() => Ok(Machine::Host),
            "netns" if rest.is_empty() => Ok(Machine::Netns),
            QEMU => Ok(Machine::Qemu(guest(rest)?)),
            SSH => Ok(Machine::Ssh(ssh_host(rest)?)),
            _ => {
                Err("not a machine; `host`, `netns`, or for example `qemu:cpus=8,sockets=2` or `ssh:user@host`"
                    .to_owned())
            }
        }
    }
}

fn guest(text: &str) -> Result<Guest, String> {
    let (mut cpus, mut sockets, mut memory_mib, mut boot_limit) = (DEFAULT_CPUS, 1, None, None);
    let (mut kernel, mut accelerator, mut parameters) = (None, Accelerator::default(), Vec::new());
    let mut seen = Vec::new();
    for part in parts(text) {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| format!("'{part}' is not KEY=VALUE; write a comma within a value twice"))?;
        if key != "append" && seen.iter().any(|earlier| earlier == key) {
            return Err(format!("'{key}' is given twice"));
        }
        seen.push(key.to_owned());
        match key {
            "cpus" => cpus = number(value)?,
            "sockets" => sockets = number(value)?,
            "memory" => memory_mib = Some(mebibytes(value)?),
            "kernel" => kernel = Some(PathBuf::from(value)),
            "boot_limit" => boot_limit = Some(limit(value)?),
            "accel" => accelerator = accelerator_named(value)?,
            "append" => parameters.push(value.to_owned()),
            _ => return Err(format!("'{key}' is unknown; cpus, sockets, memory, kernel, boot_limit, accel or append")),
        }
    }
    let shape =
        MachineShape::new(cpus, sockets, memory_mib).map_err(|error| format!("{}; {}", error.problem, error.hint))?;
    let boot_limit = boot_limit.unwrap_or_else(|| usual_boot_limit(cpus));
    Ok(Guest { shape, kernel, accelerator, boot_limit, parameters })
}

fn ssh_host(text: &str) -> Result<SshHost, String> {
    let parts = parts(text);
    let Some((destination, keys)) = parts.split_first() else {
        return Err("no host; for example `ssh:user@host`".to_owned());
    };
    let mut host = SshHost::at(destination)?;
    for part in keys {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| format!("'{part}' is not KEY=VALUE; write a comma within a value twice"))?;
        match key {
            "identity" => host.identity = Some(PathBuf::from(value)),
            "config" => host.config = Some(PathBuf::from(value)),
            "scratch" => host = host.with_scratch(value)?,
            _ => return Err(format!("'{key}' is unknown; identity, config or scratch")),
        }
    }
    Ok(host)
}

/// The parts between commas, without empty ones. Two commas are one that belongs to a part.
fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character == ',' && characters.next_if_eq(&',').is_none() {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(character);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// A value as it is written.
fn written(value: &str) -> String {
    value.replace(',', ",,")
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("'{text}' is not a number"))
}

/// `2G`, `512M`, both binary; a bare number is in MiB, as in QEMU.
fn mebibytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" | "M" | "MiB" => 1,
        "G" | "GiB" => 1024,
        _ => return Err(format!("'{text}' is not a size of memory; write it like 2G or 512M")),
    };
    let number: u64 =
        digits.parse().map_err(|_| format!("'{text}' is not a size of memory; write it like 2G or 512M"))?;
    Ok(number.saturating_mul(factor).min(u64::from(u32::MAX)))
}

fn limit(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(limit) if !limit.is_zero() => Ok(limit),
        _ => Err(format!("'{text}' is not a limit; write it like 90s or 5m")),
    }
}

fn accelerator_named(text: &str) -> Result<Accelerator, String> {
    let known = [Accelerator::Tcg, Accelerator::Kvm];
    known
        .into_iter()
        .find(|accelerator| accelerator.word() == text)
        .ok_or_else(|| format!("'{text}' is not tcg or kvm"))
}

/// Complete: it is read as the same machine, if its kernel's path is UTF-8.
impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guest = match self {
            Machine::Host => return f.write_str("host"),
            Machine::Netns => return f.write_str("netns"),
            Machine::Ssh(host) => return written_host(host, f),
            Machine::Qemu(guest) => guest,
        };
        let (shape, limit) = (guest.shape, humantime::format_duration(guest.boot_limit).to_string().replace(' ', ""));
        write!(f, "{QEMU}:cpus={},sockets={},memory={}M", shape.cpus(), shape.sockets(), shape.memory_mib())?;
        if let Some(kernel) = &guest.kernel {
            write!(f, ",kernel={}", written(&kernel.to_string_lossy()))?;
        }
        write!(f, ",boot_limit={limit},accel={}", guest.accelerator.word())?;
        guest.parameters.iter().try_for_each(|parameter| write!(f, ",append={}", written(parameter)))
    }
}

fn written_host(host: &SshHost, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{SSH}:{}", host.destination())?;
    for (key, path) in [("identity", &host.identity), ("config", &host.config)] {
        if let Some(path) = path {
            write!(f, ",{key}={}", written(&path.to_string_lossy()))?;
        }
    }
    host.scratch().map_or(Ok(()), |scratch| write!(f, ",scratch={}", written(scratch)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for (text, full) in [
            ("host", "host"),
            ("netns", "netns"),
            ("qemu", "qemu:cpus=4,sockets=1,memory=1024M,boot_limit=44s,accel=tcg"),
            ("qemu:cpus=8,sockets=2", "qemu:cpus=8,sockets=2,memory=1280M,boot_limit=48s,accel=tcg"),
            (
                "qemu:kernel=/a,,b,,,cpus=1,append=console=ttyS0,,115200,",
                "qemu:cpus=1,sockets=1,memory=1024M,kernel=/a,,b,,,boot_limit=41s,accel=tcg,append=console=ttyS0,,115200",
            ),
            (
                "qemu:memory=2G,kernel=/k,append=a=1,append=b,boot_limit=90s",
                "qemu:cpus=4,sockets=1,memory=2048M,kernel=/k,boot_limit=1m30s,accel=tcg,append=a=1,append=b",
            ),
            ("ssh:me@lab.example:2222", "ssh:me@lab.example:2222"),
            ("ssh:lab", "ssh:lab"),
            ("ssh:me@[fe80::1%eth0]:22", "ssh:me@[fe80::1%eth0]:22"),
            ("ssh:lab,scratch=/var/tmp,identity=/k,,1,config=/c", "ssh:lab,identity=/k,,1,config=/c,scratch=/var/tmp"),
        ] {
            let machine: Machine = text.parse().unwrap();
            assert_eq!(machine.to_string(), full);
            assert_eq!(full.parse(), Ok(machine));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for (text, problem) in [
            ("vax", "not a machine"),
            ("host:cpus=1", "not a machine"),
            ("netns:a", "not a machine"),
            ("qemu:cpus", "'cpus' is not KEY=VALUE"),
            ("qemu:cpus=many", "'many' is not a number"),
            ("qemu:cpus=0", "a machine with 0 CPUs cannot be emulated; 1 to 255"),
            ("qemu:cpus=8,sockets=3", "8 CPUs cannot be divided among 3 sockets"),
            ("qemu:cpus=1,,sockets=1", "'1,sockets=1' is not a number"),
            ("qemu:cpus=1,cpus=2", "'cpus' is given twice"),
            ("qemu:colour=red", "'colour' is unknown"),
            ("qemu:memory=lots", "'lots' is not a size of memory"),
            ("qemu:boot_limit=0s", "'0s' is not a limit"),
            ("qemu:accel=hax", "'hax' is not tcg or kvm"),
            ("ssh", "no host"),
            ("ssh:", "no host"),
            ("ssh:lab,colour=red", "'colour' is unknown; identity, config or scratch"),
            ("ssh:lab,identity", "'identity' is not KEY=VALUE"),
            ("ssh:-oProxyCommand=x", "is not the name of a host"),
            ("ssh:lab,scratch=tmp", "'tmp' is not a path from the root"),
        ] {
            let said = text.parse::<Machine>().unwrap_err();
            assert!(said.contains(problem), "{text}: {said}");
        }
    }
}
