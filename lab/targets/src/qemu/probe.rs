//! Results of boots in the user's cache directory: what a probe learnt about a machine, and
//! kernels' symbols.
//!
//! The cache saves time and nothing else: an entry that is missing, damaged or another user's, and
//! a directory that cannot be written, cost a boot.

use super::boot::{Boot, BootEnd, FrameSink};
use super::initramfs::WORKLOADS;
use super::kernel_image::MachineRequest;
use super::{Emulator, Named};
use crate::agent::inquiry::{self, Heard};
use crate::agent::{GuestProgram, Plan, Programs};
use crate::program_files::SCRATCH;
use crate::{StopFlag, TargetError};
use faultline_record::describe::WorkloadInfo;
use faultline_record::facts::Facts;
use faultline_record::outcome::GuestFailure;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// File names of probes begin with this.
const PROBE: &str = "guest-probe-";

/// Number of probes that are kept. Each has some kilobytes, and each kernel and shape of a machine
/// has one.
const MOST_PROBES: usize = 256;

/// Permission to write for others than the owner.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The user's cache directory; `None` if the user has none.
#[derive(Debug, Clone)]
pub(super) struct Cache<'a>(pub(super) Option<&'a Path>);

impl Cache<'_> {
    /// The text of an entry. `None` if it is not there, cannot be read, or could be another user's.
    pub(super) fn read(&self, name: &str) -> Option<String> {
        let mut file = File::open(self.0?.join(name)).ok()?;
        if !is_trusted(&file.metadata().ok()?) {
            return None;
        }
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Writes an entry, which appears as a whole. Does nothing if the directory cannot be written.
    pub(super) fn write(&self, name: &str, content: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) {
        let Some(directory) = self.0 else { return };
        let mut write = || -> io::Result<()> {
            fs::create_dir_all(directory)?;
            let file = tempfile::NamedTempFile::new_in(directory)?;
            let mut out = BufWriter::new(&file);
            content(&mut out)?;
            out.flush()?;
            drop(out);
            file.persist(directory.join(name))?;
            Ok(())
        };
        // The next command boots again.
        let _ = write();
    }

    /// Results of a probe with that key.
    pub(super) fn probe(&self, key: &str) -> Option<Probe> {
        serde_json::from_str(&self.read(&format!("{PROBE}{key}"))?).ok()
    }

    /// Keeps what was learnt about a machine, and removes the oldest of too many.
    pub(super) fn keep_probe(&self, key: &str, probe: &Probe) {
        self.write(&format!("{PROBE}{key}"), &mut |out| serde_json::to_writer(out, probe).map_err(io::Error::from));
        let entries = self.0.and_then(|directory| fs::read_dir(directory).ok()).into_iter().flatten().flatten();
        let probes = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PROBE));
        let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
        let mut probes: Vec<(Option<SystemTime>, PathBuf)> =
            probes.map(|entry| (changed(&entry.path()), entry.path())).collect();
        probes.sort();
        for (_, old) in probes.iter().take(probes.len().saturating_sub(MOST_PROBES)) {
            // Another command may have removed it.
            let _ = fs::remove_file(old);
        }
    }
}

/// True for a file that is ours, and that only we can write.
fn is_trusted(metadata: &Metadata) -> bool {
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    metadata.is_file() && is_ours && metadata.mode() & WRITABLE_BY_OTHERS == 0
}

/// Identifies a file without reading it.
#[derive(Serialize, Deserialize)]
struct Stamp {
    path: PathBuf,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = path.metadata()?;
        Ok(Stamp { path: path.to_owned(), bytes: metadata.len(), modified: metadata.modified().ok() })
    }
}

/// The key of what a probe learns: everything that its boot depends on, and our own program, which
/// reads the answers. `None` if a part cannot be read.
pub(super) fn probe_key(
    request: &MachineRequest,
    emulator: &Emulator,
    programs: &Programs,
    plan: &Plan,
    parameters: &str,
) -> Option<String> {
    let ours = Stamp::of(&std::env::current_exe().ok()?).ok()?;
    let theirs = Stamp::of(&emulator.program).ok()?;
    let key = (
        (env!("CARGO_PKG_VERSION"), ours, theirs, &emulator.version),
        (&request.kernel.sha256, request.shape, request.accelerator, parameters),
    );
    let mut digest = Sha256::new();
    digest.update(serde_json::to_vec(&key).ok()?);
    digest.update(plan.bytes());
    digest.update(Sha256::digest(&programs.agent));
    for program in &programs.programs {
        digest.update(&program.name);
        digest.update(Sha256::digest(&program.bytes));
    }
    Some(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The results of a first boot.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Probe {
    pub(super) facts: Facts,
    pub(super) workloads: Vec<WorkloadInfo>,
    /// Time from the emulator's start to the agent's hello.
    pub(super) hello_after: Duration,
}

/// The plan of a first boot.
pub(super) fn plan(cpus: u32, nodes: u32, programs: &[GuestProgram]) -> Plan {
    let mut plan = Plan::default();
    inquiry::ask_facts(&mut plan, cpus, nodes);
    inquiry::ask_workloads(&mut plan, WORKLOADS, programs);
    plan
}

/// Boots with the plan of [`plan`]. Fails if the guest does not boot, on a stop, or if a workload
/// does not describe itself.
pub(super) fn run(boot: &Boot<'_>, named: Named, stop: &StopFlag) -> Result<Probe, TargetError> {
    let mut heard = Heard::default();
    let sink: &mut FrameSink<'_> = &mut |frame| {
        heard.take(frame);
        ControlFlow::Continue(())
    };
    let booted = boot.run(sink, stop);
    let (text, hint) = match booted.end {
        BootEnd::Done => (None, String::new()),
        BootEnd::LabFailed(text) | BootEnd::AfterLack(text) => {
            (Some(text), "remove the cause, and begin again".to_owned())
        }
        BootEnd::Failed(failure, text) => (Some(text), hint(failure, &booted.console, named)),
        BootEnd::Refused | BootEnd::Stopped => (Some("the boot was stopped".to_owned()), String::new()),
    };
    if let Some(text) = text {
        return Err(TargetError { problem: format!("could not boot the guest: {text}"), hint });
    }
    let hello_after = booted.hello_after.unwrap_or_default();
    let facts = inquiry::facts(&heard.files, "x86_64", Path::new(SCRATCH));
    Ok(Probe { facts, workloads: heard.workloads("in the guest")?, hello_after })
}

/// A hint for a failure, with the words of the user's request.
fn hint(failure: GuestFailure, console: &str, named: Named) -> String {
    let advice = match (failure, named) {
        (GuestFailure::NotBooted, Named::InOn) if console.is_empty() => {
            "its console stayed empty: a kernel needs its serial console (8250) built in; `boot_limit=5m` waits longer"
        }
        (GuestFailure::NotBooted, Named::ByOptions) if console.is_empty() => {
            "its console stayed empty: a kernel needs its serial console (8250) built in; `--kernel IMAGE` names another"
        }
        (GuestFailure::NotBooted, Named::InOn) => "`boot_limit=5m` waits longer; `kernel=FILE` names another kernel",
        (GuestFailure::NotBooted, Named::ByOptions) => {
            "`--kernel IMAGE` names another kernel; `--append PARAMETER` adds a parameter for it"
        }
        (GuestFailure::Panicked, Named::InOn) => {
            "`append=PARAMETER` adds a parameter for the kernel; `kernel=FILE` names another"
        }
        (GuestFailure::Panicked, Named::ByOptions) => {
            "`--append PARAMETER` adds a parameter for the kernel; `--kernel IMAGE` names another"
        }
        (GuestFailure::Hung | GuestFailure::Lost, Named::InOn) => {
            "`memory=2G` gives it more memory; `make guest` rebuilds its programs"
        }
        (GuestFailure::Hung | GuestFailure::Lost, Named::ByOptions) => {
            "`--memory 2048` gives it more memory; `make guest` rebuilds its programs"
        }
    };
    advice.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::facts::Facts;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    fn probe() -> Probe {
        let mut facts = Facts::default();
        facts.text("kernel.release", "6.1.0");
        facts.count("cpu.logical", 8);
        Probe { facts, workloads: Vec::new(), hello_after: Duration::from_millis(8123) }
    }

    #[test]
    fn a_probe_is_kept_and_damage_is_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new");
        let cache = Cache(Some(&path));
        assert!(cache.probe("a").is_none());
        cache.keep_probe("a", &probe());
        let kept = cache.probe("a").unwrap();
        assert_eq!((kept.facts, kept.hello_after), (probe().facts, probe().hello_after));
        let file = path.join("guest-probe-a");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(cache.probe("a").is_none(), "others could have written it");
        fs::remove_file(&file).unwrap();
        fs::write(&file, "{").unwrap();
        assert!(cache.probe("a").is_none());
    }

    #[test]
    fn without_a_directory_nothing_is_kept() {
        Cache(None).keep_probe("a", &probe());
        let cache = Cache(Some(Path::new("/proc/self/nothing")));
        cache.keep_probe("a", &probe());
        assert!(cache.probe("a").is_none() && Cache(None).probe("a").is_none());
    }

    #[test]
    fn the_oldest_of_too_many_probes_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache(Some(directory.path()));
        for number in 0..MOST_PROBES {
            let file = File::create(directory.path().join(format!("{PROBE}{number}"))).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(number as u64 + 9)).unwrap();
        }
        fs::write(directory.path().join("other"), "").unwrap();
        cache.keep_probe("new", &probe());
        assert!(cache.probe("new").is_some() && directory.path().join("other").exists());
        assert!(!directory.path().join("guest-probe-0").exists() && directory.path().join("guest-probe-1").exists());
    }

    #[test]
    fn hints_name_what_the_user_can_give() {
        use GuestFailure::{Hung, Lost, NotBooted, Panicked};
        for (failure, console) in [(NotBooted, ""), (NotBooted, "x"), (Panicked, "x"), (Hung, "x"), (Lost, "x")] {
            let options = hint(failure, console, Named::ByOptions);
            assert!(options.contains("`--") && !options.contains("boot_limit"), "{options}");
            assert!(!hint(failure, console, Named::InOn).contains("`--"));
        }
    }
}
