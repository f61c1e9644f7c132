//! The page for a request that is not met.

use super::frame::page;
use crate::page::delivery::Site;
use maud::html as markup;

/// One line that says what is wrong, and a hint.
pub fn problem_page(status: u16, problem: &str, hint: Option<&str>, site: &Site) -> String {
    problem_page_with_ways(status, problem, hint, &[], site)
}

/// The same, with what leads on: words and an address.
pub fn problem_page_with_ways(
    status: u16,
    problem: &str,
    hint: Option<&str>,
    ways: &[(String, String)],
    site: &Site,
) -> String {
    let parts = markup! {
        section {
            p.nothing { (problem) }
            @if let Some(hint) = hint { p.hint { "Hint: " (hint) } }
            @if !ways.is_empty() { ul { @for (words, address) in ways { li { a href=(address) { (words) } } } } }
        }
    };
    page(site, &format!("Error {status}"), markup! {}, parts)
}
