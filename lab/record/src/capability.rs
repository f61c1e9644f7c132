//! Parts of Faultline that work on a machine, and those that lack something.

/// A part of Faultline on one machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capability {
    /// The part, for example `counts under the lens`.
    pub part: &'static str,
    /// Its programs and versions if it works.
    pub state: Result<String, Lack>,
}

/// The reason why a part does not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// The missing thing, in one line.
    pub problem: String,
    /// A remedy, a command if there is one.
    pub hint: String,
}
