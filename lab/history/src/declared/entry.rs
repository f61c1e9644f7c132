//! A table `[subject.NAME]` of faultline.toml.

use crate::commits::{Pick, Walk, Which};
use crate::declared::HistorySubject;
use crate::request::{LAYOUTS, LineRequest, MeasureRequest};
use crate::source::UNAME;
use faultline_experiment::command_words;
use faultline_experiment::hosts::{Hosts, with_absolute_paths};
use faultline_experiment::lens::BuildsRequest;
use faultline_record::artefact::{Artefact, Release};
use faultline_record::bounds::MOST_TASKS;
use faultline_record::cell::TaskMode;
use faultline_record::machine::{Accelerator, ControlledHost, Machine};
use faultline_record::plan::PinPolicy;
use faultline_record::quantity::Quantity;
use faultline_record::recipe::{Recipe, is_within_build};
use faultline_record::relink::{LayoutKind, SectionOrder, SectionSpacing};
use release::ReleaseEntry;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

mod kernel;
mod release;

/// Default number of executions of a commit for time. The interval of their median covers 98 %.
const USUAL_REPEATS: u32 = 7;

/// Default number of seeds of a commit: the fewest whose median has a 95 % interval.
const USUAL_SEEDS: u32 = 6;

/// Maximum number of executions of a commit.
const MOST_REPEATS: u32 = 10_000;

/// Default time limit of a build.
const USUAL_BUILD_LIMIT_S: u64 = 30 * 60;

/// Default newest commit.
const USUAL_BRANCH: &str = "HEAD";

/// The keys of the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    repository: Option<String>,
    work: Option<String>,
    branch: Option<String>,
    since: Option<String>,
    pick: Option<Pick>,
    commits: Option<Number>,
    walk: Option<Walk>,
    tags: Option<Vec<String>>,
    build: Option<Words>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    #[serde(default)]
    keep: Vec<String>,
    #[serde(default)]
    clean: bool,
    #[serde(default)]
    network: bool,
    sandbox: Option<bool>,
    build_limit: Option<Length>,
    command: Option<Words>,
    image: Option<String>,
    vmlinux: Option<String>,
    workloads: Option<Vec<String>>,
    mode: Option<TaskMode>,
    ops: Option<Number>,
    accel: Option<Accelerator>,
    #[serde(default)]
    release: Vec<ReleaseEntry>,
    on: Option<String>,
    release_file: Option<String>,
    measure: Option<Quantity>,
    tasks: Option<Vec<Number>>,
    repeats: Option<Number>,
    pin: Option<PinPolicy>,
    limit: Option<Length>,
    seed: Option<u64>,
    seeds: Option<Number>,
    whole: Option<bool>,
    kernel_too: Option<bool>,
    kernel: Option<String>,
    layouts: Option<Number>,
    commit_layouts: Option<Number>,
    #[serde(default)]
    layout_order: SectionOrder,
    #[serde(default)]
    layout_spacing: SectionSpacing,
}

/// Words of a command: a list, or a text that is split like a shell does.
#[derive(Deserialize)]
#[serde(try_from = "Written")]
pub(super) struct Words(pub(super) Vec<String>);

#[derive(Deserialize)]
#[serde(untagged, expecting = "a command is a text, or a list of its words")]
enum Written {
    Text(String),
    List(Vec<String>),
}

impl TryFrom<Written> for Words {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Text(text) => command_words(&text, "").map(Words).map_err(|error| one_line(&error.problem)),
            Written::List(words) if words.first().is_none_or(String::is_empty) => {
                Err("the command is empty".to_owned())
            }
            Written::List(words) => Ok(Words(words)),
        }
    }
}

/// A problem on one line. It cites the file, whose text may have several lines.
fn one_line(problem: &str) -> String {
    problem.replace(char::is_control, " ")
}

/// A whole number from 0.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "expected a whole number, at least 0")]
enum Number {
    Number(u32),
}

impl From<Number> for u32 {
    fn from(Number::Number(number): Number) -> Self {
        number
    }
}

/// A duration above 0, written like `30m`.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Length(pub(super) Duration);

impl TryFrom<String> for Length {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let length = humantime::parse_duration(&text).ok().filter(|length| !length.is_zero());
        length
            .map(Length)
            .ok_or_else(|| format!("'{}' is not a duration; write it like 90s or 30m", text.escape_debug()))
    }
}

impl Entry {
    /// The subjects: one, or for a kernel one per workload. `directory`: base of relative paths.
    /// `hosts`: the hosts that the file declares. Fails with the problem.
    pub(super) fn subjects(self, name: &str, directory: &Path, hosts: &Hosts) -> Result<Vec<HistorySubject>, String> {
        let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "._-".contains(sign);
        if name.is_empty() || !name.chars().all(is_sign) {
            return Err("a name has letters, digits, '.', '_' and '-'".to_owned());
        }
        let layouts = number_of_layouts("layouts", self.layouts)?;
        let commit_layouts = number_of_layouts("commit_layouts", self.commit_layouts)?;
        let layout_kind = LayoutKind { order: self.layout_order, spacing: self.layout_spacing };
        if !layout_kind.is_random() {
            return Err("layouts that are sorted or kept, without random gaps, are all the same: `layout_order = \"random\"` or `layout_spacing = \"gap\"`".to_owned());
        }
        let mut subjects = self.measured(name, directory, hosts)?;
        if commit_layouts > 0 && subjects.iter().any(|subject| subject.line.releases.iter().any(Release::is_kernel)) {
            return Err("`commit_layouts` links commits again, and kernels that were built elsewhere cannot be linked"
                .to_owned());
        }
        for subject in &mut subjects {
            (subject.layouts, subject.commit_layouts) = (layouts, commit_layouts);
            subject.line.layout_kind = layout_kind;
        }
        Ok(subjects)
    }

    /// The subjects without layouts.
    fn measured(self, name: &str, directory: &Path, hosts: &Hosts) -> Result<Vec<HistorySubject>, String> {
        if self.is_kernel() {
            return self.kernels(name, directory, hosts);
        }
        if self.release_file.is_some() {
            return Err("`release_file` belongs to a kernel that is installed on a host: give its `image`".to_owned());
        }
        if let Some(key) = self.key_of_kernels() {
            return Err(format!(
                "`{key}` belongs to a kernel: give its `image`, or `kernel` in each `[[subject.{name}.release]]`"
            ));
        }
        let command = self.command.as_ref().map(|words| words.0.clone());
        let command =
            command.ok_or("give `command`, or for a kernel `image`, or `kernel` in each `[[subject.NAME.release]]`")?;
        let releases = self.releases(directory)?;
        Ok(vec![HistorySubject {
            name: name.to_owned(),
            table: name.to_owned(),
            which: self.which_of(&releases)?,
            measures: self.measures(directory)?,
            repeats: self.repeats()?,
            seeds_by_ends: self.seeds.is_none(),
            layouts: 0,
            commit_layouts: 0,
            quirks: Vec::new(),
            line: LineRequest {
                releases,
                on: self.host(directory, hosts)?,
                ..self.line(self.recipe()?, Artefact::Command(command), directory)
            },
        }])
    }

    /// The line of a subject that is measured on this host and has a repository.
    fn line(&self, recipe: Recipe, artefact: Artefact, directory: &Path) -> LineRequest {
        LineRequest {
            repository: directory.join(self.repository.as_deref().unwrap_or(".")),
            work: self.work.as_ref().map(|work| directory.join(work)),
            releases: Vec::new(),
            recipe,
            artefact,
            on: None,
            release_file: None,
            layout_kind: LayoutKind::default(),
            limit_ms: self.limit.as_ref().map(|limit| u64::try_from(limit.0.as_millis()).unwrap_or(u64::MAX).max(1)),
            seed: self.seed,
        }
    }

    fn pick(&self) -> Result<Pick, String> {
        match (self.pick.unwrap_or(Pick::Every(1)), self.commits.map(u32::from)) {
            (pick, None) => Ok(pick),
            (Pick::Adaptive { .. }, Some(most @ 1..)) => Ok(Pick::Adaptive { most }),
            (Pick::Adaptive { .. }, Some(0)) => Err("`commits` takes a number from 1".to_owned()),
            (_, Some(_)) => Err("`commits` applies only to `pick = \"adaptive\"`".to_owned()),
        }
    }

    /// The choice of commits, or of releases if there are any.
    fn which_of(&self, releases: &[Release]) -> Result<Which, String> {
        if releases.is_empty() { self.which() } else { Ok(Which::Releases) }
    }

    fn which(&self) -> Result<Which, String> {
        let Some(tags) = &self.tags else {
            return Ok(Which::Branch {
                newest: self.branch.clone().unwrap_or_else(|| USUAL_BRANCH.to_owned()),
                since: self.since.clone(),
                pick: self.pick()?,
                walk: self.walk.unwrap_or_default(),
            });
        };
        let others = [
            ("branch", self.branch.is_some()),
            ("since", self.since.is_some()),
            ("pick", self.pick.is_some()),
            ("commits", self.commits.is_some()),
            ("walk", self.walk.is_some()),
        ];
        if let Some((key, _)) = others.iter().find(|(_, is_given)| *is_given) {
            return Err(format!("`tags` names the commits, so `{key}` does not apply"));
        }
        match tags.is_empty() {
            true => Err("`tags` names no commit".to_owned()),
            false => Ok(Which::Named(tags.clone())),
        }
    }

    fn recipe(&self) -> Result<Recipe, String> {
        check_below_the_top("keep", &self.keep)?;
        Ok(Recipe {
            command: self.build.as_ref().map(|build| build.0.clone()).unwrap_or_default(),
            environment: self.environment.clone().into_iter().collect(),
            limit_s: self.build_limit.as_ref().map_or(USUAL_BUILD_LIMIT_S, |limit| limit.0.as_secs().max(1)),
            kept: self.keep.clone(),
            is_clean: self.clean,
            network: self.network,
            outside_sandbox: self.sandbox == Some(false),
        })
    }

    /// Number of executions of a commit; for counts, of seeds.
    fn repeats(&self) -> Result<u32, String> {
        match self.quantity().is_counted() {
            false if self.seeds.is_some() => Err("`seeds` applies only to instructions and transfers".to_owned()),
            false => number("repeats", self.repeats, USUAL_REPEATS),
            true => self.number_of_seeds(),
        }
    }

    /// The quantity of a program's executions.
    fn quantity(&self) -> Quantity {
        self.measure.unwrap_or_default()
    }

    /// Maximum number of seeds.
    fn number_of_seeds(&self) -> Result<u32, String> {
        number("seeds", self.seeds, USUAL_SEEDS)
    }

    /// The measure, for each number of tasks.
    fn measures(&self, directory: &Path) -> Result<Vec<MeasureRequest>, String> {
        let tasks = self.numbers_of_tasks()?;
        let what = self.quantity();
        if !what.is_counted() {
            return self.costs(what, &tasks);
        }
        let word = what.word();
        if self.repeats.is_some() {
            return Err(format!(
                "`repeats` does not apply to {word}: with one seed counts are exact, and `seeds` takes the number of seeds"
            ));
        }
        if self.pin.is_some() {
            return Err(format!("`pin` does not apply to {word}: a guest has a CPU for each task"));
        }
        let request = |threads: &u32| BuildsRequest {
            threads: Some(*threads),
            whole: self.whole.unwrap_or_default(),
            kernel_too: self.kernel_too.unwrap_or_default(),
            kernel: self.kernel.as_ref().map(|kernel| directory.join(kernel)),
            ..BuildsRequest::default()
        };
        Ok(tasks.iter().map(|threads| MeasureRequest::Count { what, request: Box::new(request(threads)) }).collect())
    }

    /// Numbers of tasks, ascending. Fails with the problem.
    fn numbers_of_tasks(&self) -> Result<Vec<u32>, String> {
        let tasks: Vec<u32> = self.tasks.iter().flatten().map(|tasks| u32::from(*tasks)).collect();
        let tasks = if self.tasks.is_none() { vec![1] } else { tasks };
        let is_right = !tasks.is_empty()
            && tasks.is_sorted_by(|a, b| a < b)
            && tasks.iter().all(|tasks| (1..=MOST_TASKS).contains(tasks));
        if is_right {
            Ok(tasks)
        } else {
            Err(format!("`tasks` takes ascending numbers from 1 to {MOST_TASKS}, at least one"))
        }
    }

    fn costs(&self, quantity: Quantity, tasks: &[u32]) -> Result<Vec<MeasureRequest>, String> {
        let of_lens = [
            ("whole", self.whole.is_some()),
            ("kernel_too", self.kernel_too.is_some()),
            ("kernel", self.kernel.is_some()),
        ];
        if let Some((key, _)) = of_lens.iter().find(|(_, is_given)| *is_given) {
            return Err(format!("`{key}` applies only to transfers and instructions"));
        }
        let pin = self.pin.unwrap_or(PinPolicy::Each);
        let is_open = self.measure.is_none() && self.image.is_none();
        let quantity = (!is_open).then_some(quantity);
        Ok(tasks.iter().map(|&tasks| MeasureRequest::Executions { quantity, pin, tasks }).collect())
    }
}

/// Number of random layouts under a key; 0 if the key is missing.
fn number_of_layouts(key: &str, given: Option<Number>) -> Result<u32, String> {
    match given.map(u32::from) {
        None => Ok(0),
        Some(number) if LAYOUTS.contains(&number) => Ok(number),
        Some(_) => Err(format!("`{key}` takes {} to {}", LAYOUTS.start(), LAYOUTS.end())),
    }
}

/// A number under a key, or the default.
fn number(key: &str, given: Option<Number>, usual: u32) -> Result<u32, String> {
    let number = given.map_or(usual, u32::from);
    let range = 1..=MOST_REPEATS;
    if range.contains(&number) { Ok(number) } else { Err(format!("`{key}` takes 1 to {MOST_REPEATS}")) }
}

/// Fails, with the problem, if a path leaves the top of a build. `key`: the key of the paths.
fn check_below_the_top(key: &str, paths: &[String]) -> Result<(), String> {
    match paths.iter().find(|path| !is_within_build(path)) {
        Some(path) => Err(format!("`{key}` takes paths below the top of a build, not '{}'", path.escape_debug())),
        None => Ok(()),
    }
}

impl Entry {
    /// The host to which programs are sent, if one is named. `directory`: base of relative paths.
    /// Fails with the problem.
    pub(super) fn host(&self, directory: &Path, hosts: &Hosts) -> Result<Option<ControlledHost>, String> {
        let Some(on) = &self.on else { return Ok(None) };
        if self.quantity().is_counted() {
            return Err("`on` applies only to time: the lens counts in guests on this machine".to_owned());
        }
        let machine = on.parse::<Machine>().map_err(|problem| format!("`on`: {problem}"))?;
        let Some(named) = machine.ssh_host() else {
            return Err(format!("`on` takes a declared host, `ssh:NAME`, not '{}'", on.escape_debug()));
        };
        let Some(declared) = hosts.named(named) else {
            let names: Vec<&str> = hosts.names().collect();
            let there = if names.is_empty() { "none is declared".to_owned() } else { names.join(", ") };
            return Err(format!("`on`: `[host.{}]` is not declared in this file ({there})", named.host()));
        };
        with_absolute_paths(declared.clone(), directory).map(Some).map_err(|error| format!("`on`: {error}"))
    }

    /// The host on which kernels are installed, if one is named, and the file of a build with the
    /// kernel's release. Fails with the problem.
    pub(super) fn installing_host(
        &self,
        directory: &Path,
        hosts: &Hosts,
    ) -> Result<(Option<ControlledHost>, Option<String>), String> {
        let Some(on) = self.host(directory, hosts)? else {
            return match self.release_file {
                Some(_) => Err("`release_file` belongs to a kernel that is installed on a host: give `on`".to_owned()),
                None => Ok((None, None)),
            };
        };
        if on.control.install.is_empty() {
            let name = self.on.as_deref().and_then(|on| on.strip_prefix("ssh:")).unwrap_or_default();
            return Err(format!("`on`: `[host.{name}]` does not say how to install; give it `install`"));
        }
        let of_guests = [("vmlinux", self.vmlinux.is_some()), ("ops", self.ops.is_some())];
        if let Some((key, _)) = of_guests.into_iter().find(|(_, is_given)| *is_given) {
            return Err(format!("`{key}` does not apply to kernels that are installed on a host"));
        }
        if self.release.iter().any(ReleaseEntry::is_kernel) {
            return match self.release_file {
                Some(_) => {
                    Err("`release_file` does not apply to kernels that are there already: each release has `uname`"
                        .to_owned())
                }
                None => Ok((Some(on), Some(UNAME.to_owned()))),
            };
        }
        let release_file = self.release_file.clone().ok_or_else(|| {
            "give `release_file`, a file of the build with the kernel's release, for example \
             \"include/config/kernel.release\": the kernel that boots is compared with it"
                .to_owned()
        })?;
        Ok((Some(on), Some(release_file)))
    }
}
