//! The operations, with their parameters and text form.

use faultline_memory::Rights;
use std::fmt::{self, Display};

/// Contiguous pages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pages {
    pub(super) first: u64,
    pub(super) count: u64,
}

impl Pages {
    pub(super) fn end(self) -> u64 {
        self.first + self.count
    }
}

impl Display for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.first, self.count)
    }
}

/// An operation. Spaces and objects have numbers, including those that it makes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Operation {
    Map { space: usize, pages: Pages, rights: Rights },
    MapObject { space: usize, pages: Pages, rights: Rights, object: usize, from: u64 },
    Unmap { space: usize, pages: Pages },
    Protect { space: usize, pages: Pages, rights: Rights },
    DontNeed { space: usize, pages: Pages },
    Read { space: usize, page: u64 },
    Write { space: usize, page: u64, value: u8 },
    Fork { space: usize, child: usize },
    Exit { space: usize },
    NewSpace { space: usize },
    NewObject { object: usize },
    DropObject { object: usize },
    Activate { space: usize },
    Deactivate { space: usize },
}

/// Contents of an access's page beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// None.
    Zeroes,
    /// A private page of this space alone.
    Private,
    /// A private page also owned by a child.
    Shared,
    /// A page of an object that another space has used.
    Object,
}

/// An operation without its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Map,
    MapObject,
    Unmap,
    Protect,
    DontNeed,
    Read(Content),
    Write(Content),
    Fork,
    Exit,
    NewSpace,
    NewObject,
    DropObject,
    Activate,
    Deactivate,
}

impl Kind {
    pub(super) const ALL: [Self; 20] = [
        Self::Map,
        Self::MapObject,
        Self::Unmap,
        Self::Protect,
        Self::DontNeed,
        Self::Read(Content::Zeroes),
        Self::Read(Content::Private),
        Self::Read(Content::Shared),
        Self::Read(Content::Object),
        Self::Write(Content::Zeroes),
        Self::Write(Content::Private),
        Self::Write(Content::Shared),
        Self::Write(Content::Object),
        Self::Fork,
        Self::Exit,
        Self::NewSpace,
        Self::NewObject,
        Self::DropObject,
        Self::Activate,
        Self::Deactivate,
    ];

    pub(super) fn content(self) -> Option<Content> {
        match self {
            Self::Read(content) | Self::Write(content) => Some(content),
            _ => None,
        }
    }
}

impl Operation {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Map { .. } => "map",
            Self::MapObject { .. } => "map object",
            Self::Unmap { .. } => "unmap",
            Self::Protect { .. } => "protect",
            Self::DontNeed { .. } => "don't need",
            Self::Read { .. } => "read",
            Self::Write { .. } => "write",
            Self::Fork { .. } => "fork",
            Self::Exit { .. } => "exit",
            Self::NewSpace { .. } => "new space",
            Self::NewObject { .. } => "new object",
            Self::DropObject { .. } => "drop object",
            Self::Activate { .. } => "activate",
            Self::Deactivate { .. } => "deactivate",
        }
    }

    /// The space of the operation, and the pages unless it concerns all.
    pub(super) fn place(&self) -> Option<(usize, Option<Pages>)> {
        match *self {
            Self::Map { space, pages, .. }
            | Self::MapObject { space, pages, .. }
            | Self::Unmap { space, pages }
            | Self::Protect { space, pages, .. }
            | Self::DontNeed { space, pages } => Some((space, Some(pages))),
            Self::Read { space, page } | Self::Write { space, page, .. } => {
                Some((space, Some(Pages { first: page, count: 1 })))
            }
            Self::Fork { space, .. } | Self::Exit { space } | Self::Activate { space } | Self::Deactivate { space } => {
                Some((space, None))
            }
            Self::NewSpace { .. } | Self::NewObject { .. } | Self::DropObject { .. } => None,
        }
    }
}

impl Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Map { rights, .. } | Self::MapObject { rights, .. } | Self::Protect { rights, .. } => {
                write!(f, " rights {}", rights.bits())?;
            }
            Self::Write { value, .. } => write!(f, " {value}")?,
            _ => {}
        }
        if let Self::MapObject { object, from, .. } = self {
            write!(f, " object {object} from {from}")?;
        }
        if let Self::DropObject { object } = self {
            write!(f, " {object}")?;
        }
        match self.place() {
            Some((space, Some(pages))) => write!(f, " space {space} pages {pages}"),
            Some((space, None)) => write!(f, " space {space}"),
            None => Ok(()),
        }
    }
}
