//! Selection of cases by the names that a user writes.

use crate::suite::{GIVEN_COMMAND, GIVEN_TREE};
use crate::{Request, RequestError, Suite};
use faultline_record::cell::Case;
use faultline_record::describe::{VariantInfo, WorkloadInfo};

/// Minimum similarity (Jaro-Winkler, 0…1) of a name that is offered as "did you mean".
const ALIKE: f64 = 0.75;

/// Cases of a request, each once, in display order. Fails if a name, variant, mode or suite does
/// not exist.
pub(crate) fn cases(request: &Request, workloads: &[WorkloadInfo]) -> Result<Vec<Case>, RequestError> {
    let mut cases = Vec::new();
    if request.workloads.is_empty() {
        cases = suite(request, workloads)?;
    }
    for name in &request.workloads {
        for (workload, variant) in expand(name, workloads, request.tree.is_some())? {
            cases.push(case(&workload, &variant, request, workloads)?);
        }
    }
    if !request.command_given && cases.iter().any(|case| case.workload == GIVEN_COMMAND.0) {
        return Err(RequestError::new(
            format!("'{}' needs a command to run", GIVEN_COMMAND.0),
            "`faultline run -- ./prog` measures a command, `faultline compare './old' './new'` compares two",
        ));
    }
    if request.tree.is_some() && request.workloads.is_empty() {
        cases.push(case(GIVEN_TREE.0, GIVEN_TREE.1, request, workloads)?);
    }
    check_tree(request, &cases)?;
    let mut once = Vec::new();
    for case in cases {
        if !once.contains(&case) {
            once.push(case);
        }
    }
    Ok(once)
}

/// The suite's cases. Fails if it has none, because nothing would be measured.
fn suite(request: &Request, workloads: &[WorkloadInfo]) -> Result<Vec<Case>, RequestError> {
    let suite = request.suite.unwrap_or_default();
    let cases = suite.cases(workloads, request.mode);
    if cases.is_empty() {
        return Err(RequestError::new(
            format!("no workload here belongs to the suite {}", suite.name()),
            "name workloads, or rebuild them with `make build` (for guests, `make guest`)",
        ));
    }
    Ok(cases)
}

/// Refuses options of `tree_build` if it is not run, instead of ignoring them silently.
fn check_tree(request: &Request, cases: &[Case]) -> Result<(), RequestError> {
    let is_built = |case: &Case, variant: Option<&str>| {
        case.workload == GIVEN_TREE.0 && variant.is_none_or(|name| case.variant == name)
    };
    let builds = |variant: Option<&str>| cases.iter().any(|case| is_built(case, variant));
    if request.tree.is_some() && !builds(Some(GIVEN_TREE.1)) {
        return Err(RequestError::new("--tree is given, but no selected workload builds a tree", "add `tree_build`"));
    }
    if request.copies > 1 && !builds(None) {
        return Err(RequestError::new(
            "`--tasks` has copies, but no selected workload builds a tree",
            "add `tree_build`",
        ));
    }
    Ok(())
}

/// Cases of `name`, all variants of the workload, or of `name:variant`.
fn expand(name: &str, workloads: &[WorkloadInfo], tree_given: bool) -> Result<Vec<(String, String)>, RequestError> {
    let (workload, variant) = name.split_once(':').map_or((name, None), |(name, variant)| (name, Some(variant)));
    let info = find_workload(workload, workloads)?;
    let pair = |variant: &str| (info.name.clone(), variant.to_owned());
    if let Some(variant) = variant {
        find_variant(info, variant)?;
        if (workload, variant) == GIVEN_TREE && !tree_given {
            return Err(RequestError::new(
                format!("'{name}' needs a tree to build"),
                "add `--tree DIR --command 'make -j{tasks}'`",
            ));
        }
        return Ok(vec![pair(variant)]);
    }
    // With a user's tree, that tree is built; otherwise the generated one.
    let wanted = |variant: &&VariantInfo| info.name != GIVEN_TREE.0 || (variant.name == GIVEN_TREE.1) == tree_given;
    Ok(info.variants.iter().filter(wanted).map(|variant| pair(&variant.name)).collect())
}

fn case(workload: &str, variant: &str, request: &Request, workloads: &[WorkloadInfo]) -> Result<Case, RequestError> {
    let info = find_workload(workload, workloads)?;
    let variant = find_variant(info, variant)?;
    let mode = match request.mode {
        Some(mode) if variant.modes.contains(&mode) => mode,
        // For a whole suite, the requested mode applies to workloads that support it, and also to a
        // given tree. A workload chosen by name must support it.
        Some(mode) if !request.workloads.is_empty() => {
            return Err(RequestError::new(
                format!("{workload}:{} has no {} mode", variant.name, mode.word()),
                format!("its tasks are {}", words(variant.modes.iter().map(|mode| mode.word()))),
            ));
        }
        _ => variant.modes[0],
    };
    Ok(Case { workload: workload.to_owned(), variant: variant.name.clone(), mode })
}

fn find_workload<'a>(name: &str, workloads: &'a [WorkloadInfo]) -> Result<&'a WorkloadInfo, RequestError> {
    if let Some(info) = workloads.iter().find(|info| info.name == name) {
        return Ok(info);
    }
    let suites = [Suite::Quick, Suite::Full];
    if let Some(suite) = suites.iter().find(|suite| suite.name() == name) {
        return Err(RequestError::new(
            format!("'{name}' is a suite, not a workload"),
            format!("`--suite {}`", suite.name()),
        ));
    }
    let names = workloads.iter().map(|info| info.name.as_str());
    let hint = match closest(name, names) {
        Some(close) => format!("did you mean '{close}'?"),
        None => "`faultline run --list` lists them".to_owned(),
    };
    Err(RequestError::new(format!("there is no workload '{name}'"), hint))
}

fn find_variant<'a>(info: &'a WorkloadInfo, name: &str) -> Result<&'a VariantInfo, RequestError> {
    info.variant(name).ok_or_else(|| {
        let names = || info.variants.iter().map(|variant| variant.name.as_str());
        let hint = match closest(name, names()) {
            Some(close) => format!("did you mean '{}:{close}'?", info.name),
            None => format!("it has {}", words(names())),
        };
        RequestError::new(format!("{} has no variant '{name}'", info.name), hint)
    })
}

fn closest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored = names.map(|candidate| (strsim::jaro_winkler(name, candidate), candidate));
    let best = scored.max_by(|left, right| left.0.total_cmp(&right.0))?;
    (best.0 >= ALIKE).then_some(best.1)
}

fn words<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::workloads;
    use faultline_record::cell::TaskMode;

    fn select(names: &[&str]) -> Result<Vec<String>, RequestError> {
        let request = Request { workloads: names.iter().map(|&name| name.to_owned()).collect(), ..Request::default() };
        Ok(cases(&request, &workloads())?.iter().map(Case::to_string).collect())
    }

    #[test]
    fn a_name_stands_for_its_variants_and_each_case_comes_once() {
        assert_eq!(select(&["zero_fill"]).unwrap(), ["zero_fill:base", "zero_fill:huge"]);
        assert_eq!(select(&["zero_fill:huge", "zero_fill"]).unwrap(), ["zero_fill:huge", "zero_fill:base"]);
        assert_eq!(select(&["tree_build"]).unwrap(), ["tree_build:generated"]);
    }

    #[test]
    fn what_is_not_there_is_named_with_what_is() {
        let error = |name: &str| {
            let error = select(&[name]).unwrap_err();
            format!("{}; {}", error.problem, error.hint)
        };
        assert_eq!(error("zerofill"), "there is no workload 'zerofill'; did you mean 'zero_fill'?");
        assert_eq!(error("xyzzy"), "there is no workload 'xyzzy'; `faultline run --list` lists them");
        assert_eq!(error("quick"), "'quick' is a suite, not a workload; `--suite quick`");
        assert_eq!(error("zero_fill:bse"), "zero_fill has no variant 'bse'; did you mean 'zero_fill:base'?");
        assert_eq!(error("zero_fill:q"), "zero_fill has no variant 'q'; it has base, huge");
        assert!(error("tree_build:given").starts_with("'tree_build:given' needs a tree to build"));
    }

    #[test]
    fn a_suite_without_workloads_is_refused() {
        let error = cases(&Request::default(), &workloads()).unwrap_err();
        assert_eq!(error.problem, "no workload here belongs to the suite quick");
    }

    #[test]
    fn a_mode_must_be_possible_when_asked_for_by_name() {
        let request = |names: &[&str]| Request {
            workloads: names.iter().map(|&name| name.to_owned()).collect(),
            mode: Some(TaskMode::Thread),
            ..Request::default()
        };
        assert_eq!(cases(&request(&["zero_fill"]), &workloads()).unwrap()[0].mode, TaskMode::Thread);
        let error = cases(&request(&["tree_build"]), &workloads()).unwrap_err();
        assert_eq!(error.problem, "tree_build:generated has no thread mode");
    }
}
