//! A statement as data, and its text for people if it has been written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// A statement. `stats` creates it as data only. `report` adds the text in its output for programs
/// (JSON, the page's data), so that readers of that output need no text of their own. Two
/// statements are equal if their data are equal.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Said<T> {
    /// The statement.
    #[serde(flatten)]
    pub what: T,
    /// The text of the statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(as = "String")]
    pub text: Option<String>,
}

impl<T> From<T> for Said<T> {
    fn from(what: T) -> Self {
        Said { what, text: None }
    }
}

impl<T> Deref for Said<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.what
    }
}

impl<T: PartialEq> PartialEq for Said<T> {
    fn eq(&self, other: &Self) -> bool {
        self.what == other.what
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::cell::{Case, TaskMode};

    #[test]
    fn words_stand_beside_the_data_and_are_not_compared() {
        let case = Case { workload: "w".into(), variant: "v".into(), mode: TaskMode::Thread };
        let plain = Said::from(case);
        let told = Said { text: Some("words".to_owned()), ..plain.clone() };
        let json = serde_json::to_string(&told).unwrap();
        assert_eq!(json, r#"{"workload":"w","variant":"v","mode":"thread","text":"words"}"#);
        assert_eq!(serde_json::from_str::<Said<Case>>(&json).unwrap(), plain);
        assert!(!serde_json::to_string(&plain).unwrap().contains("text"));
    }
}
