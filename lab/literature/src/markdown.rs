//! The literature's figures as pipe tables, one or two per source.

use super::improvement::{Improvement, Measured};
use super::select::Selection;
use super::sources::Source;
use super::text::figures_of;
use super::words::{legend, mean, percent, verdict};
use faultline_report::grid::{Grid, Side, escape_markdown};
use faultline_report::style::UNICODE;

/// The selection as Markdown.
pub(crate) fn markdown(selection: &Selection) -> String {
    let mut text = String::new();
    for source in &selection.sources {
        text.push_str(&head(source));
        for grid in [comparison_grid(selection, source), figures_of(selection, source, &UNICODE)].into_iter().flatten()
        {
            text.push_str(&format!("{}\n", grid.markdown()));
        }
    }
    text.push_str(&legend(&UNICODE).map(|sentence| escape_markdown(&sentence)).join("  \n"));
    text + "\n"
}

/// A source's name, and what it is.
pub(crate) fn head(source: &Source) -> String {
    let [name, citation, about] = [source.name, source.citation, source.about].map(escape_markdown);
    format!("**{name}** — {citation}: {about}.\n\n")
}

/// What is said of a claim, and the remark on it.
pub(crate) fn with_remark(said: String, comparison: &Improvement) -> String {
    match comparison.remark {
        Some(remark) => format!("{said}; {remark}"),
        None => said,
    }
}

/// A source's comparisons as one pipe table, every metric.
fn comparison_grid(selection: &Selection, source: &Source) -> Option<Grid> {
    let mut grid = Grid::new(&[
        ("test", Side::Left),
        ("machine", Side::Left),
        ("load", Side::Left),
        ("figure", Side::Left),
        ("before", Side::Right),
        ("n", Side::Right),
        ("after", Side::Right),
        ("n", Side::Right),
        ("gain", Side::Right),
        ("saved", Side::Right),
        ("claimed", Side::Left),
    ]);
    selection.comparisons_of(source).next()?;
    for comparison in selection.comparisons_of(source) {
        let subject = &comparison.subject;
        let n = |side: &Option<Measured>| side.as_ref().map_or(0, |side| side.n).to_string();
        grid.row(vec![
            subject.test.clone(),
            subject.machine.clone(),
            subject.load_and_note(),
            comparison.metric.word().to_owned(),
            mean(comparison.before.as_ref(), &comparison.unit, &UNICODE),
            n(&comparison.before),
            mean(comparison.after.as_ref(), &comparison.unit, &UNICODE),
            n(&comparison.after),
            percent(comparison.gain_percent),
            percent(comparison.saved_percent),
            with_remark(verdict(comparison), comparison),
        ]);
    }
    Some(grid)
}
