//! Statements of people and searches about a change of a history, as they are saved.

use crate::named_change::ChangePlace;
use crate::record::RunId;
use crate::time::UnixMillis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeState {
    /// Found in the values.
    #[default]
    Found,
    /// Measured on both sides together by a search, and found again.
    Confirmed,
    /// Declared irrelevant by a person.
    Ignored,
    /// Undone.
    Fixed,
}

impl ChangeState {
    /// The state's word, in every output.
    pub fn word(self) -> &'static str {
        match self {
            ChangeState::Found => "found",
            ChangeState::Confirmed => "confirmed",
            ChangeState::Ignored => "ignored",
            ChangeState::Fixed => "fixed",
        }
    }

    /// True if no action is needed.
    pub fn is_settled(self) -> bool {
        matches!(self, ChangeState::Ignored | ChangeState::Fixed)
    }
}

/// Author of a statement about a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Source {
    /// A person.
    Person {
        /// The person's name. It comes from outside: it may hold any character.
        name: String,
    },
    /// A search.
    Search {
        /// The search's run.
        run: RunId,
    },
}

/// A statement about a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeEvent {
    /// Time of the statement.
    pub at: UnixMillis,
    /// Author of the statement.
    pub source: Source,
    /// The stated state. A search that did not confirm the change states [`ChangeState::Found`].
    pub state: ChangeState,
    /// For a search: it could neither confirm nor exclude the change, so the statement decides
    /// nothing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_inconclusive: bool,
    /// Reason for the statement. It comes from outside: it may hold any character.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Names of the commits of which one made the change, according to a search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// A statement about a change, with the change's place at that time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlacedEvent {
    /// The change's place.
    pub place: ChangePlace,
    /// The statement.
    pub event: ChangeEvent,
}
