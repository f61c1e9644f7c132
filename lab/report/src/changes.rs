//! Steps of imported series: change points, levels before and after, and effects.

use crate::figure::{self, Scale};
use crate::format::Format;
use crate::sentences::{change_caution, series_left_out, worded_changes};
use crate::sheet::{Sheet, in_format};
use crate::style::{Signs, Style};
use crate::table::{self, Form, ResultTable};
use faultline_record::commit::short_name;
use faultline_record::direction::{Direction, Effect};
use faultline_stats::changes::{ChangeCaution, ChangesFound, SeriesChanges, Status, Step};
use std::mem::discriminant;

/// The steps of each series. JSON has the result with its sentences.
pub fn changes(found: &ChangesFound, format: Format, style: &Style) -> String {
    in_format(format, style, |sheet| body(sheet, found), || worded_changes(found), || table(found).csv())
}

fn body(mut sheet: Sheet<'_>, found: &ChangesFound) -> String {
    sheet.table(&table(found));
    for sentence in sentences(found) {
        sheet.paragraph(None, "", &sentence);
    }
    sheet.text
}

fn steps(found: &ChangesFound) -> impl Iterator<Item = (&SeriesChanges, &Step)> {
    found.series.iter().flat_map(|series| series.changes.steps.iter().map(move |step| (series, step)))
}

/// A step with its series.
type Row<'a> = (&'a SeriesChanges, &'a Step);

fn table(found: &ChangesFound) -> ResultTable<Row<'_>> {
    ResultTable::new(columns(), steps(found))
}

type Column<'a> = table::Column<Row<'a>>;

fn columns<'a>() -> Vec<Column<'a>> {
    vec![
        Column::left("series", |(series, _), _| series.name.clone()).csv_as_shown("series"),
        Column::csv_only("unit", |(series, _)| series.unit.clone()),
        Column::csv_option("direction", |(series, _)| series.direction.map(|direction| direction.word())),
        Column::left("after", |(series, step), _| place(series, step.after))
            .on(Form::ROOMY)
            .csv("after", |(_, step)| step.after.to_string()),
        Column::left("by", |(series, step), _| place(series, step.by)).csv("by", |(_, step)| step.by.to_string()),
        Column::csv_only("earliest", |(_, step)| step.earliest.to_string()),
        Column::csv_only("latest", |(_, step)| step.latest.to_string()),
        Column::csv_only("after_commit", |(series, step)| commit(series, step.after)),
        Column::csv_only("by_commit", |(series, step)| commit(series, step.by)),
        Column::csv_option("by_time", |(series, step)| series.place(step.by)?.time.map(figure::iso_time)),
        Column::right("from", |row, signs| scale(row, signs).quantity(row.1.from))
            .csv("from", |(_, step)| step.from.to_string()),
        Column::right("to", |row, signs| scale(row, signs).quantity(row.1.to))
            .csv("to", |(_, step)| step.to.to_string()),
        Column::right("change", |(series, step), signs| change(series, step, signs)),
        Column::left("what", |(series, step), _| what(series, step)),
        Column::csv_only(
            "effect",
            |(series, step)| {
                if series.direction.is_some() { word(&step.effect) } else { String::new() }
            },
        ),
        Column::csv_only("status", |(_, step)| word(&step.status)),
        Column::left("95 % range from", |(series, step), _| place(series, step.earliest)).on(Form::ROOMY),
        Column::left("95 % range to", |(series, step), _| place(series, step.latest)).on(Form::ROOMY),
    ]
}

/// The scale of the level before the step.
fn scale<'a>((series, step): &Row<'a>, signs: &'a Signs) -> Scale<'a> {
    Scale::of(step.from, &series.unit, signs)
}

fn commit(series: &SeriesChanges, position: u64) -> String {
    series.place(position).and_then(|place| place.commit.clone()).unwrap_or_default()
}

/// The short commit, else the time, else the number of the run.
fn place(series: &SeriesChanges, position: u64) -> String {
    let place = series.place(position);
    let commit = place.and_then(|place| place.commit.as_deref());
    let time = place.and_then(|place| place.time);
    match (commit, time) {
        (Some(commit), _) => short_name(commit).to_owned(),
        (None, Some(time)) => figure::date_time(time),
        (None, None) => format!("run {}", position + 1),
    }
}

/// The change of cost, so that worse is positive; of the value if the direction is unknown.
fn change(series: &SeriesChanges, step: &Step, signs: &Signs) -> String {
    let (from, to) = match series.direction {
        Some(Direction::Higher) => (step.to, step.from),
        Some(Direction::Lower) | None => (step.from, step.to),
    };
    if from == 0.0 {
        return signs.none.to_owned();
    }
    format!("{:+.2} %", 100.0 * (to - from) / from.abs())
}

/// Better or worse, or up or down if the direction is unknown; and "provisional" if more points may
/// revoke the step.
fn what(series: &SeriesChanges, step: &Step) -> String {
    let effect = match (series.direction, step.effect) {
        (Some(_), Effect::Better) => "better",
        (Some(_), Effect::Worse) => "worse",
        (None, _) if step.to > step.from => "up",
        (None, _) => "down",
    };
    match step.status {
        Status::Firm => effect.to_owned(),
        Status::Provisional => format!("{effect}, provisional"),
    }
}

fn sentences(found: &ChangesFound) -> impl Iterator<Item = String> + '_ {
    let points: usize = found.series.iter().map(|series| series.places.len()).sum();
    let count = steps(found).count();
    let head = match found.series.first() {
        None => "No series was searched.".to_owned(),
        Some(first) => format!(
            "{count} {} in {} series of {points} points. Stated false-positive rate: {:.1} % of series without a step, {:.1} % for firm \
             steps. Simulated series of at least 200 points stay below it, unless their noise drifts slowly or jumps between levels.",
            if count == 1 { "step" } else { "steps" },
            found.series.len(),
            100.0 * first.changes.false_alarms,
            100.0 * first.changes.false_confirmations
        ),
    };
    let smaller = smaller(found);
    let range = (count > 0).then(|| {
        "after, by: the estimated change point lies between them. 95 % range: confidence interval of the change point.".to_owned()
    });
    let unknown = found.series.iter().any(|series| series.direction.is_none());
    let unknown =
        unknown.then(|| "up, down: whether lower or higher is better is unknown; state it with `--better`.".to_owned());
    let left_out = found.left_out.iter().map(|series| format!("Left out: {}.", series_left_out(series)));
    [head].into_iter().chain(range).chain(smaller).chain(cautions(found)).chain(unknown).chain(left_out)
}

/// The number of steps below the limit.
fn smaller(found: &ChangesFound) -> Option<String> {
    let count: u32 = found.series.iter().map(|series| series.changes.smaller).sum();
    let least = 100.0 * found.series.first()?.changes.least_change;
    (count > 0).then(|| {
        let steps = if count == 1 { "step" } else { "steps" };
        format!("{count} {steps} of less than {least} % left out; show them with `--min-change 0%`.")
    })
}

/// Each kind of caution, with its series.
fn cautions(found: &ChangesFound) -> Vec<String> {
    let all = || found.series.iter().flat_map(|series| series.changes.cautions.iter().map(move |one| (series, one)));
    let mut kinds: Vec<&ChangeCaution> = Vec::new();
    for (_, caution) in all() {
        if kinds.iter().all(|known| discriminant(*known) != discriminant(caution)) {
            kinds.push(caution);
        }
    }
    let about = |kind: &&ChangeCaution| {
        let names =
            all().filter(|(_, one)| discriminant(*one) == discriminant(*kind)).map(|(series, _)| series.name.clone());
        change_caution(kind, &names.collect::<Vec<_>>())
    };
    kinds.iter().map(about).collect()
}

/// The word of a value in JSON.
fn word<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_value(value).ok().and_then(|value| Some(value.as_str()?.to_owned())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::direction::Direction;
    use faultline_stats::changes::{Changes, SeriesLeftOut, SeriesPosition, WhyLeftOut};

    fn found(direction: Option<Direction>) -> ChangesFound {
        let step = Step {
            after: 1,
            by: 3,
            earliest: 1,
            latest: 4,
            from: 10.0,
            to: 12.5,
            effect: Effect::Worse,
            status: Status::Provisional,
            gain: 50.0,
        };
        let changes = Changes {
            format: Changes::FORMAT.to_owned(),
            false_alarms: 0.1,
            false_confirmations: 0.02,
            least_change: 0.01,
            smaller: 2,
            detectable: None,
            cautions: vec![ChangeCaution::Wanders { share: 0.5 }],
            segments: vec![],
            steps: vec![step],
        };
        let place =
            |position| SeriesPosition { position, commit: Some(format!("{position}abcdef0123456789")), time: None };
        let why = WhyLeftOut::NotFinite { position: 0, value: f64::NAN };
        let series = SeriesChanges {
            index: 0,
            name: "sort".to_owned(),
            unit: "s".to_owned(),
            direction,
            missing: 0,
            places: vec![place(1), place(3)],
            changes,
        };
        ChangesFound {
            format: ChangesFound::FORMAT.to_owned(),
            series: vec![series],
            left_out: vec![SeriesLeftOut { name: "heap".to_owned(), why }.into()],
        }
    }

    #[test]
    fn a_step_has_its_place_size_and_certainty() {
        let shown = changes(&found(Some(Direction::Lower)), Format::Table, &Style::PLAIN);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(
            lines[1].split_whitespace().collect::<Vec<_>>().join(" "),
            "sort 1abcdef01234 3abcdef01234 10.00 s 12.50 s +25.00 % worse, provisional 1abcdef01234 run 5"
        );
        let text = lines[2..].join(" ");
        assert!(text.contains("1 step in 1 series of 2 points."), "{text}");
        assert!(text.contains("10.0 % of series without a step, 2.0 % for firm steps."), "{text}");
        assert!(text.contains("2 steps of less than 1 % left out"), "{text}");
        assert!(text.contains("Part of the noise moves slowly in sort:"), "{text}");
        assert!(text.ends_with("Left out: heap: the value at position 0 is NaN, which is not finite."), "{text}");
    }

    #[test]
    fn better_and_worse_need_a_known_direction() {
        assert!(changes(&found(None), Format::Markdown, &Style::PLAIN).contains("| up, provisional |"));
        let csv = changes(&found(None), Format::Csv, &Style::PLAIN);
        assert!(
            csv.lines()
                .nth(1)
                .unwrap()
                .starts_with("sort,s,,1,3,1,4,1abcdef0123456789,3abcdef0123456789,,10,12.5,,provisional"),
            "{csv}"
        );
    }
}
