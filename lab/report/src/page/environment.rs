//! Warnings, machine facts and settings on the page of a run.

use super::document::{self, section};
use crate::escape::one_line;
use crate::style::UNICODE;
use crate::{figure, names, sentences};
use faultline_record::facts::{FactValue, Facts};
use faultline_record::lens::settings::LensSettings;
use faultline_record::plan::{PinPolicy, Settings, TimedSettings};
use faultline_record::record::RunHead;
use faultline_record::subject::{SubjectIndex, SubjectKind};
use faultline_stats::summary::RunSummary;
use maud::{Markup, html as markup};
use std::collections::BTreeMap;

/// Warnings of a run.
pub(crate) fn warnings(summary: &RunSummary) -> Markup {
    let warnings = summary.warnings.iter().map(|warning| {
        let text = one_line(&sentences::warning(warning));
        (warning.code().word(), text, names::cells(&warning.cells))
    });
    document::warnings("warnings", "Warnings", warnings)
}

/// Facts about the machine at the start of the run.
pub(crate) fn facts(head: &RunHead) -> Markup {
    let sessions = head.sessions.len();
    let content = markup! {
        @match head.facts() {
            None => p.nothing { "Nothing is known of the machine." },
            Some(facts) => {
                @if sessions > 1 { p.hint { "At the start of the run; it was resumed " (names::counted(sessions as u64 - 1, "time")) "." } }
                (fact_list(facts))
            }
        }
    };
    section("facts", "Facts", content)
}

/// Facts under their headings.
pub(crate) fn fact_list(facts: &Facts) -> Markup {
    markup! {
        div.sections {
            @for ((_, heading), entries) in sections(&facts.0) {
                div.fact-section {
                    h3 { (one_line(heading)) }
                    dl { @for (key, value) in entries { (fact(key, value)) } }
                }
            }
        }
    }
}

/// A fact in words. The tooltip shows its key and raw value.
fn fact(key: &str, value: &FactValue) -> Markup {
    let found = one_line(&format!("{key} = {value}"));
    markup! { dt title=(found) { (crate::facts::name(key)) } dd title=(found) { (crate::facts::value(key, value, &UNICODE)) } }
}

/// Facts by heading, in the order of the headings.
fn sections(facts: &BTreeMap<String, FactValue>) -> BTreeMap<(usize, &str), Vec<(&str, &FactValue)>> {
    let mut sections: BTreeMap<(usize, &str), Vec<(&str, &FactValue)>> = BTreeMap::new();
    for (key, value) in facts {
        sections.entry(crate::facts::heading(key)).or_default().push((key, value));
    }
    sections
}

/// Settings of the run.
pub(crate) fn settings(summary: &RunSummary, head: &RunHead) -> Markup {
    let content = markup! {
        dl.settings {
            @for (key, value) in rows(head) { dt { (key) } dd { (one_line(&value)) } }
            dt { "executions" } dd { (names::progress(&summary.progress)) }
            @for session in head.sessions.iter().skip(1) { dt { "resumed" } dd { (figure::date_time(session.started)) } }
            dt { "format of the JSON" } dd { (summary.format) }
        }
    };
    section("settings", "Settings", content)
}

fn rows(head: &RunHead) -> Vec<(&'static str, String)> {
    let settings = &head.settings;
    let tasks: Vec<String> = settings.cpus.iter().map(u32::to_string).collect();
    let tasks = tasks.join(", ");
    let timed = settings.timed().map(|timed| {
        let given = head.subject(SubjectIndex::A).filter(|subject| !subject.setup.command.is_empty());
        let command = given.map(|subject| ("measured", subject.setup.words().join(", ")));
        command.into_iter().chain(timed_rows(settings, timed, &tasks)).collect()
    });
    let counted = || settings.counting().map(|lens| lens_rows(head, lens, &tasks));
    timed.or_else(counted).unwrap_or_default()
}

fn timed_rows(settings: &Settings, timed: &TimedSettings, tasks: &str) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("suite", timed.suite.clone().unwrap_or_else(|| "chosen workloads".to_owned())),
        ("tasks", tasks.to_owned()),
        ("repeats", settings.repeats.to_string()),
        ("seed of the random order", settings.seed.to_string()),
        ("pinning", pinning(timed.pin).to_owned()),
        ("more tasks than CPUs", if timed.oversubscribe { "requested" } else { "not requested" }.to_owned()),
        ("parallel copies of a tree", timed.copies.to_string()),
    ];
    if let Some(limit_ms) = settings.limit_ms {
        rows.push(("time limit of an execution", format!("{} s", limit_ms as f64 / 1000.0)));
    }
    if let Some(budget_ms) = timed.budget_ms {
        rows.push(("time budget", format!("{} s", budget_ms as f64 / 1000.0)));
    }
    if let Some(size) = settings.size {
        rows.push(("size", size.to_string()));
    }
    if let Some(tree) = &timed.tree {
        rows.push(("tree", format!("{}: {}", tree.directory, tree.command.join(" "))));
    }
    rows
}

/// Settings of a lens run. Pinning and window have no meaning there.
fn lens_rows(head: &RunHead, lens: &LensSettings, cpus: &str) -> Vec<(&'static str, String)> {
    let settings = &head.settings;
    let (subject, words) = match head.subject(SubjectIndex::A).map(|subject| &subject.what) {
        Some(SubjectKind::Program { argv }) => ("program", argv.join(" ")),
        Some(SubjectKind::Kernel { image, command_line }) => {
            ("kernel", format!("{image}, command line: {command_line}"))
        }
        Some(SubjectKind::Machine { image, command_line, modules }) => {
            let modules = modules.iter().map(|module| format!(", module: {module}")).collect::<String>();
            ("machine", format!("{image}, command line: {command_line}{modules}"))
        }
        Some(SubjectKind::System) | None => ("system", "unmodified".to_owned()),
    };
    let mut rows = vec![
        (subject, words),
        ("CPUs", cpus.to_owned()),
        ("sockets", lens.sockets.to_string()),
        ("costs", lens.costs.clone()),
        ("repeats", settings.repeats.to_string()),
    ];
    let counts = [
        ("CPUs per shared cache", lens.cpus_per_cache.map(u64::from)),
        ("operations per task", lens.operations_per_task),
        ("quantum in clocks", lens.quantum),
        ("private quantum in clocks", lens.private_quantum),
        ("size", settings.size),
    ];
    rows.extend(counts.into_iter().filter_map(|(key, count)| Some((key, count?.to_string()))));
    rows.extend(lens.budgets.iter().map(|budget| ("budget", budget.to_string())));
    rows
}

fn pinning(pin: PinPolicy) -> &'static str {
    match pin {
        PinPolicy::Each => "each task on a CPU of its own",
        PinPolicy::None => "left to the scheduler",
    }
}
