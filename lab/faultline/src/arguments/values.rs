//! Values of arguments: parsers, and candidates for completion.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use faultline_experiment::{LocalMachines, Places, published, stored};
use faultline_record::bounds::{MOST_REPEATS, MOST_TASKS};
use faultline_record::machine::{MOST_CPUS, Machine};
use faultline_record::quantity::Quantity;
use faultline_record::recipe::is_within_build;
use faultline_record::record::RunLine;
use faultline_record::role::Role;
use faultline_record::subject::Commit;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Display;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Maximum number of a step in a list.
pub(crate) const MOST_STEPS: u32 = 1_000_000;

/// Maximum number of operations of a task.
pub(crate) const MOST_OPERATIONS: u64 = i64::MAX as u64;

/// Maximum number of copies of a tree that are built at once.
const MOST_COPIES: u32 = 1024;

/// Maximum number of tasks in a guest: one of its CPUs is for the system.
const MOST_GUEST_TASKS: u32 = MOST_CPUS - 1;

/// Longest accepted duration.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// The parser of a quantity's word.
pub(crate) fn quantity() -> impl TypedValueParser<Value = Quantity> {
    word_of(&Quantity::ALL)
}

/// The parser of the word of a quantity that executions at full speed have.
pub(crate) fn executed_quantity() -> impl TypedValueParser<Value = Quantity> {
    let executed: Vec<Quantity> = Quantity::ALL.into_iter().filter(|quantity| !quantity.is_counted()).collect();
    word_of(&executed)
}

fn word_of(quantities: &[Quantity]) -> impl TypedValueParser<Value = Quantity> + use<> {
    PossibleValuesParser::new(quantities.iter().map(|quantity| quantity.word())).map(|word| {
        let named = Quantity::ALL.into_iter().find(|quantity| quantity.word() == word);
        named.expect("clap passes possible values only")
    })
}

/// The parser of a whole number within bounds, which it names in its error.
pub(crate) fn from_to<N>(least: N, most: N) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static
where
    N: FromStr + PartialOrd + Display + Copy + Send + Sync + 'static,
{
    move |text| match text.trim().parse() {
        Ok(number) if least <= number && number <= most => Ok(number),
        _ => Err(format!("it must be a whole number from {least} to {most}")),
    }
}

/// A number of tasks.
pub(crate) fn task_count(text: &str) -> Result<u32, String> {
    from_to(1, MOST_TASKS)(text)
}

/// A number of tasks in a guest.
pub(crate) fn guest_task_count(text: &str) -> Result<u32, String> {
    from_to(1, MOST_GUEST_TASKS)(text)
}

pub(crate) fn repeats(text: &str) -> Result<u32, String> {
    from_to(1, MOST_REPEATS)(text)
}

/// A number of guests that run at the same time.
pub(crate) fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    from_to(1, MOST_TASKS as usize)(text).map(|number| NonZeroUsize::new(number).unwrap_or(NonZeroUsize::MIN))
}

/// The name of a commit: all or the first of its digits.
pub(crate) fn commit(text: &str) -> Result<Commit, String> {
    Commit::named(text).ok_or_else(|| {
        "a commit is named by 7 to 64 hexadecimal digits, as `git rev-parse HEAD` prints them".to_owned()
    })
}

pub(crate) fn partner(text: &str) -> Result<(Role, Machine), String> {
    let (role, machine) = text.split_once('=').ok_or("not ROLE=MACHINE; for example receiver=host")?;
    Ok((role.parse()?, machine.parse()?))
}

/// The name of a commit or release in a history.
pub(crate) fn point(text: &str) -> Result<String, String> {
    faultline_record::commit::can_be_name(text).then(|| text.to_owned()).ok_or_else(|| {
        "a commit is named by 7 to 64 hexadecimal digits, a release by letters, digits, '.', '_', '+', '~' and '-'"
            .to_owned()
    })
}

/// A path within a build.
pub(crate) fn path_of_build(text: &str) -> Result<String, String> {
    match is_within_build(text) {
        true => Ok(text.to_owned()),
        false => Err("it must be a path within the build, such as target".to_owned()),
    }
}

/// A run's label. Digits alone are refused, because they are a run's number.
pub(crate) fn label(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.trim() != text || text.contains(char::is_control) {
        return Err("a label is text without spaces around it; write it like nightly-6.9".to_owned());
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("digits alone are a run's number; write it like run-{text}"));
    }
    Ok(text.to_owned())
}

/// A seed below 2^63, so that JSON and SQL can hold it.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    from_to(0, i64::MAX as u64)(text)
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(length) if length <= LONGEST => Ok(length),
        Ok(_) => Err("it must be at most 366 days".to_owned()),
        Err(_) => Err("not a duration; write it like 90s, 2m or 300ms".to_owned()),
    }
}

/// Amount of warm-up: executions of a command, or time of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Warmup {
    /// Number of executions.
    Executions(u32),
    /// Time before each window.
    Time(Duration),
}

pub(crate) fn warmup(text: &str) -> Result<Warmup, String> {
    match from_to(0, MOST_REPEATS)(text) {
        Ok(executions) => Ok(Warmup::Executions(executions)),
        Err(_) => duration(text).map(Warmup::Time).map_err(|_| {
            "neither a number of executions nor a duration; write it like 3 for commands, 100ms for workloads"
                .to_owned()
        }),
    }
}

pub(crate) fn positive_duration(text: &str) -> Result<Duration, String> {
    duration(text)
        .and_then(|length| if length.is_zero() { Err("it must be longer than 0".to_owned()) } else { Ok(length) })
}

pub(crate) fn size(text: &str) -> Result<u64, String> {
    let size: bytesize::ByteSize = text.parse().map_err(|_| "not a size; write it like 4MiB or 200".to_owned())?;
    if size.as_u64() == 0 { Err("it must be at least 1".to_owned()) } else { Ok(size.as_u64()) }
}

/// A share, written `95%` or `0.95`.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let number: f64 = number.trim().parse().map_err(|_| "not a number; write it like 1% or 0.01".to_owned())?;
    Ok(number / scale)
}

pub(crate) fn level(text: &str) -> Result<f64, String> {
    match share(text)? {
        level if level > 0.5 && level <= 0.9999 => Ok(level),
        _ => Err("it must be between 50% and 99.99%".to_owned()),
    }
}

pub(crate) fn margin(text: &str) -> Result<f64, String> {
    match share(text)? {
        margin if margin > 0.0 && margin < 1.0 => Ok(margin),
        _ => Err("it must be between 0% and 100%".to_owned()),
    }
}

/// A false-positive rate of a search for steps.
pub(crate) fn false_alarms(text: &str) -> Result<f64, String> {
    match share(text)? {
        rate if (0.001..=0.2).contains(&rate) => Ok(rate),
        _ => Err("it must be between 0.1% and 20%".to_owned()),
    }
}

/// The smallest change to show.
pub(crate) fn least_change(text: &str) -> Result<f64, String> {
    match share(text)? {
        least if least >= 0.0 && least.is_finite() => Ok(least),
        _ => Err("it must be 0% or more".to_owned()),
    }
}

/// Copies of a tree, and the tasks of each: `4`, or `2x4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tasks {
    /// Copies that run at once, if given.
    pub(crate) copies: Option<u32>,
    /// Number of tasks of each.
    pub(crate) tasks: u32,
}

pub(crate) fn tasks(text: &str) -> Result<Tasks, String> {
    match text.trim().split_once('x') {
        None => Ok(Tasks { copies: None, tasks: task_count(text)? }),
        Some((copies, tasks)) => match (from_to(1, MOST_COPIES)(copies), task_count(tasks)) {
            (Ok(copies), Ok(tasks)) => Ok(Tasks { copies: Some(copies), tasks }),
            _ => Err(format!(
                "KxN is K copies of a tree, from 1 to {MOST_COPIES}, with N tasks each, from 1 to {MOST_TASKS}: 2x4"
            )),
        },
    }
}

/// Completes a workload: `NAME` and `NAME:VARIANT`.
pub(crate) fn workload_candidates() -> ArgValueCandidates {
    ArgValueCandidates::new(workloads)
}

/// Completes a run: numbers and labels.
pub(crate) fn run_candidates() -> ArgValueCandidates {
    ArgValueCandidates::new(runs)
}

/// Completes anything that can be compared or exported: runs, workloads, published figures, files.
pub(crate) fn all_candidates() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let begins = |candidate: &CompletionCandidate| {
            candidate.get_value().as_encoded_bytes().starts_with(current.as_encoded_bytes())
        };
        let published = published::names().chain([published::CLAIMS.to_owned()]).map(CompletionCandidate::new);
        let known = runs().into_iter().chain(workloads()).chain(published).filter(begins);
        known.chain(PathCompleter::any().complete(current)).collect()
    })
}

/// The workloads of the programs; empty if they cannot be read.
fn workloads() -> Vec<CompletionCandidate> {
    let Some(places) = places() else { return Vec::new() };
    let infos = faultline_experiment::workloads(&Machine::Host, &LocalMachines, &places).unwrap_or_default();
    let candidate = |name: String, help: &str| CompletionCandidate::new(name).help(Some(help.to_owned().into()));
    let of_one = infos.iter().flat_map(|info| {
        let variants =
            info.variants.iter().map(|variant| candidate(format!("{}:{}", info.name, variant.name), &variant.text));
        std::iter::once(candidate(info.name.clone(), &info.summary)).chain(variants)
    });
    of_one.collect()
}

/// The runs of the database; empty if it cannot be read.
fn runs() -> Vec<CompletionCandidate> {
    let Some(places) = places() else { return Vec::new() };
    let lines = stored::runs(&places).unwrap_or_default();
    let about =
        |line: &RunLine| line.label.clone().or_else(|| line.suite.clone()).unwrap_or_else(|| line.machine.clone());
    let numbers = lines.iter().map(|line| CompletionCandidate::new(line.id.to_string()).help(Some(about(line).into())));
    let labels: BTreeSet<&String> = lines.iter().filter_map(|line| line.label.as_ref()).collect();
    numbers.chain(labels.into_iter().map(CompletionCandidate::new)).collect()
}

/// The paths in the environment. Options of the completed line are ignored.
fn places() -> Option<Places> {
    let database = std::env::var_os("FAULTLINE_DB").map(PathBuf::from);
    let places = Places::find().ok()?;
    let workloads = std::env::var_os("FAULTLINE_WORKLOADS").map(PathBuf::from);
    Some(Places { database: database.or(places.database), workloads: workloads.or(places.workloads), ..places })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_are_read() {
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert!(duration("soon").is_err());
        assert!(positive_duration("0s").is_err());
        assert_eq!(size("4MiB"), Ok(4 << 20));
        assert_eq!(size("200"), Ok(200));
        assert!(size("many").is_err());
    }

    #[test]
    fn shares_are_percent_or_plain() {
        assert_eq!((level("95%"), level("0.99")), (Ok(0.95), Ok(0.99)));
        assert_eq!(margin("0.5 %"), Ok(0.005));
        assert!(level("5%").is_err() && level("100%").is_err() && level("NaN").is_err());
        assert!(margin("0").is_err() && margin("100%").is_err() && margin("NaN").is_err() && margin("some").is_err());
    }

    #[test]
    fn settings_of_a_search_for_steps_have_ranges() {
        assert_eq!((false_alarms("0.1%"), false_alarms("20%")), (Ok(0.001), Ok(0.2)));
        assert_eq!((least_change("0"), least_change("150%")), (Ok(0.0), Ok(1.5)));
        for text in ["-5", "-5%", "nan", "inf"] {
            assert!(false_alarms(text).is_err() && least_change(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_kept_path_is_within_the_build() {
        assert!(["target", "./prog", "a/b", "."].into_iter().all(|path| path_of_build(path).is_ok()));
        assert!(["", "/etc", "../x", "a/../../b"].into_iter().all(|path| path_of_build(path).is_err()));
    }

    #[test]
    fn a_warm_up_is_a_number_or_a_time() {
        assert_eq!(warmup("3"), Ok(Warmup::Executions(3)));
        assert_eq!(warmup("200ms"), Ok(Warmup::Time(Duration::from_millis(200))));
        assert!(warmup("some").is_err() && warmup("-1").is_err());
    }

    #[test]
    fn numbers_out_of_range_are_refused_with_the_range() {
        let range = |most: &str| Err(format!("it must be a whole number from 1 to {most}"));
        for text in ["0", "-1", "1000001", "many", "1.5", ""] {
            assert_eq!(repeats(text), range("1000000"), "{text}");
        }
        assert_eq!((task_count("4096"), task_count("4097")), (Ok(4096), range("4096")));
        assert_eq!(tasks("0").unwrap_err(), "it must be a whole number from 1 to 4096");
        assert_eq!((seed("0"), seed("9223372036854775807")), (Ok(0), Ok(i64::MAX as u64)));
        assert_eq!(seed("-1").unwrap_err(), "it must be a whole number from 0 to 9223372036854775807");
        assert!(jobs("0").is_err() && jobs("2").is_ok());
    }

    #[test]
    fn tasks_may_have_copies() {
        assert_eq!(tasks("4"), Ok(Tasks { copies: None, tasks: 4 }));
        assert_eq!(tasks("2x4"), Ok(Tasks { copies: Some(2), tasks: 4 }));
        assert!(tasks("0x4").is_err() && tasks("x4").is_err() && tasks("2x").is_err() && tasks("").is_err());
    }
}
