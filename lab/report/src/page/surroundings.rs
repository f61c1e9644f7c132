//! What surrounds the figures: warnings, facts about the machine, what was asked for.

use crate::fact_words;
use crate::introduction;
use crate::moment;
use crate::one_line::one_line;
use crate::sentences;
use crate::style::UNICODE;
use faultline_model::facts::{FactValue, Facts};
use faultline_model::lens::settings::LensSettings;
use faultline_model::plan::{LineMeasure, PinPolicy, RunKind, Settings, TimedSettings};
use faultline_model::record::RunHead;
use faultline_model::subject::{SubjectIndex, SubjectKind};
use faultline_model::summary::RunSummary;
use maud::{Markup, html as markup};
use std::collections::BTreeMap;

/// What may make the figures lie.
pub(crate) fn warnings(summary: &RunSummary) -> Markup {
    markup! {
        @if !summary.warnings.is_empty() {
            section #warnings aria-labelledby="warnings-title" {
                h2 #warnings-title { "Warnings" }
                ul.warnings {
                    @for warning in &summary.warnings {
                        li {
                            b { (warning.code().word()) } " " (one_line(&sentences::warning(warning)))
                            @if let Some(cells) = introduction::cells(&warning.cells) { " " span.cells { (cells) } }
                        }
                    }
                }
            }
        }
    }
}

/// Facts about the machine, by section; a session that began on a changed machine says so.
pub(crate) fn facts(head: &RunHead) -> Markup {
    let sessions = head.sessions.len();
    markup! {
        section #facts aria-labelledby="facts-title" {
            h2 #facts-title { "Facts" }
            @match head.facts() {
                None => p.nothing { "Nothing is known of the machine." },
                Some(facts) => {
                    @if sessions > 1 { p.hint { "At the start of the run; it was resumed " (sessions - 1) " times." } }
                    (fact_list(facts))
                }
            }
        }
    }
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

/// A fact in words; the pointer shows its key, and the value as it was found.
fn fact(key: &str, value: &FactValue) -> Markup {
    let found = one_line(&format!("{key} = {value}"));
    markup! { dt title=(found) { (fact_words::name(key)) } dd title=(found) { (fact_words::value(key, value, &UNICODE)) } }
}

/// Facts by their heading, in the order of the headings.
fn sections(facts: &BTreeMap<String, FactValue>) -> BTreeMap<(usize, &str), Vec<(&str, &FactValue)>> {
    let mut sections: BTreeMap<(usize, &str), Vec<(&str, &FactValue)>> = BTreeMap::new();
    for (key, value) in facts {
        sections.entry(fact_words::heading(key)).or_default().push((key, value));
    }
    sections
}

/// What was asked for.
pub(crate) fn settings(summary: &RunSummary, head: &RunHead) -> Markup {
    markup! {
        section #settings aria-labelledby="settings-title" {
            h2 #settings-title { "Settings" }
            dl.settings {
                @for (key, value) in rows(head) { dt { (key) } dd { (one_line(&value)) } }
                dt { "executions" } dd { (introduction::progress(&summary.progress)) }
                @for session in head.sessions.iter().skip(1) { dt { "resumed" } dd { (moment::words(session.started)) } }
                dt { "format of the JSON" } dd { (summary.format) }
            }
        }
    }
}

fn rows(head: &RunHead) -> Vec<(&'static str, String)> {
    let settings = &head.settings;
    let tasks: Vec<String> = settings.cpus.iter().map(u32::to_string).collect();
    match &settings.kind {
        RunKind::Lens(lens) => lens_rows(head, lens, &tasks.join(", ")),
        RunKind::Timed(timed) => timed_rows(settings, timed, &tasks.join(", ")),
        RunKind::Comparison(comparison) => timed_rows(settings, &comparison.timed, &tasks.join(", ")),
        RunKind::Drill(drill) => line_rows(head, &drill.measure, &tasks.join(", ")),
        RunKind::History(history) => line_rows(head, &history.measure, &tasks.join(", ")),
    }
}

fn line_rows(head: &RunHead, measure: &LineMeasure, tasks: &str) -> Vec<(&'static str, String)> {
    match measure {
        LineMeasure::Timed(timed) => timed_rows(&head.settings, timed, tasks),
        LineMeasure::Counted(counted) => lens_rows(head, &counted.lens, tasks),
    }
}

fn timed_rows(settings: &Settings, timed: &TimedSettings, tasks: &str) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("suite", timed.suite.clone().unwrap_or_else(|| "chosen workloads".to_owned())),
        ("tasks", tasks.to_owned()),
        ("repeats", settings.repeats.to_string()),
        ("seed of the order", settings.seed.to_string()),
        ("pinning", pinning(timed.pin).to_owned()),
        ("more tasks than CPUs", if timed.oversubscribe { "asked for" } else { "not asked for" }.to_owned()),
        ("copies of a tree at once", timed.copies.to_string()),
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

/// What was asked of the lens. Pinning and window mean nothing there.
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
        Some(SubjectKind::System) | None => ("system", "as it is".to_owned()),
    };
    let mut rows = vec![
        (subject, words),
        ("CPUs", cpus.to_owned()),
        ("sockets", lens.sockets.to_string()),
        ("costs", lens.costs.clone()),
        ("repeats", settings.repeats.to_string()),
    ];
    let counts = [
        ("CPUs that share a cache", lens.cpus_per_cache.map(u64::from)),
        ("operations of each task", lens.operations_per_task),
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
