//! How a page comes to its reader: as one file that needs nothing else, or as one of many of a site, which share style and script.

use super::assets;
use crate::moment;
use faultline_model::job::JobId;
use faultline_model::record::RunId;
use faultline_model::subject::SubjectIndex;
use faultline_model::time::UnixMillis;
use form_urlencoded::Serializer;
use maud::{Markup, PreEscaped, html as markup};

/// How a page comes to its reader.
#[derive(Debug, Clone, Copy)]
pub enum Delivery<'a> {
    /// One file.
    Alone,
    /// A page of a site.
    Site(&'a Site),
}

/// Where the pages of a site are, as one of them links to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// What leads to the top of the site: `/`, or `../` once or more, or nothing.
    root: String,
    /// Whether a server answers; otherwise pages are files.
    is_live: bool,
    /// When pages that are files were made.
    made: Option<UnixMillis>,
}

/// A commit, pinned in the plot of its history. `history`: the address of the history's page; empty on that page itself. Names of releases may have any letters.
pub fn pinned(history: &str, commit: &str) -> String {
    format!("{history}#{}", Serializer::new(String::new()).append_pair("at", commit).finish())
}

impl Site {
    /// Pages of a server.
    pub fn served() -> Self {
        Site { root: "/".to_owned(), is_live: true, made: None }
    }

    /// Pages in files, made at that time, seen from one that is so many directories below the top.
    pub fn of_files(depth: usize, made: UnixMillis) -> Self {
        Site { root: "../".repeat(depth), is_live: false, made: Some(made) }
    }

    /// Whether a server answers.
    pub fn is_live(&self) -> bool {
        self.is_live
    }

    /// The address of a page, by its path below the top without an ending.
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

    /// What leads to a run, before and after its number.
    pub(crate) fn run_parts(&self) -> (String, &'static str) {
        (format!("{}runs/", self.root), if self.is_live { "" } else { ".html" })
    }

    /// A history, by its identifier.
    pub fn history(&self, id: &str) -> String {
        self.page(&format!("histories/{id}"))
    }

    /// The machines on which was measured.
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

    /// What leads to a history, before and after its identifier.
    pub(crate) fn history_parts(&self) -> (String, &'static str) {
        (format!("{}histories/", self.root), if self.is_live { "" } else { ".html" })
    }

    /// The comparisons of a history's commits: a page that a server makes of any two, or the directory of those that are files.
    pub(crate) fn comparisons(&self, id: &str) -> String {
        format!("{}histories/{id}/compare", self.root)
    }

    /// The comparison of two commits of any histories; `None` of files, which have none.
    pub(crate) fn comparison_across(&self) -> Option<String> {
        self.is_live.then(|| self.compare())
    }

    /// The comparison of two commits of any histories, each with its history's identifier, which a server makes.
    pub fn compare_across(&self, [a, b]: [(&str, &str); 2]) -> String {
        let side = |(history, commit): (&str, &str)| format!("{history}@{commit}");
        let query = Serializer::new(String::new()).append_pair("a", &side(a)).append_pair("b", &side(b)).finish();
        format!("{}?{query}", self.compare())
    }

    /// The comparison of two commits of a history, by their positions, the older one first, as a file.
    pub(crate) fn compared_positions(&self, id: &str, [a, b]: [u32; 2]) -> String {
        self.page(&format!("histories/{id}/compare/{a}-{b}"))
    }

    /// The comparison of two commits of a history, which a server makes.
    pub(crate) fn compare_commits(&self, id: &str, a: &str, b: &str) -> String {
        // Names of releases may have any letters.
        let query = Serializer::new(String::new()).append_pair("a", a).append_pair("b", b).finish();
        format!("{}histories/{id}/compare?{query}", self.root)
    }

    /// The executions of one of a run's subjects: those alone from a server, and the place of the first one among all in a file.
    pub(crate) fn executions_of(&self, run: RunId, subject: SubjectIndex) -> String {
        let (before, _) = self.run_parts();
        format!("{before}{run}{}{}", self.executions_part(), subject.0)
    }

    /// The part of an address between the numbers of a run and of one of its subjects that leads to the subject's executions.
    pub(crate) fn executions_part(&self) -> &'static str {
        if self.is_live { "/executions?subject=" } else { "/executions.html#subject-" }
    }

    /// What takes the state of a change: the history's identifier, and the step's first commit with the new level.
    pub(crate) fn change(&self, history: &str, commit: &str) -> String {
        format!("{}api/v1/histories/{history}/changes/{commit}", self.root)
    }

    /// What readers asked for: a page of a server.
    pub(crate) fn jobs(&self) -> String {
        self.page("jobs")
    }

    /// What takes work on a history with that identifier.
    pub(crate) fn jobs_of(&self, history: &str) -> String {
        format!("{}api/v1/histories/{history}/jobs", self.root)
    }

    /// What withdraws a job.
    pub(crate) fn withdrawn(&self, job: JobId) -> String {
        format!("{}api/v1/jobs/{job}/withdraw", self.root)
    }

    /// The comparison of two runs, which a server makes.
    pub(crate) fn compare(&self) -> String {
        self.page("compare")
    }

    /// The executions of a run.
    pub(crate) fn executions(&self, run: RunId) -> String {
        self.page(&format!("runs/{run}/executions"))
    }

    /// An execution.
    pub(crate) fn execution(&self, run: RunId, execution: i64) -> String {
        self.page(&format!("runs/{run}/executions/{execution}"))
    }

    /// Below which address questions about a history are answered: by the API, or by files.
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
    /// Policy, style and, of a site, the script, for the head of a page.
    pub(super) fn head(&self) -> Markup {
        match self {
            Delivery::Alone => markup! {
                meta http-equiv="Content-Security-Policy" content=(assets::policy());
                style { (PreEscaped(assets::STYLE)) }
            },
            Delivery::Site(site) => markup! {
                // A server sends its policy with each answer.
                @if !site.is_live { meta http-equiv="Content-Security-Policy" content=(assets::POLICY_OF_FILES); }
                link rel="stylesheet" href=(site.asset(assets::STYLE_NAME));
                link rel="alternate" type="application/atom+xml" title="Changes" href=(site.feed());
                script src=(site.asset(assets::SCRIPT_NAME)) defer {}
            },
        }
    }

    /// The script of a page that is alone, at the end of its body.
    pub(super) fn foot(&self) -> Markup {
        markup! { @if let Delivery::Alone = self { script { (PreEscaped(assets::SCRIPT)) } } }
    }

    /// The name of the program, and of a site the way to its other pages.
    pub(crate) fn brand(&self) -> Markup {
        match self {
            Delivery::Alone => markup! { p.brand { "Faultline" } },
            Delivery::Site(site) => markup! {
                nav.site aria-label="Pages" {
                    a.brand href=(site.overview()) { "Faultline" }
                    a href=(site.overview()) { "Histories" }
                    a href=(site.changes()) { "Changes" }
                    // Only a server is asked for work.
                    @if site.is_live { a href=(site.jobs()) { "Jobs" } }
                    a href=(site.runs()) { "Runs" }
                    a href=(site.machines()) { "Machines" }
                }
                @if let Some(made) = site.made {
                    p.made { "These pages show the database as it was on " time datetime=(moment::iso(made)) { (moment::words(made)) } "." }
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
