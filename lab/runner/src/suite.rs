//! The suites: which workloads, how long, how often.

use faultline_model::describe::WorkloadInfo;

/// A named choice of workloads with its timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Suite {
    /// The loops of the literature, about two minutes on two CPUs.
    #[default]
    Quick,
    /// Every workload in every variant, about twenty minutes on two CPUs.
    Full,
}

/// How long and how often, unless the request says otherwise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SuiteTiming {
    pub(crate) warmup_ms: u64,
    pub(crate) window_ms: u64,
    pub(crate) interval_ms: u64,
    pub(crate) repeats: u32,
}

/// What `quick` runs. Six repeats are the fewest whose median has an interval of 95 % without assumptions on the noise, so
/// windows are short rather than repeats few.
const QUICK: &[(&str, &[&str])] = &[
    ("self_exec", &["static-distinct", "static-shared", "dynamic-distinct", "dynamic-shared"]),
    ("zero_fill", &["base"]),
    ("fault_existing", &["shared", "own"]),
    ("file_cow", &["same", "own"]),
    ("path_stat", &["distinct", "shared-dir"]),
    ("fork_exit", &["small"]),
    ("map_churn", &["threads", "processes"]),
    ("protect_churn", &["threads"]),
    ("compile", &["small-c"]),
    ("tree_build", &["generated"]),
];

/// Needs a tree of the user's; part of a suite only when there is one.
pub(crate) const GIVEN_TREE: (&str, &str) = ("tree_build", "given");

/// Needs a command of the user's; part of no suite.
pub(crate) const GIVEN_COMMAND: (&str, &str) = ("program", "given");

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
            Suite::Quick => SuiteTiming { warmup_ms: 100, window_ms: 300, interval_ms: 50, repeats: 6 },
            Suite::Full => SuiteTiming { warmup_ms: 500, window_ms: 2000, interval_ms: 100, repeats: 10 },
        }
    }

    /// Workloads and variants, in the order in which they are shown.
    pub(crate) fn cases(self, workloads: &[WorkloadInfo]) -> Vec<(String, String)> {
        let pair = |workload: &str, variant: &str| (workload.to_owned(), variant.to_owned());
        match self {
            Suite::Quick => {
                QUICK.iter().flat_map(|(name, variants)| variants.iter().map(|variant| pair(name, variant))).collect()
            }
            Suite::Full => {
                let all = workloads.iter().flat_map(|info| info.variants.iter().map(|v| pair(&info.name, &v.name)));
                let is_given = |workload: &str, variant: &str| {
                    [GIVEN_TREE, GIVEN_COMMAND].iter().any(|&(name, given)| (name, given) == (workload, variant))
                };
                all.filter(|(workload, variant)| !is_given(workload, variant)).collect()
            }
        }
    }
}
