//! Recipes of builds from arguments.

use crate::arguments::bisect::Guest;
use crate::arguments::building::Building;
use crate::failure::Failure;
use faultline_experiment::command_words;
use faultline_record::recipe::Recipe;

/// The recipe of builds. Fails if the command is empty or cannot be split into words.
pub(super) fn recipe(building: &Building) -> Result<Recipe, Failure> {
    let words = |command: &str| command_words(command, "leave out `--build` if nothing has to be built");
    Ok(Recipe {
        command: building.build.as_deref().map_or(Ok(Vec::new()), words)?,
        environment: Vec::new(),
        limit_s: building.build_limit.as_secs().max(1),
        kept: building.keep.clone(),
        is_clean: building.clean,
        network: building.build_network,
        outside_sandbox: false,
    })
}

/// The first given option about builds and guests, which faultline.toml decides for a subject.
pub(super) fn given_of_builds(building: &Building, guest: &Guest) -> Option<&'static str> {
    let Guest { whole, kernel_too, with, env, kernel, memory } = guest;
    let options = [
        ("--build", building.build.is_some()),
        ("--work", building.work.is_some()),
        ("--keep", !building.keep.is_empty()),
        ("--clean", building.clean),
        ("--build-network", building.build_network),
        ("--whole", *whole),
        ("--kernel-too", *kernel_too),
        ("--with", !with.is_empty()),
        ("--env", !env.is_empty()),
        ("--kernel", kernel.is_some()),
        ("--memory", memory.is_some()),
    ];
    options.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
}
