//! What all pages share: head, policy, style, scrollable tables, the data, and the script that reads them.

use super::assets;
use super::delivery::Delivery;
use maud::{DOCTYPE, Markup, PreEscaped, html as markup};
use serde::Serialize;

/// A whole page. `skip` is the target and text of the link at its beginning; `data` is the script's input, if it has any.
pub(crate) fn document<T: Serialize>(
    delivery: &Delivery<'_>,
    title: &str,
    skip: (&str, &str),
    masthead: Markup,
    parts: Markup,
    data: Option<&T>,
) -> String {
    markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " – Faultline" }
                link rel="icon" href="data:,";
                (delivery.head())
            }
            body {
                a.skip href=(skip.0) { (skip.1) }
                (masthead)
                main { (parts) }
                @if let Some(data) = data {
                    script id="data" type="application/json" { (PreEscaped(assets::embedded_json(data))) }
                }
                (delivery.foot())
            }
        }
    }
    .into_string()
}

/// A table that scrolls if it is too wide.
pub(crate) fn table(caption: &str, sortable: bool, head: Markup, body: Markup) -> Markup {
    markup! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table.sortable[sortable] {
                caption { span { (caption) } }
                thead { tr { (head) } }
                tbody { (body) }
            }
        }
    }
}
