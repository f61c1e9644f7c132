//! Bounds of the counted region of a program, besides its marks, and their form for the plugin.

use crate::qemu::RunScope;
use faultline_record::lens::problem::Problem;

/// A function of a program, recognised by its code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionStart {
    /// Its name.
    pub name: String,
    /// Offset of its first byte in a page.
    pub page_offset: u64,
    /// Its first bytes.
    pub bytes: Vec<u8>,
}

impl FunctionStart {
    /// The function in the plugin's notation.
    fn written(&self) -> String {
        let digits: String = self.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{:x}:{digits}", self.page_offset)
    }
}

/// Bounds of a region.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RegionBounds {
    /// Function whose calls begin a region.
    pub from: Option<FunctionStart>,
    /// Function whose calls end the region.
    pub to: Option<FunctionStart>,
    /// Milliseconds of the guest's time from the program's start to the region's beginning.
    pub after_ms: Option<u64>,
}

impl RegionBounds {
    /// Options of the plugin.
    pub(super) fn options(&self) -> impl Iterator<Item = (String, String)> {
        let functions = [("from", &self.from), ("to", &self.to)];
        functions.into_iter().filter_map(|(key, function)| Some((key.to_owned(), function.as_ref()?.written())))
    }

    /// The scope of the region for the guest's agent. `is_whole`: the region ignores marks.
    pub(super) fn scope(&self, is_whole: bool) -> RunScope {
        match (self.after_ms, &self.from) {
            (Some(ms), _) => RunScope::After { ms },
            (None, None) if is_whole => RunScope::Whole,
            (None, _) => RunScope::Marks,
        }
    }

    /// The reason why no region began.
    pub(super) fn not_reached(&self) -> Option<String> {
        match (&self.from, self.after_ms) {
            (Some(from), _) => Some(format!("no counted process called {}", from.name)),
            (None, Some(after_ms)) => Some(format!("the program ended before {after_ms} ms of the guest's time")),
            (None, None) => None,
        }
    }

    /// The problem of counts of so many regions, of which this many ended with a call of the
    /// function for it.
    pub(super) fn end_not_reached(&self, regions: u64, ended_by_call: Option<u64>) -> Option<Problem> {
        let to = self.to.as_ref().filter(|_| ended_by_call.is_some_and(|ended| ended < regions))?;
        Some(Problem::EndNotReached { function: to.name.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_begins_the_region_unless_a_function_does() {
        let from = FunctionStart { name: "work".to_owned(), page_offset: 0xff0, bytes: vec![0xf3, 0x0f] };
        let bounds = |from, after_ms| RegionBounds { from, to: None, after_ms };
        let scopes = |bounds: RegionBounds| [true, false].map(|is_whole| bounds.scope(is_whole));
        assert_eq!(scopes(bounds(None, None)), [RunScope::Whole, RunScope::Marks]);
        assert_eq!(scopes(bounds(None, Some(2000))), [RunScope::After { ms: 2000 }; 2]);
        assert_eq!(scopes(bounds(Some(from.clone()), None)), [RunScope::Marks; 2]);
        let to = RegionBounds { to: Some(from), ..bounds(None, Some(1)) };
        assert_eq!(to.options().collect::<Vec<_>>(), [("to".to_owned(), "ff0:f30f".to_owned())]);
        let not_reached = Problem::EndNotReached { function: "work".to_owned() };
        let of_two = [Some(0), Some(1), Some(2)].map(|ended| to.end_not_reached(2, ended));
        assert_eq!(of_two, [Some(not_reached.clone()), Some(not_reached), None]);
        assert_eq!(bounds(None, Some(1)).end_not_reached(1, None), None);
    }
}
