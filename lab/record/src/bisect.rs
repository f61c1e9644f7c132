//! Settings of a search along a line of commits, and the reasons why a commit cannot be measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reason why a commit has no values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unusable {
    /// The commit does not build.
    Build,
    /// The kernel is built but does not boot.
    Boot,
    /// The program starts but fails.
    Run,
    /// The program does not end.
    Hang,
}

/// Variation of values between executions of one build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Noise {
    /// No variation: counts of the lens with one seed.
    None,
    /// Any variation: time.
    Any,
    /// No variation for one seed, but each execution of a build has another seed: counts of the
    /// lens. Values of one seed can be compared regardless of when they were counted, because
    /// nothing drifts.
    Seeds,
    /// Counts of the lens, whose dependence on the seed is not known yet. Both ends are counted
    /// with two seeds to find out.
    #[serde(rename = "from-ends")]
    FromEnds,
}

impl Noise {
    /// True if executions of a build may have different values.
    pub fn may_vary(self) -> bool {
        self != Noise::None
    }
}

/// Settings of a search along a line of commits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BisectSettings {
    /// Variation of values between executions of one build.
    pub noise: Noise,
    /// Probability that everything reported as found is correct: 0…1.
    pub level: f64,
    /// Smallest change to search for, as a share: 0.02. It may be 0 for exact values.
    pub least: f64,
    /// Maximum number of blocks, or of seeds, in which a position is measured during the search.
    /// Confirming a step at the position may take as many again.
    pub most_blocks: u32,
    /// Number of random layouts of a commit; 0 for none.
    pub layouts: u32,
    /// True if stretches with equal ends are searched too, up to the number of builds allowed for
    /// the steps found so far.
    pub thorough: bool,
}
