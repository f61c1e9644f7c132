//! The page of a run that has only text: a search along a line of commits, or the results of one run of a history.

use super::frame::page;
use crate::page::delivery::Site;
use faultline_model::record::RunHead;
use maud::html as markup;

/// The page. `history`: the identifier of the history to which the run belongs. `further`: the address with the commits that follow, if there are any.
pub fn text_page(head: &RunHead, text: &str, history: Option<&str>, further: Option<&str>, site: &Site) -> String {
    let about = markup! {
        nav aria-label="Belongs to this run" {
            @if let Some(id) = history { a href=(site.history(id)) { "The whole history" } }
            a href=(site.executions(head.id)) { "Executions" }
        }
    };
    let parts = markup! {
        section {
            div.scroll tabindex="0" role="region" aria-label="Results" { pre.text { (text) } }
            @if let Some(further) = further { p { a href=(further) { "Further commits" } } }
        }
    };
    page(site, &format!("Run {}", head.id), about, parts)
}
