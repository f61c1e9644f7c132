//! The version of the method. The database keeps each conclusion with the version that computed it.
//! A conclusion from another version is out of date and is computed again.

/// The version of all computation between a saved record and its conclusion (a summary, a
/// comparison, a search): a digest of the sources of this crate and of `record`.
///
/// Each change of the sources makes another version, because any of them may alter a figure, an
/// interval, a verdict, a warning, or a field of the conclusion's JSON. `method/concluded.json` is
/// one of the sources, so a change that comes from another crate counts if it shows there.
pub const METHOD_VERSION: u32 = match u32::from_str_radix(env!("FAULTLINE_METHOD"), 10) {
    Ok(version) => version,
    Err(_) => panic!("build.rs sets a number"),
};

#[cfg(test)]
mod tests {
    use crate::bisect::{self, BisectResult, Build, LineEvidence, Measured, Trial, TrialResult};
    use crate::comparison::Settings;
    use crate::sequential::concluded;
    use crate::{example, lens, summarise};
    use faultline_record::bisect::{BisectSettings, Noise, Unusable};
    use faultline_record::outcome::Outcome;
    use faultline_record::record::{RunRecord, RunState};
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

    /// A search of five commits, of which the third cannot be built and the fourth is a fifth
    /// slower.
    fn search() -> BisectResult {
        let mut evidence = LineEvidence::new(4, Vec::new());
        for position in 0..5 {
            let result = match position {
                2 => TrialResult::Unusable { why: Unusable::Build },
                _ => TrialResult::Usable,
            };
            evidence.trials.push(Trial { position, environment: 0, result });
        }
        for (block, position) in (0..24).flat_map(|block| [0, 1, 3, 4].map(|position| (block, position))) {
            let code = if position >= 3 { 1.2 } else { 1.0 };
            let value = Some(code * (1.0 + 0.01 * f64::from((block * 7 + position * 5) % 11)));
            evidence.measured.push(Measured { build: Build { position, environment: 0, layout: None }, block, value });
        }
        let noise = Noise::Any;
        let settings = BisectSettings { noise, level: 0.95, least: 0.02, most_blocks: 60, layouts: 0, thorough: false };
        bisect::concluded(&evidence, &settings)
    }

    /// The conclusions of all records. Floating-point numbers have nine digits, because
    /// mathematical libraries differ in the last ones.
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

    /// The saved conclusions of the records above.
    const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/method/concluded.json");

    #[test]
    fn a_change_of_conclusions_is_intended() {
        let now = all_concluded();
        if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
            std::fs::write(PATH, now.to_string() + "\n").unwrap();
        }
        let kept: Value = serde_json::from_str(&std::fs::read_to_string(PATH).unwrap()).unwrap();
        for (record, concluded) in now.as_object().unwrap() {
            assert!(
                *concluded == kept[record],
                "the record '{record}' is concluded otherwise; if this is intended, \
                 `INSTA_UPDATE=always cargo test -p faultline-stats conclusions` rewrites method/concluded.json"
            );
        }
    }
}
