//! A reading's transfers by object: a variable, all objects of a type, or the memory that one
//! function moves. A structure over many lines is one row.

use crate::lens::by_type::{Sharing, SiteTransfers, Untypeable};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of saved rows that are no variables: those with the most transfers. All variables
/// are saved.
pub const OBJECTS_KEPT: usize = 100;

/// The object of a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Owner {
    /// A variable with all its members; the copies of all CPUs of a per-CPU variable, or per-CPU
    /// memory of one type.
    Variable {
        /// Its name.
        name: String,
    },
    /// All objects of a type.
    Type {
        /// The type's name.
        name: String,
    },
    /// Other memory: all lines of a kind that one function moves more than others do.
    Memory {
        /// The kind.
        of: Untypeable,
        /// The function; `None` if it has no name.
        function: Option<String>,
    },
}

/// The transfers of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectReading {
    /// The object.
    pub owner: Owner,
    /// Number of its lines that moved.
    pub lines: u64,
    /// Number of CPUs to which these lines moved.
    pub cpus: u64,
    /// Transfers by reads.
    pub reads: Sharing,
    /// Transfers by writes.
    pub writes: Sharing,
    /// Transfers by instruction, most first.
    pub by_site: Vec<SiteTransfers>,
}

impl ObjectReading {
    /// All transfers.
    pub fn transfers(&self) -> Sharing {
        let mut all = self.reads;
        all.add(self.writes);
        all
    }
}
