//! Layouts of a program: the order in which a linker places its code and data, and the space
//! between them. Each layout is drawn from a seed.

use serde::{Deserialize, Serialize};

/// The order of a program's sections of code and data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SectionOrder {
    /// The linker's own order.
    Keep,
    /// Random.
    #[default]
    Random,
    /// By name.
    Sort,
}

impl SectionOrder {
    /// The word in files and arguments.
    pub fn word(self) -> &'static str {
        match self {
            SectionOrder::Keep => "keep",
            SectionOrder::Random => "random",
            SectionOrder::Sort => "sort",
        }
    }

    /// The order with that word.
    pub fn from_word(word: &str) -> Option<Self> {
        [SectionOrder::Keep, SectionOrder::Random, SectionOrder::Sort].into_iter().find(|order| order.word() == word)
    }
}

/// The space between a program's sections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SectionSpacing {
    /// No more than the sections need.
    None,
    /// Random gaps.
    #[default]
    Gap,
    /// Each section begins at a multiple of 64 bytes.
    Align,
}

impl SectionSpacing {
    /// The word in files and arguments.
    pub fn word(self) -> &'static str {
        match self {
            SectionSpacing::None => "none",
            SectionSpacing::Gap => "gap",
            SectionSpacing::Align => "align",
        }
    }

    /// The spacing with that word.
    pub fn from_word(word: &str) -> Option<Self> {
        [SectionSpacing::None, SectionSpacing::Gap, SectionSpacing::Align]
            .into_iter()
            .find(|spacing| spacing.word() == word)
    }
}

/// Kind of layout: the rules for drawing it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutKind {
    /// The order of sections.
    pub order: SectionOrder,
    /// The space between them.
    pub spacing: SectionSpacing,
}

impl LayoutKind {
    /// True if two seeds may give different layouts.
    pub fn is_random(self) -> bool {
        self.order == SectionOrder::Random || self.spacing == SectionSpacing::Gap
    }

    /// The layout with that seed.
    pub fn with_seed(self, seed: u32) -> LinkLayout {
        LinkLayout { kind: self, seed }
    }
}

/// A layout: a kind and a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkLayout {
    /// The kind of layout.
    pub kind: LayoutKind,
    /// The seed.
    pub seed: u32,
}

/// The result of relinking a build in another layout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum RelinkResult {
    /// Code or data have moved.
    Placed {
        /// A digest of the addresses. Layouts with equal digests are identical.
        places: String,
    },
    /// All code and data have their addresses of the original build: the layout did not reach the
    /// linker, or nothing can be moved.
    Unchanged,
    /// The build fails only when relinked in this layout.
    Failed {
        /// The failure, in words.
        how: String,
        /// The last lines of the build's output.
        output: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lead_back_to_what_they_name() {
        for order in [SectionOrder::Keep, SectionOrder::Random, SectionOrder::Sort] {
            assert_eq!(SectionOrder::from_word(order.word()), Some(order));
        }
        for spacing in [SectionSpacing::None, SectionSpacing::Gap, SectionSpacing::Align] {
            assert_eq!(SectionSpacing::from_word(spacing.word()), Some(spacing));
        }
        assert_eq!((SectionOrder::from_word("gap"), SectionSpacing::from_word("")), (None, None));
    }

    #[test]
    fn a_layout_without_anything_random_is_always_the_same() {
        let kind = |order, spacing| LayoutKind { order, spacing };
        assert!(LayoutKind::default().is_random() && kind(SectionOrder::Keep, SectionSpacing::Gap).is_random());
        assert!(!kind(SectionOrder::Sort, SectionSpacing::Align).is_random());
    }
}
