//! The gate that a comparison is held to: open unless something is slower, or can't be judged.

use faultline_model::comparison::{ComparedWorkload, Comparison};
use faultline_model::said::Said;
use faultline_model::unmatched::Unmatched;
use faultline_model::workload_comparison::Answer;

/// What a gate found of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// What closes it; none if it is open.
    pub closed_by: Vec<Closing>,
}

/// Something that closes a gate.
#[derive(Debug, Clone, PartialEq)]
pub enum Closing {
    /// The second side is worse.
    Slower {
        /// The workload.
        workload: String,
    },
    /// The data can't tell.
    Undecided {
        /// The workload.
        workload: String,
    },
    /// It isn't compared.
    Unmatched {
        /// What, and why.
        what: Said<Unmatched>,
    },
}

impl Gate {
    /// Holds a comparison to it.
    pub fn of(comparison: &Comparison) -> Self {
        let answers = comparison.workloads.iter().filter_map(|ComparedWorkload { comparison: workload, .. }| {
            let name = workload.name.clone();
            match workload.answer {
                Answer::Faster | Answer::NoDifference => None,
                Answer::Slower => Some(Closing::Slower { workload: name }),
                Answer::Undecided => Some(Closing::Undecided { workload: name }),
            }
        });
        let unmatched = comparison.unmatched.iter().map(|what| Closing::Unmatched { what: what.clone() });
        Gate { closed_by: answers.chain(unmatched).collect() }
    }

    /// Whether it lets the comparison pass.
    pub fn is_open(&self) -> bool {
        self.closed_by.is_empty()
    }
}
