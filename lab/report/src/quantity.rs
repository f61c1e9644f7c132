//! What was measured of each commit, in words.

use faultline_model::count::Count;
use faultline_model::plan::LineSearch;

/// What was measured: a count of the lens, or time if `None`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quantity(Option<Count>);

impl Quantity {
    pub(crate) fn of(search: &LineSearch) -> Self {
        Quantity(search.measure.counted().map(|counted| counted.what))
    }

    pub(crate) fn counted(what: Option<Count>) -> Self {
        Quantity(what)
    }

    /// With an article.
    pub(crate) fn name(self) -> &'static str {
        match self.0 {
            None => "the time",
            Some(Count::Instructions) => "the instructions",
            Some(Count::Transfers) => "the transfers of cache lines",
        }
    }

    /// The heading of a column with values.
    pub(crate) fn heading(self) -> &'static str {
        match self.0 {
            None => "time",
            Some(Count::Instructions) => "instructions",
            Some(Count::Transfers) => "transfers",
        }
    }

    /// The heading of the column with changes.
    pub(crate) fn change(self) -> &'static str {
        match self.0 {
            None => "change of time",
            Some(Count::Instructions) => "instructions",
            Some(Count::Transfers) => "transfers",
        }
    }

    /// What a program is after a change for the worse.
    pub(crate) fn worse(self) -> &'static str {
        match self.0 {
            None => "slower",
            Some(Count::Instructions) => "more instructions",
            Some(Count::Transfers) => "more transfers",
        }
    }

    /// The option that allows more executions of a commit.
    pub(crate) fn more_executions(self) -> &'static str {
        match self.0 {
            None => "allow more executions (`--repeats`)",
            Some(_) => "allow more seeds (`--seeds`)",
        }
    }

    /// What no commit did if a gate is open.
    pub(crate) fn to_worsen(self) -> &'static str {
        match self.0 {
            None => "to have made it slower",
            Some(Count::Instructions) => "to have added instructions",
            Some(Count::Transfers) => "to have added transfers",
        }
    }
}

#[cfg(test)]
impl Quantity {
    pub(crate) const TIME: Self = Quantity(None);
    pub(crate) const TRANSFERS: Self = Quantity(Some(Count::Transfers));
}
