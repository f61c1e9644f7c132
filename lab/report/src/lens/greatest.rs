//! The differences that a table shows: the greatest. JSON and CSV have all of them.

use faultline_model::lens::comparison::Difference;

/// The most that are shown.
const SHOWN: usize = 20;

/// Part of the greatest difference from which on others are shown beside it. Exact differences are many, and most are small.
const SHARE: f64 = 0.01;

/// The differences that are shown. `all`: the greatest first.
pub(crate) fn greatest(all: &[Difference]) -> &[Difference] {
    let least = all.first().map_or(0.0, |first| SHARE * first.difference.abs());
    let shown = all.iter().take(SHOWN).take_while(|one| one.difference.abs() >= least).count();
    &all[..shown]
}

/// `the 3 greatest of 116`; `None` if all are shown.
pub(crate) fn of_all(all: &[Difference]) -> Option<String> {
    let shown = greatest(all).len();
    (shown < all.len()).then(|| format!("the {shown} greatest of {}", all.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::lens::comparison::{Change, Spread};
    use faultline_model::lens::key::Key;

    fn of(differences: &[f64]) -> Vec<Difference> {
        let spread = Spread { median: 0.0, low: 0.0, high: 0.0, n: 1 };
        let one = |&difference: &f64| Difference {
            of: Key::Named { name: "lock".into() }.into(),
            change: Change::More,
            a: spread,
            b: spread,
            difference,
            beside_a: Vec::new(),
            beside_b: Vec::new(),
        };
        differences.iter().map(one).collect()
    }

    #[test]
    fn small_differences_beside_a_great_one_are_left_out() {
        let all = of(&[-2.0, 0.5, 0.02, 0.019, 0.001]);
        assert_eq!((greatest(&all).len(), of_all(&all).unwrap().as_str()), (3, "the 3 greatest of 5"));
        assert_eq!((greatest(&all[3..]).len(), of_all(&all[..3])), (2, None));
        assert_eq!((greatest(&[]).len(), of_all(&[])), (0, None));
    }

    #[test]
    fn no_more_are_shown_than_can_be_read() {
        assert_eq!(greatest(&of(&[1.0; 30])).len(), SHOWN);
    }
}
