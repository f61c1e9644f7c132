//! How commits are built, from arguments.

use crate::arguments::building::Building;
use crate::failure::Failure;
use faultline_experiment::command_words;
use faultline_model::recipe::Recipe;

/// The recipe. Fails if the command is empty, or cannot be split into words.
pub(super) fn recipe(building: &Building) -> Result<Recipe, Failure> {
    let words = |command: &str| command_words(command, "leave out `--build` if nothing has to be built");
    Ok(Recipe {
        command: building.build.as_deref().map_or(Ok(Vec::new()), words)?,
        environment: Vec::new(),
        limit_s: building.build_limit.as_secs().max(1),
        kept: building.keep.clone(),
        is_clean: building.clean,
    })
}
