//! The largest numbers that saved data may hold. Readers of a database check them, because a
//! damaged record must not decide how much memory its reader needs.

use crate::cell::Cell;
use crate::lens::by_type::{TypeAccess, TypeReading};
use crate::lens::layout::Member;
use crate::lens::reading::Reading;
use crate::plan::{PlanItem, RunKind, Settings};

/// Maximum number of tasks of a cell, and of CPUs of a modelled machine.
pub const MOST_TASKS: u32 = 4096;

/// Maximum number of blocks, of executions of a commit, and of its random layouts.
pub const MOST_REPEATS: u32 = 1_000_000;

/// One more than the largest offset or size of a type's members, in bytes.
const TYPE_BYTES: u64 = 1 << 40;

/// Saved data with numbers that size what is computed from them.
pub trait Bounded {
    /// The first number out of bounds, in words; `None` if there is none.
    fn out_of_bounds(&self) -> Option<String>;
}

fn above(what: &str, number: u32, most: u32) -> Option<String> {
    (number > most).then(|| format!("{number} {what}; at most {most}"))
}

impl Bounded for Cell {
    fn out_of_bounds(&self) -> Option<String> {
        above("tasks", self.tasks, MOST_TASKS)
    }
}

impl Bounded for PlanItem {
    fn out_of_bounds(&self) -> Option<String> {
        let is_endless = self.timing.is_some_and(|timing| timing.interval_ms == 0);
        self.cell.out_of_bounds().or_else(|| is_endless.then(|| "intervals of 0 ms".to_owned()))
    }
}

impl Bounded for Settings {
    fn out_of_bounds(&self) -> Option<String> {
        let copies = self.timed().and_then(|timed| above("copies", timed.copies, MOST_REPEATS));
        let of_kind = match &self.kind {
            RunKind::Bisect(search) => above("blocks", search.search.most_blocks, MOST_REPEATS)
                .or_else(|| above("layouts", search.search.layouts, MOST_REPEATS)),
            RunKind::History(history) => above("layouts", history.layouts, MOST_REPEATS),
            _ => None,
        };
        let tasks = self.cpus.iter().find_map(|tasks| above("tasks", *tasks, MOST_TASKS));
        tasks.or_else(|| above("repeats", self.repeats, MOST_REPEATS)).or(copies).or(of_kind)
    }
}

impl Bounded for Reading {
    fn out_of_bounds(&self) -> Option<String> {
        let cpus = above("CPUs", self.machine.cpus, MOST_TASKS);
        cpus.or_else(|| self.by_type.types.iter().find_map(Bounded::out_of_bounds))
    }
}

impl Bounded for TypeReading {
    fn out_of_bounds(&self) -> Option<String> {
        let ends_late = |offset: u64, size: u64| offset >= TYPE_BYTES || size >= TYPE_BYTES;
        let accessed_late = |access: &TypeAccess| {
            ends_late(access.offset, access.size) || access.others.iter().any(|used| ends_late(used.offset, used.size))
        };
        let is_late = self.layout.size >= TYPE_BYTES
            || self.layout.members.iter().any(member_ends_late)
            || self.accesses.iter().any(accessed_late);
        is_late.then(|| format!("the type {} of {TYPE_BYTES} or more bytes", self.layout.name))
    }
}

fn member_ends_late(member: &Member) -> bool {
    let inner = member.inner.as_ref().map_or(&[][..], |inner| &inner.members);
    member.offset >= TYPE_BYTES || member.size >= TYPE_BYTES || inner.iter().any(member_ends_late)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Case, TaskMode};
    use crate::plan::{PinPolicy, TimedSettings, Timing};
    use crate::subject::SubjectIndex;

    fn item(tasks: u32, interval_ms: u64) -> PlanItem {
        let case = Case { workload: "w".into(), variant: "base".into(), mode: TaskMode::Thread };
        let timing = Some(Timing { warmup_ms: 0, window_ms: 10, interval_ms });
        PlanItem { ordinal: 0, block: 0, subject: SubjectIndex::A, cell: Cell { case, tasks }, timing, seed: None }
    }

    #[test]
    fn numbers_that_no_run_has_are_out_of_bounds() {
        assert_eq!(item(MOST_TASKS, 1).out_of_bounds(), None);
        assert_eq!(item(1 << 31, 1).out_of_bounds().unwrap(), "2147483648 tasks; at most 4096");
        assert_eq!(item(1, 0).out_of_bounds().unwrap(), "intervals of 0 ms");
    }

    #[test]
    fn settings_are_bounded_too() {
        let settings = |cpus: u32, repeats| Settings {
            cpus: vec![1, cpus],
            repeats,
            seed: 1,
            limit_ms: None,
            size: None,
            kind: RunKind::Timed(TimedSettings::pinned(PinPolicy::Each)),
        };
        assert_eq!(settings(2, MOST_REPEATS).out_of_bounds(), None);
        assert!(settings(u32::MAX, 1).out_of_bounds().is_some());
        assert!(settings(1, u32::MAX).out_of_bounds().is_some());
    }
}
