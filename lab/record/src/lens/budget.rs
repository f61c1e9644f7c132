//! Budgets: the maximum of a figure per operation at a number of CPUs, in the user's notation and
//! as saved.

use crate::cell::Case;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use strum::VariantArray;

/// Figure that a budget limits, per operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, VariantArray, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Transfers.
    Transfers,
    /// Transfers by true sharing.
    TrueSharing,
    /// Transfers by false sharing.
    FalseSharing,
    /// Instructions.
    Instructions,
}

impl Metric {
    /// The word in a budget's text.
    pub fn word(self) -> &'static str {
        match self {
            Metric::Transfers => "transfers",
            Metric::TrueSharing => "true_sharing",
            Metric::FalseSharing => "false_sharing",
            Metric::Instructions => "instructions",
        }
    }
}

/// A limit: `[METRIC:]WHAT<=NUMBER@CPUS`, for example `fault_existing:shared<=1.5@8`,
/// `instructions:path_stat<=9000@4` or `mm_struct<=2@8`. METRIC is `transfers` (the default),
/// `true_sharing`, `false_sharing` or `instructions`, per operation.
///
/// WHAT is a case, a type or a variable. A case is `WORKLOAD:VARIANT`, or `WORKLOAD` for all its
/// variants, each of which must meet the limit. A type is `TYPE` or `TYPE:CASE`: the limit applies
/// to all its objects together, including those within other types, in each case or in this one.
///
/// A name that fits a case of the run denotes that case. A name with the prefix `type:` always
/// denotes a type. `var:VARIABLE` or `var:VARIABLE:CASE` limits a variable with all its members,
/// the copies of all CPUs together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    /// The limited figure.
    pub metric: Metric,
    /// True for the prefix `type:`.
    pub is_type: bool,
    /// True for the prefix `var:`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_variable: bool,
    /// The case, type or variable.
    pub what: String,
    /// Maximum of the figure.
    pub limit: f64,
    /// The number of CPUs.
    pub cpus: u32,
    /// The budget in the user's notation.
    pub written: String,
}

/// Part of a run that a budget limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limited<'a> {
    /// Whole cases.
    Cases,
    /// A type, in all cases or in those with that name.
    Type {
        /// The type.
        of: &'a str,
        /// Name of the cases; `None` for all.
        case: Option<&'a str>,
    },
    /// A variable, in all cases or in those with that name.
    Variable {
        /// The variable.
        of: &'a str,
        /// Name of the cases; `None` for all.
        case: Option<&'a str>,
    },
}

/// Error: a budget in no valid notation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a budget: {problem}")]
pub struct BudgetError {
    text: String,
    problem: String,
}

impl BudgetError {
    /// The syntax of a budget.
    pub const HINT: &'static str = "[METRIC:]CASE<=NUMBER@CPUS, for example 'fault_existing:shared<=1.5@8', or [METRIC:]TYPE<=NUMBER@CPUS, for example \
         'mm_struct<=2@8', or [METRIC:]var:VARIABLE<=NUMBER@CPUS; METRIC is transfers, true_sharing, false_sharing or instructions, per operation";
}

impl FromStr for Budget {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |problem: &str| BudgetError { text: text.to_owned(), problem: problem.to_owned() };
        let (what, limit) = text.split_once("<=").ok_or_else(|| wrong("it has no '<='"))?;
        let (limit, cpus) = limit.split_once('@').ok_or_else(|| wrong("'@' with a number of CPUs is missing"))?;
        let limit: f64 = limit.trim().parse().map_err(|_| wrong("the text after '<=' is not a number"))?;
        if !limit.is_finite() || limit < 0.0 {
            return Err(wrong("the limit must be a number from 0"));
        }
        let cpus: u32 = cpus.trim().parse().map_err(|_| wrong("the text after '@' is not a number of CPUs"))?;
        if cpus == 0 {
            return Err(wrong("the number of CPUs is 0"));
        }
        let what = what.trim();
        let prefixed = what
            .split_once(':')
            .and_then(|(word, case)| Some((*Metric::VARIANTS.iter().find(|metric| metric.word() == word)?, case)));
        let (metric, what) = prefixed.unwrap_or((Metric::Transfers, what));
        let (is_type, what) = what.strip_prefix(TYPE).map_or((false, what), |of| (true, of));
        let variable = what.strip_prefix(VARIABLE).filter(|_| !is_type);
        let (is_variable, what) = variable.map_or((false, what), |of| (true, of));
        if what.is_empty() {
            return Err(wrong("it does not name a case, a type or a variable"));
        }
        if is_variable && metric == Metric::Instructions {
            return Err(wrong("instructions are not counted by variable"));
        }
        if is_type && metric == Metric::Instructions {
            return Err(wrong("instructions are not counted by type"));
        }
        Ok(Budget { metric, is_type, is_variable, what: what.to_owned(), limit, cpus, written: text.to_owned() })
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// Prefix of a name that always denotes a type.
const TYPE: &str = "type:";

/// Prefix of the name of a variable.
const VARIABLE: &str = "var:";

impl Budget {
    /// The type that the budget limits in a run of these workloads, each given as `WORKLOAD` or
    /// `WORKLOAD:VARIANT`; `None` if it limits cases.
    pub fn type_among(&self, workloads: &[String]) -> Option<&str> {
        let workload = |name: &str| name.split(':').next().unwrap_or_default().to_owned();
        let has_name = |given: &String, name: &str| {
            given == name || workload(given) == name || !given.contains(':') && *given == workload(name)
        };
        self.limited_type(&|name| workloads.iter().any(|given| has_name(given, name)))
    }

    /// The variable that the budget limits in a run of these cases; `None` if it limits none.
    pub fn variable_in<'a>(&self, cases: impl Iterator<Item = &'a Case>) -> Option<&str> {
        let cases: Vec<&Case> = cases.collect();
        match self.limited(&|name| cases.iter().any(|case| is_named(case, name))) {
            Limited::Variable { of, .. } => Some(of),
            Limited::Cases | Limited::Type { .. } => None,
        }
    }

    /// The type that the budget limits in a run of these cases; `None` if it limits cases.
    pub fn type_in<'a>(&self, mut cases: impl Iterator<Item = &'a Case> + Clone) -> Option<&str> {
        let cases: Vec<&Case> = cases.by_ref().collect();
        self.limited_type(&|name| cases.iter().any(|case| is_named(case, name)))
    }

    /// True for a limit of instructions, which are not counted by type.
    pub fn is_of_instructions(&self) -> bool {
        self.metric == Metric::Instructions
    }

    fn limited_type(&self, is_case: &dyn Fn(&str) -> bool) -> Option<&str> {
        match self.limited(is_case) {
            Limited::Type { of, .. } => Some(of),
            Limited::Cases | Limited::Variable { .. } => None,
        }
    }

    /// The limited part of a run. `is_case` returns true for the name of a case of the run.
    pub fn limited(&self, is_case: &dyn Fn(&str) -> bool) -> Limited<'_> {
        if !self.is_type && !self.is_variable && is_case(&self.what) {
            return Limited::Cases;
        }
        let parts = self.what.match_indices(':').map(|(at, _)| (&self.what[..at], &self.what[at + 1..]));
        let in_case = parts.into_iter().find(|(of, case)| !of.is_empty() && is_case(case));
        let (of, case) = in_case.map_or((&self.what[..], None), |(of, case)| (of, Some(case)));
        if self.is_variable { Limited::Variable { of, case } } else { Limited::Type { of, case } }
    }
}

/// True if `name` denotes `case`, alone or with all variants of its workload.
pub fn is_named(case: &Case, name: &str) -> bool {
    case.workload == name || case.to_string() == name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(text: &str) -> Budget {
        text.parse().unwrap()
    }

    #[test]
    fn budgets_are_read() {
        for written in
            ["fault_existing:shared<=1.5@8", "transfers:type:zone<=2@8", "instructions:path_stat <= 9000 @ 4"]
        {
            assert_eq!(budget(written).to_string(), written);
        }
        let path_stat = budget("instructions:path_stat <= 9000 @ 4");
        let parts = (path_stat.metric, path_stat.what.as_str(), path_stat.limit, path_stat.cpus);
        assert_eq!(parts, (Metric::Instructions, "path_stat", 9000.0, 4));
        assert_eq!(budget("false_sharing:prog:program<=0@2").metric, Metric::FalseSharing);
    }

    #[test]
    fn what_is_no_budget_is_refused() {
        let refused = |text: &str| text.parse::<Budget>().unwrap_err().problem;
        assert_eq!(refused("fault"), "it has no '<='");
        assert_eq!(refused("fault<=1"), "'@' with a number of CPUs is missing");
        assert_eq!(refused("fault<=much@2"), "the text after '<=' is not a number");
        for limit in ["-1", "NaN", "inf"] {
            assert_eq!(refused(&format!("fault<={limit}@2")), "the limit must be a number from 0");
        }
        assert_eq!(refused("fault<=1@many"), "the text after '@' is not a number of CPUs");
        assert_eq!(refused("fault<=1@0"), "the number of CPUs is 0");
        assert_eq!(refused("<=1@2"), "it does not name a case, a type or a variable");
        assert_eq!(refused("transfers:<=1@2"), "it does not name a case, a type or a variable");
    }

    #[test]
    fn a_workload_s_name_comes_before_a_type_s() {
        let names = ["load".to_owned(), "path_stat:own".to_owned()];
        let of = |text: &str| budget(text).type_among(&names).map(str::to_owned);
        let some = |name: &str| Some(name.to_owned());
        assert_eq!([of("load<=1@2"), of("path_stat<=1@2"), of("load:base<=1@2")], [None, None, None]);
        assert_eq!([of("mm_struct<=1@2"), of("false_sharing:mm_struct<=1@2")], [some("mm_struct"), some("mm_struct")]);
        assert_eq!([of("type:load<=1@2"), of("mm_struct:load:base<=1@2")], [some("load"), some("mm_struct")]);
        assert_eq!([of("ns::Pool<=1@2"), of("ns::Pool:load<=1@2")], [some("ns::Pool"), some("ns::Pool")]);
        assert_eq!(budget("type:mm_struct<=1@2").to_string(), "type:mm_struct<=1@2");
        let refused = |text: &str| text.parse::<Budget>().unwrap_err().problem;
        assert_eq!(refused("instructions:type:mm_struct<=1@2"), "instructions are not counted by type");
        assert_eq!(refused("type:<=1@2"), "it does not name a case, a type or a variable");
    }

    #[test]
    fn a_variable_has_a_prefix() {
        let budget = budget("true_sharing:var:pool:load<=1@2");
        assert_eq!((budget.metric, budget.is_variable, budget.what.as_str()), (Metric::TrueSharing, true, "pool:load"));
        let is_case = |name: &str| name == "load" || name == "pool";
        assert_eq!(budget.limited(&is_case), Limited::Variable { of: "pool", case: Some("load") });
        assert_eq!(budget.type_among(&["load".to_owned()]), None);
        let alone: Budget = "var:pool<=1@2".parse().unwrap();
        assert_eq!(alone.limited(&is_case), Limited::Variable { of: "pool", case: None });
        let refused = |text: &str| text.parse::<Budget>().unwrap_err().problem;
        assert_eq!(refused("instructions:var:pool<=1@2"), "instructions are not counted by variable");
        assert_eq!(refused("var:<=1@2"), "it does not name a case, a type or a variable");
    }

    #[test]
    fn a_budget_is_saved_in_parts() {
        let budget = budget("false_sharing:type:zone <= 1.5@8");
        let json = serde_json::to_string(&budget).unwrap();
        let parts = r#"{"metric":"false_sharing","is_type":true,"what":"zone","limit":1.5,"cpus":8,"written":"#;
        assert!(json.starts_with(parts), "{json}");
        assert_eq!(serde_json::from_str::<Budget>(&json).unwrap(), budget);
    }
}
