//! The suites: timing and repeats. The workloads' descriptions name their suites.

use faultline_record::cell::{Case, TaskMode};
use faultline_record::describe::{SuiteMember, WorkloadInfo};

/// A named choice of workloads with its timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Suite {
    /// The loops of the literature, about two minutes on two CPUs.
    #[default]
    Quick,
    /// Every workload in every variant, about twenty minutes on two CPUs.
    Full,
}

/// Default timing and repeats.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SuiteTiming {
    pub(crate) warmup_ms: u64,
    pub(crate) window_ms: u64,
    pub(crate) interval_ms: u64,
    pub(crate) repeats: u32,
}

/// Needs a source tree from the user; part of a suite only if there is one.
pub(crate) const GIVEN_TREE: (&str, &str) = ("tree_build", "given");

/// Needs a command from the user; in no suite.
pub(crate) const GIVEN_COMMAND: (&str, &str) = ("program", "given");

/// The name of the workload that runs a command of the user.
pub fn given_command() -> String {
    format!("{}:{}", GIVEN_COMMAND.0, GIVEN_COMMAND.1)
}

impl Suite {
    /// The suite's name.
    pub fn name(self) -> &'static str {
        match self {
            Suite::Quick => "quick",
            Suite::Full => "full",
        }
    }

    pub(crate) fn timing(self) -> SuiteTiming {
        match self {
            // Six repeats are the minimum for a 95 % confidence interval of the median without
            // assumptions about the noise. So windows are short, rather than repeats few.
            Suite::Quick => SuiteTiming { warmup_ms: 100, window_ms: 300, interval_ms: 50, repeats: 6 },
            Suite::Full => SuiteTiming { warmup_ms: 500, window_ms: 2000, interval_ms: 100, repeats: 10 },
        }
    }

    /// Its cases, in display order. `mode`: of the tasks, for workloads that support it.
    pub(crate) fn cases(self, workloads: &[WorkloadInfo], mode: Option<TaskMode>) -> Vec<Case> {
        let mut parts: Vec<_> = workloads.iter().filter_map(|info| Some((info, info.part_of(self.name())?))).collect();
        // Workloads with equal positions keep their order.
        parts.sort_by_key(|(_, part)| part.place);
        let mut cases = Vec::new();
        for (info, part) in parts {
            for SuiteMember { variant, mode: usual } in &part.members {
                let asked = mode.filter(|mode| info.variant(variant).is_some_and(|info| info.modes.contains(mode)));
                let case =
                    Case { workload: info.name.clone(), variant: variant.clone(), mode: asked.unwrap_or(*usual) };
                if !cases.contains(&case) {
                    cases.push(case);
                }
            }
        }
        cases
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::describe;

    /// A workload with two variants that prints `suites`.
    fn workload(name: &str, suites: &str) -> WorkloadInfo {
        let text = format!(
            "faultline-describe 1 {name}\nsummary s\noperation turn\nunit turn/s\ndirection higher\nstyle loop\nwindow_ms 100\n\
             variant one process,thread s\nvariant given process s\n{suites}end\n"
        );
        describe::parse(&text).unwrap()
    }

    fn cases(suite: Suite, workloads: &[WorkloadInfo], mode: Option<TaskMode>) -> Vec<String> {
        let shown = |case: &Case| format!("{case}/{}", case.mode.word());
        suite.cases(workloads, mode).iter().map(shown).collect()
    }

    #[test]
    fn workloads_say_their_place_and_equal_places_go_by_name() {
        let workloads = [
            workload("a", "suite quick 30 one/process\nsuite full 0 one/process given/process\n"),
            workload("b", "suite quick 7 given/process one/thread\nsuite full 0 one/process\n"),
            workload("c", "suite quick 0\nsuite full 0\n"),
        ];
        assert_eq!(cases(Suite::Quick, &workloads, None), ["b:given/process", "b:one/thread", "a:one/process"]);
        assert_eq!(cases(Suite::Full, &workloads, None), ["a:one/process", "a:given/process", "b:one/process"]);
    }

    #[test]
    fn a_mode_holds_for_those_that_can() {
        let both = workload("a", "suite quick 1 one/process one/thread given/process\nsuite full 0\n");
        assert_eq!(
            cases(Suite::Quick, std::slice::from_ref(&both), None),
            ["a:one/process", "a:one/thread", "a:given/process"]
        );
        assert_eq!(cases(Suite::Quick, &[both], Some(TaskMode::Thread)), ["a:one/thread", "a:given/process"]);
    }
}
