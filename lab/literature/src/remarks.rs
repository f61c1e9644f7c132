//! What is known of the claims that the raw values don't bear out as they stand.

use super::raw::Subject;
use super::sources::{DRAGONFLY_5_6, DRAGONFLY_2011, OPENBSD_2024};

/// A remark on one row: source, test, machine, tasks, sentence.
type Remark = (&'static str, &'static str, &'static str, u32, &'static str);

const REMARKS: [Remark; 5] = [
    (
        DRAGONFLY_2011.name,
        "buildworld",
        "opteron-48",
        40,
        "the second run before the patch alone (2999.20 s) gives 13.7 %",
    ),
    (DRAGONFLY_2011.name, "buildkernel", "opteron-48", 48, "from whole seconds, 167 and 110, it is 34.1 %"),
    (DRAGONFLY_5_6.name, "zero-fill", "xeon-16c32t", 32, "medians in place of means give 14.4 %"),
    (
        DRAGONFLY_5_6.name,
        "native-kernel-build",
        "haswell-2c4t",
        8,
        "neither means nor medians nor either definition gives 5.1 %",
    ),
    (OPENBSD_2024.name, "kernel-build", "ampere-80", 16, "lies above the range claimed for 16 CPUs"),
];

/// What is known of this row's claim.
pub(crate) fn remark(subject: &Subject) -> Option<&'static str> {
    REMARKS
        .iter()
        .find(|(source, test, machine, tasks, _)| {
            *source == subject.source && *test == subject.test && *machine == subject.machine && *tasks == subject.tasks
        })
        .map(|remark| remark.4)
}
