//! The version of the method. The database keeps each conclusion with the version that made it. If a later version would conclude something else
//! from the same record, the kept conclusion is out of date, and is computed again.

/// The version of everything between a saved record and its conclusion (a summary, a comparison, a search).
///
/// Raise it by one with each change that alters the conclusion of an older record: a figure, an interval, a verdict, a warning, or a field of the
/// conclusion's JSON. The test below compares the conclusions of a few records with those of this version. It fails if they differ, and says what to do.
pub const METHOD_VERSION: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Settings;
    use crate::sequential::concluded;
    use crate::{drill, example, lens, summarise};
    use faultline_model::drill::{
        Build, Drill, DrillSettings, Evidence, Measured, Noise, Trial, TrialResult, Unusable,
    };
    use faultline_model::outcome::Outcome;
    use faultline_model::record::{RunRecord, RunState};
    use serde_json::{Value, json};

    /// A run on a machine that gives reasons to warn, with an item that failed.
    fn run() -> RunRecord {
        let rate = |tasks, block| 1_000_003 / u64::from(tasks) + 20_000 * u64::from(block * 7 % 5);
        let mut record = example::Run::new(&["load", "other"]).tasks(&[1, 2, 4]).rate(rate).record();
        record.attempts[4].outcome = Some(Outcome::TimedOut { limit_ms: 1500 });
        record.head.sessions[0].facts[0].text("cpu.governor", "powersave");
        record.head.sessions[0].facts[0].real("load.one_minute", 3.0);
        record
    }

    /// A comparison of up to 60 blocks: settled at its first look, or ended by its budget.
    fn comparison(other: fn(u32, u32) -> u64, blocks: u32) -> RunRecord {
        let rate = |_, block| 1_000_003 + 40_000 * u64::from(block * 7 % 11);
        let mut record = example::Run::new(&["load"]).tasks(&[1]).repeats(60).rate(rate).against(other).record();
        let later = record.plan.iter().filter(|item| item.block >= blocks).map(|item| item.ordinal);
        record.skipped = later.collect();
        let skipped = record.skipped.clone();
        record.attempts.retain(|attempt| !skipped.contains(&attempt.ordinal));
        record.head.state = RunState::Finished;
        record
    }

    /// A search of five commits, of which the third cannot be built and the fourth is a fifth slower.
    fn search() -> Drill {
        let mut evidence = Evidence::new(4, Vec::new());
        for position in 0..5 {
            let result = match position {
                2 => TrialResult::Unusable { why: Unusable::Build },
                _ => TrialResult::Usable,
            };
            evidence.trials.push(Trial { position, surroundings: 0, result });
        }
        for (block, position) in (0..24).flat_map(|block| [0, 1, 3, 4].map(|position| (block, position))) {
            let code = if position >= 3 { 1.2 } else { 1.0 };
            let value = Some(code * (1.0 + 0.01 * f64::from((block * 7 + position * 5) % 11)));
            evidence.measured.push(Measured { build: Build { position, surroundings: 0, layout: None }, block, value });
        }
        let noise = Noise::Any;
        let settings = DrillSettings { noise, level: 0.95, least: 0.02, most_blocks: 60, layouts: 0, thorough: false };
        drill::concluded(&evidence, &settings)
    }

    /// The conclusions of all of them, floating-point numbers to nine digits: mathematical libraries differ in the last ones.
    fn all_concluded() -> Value {
        let compared = |record: &RunRecord| json!(concluded(record, &Settings::default()).unwrap());
        let mut all = json!({
            "run": summarise(&run()),
            "lens": summarise(&lens::example::record(&[(1, 3.0), (2, 40.0)])),
            "settled": compared(&comparison(|_, block| 1_500_003 + 40_000 * u64::from(block * 7 % 11), 11)),
            "search": search(),
            "budget": compared(&comparison(|_, block| 1_000_033 + 40_000 * u64::from(block * 5 % 11), 20)),
        });
        round(&mut all);
        all
    }

    fn round(value: &mut Value) {
        match value {
            Value::Number(number) if number.is_f64() => {
                *value = json!(format!("{:.8e}", number.as_f64().unwrap()).parse::<f64>().unwrap());
            }
            Value::Array(values) => values.iter_mut().for_each(round),
            Value::Object(members) => members.values_mut().for_each(round),
            _ => {}
        }
    }

    /// What the version concludes of the records above.
    const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/method/concluded.json");

    #[test]
    fn the_version_is_raised_with_whatever_is_concluded_otherwise() {
        let now = all_concluded();
        let mut kept: Value = serde_json::from_str(&std::fs::read_to_string(PATH).unwrap()).unwrap();
        let is_raised = kept["method"].as_u64() < Some(METHOD_VERSION.into());
        if is_raised && std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
            kept = json!({"method": METHOD_VERSION, "concluded": now.clone()});
            std::fs::write(PATH, kept.to_string() + "\n").unwrap();
        }
        for (record, concluded) in now.as_object().unwrap() {
            assert!(
                *concluded == kept["concluded"][record],
                "the record '{record}' is concluded otherwise: raise METHOD_VERSION, then write method/concluded.json anew with \
                 `INSTA_UPDATE=always cargo test -p faultline-stats the_version_is_raised`"
            );
        }
        assert_eq!(kept["method"], METHOD_VERSION, "method/concluded.json is of another version");
    }
}
