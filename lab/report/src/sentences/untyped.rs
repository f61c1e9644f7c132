//! Why what a kernel allocated has no names.

use crate::one_line::one_line;
use faultline_model::lens::untyped::Untyped;

/// That what a kernel allocated has no names, and why.
pub(crate) fn no_names(why: &Untyped) -> String {
    format!("allocated structures have no names: {}", reason(why))
}

fn reason(why: &Untyped) -> String {
    match why {
        Untyped::NotRead => "the guest's memory was not read at the end of the counted part".to_owned(),
        Untyped::KernelNotFound => {
            "the kernel is not where its symbols say (is nokaslr overridden, or are there five levels of page tables?)"
                .to_owned()
        }
        Untyped::NoTypes => "the kernel has no BTF; build it with CONFIG_DEBUG_INFO_BTF".to_owned(),
        Untyped::BadTypes { problem } => format!("the kernel's BTF cannot be read: {}", one_line(problem)),
        Untyped::OtherLayout => "the kernel's records of pages have an unknown form".to_owned(),
    }
}
