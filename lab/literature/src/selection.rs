//! Which of the literature's figures are meant by a name.

use super::improvement::Improvement;
use super::raw::SingleFigure;
use super::sources::{SOURCES, Source};

/// No source or test has this name, or contains it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no published {what} are named '{name}'")]
pub struct UnknownName {
    /// What was looked for: `figures` or `comparisons`.
    pub what: &'static str,
    /// The name asked for.
    pub name: String,
    /// The sources that have some, then the tests that there are.
    pub known: Vec<String>,
}

impl UnknownName {
    /// That none of these has the name asked for.
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

/// Sources that these come from, by date.
pub(crate) fn sources_of(improvements: &[Improvement], singles: &[SingleFigure]) -> Vec<Source> {
    let used = |source: &&Source| {
        improvements.iter().any(|i| i.subject.source == source.name) || singles.iter().any(|f| f.source == source.name)
    };
    SOURCES.iter().filter(used).copied().collect()
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
