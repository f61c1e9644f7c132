//! The literature's figures for people.

use super::improvement::{Improvement, Measured};
use super::raw::Metric;
use super::select::Selection;
use super::sources::Source;
use super::words::{legend, mean, percent, verdict};
use faultline_report::Style;
use faultline_report::figure::printed;
use faultline_report::grid::{Grid, Side};
use faultline_report::style::{Signs, Tone};

/// The selection as text.
pub(crate) fn text(selection: &Selection, style: &Style) -> String {
    let mut text = String::new();
    for source in &selection.sources {
        text.push_str(&head(source, style));
        text.push_str(&comparisons_of(selection, source, style));
        text.push_str(&figures_of(selection, source, style.signs()).map_or_else(String::new, |grid| grid.text(style)));
        text.push('\n');
    }
    for sentence in legend(style.signs()) {
        text.push_str(&paragraph(&sentence, style));
    }
    text
}

/// A source's name, and below it what it is.
pub(crate) fn head(source: &Source, style: &Style) -> String {
    let about = paragraph(&format!("{}: {}.", source.citation, source.about), style);
    format!("{}\n{about}", style.paint(Tone::Title, source.name))
}

/// A wrapped, quiet paragraph.
pub(crate) fn paragraph(text: &str, style: &Style) -> String {
    style.wrap(text, "", "").iter().map(|line| format!("{}\n", style.paint(Tone::Quiet, line))).collect()
}

/// A source's comparisons: a heading per thing measured, below it a line per metric.
fn comparisons_of(selection: &Selection, source: &Source, style: &Style) -> String {
    let shown: Vec<&Improvement> = selection
        .comparisons_of(source)
        .filter(|comparison| comparison.metric != Metric::User && comparison.metric != Metric::Bandwidth)
        .collect();
    if shown.is_empty() {
        return String::new();
    }
    let signs = style.signs();
    let mut grid = Grid::new(&[
        ("        ", Side::Left),
        ("before", Side::Right),
        ("n", Side::Right),
        ("after", Side::Right),
        ("n", Side::Right),
        ("gain", Side::Right),
        ("saved", Side::Right),
        ("claimed", Side::Left),
    ]);
    for comparison in &shown {
        let [before, after] = [&comparison.before, &comparison.after];
        let n = |side: &Option<Measured>| side.as_ref().map_or_else(String::new, |side| side.n.to_string());
        grid.row(vec![
            format!("  {}", comparison.metric.word()),
            mean(before.as_ref(), &comparison.unit, signs),
            n(before),
            mean(after.as_ref(), &comparison.unit, signs),
            n(after),
            percent(comparison.gain_percent),
            percent(comparison.saved_percent),
            verdict(comparison),
        ]);
    }
    interleave(&shown, &grid.lines(), style)
}

/// Puts a heading above the lines of each subject, and remarks below theirs. The first of `lines` are the columns' names.
pub(crate) fn interleave(shown: &[&Improvement], lines: &[String], style: &Style) -> String {
    let mut text = format!("{}\n", style.paint(Tone::Title, &lines[0]));
    let mut subject = None;
    for (comparison, line) in shown.iter().zip(&lines[1..]) {
        if subject != Some(&comparison.subject) {
            subject = Some(&comparison.subject);
            text.push_str(&format!("{}\n", heading(comparison, style)));
        }
        text.push_str(&format!("{line}\n"));
        if let Some(remark) = comparison.remark {
            text.push_str(&format!("  {}\n", style.paint(Tone::Middling, &format!("  claimed otherwise: {remark}"))));
        }
    }
    text
}

/// What was measured, in one line.
fn heading(comparison: &Improvement, style: &Style) -> String {
    let subject = &comparison.subject;
    let release = |side: &Option<Measured>| side.as_ref().map(|side| side.release.clone());
    let sides: Vec<String> = [&comparison.before, &comparison.after].into_iter().filter_map(release).collect();
    let dot = style.signs().dot;
    let mut words = vec![subject.machine.clone(), subject.load.clone(), sides.join(" to ")];
    words.extend((!subject.note.is_empty()).then(|| subject.note.clone()));
    format!("{} {dot} {}", style.paint(Tone::Title, &subject.test), words.join(&format!(" {dot} ")))
}

/// A source's single figures.
pub(crate) fn figures_of(selection: &Selection, source: &Source, signs: &Signs) -> Option<Grid> {
    let mut grid =
        Grid::new(&[("test", Side::Left), ("machine", Side::Left), ("figure", Side::Right), ("note", Side::Left)]);
    let mut empty = true;
    for figure in selection.figures_of(source) {
        empty = false;
        grid.row(vec![
            figure.test.clone(),
            figure.machine.clone(),
            printed(figure.value, &figure.unit, signs),
            figure.note.clone(),
        ]);
    }
    (!empty).then_some(grid)
}
