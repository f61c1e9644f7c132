//! The parts of the page other than its text: style, script, data, and its content security policy.

use serde::Serialize;

/// The bundled style.
pub(crate) const STYLE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.css"));

/// The bundled script.
pub(crate) const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/page.js"));

/// SHA-256 of [`SCRIPT`], in the form for the policy.
const SCRIPT_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/page.sha256"));

/// The script's file in a site. Its name changes with its content, so a browser may keep it for ever.
pub(crate) const SCRIPT_NAME: &str = concat!("page-", include_str!(concat!(env!("OUT_DIR"), "/page.version")), ".js");

/// The style's file in a site, named likewise.
pub(crate) const STYLE_NAME: &str = concat!("page-", include_str!(concat!(env!("OUT_DIR"), "/page.version")), ".css");

/// Policy of a page in a file of a site: its script and style are files beside it, and nothing else is loaded.
pub(crate) const POLICY_OF_FILES: &str = "default-src 'none'; script-src 'self' file:; style-src 'self' file: 'unsafe-inline'; img-src data:; \
     base-uri 'none'; form-action 'none'";

/// Content security policy: nothing is loaded from anywhere, and only the page's own script runs. Styles in attributes are allowed: widths of
/// bars need them, and so does the charts' library.
pub(crate) fn policy() -> String {
    format!(
        "default-src 'none'; script-src 'sha256-{SCRIPT_HASH}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )
}

/// Data as JSON for a script element: without `<`, so that nothing in it can end the element or open a comment.
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
