//! Links the build of a commit with another layout: the user's own build runs again, and finds a linker wrapper of ours. What it made is kept like any build, and it is
//! compared with the commit's own build: only a program whose code or data have other places counts as another layout.

use crate::build::{Build, Builds};
use crate::linked_files::Places;
use crate::linker::LinkerWrapper;
use crate::repository::{Checkout, Repository, Surroundings};
use faultline_experiment::{Error, Lab};
use faultline_model::artefact::Artefact;
use faultline_model::commit::CommitInfo;
use faultline_model::recipe::{BuildTools, Recipe};
use faultline_model::relink::{LinkLayout, RelinkResult};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A layout that is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Relink<'a> {
    /// The commit.
    pub commit: &'a CommitInfo,
    /// The layout.
    pub layout: LinkLayout,
    /// The commit's own build.
    pub own: &'a Path,
    /// What is measured of a build.
    pub artefact: &'a Artefact,
}

/// A build with another layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relinked {
    /// The directory that holds it; `None` if it cannot be measured as another layout.
    pub directory: Option<PathBuf>,
    /// What came of it.
    pub result: RelinkResult,
}

impl Builds {
    /// Links a commit with another layout, unless that is kept. Fails on a stop, on a full disk, or if files cannot be read or written.
    pub(crate) fn relink(
        &self,
        asked: &Relink<'_>,
        recipe: (&Recipe, &BuildTools),
        place: (&Repository, &Checkout),
        lab: &Lab<'_>,
    ) -> Result<Relinked, Error> {
        let places_of = |directory: &Path| {
            Places::of_build(directory, asked.artefact).map_err(|error| unreadable(directory, &error))
        };
        let own = places_of(asked.own)?;
        let without = |result| Relinked { directory: None, result };
        let directory = match self.linked(asked, &own, recipe, place, lab)? {
            Build::Failed { how, output } => return Ok(without(RelinkResult::Failed { how, output })),
            Build::Built { directory, .. } => directory,
        };
        let places = places_of(&directory)?.of_artefact(asked.artefact);
        Ok(match places.filter(|places| Some(places) != own.of_artefact(asked.artefact).as_ref()) {
            Some(places) => Relinked { directory: Some(directory), result: RelinkResult::Placed { places } },
            None => without(RelinkResult::Unchanged),
        })
    }

    /// The build with a layout. First only what was linked is made again. If that fails, or if a file of the commit's own build is missing then, all is built anew.
    fn linked(
        &self,
        asked: &Relink<'_>,
        own: &Places,
        (recipe, tools): (&Recipe, &BuildTools),
        place: (&Repository, &Checkout),
        lab: &Lab<'_>,
    ) -> Result<Build, Error> {
        let words = words(asked.layout);
        let directory = self.path(asked.commit, recipe, tools, &words);
        let is_whole =
            |directory: &Path| Places::of_build(directory, asked.artefact).is_ok_and(|places| places.has_all_of(own));
        if is_whole(&directory) {
            return Ok(Build::Built { directory, is_old: true });
        }
        let linker = self.beside("linker");
        let wrapper = LinkerWrapper::create(&linker, &lab.places.keeper, asked.layout)
            .map_err(|error| unwritable(&linker, &error))?;
        let variables = wrapper.variables(&recipe.environment);
        let surroundings = Surroundings { tools: &tools.digest, layout: &words };
        let make = || {
            remove(&directory)?;
            self.make(asked.commit, recipe, (surroundings, &variables), place, &directory, lab)
        };
        if !recipe.is_clean && matches!(make()?, Build::Built { .. }) && is_whole(&directory) {
            return Ok(Build::Built { directory, is_old: false });
        }
        let (_, checkout) = place;
        checkout.clear()?;
        make()
    }
}

/// What tells layouts apart.
fn words(layout: LinkLayout) -> String {
    format!("{} {} {}", layout.kind.order.word(), layout.kind.spacing.word(), layout.seed)
}

/// Removes a build that is not whole.
fn remove(directory: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritable(directory, &error)),
        _ => Ok(()),
    }
}

fn unreadable(directory: &Path, error: &io::Error) -> Error {
    Error::failed(
        format!("cannot read the build in {}: {error}", directory.display()),
        "it may have been deleted; start a new search",
    )
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::failed(
        format!("cannot write {}: {error}", path.display()),
        "make room, or name another directory with `--work DIR` (in faultline.toml: `work`)",
    )
}
