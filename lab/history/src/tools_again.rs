//! The tools of a search, when it builds another commit: they must be those with which it began.

use faultline_experiment::Error;
use faultline_model::recipe::{BuildTools, ChangedTool};
use faultline_model::record::RunId;

/// Fails if the tools are others now. `before`: those with which the run began, if it says which.
pub(crate) fn check(before: Option<&BuildTools>, now: &BuildTools, run: RunId) -> Result<(), Error> {
    let Some(before) = before.filter(|before| before.digest != now.digest) else { return Ok(()) };
    let changed = before.changed(now);
    let what = if changed.is_empty() {
        "the build command's file, or a variable with options for tools, has".to_owned()
    } else {
        let tools: Vec<String> = changed.iter().map(words).collect();
        format!("{} {}", tools.join(", "), if tools.len() == 1 { "has" } else { "have" })
    };
    Err(Error::failed(
        format!("{what} changed since run {run} began, so builds before and after are not comparable"),
        format!(
            "restore the tools and resume, or begin anew: what run {run} measured is kept (`faultline show {run}`)"
        ),
    ))
}

/// A tool with its versions.
fn words(tool: &ChangedTool<'_>) -> String {
    let version = |version: Option<&str>| version.map_or_else(|| "none".to_owned(), |text| format!("'{text}'"));
    format!("`{}` (was {}, is {})", tool.asked, version(tool.before), version(tool.now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(digest: &str, compiler: &str) -> BuildTools {
        let versions = [("cc --version".to_owned(), compiler.to_owned())].into();
        BuildTools { digest: digest.to_owned(), versions }
    }

    #[test]
    fn a_changed_tool_is_named_with_its_versions() {
        let before = tools("1", "gcc 12.2");
        assert!(check(Some(&before), &before, RunId(3)).is_ok());
        assert!(check(None, &before, RunId(3)).is_ok(), "a search of an older version does not say");
        let refused = check(Some(&before), &tools("2", "gcc 13.1"), RunId(3)).unwrap_err();
        assert_eq!(
            refused.problem,
            "`cc --version` (was 'gcc 12.2', is 'gcc 13.1') has changed since run 3 began, so builds before and after are not comparable"
        );
        let refused = check(Some(&before), &tools("2", "gcc 12.2"), RunId(3)).unwrap_err();
        assert!(refused.problem.starts_with("the build command's file, or a variable"), "{refused:?}");
    }
}
