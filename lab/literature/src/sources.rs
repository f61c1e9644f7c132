//! Who measured what, when, and the definition of "improvement" there.

use faultline_model::direction::Direction;
use serde::Serialize;

/// What an author means by an improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Definition {
    /// New rate / old rate − 1; for times old / new − 1.
    Gain,
    /// (old − new) / old: the saved fraction of a time.
    Saved,
}

impl Definition {
    /// The word in tables.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Definition::Gain => "gain",
            Definition::Saved => "saved",
        }
    }

    /// The improvement in percent if the new value is `ratio` times the old one. For a rate, `Saved` is the lost fraction.
    pub(crate) fn percent(self, ratio: f64, direction: Direction) -> f64 {
        let share = match (self, direction) {
            (Definition::Gain, Direction::Higher) => ratio - 1.0,
            (Definition::Gain, Direction::Lower) => 1.0 / ratio - 1.0,
            (Definition::Saved, _) => 1.0 - ratio,
        };
        share * 100.0
    }
}

/// A publication with figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Source {
    /// Its short name.
    pub name: &'static str,
    /// Author, form, date, place.
    pub citation: &'static str,
    /// What was compared or measured.
    pub about: &'static str,
    /// The definition that reproduces its claims; `None` if it claims no improvement.
    pub definition: Option<Definition>,
}

/// Matthew Dillon on DragonFly in 2011.
pub(crate) const DRAGONFLY_2011: Source = Source {
    name: "dragonfly-2011-vm-token",
    citation: "Matthew Dillon, mail to DragonFly's users' list, 7 October 2011",
    about: "DragonFly's master before and after a patch that splits the lock of the memory system",
    definition: Some(Definition::Saved),
};

/// Matthew Dillon on DragonFly 4.8.
pub(crate) const DRAGONFLY_4_8: Source = Source {
    name: "dragonfly-4.8-2017",
    citation: "Matthew Dillon, mail about the state of DragonFly 4.8, 2017",
    about: "figures given in the text, most of them bounds or orders of magnitude",
    definition: None,
};

/// Matthew Dillon on DragonFly 5.6.
pub(crate) const DRAGONFLY_5_6: Source = Source {
    name: "dragonfly-5.4-vs-5.6",
    citation: "Matthew Dillon, mail \"5.4 RELEASE vs UPCOMING 5.6 RELEASE\", 14 June 2019",
    about: "DragonFly 5.4 against the upcoming 5.6",
    definition: Some(Definition::Gain),
};

/// Alexander Bluhm on OpenBSD's timecounters.
pub(crate) const OPENBSD_2019: Source = Source {
    name: "openbsd-2019",
    citation: "Alexander Bluhm, \"Measuring Performance on OpenBSD\", slides, EuroBSDCon 2019",
    about: "UDP throughput with four timecounters",
    definition: None,
};

/// Martin Pieuchot on OpenBSD's page allocator.
pub(crate) const OPENBSD_2024: Source = Source {
    name: "openbsd-percpu-page-cache",
    citation: "Martin Pieuchot, mail \"per-CPU page caches for page faults\" to tech@openbsd.org, 18 March 2024",
    about: "OpenBSD with one mutex around the page allocator, and with a cache of 16 pages per CPU in front of it",
    definition: Some(Definition::Saved),
};

/// Every source, by date.
pub(crate) const SOURCES: [Source; 5] = [DRAGONFLY_2011, DRAGONFLY_4_8, DRAGONFLY_5_6, OPENBSD_2019, OPENBSD_2024];
