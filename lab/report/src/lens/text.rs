//! A lens run's table for people.

use crate::grid::Grid;
use crate::lens::{tables, words};
use crate::run::words as run_words;
use crate::style::{Style, Tone};
use faultline_model::lens::summary::{LensCurve, LensPoint, LensSummary};
use faultline_model::summary::RunSummary;
use textwrap::core::display_width;

/// Lines and places in code shown of each case.
const SHOWN: usize = 10;

/// The whole table with head, warnings and legend.
pub(crate) fn text(summary: &RunSummary, lens: &LensSummary, style: &Style) -> String {
    let mut page = Page { style, text: String::new() };
    page.head(summary, lens);
    if lens.curves.is_empty() {
        page.line("Nothing was planned.");
        return page.text;
    }
    let lines = fitting(lens, style);
    let (headings, mut rows) = lines.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    page.line(&style.paint(Tone::Title, headings));
    for curve in &lens.curves {
        let (own, others) = rows.split_at(curve.points.len());
        rows = others;
        page.curve(curve, own);
    }
    page.warnings(summary);
    page.line("");
    for sentence in words::LEGEND {
        page.paragraph(Some(Tone::Quiet), "", sentence);
    }
    page.text
}

/// A text that grows line by line.
pub(super) struct Page<'a> {
    pub(super) style: &'a Style,
    pub(super) text: String,
}

impl Page<'_> {
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A paragraph, wrapped, all its lines indented.
    pub(super) fn paragraph(&mut self, tone: Option<Tone>, indent: &str, paragraph: &str) {
        for line in self.style.wrap(paragraph, indent, indent) {
            let painted = tone.map(|tone| self.style.paint(tone, &line));
            self.line(painted.as_deref().unwrap_or(&line));
        }
    }

    /// A heading and a grid below it, indented.
    pub(super) fn table(&mut self, heading: &str, grid: &Grid) {
        const INDENT: &str = "    ";
        self.line("");
        self.paragraph(None, "  ", heading);
        let narrower = Style { width: self.style.width.map(|width| width.saturating_sub(INDENT.len())), ..*self.style };
        for line in grid.text(&narrower).lines() {
            self.line(&format!("{INDENT}{line}"));
        }
    }

    fn head(&mut self, summary: &RunSummary, lens: &LensSummary) {
        let signs = self.style.signs();
        let machine = run_words::one_line(&summary.machine);
        let title = format!("{} {} {machine}", run_words::title(summary, signs), signs.dash);
        self.paragraph(Some(Tone::Title), "", &title);
        self.paragraph(None, "", &run_words::standing(summary, signs));
        self.paragraph(None, "", &words::subject(lens, signs));
        self.line("");
    }

    fn curve(&mut self, curve: &LensCurve, rows: &[String]) {
        let dot = self.style.signs().dot;
        let name = run_words::one_line(&curve.case.to_string());
        let title = self.style.paint(Tone::Title, &name);
        self.line("");
        self.line(&format!(
            "{title} {dot} {} {dot} per {}",
            run_words::tasks_are(curve.case.mode),
            run_words::one_line(&curve.operation)
        ));
        self.paragraph(Some(words::tone(&curve.verdict)), "  ", &words::verdict(curve));
        if !curve.text.is_empty() {
            self.paragraph(Some(Tone::Quiet), "  ", &run_words::one_line(&curve.text));
        }
        for (point, row) in curve.points.iter().zip(rows) {
            self.point(point, row);
        }
        if let Some(point) = words::shown_point(curve) {
            self.top(point);
        }
    }

    /// A row of figures, and in words what is amiss.
    fn point(&mut self, point: &LensPoint, row: &str) {
        const INDENT: &str = "         ";
        let amiss = words::amiss(point);
        if point.transfers.is_some() {
            self.line(row);
            for words in amiss {
                self.paragraph(Some(Tone::Bad), INDENT, &words);
            }
            return;
        }
        let text = format!("{:>7}  {}", point.cpus, amiss.join("; "));
        for line in self.style.wrap(&text, "", INDENT) {
            let painted = self.style.paint(Tone::Bad, &line);
            self.line(&painted);
        }
    }

    fn top(&mut self, point: &LensPoint) {
        let at = words::cpus(point.cpus);
        if !point.lines.is_empty() {
            let heading = format!("top lines at {at}, of {} that moved", point.lines_moved);
            self.table(&heading, &tables::lines_for(self.style)(&point.lines, SHOWN));
        }
        if !point.code.is_empty() {
            self.table(&format!("top code at {at}"), &tables::code(&point.code, SHOWN));
        }
    }

    fn warnings(&mut self, summary: &RunSummary) {
        for warning in &summary.warnings {
            let cells = run_words::cells(&warning.cells).map_or_else(String::new, |cells| format!(" [{cells}]"));
            self.line("");
            let text = format!("{}: {}{cells}", warning.code.word(), run_words::one_line(&warning.text));
            self.paragraph(Some(Tone::Middling), "", &text);
        }
    }
}

/// The lines of the points' grid, with intervals where they fit.
fn fitting(lens: &LensSummary, style: &Style) -> Vec<String> {
    let room = style.width.unwrap_or(usize::MAX);
    let wide = points(lens, true, style).lines();
    if wide.iter().all(|line| display_width(line) <= room) { wide } else { points(lens, false, style).lines() }
}

fn points(lens: &LensSummary, interval: bool, style: &Style) -> Grid {
    let mut grid = Grid::new(&tables::point_columns(interval));
    for curve in &lens.curves {
        for point in &curve.points {
            grid.row(tables::point_row(curve, point, interval, style.signs()));
        }
    }
    grid
}
