//! Why a series is not searched for steps.

use faultline_model::changes::{SeriesLeftOut, WhyLeftOut};

/// The series and the reason: `sort: 11 points are too few to search: at least 12 are needed`.
pub(crate) fn series_left_out(series: &SeriesLeftOut) -> String {
    let why = match series.why {
        WhyLeftOut::NotFinite { position, value } => {
            format!("the value at position {position} is {value}: it has to be finite")
        }
        WhyLeftOut::TooShort { points, needed } => {
            format!("{points} points are too few to search: at least {needed} are needed")
        }
    };
    format!("{}: {why}", series.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_series_is_named_with_what_it_lacks() {
        let why = WhyLeftOut::TooShort { points: 11, needed: 12 };
        let words = series_left_out(&SeriesLeftOut { name: "sort".to_owned(), why });
        assert_eq!(words, "sort: 11 points are too few to search: at least 12 are needed");
    }
}
