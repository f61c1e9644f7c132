//! Outcomes of executions, failures, incomplete lens counts, and names of compared data and code.

use super::percent;
use crate::escape::one_line;
use faultline_record::failure::{Failure, FailureCause};
use faultline_record::lens::by_type::Untyped;
use faultline_record::lens::problem::Problem;
use faultline_record::outcome::{Outcome, Uncounted};
use faultline_stats::lens::comparison::WhyUnmatched;
use faultline_stats::lens::gate::NoFigure;
use faultline_stats::lens::key::{CodePlace, Key, Unnamed};
use faultline_stats::lens::summary::Withheld;

/// An outcome in one line, without the cell.
pub fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Done => "done".to_owned(),
        Outcome::Failed { step, text, .. } => format!("{step}: {text}"),
        Outcome::Unsupported { step, text } => format!("unsupported here: {step}: {text}"),
        Outcome::TimedOut { limit_ms } => {
            format!("no end within its limit of {:.1} s; killed", *limit_ms as f64 / 1000.0)
        }
        Outcome::Crashed { signal, stderr } => format!("ended by signal {signal}{}", first_error_line(stderr)),
        Outcome::Exited { status, stderr } => format!("exit status {status}{}", first_error_line(stderr)),
        Outcome::Rubbish { line, problem } => format!("unreadable output, line {line}: {problem}"),
        Outcome::NotStarted { text } => format!("could not be started: {text}"),
        Outcome::LabFailed { text } => format!("the lab failed: {text}"),
        Outcome::LeftChanged { text }
        | Outcome::ConnectionLost { text }
        | Outcome::GuestFailed { text, .. }
        | Outcome::NotTranslated { text } => text.clone(),
        Outcome::NotCounted { why } => format!("not counted: {}", uncounted(why)),
        Outcome::PartnerFailed { role, outcome: partner } => {
            format!("partner {role} failed: {}", self::outcome(partner))
        }
        Outcome::Interrupted => "interrupted".to_owned(),
    }
}

fn uncounted(why: &Uncounted) -> &str {
    match why {
        Uncounted::NoOperation => "it did no operation",
        Uncounted::NoMark => NO_MARK,
        Uncounted::NoMarkInMachine => NO_MARK_IN_MACHINE,
        Uncounted::NoReport { problem } => problem,
    }
}

/// The first non-empty line of a standard error, appended to a message: the error comes before
/// hints.
fn first_error_line(stderr: &str) -> String {
    match stderr.lines().find(|line| !line.trim().is_empty()) {
        Some(line) => format!(": {}", line.trim()),
        None => String::new(),
    }
}

/// A failure with its repeat: `repeat 2: no end within its limit of 4.0 s; killed`.
pub(crate) fn failure(failure: &Failure) -> String {
    let cause = cause(&failure.cause);
    match failure.block {
        Some(block) => format!("repeat {}: {cause}", u64::from(block) + 1),
        None => cause,
    }
}

/// The cause of a failure, without its repeat.
pub(crate) fn cause(cause: &FailureCause) -> String {
    match cause {
        FailureCause::Ended { outcome: ended } => outcome(ended),
        FailureCause::NoFigure => "done, but without a usable figure".to_owned(),
        FailureCause::NoOperation => "done, but without any operation".to_owned(),
        FailureCause::NoReport => "done, but the lens left no report".to_owned(),
        FailureCause::Told { words } => words.clone(),
    }
}

/// The problem of an incomplete count.
pub(crate) fn problem(problem: &Problem) -> String {
    match problem {
        Problem::NoMark => NO_MARK.to_owned(),
        Problem::EndNotReached { function } => {
            format!("no counted process called {function} within the region: the counts go to the end of the run")
        }
        Problem::LeftProcesses => {
            "processes that the program started were still running after it; they were killed".to_owned()
        }
        Problem::NoMappings { reason } => format!("names may be missing: {reason}"),
    }
}

/// Words for a program without marks.
const NO_MARK: &str =
    "nothing was counted: the program executed no begin mark; `lens program --whole` counts the whole run";

/// Words for a system without marks.
const NO_MARK_IN_MACHINE: &str = "nothing was counted: the system ended without a begin mark; let the code to count execute \
     `faultline_mark_begin()` and `faultline_mark_end()` of workloads/harness/faultline_mark.h";

/// The reason for unnamed structures that a kernel allocated.
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

/// The reason for a missing rate, and what to do.
pub(crate) fn withheld(why: &Withheld) -> String {
    match why {
        Withheld::NotModelled { share } => format!(
            "{} of the time depends on how long CPUs keep lines, or on the costs of wake-ups and interrupts, which this run did \
             not model; `--predict` does",
            percent(*share)
        ),
        Withheld::NotMeasured { share } => format!(
            "{} of the time depends on costs that are only orders of magnitude in this table; `faultline lens calibrate` measures \
             those of this machine, for `--costs measured`",
            percent(*share)
        ),
        Withheld::Spinning { share } => format!(
            "threads wait by spinning in {} of the time; how often a waiting CPU checks, and which one goes on first, is not \
             modelled",
            percent(*share)
        ),
        Withheld::Retries { share } => format!(
            "{} of the instructions are retries or waiting loops that one CPU does not execute; their number depends on timing \
             that is not modelled",
            percent(*share)
        ),
        Withheld::Queues { share } => format!(
            "hand-overs outside of the calibrated range: more than two CPUs queue for a line in {} of the time, and \
             `faultline lens calibrate` measures two",
            percent(*share)
        ),
        Withheld::OtherDistance { share } => format!(
            "hand-overs outside of the calibrated range: {} of the time are transfers over a distance that the calibrated \
             machine does not have",
            percent(*share)
        ),
        Withheld::LittleOverlap { share } => {
            format!(
                "at least two CPUs were busy in only {} of the time; tasks that do more may overlap more",
                percent(*share)
            )
        }
        Withheld::FewDelays { share } => format!(
            "one more wake-up or interrupt would change the rate by {}; tasks that do more make it more precise",
            percent(*share)
        ),
    }
}

/// The reason for a missing figure of a gate.
pub(crate) fn no_figure(reason: &NoFigure) -> String {
    match reason {
        NoFigure::NoSuchCell => "the run has no such case at that number of CPUs".to_owned(),
        NoFigure::NoTypes { why } => no_names(why),
        NoFigure::NotOfTypes => "instructions are not counted by type".to_owned(),
        NoFigure::NotRun => "it was not run".to_owned(),
        NoFigure::AllFailed { failures } => causes(failures),
        NoFigure::SomeFailed { failures } => format!("an attempt failed: {}", causes(failures)),
        NoFigure::Unlike { why } => unmatched_by_lens(why),
        NoFigure::CountedTooLittle { problem: reason } => problem(reason),
    }
}

/// The reason for a cell of two lens runs that is not compared.
pub(crate) fn unmatched_by_lens(why: &WhyUnmatched) -> String {
    match why {
        WhyUnmatched::NoCounts { missing_in } => format!("run {missing_in} has no counts of it"),
        WhyUnmatched::OtherOperation { a, b } => {
            format!("not compared: the operation is {a} in the first run, {b} in the second")
        }
        WhyUnmatched::InterruptsApart { only_in } => {
            format!("not compared: only run {only_in} counts interrupts separately; the other includes them")
        }
    }
}

fn causes(failures: &[Failure]) -> String {
    failures.iter().map(|failure| cause(&failure.cause)).collect::<Vec<_>>().join("; ")
}

/// The name of data or code. Unnamed data is named by the code that moves it: `heap moved by work
/// main.c:10`.
pub(crate) fn key(key: &Key) -> String {
    match key {
        Key::Named { name } => name.clone(),
        Key::Unnamed { what, moved_by } => format!("{} moved by {}", unnamed(what), places(moved_by)),
        Key::Code { place: at } => place(at.as_ref()),
    }
}

fn unnamed(what: &Unnamed) -> &str {
    match what {
        Unnamed::Cache { cache } => cache,
        Unnamed::FreePage => "free page",
        Unnamed::PerCpu => "per-CPU memory",
        Unnamed::KernelPage => "kernel memory",
        Unnamed::Vmalloc => "kernel stack or vmalloc",
        Unnamed::Heap => "heap",
        Unnamed::Mapped => "stack or mapping",
        Unnamed::Unknown => "memory",
    }
}

fn places(places: &[Option<CodePlace>]) -> String {
    match places {
        [] => "many places".to_owned(),
        some => some.iter().map(|at| place(at.as_ref())).collect::<Vec<_>>().join(" + "),
    }
}

/// Function and source line, with the function into which it was inlined.
fn place(place: Option<&CodePlace>) -> String {
    let Some(CodePlace { function, source, inlined_into }) = place else { return "unnamed code".to_owned() };
    let source = source.as_ref().map_or_else(String::new, |source| format!(" {source}"));
    let outer = inlined_into.as_ref().map_or_else(String::new, |outer| format!(" in {outer}"));
    format!("{function}{source}{outer}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::failure::FailureCause;
    use faultline_record::outcome::Outcome;

    #[test]
    fn the_first_error_of_a_partner_is_cited() {
        let exited = Outcome::Exited { status: 3, stderr: "\n no room \nhint: buy more\n".to_owned() };
        assert_eq!(outcome(&exited), "exit status 3: no room");
        let role = "receiver".parse().unwrap();
        let failed = Outcome::PartnerFailed { role, outcome: Box::new(exited) };
        assert_eq!(outcome(&failed), "partner receiver failed: exit status 3: no room");
    }

    #[test]
    fn an_attempt_without_a_count_has_the_reason() {
        let not_counted = |why| outcome(&Outcome::NotCounted { why });
        assert_eq!(not_counted(Uncounted::NoOperation), "not counted: it did no operation");
        assert!(not_counted(Uncounted::NoMark).contains("`lens program --whole`"));
        let in_machine = not_counted(Uncounted::NoMarkInMachine);
        assert!(
            in_machine.contains("`faultline_mark_begin()`") && !in_machine.contains("lens program"),
            "{in_machine}"
        );
    }

    #[test]
    fn a_failure_has_its_repeat_in_words() {
        let cause = FailureCause::Ended { outcome: Outcome::TimedOut { limit_ms: 1500 } };
        let timed_out = Failure { block: Some(0), cause };
        assert_eq!(failure(&timed_out), "repeat 1: no end within its limit of 1.5 s; killed");
        let told = Failure { block: None, cause: FailureCause::Told { words: "hung".to_owned() } };
        assert_eq!(failure(&told), "hung");
    }

    #[test]
    fn each_reason_says_what_to_do_if_anything_helps() {
        let share = 0.5;
        let hints = [
            (Withheld::NotModelled { share }, "`--predict`"),
            (Withheld::NotMeasured { share }, "`faultline lens calibrate`"),
            (Withheld::Spinning { share }, "spinning"),
            (Withheld::Retries { share }, "retries"),
            (Withheld::Queues { share }, "`faultline lens calibrate`"),
            (Withheld::OtherDistance { share }, "outside of the calibrated range"),
            (Withheld::LittleOverlap { share }, "tasks that do more"),
            (Withheld::FewDelays { share }, "tasks that do more"),
        ];
        for (why, hint) in hints {
            let words = withheld(&why);
            assert!(words.contains("50.0 %") && words.contains(hint), "{words}");
        }
    }

    #[test]
    fn failures_are_reported_by_their_causes() {
        let timed_out = FailureCause::Ended { outcome: Outcome::TimedOut { limit_ms: 1000 } };
        let failures = vec![
            Failure { block: Some(0), cause: timed_out },
            Failure { block: Some(1), cause: FailureCause::NoReport },
        ];
        let causes = "no end within its limit of 1.0 s; killed; done, but the lens left no report";
        assert_eq!(no_figure(&NoFigure::AllFailed { failures: failures.clone() }), causes);
        assert_eq!(no_figure(&NoFigure::SomeFailed { failures }), format!("an attempt failed: {causes}"));
    }

    #[test]
    fn data_without_a_name_is_named_by_the_code_that_moves_it() {
        let inlined = |into: Option<&str>| CodePlace {
            function: "spin".to_owned(),
            source: Some("lock.h:9".to_owned()),
            inlined_into: into.map(str::to_owned),
        };
        let moved = |what, moved_by| key(&Key::Unnamed { what, moved_by });
        let cache = Unnamed::Cache { cache: "kmalloc-64".to_owned() };
        let moved_by = vec![Some(inlined(Some("work"))), None];
        assert_eq!(moved(cache, moved_by), "kmalloc-64 moved by spin lock.h:9 in work + unnamed code");
        assert_eq!(moved(Unnamed::Heap, Vec::new()), "heap moved by many places");
        assert_eq!(key(&Key::Code { place: Some(inlined(None)) }), "spin lock.h:9");
    }
}
