//! Roles of partners: executions that run next to a measured one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Maximum length of a role, in bytes.
const MOST_BYTES: usize = 32;

/// Role of a partner of the measured execution: a short word such as `receiver` or `forwarder`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[ts(as = "String")]
#[serde(try_from = "String", into = "String")]
pub struct Role(String);

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let begins_well = text.starts_with(|c: char| c.is_ascii_lowercase());
        let is_word = text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
        if begins_well && is_word && text.len() <= MOST_BYTES {
            return Ok(Role(text.to_owned()));
        }
        Err(format!("'{text}' is not a role; a role is a word of a-z, 0-9 and _, at most {MOST_BYTES} long"))
    }
}

impl TryFrom<String> for Role {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Role> for String {
    fn from(role: Role) -> Self {
        role.0
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_a_short_word() {
        for text in ["receiver", "forwarder", "r2_d2"] {
            let role: Role = text.parse().unwrap();
            assert_eq!(role.to_string(), text);
            let stored = serde_json::to_string(&role).unwrap();
            assert_eq!(serde_json::from_str::<Role>(&stored).unwrap(), role);
        }
        for text in ["", "2nd", "_x", "Receiver", "a b", "a=b", "ä", "--x", &"a".repeat(33)] {
            assert!(text.parse::<Role>().unwrap_err().contains("is not a role"), "{text}");
        }
        assert!(serde_json::from_str::<Role>("\"a b\"").is_err());
    }
}
