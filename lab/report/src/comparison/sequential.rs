//! How a comparison that looks at its data as they come ended, in words.

use super::change::percent;
use faultline_model::comparison::{Ended, Look, Sequential};

/// `Ended after 12 of at most 48 blocks, at look 4 of 9: each workload had its answer. …`.
pub(crate) fn words(sequential: &Sequential) -> String {
    let at_most = sequential.looks.last().map_or(0, |look| look.blocks);
    let planned = sequential.looks.len();
    let place = match last_look(sequential) {
        // What would have followed isn't known any more: the last look is where the time ended.
        Some(look) if sequential.ended == Ended::Budget => {
            format!("Ended after {} blocks, at look {}", look.blocks, sequential.taken)
        }
        Some(look) => {
            format!(
                "Ended after {} of at most {at_most} blocks, at look {} of {planned}",
                look.blocks, sequential.taken
            )
        }
        None => format!("Before the first of {planned} looks, with at most {at_most} blocks planned"),
    };
    let kept = format!(
        "The familywise false-positive rate over all workloads and interim looks is at most {}, for differences and for equalities each.",
        percent(1.0 - sequential.level)
    );
    format!("{place}: {}. {kept}", why(sequential))
}

/// The look that the answers are of.
fn last_look(sequential: &Sequential) -> Option<&Look> {
    sequential.looks.get((sequential.taken as usize).checked_sub(1)?)
}

/// Why it ended there.
fn why(sequential: &Sequential) -> &'static str {
    match sequential.ended {
        Ended::Settled if sequential.taken as usize == sequential.looks.len() => "all planned blocks were measured",
        Ended::Settled => "each workload that could be measured had its answer, a difference or equality",
        Ended::Budget => "the time budget was used up",
        Ended::Planned => "all planned blocks were measured",
        Ended::Stopped => "it was stopped, or is under way",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequential(taken: u32, ended: Ended) -> Sequential {
        let looks = (1..=9).map(|look| Look { blocks: look * 5 + 3, alpha: 0.005 }).collect();
        Sequential { level: 0.95, looks, taken, ended }
    }

    #[test]
    fn the_end_is_told_with_its_reason_and_the_level() {
        let text = words(&sequential(4, Ended::Settled));
        assert!(text.starts_with("Ended after 23 of at most 48 blocks, at look 4 of 9: each workload"), "{text}");
        assert!(
            text.contains("a difference or equality. The familywise false-positive rate")
                && text.contains("at most 5 %"),
            "{text}"
        );
    }

    #[test]
    fn an_end_before_any_look_is_one() {
        for taken in [0, 10] {
            let text = words(&sequential(taken, Ended::Stopped));
            assert!(text.starts_with("Before the first of 9 looks, with at most 48"), "{text}");
        }
        let none = Sequential { looks: Vec::new(), ..sequential(0, Ended::Budget) };
        assert!(words(&none).contains("the time budget was used up"));
    }
}
