//! A run of a history, as the series is made of it.

use faultline_model::history::HistoryResults;
use faultline_model::record::RunHead;

/// A run that measured commits of a history, with its results.
#[derive(Debug, Clone, Copy)]
pub struct HistoryRun<'a> {
    /// The run.
    pub head: &'a RunHead,
    /// Its results.
    pub results: &'a HistoryResults,
}
