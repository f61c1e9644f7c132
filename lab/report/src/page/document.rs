//! What all pages share: head, policy, style, scrollable tables, the data, and the script that reads them.

use super::assets;
use maud::{DOCTYPE, Markup, PreEscaped, html as markup};
use serde::Serialize;

/// A whole page. `skip` is the target and text of the link at its beginning; `data` is the script's input.
pub(super) fn document<T: Serialize>(
    title: &str,
    skip: (&str, &str),
    masthead: Markup,
    parts: Markup,
    data: &T,
) -> String {
    markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(assets::policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " – Faultline" }
                link rel="icon" href="data:,";
                style { (PreEscaped(assets::STYLE)) }
            }
            body {
                a.skip href=(skip.0) { (skip.1) }
                (masthead)
                main { (parts) }
                script id="data" type="application/json" { (PreEscaped(assets::embedded_json(data))) }
                script { (PreEscaped(assets::SCRIPT)) }
            }
        }
    }
    .into_string()
}

/// A table that scrolls if it is too wide.
pub(super) fn table(caption: &str, sortable: bool, head: Markup, body: Markup) -> Markup {
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
