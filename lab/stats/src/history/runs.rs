//! The runs of a history, the newest result of each commit, and the conditions that make runs
//! comparable.

use crate::history::{CommitOutcome, Differing, HistoryResults};
use faultline_record::plan::{HistorySettings, LineMeasure, Settings};
use faultline_record::recipe::Recipe;
use faultline_record::record::{RunHead, RunId};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// A run that measured commits of a history, with its results.
#[derive(Debug, Clone, Copy)]
pub struct HistoryRun<'a> {
    /// The run.
    pub head: &'a RunHead,
    /// Its results.
    pub results: &'a HistoryResults,
}

/// The results by commit, each with its run.
pub(super) type Newest<'a> = BTreeMap<&'a str, (RunId, &'a CommitOutcome)>;

/// The newest result of each commit. `runs`: newest first.
pub(super) fn newest_of<'a>(runs: &[HistoryRun<'a>]) -> Newest<'a> {
    let mut newest = Newest::new();
    for run in runs {
        for result in &run.results.commits {
            newest.entry(&result.commit).or_insert((run.head.id, &result.outcome));
        }
    }
    newest
}

/// The name of the measuring host. `None` for counts, which do not depend on the host, and for runs
/// without this fact.
pub fn measuring_host(head: &RunHead) -> Option<String> {
    if head.settings.history()?.measure.quantity().is_counted() {
        return None;
    }
    let facts = head.sessions.first()?.facts.first()?;
    facts.get_text("host.name").map(str::to_owned)
}

/// Length of a digest in bytes.
const DIGEST_BYTES: usize = 16;

/// The difference that makes two runs of a subject incomparable; `None` if they belong to one
/// series. Commits, number of executions and time limits may differ, and so may tools, which are a
/// quirk.
pub fn differing(a: (&Settings, &HistorySettings), b: (&Settings, &HistorySettings)) -> Option<Differing> {
    let ((settings_a, a), (settings_b, b)) = (a, b);
    [
        (Differing::Recipe, !builds_the_same(&a.recipe, &b.recipe)),
        (Differing::Command, a.artefact != b.artefact),
        (Differing::Measure, a.measure != b.measure),
        (Differing::Seed, guest_seed(settings_a, a) != guest_seed(settings_b, b)),
        (Differing::Seed, asked_seeds(settings_a, a) != asked_seeds(settings_b, b)),
        (Differing::Machine, a.machine != b.machine),
    ]
    .into_iter()
    .find_map(|(what, differs)| differs.then_some(what))
}

fn builds_the_same(a: &Recipe, b: &Recipe) -> bool {
    without_limit(a) == without_limit(b)
}

/// The recipe without what does not change a build. The sandbox is one of its tools.
fn without_limit(recipe: &Recipe) -> Recipe {
    Recipe { limit_s: 0, network: false, outside_sandbox: false, ..recipe.clone() }
}

/// The seed of guests, on which counts depend; `None` for time.
fn guest_seed(settings: &Settings, history: &HistorySettings) -> Option<u64> {
    matches!(history.measure, LineMeasure::Counted(_)).then_some(settings.seed)
}

/// The requested number of seeds, if above one and not decided by the ends: medians of other
/// numbers of seeds have other levels.
fn asked_seeds(settings: &Settings, history: &HistorySettings) -> Option<u32> {
    let is_asked = matches!(history.measure, LineMeasure::Counted(_)) && !history.seeds_by_ends;
    (is_asked && settings.repeats > 1).then_some(settings.repeats)
}

/// A digest of everything that [`differing`] compares, equal for runs of one series. Saved with
/// marks of changes, which are lost if a later version computes it differently.
pub fn conditions(settings: &Settings, history: &HistorySettings) -> String {
    let HistorySettings { measured, machine, .. } = history;
    let compared = (
        without_limit(&measured.recipe),
        &measured.artefact,
        &measured.measure,
        guest_seed(settings, history),
        machine,
    );
    let mut text = serde_json::to_vec(&compared).expect("settings can be saved");
    if let Some(seeds) = asked_seeds(settings, history) {
        text.extend(seeds.to_le_bytes());
    }
    Sha256::digest(text)[..DIGEST_BYTES].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::example;
    use faultline_record::artefact::Artefact;
    use faultline_record::plan::{CountedSettings, PinPolicy, RunKind, TimedSettings};
    use faultline_record::quantity::Quantity;

    fn changed(change: impl FnOnce(&mut Settings)) -> Settings {
        let mut settings = example::begun(&[0], 5).head.settings;
        change(&mut settings);
        settings
    }

    fn history(settings: &mut Settings) -> &mut HistorySettings {
        let RunKind::History(history) = &mut settings.kind else { panic!("it is one") };
        history
    }

    /// True for comparable settings, by both functions.
    fn are_comparable(a: &Settings, b: &Settings) -> [bool; 2] {
        let [of_a, of_b] = [a, b].map(|settings| settings.history().unwrap());
        [differing((a, of_a), (b, of_b)).is_none(), conditions(a, of_a) == conditions(b, of_b)]
    }

    #[test]
    fn conditions_are_the_same_where_nothing_differs() {
        let usual = changed(|_| {});
        let same = [
            changed(|settings| settings.seed = 99),
            changed(|settings| settings.repeats = 9),
            changed(|settings| history(settings).wanted.push(3)),
            changed(|settings| history(settings).measured.recipe.limit_s = 7),
            changed(|settings| history(settings).measured.line.commits.truncate(5)),
            changed(|settings| history(settings).measured.tools.digest.push('x')),
        ];
        same.iter().for_each(|other| assert_eq!(are_comparable(&usual, other), [true, true], "{other:?}"));
        let bound = TimedSettings::pinned(PinPolicy::None);
        let others = [
            changed(|settings| history(settings).measured.recipe.is_clean = true),
            changed(|settings| history(settings).measured.artefact = Artefact::Command(vec!["-v".to_owned()])),
            changed(|settings| {
                history(settings).measured.measure = LineMeasure::Timed { quantity: Quantity::Time, settings: bound }
            }),
            changed(|settings| history(settings).machine.push('x')),
        ];
        others.iter().for_each(|other| assert_eq!(are_comparable(&usual, other), [false, false], "{other:?}"));
    }

    #[test]
    fn several_seeds_that_were_asked_for_make_a_series_of_their_own() {
        let counted = |repeats, seeds_by_ends| {
            changed(|settings| {
                let RunKind::Lens(lens) = crate::lens::example::record(&[(1, 1.0)]).settings.kind.clone() else {
                    panic!()
                };
                settings.repeats = repeats;
                history(settings).seeds_by_ends = seeds_by_ends;
                let counted = CountedSettings { what: Quantity::Transfers, lens };
                history(settings).measured.measure = LineMeasure::Counted(Box::new(counted));
            })
        };
        assert_eq!(are_comparable(&counted(1, false), &counted(6, true)), [true, true]);
        assert_eq!(are_comparable(&counted(1, false), &counted(6, false)), [false, false]);
        assert_eq!(are_comparable(&counted(4, false), &counted(6, false)), [false, false]);
    }

    #[test]
    fn the_digest_of_saved_settings_stays_what_it_was() {
        let usual = changed(|_| {});
        assert_eq!(conditions(&usual, usual.history().unwrap()), "577af849c4c588dbe1b290bf977ef8fb");
    }
}
