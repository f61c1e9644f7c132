//! Runs of other tools that have no value: their number, with the reasons.

use crate::escape::one_line;
use crate::names::counted;
use faultline_record::dataset::{Dataset, Measured, Series};

/// Most series, and most reasons of each, that are named.
const NAMED: usize = 6;

/// A line for each series that has runs without a value: `left out, without a value: 3 of 28 runs
/// of sort: NaN (2), n/a`.
pub fn runs_without_value(dataset: &Dataset) -> Vec<String> {
    let mut sentences: Vec<String> = dataset.series.iter().filter_map(sentence).collect();
    if sentences.len() > NAMED {
        let more = counted((sentences.len() - NAMED) as u64, "further benchmark");
        sentences.truncate(NAMED);
        sentences.push(format!("left out, without a value: runs of {more}"));
    }
    sentences
}

fn sentence(series: &Series) -> Option<String> {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for point in &series.points {
        let reason = match &point.measured {
            Measured::Missing(why) => why.as_str(),
            Measured::Failed(_) => "failed",
            Measured::Values(_) | Measured::Summary(_) => continue,
        };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => reasons.push((reason, 1)),
        }
    }
    let missing: usize = reasons.iter().map(|(_, count)| count).sum();
    let shown = |(reason, count): &(&str, usize)| match count {
        1 => one_line(reason),
        _ => format!("{} ({count})", one_line(reason)),
    };
    let mut words: Vec<String> = reasons.iter().take(NAMED).map(shown).collect();
    words.extend((reasons.len() > NAMED).then(|| "…".to_owned()));
    (missing > 0).then(|| {
        format!(
            "left out, without a value: {missing} of {} of {}: {}",
            counted(series.points.len() as u64, "run"),
            one_line(&series.to_string()),
            words.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::dataset::DataPoint;

    fn series(name: &str, missing: &[&str]) -> Series {
        let missing = missing.iter().map(|why| Measured::Missing((*why).to_owned()));
        let points = std::iter::once(Measured::Values(vec![1.0])).chain(missing).map(DataPoint::of).collect();
        Series { name: name.to_owned(), tasks: None, measure: None, unit: "s".to_owned(), direction: None, points }
    }

    #[test]
    fn left_out_runs_are_counted_by_their_reasons() {
        let all = vec![series("sort", &["NaN", "no value", "NaN"]), series("fork", &[]), series("load", &["n/a"])];
        let [sort, load] = &runs_without_value(&Dataset::of(all))[..] else { panic!() };
        assert_eq!(sort, "left out, without a value: 3 of 4 runs of sort: NaN (2), no value");
        assert_eq!(load, "left out, without a value: 1 of 2 runs of load: n/a");
    }

    #[test]
    fn a_long_list_is_cut() {
        let all = (0..9).map(|number| series(&number.to_string(), &["a\nb"])).collect();
        let sentences = runs_without_value(&Dataset::of(all));
        assert_eq!((sentences.len(), sentences[0].contains('\n')), (7, false));
        assert_eq!(sentences[6], "left out, without a value: runs of 3 further benchmarks");
    }
}
