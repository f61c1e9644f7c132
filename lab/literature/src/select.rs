//! Which of the literature's figures are meant by a name.

use super::improvement::{Improvement, improvements};
use super::raw::{SingleFigure, single_figures};
use super::sources::{SOURCES, Source};
use serde::Serialize;

/// Name and version of the JSON.
const FORMAT: &str = "faultline-published/1";

/// No source or test has this name, or contains it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no published {what} are named '{name}': sources are {}; tests are {}", sources.join(", "), tests.join(", "))]
pub struct UnknownName {
    /// What was looked for: `figures` or `comparisons`.
    pub what: &'static str,
    /// The name asked for.
    pub name: String,
    /// The sources that have some.
    pub sources: Vec<String>,
    /// The tests that there are.
    pub tests: Vec<String>,
}

/// What is shown: all of the literature, or a part of it.
#[derive(Debug, Serialize)]
pub(crate) struct Selection {
    pub format: &'static str,
    pub sources: Vec<Source>,
    pub comparisons: Vec<Improvement>,
    pub figures: Vec<SingleFigure>,
}

impl Selection {
    /// A source's comparisons.
    pub(crate) fn comparisons_of(&self, source: &Source) -> impl Iterator<Item = &Improvement> {
        self.comparisons.iter().filter(move |comparison| comparison.subject.source == source.name)
    }

    /// A source's single figures.
    pub(crate) fn figures_of(&self, source: &Source) -> impl Iterator<Item = &SingleFigure> {
        self.figures.iter().filter(move |figure| figure.source == source.name)
    }
}

/// The figures of the sources and tests whose names contain `name`; all without one.
pub(crate) fn select(name: Option<&str>) -> Result<Selection, UnknownName> {
    let wanted = Wanted::new(name);
    let all = (improvements(), single_figures());
    let comparisons: Vec<_> =
        all.0.iter().filter(|c| wanted.holds(c.subject.source, &c.subject.test)).cloned().collect();
    let figures: Vec<_> = all.1.iter().filter(|figure| wanted.holds(&figure.source, &figure.test)).cloned().collect();
    let sources = sources_of(&comparisons, &figures);
    if sources.is_empty() {
        return Err(unknown("figures", name, &all.0, &all.1));
    }
    Ok(Selection { format: FORMAT, sources, comparisons, figures })
}

/// Sources that these come from, by date.
pub(crate) fn sources_of(comparisons: &[Improvement], figures: &[SingleFigure]) -> Vec<Source> {
    let used = |source: &&Source| {
        comparisons.iter().any(|c| c.subject.source == source.name) || figures.iter().any(|f| f.source == source.name)
    };
    SOURCES.iter().filter(used).copied().collect()
}

/// That no `what` of these has the name asked for.
pub(crate) fn unknown(
    what: &'static str,
    name: Option<&str>,
    comparisons: &[Improvement],
    figures: &[SingleFigure],
) -> UnknownName {
    let all = comparisons.iter().map(|c| &c.subject.test).chain(figures.iter().map(|figure| &figure.test));
    let mut tests: Vec<String> = Vec::new();
    for test in all {
        if !tests.contains(test) {
            tests.push(test.clone());
        }
    }
    let sources = sources_of(comparisons, figures).iter().map(|source| source.name.to_owned()).collect();
    UnknownName { what, name: name.unwrap_or_default().to_owned(), sources, tests }
}

/// Part of a source's or test's name; without one, every name is meant.
#[derive(Debug, Clone)]
pub(crate) struct Wanted(Option<String>);

impl Wanted {
    /// What `name` asks for.
    pub(crate) fn new(name: Option<&str>) -> Self {
        Wanted(name.map(normal))
    }

    /// Whether a test of a source is meant.
    pub(crate) fn holds(&self, source: &str, test: &str) -> bool {
        self.0.as_ref().is_none_or(|wanted| normal(source).contains(wanted) || normal(test).contains(wanted))
    }
}

/// Names of workloads have underscores, names of the literature's tests hyphens: both find both.
fn normal(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}
