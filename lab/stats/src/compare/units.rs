//! Which level of the structure gives the independent values, and what they are.

use super::samples::{Boot, Samples};
use crate::median::median;
use faultline_model::comparison::Unit;
use std::collections::BTreeSet;

/// The independent values of both sides.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Units {
    /// What one value is.
    pub(crate) unit: Unit,
    /// First side.
    pub(crate) a: Vec<Placed>,
    /// Second side.
    pub(crate) b: Vec<Placed>,
    /// What is known of the boots.
    pub(crate) boots: Boots,
}

/// A value, and where it stands in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Placed {
    pub(crate) value: f64,
    pub(crate) order: Option<u64>,
}

/// How the sides are spread over boots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Boots {
    /// Several on each side.
    Several,
    /// Both sides in one and the same.
    Shared,
    /// One side's boots, or both's, aren't known.
    Unknown,
    /// One side has a single boot, which the other doesn't share: boot and side can't be told apart.
    Confounded,
}

/// Boots are the units where both sides have several. Else runs are: within one boot that both sides share, that is a comparison of its own.
pub(crate) fn units(a: &Samples, b: &Samples) -> Units {
    let boots = boots(a, b);
    match boots {
        Boots::Several => Units { unit: Unit::Boot, a: by_boot(a), b: by_boot(b), boots },
        _ => Units { unit: Unit::Run, a: by_run(a), b: by_run(b), boots },
    }
}

fn boots(a: &Samples, b: &Samples) -> Boots {
    let (Some(ids_a), Some(ids_b)) = (ids(a), ids(b)) else { return Boots::Unknown };
    if ids_a.len() > 1 && ids_b.len() > 1 {
        Boots::Several
    } else if ids_a == ids_b {
        Boots::Shared
    } else {
        Boots::Confounded
    }
}

/// The boots' names; none if one is missing.
fn ids(side: &Samples) -> Option<BTreeSet<&str>> {
    side.boots.iter().map(|boot| boot.id.as_deref()).collect()
}

/// One value per boot: the median of its runs' values. Parts of a boot that are listed apart are one boot.
fn by_boot(side: &Samples) -> Vec<Placed> {
    let names: BTreeSet<Option<&str>> = side.boots.iter().map(|boot| boot.id.as_deref()).collect();
    let of = |name: &Option<&str>| {
        let parts: Vec<&Boot> = side.boots.iter().filter(|boot| boot.id.as_deref() == *name).collect();
        let runs: Vec<Placed> = parts.iter().flat_map(|boot| boot.runs.iter().map(placed)).collect();
        let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
        Placed {
            value: median(&values).expect("checked: a run has a value"),
            order: runs.iter().filter_map(|run| run.order).min(),
        }
    };
    names.iter().map(of).collect()
}

fn by_run(side: &Samples) -> Vec<Placed> {
    side.runs().map(placed).collect()
}

fn placed(run: &super::samples::Run) -> Placed {
    Placed { value: median(&run.intervals).expect("checked: a run has a value"), order: run.order }
}

#[cfg(test)]
mod tests {
    use super::super::samples::Run;
    use super::*;

    fn side(boots: &[(Option<&str>, &[&[f64]])]) -> Samples {
        let boot = |(id, runs): &(Option<&str>, &[&[f64]])| Boot {
            id: id.map(str::to_owned),
            runs: runs.iter().map(|run| Run { order: None, intervals: run.to_vec() }).collect(),
        };
        Samples { boots: boots.iter().map(boot).collect(), ..Samples::default() }
    }

    fn values(placed: &[Placed]) -> Vec<f64> {
        placed.iter().map(|one| one.value).collect()
    }

    #[test]
    fn of_several_boots_each_gives_one_value() {
        let a = side(&[(Some("1"), &[&[1.0, 2.0, 9.0], &[4.0]]), (Some("2"), &[&[5.0]])]);
        let b = side(&[(Some("3"), &[&[1.0]]), (Some("4"), &[&[2.0]]), (Some("3"), &[&[5.0]])]);
        let units = units(&a, &b);
        assert_eq!((units.unit, units.boots), (Unit::Boot, Boots::Several));
        assert_eq!((values(&units.a), values(&units.b)), (vec![3.0, 5.0], vec![3.0, 2.0]));
    }

    #[test]
    fn in_one_boot_runs_are_the_units() {
        let a = side(&[(Some("1"), &[&[1.0, 2.0, 9.0], &[4.0]])]);
        let found = units(&a, &a);
        assert_eq!((found.unit, found.boots, values(&found.a)), (Unit::Run, Boots::Shared, vec![2.0, 4.0]));
        assert_eq!(units(&a, &side(&[(Some("2"), &[&[1.0]])])).boots, Boots::Confounded);
        assert_eq!(units(&a, &side(&[(None, &[&[1.0]])])).boots, Boots::Unknown);
    }
}
