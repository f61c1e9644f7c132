//! Keys of subjects that are kernels: the image, and the workloads that run on it.

use super::super::HistorySubject;
use super::release::ReleaseEntry;
use super::{Entry, Number};
use crate::request::{LineRequest, MeasureRequest};
use crate::source::IMAGE;
use faultline_experiment::hosts::Hosts;
use faultline_experiment::lens::KernelsRequest;
use faultline_record::artefact::{Artefact, BuiltKernel, Release};
use faultline_record::quantity::Quantity;
use faultline_record::recipe::Recipe;
use std::collections::BTreeSet;
use std::path::Path;

impl Entry {
    /// True for a kernel.
    pub(super) fn is_kernel(&self) -> bool {
        self.image.is_some() || self.release.iter().any(ReleaseEntry::is_kernel)
    }

    /// The first given key that applies to kernels only.
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

    /// The subjects of a kernel: one per workload. Fails with the problem.
    pub(super) fn kernels(&self, name: &str, directory: &Path, hosts: &Hosts) -> Result<Vec<HistorySubject>, String> {
        let (on, release_file) = self.installing_host(directory, hosts)?;
        let is_timed = on.is_some() || self.measure.is_some_and(|measure| !measure.is_counted());
        if self.measure == Some(Quantity::PeakMemory) {
            return Err("`measure = \"memory\"` applies only to programs".to_owned());
        }
        self.check_keys_of_kernels(on.is_some(), is_timed)?;
        let releases = self.releases(directory)?;
        let is_there = releases.first().is_some_and(Release::is_kernel);
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
            true => (
                self.costs(
                    self.measure.filter(|measure| !measure.is_counted()).unwrap_or_default(),
                    &self.numbers_of_tasks()?,
                )?,
                self.repeats()?,
            ),
            false => (self.counts_on_kernels()?, self.number_of_seeds()?),
        };
        let recipe = self.recipe_of_kernel(is_there)?;
        let which = self.which_of(&releases)?;
        let kernel = |workload: &String| {
            Artefact::Kernel(Box::new(BuiltKernel {
                image: self.image.clone().unwrap_or_else(|| IMAGE.to_owned()),
                vmlinux: self.vmlinux.clone(),
                workload: workload.clone(),
                mode: self.mode,
                accelerator: self.accel.unwrap_or_default(),
            }))
        };
        let subject = |workload: &String| HistorySubject {
            name: format!("{name}/{workload}"),
            table: name.to_owned(),
            which: which.clone(),
            measures: measures.clone(),
            repeats,
            seeds_by_ends: self.seeds.is_none() && !is_timed,
            layouts: 0,
            commit_layouts: 0,
            quirks: Vec::new(),
            line: LineRequest {
                on: on.clone(),
                release_file: release_file.clone(),
                releases: releases.clone(),
                ..self.line(recipe.clone(), kernel(workload), directory)
            },
        };
        Ok(workloads.iter().map(subject).collect())
    }

    /// Fails if a given key does not apply. `is_installed`: on a host; `is_timed`: time is
    /// measured, there or in guests.
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
        Ok(())
    }

    /// The count, for each number of CPUs.
    fn counts_on_kernels(&self) -> Result<Vec<MeasureRequest>, String> {
        let what = self.measure.filter(|measure| measure.is_counted()).unwrap_or(Quantity::Transfers);
        let operations = self.ops.map(u64::from);
        if operations == Some(0) {
            return Err("`ops` takes a number from 1".to_owned());
        }
        let request = |cpus| KernelsRequest { cpus, operations, ..KernelsRequest::default() };
        let tasks = self.numbers_of_tasks()?;
        Ok(tasks
            .into_iter()
            .map(|cpus| MeasureRequest::CountOnKernel { what, request: Box::new(request(cpus)) })
            .collect())
    }

    /// The recipe, which keeps at least what boots. `is_there`: the kernel is already built.
    fn recipe_of_kernel(&self, is_there: bool) -> Result<Recipe, String> {
        let mut recipe = self.recipe()?;
        if !is_there {
            let booted: Vec<String> =
                self.image.iter().chain(&self.vmlinux).chain(&self.release_file).cloned().collect();
            super::check_below_the_top("image", &booted)?;
            recipe.kept.extend(booted.into_iter().filter(|path| !self.keep.contains(path)));
        }
        Ok(recipe)
    }
}

/// True if a text can name a workload's variant. The guests decide whether it exists.
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
