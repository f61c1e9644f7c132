//! Selects figures of the literature by name.

use super::improvement::Improvement;
use super::raw::SingleFigure;
use super::sources::{SOURCES, Source};

/// No source or test contains this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no published {what} have '{name}' in their name")]
pub struct UnknownName {
    /// What was looked for: `figures` or `comparisons`.
    pub what: &'static str,
    /// The name asked for.
    pub name: String,
    /// The sources that have such figures, then the tests.
    pub known: Vec<String>,
}

impl UnknownName {
    /// The error that none of these has the requested name.
    pub(crate) fn new(
        what: &'static str,
        name: Option<&str>,
        improvements: &[Improvement],
        singles: &[SingleFigure],
    ) -> Self {
        let mut known: Vec<String> =
            sources_of(improvements, singles).iter().map(|source| source.name.to_owned()).collect();
        let tests = improvements.iter().map(|i| &i.subject.test).chain(singles.iter().map(|figure| &figure.test));
        for test in tests {
            if !known.contains(test) {
                known.push(test.clone());
            }
        }
        UnknownName { what, name: name.unwrap_or_default().to_owned(), known }
    }
}

/// The sources of these figures, by date.
pub(crate) fn sources_of(improvements: &[Improvement], singles: &[SingleFigure]) -> Vec<Source> {
    let used = |source: &&Source| {
        improvements.iter().any(|i| i.subject.source == source.name) || singles.iter().any(|f| f.source == source.name)
    };
    SOURCES.iter().filter(used).copied().collect()
}

/// Part of a source's or test's name; without a name, everything is selected.
#[derive(Debug, Clone)]
pub(crate) struct Wanted(Option<String>);

impl Wanted {
    /// The selection by `name`.
    pub(crate) fn new(name: Option<&str>) -> Self {
        Wanted(name.map(normal))
    }

    /// Whether a test of a source is selected.
    pub(crate) fn holds(&self, source: &str, test: &str) -> bool {
        self.0.as_ref().is_none_or(|wanted| normal(source).contains(wanted) || normal(test).contains(wanted))
    }
}

/// Names of workloads have underscores, names of the literature's tests have hyphens; each finds the other.
fn normal(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}
