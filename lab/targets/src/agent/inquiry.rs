//! The first questions to every machine: the files with its facts, and the descriptions of its
//! workloads.

use super::frame::Frame;
use super::{GuestProgram, Plan};
use crate::linux_facts::{SentFiles, SystemFiles};
use crate::{TargetError, linux_facts};
use faultline_record::describe::{self, WorkloadInfo};
use faultline_record::facts::Facts;
use std::path::Path;

/// Identifier of the current boot, and release of the kernel.
pub(crate) const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
pub(crate) const RELEASE: &str = "/proc/sys/kernel/osrelease";

/// Facts from the kernel's own files, by key.
const KERNEL_FILES: [(&str, &str); 3] = [
    ("kernel.name", "/proc/sys/kernel/ostype"),
    ("kernel.release", RELEASE),
    ("kernel.version", "/proc/sys/kernel/version"),
];

/// Adds the commands that send the files with a machine's facts.
pub(crate) fn ask_facts(plan: &mut Plan, cpus: u32, nodes: u32) {
    let kernel_files = KERNEL_FILES.iter().map(|(_, path)| (*path).to_owned());
    for path in linux_facts::paths(cpus, nodes).into_iter().chain(kernel_files) {
        plan.add(&["file", &path]);
    }
}

/// Adds the commands that let each workload in this directory of the machine describe itself.
pub(crate) fn ask_workloads(plan: &mut Plan, directory: &str, programs: &[GuestProgram]) {
    for program in programs.iter().filter(|program| program.is_workload()) {
        plan.add(&["run", &format!("{directory}/{}", program.name), "--describe"]);
    }
}

/// Facts from a machine's files. `architecture`: of its CPUs; `scratch`: its scratch directory.
pub(crate) fn facts(files: &SentFiles, architecture: &str, scratch: &Path) -> Facts {
    let mut facts = Facts::default();
    for (key, path) in KERNEL_FILES {
        if let Some(text) = files.text(path) {
            facts.text(key, text);
        }
    }
    facts.text("cpu.architecture", architecture);
    linux_facts::read(files, &mut facts, scratch);
    facts
}

/// The machine's answers.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) files: SentFiles,
    /// File whose lines are arriving.
    file: Option<String>,
    programs: Vec<Description>,
}

/// A program's answer to `--describe`.
#[derive(Debug, Default)]
struct Description {
    program: String,
    text: String,
    problem: Option<String>,
}

impl Heard {
    pub(crate) fn take(&mut self, frame: &Frame<'_>) {
        match frame {
            Frame::File(path) => {
                self.files.0.insert(path.clone(), String::new());
                self.file = Some(path.clone());
            }
            Frame::Line(line) => {
                let text = self.file.as_ref().and_then(|path| self.files.0.get_mut(path));
                if let Some(text) = text {
                    text.push_str(&String::from_utf8_lossy(line));
                    text.push('\n');
                }
            }
            Frame::Program(program) => {
                self.programs.push(Description { program: program.clone(), ..Description::default() });
            }
            _ => {
                if let Some(description) = self.programs.last_mut() {
                    description.take(frame);
                }
            }
        }
    }

    /// Workloads sorted by name. `place`: where they run, for messages. Fails if a workload did not
    /// describe itself.
    pub(crate) fn workloads(&self, place: &str) -> Result<Vec<WorkloadInfo>, TargetError> {
        let read = |description: &Description| description.read(place);
        let mut workloads = self.programs.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        workloads.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(workloads)
    }
}

impl Description {
    fn take(&mut self, frame: &Frame<'_>) {
        match frame {
            Frame::Out(line) => {
                self.text.push_str(&String::from_utf8_lossy(line));
                self.text.push('\n');
            }
            Frame::NotStarted(text) => self.problem = Some(text.clone()),
            Frame::Exit(status) if *status != 0 => self.problem = Some(format!("it ended with exit status {status}")),
            Frame::Signal(signal) => self.problem = Some(format!("it ended by signal {signal}")),
            _ => {}
        }
    }

    fn read(&self, place: &str) -> Result<WorkloadInfo, TargetError> {
        let unusable = |problem: String| TargetError {
            problem: format!("{} is not a workload that runs {place}: {problem}", self.program),
            hint: "`make guest` rebuilds the workloads of guests".to_owned(),
        };
        if let Some(problem) = &self.problem {
            return Err(unusable(problem.clone()));
        }
        describe::parse(&self.text).map_err(|error| unusable(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hear(frames: &[Frame<'_>]) -> Heard {
        let mut heard = Heard::default();
        frames.iter().for_each(|frame| heard.take(frame));
        heard
    }

    #[test]
    fn files_become_facts() {
        let heard = hear(&[
            Frame::File("/proc/sys/kernel/osrelease".into()),
            Frame::Line(b"6.1.0"),
            Frame::File("/sys/devices/system/cpu/online".into()),
            Frame::Line(b"0-7"),
        ]);
        let facts = facts(&heard.files, "x86_64", Path::new("/tmp"));
        assert_eq!(facts.get_text("kernel.release"), Some("6.1.0"));
        assert_eq!(facts.get_text("cpu.architecture"), Some("x86_64"));
        assert_eq!(facts.get_count("cpu.logical"), Some(8));
    }

    #[test]
    fn a_program_that_can_not_be_started_is_named() {
        let heard =
            hear(&[Frame::Program("/workloads/x".into()), Frame::NotStarted("/workloads/x: Exec format error".into())]);
        let error = heard.workloads("in the guest").unwrap_err();
        assert!(error.problem.contains("/workloads/x is not a workload that runs in the guest"), "{error}");
    }
}
