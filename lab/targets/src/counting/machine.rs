//! A machine that starts by itself, under the lens. It has one region of interest and ends with it.

use super::lens::EMULATOR_BYTES;
use super::{AtEnd, Counted, Counting, Lens};
use crate::execution::LineSink;
use crate::qemu::BareMachine;
use crate::{Ending, Execution, Plugin, StopFlag, Target, TargetError};
use faultline_lens_format::{Stall, Stalled};
use faultline_record::describe::WorkloadInfo;
use faultline_record::facts::Facts;
use faultline_record::lens::counted::{AgentReport, CountedReport};
use faultline_record::machine::MachineShape;
use faultline_record::outcome::GuestFailure;
use std::time::Duration;

/// A machine with any system that can count.
#[derive(Debug)]
pub struct CountingMachine {
    /// Machines by number of CPUs; never empty.
    machines: Vec<BareMachine>,
    cpus: Vec<u32>,
    lens: Lens,
}

impl CountingMachine {
    /// The machine in its own shape and in each of these.
    pub fn new(first: BareMachine, further: &[MachineShape], lens: Lens) -> Self {
        let machines: Vec<_> =
            std::iter::once(first.clone()).chain(further.iter().map(|&shape| first.with_shape(shape))).collect();
        let most = machines.iter().map(|machine| machine.shape().cpus()).max().unwrap_or(1);
        CountingMachine { machines, cpus: (0..most).collect(), lens }
    }

    fn try_count(
        &self,
        execution: &Execution,
        cpus: u32,
        seed: Option<u64>,
        stop: &StopFlag,
    ) -> Result<Counted, String> {
        let machine = self.machines.iter().find(|machine| machine.shape().cpus() == cpus);
        let machine = machine.ok_or_else(|| format!("there is no machine of {cpus} CPUs"))?;
        let (plugin, file) = self.lens.attached(cpus, false)?;
        let mut plugin = for_any_kernel(plugin);
        plugin.values.push(("patience_s".to_owned(), patience(execution.limit).as_secs().to_string()));
        let executed = machine.execute(Some(&plugin), seed, execution.limit, stop);
        let seed = seed.filter(|_| executed.repeats_exactly);
        let report = file.read(&executed.console);
        let report = report.map(|counts| CountedReport { counts, agent: AgentReport::default() });
        let ending = match report.as_ref().ok().and_then(|report| report.counts.stalled) {
            Some(stalled) => Ending::GuestFailed {
                failure: GuestFailure::Hung,
                text: words(&stalled, &executed.console),
                console: executed.console.clone(),
            },
            None => file.judged(executed.ending, &report),
        };
        Ok(Counted { ending, console: Some(executed.console), report, seed })
    }
}

/// Time without progress after which a machine is ended: long enough for a long loop of a boot, and
/// longer if the user grants a machine more time.
fn patience(limit: Duration) -> Duration {
    LEAST_PATIENCE.max(limit / 120)
}

/// Patience with a machine within the default limit.
const LEAST_PATIENCE: Duration = Duration::from_secs(10);

/// Part of the emulator's own line about the signal with which the plugin ends it.
const TERMINATED: &str = ": terminating on signal ";

/// The reason why the plugin ended a machine, and the last line of its console.
fn words(stalled: &Stalled, console: &str) -> String {
    let reason = match stalled.stall {
        Stall::Guest { seconds } => format!("it executed no new code for {seconds} s of its time"),
        Stall::Idle { seconds } => format!("it executed no new code and was idle for {seconds} s of its time"),
        Stall::Emulator { seconds } => format!("it executed no new code for {seconds} s of the emulator's CPU time"),
        Stall::Halted => "all its CPUs are halted, and there is no timer".to_owned(),
    };
    let mut lines = console.lines().rev();
    let said = match lines.find(|line| !line.trim().is_empty() && !line.contains(TERMINATED)) {
        Some(line) => format!("the last line of its console: {line}"),
        None => "its console stayed empty".to_owned(),
    };
    let last = stalled.last_new_code;
    format!(
        "the machine made no progress: {reason}; the last new code is at {last:#x}; {said}; a longer `--limit` waits longer"
    )
}

/// The plugin without assumptions about the kernel.
fn for_any_kernel(mut plugin: Plugin) -> Plugin {
    let more = [("addresses", "physical"), ("once", "on")];
    plugin.values.extend(more.map(|(key, value)| (key.to_owned(), value.to_owned())));
    plugin
}

impl Counting for CountingMachine {
    fn room_bytes(&self) -> Option<u64> {
        let guest = self.machines.iter().map(|machine| machine.shape().memory_mib() << 20).max();
        Some(EMULATOR_BYTES + guest.unwrap_or_default())
    }

    fn count(
        &self,
        execution: &Execution,
        tasks: u32,
        seed: Option<u64>,
        _at_end: &AtEnd<'_>,
        _sink: &mut LineSink<'_>,
        stop: &StopFlag,
    ) -> Counted {
        self.try_count(execution, tasks, seed, stop).unwrap_or_else(Counted::lab_failed)
    }
}

impl Target for CountingMachine {
    fn facts(&self) -> Facts {
        let machine = &self.machines[0];
        machine.facts_with(&for_any_kernel(self.lens.described(machine.shape().cpus(), false)))
    }

    /// Empty: Faultline's workloads do not run there.
    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        Ok(Vec::new())
    }

    fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    /// Executes without counting until the machine ends.
    fn execute(&self, execution: &Execution, _sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending {
        self.machines[0].execute(None, None, execution.limit, stop).ending
    }

    fn counting(&self) -> Option<&dyn Counting> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_progress_has_the_plugins_reason_and_its_own_last_words() {
        let stalled = Stalled { stall: Stall::Halted, last_new_code: 0x10_0040 };
        let console = "booting\nno memory map\n\nqemu-system-x86_64: terminating on signal 15 from pid 7 (qemu)";
        assert_eq!(
            words(&stalled, console),
            "the machine made no progress: all its CPUs are halted, and there is no timer; the last new code is at 0x100040; \
             the last line of its console: no memory map; a longer `--limit` waits longer"
        );
        assert!(words(&stalled, "").contains("its console stayed empty"));
    }

    #[test]
    fn more_time_brings_more_patience() {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        assert_eq!([1, 20, 120].map(|limit| patience(minutes(limit)).as_secs()), [10, 10, 60]);
    }
}
