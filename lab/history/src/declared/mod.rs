//! Subjects of histories, as declared in `faultline.toml`: commits, builds and measures.

mod entry;
mod tables;

use crate::commits::Which;
use crate::notify::Notify;
use crate::request::{LineRequest, MeasureRequest};
use crate::workshop::absolute;
use entry::Entry;
use faultline_experiment::hosts::Hosts;
use faultline_experiment::settings_file::{self, SettingsTable, USUAL_FILE};
use faultline_experiment::{Consent, Error, variants};
use faultline_record::quirk::DeclaredQuirk;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The example that `faultline history init` writes.
const EXAMPLE: &str = include_str!("example.toml");

const HINT: &str = "docs/HISTORY.md describes the keys of `[subject.NAME]`; `faultline history init FILE` writes an example with all of them";

/// A program or kernel over the commits of a repository, or over releases.
#[derive(Debug, Clone)]
pub struct HistorySubject {
    /// Name; for a kernel `TABLE/WORKLOAD`.
    pub name: String,
    /// Name of its table in the file. The workloads of a kernel share a table.
    pub table: String,
    /// Recipe, artefact and host of its builds.
    pub line: LineRequest,
    /// The choice of commits.
    pub which: Which,
    /// The measure for each number of CPUs; each is a series of its own.
    pub measures: Vec<MeasureRequest>,
    /// Executions of a commit; for counts, the maximum number of seeds.
    pub repeats: u32,
    /// For counts: true if two seeds of the first and last commit decide between one seed and
    /// several.
    pub seeds_by_ends: bool,
    /// Number of random layouts in which a search links both sides of a step; 0 for none.
    pub layouts: u32,
    /// Number of random layouts in which each commit is measured in addition to its own; 0 for
    /// none.
    pub commit_layouts: u32,
    /// Declared changes of the environment that are not recorded.
    pub quirks: Vec<DeclaredQuirk>,
}

impl HistorySubject {
    /// Directory of the repository as it is saved with runs. Fails if it is not UTF-8.
    pub fn saved_repository(&self) -> Result<String, Error> {
        absolute(&self.line.repository)
    }
}

/// The subjects of a file.
#[derive(Debug)]
pub struct Declared {
    /// The file.
    pub file: PathBuf,
    /// Its text.
    text: String,
    /// The subjects by name.
    pub subjects: BTreeMap<String, HistorySubject>,
    /// Recipient of notifications about confirmed changes.
    pub notify: Option<Notify>,
}

impl Declared {
    /// Reads the named file, or the nearest `faultline.toml` up to the root of the repository.
    /// Fails if there is none, if it cannot be read, or if a declaration is impossible; the problem
    /// then names the line.
    pub fn read(named: Option<&Path>) -> Result<Self, Error> {
        let file = match named {
            Some(file) => file.to_owned(),
            None => settings_file::nearest(Path::new(".")).ok_or_else(|| {
                Error::usage(
                    format!("there is no {USUAL_FILE} here, nor above within the repository"),
                    "`faultline history init` writes an example; `--config FILE` names another file",
                )
            })?,
        };
        let text = settings_file::read(&file).map_err(|error| {
            Error::usage(
                format!("cannot read {}: {error}", file.display()),
                "`--config FILE` takes a file that declares subjects; `faultline history init` writes an example",
            )
        })?;
        Self::parse(&text, &file)
    }

    fn parse(text: &str, file: &Path) -> Result<Self, Error> {
        let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let written: Option<BTreeMap<String, Spanned<Entry>>> =
            settings_file::table(text, file, SettingsTable::Subject, HINT)?;
        let quirks: Option<Vec<Spanned<tables::QuirkEntry>>> =
            settings_file::table(text, file, SettingsTable::Quirk, HINT)?;
        let notify: Option<Spanned<tables::NotifyEntry>> =
            settings_file::table(text, file, SettingsTable::Notify, HINT)?;
        let hosts = Hosts::of_text(text, file)?;
        // Reports what other commands would refuse, because `faultline history commits` checks the
        // file.
        variants::check(text, file)?;
        let mut subjects = BTreeMap::new();
        for (name, entry) in written.unwrap_or_default() {
            let at = entry.span();
            let of_table = entry.into_inner().subjects(&name, directory, &hosts).map_err(|problem| {
                settings_file::refused(text, file, at, &format!("subject '{}': {problem}", name.escape_debug()), HINT)
            })?;
            subjects.extend(of_table.into_iter().map(|subject| (subject.name.clone(), subject)));
        }
        for entry in quirks.unwrap_or_default() {
            let at = entry.span();
            let refused =
                |problem: String| settings_file::refused(text, file, at.clone(), &format!("quirk: {problem}"), HINT);
            let releases: Vec<_> = subjects.values().flat_map(|subject| &subject.line.releases).collect();
            let (names, quirk) = entry.into_inner().quirk(&releases).map_err(refused)?;
            let is_none = |name: &&String| !subjects.values().any(|subject: &HistorySubject| subject.is_called(name));
            if let Some(name) = names.iter().flatten().find(is_none) {
                return Err(refused(format!("there is no subject '{}'", name.escape_debug())));
            }
            let is_meant = |subject: &HistorySubject| {
                names.as_ref().is_none_or(|names| names.iter().any(|name| subject.is_called(name)))
            };
            let meant = subjects.values_mut().filter(|subject| is_meant(subject));
            meant.for_each(|subject| subject.quirks.push(quirk.clone()));
        }
        if subjects.is_empty() {
            let problem = format!("{} declares no subject", file.display());
            return Err(Error::usage(
                problem,
                "a subject is a table `[subject.NAME]`; `faultline history init FILE` writes an example",
            ));
        }
        let notify = notify.map(|entry| {
            let at = entry.span();
            let refused = |problem: String| settings_file::refused(text, file, at, &format!("notify: {problem}"), HINT);
            entry.into_inner().notify(directory).map_err(refused)
        });
        let notify = notify.transpose()?;
        Ok(Declared { file: file.to_owned(), text: text.to_owned(), subjects, notify })
    }

    /// Fails unless the user has consented to the file: its builds, commands and hosts may be used.
    pub fn check(&self, consent: &Consent) -> Result<(), Error> {
        consent.check(&self.file, &self.text)
    }

    /// The declarations for a command that only looks. Without the user's consent, it does not
    /// write to the directories that the file names, but to the user's cache.
    pub fn to_look_at(mut self, consent: &Consent) -> Self {
        if !consent.includes(&self.file, &self.text) {
            self.subjects.values_mut().for_each(|subject| subject.line.work = None);
        }
        self
    }

    /// The subjects with these names, or all. Fails if a name is unknown.
    pub fn chosen(&self, names: &[String]) -> Result<Vec<&HistorySubject>, Error> {
        if names.is_empty() {
            return Ok(self.subjects.values().collect());
        }
        let called: Vec<Vec<&HistorySubject>> = names.iter().map(|name| self.called(name)).collect::<Result<_, _>>()?;
        Ok(called.concat())
    }

    /// The only subject with a name. Fails if there is none, or if the name stands for several
    /// workloads of a kernel.
    pub fn one(&self, name: &str) -> Result<&HistorySubject, Error> {
        match self.called(name)?.as_slice() {
            [one] => Ok(one),
            several => {
                let names: Vec<&str> = several.iter().map(|subject| subject.name.as_str()).collect();
                Err(Error::usage(
                    format!(
                        "'{}' has {} workloads, and each is a history of its own",
                        name.escape_debug(),
                        names.len()
                    ),
                    format!("name one: {}", names.join(", ")),
                ))
            }
        }
    }

    /// The subjects with a name, or of the table with that name. Fails if there is none.
    fn called(&self, name: &str) -> Result<Vec<&HistorySubject>, Error> {
        let called: Vec<&HistorySubject> = self.subjects.values().filter(|subject| subject.is_called(name)).collect();
        if called.is_empty() {
            let names: Vec<&str> = self.subjects.keys().map(String::as_str).collect();
            return Err(Error::usage(
                format!("{} declares no subject '{}'", self.file.display(), name.escape_debug()),
                format!("it declares {}", names.join(", ")),
            ));
        }
        Ok(called)
    }
}

impl HistorySubject {
    /// True if a name is the subject's own or that of its table.
    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.table == name
    }
}

/// Writes the example. Fails if the file exists or cannot be written.
pub fn write_example(file: &Path) -> Result<(), Error> {
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(file)
        .and_then(|mut open| open.write_all(EXAMPLE.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Error::usage(
            format!("{} exists already, and was not changed", file.display()),
            "name another file: `faultline history init FILE`",
        ),
        _ => Error::usage(
            format!("cannot write {}: {error}", file.display()),
            "name another file: `faultline history init FILE`",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notify::Whom;
    use faultline_record::quantity::Quantity;
    use faultline_record::quirk::QuirkTime;
    use faultline_record::relink::{LayoutKind, SectionOrder};
    use faultline_record::time::UnixMillis;

    fn parse(text: &str) -> Result<Declared, Error> {
        Declared::parse(text, Path::new("here/f.toml"))
    }

    fn wrong(text: &str) -> String {
        parse(text).unwrap_err().problem
    }

    #[test]
    fn the_example_is_right_with_every_key_that_it_names() {
        let example = parse(EXAMPLE).unwrap();
        let app = &example.subjects["app"];
        assert_eq!((app.line.artefact.command(), app.repeats), (&["./prog".to_owned(), "1000".to_owned()][..], 7));
        assert_eq!(app.line.repository, Path::new("here/."));
        // Each key that is commented out must belong to a subject too, whatever its value.
        let (of_subject, others) = EXAMPLE.split_once("# [[quirk]]").unwrap();
        let keys = of_subject.lines().filter_map(|line| line.strip_prefix("# ")?.split_once(" = ")).map(|(key, _)| key);
        let keys: Vec<&str> =
            keys.filter(|key| key.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase())).collect();
        assert!(keys.len() >= 12, "{keys:?}");
        for key in keys {
            let text = format!("[subject.x]\ncommand = \"c\"\n{key} = 1e9\n");
            let unknown = parse(&text).err().is_some_and(|error| error.problem.contains("unknown field"));
            assert!(!unknown, "{key}");
        }
        // So must the tables that are commented out; a quirk has a time or commits.
        let others: String =
            others.lines().filter_map(|line| line.strip_prefix("# ")).map(|line| format!("{line}\n")).collect();
        for one in ["since = ", "commits = "] {
            let others: String =
                others.lines().filter(|line| !line.starts_with(one)).map(|line| format!("{line}\n")).collect();
            let declared = parse(&format!("[subject.app]\ncommand = \"c\"\n[[quirk]]\n{others}")).unwrap();
            assert_eq!((declared.subjects["app"].quirks.len(), declared.notify.is_some()), (1, true));
        }
    }

    #[test]
    fn errors_are_reported_with_their_line() {
        assert!(
            wrong("[subject.a]\ncommand = \"x\"\nbrnach = 'main'\n")
                .starts_with("here/f.toml:3: unknown field `brnach`, expected one of ")
        );
        assert!(wrong("[subjects.a]\n").starts_with("here/f.toml:1: unknown table `subjects`"));
        let subject = "[subject.a]\ncommand = 'x'\n";
        assert!(wrong(&format!("{subject}[host.a]\nshs = 'x'\n")).starts_with("here/f.toml:4: unknown field `shs`"));
        assert!(wrong(&format!("{subject}[variant.a]\nsysctrl = 1\n")).starts_with("here/f.toml:4: unknown field"));
        assert!(wrong("\n[subject.a]\nbuild = 'make'\n").starts_with("here/f.toml:2: subject 'a': give `command`"));
        assert!(wrong("[subject.a]\ncommand = \"'\"\n").starts_with("here/f.toml:2: "));
        assert_eq!(
            wrong("[subject.a]\ncommand = 'x'\nrepeats = 'many'\n"),
            "here/f.toml:3: expected a whole number, at least 0"
        );
        assert!(wrong("[subject.a]\ncommand = \"a ' b\\nc\"\n").ends_with("b c' into words: missing closing quote"));
        assert!(wrong("[subject.a]\ncommand = 'x'\npick = 'every 0'\n").starts_with("here/f.toml:3: 'every 0' "));
        assert!(
            wrong("[subject.a]\ncommand = 'x'\nmeasure = 'speed'\n")
                .starts_with("here/f.toml:3: unknown variant `speed`")
        );
        assert!(wrong("[variant.a]\n").starts_with("here/f.toml declares no subject"));
    }

    #[test]
    fn a_command_that_looks_uses_the_work_directory_of_a_trusted_file_only() {
        let work = |consent: &Consent| {
            let declared = parse("[subject.a]\ncommand = 'x'\nwork = 'w'\n").unwrap().to_look_at(consent);
            declared.subjects["a"].line.work.clone()
        };
        assert_eq!(work(&Consent::default()), None);
        assert_eq!(work(&Consent { is_given: true, list: None }), Some(PathBuf::from("here/w")));
        let refused = parse("[subject.a]\ncommand = 'x'\n").unwrap().check(&Consent::default()).unwrap_err();
        assert_eq!(refused.problem, "here/f.toml has not been trusted, or has changed since");
    }

    #[test]
    fn keys_that_contradict_each_other_are_refused() {
        let wrong = |keys: &str| wrong(&format!("\n[subject.a]\ncommand = 'x'\n{keys}"));
        let prefix = "here/f.toml:2: subject 'a': ";
        assert_eq!(
            wrong("tags = ['v1', 'v2']\nbranch = 'main'\n"),
            format!("{prefix}`tags` names the commits, so `branch` does not apply")
        );
        assert_eq!(
            wrong("measure = 'transfers'\nrepeats = 3\n"),
            format!(
                "{prefix}`repeats` does not apply to transfers: with one seed counts are exact, and `seeds` takes the number of seeds"
            )
        );
        assert_eq!(wrong("whole = true\n"), format!("{prefix}`whole` applies only to transfers and instructions"));
        assert_eq!(wrong("commits = 9\n"), format!("{prefix}`commits` applies only to `pick = \"adaptive\"`"));
        assert_eq!(wrong("pick = 'adaptive'\ncommits = 0\n"), format!("{prefix}`commits` takes a number from 1"));
        assert!(wrong("tasks = []\n").starts_with(&format!("{prefix}`tasks` ")));
        assert!(wrong("tasks = [0]\n").starts_with(&format!("{prefix}`tasks` ")));
        assert!(wrong("repeats = 0\n").starts_with(&format!("{prefix}`repeats` ")));
        assert!(wrong("keep = ['../x']\n").starts_with(&format!("{prefix}`keep` ")));
        let named = parse("[subject.'a b']\ncommand = 'x'\n").unwrap_err().problem;
        assert_eq!(named, "here/f.toml:1: subject 'a b': a name has letters, digits, '.', '_' and '-'");
    }

    #[test]
    fn each_number_of_tasks_is_measured() {
        let declared =
            parse("[subject.a]\ncommand = 'x {tasks}'\nmeasure = 'instructions'\ntasks = [1, 4]\nwhole = true\n")
                .unwrap();
        let [one, four] = declared.subjects["a"].measures.as_slice() else { panic!("two numbers") };
        assert_eq!([one.tasks(), four.tasks()], [1, 4]);
        let MeasureRequest::Count { what, request } = four else { panic!("{four:?}") };
        assert_eq!((*what, request.whole), (Quantity::Instructions, true));
        assert_eq!((declared.subjects["a"].repeats, declared.subjects["a"].seeds_by_ends), (6, true));
        let one = parse("[subject.a]\ncommand = 'x'\nmeasure = 'transfers'\nseeds = 1\n").unwrap();
        assert_eq!((one.subjects["a"].repeats, one.subjects["a"].seeds_by_ends), (1, false));
        assert!(
            wrong("[subject.a]\ncommand = 'x'\nseeds = 3\n")
                .ends_with("`seeds` applies only to instructions and transfers")
        );
        assert!(declared.chosen(&["b".to_owned()]).unwrap_err().hint.unwrap().contains("declares a"));
    }

    #[test]
    fn each_workload_of_a_kernel_is_a_subject_and_the_table_names_all() {
        let declared = parse(
            "[subject.linux]\nimage = 'boot/bzImage'\nkeep = ['System.map']\nworkloads = ['zero_fill:base', 'map_churn:threads']\n\
             tasks = [1, 8]\nops = 64\nmode = 'thread'\n[[quirk]]\nwhat = 'x'\nsince = '2026-11-20'\nsubjects = ['linux']\n",
        )
        .unwrap();
        let names: Vec<&str> = declared.subjects.keys().map(String::as_str).collect();
        assert_eq!(names, ["linux/map_churn:threads", "linux/zero_fill:base"]);
        let zero_fill = declared.one("linux/zero_fill:base").unwrap();
        let kernel = zero_fill.line.artefact.kernel().unwrap();
        assert_eq!((kernel.image.as_str(), kernel.workload.as_str()), ("boot/bzImage", "zero_fill:base"));
        assert_eq!(zero_fill.line.recipe.kept, ["System.map", "boot/bzImage"]);
        let [one, eight] = zero_fill.measures.as_slice() else { panic!("two numbers") };
        assert_eq!(([one.tasks(), eight.tasks()], eight.quantity()), ([1, 8], Quantity::Transfers));
        let MeasureRequest::CountOnKernel { request, .. } = eight else { panic!("{eight:?}") };
        assert_eq!(request.operations, Some(64));
        assert_eq!(declared.chosen(&["linux".to_owned()]).unwrap().len(), 2);
        assert!(declared.subjects.values().all(|subject| subject.quirks.len() == 1));
        assert!(declared.one("linux").unwrap_err().problem.contains("2 workloads"));
    }

    #[test]
    fn releases_stand_instead_of_a_repository() {
        let release = |name: &str, date: &str| {
            format!("[[subject.linux.release]]\nname = '{name}'\ndate = '{date}'\nkernel = 'k/{name}'\n")
        };
        let text = |releases: &str| format!("[subject.linux]\nworkloads = ['zero_fill:base']\n{releases}");
        let both = [release("6.1", "1970-01-02"), release("6.12", "1970-01-03")].concat();
        let declared = parse(&text(&both)).unwrap();
        let linux = &declared.subjects["linux/zero_fill:base"];
        assert_eq!(linux.which, Which::Releases);
        let releases = &linux.line.releases;
        let quirk = "[[quirk]]\nwhat = 'x'\ncommits = ['6.12']\n";
        let with_quirk = parse(&(text(&both) + quirk)).unwrap();
        let first = QuirkTime::Commits { first: "6.12".to_owned(), last: None };
        assert_eq!(with_quirk.subjects["linux/zero_fill:base"].quirks[0].when, first);
        let told: Vec<_> = releases.iter().map(|release| (release.name.as_str(), release.released_s)).collect();
        assert_eq!(told, [("6.1", 86_400), ("6.12", 2 * 86_400)]);
        assert!(releases.iter().all(|release| Path::new(release.file.path()).is_absolute()));
        assert!(wrong(&text(&release("6.1", "soon"))).ends_with("release 6.1: 'soon' is not a date like 2023-06-10"));
        let archived = both.replace("kernel", "archive");
        let program = format!("[subject.linux]\ncommand = './x'\nbuild = 'make'\n{archived}");
        let declared = parse(&program).unwrap();
        let releases = &declared.subjects["linux"].line.releases;
        assert!(releases.len() == 2 && !releases[0].is_kernel());
        assert!(wrong(&text(&archived)).contains("`workloads` belongs to a kernel"));
        assert!(parse(&text(&archived).replace("workloads", "image = 'i'\nworkloads")).is_ok());
        assert!(
            wrong(&text(&[release("6.0", "1970-01-01"), archived].concat())).contains("6.0 and 6.1 are of two kinds")
        );
        let neither = release("6.1", "1970-01-01").replace("kernel", "# kernel");
        assert!(wrong(&text(&neither)).contains("`workloads` belongs to a kernel"));
        assert!(
            wrong(&format!("[subject.linux]\ncommand = './x'\n{neither}"))
                .ends_with("give either `kernel` or `archive`")
        );
        assert!(wrong(&text(&both).replace("workloads", "tags = ['a']\nworkloads")).contains("`tags` does not apply"));
        assert!(wrong(&text(&both).replace("workloads", "build = 'make'\nworkloads")).contains("are there already"));
        assert!(wrong(&text(&release("<b>", "2023-06-10"))).contains("'<b>' names no release"));
        assert!(
            wrong("[subject.a]\nimage = '../x'\nworkloads = ['a:b']\n").contains("`image` takes paths below the top")
        );
        assert!(wrong("[subject.a]\ncommand = 'x'\nops = 3\n").contains("`ops` belongs to a kernel"));
    }

    #[test]
    fn who_is_notified_is_declared_beside_the_subjects() {
        let subject = "[subject.a]\ncommand = 'x'\n[notify]\n";
        let notify = parse(&format!("{subject}command = ['mail', 'a b']\nlimit = '5s'\n")).unwrap().notify.unwrap();
        let words = ["mail", "a b"].map(str::to_owned).to_vec();
        assert_eq!(notify.whom, Whom::Command { words, directory: Path::new("here").to_owned() });
        assert_eq!(notify.limit.as_secs(), 5);
        let hook = parse(&format!("{subject}webhook = 'https://example.org/x'\n")).unwrap().notify.unwrap();
        assert!(matches!(hook.whom, Whom::WebHook(_)) && hook.limit.as_secs() == 30);
        assert!(parse("[subject.a]\ncommand = 'x'\n").unwrap().notify.is_none());
        for (lines, problem) in [
            ("webhook = 'x'\n", "`webhook`: it takes an address"),
            ("webhook = 'https://a/b'\ncommand = 'x'\n", "`command` or `webhook`, not both"),
            ("", "give `command` or `webhook`"),
            ("mail = 'x'\n", "unknown field `mail`"),
        ] {
            let said = wrong(&format!("{subject}{lines}"));
            assert!(said.starts_with("here/f.toml:") && said.contains(problem), "{said}");
        }
    }

    #[test]
    fn layouts_of_searches_are_declared_and_have_to_draw_something() {
        let subject = "[subject.a]\ncommand = 'x'\n";
        let of = |keys: &str| {
            let declared = parse(&format!("{subject}{keys}")).unwrap();
            (declared.subjects["a"].layouts, declared.subjects["a"].line.layout_kind)
        };
        assert_eq!(of(""), (0, LayoutKind::default()));
        let kind = LayoutKind { order: SectionOrder::Keep, ..LayoutKind::default() };
        assert_eq!(of("layouts = 12\nlayout_order = 'keep'\n"), (12, kind));
        assert_eq!(parse(&format!("{subject}commit_layouts = 9\n")).unwrap().subjects["a"].commit_layouts, 9);
        let same = "layouts = 12\nlayout_order = 'sort'\nlayout_spacing = 'align'\n";
        let kernels = "commit_layouts = 8\nworkloads = ['a:b']\n[[subject.a.release]]\nname = '1'\ndate = '2026-01-01'\nkernel = '/k'\n";
        assert!(
            wrong(&format!("[subject.a]\n{kernels}")).contains("cannot be linked"),
            "{}",
            wrong(&format!("[subject.a]\n{kernels}"))
        );
        for (keys, problem) in [
            ("layouts = 7\n", "`layouts` takes 8 to 1000"),
            ("commit_layouts = 7\n", "`commit_layouts` takes 8 to 1000"),
            (same, "are all the same"),
            ("layout_order = 'x'\n", "unknown variant"),
        ] {
            let said = wrong(&format!("{subject}{keys}"));
            assert!(said.contains(problem), "{said}");
        }
    }

    #[test]
    fn quirks_belong_to_all_subjects_or_to_those_that_are_named() {
        let subjects = "[subject.a]\ncommand = 'x'\n[subject.b]\ncommand = 'x'\n";
        let declared = parse(&format!(
            "{subjects}[[quirk]]\nwhat = 'firmware'\nsince = '2026-11-20'\n\
             [[quirk]]\nwhat = 'flags'\ncommits = ['1f3a9c2', '88ABCDE']\nsubjects = ['b']\n"
        ))
        .unwrap();
        let quirks = |name: &str| declared.subjects[name].quirks.clone();
        let since = QuirkTime::Since { at: UnixMillis(1_795_132_800_000) };
        assert_eq!(quirks("a"), [DeclaredQuirk { what: "firmware".to_owned(), when: since }]);
        let commits = QuirkTime::Commits { first: "1f3a9c2".to_owned(), last: Some("88abcde".to_owned()) };
        assert_eq!(quirks("b")[1].when, commits);
        let wrong = |keys: &str| wrong(&format!("{subjects}[[quirk]]\n{keys}"));
        assert_eq!(
            wrong("what = 'x'\n"),
            "here/f.toml:5: quirk: give `since`, a time of measuring, or `commits`, the first and the last"
        );
        assert!(wrong("what = ' '\nsince = '2026-11-20'\n").ends_with("`what` says what changed"));
        assert!(wrong("what = 'x'\nsince = 'soon'\n").contains("'soon' is neither a day like"));
        assert!(wrong("what = 'x'\ncommits = ['HEAD']\n").contains("'HEAD' is neither a commit, "));
        assert!(wrong("what = 'x'\ncommits = []\n").contains("`commits` takes the first commit"));
        assert!(wrong("what = 'x'\nsince = '2026-11-20'\nsubjects = ['c']\n").ends_with("there is no subject 'c'"));
    }

    #[test]
    fn a_file_is_never_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(USUAL_FILE);
        write_example(&file).unwrap();
        assert!(Declared::read(Some(&file)).is_ok());
        std::fs::write(&file, "mine").unwrap();
        assert!(write_example(&file).unwrap_err().problem.ends_with("exists already, and was not changed"));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    }
}
