//! The page of a search along commits: its answer, a picture of the course, the probability of a
//! step and the steps, and the tried commits.
//!
//! The picture is SVG without a script. Places across are shares of its width and heights are
//! pixels, so it fits every screen with readable text.

use super::{page_in, run_words};
use crate::bisect::{known_of_steps, table, words};
use crate::escape::{cut, one_line};
use crate::names::{asked, commit_at, counted, short_commit};
use crate::page::delivery::{Delivery, Site};
use crate::page::document::{preformatted, section};
use crate::page::element;
use crate::quantity::QuantityWords;
use crate::style::{Style, UNICODE};
use crate::table::{Column, ResultTable};
use faultline_record::plan::LineSearch;
use faultline_record::record::RunHead;
use faultline_stats::bisect::{BisectResult, Change, FoundStep, TriedCommit};
use maud::{Markup, html as markup};

/// Height of the course in pixels.
const COURSE: f64 = 190.0;
/// Height of the probability below it.
const CHANCE: f64 = 56.0;
/// Room above the course for labels of steps.
const ABOVE: f64 = 22.0;
/// Room between the two parts for words.
const BETWEEN: f64 = 30.0;
/// Place of the first commit, in percent of the width.
const LEFT: f64 = 11.0;
/// Place of the last commit.
const RIGHT: f64 = 97.0;
/// Letters of a commit's subject.
const LETTERS: usize = 72;
/// An interval is clipped at this multiple of the range of the levels beyond them.
const BEYOND: f64 = 0.5;

/// The page of a search along commits as HTML. The page loads nothing from elsewhere. Empty for
/// another run.
pub fn bisect_html(found: &BisectResult, head: &RunHead) -> String {
    page_of(found, head, &Delivery::Alone)
}

/// The page of a search along commits in a site.
pub fn bisect_page(found: &BisectResult, head: &RunHead, site: &Site) -> String {
    page_of(found, head, &Delivery::Site(site))
}

fn page_of(found: &BisectResult, head: &RunHead, delivery: &Delivery<'_>) -> String {
    let Some(search) = head.settings.bisect() else { return String::new() };
    let about = markup! {
        (element::answer(words::answer(found, head, search)))
        p.machine { (search.measure.quantity().heading()) " of " code { (one_line(&search.artefact.words())) } }
        p.standing { (run_words(head)) }
        @if let Delivery::Site(site) = delivery {
            nav aria-label="Related pages" { a href=(site.executions(head.id)) { "Executions" } }
        }
    };
    let (_, explained) = known_of_steps(found, head, &Style { unicode: true, ..Style::PLAIN });
    let sentences = words::sentences(found, head, search);
    let parts = markup! {
        @if !found.course.is_empty() { (section("search", "The search", picture(found, search))) }
        @if !found.steps.is_empty() { (section("steps", "Steps", table(found, search).html("Steps, oldest first"))) }
        (section("result", "Result", markup! { @for sentence in &sentences { p { (sentence) } } }))
        @if !explained.is_empty() {
            (section("explained", "Differences", preformatted("Files and built programs that differ", explained.trim_start())))
        }
        @if !found.course.is_empty() { (section("commits", "Commits", tried(found, search))) }
    };
    page_in(delivery, &asked(head, &UNICODE), about, parts, None::<&()>)
}

/// The tried commits as a table, with the numbers of the picture.
fn tried(found: &BisectResult, search: &LineSearch) -> Markup {
    type Row<'a> = (&'a TriedCommit, &'a LineSearch);
    fn level(row: &Row<'_>, words: impl Fn(&Change) -> String) -> String {
        row.0.level.as_ref().map_or_else(|| UNICODE.none.to_owned(), words)
    }
    let columns = vec![
        Column::page("commit", |(tried, search): &Row<'_>| {
            let id = commit_at(&search.line, tried.position).map_or("", |commit| commit.id.as_str());
            markup! { code { (short_commit(&search.line, tried.position)) } (element::on_forge(search.forge.as_deref(), id)) }
        })
        .row_heading(),
        Column::right("position", |(tried, _): &Row<'_>, _| tried.position.to_string()),
        Column::left(search.measure.quantity().change(), |row: &Row<'_>, _| match row.0.level {
            Some(change) if change.low == change.high => percent(change.ratio),
            Some(change) => words::change_words(&change),
            None => "cannot be measured".to_owned(),
        }),
        Column::right("n", |row: &Row<'_>, _| level(row, |change| change.units.to_string())),
        Column::left("subject", |(tried, search): &Row<'_>, _| {
            commit_at(&search.line, tried.position).map_or_else(String::new, |commit| cut(&one_line(&commit.subject), LETTERS))
        })
        .class("name"),
    ];
    let rows = found.course.iter().map(|tried| (tried, search));
    ResultTable::new(columns, rows).html("Tried commits, oldest first, relative to the first")
}

/// A ratio as a signed percentage.
fn percent(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * (ratio - 1.0))
}

/// Places in the picture.
struct Frame {
    last: f64,
    low: f64,
    high: f64,
}

impl Frame {
    /// The frame of all levels. Intervals widen it only by a part of the levels' range.
    fn of(levels: &[(u32, Change)], last: u32) -> Self {
        let least =
            |value: fn(&Change) -> f64| levels.iter().map(|(_, change)| value(change)).fold(f64::INFINITY, f64::min);
        let most = |value: fn(&Change) -> f64| {
            levels.iter().map(|(_, change)| value(change)).fold(f64::NEG_INFINITY, f64::max)
        };
        let (low, high) = (least(|change| change.ratio), most(|change| change.ratio));
        let room = (high - low).max(0.01) * BEYOND;
        let low = least(|change| change.low).max(low - room);
        let high = most(|change| change.high).min(high + room);
        let edge = (high - low).max(0.01) * 0.08;
        Frame { last: f64::from(last.max(1)), low: low - edge, high: high + edge }
    }

    /// The place of a commit, in percent.
    fn x(&self, position: f64) -> String {
        format!("{:.3}%", LEFT + (RIGHT - LEFT) * position / self.last)
    }

    fn y(&self, ratio: f64) -> f64 {
        ABOVE + COURSE * (1.0 - (ratio.clamp(self.low, self.high) - self.low) / (self.high - self.low))
    }

    fn is_clipped(&self, change: &Change) -> bool {
        change.low < self.low || change.high > self.high
    }
}

fn picture(found: &BisectResult, search: &LineSearch) -> Markup {
    let last = search.line.last();
    let levels: Vec<(u32, Change)> = found.course.iter().filter_map(|one| Some((one.position, one.level?))).collect();
    let frame = Frame::of(&levels, last);
    let bottom = ABOVE + COURSE;
    let height = bottom + BETWEEN + CHANCE + 24.0;
    let unusable = found.course.iter().filter(|one| one.level.is_none());
    let label = format!(
        "Course of the search: {} of {} with a level, {}",
        levels.len(),
        counted(last + 1, "commit"),
        counted(found.steps.len() as u64, "step")
    );
    let is_clipped = levels.iter().any(|(_, change)| frame.is_clipped(change));
    markup! {
        figure.search {
            svg role="img" aria-label=(label) width="100%" height=(height) {
                @for ratio in lines(&frame) {
                    @let y = format!("{:.1}", frame.y(ratio));
                    line.grid x1="0" x2="100%" y1=(y) y2=(y) {}
                    text.tick x="0" y=(y) dy="-3" { (percent(ratio)) }
                }
                @for step in &found.steps { (step_line(step, search, &frame, bottom + BETWEEN + CHANCE)) }
                @for pair in levels.windows(2) {
                    line.course x1=(frame.x(pair[0].0.into())) y1=(frame.y(pair[0].1.ratio))
                        x2=(frame.x(pair[1].0.into())) y2=(frame.y(pair[1].1.ratio)) {}
                }
                @for (position, change) in &levels {
                    @let x = frame.x((*position).into());
                    line.interval.clipped[frame.is_clipped(change)] x1=(x) x2=(x) y1=(frame.y(change.low)) y2=(frame.y(change.high)) {}
                    circle.level cx=(x) cy=(frame.y(change.ratio)) r="4" {
                        title { (short_commit(&search.line, *position)) ": " (percent(change.ratio)) }
                    }
                }
                @for one in unusable { text.unusable x=(frame.x(one.position.into())) y=(bottom - 4.0) { "✕" } }
                text.tick x="0" y=(bottom + BETWEEN - 8.0) { "probability of a step" }
                @for (from, to, probability) in stretches(&found.probability_by_position) {
                    @let share = LEFT + (RIGHT - LEFT) * from / frame.last;
                    @let width = (RIGHT - LEFT) * (to - from) / frame.last;
                    rect.chance x=(format!("{share:.3}%")) width=(format!("{width:.3}%")) y=(bottom + BETWEEN + CHANCE * (1.0 - probability))
                        height=(CHANCE * probability) {}
                }
                line.axis x1="0" x2="100%" y1=(bottom + BETWEEN + CHANCE) y2=(bottom + BETWEEN + CHANCE) {}
                text.tick x="0" y=(height - 6.0) { (short_commit(&search.line, 0)) }
                text.tick.end x="100%" y=(height - 6.0) { (short_commit(&search.line, last)) }
            }
            figcaption {
                "Dots: tried commits, oldest on the left, with 95 % intervals, relative to the first. Crosses: commits that cannot be \
                 measured. Upright lines: steps. Bars: probability that a step lies between two tried commits."
                @if is_clipped { " Dotted intervals reach beyond the plot." }
            }
        }
    }
}

/// Levels with a line across: no change, and the ends of the frame.
fn lines(frame: &Frame) -> Vec<f64> {
    let edge = (frame.high - frame.low) * 0.08;
    let apart = (frame.high - frame.low) * 0.15;
    let mut lines = vec![1.0];
    lines.extend([frame.low + edge, frame.high - edge].into_iter().filter(|end| (end - 1.0).abs() > apart));
    lines
}

/// Positions with the same probability as one bar: from, to, and the whole probability.
fn stretches(by_position: &[f64]) -> Vec<(f64, f64, f64)> {
    let mut at = 0.0;
    by_position
        .chunk_by(|a, b| a == b)
        .map(|chunk| {
            let (from, number) = (at, chunk.len() as f64);
            at += number;
            (from, at, (chunk[0] * number).min(1.0))
        })
        .filter(|(.., probability)| *probability > 0.0)
        .collect()
}

/// A step as an upright line with its change, and a stripe over its candidates.
fn step_line(step: &FoundStep, search: &LineSearch, frame: &Frame, bottom: f64) -> Markup {
    let is_worse = step.change.is_none_or(|change| change.ratio > 1.0);
    let class = match (step.found, is_worse) {
        (true, true) => "worse",
        (true, false) => "better",
        (false, _) => "open",
    };
    let place = f64::from(step.after) / frame.last;
    let side = if place > 0.6 { "end" } else { "start" };
    let change = step.change.map_or_else(String::new, |change| format!(" {}", percent(change.ratio)));
    let x = frame.x(step.after.into());
    markup! {
        @if step.candidates.len() > 1 {
            @let width = (RIGHT - LEFT) * f64::from(step.after - step.before) / frame.last;
            rect.stripe.(class) x=(frame.x(step.before.into())) width=(format!("{width:.3}%")) y=(ABOVE) height=(bottom - ABOVE) {}
        }
        line.step.(class) x1=(x) x2=(x) y1=(ABOVE) y2=(bottom) {}
        text.step.(class).(side) x=(x) y=(ABOVE - 7.0) { (short_commit(&search.line, step.after)) (change) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_neighbours_are_one_bar_with_their_whole_probability() {
        assert_eq!(stretches(&[0.0, 0.25, 0.25, 0.25, 0.25, 0.0]), [(1.0, 5.0, 1.0)]);
        assert!(stretches(&[]).is_empty());
    }

    #[test]
    fn a_wide_interval_does_not_flatten_the_levels() {
        let change = |ratio, low, high| Change { ratio, low, high, units: 6 };
        let levels = [(0, change(1.0, 0.99, 1.01)), (3, change(1.0, 0.5, 40.0)), (4, change(1.2, 1.19, 1.21))];
        let frame = Frame::of(&levels, 4);
        assert!(frame.high < 1.4 && frame.low > 0.8, "{} {}", frame.low, frame.high);
        assert!(frame.is_clipped(&levels[1].1) && !frame.is_clipped(&levels[2].1));
        assert!(frame.y(1.2) < frame.y(1.0) && frame.y(40.0) >= ABOVE);
    }
}
