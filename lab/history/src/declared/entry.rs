//! A table `[subject.NAME]` as it is written, and what it means.

mod host;
mod kernel;
mod release;

use super::{HistorySubject, Pick, Walk, Which};
use crate::measure::{LAYOUTS, MeasureRequest};
use faultline_experiment::command_words;
use faultline_experiment::hosts::Hosts;
use faultline_experiment::lens::BuildsRequest;
use faultline_model::artefact::{Artefact, Release};
use faultline_model::cell::TaskMode;
use faultline_model::count::Count;
use faultline_model::machine::Accelerator;
use faultline_model::plan::PinPolicy;
use faultline_model::recipe::Recipe;
use faultline_model::relink::{LayoutKind, SectionOrder, SectionSpacing};
use release::ReleaseEntry;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::time::Duration;

/// Executions of a commit whose time is measured, unless another number is asked for: the interval of their median covers 98 %.
const USUAL_REPEATS: u32 = 7;

/// Seeds of a commit whose counts depend on the seed, unless another number is asked for: the fewest whose median has an interval of 95 %.
const USUAL_SEEDS: u32 = 6;

/// The maximum number of executions of a commit.
const MOST_REPEATS: u32 = 10_000;

/// The maximum number of CPUs.
const MOST_CPUS: u32 = 4096;

/// The time limit of a build, unless another is asked for.
const USUAL_BUILD_LIMIT_S: u64 = 30 * 60;

/// The newest commit, unless another is asked for.
const USUAL_BRANCH: &str = "HEAD";

/// The table.
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
    measure: Option<Measure>,
    cpus: Option<Vec<Number>>,
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

/// What is measured.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Measure {
    Time,
    Instructions,
    Transfers,
}

/// Words of a command, as a list, or as a text that is split as a shell does.
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

/// A problem on one line: it cites what is written, which may have several.
fn one_line(problem: &str) -> String {
    problem.replace(char::is_control, " ")
}

/// A whole number that is not negative.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "this takes a whole number, not below 0")]
enum Number {
    Number(u32),
}

impl From<Number> for u32 {
    fn from(Number::Number(number): Number) -> Self {
        number
    }
}

/// A length of time above 0, written like `30m`.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Length(pub(super) Duration);

impl TryFrom<String> for Length {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let length = humantime::parse_duration(&text).ok().filter(|length| !length.is_zero());
        length
            .map(Length)
            .ok_or_else(|| format!("'{}' is no length of time; write it like 90s or 30m", text.escape_debug()))
    }
}

impl Entry {
    /// The subjects: one, or for a kernel one for each workload. `directory`: where its paths begin. `hosts`: those that the file declares.
    /// Fails with the problem.
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
        let subjects = self.measured(name, directory, hosts)?;
        if commit_layouts > 0 && subjects.iter().any(|subject| subject.which.releases().iter().any(Release::is_kernel))
        {
            return Err("`commit_layouts` links commits again, and kernels that were built elsewhere cannot be linked"
                .to_owned());
        }
        let with_layouts = |subject| HistorySubject { layouts, commit_layouts, layout_kind, ..subject };
        Ok(subjects.into_iter().map(with_layouts).collect())
    }

    /// The same without layouts.
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
        Ok(vec![HistorySubject {
            name: name.to_owned(),
            table: name.to_owned(),
            which: self.which_of(self.releases(directory)?)?,
            measures: self.measures(directory)?,
            on: self.host(directory, hosts)?,
            repeats: self.repeats()?,
            seeds_by_ends: self.seeds.is_none(),
            recipe: self.recipe()?,
            artefact: Artefact::Command(command),
            ..self.common(directory)
        }])
    }

    /// What a subject has whatever it is; the rest is replaced.
    fn common(&self, directory: &Path) -> HistorySubject {
        HistorySubject {
            name: String::new(),
            table: String::new(),
            repository: directory.join(self.repository.as_deref().unwrap_or(".")),
            work: self.work.as_ref().map(|work| directory.join(work)),
            which: Which::Named(Vec::new()),
            measures: Vec::new(),
            repeats: 1,
            seeds_by_ends: false,
            limit_ms: self.limit.as_ref().map(|limit| u64::try_from(limit.0.as_millis()).unwrap_or(u64::MAX).max(1)),
            seed: self.seed,
            layouts: 0,
            commit_layouts: 0,
            layout_kind: LayoutKind::default(),
            quirks: Vec::new(),
            recipe: Recipe {
                command: Vec::new(),
                environment: Vec::new(),
                limit_s: 1,
                kept: Vec::new(),
                is_clean: false,
            },
            artefact: Artefact::Command(Vec::new()),
            on: None,
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

    /// Which commits, or the releases if there are some.
    fn which_of(&self, releases: Vec<Release>) -> Result<Which, String> {
        if releases.is_empty() { self.which() } else { Ok(Which::Releases(releases)) }
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
        })
    }

    /// Executions of a commit; of counts, seeds.
    fn repeats(&self) -> Result<u32, String> {
        match self.measure {
            None | Some(Measure::Time) if self.seeds.is_some() => {
                Err("`seeds` applies only to instructions and transfers".to_owned())
            }
            None | Some(Measure::Time) => number("repeats", self.repeats, USUAL_REPEATS),
            Some(Measure::Instructions | Measure::Transfers) => self.number_of_seeds(),
        }
    }

    /// The maximum number of seeds.
    fn number_of_seeds(&self) -> Result<u32, String> {
        number("seeds", self.seeds, USUAL_SEEDS)
    }

    /// What is measured, for each number of CPUs.
    fn measures(&self, directory: &Path) -> Result<Vec<MeasureRequest>, String> {
        let cpus = self.numbers_of_cpus()?;
        let (what, word) = match self.measure {
            None | Some(Measure::Time) => return self.times(&cpus),
            Some(Measure::Instructions) => (Count::Instructions, "instructions"),
            Some(Measure::Transfers) => (Count::Transfers, "transfers"),
        };
        if self.repeats.is_some() {
            return Err(format!(
                "`repeats` does not apply to {word}: with one seed counts are exact, and `seeds` takes the number of seeds"
            ));
        }
        if self.pin.is_some() {
            return Err(format!("`pin` does not apply to {word}: a guest has a CPU for each thread"));
        }
        let request = |threads: &u32| BuildsRequest {
            threads: Some(*threads),
            whole: self.whole.unwrap_or_default(),
            kernel_too: self.kernel_too.unwrap_or_default(),
            kernel: self.kernel.as_ref().map(|kernel| directory.join(kernel)),
            ..BuildsRequest::default()
        };
        Ok(cpus.iter().map(|threads| MeasureRequest::Count { what, request: Box::new(request(threads)) }).collect())
    }

    /// The numbers of CPUs, ascending. Fails with the problem.
    fn numbers_of_cpus(&self) -> Result<Vec<u32>, String> {
        let cpus: Vec<u32> = self.cpus.iter().flatten().map(|cpus| u32::from(*cpus)).collect();
        let cpus = if self.cpus.is_none() { vec![1] } else { cpus };
        let is_right = !cpus.is_empty()
            && cpus.is_sorted_by(|a, b| a < b)
            && cpus.iter().all(|cpus| (1..=MOST_CPUS).contains(cpus));
        if is_right {
            Ok(cpus)
        } else {
            Err(format!("`cpus` takes ascending numbers from 1 to {MOST_CPUS}, at least one"))
        }
    }

    fn times(&self, cpus: &[u32]) -> Result<Vec<MeasureRequest>, String> {
        let of_lens = [
            ("whole", self.whole.is_some()),
            ("kernel_too", self.kernel_too.is_some()),
            ("kernel", self.kernel.is_some()),
        ];
        if let Some((key, _)) = of_lens.iter().find(|(_, is_given)| *is_given) {
            return Err(format!("`{key}` applies only to transfers and instructions"));
        }
        let pin = self.pin.unwrap_or(PinPolicy::Each);
        Ok(cpus.iter().map(|&tasks| MeasureRequest::Time { pin, tasks }).collect())
    }
}

/// The number of random layouts that a key has; 0 if it is not given.
fn number_of_layouts(key: &str, given: Option<Number>) -> Result<u32, String> {
    match given.map(u32::from) {
        None => Ok(0),
        Some(number) if LAYOUTS.contains(&number) => Ok(number),
        Some(_) => Err(format!("`{key}` takes {} to {}", LAYOUTS.start(), LAYOUTS.end())),
    }
}

/// The number that a key has, or the usual one.
fn number(key: &str, given: Option<Number>, usual: u32) -> Result<u32, String> {
    let number = given.map_or(usual, u32::from);
    let range = 1..=MOST_REPEATS;
    if range.contains(&number) { Ok(number) } else { Err(format!("`{key}` takes 1 to {MOST_REPEATS}")) }
}

/// Fails, with the problem, if a path leaves the top of a build. `key`: where they are declared.
fn check_below_the_top(key: &str, paths: &[String]) -> Result<(), String> {
    let leaves = |path: &&String| {
        let mut parts = Path::new(path.as_str()).components();
        path.is_empty() || !parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    };
    match paths.iter().find(leaves) {
        Some(path) => Err(format!("`{key}` takes paths below the top of a build, not '{}'", path.escape_debug())),
        None => Ok(()),
    }
}
