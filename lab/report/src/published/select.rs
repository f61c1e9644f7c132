//! Which of the literature's figures are meant by a name.

use super::comparison::{Comparison, comparisons};
use super::raw::{SingleFigure, single_figures};
use super::sources::{SOURCES, Source};
use serde::Serialize;

/// Name and version of the JSON.
const FORMAT: &str = "faultline-published/1";

/// No source or test has this name, or contains it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no published figures named '{name}': sources are {}; tests are {}", sources.join(", "), tests.join(", "))]
pub struct UnknownName {
    /// The name asked for.
    pub name: String,
    /// The sources that there are.
    pub sources: Vec<String>,
    /// The tests that there are.
    pub tests: Vec<String>,
}

/// What is shown: all of the literature, or a part of it.
#[derive(Debug, Serialize)]
pub(crate) struct Selection {
    pub format: &'static str,
    pub sources: Vec<Source>,
    pub comparisons: Vec<Comparison>,
    pub figures: Vec<SingleFigure>,
}

impl Selection {
    /// A source's comparisons.
    pub(crate) fn comparisons_of(&self, source: &Source) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().filter(move |comparison| comparison.subject.source == source.name)
    }

    /// A source's single figures.
    pub(crate) fn figures_of(&self, source: &Source) -> impl Iterator<Item = &SingleFigure> {
        self.figures.iter().filter(move |figure| figure.source == source.name)
    }
}

/// The figures of the sources and tests whose names contain `name`; all without one.
pub(crate) fn select(name: Option<&str>) -> Result<Selection, UnknownName> {
    let wanted = name.map(normal);
    let matches = |source: &str, test: &str| {
        wanted.as_ref().is_none_or(|wanted| normal(source).contains(wanted) || normal(test).contains(wanted))
    };
    let all = (comparisons(), single_figures());
    let comparisons: Vec<_> = all.0.iter().filter(|c| matches(c.subject.source, &c.subject.test)).cloned().collect();
    let figures: Vec<_> = all.1.iter().filter(|figure| matches(&figure.source, &figure.test)).cloned().collect();
    let used = |source: &&Source| {
        comparisons.iter().any(|c| c.subject.source == source.name) || figures.iter().any(|f| f.source == source.name)
    };
    let sources: Vec<Source> = SOURCES.iter().filter(used).copied().collect();
    if sources.is_empty() {
        return Err(unknown(name.unwrap_or_default(), &all.0, &all.1));
    }
    Ok(Selection { format: FORMAT, sources, comparisons, figures })
}

fn unknown(name: &str, comparisons: &[Comparison], figures: &[SingleFigure]) -> UnknownName {
    let all = comparisons.iter().map(|c| &c.subject.test).chain(figures.iter().map(|figure| &figure.test));
    let mut tests: Vec<String> = Vec::new();
    for test in all {
        if !tests.contains(test) {
            tests.push(test.clone());
        }
    }
    UnknownName { name: name.to_owned(), sources: SOURCES.iter().map(|source| source.name.to_owned()).collect(), tests }
}

/// Names of workloads have underscores, names of the literature's tests hyphens: both find both.
fn normal(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}
