//! Words for the quantities that are compared between commits, shared by text, Markdown and pages.

use faultline_record::quantity::{Quantity, QuantityChoice};

/// The words for a quantity.
struct Words {
    name: &'static str,
    heading: &'static str,
    change: &'static str,
    worse: &'static str,
    to_worsen: &'static str,
}

fn words(quantity: Quantity) -> Words {
    let [name, heading, change, worse, to_worsen] = match quantity {
        Quantity::Time => ["the time", "time", "change of time", "slower", "to have made it slower"],
        Quantity::CpuTime => {
            ["the CPU time", "CPU time", "change of CPU time", "more CPU time", "to have added CPU time"]
        }
        Quantity::UserTime => [
            "the CPU time in user mode",
            "user time",
            "change of user time",
            "more user time",
            "to have added user time",
        ],
        Quantity::SystemTime => [
            "the CPU time in the kernel",
            "system time",
            "change of system time",
            "more system time",
            "to have added system time",
        ],
        Quantity::PeakMemory => {
            ["the peak memory", "peak memory", "change of memory", "more memory", "to have added memory"]
        }
        Quantity::Instructions => {
            ["the instructions", "instructions", "instructions", "more instructions", "to have added instructions"]
        }
        Quantity::Transfers => {
            ["the transfers of cache lines", "transfers", "transfers", "more transfers", "to have added transfers"]
        }
    };
    Words { name, heading, change, worse, to_worsen }
}

/// A quantity in words.
pub(crate) trait QuantityWords {
    /// The quantity with an article.
    fn name(self) -> &'static str;
    /// The heading of a column of values.
    fn heading(self) -> &'static str;
    /// The heading of a column of changes.
    fn change(self) -> &'static str;
    /// The result of a change for the worse.
    fn worse(self) -> &'static str;
    /// The effect that no commit had if a gate is open.
    fn to_worsen(self) -> &'static str;
    /// The option that allows more executions of a commit.
    fn more_executions(self) -> &'static str;
}

impl QuantityWords for Quantity {
    fn name(self) -> &'static str {
        words(self).name
    }

    fn heading(self) -> &'static str {
        words(self).heading
    }

    fn change(self) -> &'static str {
        words(self).change
    }

    fn worse(self) -> &'static str {
        words(self).worse
    }

    fn to_worsen(self) -> &'static str {
        words(self).to_worsen
    }

    fn more_executions(self) -> &'static str {
        if self.is_counted() { "allow more seeds (`--seeds`)" } else { "allow more executions (`--repeats`)" }
    }
}

/// A choice between time and CPU time in words.
pub(crate) trait QuantityChoiceWords {
    /// The reason of the choice; `None` if none is needed.
    fn reason(self) -> Option<String>;
}

impl QuantityChoiceWords for QuantityChoice {
    fn reason(self) -> Option<String> {
        let reason = match self {
            QuantityChoice::Open | QuantityChoice::Quiet => return None,
            QuantityChoice::Busy => {
                "CPU time is compared, because other programs used the machine and the program has one thread that waits for \
                 nothing; the measure `time` compares time."
            }
            QuantityChoice::NotCpuBound => {
                "Time is compared although other programs used the machine, because the program has several threads, or \
                 waits for other things than a CPU; the measure `cpu-time` compares CPU time."
            }
        };
        Some(reason.to_owned())
    }
}
