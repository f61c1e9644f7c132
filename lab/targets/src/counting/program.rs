//! A program under the lens, in QEMU's user mode. Each of its threads has a CPU.

use super::{AtEnd, Counted, Counting, Lens};
use crate::execution::LineSink;
use crate::host::{Host, HostPaths};
use crate::qemu_user::{UserExecution, UserProgram};
use crate::{Ending, Execution, Plugin, StopFlag, Target, TargetError};
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::lens::raw::{Problem, RawReport};

/// A user's program on this host that can be counted. An execution's arguments are the program's.
#[derive(Debug)]
pub struct CountingProgram {
    /// The program.
    program: UserProgram,
    host: Host,
    paths: HostPaths,
    lens: Lens,
    /// Whether the whole run is counted, including what is outside marks.
    is_whole: bool,
}

impl CountingProgram {
    /// `is_whole`: the whole run is counted, including what is outside marks.
    pub fn new(program: UserProgram, paths: HostPaths, lens: Lens, is_whole: bool) -> Self {
        CountingProgram { program, host: Host::new(paths.clone()), paths, lens, is_whole }
    }

    fn run(&self, execution: &Execution, plugin: Option<&Plugin>, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending {
        let arguments: Vec<_> = execution.arguments.iter().map(Into::into).collect();
        let user = UserExecution {
            keeper: &self.paths.keeper,
            scratch: &self.paths.scratch,
            plugin,
            arguments: &arguments,
            limit: execution.limit,
        };
        self.program.execute(&user, sink, stop)
    }
}

impl Counting for CountingProgram {
    /// A seed has no effect, because the host's scheduler decides which thread runs.
    fn count(
        &self,
        execution: &Execution,
        tasks: u32,
        _seed: Option<u64>,
        _at_end: &AtEnd<'_>,
        sink: &mut LineSink<'_>,
        stop: &StopFlag,
    ) -> Counted {
        let (plugin, file) = match self.lens.attached(self.lens.model.cpus_for_threads(tasks), self.is_whole) {
            Ok(attached) => attached,
            Err(text) => return Counted::not_started(text),
        };
        let ending = self.run(execution, Some(&plugin), sink, stop);
        let report = file.read(stderr(&ending)).map(with_what_lacks);
        Counted { ending, report, seed: None }
    }
}

/// Adds what people should know and the plugin does not say.
fn with_what_lacks(mut report: RawReport) -> RawReport {
    super::add_hint_at_marks(&mut report);
    let forked = match report.forks {
        0 => return report,
        1 => "once; the process that it started was".to_owned(),
        forks => format!("{forks} times; the processes that it started were"),
    };
    report
        .problems
        .push(Problem { kind: "forks".to_owned(), text: format!("the program forked {forked} not counted") });
    report
}

fn stderr(ending: &Ending) -> &str {
    match ending {
        Ending::Exited { stderr, .. } | Ending::Signalled { stderr, .. } => stderr,
        _ => "",
    }
}

impl Target for CountingProgram {
    /// The facts of this host.
    fn facts(&self) -> Facts {
        self.host.facts()
    }

    /// None, because a program is not a workload.
    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        Ok(Vec::new())
    }

    fn cpus(&self) -> &[u32] {
        self.host.cpus()
    }

    fn execute(&self, execution: &Execution, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending {
        self.run(execution, None, sink, stop)
    }

    fn counting(&self) -> Option<&dyn Counting> {
        Some(self)
    }
}
