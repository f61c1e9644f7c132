//! What the page carries besides its text: style, script, data, and the policy under which it runs.

use serde::Serialize;

/// The bundled style.
pub(crate) const STYLE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.css"));

/// The bundled script.
pub(crate) const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/page.js"));

/// SHA-256 of [`SCRIPT`], as a policy names it.
const SCRIPT_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/page.sha256"));

/// Content security policy: nothing is loaded from anywhere, and no script runs but the page's own. Styles may stand in attributes: widths of
/// bars do, and the charts' library puts them there.
pub(crate) fn policy() -> String {
    format!(
        "default-src 'none'; script-src 'sha256-{SCRIPT_HASH}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )
}

/// Data as JSON that can stand in a script element: no `<`, so that nothing in it can end the element or open a comment.
pub(crate) fn embedded_json<T: Serialize>(data: &T) -> String {
    serde_json::to_string(data)
        .expect("plain data with text keys")
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_script_or_style_ends_its_element() {
        assert!(!SCRIPT.to_lowercase().contains("</script"));
        assert!(!SCRIPT.contains("<!--"));
        assert!(!STYLE.to_lowercase().contains("</style"));
    }
}
