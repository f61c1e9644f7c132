//! A run's table for people: one set of columns for all curves, a heading above each curve, words below its rows.

use crate::figure::{self, Scale};
use crate::grid::{Grid, Side};
use crate::run::{legend, words};
use crate::style::{Signs, Style, Tone};
use faultline_model::summary::{Curve, Point, RunSummary};
use textwrap::core::display_width;

/// The whole table with head, warnings and legend.
pub(crate) fn text(summary: &RunSummary, style: &Style) -> String {
    let mut page = Page { style, text: String::new() };
    page.head(summary);
    page.curves(summary);
    page.warnings(summary);
    page.legend(summary);
    page.text
}

/// How much stands in a row, from most to least; the first that fits is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Interval of rate, speed-up and efficiency.
    Wide,
    /// Interval of rate and efficiency.
    Medium,
    /// Half-widths in place of intervals.
    Narrow,
}

struct Page<'a> {
    style: &'a Style,
    text: String,
}

impl Page<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A paragraph, wrapped; lines after the first are indented by `indent`.
    fn paragraph(&mut self, tone: Option<Tone>, indent: &str, paragraph: &str) {
        self.wrapped(tone, &self.style.wrap(paragraph, indent, indent));
    }

    fn wrapped(&mut self, tone: Option<Tone>, lines: &[String]) {
        for line in lines {
            let painted = tone.map(|tone| self.style.paint(tone, line));
            self.line(painted.as_deref().unwrap_or(line));
        }
    }

    fn head(&mut self, summary: &RunSummary) {
        let signs = self.style.signs();
        let title = format!("{} {} {}", words::title(summary, signs), signs.dash, words::one_line(&summary.machine));
        self.paragraph(Some(Tone::Title), "", &title);
        self.paragraph(None, "", &words::standing(summary, signs));
        self.line("");
    }

    fn curves(&mut self, summary: &RunSummary) {
        if summary.curves.is_empty() {
            self.line("No workload has been run.\n");
            return;
        }
        let lines = fitting(summary, self.style);
        let (headings, mut rows) = lines.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        let headings = self.style.paint(Tone::Title, headings);
        self.line(&headings);
        for curve in &summary.curves {
            let (own, others) = rows.split_at(curve.points.len());
            rows = others;
            self.curve(summary, curve, own);
        }
    }

    /// Name and verdict, what it does in which unit, then the points.
    fn curve(&mut self, summary: &RunSummary, curve: &Curve, rows: &[String]) {
        let signs = self.style.signs();
        let name = words::one_line(&curve.case.to_string());
        let mode = words::tasks_are(curve.case.mode);
        let verdict = words::verdict(summary, curve, signs);
        let tone = words::verdict_tone(curve.verdict);
        let title = self.style.paint(Tone::Title, &name);
        let dot = signs.dot;
        self.line("");
        if display_width(&format!("{name} {dot} {mode} {dot} {verdict}")) <= self.style.text_width() {
            let verdict = self.style.paint(tone, &verdict);
            self.line(&format!("{title} {dot} {mode} {dot} {verdict}"));
        } else {
            self.line(&format!("{title} {dot} {mode}"));
            self.paragraph(Some(tone), "  ", &verdict);
        }
        let unit = format!("{}, {} is better", words::one_line(&curve.unit), curve.direction.word());
        let about = if curve.text.is_empty() { unit } else { format!("{}; {unit}", words::one_line(&curve.text)) };
        self.paragraph(Some(Tone::Quiet), "  ", &about);
        for (point, row) in curve.points.iter().zip(rows) {
            self.point(point, row);
        }
    }

    /// A row of figures, or words in its place; and what failed besides.
    fn point(&mut self, point: &Point, row: &str) {
        let signs = self.style.signs();
        let shortfall = words::shortfall(point, signs);
        match (point.value.is_some(), shortfall) {
            (true, None) => self.line(row),
            (true, Some(words)) => {
                self.line(row);
                self.paragraph(Some(Tone::Bad), "         ", &words);
            }
            (false, words) => {
                let text = format!("{:>7}  {}", point.tasks, words.unwrap_or_default());
                self.wrapped(Some(Tone::Bad), &self.style.wrap(&text, "", "         "));
            }
        }
    }

    fn warnings(&mut self, summary: &RunSummary) {
        if summary.warnings.is_empty() {
            return;
        }
        self.line("");
        let title = self.style.paint(Tone::Title, "Warnings");
        self.line(&title);
        for warning in &summary.warnings {
            let code = self.style.paint(Tone::Middling, warning.code.word());
            let cells = words::cells(&warning.cells).map_or_else(String::new, |cells| format!(" [{cells}]"));
            self.line(&format!("  {code}"));
            self.paragraph(None, "    ", &format!("{}{cells}", words::one_line(&warning.text)));
        }
    }

    fn legend(&mut self, summary: &RunSummary) {
        if summary.curves.is_empty() {
            return;
        }
        self.line("");
        for sentence in legend::sentences(summary) {
            self.paragraph(Some(Tone::Quiet), "", &sentence);
        }
    }
}

/// The lines of the grid with the most detail that fits: headings, then a line per point of every curve.
fn fitting(summary: &RunSummary, style: &Style) -> Vec<String> {
    let room = style.width.unwrap_or(usize::MAX);
    let fits = |lines: &[String]| lines.iter().all(|line| display_width(line) <= room);
    for detail in [Detail::Wide, Detail::Medium] {
        let lines = grid(summary, detail, style.signs()).lines();
        if fits(&lines) {
            return lines;
        }
    }
    grid(summary, Detail::Narrow, style.signs()).lines()
}

fn grid(summary: &RunSummary, detail: Detail, signs: &Signs) -> Grid {
    let mut columns = vec![("  tasks", Side::Right), ("rate", Side::Right)];
    columns.push(("interval", if detail == Detail::Narrow { Side::Right } else { Side::Left }));
    columns.push(("speed-up", Side::Right));
    if detail == Detail::Wide {
        columns.push(("interval", Side::Left));
    }
    columns.push(("efficiency", Side::Right));
    if detail != Detail::Narrow {
        columns.push(("interval", Side::Left));
    }
    columns.extend([("system", Side::Right), ("n", Side::Right)]);
    let mut grid = Grid::new(&columns);
    for curve in &summary.curves {
        for point in &curve.points {
            grid.row(row(curve, point, detail, columns.len(), signs));
        }
    }
    grid
}

/// A point's cells; without a figure, empty ones that [`Page::point`] puts words in place of.
fn row(curve: &Curve, point: &Point, detail: Detail, columns: usize, signs: &Signs) -> Vec<String> {
    let none = || signs.none.to_owned();
    let mut row = vec![point.tasks.to_string()];
    let Some(value) = point.value else {
        row.resize(columns, String::new());
        return row;
    };
    let scale = Scale::of(value.median, &curve.unit, signs);
    row.push(scale.quantity(value.median));
    row.push(match detail {
        Detail::Narrow => figure::relative_margin(&value, signs),
        _ => scale.span(value.low, value.high, signs),
    });
    let base = curve.base_tasks == Some(point.tasks);
    row.push(if base { "base".to_owned() } else { point.speedup.map_or_else(none, |s| figure::plain(s.median)) });
    if detail == Detail::Wide {
        let span = |s: faultline_model::summary::Estimate| Scale::of(s.median, "", signs).span(s.low, s.high, signs);
        row.push(if base { String::new() } else { point.speedup.map_or_else(String::new, span) });
    }
    let efficiency = point.efficiency.filter(|_| !base);
    if detail == Detail::Narrow {
        row.push(efficiency.map_or_else(none, |e| figure::percent_margin(&e, signs)));
    } else {
        row.push(efficiency.map_or_else(none, |e| figure::percent(e.median)));
        row.push(efficiency.map_or_else(String::new, |e| figure::percent_span(&e, signs)));
    }
    row.push(point.system_share.map_or_else(none, |s| figure::percent_margin(&s, signs)));
    row.push(value.n.to_string());
    row
}
