//! Steps in every series of a dataset, with the commits and times around them.

use super::positions::positions;
use super::series::SHORTEST;
use super::{Observation, SeriesError, Settings, changes};
use crate::changes::{ChangesFound, SeriesChanges, SeriesLeftOut, SeriesPosition, WhyLeftOut};
use crate::median::median;
use faultline_record::dataset::{DataPoint, Dataset, Series};
use faultline_record::direction::Direction;

/// Searches every series. `direction` is used for series that have none. A series whose values
/// cannot be searched is left out, with the reason.
///
/// # Errors
/// A false-positive rate or a minimum change out of range.
pub fn changes_found(
    dataset: &Dataset,
    false_alarms: f64,
    least_change: f64,
    direction: Option<Direction>,
) -> Result<ChangesFound, SeriesError> {
    let mut found = ChangesFound { format: ChangesFound::FORMAT.to_owned(), series: Vec::new(), left_out: Vec::new() };
    for (index, series) in dataset.series.iter().enumerate() {
        let direction = series.direction.or(direction);
        let settings = Settings { direction: direction.unwrap_or(Direction::Higher), false_alarms, least_change };
        match searched(series, &settings) {
            Ok(one) => found.series.push(SeriesChanges { index, direction, ..one }),
            Err(error) => {
                let why = why_left_out(error)?;
                found.left_out.push(SeriesLeftOut { name: series.to_string(), why }.into());
            }
        }
    }
    Ok(found)
}

/// Reason why a series is left out. Fails for an error in the request.
fn why_left_out(error: SeriesError) -> Result<WhyLeftOut, SeriesError> {
    match error {
        SeriesError::NotFinite { position, value } => Ok(WhyLeftOut::NotFinite { position, value }),
        SeriesError::TooShort { points } => Ok(WhyLeftOut::TooShort { points: points as u32, needed: SHORTEST as u32 }),
        SeriesError::FalseAlarms(_) | SeriesError::LeastChange(_) => Err(error),
    }
}

fn searched(series: &Series, settings: &Settings) -> Result<SeriesChanges, SeriesError> {
    let measured: Vec<(&DataPoint, f64)> =
        series.points.iter().filter_map(|point| Some((point, median(point.measured.values())?))).collect();
    let positions = positions(&measured.iter().map(|(point, _)| *point).collect::<Vec<_>>());
    let observation = |(&position, &(_, value)): (&u64, &(&DataPoint, f64))| Observation { position, value };
    let observations: Vec<Observation> = positions.iter().zip(&measured).map(observation).collect();
    let mut places: Vec<SeriesPosition> = positions
        .iter()
        .zip(&measured)
        .map(|(&position, (point, _))| SeriesPosition { position, commit: point.commit.clone(), time: point.time })
        .collect();
    places.sort_by_key(|place| place.position);
    places.dedup_by_key(|place| place.position);
    Ok(SeriesChanges {
        index: 0,
        name: series.to_string(),
        unit: series.unit.clone(),
        direction: series.direction,
        missing: (series.points.len() - measured.len()) as u32,
        places,
        changes: changes(&observations, settings)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::dataset::Measured;
    use faultline_record::direction::Effect;
    use faultline_record::time::UnixMillis;

    fn series(points: Vec<DataPoint>) -> Dataset {
        Dataset::of(vec![Series {
            name: "sort".to_owned(),
            tasks: None,
            measure: None,
            unit: "s".to_owned(),
            direction: Some(Direction::Lower),
            points,
        }])
    }

    /// 20 points around 10, then 20 around 12.
    fn value(index: u64) -> f64 {
        (if index < 20 { 10.0 } else { 12.0 }) + 0.01 * (index * 7 % 5) as f64
    }

    fn point(index: u64, measured: Measured) -> DataPoint {
        DataPoint { commit: Some(format!("c{index}")), ..DataPoint::of(measured) }
    }

    #[test]
    fn a_step_lies_between_the_commits_that_were_measured() {
        let points = (0..40).map(|index| point(index, Measured::Values(vec![value(index)]))).collect();
        let found = changes_found(&series(points), 0.1, 0.0, None).unwrap();
        let [one] = found.series.as_slice() else { panic!("{found:?}") };
        let [step] = one.changes.steps.as_slice() else { panic!("{one:?}") };
        let commit = |position| one.place(position).unwrap().commit.as_deref();
        assert_eq!((commit(step.after), commit(step.by)), (Some("c19"), Some("c20")));
        assert_eq!(step.effect, Effect::Worse);
    }

    #[test]
    fn runs_of_a_commit_are_one_point_and_failed_ones_none() {
        let mut points: Vec<DataPoint> = Vec::new();
        for index in 0..40 {
            points.push(point(index, Measured::Values(vec![value(index), value(index) + 0.02])));
            points.push(point(index, Measured::Values(vec![value(index) - 0.02])));
            points.push(point(index, Measured::Missing("hung".to_owned())));
        }
        let found = changes_found(&series(points), 0.1, 0.0, None).unwrap();
        assert_eq!((found.series[0].places.len(), found.series[0].missing), (40, 40));
        assert_eq!(found.series[0].changes.steps.len(), 1);
    }

    #[test]
    fn times_put_points_in_order() {
        let at = |index: u64| DataPoint {
            time: Some(UnixMillis(1_000_000 + 1000 * index as i64)),
            ..point(index, Measured::Values(vec![value(index)]))
        };
        let found = changes_found(&series((0..40).rev().map(at).collect()), 0.1, 0.0, None).unwrap();
        let one = &found.series[0];
        assert_eq!((one.places[0].position, one.places[39].position), (0, 39_000));
        assert_eq!(one.place(one.changes.steps[0].by).unwrap().commit.as_deref(), Some("c20"));
    }

    #[test]
    fn commits_of_one_day_are_points_of_their_own() {
        let at = |index: u64| DataPoint {
            time: Some(UnixMillis(86_400_000 * (index as i64 / 6))),
            ..point(index, Measured::Values(vec![value(index)]))
        };
        let found = changes_found(&series((0..40).map(at).collect()), 0.1, 0.0, None).unwrap();
        let one = &found.series[0];
        assert_eq!((one.places.len(), one.changes.steps.len()), (40, 1), "{one:?}");
        assert_eq!(one.place(one.changes.steps[0].by).unwrap().commit.as_deref(), Some("c20"));
    }

    #[test]
    fn a_short_series_is_left_out() {
        let points = (0..11).map(|index| point(index, Measured::Values(vec![value(index)]))).collect();
        let found = changes_found(&series(points), 0.1, 0.0, None).unwrap();
        let [left_out] = &found.left_out[..] else { panic!("{found:?}") };
        assert_eq!((left_out.name.as_str(), left_out.why), ("sort", WhyLeftOut::TooShort { points: 11, needed: 12 }));
    }

    #[test]
    fn what_is_no_number_is_left_out_and_a_wrong_rate_is_refused() {
        let points = vec![point(0, Measured::Values(vec![f64::NAN]))];
        let mut dataset = series(points.clone());
        dataset
            .series
            .push(series((0..12).map(|index| point(index, Measured::Values(vec![1.0]))).collect()).series.remove(0));
        let found = changes_found(&dataset, 0.1, 0.0, None).unwrap();
        let why = found.left_out[0].why;
        assert!(matches!(why, WhyLeftOut::NotFinite { position: 0, value } if value.is_nan()), "{found:?}");
        let [(values, searched)] = &found.with_values(&dataset)[..] else { panic!("{found:?}") };
        assert_eq!((values.points.len(), searched.index), (12, 1), "the one that was searched");
        assert_eq!(changes_found(&series(points), 0.5, 0.0, None), Err(SeriesError::FalseAlarms(0.5)));
    }
}
