//! The frame of every page: head, content security policy, style, script and data, and the parts
//! that pages share.

use super::delivery::Delivery;
use maud::{DOCTYPE, Markup, PreEscaped, html as markup};
use serde::Serialize;

/// JSON for a script element. Contains no `<`, so no text can end the element or open a comment.
pub(crate) fn embedded_json<T: Serialize>(data: &T) -> String {
    serde_json::to_string(data)
        .expect("plain data with text keys")
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// A whole page. `skip`: target and text of the first link. `data`: input of the script, if any.
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
                    script id="data" type="application/json" { (PreEscaped(embedded_json(data))) }
                }
                (delivery.foot())
            }
        }
    }
    .into_string()
}

/// A section with its heading. `id`: its anchor.
pub(crate) fn section(id: &str, title: &str, content: Markup) -> Markup {
    markup! {
        section id=(id) aria-labelledby={ (id) "-title" } {
            h2 id={ (id) "-title" } { (title) }
            (content)
        }
    }
}

/// A section with a list of texts; nothing if there are none.
pub(crate) fn listed(id: &str, title: &str, texts: &[String]) -> Markup {
    markup! { @if !texts.is_empty() { (section(id, title, items(texts))) } }
}

/// A list of texts.
pub(crate) fn items(texts: &[String]) -> Markup {
    markup! { ul.shortfalls { @for text in texts { li { (text) } } } }
}

/// A list of warnings or cautions: code, text, and the cells concerned.
pub(crate) fn warnings(
    id: &str,
    title: &str,
    warnings: impl IntoIterator<Item = (&'static str, String, Option<String>)>,
) -> Markup {
    let warnings: Vec<_> = warnings.into_iter().collect();
    let list = markup! {
        ul.warnings {
            @for (code, text, cells) in &warnings {
                li { b { (code) } " " (text) @if let Some(cells) = cells { " " span.cells { (cells) } } }
            }
        }
    };
    markup! { @if !warnings.is_empty() { (section(id, title, list)) } }
}

/// The section that explains the page.
pub(crate) fn reading<S: AsRef<str>>(sentences: impl IntoIterator<Item = S>) -> Markup {
    let list = markup! { ul { @for sentence in sentences { li { (sentence.as_ref()) } } } };
    section("reading", "How to read this", list)
}

/// The place of a chart, which the script draws. `class`: further CSS classes. `cpus`: the point
/// that it shows.
pub(crate) fn chart(class: &str, cpus: Option<u32>, label: &str) -> Markup {
    markup! {
        div class={ "chart" @if !class.is_empty() { " " } (class) } data-cpus=[cpus] aria-label=(label)
            aria-describedby="chart-keys" {
            noscript { p.nothing { "The chart needs JavaScript. The tables show the same figures." } }
        }
    }
}

/// The keys of every chart.
pub(crate) fn chart_keys() -> Markup {
    markup! {
        p #chart-keys.hint {
            "Keys in a chart: arrows move between points, Enter pins the figures of a point, Escape closes them."
        }
    }
}

/// Preformatted text that scrolls. `name`: its name for screen readers.
pub(crate) fn preformatted(name: &str, text: &str) -> Markup {
    markup! { div.scroll tabindex="0" role="region" aria-label=(name) { pre.text { (text) } } }
}

#[cfg(test)]
mod tests {
    use crate::page::delivery::{SCRIPT, STYLE};

    #[test]
    fn nothing_in_script_or_style_ends_its_element() {
        assert!(!SCRIPT.to_lowercase().contains("</script"));
        assert!(!SCRIPT.contains("<!--"));
        assert!(!STYLE.to_lowercase().contains("</style"));
    }
}
