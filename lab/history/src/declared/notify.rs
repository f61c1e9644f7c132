//! The table `[notify]`: the command or the web hook that is told of confirmed changes.

use super::entry::{Length, Words};
use crate::web_hook::WebHook;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time limit of a notification, unless another is asked for.
const USUAL_LIMIT: Duration = Duration::from_secs(30);

/// Who is notified of confirmed changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notify {
    /// How.
    pub whom: Whom,
    /// A notification that has not ended after this time has failed. A command is killed.
    pub limit: Duration,
}

/// How somebody gets a notice, which is JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whom {
    /// A command, on standard input.
    Command {
        /// Its words.
        words: Vec<String>,
        /// The directory in which it runs: that of the file.
        directory: PathBuf,
    },
    /// A web hook, by POST.
    WebHook(WebHook),
}

/// The table as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    command: Option<Words>,
    webhook: Option<String>,
    limit: Option<Length>,
}

impl Entry {
    /// What it means in a file of a directory. Fails with the problem.
    pub(super) fn notify(self, directory: &Path) -> Result<Notify, String> {
        let limit = self.limit.map_or(USUAL_LIMIT, |limit| limit.0);
        let whom = match (self.command, self.webhook) {
            (Some(words), None) => Whom::Command { words: words.0, directory: directory.to_owned() },
            (None, Some(address)) => {
                Whom::WebHook(WebHook::at(&address).map_err(|problem| format!("`webhook`: {problem}"))?)
            }
            (Some(_), Some(_)) => return Err("`[notify]` takes `command` or `webhook`, not both".to_owned()),
            (None, None) => return Err("give `command` or `webhook`".to_owned()),
        };
        Ok(Notify { whom, limit })
    }
}
