//! Keys of subjects that are kernels: what is booted, which workloads run, and releases instead of commits.

use super::super::{HistorySubject, Which};
use super::{Entry, Measure, Number};
use crate::bisect::MeasureRequest;
use crate::releases::IMAGE;
use faultline_experiment::hosts::Hosts;
use faultline_experiment::lens::KernelsRequest;
use faultline_model::artefact::{Artefact, BuiltKernel, Release};
use faultline_model::count::Count;
use faultline_model::recipe::Recipe;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

/// A table `[[subject.NAME.release]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReleaseEntry {
    name: String,
    date: String,
    kernel: String,
}

impl ReleaseEntry {
    /// The release. `directory`: where its path begins. Fails with the problem.
    fn release(&self, directory: &Path) -> Result<Release, String> {
        let name = self.name.escape_debug();
        if !Release::is_name(&self.name) {
            return Err(format!(
                "'{name}' names no release: up to {} letters, digits, '.', '_', '+', '~' and '-', a letter or digit first",
                Release::MOST_LETTERS
            ));
        }
        let day = self.date.parse::<Date>().ok().and_then(|day| day.to_zoned(TimeZone::UTC).ok());
        let day =
            day.ok_or_else(|| format!("release {name}: '{}' is no day like 2023-06-10", self.date.escape_debug()))?;
        let path =
            std::path::absolute(directory.join(&self.kernel)).map_err(|error| format!("release {name}: {error}"))?;
        let kernel =
            path.into_os_string().into_string().map_err(|_| format!("release {name}: its path is not UTF-8"))?;
        Ok(Release { name: self.name.clone(), released_s: day.timestamp().as_second(), kernel })
    }
}

impl Entry {
    /// Whether it is a kernel.
    pub(super) fn is_kernel(&self) -> bool {
        self.image.is_some() || !self.release.is_empty()
    }

    /// The first key that belongs to kernels alone, if one is given.
    pub(super) fn key_of_kernels(&self) -> Option<&'static str> {
        let keys = [
            ("vmlinux", self.vmlinux.is_some()),
            ("workloads", self.workloads.is_some()),
            ("mode", self.mode.is_some()),
            ("ops", self.ops.is_some()),
            ("accel", self.accel.is_some()),
        ];
        keys.into_iter().find_map(|(key, is_given)| is_given.then_some(key))
    }

    /// The subjects of a kernel: one for each workload. Fails with the problem.
    pub(super) fn kernels(&self, name: &str, directory: &Path, hosts: &Hosts) -> Result<Vec<HistorySubject>, String> {
        let on = self.installing_host(directory, hosts)?;
        let is_timed = on.is_some() || matches!(self.measure, Some(Measure::Time));
        self.check_keys_of_kernels(on.is_some(), is_timed)?;
        let releases: Vec<Release> =
            self.release.iter().map(|entry| entry.release(directory)).collect::<Result<_, _>>()?;
        let mut names = BTreeSet::new();
        if let Some(twice) = releases.iter().find(|release| !names.insert(release.name.as_str())) {
            return Err(format!("there are two releases '{}'", twice.name));
        }
        let workloads = self.workloads.as_deref().unwrap_or_default();
        if workloads.is_empty() {
            return Err(
                "`workloads` takes the workloads that run on the kernel, for example [\"zero_fill:base\"]".to_owned()
            );
        }
        let mut once = BTreeSet::new();
        if let Some(workload) =
            workloads.iter().find(|workload| !is_workload(workload) || !once.insert(workload.as_str()))
        {
            return Err(format!("`workloads` takes NAME:VARIANT, each once, not '{}'", workload.escape_debug()));
        }
        let (measures, repeats) = match is_timed {
            true => (self.times(&self.numbers_of_cpus()?)?, self.repeats()?),
            false => (self.counts_on_kernels()?, self.number_of_seeds()?),
        };
        let recipe = self.recipe_of_kernel(!releases.is_empty())?;
        let which = if releases.is_empty() { self.which()? } else { Which::Releases(releases) };
        let subject = |workload: &String| HistorySubject {
            name: format!("{name}/{workload}"),
            table: name.to_owned(),
            which: which.clone(),
            measures: measures.clone(),
            repeats,
            on: on.clone(),
            recipe: recipe.clone(),
            seeds_by_ends: self.seeds.is_none() && !is_timed,
            artefact: Artefact::Kernel(Box::new(BuiltKernel {
                image: self.image.clone().unwrap_or_else(|| IMAGE.to_owned()),
                vmlinux: self.vmlinux.clone(),
                workload: workload.clone(),
                mode: self.mode,
                accelerator: self.accel.unwrap_or_default(),
            })),
            ..self.common(directory)
        };
        Ok(workloads.iter().map(subject).collect())
    }

    /// Fails if a key is given that does not apply. `is_installed`: on a host; `is_timed`: time is measured, there or in guests.
    fn check_keys_of_kernels(&self, is_installed: bool, is_timed: bool) -> Result<(), String> {
        let of_programs = [
            ("command", self.command.is_some()),
            ("repeats", self.repeats.is_some() && !is_timed),
            ("pin", self.pin.is_some() && !is_installed),
            ("whole", self.whole.is_some()),
            ("kernel_too", self.kernel_too.is_some()),
            ("kernel", self.kernel.is_some()),
        ];
        if let Some((key, _)) = of_programs.into_iter().find(|(_, is_given)| *is_given) {
            let instead = match (is_installed, is_timed) {
                (true, _) => "`workloads` run on the host",
                (false, true) => "`workloads` run in guests",
                (false, false) => "`workloads` run in a guest, with as many seeds as `seeds` says",
            };
            return Err(format!("`{key}` does not apply to kernels: {instead}"));
        }
        let of_counts = [("vmlinux", self.vmlinux.is_some()), ("ops", self.ops.is_some())];
        match of_counts.into_iter().find(|(_, is_given)| *is_given) {
            Some((key, _)) if is_timed => return Err(format!("`{key}` applies only to transfers and instructions")),
            _ => {}
        }
        if self.accel.is_some() && (is_installed || !is_timed) {
            return Err("`accel` applies only to kernels whose time is measured in guests".to_owned());
        }
        let of_repositories = [
            ("image", self.image.is_some()),
            ("vmlinux", self.vmlinux.is_some()),
            ("repository", self.repository.is_some()),
            ("branch", self.branch.is_some()),
            ("since", self.since.is_some()),
            ("pick", self.pick.is_some()),
            ("commits", self.commits.is_some()),
            ("walk", self.walk.is_some()),
            ("tags", self.tags.is_some()),
            ("build", self.build.is_some()),
            ("environment", !self.environment.is_empty()),
            ("keep", !self.keep.is_empty()),
            ("clean", self.clean),
            ("build_limit", self.build_limit.is_some()),
        ];
        match of_repositories.into_iter().find(|(_, is_given)| *is_given) {
            Some((key, _)) if !self.release.is_empty() => {
                Err(format!("`{key}` does not apply to releases, whose kernels are there already"))
            }
            _ => Ok(()),
        }
    }

    /// What is counted, for each number of CPUs.
    fn counts_on_kernels(&self) -> Result<Vec<MeasureRequest>, String> {
        let what = match self.measure {
            Some(Measure::Instructions) => Count::Instructions,
            None | Some(Measure::Transfers | Measure::Time) => Count::Transfers,
        };
        let operations = self.ops.map(u64::from);
        if operations == Some(0) {
            return Err("`ops` takes a number from 1".to_owned());
        }
        let request = |cpus| KernelsRequest { cpus, operations, ..KernelsRequest::default() };
        let cpus = self.numbers_of_cpus()?;
        Ok(cpus
            .into_iter()
            .map(|cpus| MeasureRequest::CountOnKernel { what, request: Box::new(request(cpus)) })
            .collect())
    }

    /// What is kept of a build: at least what is booted.
    fn recipe_of_kernel(&self, has_releases: bool) -> Result<Recipe, String> {
        let mut recipe = self.recipe()?;
        if !has_releases {
            let booted: Vec<String> =
                self.image.iter().chain(&self.vmlinux).chain(&self.release_file).cloned().collect();
            super::check_below_the_top("image", &booted)?;
            recipe.kept.extend(booted.into_iter().filter(|path| !self.keep.contains(path)));
        }
        Ok(recipe)
    }
}

/// Whether a text may name a variant of a workload. Which there are is known where guests are.
fn is_workload(text: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    text.split_once(':').is_some_and(|(name, variant)| is_word(name) && is_word(variant))
}

impl From<Number> for u64 {
    fn from(number: Number) -> Self {
        u32::from(number).into()
    }
}
