//! Cautions about comparisons and steps, and the reasons for what is not compared or searched.

use super::{failure, first_few, named};
use crate::escape::one_line;
use crate::names::counted;
use faultline_stats::changes::{ChangeCaution, SeriesLeftOut, WhyLeftOut};
use faultline_stats::unmatched::{Unmatched, UnmatchedReason};
use faultline_stats::workload_comparison::{Caution, Drift, FewUnits, Groups, NotQuiet, OneBoot, Unit};

/// A caution about a comparison in one or two sentences.
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
                "Other processes used up to {used}: they slow both sides down and widen the interval. Stop them and \
                 measure again."
            )
        }
        Caution::Steal { a, b } => {
            let taken = during(*a, *b, |share| format!("{:.1} %", share * 100.0));
            format!(
                "The hypervisor took CPU time away, up to {taken}: other guests slow both sides down and widen the \
                 interval."
            )
        }
        Caution::Drift { a, b } => of_either(a, b, |way| {
            let way = match way {
                Drift::Rise => "rise",
                Drift::Fall => "fall",
            };
            format!(
                "{way} from run to run. The order is random, so this is no difference between the sides, but it widens the \
                 interval."
            )
        }),
        Caution::Bimodal { a, b } => of_either(a, b, |Groups { up_to, from }| {
            format!(
                "fall into two groups, up to {up_to:.4e} and from {from:.4e}: the machine has two states, and chance decides to \
                 which the median belongs. Find the cause."
            )
        }),
        Caution::DifferentFacts { keys } => {
            let (named, more) = named(keys);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("The sides' machines differ in {named}{more}: each of these may cause a difference.")
        }
    }
}

/// A reason against a quiet machine.
fn disquiet(reason: NotQuiet) -> &'static str {
    match reason {
        NotQuiet::NotRecorded => "CPU times of other processes were not recorded",
        NotQuiet::Load => "other processes used CPU time",
        NotQuiet::Steal => "a hypervisor took CPU time away",
        NotQuiet::BusyAtStart => "other programs were running at the start",
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
        FewUnits::Pairs { pairs, needed } => {
            format!("{pairs} blocks have values of both sides. A difference at this level needs at least {needed}.")
        }
        FewUnits::ForRanks { unit, a, b } => {
            let name = name(unit);
            format!(
                "{a} and {b} {name} are too few for a rank test: the answer assumes log-normal noise. Measure 6 {name} or more on \
                 each side."
            )
        }
        FewUnits::ForAnyTest { unit: Unit::Summary, a, b } => format!(
            "{a} and {b} summaries cannot show any difference at this level. Provide values of 6 or more single runs on each side."
        ),
        FewUnits::ForAnyTest { unit, a, b } => {
            format!(
                "{a} and {b} {} cannot show any difference at this level. Measure 6 or more on each side.",
                name(unit)
            )
        }
        FewUnits::NoLook { measured, first_look } => {
            format!("The first interim look is not due yet: {measured} of its {first_look} blocks are measured.")
        }
    }
}

fn one_boot(boots: OneBoot) -> &'static str {
    match boots {
        OneBoot::Shared => "Both sides ran in one boot: another boot may show another difference.",
        OneBoot::Unknown => {
            "The number of boots is unknown: the interval includes the variation between runs, but not between boots."
        }
        OneBoot::Confounded => {
            "A side was measured in a single boot that the other side does not share: the effect of that boot cannot be \
             separated from your change. Boot each side 3 times or more."
        }
    }
}

/// The figure of each side: `0.52 CPUs during A and 0.48 CPUs during B`.
fn during(a: Option<f64>, b: Option<f64>, words: impl Fn(f64) -> String) -> String {
    let told = [("A", a), ("B", b)].into_iter().filter_map(|(side, figure)| Some((side, figure?)));
    told.map(|(side, figure)| format!("{} during {side}", words(figure))).collect::<Vec<_>>().join(" and ")
}

/// A sentence about each side concerned, A first.
fn of_either<T>(a: &Option<T>, b: &Option<T>, words: impl Fn(&T) -> String) -> String {
    let told = [("first", a), ("second", b)]
        .into_iter()
        .filter_map(|(name, side)| Some(format!("The {name} side's values {}", words(side.as_ref()?))));
    told.collect::<Vec<_>>().join(" ")
}

/// A caution about steps of the series with these names. docs/METHODOLOGY.md, §15, is the source of
/// the figures.
pub(crate) fn change_caution(caution: &ChangeCaution, series: &[String]) -> String {
    let (names, more) = first_few(series, one_line);
    let names = if more > 0 { format!("{names} and {more} more") } else { names };
    match caution {
        ChangeCaution::Short { .. } => format!(
            "Fewer than 100 points in {names}: slow noise looks like steps there. Without slow noise the stated rate holds."
        ),
        ChangeCaution::Wanders { .. } => format!(
            "Part of the noise moves slowly in {names}: it looks like small steps, and the stated rate may not hold."
        ),
        ChangeCaution::Restless { .. } => {
            format!("The level changes again and again in a stretch of {names}: its steps are provisional.")
        }
        ChangeCaution::UnlikeAnyNoise { .. } => {
            format!(
                "The values in {names} look like neither steps nor any known noise: no rate holds, and all steps are provisional."
            )
        }
    }
}

/// A workload that is not compared: `zero_fill:base×4: on the first side only`.
pub fn unmatched(unmatched: &Unmatched) -> String {
    let law = matches!(unmatched.reason, UnmatchedReason::NoLaw { .. });
    let before = if law { "law of scaling of " } else { "" };
    let measure = unmatched.measure.as_ref().map_or_else(String::new, |measure| format!(" {measure}"));
    let tasks = unmatched.tasks.map_or_else(String::new, |tasks| format!("×{tasks}"));
    let block = match unmatched.reason {
        UnmatchedReason::SplitBlock { block } => format!(", block {}", u64::from(block) + 1),
        _ => String::new(),
    };
    format!("{before}{}{measure}{tasks}{block}: {}", unmatched.name, unmatched_reason(&unmatched.reason))
}

/// The reason, without the name.
pub(super) fn unmatched_reason(reason: &UnmatchedReason) -> String {
    match reason {
        UnmatchedReason::OneSideOnly { side } => format!("on the {} side only", side.ordinal()),
        UnmatchedReason::UnitsDiffer { units } => {
            let word = |unit: &String| if unit.is_empty() { "unknown".to_owned() } else { format!("'{unit}'") };
            let [a, b] = units.each_ref().map(word);
            format!("the units differ: {a} and {b}")
        }
        UnmatchedReason::DirectionsDiffer => "the sides disagree on which direction is better".to_owned(),
        UnmatchedReason::DirectionUnknown => "it is unknown which direction is better".to_owned(),
        UnmatchedReason::NoValue { side, failure: cause } => {
            let cause = cause.as_ref().map_or_else(String::new, |cause| format!(" ({})", failure(cause)));
            format!("the {} side has no value{cause}", side.ordinal())
        }
        UnmatchedReason::NoRatio { side, value, least, greatest } => {
            let needed = match value.is_finite() && *value > 0.0 {
                true => format!("{value:e}: ratios need values from {least:e} to {greatest:e}"),
                false => format!("{value}: ratios need finite values above 0"),
            };
            format!("the {} side has the value {needed}", side.ordinal())
        }
        UnmatchedReason::SplitBlock { .. } => "its two runs belong to different boots".to_owned(),
        UnmatchedReason::NoLaw { why } => why.to_string(),
    }
}

/// A series that is not searched: `sort: 11 points are too few: a search needs 12`.
pub(crate) fn series_left_out(series: &SeriesLeftOut) -> String {
    let why = match series.why {
        WhyLeftOut::NotFinite { position, value } => {
            format!("the value at position {position} is {value}, which is not finite")
        }
        WhyLeftOut::TooShort { points, needed } => {
            let are = if points == 1 { "is" } else { "are" };
            format!("{} {are} too few: a search needs {needed}", counted(points, "point"))
        }
    };
    format!("{}: {why}", series.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::failure::{Failure, FailureCause};
    use faultline_stats::scaling::FitError;
    use faultline_stats::unmatched::Letter;

    #[test]
    fn too_few_values_are_counted() {
        let few = |few| caution(&Caution::FewUnits(few));
        let (unit, a, b) = (Unit::Boot, 3, 4);
        assert_eq!(
            few(FewUnits::Pairs { pairs: 5, needed: 6 }),
            "5 blocks have values of both sides. A difference at this level needs at least 6."
        );
        assert!(few(FewUnits::ForRanks { unit, a, b }).starts_with("3 and 4 boots are too few for a rank test"));
        assert!(few(FewUnits::ForAnyTest { unit, a, b }).starts_with("3 and 4 boots cannot show any difference"));
        let summaries = few(FewUnits::ForAnyTest { unit: Unit::Summary, a: 1, b: 1 });
        assert!(summaries.ends_with("Provide values of 6 or more single runs on each side."), "{summaries}");
        assert_eq!(
            few(FewUnits::NoLook { measured: 8, first_look: 9 }),
            "The first interim look is not due yet: 8 of its 9 blocks are measured."
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
                .starts_with("The second side's values fall into two groups, up to 2.5000e0 and from 4.0000e0:")
        );
    }

    #[test]
    fn load_and_stolen_time_are_reported_of_each_side() {
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

    #[test]
    fn series_have_their_own_names() {
        let short = ChangeCaution::Short { points: 20 };
        let said = change_caution(&short, &["linux/zero_fill:base".to_owned(), "x.duration_ms".to_owned()]);
        assert!(said.starts_with("Fewer than 100 points in linux/zero_fill:base, x.duration_ms: "), "{said}");
    }

    #[test]
    fn each_reason_has_its_words() {
        let words =
            |reason| unmatched(&Unmatched { name: "x".into(), tasks: Some(2), measure: Some("idle".into()), reason });
        assert_eq!(words(UnmatchedReason::OneSideOnly { side: Letter::B }), "x idle×2: on the second side only");
        let block = UnmatchedReason::SplitBlock { block: 5 };
        assert_eq!(words(block), "x idle×2, block 6: its two runs belong to different boots");
        let units = UnmatchedReason::UnitsDiffer { units: ["s".into(), String::new()] };
        assert_eq!(words(units), "x idle×2: the units differ: 's' and unknown");
        let hung = Failure { block: None, cause: FailureCause::Told { words: "hung".into() } };
        let reason = UnmatchedReason::NoValue { side: Letter::A, failure: Some(hung) };
        assert_eq!(words(reason), "x idle×2: the first side has no value (hung)");
        let law = UnmatchedReason::NoLaw { why: FitError::Unsettled };
        let law = Unmatched { name: "x".into(), tasks: None, measure: None, reason: law };
        assert_eq!(unmatched(&law), "law of scaling of x: the fit of the law does not converge for these values");
    }

    #[test]
    fn a_short_series_is_named_with_what_it_lacks() {
        let why = WhyLeftOut::TooShort { points: 11, needed: 12 };
        let words = series_left_out(&SeriesLeftOut { name: "sort".to_owned(), why });
        assert_eq!(words, "sort: 11 points are too few: a search needs 12");
    }
}
