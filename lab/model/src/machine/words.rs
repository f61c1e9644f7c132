//! A machine's text, as in `--on`: `host`, `netns`, `qemu:KEY=VALUE,…`, `ssh:USER@HOST:PORT,KEY=VALUE,…`, `image:FILE,KEY=VALUE,…`, or
//! `gvisor:KEY=VALUE,…`. A comma in a value is written twice.

use super::{
    Accelerator, DiskImage, Guest, Gvisor, ImageBoots, ImageDevices, LoginAt, Machine, MachineShape, SshHost,
    usual_boot_limit,
};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The beginning of a guest's name.
const QEMU: &str = "qemu";

/// The beginning of another host's name.
const SSH: &str = "ssh";

/// The beginning of a disk image's name.
const IMAGE: &str = "image";

/// gVisor's name.
const GVISOR: &str = "gvisor";

/// The key that may be given several times.
const APPEND: &str = "append";

/// The keys of an image that say where to log in, and with which password; and those that only SSH has.
const LOGIN: &str = "login";
const PASSWORD: &str = "password";
const OF_SSH: [&str; 2] = ["identity", "config"];

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
            IMAGE => Ok(Machine::Image(image(rest)?)),
            GVISOR => Ok(Machine::Gvisor(gvisor(rest)?)),
            _ => {
                Err("not a machine; `host`, `netns`, or for example `qemu:cpus=8,sockets=2`, `ssh:user@host`, `image:FILE` or `gvisor`"
                    .to_owned())
            }
        }
    }
}

fn guest(text: &str) -> Result<Guest, String> {
    let (mut cpus, mut sockets, mut memory_mib, mut boot_limit) = (DEFAULT_CPUS, 1, None, None);
    let (mut kernel, mut accelerator, mut parameters) = (None, Accelerator::default(), Vec::new());
    for (key, value) in pairs(&parts(text))? {
        match key {
            "cpus" => cpus = number(value)?,
            "sockets" => sockets = number(value)?,
            "memory" => memory_mib = Some(mebibytes(value)?),
            "kernel" => kernel = Some(PathBuf::from(value)),
            "boot_limit" => boot_limit = Some(limit(value)?),
            "accel" => accelerator = accelerator_named(value)?,
            APPEND => parameters.push(value.to_owned()),
            _ => return Err(format!("'{key}' is unknown; cpus, sockets, memory, kernel, boot_limit, accel or append")),
        }
    }
    let shape =
        MachineShape::new(cpus, sockets, memory_mib).map_err(|error| format!("{}; {}", error.problem, error.hint))?;
    let boot_limit = boot_limit.unwrap_or_else(|| usual_boot_limit(cpus));
    Ok(Guest { shape, kernel, accelerator, boot_limit, parameters })
}

/// The key and the value of each part. Fails if a part has none, or if a key is there twice, but for the one that may be.
fn pairs(parts: &[String]) -> Result<Vec<(&str, &str)>, String> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for part in parts {
        let pair = part.split_once('=').filter(|(_, value)| !value.is_empty());
        let (key, value) =
            pair.ok_or_else(|| format!("'{part}' is not KEY=VALUE; write a comma within a value twice"))?;
        if key != APPEND && pairs.iter().any(|(earlier, _)| *earlier == key) {
            return Err(format!("'{key}' is given twice"));
        }
        pairs.push((key, value));
    }
    Ok(pairs)
}

fn image(text: &str) -> Result<DiskImage, String> {
    let parts = parts(text);
    let Some((file, keys)) = parts.split_first() else {
        return Err("no disk image; for example `image:disk.qcow2`".to_owned());
    };
    let text = |error: super::MachineError| format!("{}; {}", error.problem, error.hint);
    let (mut cpus, mut sockets, mut memory_mib) = (DEFAULT_CPUS, 1, None);
    let usual = MachineShape::new(cpus, sockets, memory_mib).map_err(text)?;
    let mut image = DiskImage::of(PathBuf::from(file), usual).map_err(text)?;
    let keys = pairs(keys)?;
    image.login_at = login_at(&keys)?;
    for (key, value) in keys {
        match key {
            "cpus" => cpus = number(value)?,
            "sockets" => sockets = number(value)?,
            "memory" => memory_mib = Some(mebibytes(value)?),
            "accel" => image.accelerator = accelerator_named(value)?,
            "boot_limit" => image.boot_limit = limit(value)?,
            "boot" => image.boots = named("boot", value, [ImageBoots::Once, ImageBoots::Each], ImageBoots::word)?,
            "devices" => {
                let known = [ImageDevices::Virtio, ImageDevices::Old];
                image.devices = named("devices", value, known, ImageDevices::word)?;
            }
            "user" => image.login = image.login.with_user(value)?,
            "identity" => image.login.identity = Some(PathBuf::from(value)),
            "config" => image.login.config = Some(PathBuf::from(value)),
            "scratch" => image.login = image.login.with_scratch(value)?,
            LOGIN | PASSWORD => {}
            _ => {
                return Err(format!(
                    "'{key}' is unknown; cpus, sockets, memory, accel, boot_limit, boot, devices, login, user, password, identity, config or scratch"
                ));
            }
        }
    }
    Ok(DiskImage { shape: MachineShape::new(cpus, sockets, memory_mib).map_err(text)?, ..image })
}

/// Where to log in to an image's system. Fails if there are keys of the other way.
fn login_at(keys: &[(&str, &str)]) -> Result<LoginAt, String> {
    let value = |wanted: &str| keys.iter().find(|(key, _)| *key == wanted).map(|(_, value)| *value);
    let serial = LoginAt::Serial { password: value(PASSWORD).map(PathBuf::from) };
    let known = [&LoginAt::Ssh, &serial];
    match value(LOGIN).map_or(Ok(&LoginAt::Ssh), |text| named(LOGIN, text, known, |at| at.word()))? {
        LoginAt::Ssh if value(PASSWORD).is_some() => {
            Err("'password' is for the serial console, and SSH takes keys only; add login=serial, or name a key with identity=FILE".to_owned())
        }
        LoginAt::Serial { .. } => match OF_SSH.into_iter().find(|key| value(key).is_some()) {
            Some(key) => Err(format!(
                "'{key}' is for SSH, and login=serial uses none; leave it out; password=FILE names a file with the password"
            )),
            None => Ok(serial),
        },
        LoginAt::Ssh => Ok(LoginAt::Ssh),
    }
}

/// The value of a key that has two.
fn named<T: Copy>(key: &str, text: &str, known: [T; 2], word: fn(T) -> &'static str) -> Result<T, String> {
    let [one, other] = known.map(word);
    let found = known.into_iter().find(|&value| word(value) == text);
    found.ok_or_else(|| format!("{key}: '{text}' is not {one} or {other}"))
}

fn gvisor(text: &str) -> Result<Gvisor, String> {
    let mut gvisor = Gvisor::default();
    for pair in pairs(&parts(text))? {
        match pair {
            ("runsc", file) => gvisor.runsc = Some(PathBuf::from(file)),
            ("platform", name) => gvisor = gvisor.with_platform(name)?,
            (key, _) => return Err(format!("'{key}' is unknown; runsc or platform")),
        }
    }
    Ok(gvisor)
}

fn ssh_host(text: &str) -> Result<SshHost, String> {
    let parts = parts(text);
    let Some((destination, keys)) = parts.split_first() else {
        return Err("no host; for example `ssh:user@host`".to_owned());
    };
    let mut host = SshHost::at(destination)?;
    for (key, value) in pairs(keys)? {
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
    named("accel", text, [Accelerator::Tcg, Accelerator::Kvm], Accelerator::word)
}

/// Complete: it is read as the same machine, if its kernel's path is UTF-8.
impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guest = match self {
            Machine::Host => return f.write_str("host"),
            Machine::Netns => return f.write_str("netns"),
            Machine::Ssh(host) => {
                write!(f, "{SSH}:{}", host.destination())?;
                return written_keys(host, f);
            }
            Machine::Image(image) => return written_image(image, f),
            Machine::Gvisor(gvisor) => return written_gvisor(gvisor, f),
            Machine::Qemu(guest) => guest,
        };
        let limit = written_limit(guest.boot_limit);
        write!(f, "{QEMU}:{}", written_shape(&guest.shape))?;
        if let Some(kernel) = &guest.kernel {
            write!(f, ",kernel={}", written(&kernel.to_string_lossy()))?;
        }
        write!(f, ",boot_limit={limit},accel={}", guest.accelerator.word())?;
        guest.parameters.iter().try_for_each(|parameter| write!(f, ",append={}", written(parameter)))
    }
}

fn written_shape(shape: &MachineShape) -> String {
    format!("cpus={},sockets={},memory={}M", shape.cpus(), shape.sockets(), shape.memory_mib())
}

fn written_limit(limit: Duration) -> String {
    humantime::format_duration(limit).to_string().replace(' ', "")
}

fn written_image(image: &DiskImage, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (file, shape) = (written(&image.file.to_string_lossy()), written_shape(&image.shape));
    let (accelerator, limit) = (image.accelerator.word(), written_limit(image.boot_limit));
    write!(f, "{IMAGE}:{file},{shape},accel={accelerator},boot_limit={limit}")?;
    write!(f, ",boot={},devices={}", image.boots.word(), image.devices.word())?;
    if let LoginAt::Serial { password } = &image.login_at {
        write!(f, ",{LOGIN}={}", image.login_at.word())?;
        let password = password.as_ref().map(|file| written(&file.to_string_lossy()));
        password.map_or(Ok(()), |file| write!(f, ",{PASSWORD}={file}"))?;
    }
    if let Some(user) = image.login.user() {
        write!(f, ",user={user}")?;
    }
    written_keys(&image.login, f)
}

fn written_gvisor(gvisor: &Gvisor, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(GVISOR)?;
    let runsc = gvisor.runsc.as_ref().map(|file| format!("runsc={}", written(&file.to_string_lossy())));
    let platform = gvisor.platform.as_ref().map(|name| format!("platform={name}"));
    let keys: Vec<String> = runsc.into_iter().chain(platform).collect();
    if keys.is_empty() { Ok(()) } else { write!(f, ":{}", keys.join(",")) }
}

/// How to log in, apart from the destination.
fn written_keys(host: &SshHost, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
            (
                "image:d,,1/free-bsd_14.qcow2,cpus=2,user=me,boot=each,devices=old,identity=/k,scratch=/x,boot_limit=90s",
                "image:d,,1/free-bsd_14.qcow2,cpus=2,sockets=1,memory=1024M,accel=tcg,boot_limit=1m30s,boot=each,devices=old,user=me,\
                 identity=/k,scratch=/x",
            ),
            (
                "image:disk.img,accel=kvm",
                "image:disk.img,cpus=4,sockets=1,memory=1024M,accel=kvm,boot_limit=5m,boot=once,devices=virtio,user=root",
            ),
            (
                "image:disk.img,password=/p,,1,login=serial,user=me,scratch=/x",
                "image:disk.img,cpus=4,sockets=1,memory=1024M,accel=tcg,boot_limit=5m,boot=once,devices=virtio,login=serial,password=/p,,1,\
                 user=me,scratch=/x",
            ),
            ("gvisor", "gvisor"),
            ("gvisor:platform=kvm,runsc=/a,,b", "gvisor:runsc=/a,,b,platform=kvm"),
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
            ("image", "no disk image"),
            (
                "image:a b.img",
                "the image's file name stands for it among known hosts, and 'a b.img' is not the name of a host",
            ),
            ("image:/", "is not the name of a host"),
            ("image:disk:22", "'disk:22' has a ':'"),
            ("image:me@disk.img", "'me@disk.img' has a '@'"),
            ("image:x.img,cpus=2,cpus=3", "'cpus' is given twice"),
            ("image:x.img,identity=", "'identity=' is not KEY=VALUE"),
            ("image:x.img,user=-l", "'-l' is not the name of a user"),
            ("image:x.img,boot=never", "boot: 'never' is not once or each"),
            ("image:x.img,kernel=/k", "'kernel' is unknown"),
            ("image:x.img,login=telnet", "login: 'telnet' is not ssh or serial"),
            (
                "image:x.img,password=/p",
                "'password' is for the serial console, and SSH takes keys only; add login=serial",
            ),
            ("image:x.img,login=ssh,password=/p", "'password' is for the serial console"),
            ("image:x.img,identity=/k,login=serial", "'identity' is for SSH, and login=serial uses none"),
            ("image:x.img,login=serial,config=/c", "'config' is for SSH, and login=serial uses none"),
            ("gvisor:cpus=1", "'cpus' is unknown; runsc or platform"),
            ("gvisor:runsc=", "'runsc=' is not KEY=VALUE"),
            ("gvisor:platform=a,platform=b", "'platform' is given twice"),
            ("gvisor:platform=--debug", "'--debug' is not the name of a platform"),
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
