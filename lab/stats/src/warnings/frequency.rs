//! CPU frequencies that may change during a run.

use super::{Findings, Warning, WarningKind};
use faultline_record::facts::{FactValue, Facts};
use faultline_record::record::RunRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reason why a frequency may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum FrequencyReason {
    /// The governor does not keep the frequency constant.
    Governor {
        /// The governor.
        name: String,
        /// The governor that keeps it constant.
        steady: String,
    },
    /// The frequency is scaled by an unknown governor.
    Scaling,
    /// Boost is enabled.
    Boost,
}

/// The governor that keeps the frequency constant, as Linux names it.
const STEADY_GOVERNOR: &str = "performance";

/// The frequency may change: boost is enabled, or the governor does not keep it constant.
pub(super) fn frequency_scaling(findings: &Findings<'_>) -> Option<Warning> {
    let reasons = frequency_reasons(findings.record)?;
    Some(Warning { kind: WarningKind::FrequencyScaling { reasons }, cells: Vec::new() })
}

/// Reasons why the frequency may change; `None` if there are none.
pub(crate) fn frequency_reasons(record: &RunRecord) -> Option<Vec<FrequencyReason>> {
    record.all_facts().map(reasons).find(|reasons| !reasons.is_empty())
}

fn reasons(facts: &Facts) -> Vec<FrequencyReason> {
    let flag = |key: &str| facts.0.get(key) == Some(&FactValue::Flag(true));
    let governor = facts.get_text("cpu.governor");
    let mut reasons = Vec::new();
    match governor {
        Some(governor) if governor != STEADY_GOVERNOR => {
            reasons.push(FrequencyReason::Governor { name: governor.to_owned(), steady: STEADY_GOVERNOR.to_owned() });
        }
        None if flag("cpu.frequency_scaling") => reasons.push(FrequencyReason::Scaling),
        _ => {}
    }
    if flag("cpu.boost") {
        reasons.push(FrequencyReason::Boost);
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::super::tests::{of, with_fact};
    use crate::warnings::WarningCode::FrequencyScaling;
    use crate::warnings::{FrequencyReason, WarningKind};
    use faultline_record::facts::FactValue;

    #[test]
    fn another_governor_or_boost_is_reported() {
        let governor = FrequencyReason::Governor { name: "schedutil".into(), steady: "performance".into() };
        let warnings = of(&with_fact("cpu.governor", FactValue::Text("schedutil".into())), FrequencyScaling);
        assert_eq!(warnings[0].kind, WarningKind::FrequencyScaling { reasons: vec![governor] });
        let warnings = of(&with_fact("cpu.boost", FactValue::Flag(true)), FrequencyScaling);
        assert_eq!(warnings[0].kind, WarningKind::FrequencyScaling { reasons: vec![FrequencyReason::Boost] });
    }

    #[test]
    fn scaling_under_the_steady_governor_is_none() {
        let mut record = with_fact("cpu.frequency_scaling", FactValue::Flag(true));
        assert!(of(&record, FrequencyScaling).is_empty());
        record.head.sessions[0].facts[0].0.remove("cpu.governor");
        assert_eq!(of(&record, FrequencyScaling).len(), 1);
    }
}
