//! The delivery of a page: a single file, or a page of a site with shared style and script.
//! Addresses within a site.

use crate::figure;
use faultline_record::job::JobId;
use faultline_record::record::RunId;
use faultline_record::subject::SubjectIndex;
use faultline_record::time::UnixMillis;
use form_urlencoded::Serializer;
use maud::{Markup, PreEscaped, html as markup};

/// The bundled style.
pub(crate) const STYLE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.css"));

/// The bundled script.
pub(crate) const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/page.js"));

/// SHA-256 of [`SCRIPT`], as the policy writes it.
const SCRIPT_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/page.sha256"));

/// The script's file in a site. The name changes with the content, so browsers may cache it for
/// ever.
pub(crate) const SCRIPT_NAME: &str = concat!("page-", include_str!(concat!(env!("OUT_DIR"), "/page.version")), ".js");

/// The style's file in a site. The name changes with the content.
pub(crate) const STYLE_NAME: &str = concat!("page-", include_str!(concat!(env!("OUT_DIR"), "/page.version")), ".css");

/// Content security policy of a page of a site stored as files: loads only script and style beside
/// it.
pub(crate) const POLICY_OF_FILES: &str = "default-src 'none'; script-src 'self' file:; style-src 'self' file: 'unsafe-inline'; img-src data:; \
     base-uri 'none'; form-action 'none'";

/// Content security policy of a single file: loads nothing and runs only its own script.
///
/// Style attributes are allowed, because bars and the charting library need them.
pub(crate) fn policy() -> String {
    format!(
        "default-src 'none'; script-src 'sha256-{SCRIPT_HASH}'; style-src 'unsafe-inline'; img-src data:; \
         base-uri 'none'; form-action 'none'"
    )
}

/// The delivery of a page.
#[derive(Debug, Clone, Copy)]
pub enum Delivery<'a> {
    /// A single file with its style and script.
    Alone,
    /// A page of a site.
    Site(&'a Site),
}

/// Addresses of a site's pages, for links from one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The prefix of addresses: `/`, any number of `../`, or nothing.
    root: String,
    /// True for a server, false for files.
    is_live: bool,
    /// The time of the export, for files.
    made: Option<UnixMillis>,
}

/// The address of a commit that is pinned in the plot of its history. `history`: the address of the
/// page; empty on that page. Names of releases may have any characters.
pub fn pinned(history: &str, commit: &str) -> String {
    format!("{history}#{}", Serializer::new(String::new()).append_pair("at", commit).finish())
}

/// Numbers of executions that share a file.
const EXECUTIONS_PER_FILE: i64 = 100;

/// The number of the file that has an execution, among those of its run.
pub fn file_of_execution(execution: i64) -> i64 {
    execution / EXECUTIONS_PER_FILE
}

impl Site {
    /// Pages of a server.
    pub fn served() -> Self {
        Site { root: "/".to_owned(), is_live: true, made: None }
    }

    /// Files, exported at `made`, linked from `depth` directories below the top.
    pub fn of_files(depth: usize, made: UnixMillis) -> Self {
        Site { root: "../".repeat(depth), is_live: false, made: Some(made) }
    }

    /// True for a server.
    pub fn is_live(&self) -> bool {
        self.is_live
    }

    /// The address of a page. `path`: without extension.
    fn page(&self, path: &str) -> String {
        match (path, self.is_live) {
            ("", true) => self.root.clone(),
            ("", false) => format!("{}index.html", self.root),
            (path, true) => format!("{}{path}", self.root),
            (path, false) => format!("{}{path}.html", self.root),
        }
    }

    /// The overview.
    pub fn overview(&self) -> String {
        self.page("")
    }

    /// The list of runs.
    pub fn runs(&self) -> String {
        self.page("runs")
    }

    /// A run.
    pub fn run(&self, run: RunId) -> String {
        self.page(&format!("runs/{run}"))
    }

    /// The parts of a run's address before and after its number.
    pub(crate) fn run_parts(&self) -> (String, &'static str) {
        (format!("{}runs/", self.root), if self.is_live { "" } else { ".html" })
    }

    /// A history, by its identifier.
    pub fn history(&self, id: &str) -> String {
        self.page(&format!("histories/{id}"))
    }

    /// The machines.
    pub fn machines(&self) -> String {
        self.page("machines")
    }

    /// The changes of all histories.
    pub fn changes(&self) -> String {
        self.page("changes")
    }

    /// The changes as an Atom feed.
    pub fn feed(&self) -> String {
        format!("{}changes.atom", self.root)
    }

    /// The parts of a history's address before and after its identifier.
    pub(crate) fn history_parts(&self) -> (String, &'static str) {
        (format!("{}histories/", self.root), if self.is_live { "" } else { ".html" })
    }

    /// The comparisons of a history's commits: a page of the server for any two, or the directory
    /// of the files.
    pub(crate) fn comparisons(&self, id: &str) -> String {
        format!("{}histories/{id}/compare", self.root)
    }

    /// The page that compares commits of two histories, which only a server has.
    pub(crate) fn comparison_across(&self) -> Option<String> {
        self.is_live.then(|| self.compare())
    }

    /// The comparison of two commits, each with the identifier of its history. For servers.
    pub fn compare_across(&self, [a, b]: [(&str, &str); 2]) -> String {
        let side = |(history, commit): (&str, &str)| format!("{history}@{commit}");
        let query = Serializer::new(String::new()).append_pair("a", &side(a)).append_pair("b", &side(b)).finish();
        format!("{}?{query}", self.compare())
    }

    /// The comparison of two commits of a history by position, older first. For files.
    pub(crate) fn compared_positions(&self, id: &str, [a, b]: [u32; 2]) -> String {
        self.page(&format!("histories/{id}/compare/{a}-{b}"))
    }

    /// The comparison of two commits of a history. For servers.
    pub(crate) fn compare_commits(&self, id: &str, a: &str, b: &str) -> String {
        let query = Serializer::new(String::new()).append_pair("a", a).append_pair("b", b).finish();
        format!("{}histories/{id}/compare?{query}", self.root)
    }

    /// The executions of a subject: a server lists them alone; in a file, the address leads to the
    /// first of them.
    pub(crate) fn executions_of(&self, run: RunId, subject: SubjectIndex) -> String {
        let (before, _) = self.run_parts();
        format!("{before}{run}{}{}", self.executions_part(), subject.0)
    }

    /// The part of that address between the numbers of run and subject.
    pub(crate) fn executions_part(&self) -> &'static str {
        if self.is_live { "/executions?subject=" } else { "/executions.html#subject-" }
    }

    /// The API for the state of a change. `commit`: the first commit with the new level.
    pub(crate) fn change(&self, history: &str, commit: &str) -> String {
        format!("{}api/v1/histories/{history}/changes/{commit}", self.root)
    }

    /// The jobs. For servers.
    pub(crate) fn jobs(&self) -> String {
        self.page("jobs")
    }

    /// The API for jobs of a history.
    pub(crate) fn jobs_of(&self, history: &str) -> String {
        format!("{}api/v1/histories/{history}/jobs", self.root)
    }

    /// The API that withdraws a job.
    pub(crate) fn withdrawn(&self, job: JobId) -> String {
        format!("{}api/v1/jobs/{job}/withdraw", self.root)
    }

    /// The comparison of two runs. For servers.
    pub(crate) fn compare(&self) -> String {
        self.page("compare")
    }

    /// The executions of a run.
    pub(crate) fn executions(&self, run: RunId) -> String {
        self.page(&format!("runs/{run}/executions"))
    }

    /// An execution: a page of a server, or a part of a file.
    pub(crate) fn execution(&self, run: RunId, execution: i64) -> String {
        match self.is_live {
            true => self.page(&format!("runs/{run}/executions/{execution}")),
            false => {
                let file = self.page(&format!("runs/{run}/executions/{}", file_of_execution(execution)));
                format!("{file}#execution-{execution}")
            }
        }
    }

    /// The address below which the API, or files, answer questions about a history.
    pub(crate) fn answers(&self, id: &str) -> String {
        match self.is_live {
            true => format!("{}api/v1/histories/{id}", self.root),
            false => format!("{}histories/{id}", self.root),
        }
    }

    fn asset(&self, name: &str) -> String {
        format!("{}assets/{name}", self.root)
    }
}

impl Delivery<'_> {
    /// The page's head: policy, style and, for a site, the script.
    pub(super) fn head(&self) -> Markup {
        match self {
            Delivery::Alone => markup! {
                meta http-equiv="Content-Security-Policy" content=(policy());
                style { (PreEscaped(STYLE)) }
            },
            Delivery::Site(site) => markup! {
                // A server sends its policy as a header.
                @if !site.is_live { meta http-equiv="Content-Security-Policy" content=(POLICY_OF_FILES); }
                link rel="stylesheet" href=(site.asset(STYLE_NAME));
                link rel="alternate" type="application/atom+xml" title="Changes" href=(site.feed());
                script src=(site.asset(SCRIPT_NAME)) defer {}
            },
        }
    }

    /// The script of a single file, for the end of the body.
    pub(super) fn foot(&self) -> Markup {
        markup! { @if let Delivery::Alone = self { script { (PreEscaped(SCRIPT)) } } }
    }

    /// The name of the program, and for a site the navigation.
    pub(crate) fn brand(&self) -> Markup {
        match self {
            Delivery::Alone => markup! { p.brand { "Faultline" } },
            Delivery::Site(site) => markup! {
                nav.site aria-label="Pages" {
                    a.brand href=(site.overview()) { "Faultline" }
                    a href=(site.overview()) { "Histories" }
                    a href=(site.changes()) { "Changes" }
                    @if site.is_live { a href=(site.jobs()) { "Jobs" } }
                    a href=(site.runs()) { "Runs" }
                    a href=(site.machines()) { "Machines" }
                }
                @if let Some(made) = site.made {
                    p.made { "Exported from the database on " time datetime=(figure::iso_time(made)) { (figure::date_time(made)) } "." }
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_releases_survive_addresses() {
        assert_eq!(pinned("/histories/1", "7.2.13+deb14 &#"), "/histories/1#at=7.2.13%2Bdeb14+%26%23");
        let compared = Site::served().compare_across([("1", "7.2+a"), ("2", "b")]);
        assert_eq!(compared, "/compare?a=1%407.2%2Ba&b=2%40b");
    }
}
