//! Names of data and code that are compared between runs.

use faultline_model::lens::key::{CodePlace, Key, Unnamed};

/// The name; data without one is named by the code that moves it: `heap moved by work main.c:10`.
pub(crate) fn key(key: &Key) -> String {
    match key {
        Key::Named { name } => name.clone(),
        Key::Unnamed { what, moved_by } => format!("{} moved by {}", unnamed(what), places(moved_by)),
        Key::Code { place: at } => place(at.as_ref()),
    }
}

fn unnamed(what: &Unnamed) -> &str {
    match what {
        Unnamed::Cache { cache } => cache,
        Unnamed::FreePage => "free page",
        Unnamed::PerCpu => "memory of each CPU",
        Unnamed::KernelPage => "kernel memory",
        Unnamed::Vmalloc => "kernel stack or vmalloc",
        Unnamed::Heap => "heap",
        Unnamed::Mapped => "stack or mapping",
        Unnamed::Unknown => "memory",
    }
}

fn places(places: &[Option<CodePlace>]) -> String {
    match places {
        [] => "many places".to_owned(),
        some => some.iter().map(|at| place(at.as_ref())).collect::<Vec<_>>().join(" + "),
    }
}

/// Function and source line, with the function that it was inlined into.
fn place(place: Option<&CodePlace>) -> String {
    let Some(CodePlace { function, source, inlined_into }) = place else { return "code without a name".to_owned() };
    let source = source.as_ref().map_or_else(String::new, |source| format!(" {source}"));
    let outer = inlined_into.as_ref().map_or_else(String::new, |outer| format!(" in {outer}"));
    format!("{function}{source}{outer}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_without_a_name_is_named_by_the_code_that_moves_it() {
        let inlined = |into: Option<&str>| CodePlace {
            function: "spin".to_owned(),
            source: Some("lock.h:9".to_owned()),
            inlined_into: into.map(str::to_owned),
        };
        let moved = |what, moved_by| key(&Key::Unnamed { what, moved_by });
        let cache = Unnamed::Cache { cache: "kmalloc-64".to_owned() };
        let moved_by = vec![Some(inlined(Some("work"))), None];
        assert_eq!(moved(cache, moved_by), "kmalloc-64 moved by spin lock.h:9 in work + code without a name");
        assert_eq!(moved(Unnamed::Heap, Vec::new()), "heap moved by many places");
        assert_eq!(key(&Key::Code { place: Some(inlined(None)) }), "spin lock.h:9");
    }
}
