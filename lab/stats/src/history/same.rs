//! Whether results of two runs belong to one series, and the name of what they then have in common.

use super::run::HistoryRun;
use faultline_model::history::Differing;
use faultline_model::plan::{HistorySettings, LineMeasure, Settings};
use faultline_model::recipe::Recipe;
use faultline_model::time::UnixMillis;
use sha2::{Digest, Sha256};

/// Bytes of a digest that are kept.
const DIGEST_BYTES: usize = 16;

/// What makes results of two runs of a subject incomparable; `None` if they belong to one series. The commits, the number of executions, and time limits may
/// differ, and so may the tools, which is a quirk.
pub fn differing(a: (&Settings, &HistorySettings), b: (&Settings, &HistorySettings)) -> Option<Differing> {
    let ((settings_a, a), (settings_b, b)) = (a, b);
    [
        (Differing::Recipe, !builds_the_same(&a.recipe, &b.recipe)),
        (Differing::Command, a.artefact != b.artefact),
        (Differing::Measure, a.measure != b.measure),
        (Differing::Seed, guest_seed(settings_a, a) != guest_seed(settings_b, b)),
        (Differing::Seed, asked_seeds(settings_a, a) != asked_seeds(settings_b, b)),
        (Differing::Tools, a.tools.is_some() != b.tools.is_some()),
        (Differing::Machine, a.machine != b.machine),
    ]
    .into_iter()
    .find_map(|(what, differs)| differs.then_some(what))
}

fn builds_the_same(a: &Recipe, b: &Recipe) -> bool {
    without_limit(a) == without_limit(b)
}

fn without_limit(recipe: &Recipe) -> Recipe {
    Recipe { limit_s: 0, ..recipe.clone() }
}

/// The seed of guests, on which counts depend; `None` of time.
fn guest_seed(settings: &Settings, history: &HistorySettings) -> Option<u64> {
    matches!(history.measure, LineMeasure::Counted(_)).then_some(settings.seed)
}

/// The number of seeds that were asked for, if it is known that there are several: medians of other numbers of seeds have other places.
fn asked_seeds(settings: &Settings, history: &HistorySettings) -> Option<u32> {
    let is_asked = matches!(history.measure, LineMeasure::Counted(_)) && !history.seeds_by_ends;
    (is_asked && settings.repeats > 1).then_some(settings.repeats)
}

/// A digest of all that [`differing`] compares: runs of one series have the same. It is saved with what is said of changes, so a version that alters it loses
/// sight of that.
pub fn conditions(settings: &Settings, history: &HistorySettings) -> String {
    let HistorySettings { measured, machine, .. } = history;
    let compared = (
        without_limit(&measured.recipe),
        &measured.artefact,
        &measured.measure,
        guest_seed(settings, history),
        measured.tools.is_some(),
        machine,
    );
    let mut text = serde_json::to_vec(&compared).expect("settings can be saved");
    if let Some(seeds) = asked_seeds(settings, history) {
        text.extend(seeds.to_le_bytes());
    }
    Sha256::digest(text)[..DIGEST_BYTES].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// In which conditions a subject was measured, and since when: of each of its runs, the newest first.
#[derive(Debug, Clone, Default)]
pub struct Eras(Vec<(UnixMillis, String)>);

impl Eras {
    /// Of runs, the newest first.
    pub fn of(runs: &[HistoryRun<'_>]) -> Self {
        let era = |run: &HistoryRun<'_>| {
            let settings = &run.head.settings;
            Some((run.head.sessions.first()?.started, conditions(settings, settings.history()?)))
        };
        Eras(runs.iter().filter_map(era).collect())
    }

    /// The conditions of the newest run that had begun at a time; `None` if none had.
    pub fn conditions_at(&self, at: UnixMillis) -> Option<&str> {
        self.0.iter().find(|(began, _)| *began <= at).map(|(_, conditions)| conditions.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::example;
    use faultline_model::artefact::Artefact;
    use faultline_model::count::Count;
    use faultline_model::history::HistoryResults;
    use faultline_model::plan::{CountedSettings, PinPolicy, RunKind, TimedSettings};
    use faultline_model::record::RunRecord;

    fn changed(change: impl FnOnce(&mut Settings)) -> Settings {
        let mut settings = example::begun(&[0], 5).head.settings;
        change(&mut settings);
        settings
    }

    fn history(settings: &mut Settings) -> &mut HistorySettings {
        let RunKind::History(history) = &mut settings.kind else { panic!("it is one") };
        history
    }

    /// Whether two settings are comparable, by both.
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
            changed(|settings| history(settings).measured.tools.as_mut().unwrap().digest.push('x')),
        ];
        same.iter().for_each(|other| assert_eq!(are_comparable(&usual, other), [true, true], "{other:?}"));
        let bound = TimedSettings::pinned(PinPolicy::None);
        let others = [
            changed(|settings| history(settings).measured.recipe.is_clean = true),
            changed(|settings| history(settings).measured.artefact = Artefact::Command(vec!["-v".to_owned()])),
            changed(|settings| history(settings).measured.measure = LineMeasure::Timed(bound)),
            changed(|settings| history(settings).measured.tools = None),
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
                let counted = CountedSettings { what: Count::Transfers, lens };
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
        assert_eq!(conditions(&usual, usual.history().unwrap()), "cfcf44984be04668f6121e01643e7220");
    }

    #[test]
    fn at_a_time_the_newest_run_that_had_begun_counts() {
        let run = |started, command: &str| {
            let mut record = example::begun(&[0], 5);
            record.head.sessions[0].started = UnixMillis(started);
            history(&mut record.head.settings).measured.artefact = Artefact::Command(vec![command.to_owned()]);
            record
        };
        let records: [RunRecord; 2] = [run(20, "./new"), run(10, "./old")];
        let results = HistoryResults { commits: Vec::new() };
        let runs = records.each_ref().map(|record| HistoryRun { head: &record.head, results: &results });
        let of = |record: &RunRecord| conditions(&record.settings, record.settings.history().unwrap());
        let eras = Eras::of(&runs);
        let at = |time| eras.conditions_at(UnixMillis(time));
        assert_eq!([at(9), at(15), at(20)], [None, Some(of(&records[1]).as_str()), Some(of(&records[0]).as_str())]);
    }
}
