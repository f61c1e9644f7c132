//! Cautions about a comparison: what was seen, and what to do.

use super::named;
use faultline_model::workload_comparison::{Caution, Drift, FewUnits, Groups, NotQuiet, OneBoot, Unit};

/// One or two sentences.
pub fn caution(caution: &Caution) -> String {
    match caution {
        Caution::FewUnits(few) => few_units(few),
        Caution::OneBoot { boots } => one_boot(*boots).to_owned(),
        Caution::NotInterleaved { not_quiet } => {
            let sides = "The sides were not interleaved, or their order is unknown: a change of the machine in between counts as a \
                difference.";
            let reasons: Vec<&str> = not_quiet.iter().copied().map(disquiet).collect();
            if reasons.is_empty() {
                return sides.to_owned();
            }
            format!("{sides} The records do not show a quiet machine: {}.", reasons.join("; "))
        }
        Caution::Load { a, b } => {
            let used = during(*a, *b, |cpus| format!("{cpus:.2} CPUs"));
            format!(
                "Other processes used up to {used}: they slow both sides down, and widen the interval. Stop them and \
                 measure again."
            )
        }
        Caution::Steal { a, b } => {
            let taken = during(*a, *b, |share| format!("{:.1} %", share * 100.0));
            format!(
                "The hypervisor took CPU time away, up to {taken}: other guests slow both sides down, and widen the \
                 interval."
            )
        }
        Caution::Drift { a, b } => of_either(a, b, |way| {
            let way = match way {
                Drift::Rise => "rise",
                Drift::Fall => "fall",
            };
            format!(
                "{way} from run to run. Because the order is random this does not count as a difference, but it widens the interval."
            )
        }),
        Caution::Bimodal { a, b } => of_either(a, b, |Groups { up_to, from }| {
            format!(
                "fall into two groups, up to {up_to:.4e} and from {from:.4e} on: the machine has two states, and the median falls into one of them by chance. Find out what they are."
            )
        }),
        Caution::DifferentFacts { keys } => {
            let (named, more) = named(keys);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("The sides' machines differ in {named}{more}: each of these may be the cause of a difference.")
        }
    }
}

/// What speaks against a quiet machine.
fn disquiet(reason: NotQuiet) -> &'static str {
    match reason {
        NotQuiet::NotRecorded => "CPU times of other processes were not recorded",
        NotQuiet::Load => "other processes used CPU time",
        NotQuiet::Steal => "a hypervisor took CPU time away",
        NotQuiet::BusyAtStart => "other programs ran at the start",
        NotQuiet::Frequency => {
            "the CPUs change their frequency (`faultline check` shows how to set the governor and turn boost off)"
        }
    }
}

fn few_units(few: &FewUnits) -> String {
    let name = |unit: &Unit| match unit {
        Unit::Boot => "boots",
        Unit::Run => "runs",
        Unit::Summary => "summaries",
    };
    match few {
        FewUnits::Pairs { pairs, needed } => format!(
            "{pairs} blocks have values of both sides. Showing a difference at this level needs at least {needed}."
        ),
        FewUnits::ForRanks { unit, a, b } => {
            let name = name(unit);
            format!(
                "{a} and {b} {name} are too few for a test of ranks: the answer assumes log-normal noise. Measure 6 {name} or more on each side."
            )
        }
        FewUnits::ForAnyTest { unit: Unit::Summary, a, b } => format!(
            "{a} and {b} summaries cannot show any difference at this level. Give the values of 6 or more single runs on each side."
        ),
        FewUnits::ForAnyTest { unit, a, b } => {
            format!(
                "{a} and {b} {} cannot show any difference at this level. Measure 6 or more on each side.",
                name(unit)
            )
        }
        FewUnits::NoLook { measured, first_look } => {
            format!("No look was due yet: {measured} of the {first_look} blocks before the first look are measured.")
        }
    }
}

fn one_boot(boots: OneBoot) -> &'static str {
    match boots {
        OneBoot::Shared => "Both sides ran in one boot: another boot may give another difference.",
        OneBoot::Unknown => {
            "The number of boots is unknown: the interval includes the variation between runs, but not between boots."
        }
        OneBoot::Confounded => {
            "A side was measured in a single boot that the other side does not share: the effect of that boot cannot be separated from your change. Boot each side 3 times or more."
        }
    }
}

/// A figure of each side that has one: `0.52 CPUs during A and 0.48 CPUs during B`.
fn during(a: Option<f64>, b: Option<f64>, words: impl Fn(f64) -> String) -> String {
    let told = [("A", a), ("B", b)].into_iter().filter_map(|(side, figure)| Some((side, figure?)));
    told.map(|(side, figure)| format!("{} during {side}", words(figure))).collect::<Vec<_>>().join(" and ")
}

/// A sentence about each side of which there is something to say, the first one first.
fn of_either<T>(a: &Option<T>, b: &Option<T>, words: impl Fn(&T) -> String) -> String {
    let told = [("first", a), ("second", b)]
        .into_iter()
        .filter_map(|(name, side)| Some(format!("The {name} side's values {}", words(side.as_ref()?))));
    told.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_values_are_counted() {
        let few = |few| caution(&Caution::FewUnits(few));
        let (unit, a, b) = (Unit::Boot, 3, 4);
        assert_eq!(
            few(FewUnits::Pairs { pairs: 5, needed: 6 }),
            "5 blocks have values of both sides. Showing a difference at this level needs at least 6."
        );
        assert!(few(FewUnits::ForRanks { unit, a, b }).starts_with("3 and 4 boots are too few for a test of ranks"));
        assert!(few(FewUnits::ForAnyTest { unit, a, b }).starts_with("3 and 4 boots cannot show any difference"));
        let summaries = few(FewUnits::ForAnyTest { unit: Unit::Summary, a: 1, b: 1 });
        assert!(summaries.ends_with("Give the values of 6 or more single runs on each side."), "{summaries}");
        assert_eq!(
            few(FewUnits::NoLook { measured: 8, first_look: 9 }),
            "No look was due yet: 8 of the 9 blocks before the first look are measured."
        );
    }

    #[test]
    fn what_speaks_against_a_quiet_machine_is_named() {
        let words = |not_quiet| caution(&Caution::NotInterleaved { not_quiet });
        assert!(words(vec![]).ends_with("counts as a difference."));
        let both = words(vec![NotQuiet::Load, NotQuiet::Frequency]);
        assert!(
            both.contains("show a quiet machine: other processes used CPU time; the CPUs change their frequency"),
            "{both}"
        );
    }

    #[test]
    fn each_side_has_its_sentence() {
        let both = Caution::Drift { a: Some(Drift::Rise), b: Some(Drift::Fall) };
        let words = caution(&both);
        assert!(
            words.starts_with("The first side's values rise from run to run.")
                && words.contains(" The second side's values fall")
        );
        let one = Caution::Bimodal { a: None, b: Some(Groups { up_to: 2.5, from: 4.0 }) };
        assert!(
            caution(&one)
                .starts_with("The second side's values fall into two groups, up to 2.5000e0 and from 4.0000e0 on")
        );
    }

    #[test]
    fn load_and_stolen_time_are_told_of_each_side() {
        let load = caution(&Caution::Load { a: Some(0.519), b: Some(1.5) });
        assert!(load.starts_with("Other processes used up to 0.52 CPUs during A and 1.50 CPUs during B: "), "{load}");
        let steal = caution(&Caution::Steal { a: None, b: Some(0.031) });
        assert!(steal.starts_with("The hypervisor took CPU time away, up to 3.1 % during B: "), "{steal}");
    }

    #[test]
    fn many_keys_are_counted() {
        let keys = |count: usize| (0..count).map(|index| format!("k{index}")).collect();
        assert!(
            caution(&Caution::DifferentFacts { keys: keys(8) })
                .contains("differ in k0, k1, k2, k3, k4, k5 and 2 more: each")
        );
        assert!(caution(&Caution::DifferentFacts { keys: keys(1) }).contains("differ in k0: each"));
    }
}
