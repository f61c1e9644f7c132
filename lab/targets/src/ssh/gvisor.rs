//! gVisor as a target: a kernel in a process of this host that starts for each execution. Its shell
//! is reached like a host's, and the same agent executes the same programs.

use super::machine::{SshMachine, SshPaths};
use super::reach::Reach;
use super::reach::Runsc;
use crate::execution::LineSink;
use crate::host::Host;
use crate::{Ending, Execution, StopFlag, Target, TargetError};
use faultline_record::describe::WorkloadInfo;
use faultline_record::facts::Facts;
use faultline_record::machine::Gvisor;
use faultline_record::outcome::GuestFailure;
use std::time::{Duration, Instant};

/// Time limit for its start, with the transfer of the agent and the programs (about 14 MB).
const START_LIMIT: Duration = Duration::from_secs(60);

/// Key prefixes of this host's facts that apply to gVisor too.
const OF_THIS_HOST: [&str; 2] = ["load.", "host."];

/// gVisor, which has started at least once.
#[derive(Debug)]
pub struct GvisorMachine {
    machine: SshMachine,
    facts: Facts,
    start: Duration,
}

impl GvisorMachine {
    /// Starts it once, which yields its facts and its workloads. Fails if it is not installed, does
    /// not start, or on a stop.
    pub fn start(asked: &Gvisor, paths: &SshPaths, stop: &StopFlag) -> Result<Self, TargetError> {
        let runsc = Runsc::find(asked)?;
        let began = Instant::now();
        let machine = SshMachine::reach(Reach::Gvisor(runsc.clone()), paths, START_LIMIT, stop)?;
        let start = began.elapsed();
        let mut facts = Target::facts(&machine);
        let host = Host::new(paths.host.clone()).facts();
        for (key, value) in host.0 {
            if OF_THIS_HOST.iter().any(|beginning| key.starts_with(beginning)) {
                facts.0.insert(key, value);
            } else if key.starts_with("kernel.") || key.starts_with("cpu.") || key.starts_with("virtualisation.") {
                facts.0.insert(format!("host.{key}"), value);
            }
        }
        facts.text("kernel.name", "gVisor");
        facts.text("kernel.release", runsc.version());
        facts.text("virtualisation.kind", "hypervisor");
        facts.text("virtualisation.hypervisor", hypervisor(&runsc));
        Ok(GvisorMachine { machine, facts, start })
    }
}

fn hypervisor(runsc: &Runsc) -> String {
    format!("gVisor, {}", runsc.platform().unwrap_or("its usual platform"))
}

impl Target for GvisorMachine {
    /// Facts from its first start; further facts of this host have the prefix `host.`.
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        self.machine.workloads()
    }

    fn cpus(&self) -> &[u32] {
        self.machine.cpus()
    }

    fn overhead(&self) -> Duration {
        self.start
    }

    fn longest_boot(&self) -> Duration {
        START_LIMIT
    }

    fn execute(&self, execution: &Execution, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending {
        match self.machine.execute(execution, sink, stop) {
            // No network is involved that could have failed.
            Ending::ConnectionLost { text } => {
                Ending::GuestFailed { failure: GuestFailure::Lost, text, console: String::new() }
            }
            ending => ending,
        }
    }
}
