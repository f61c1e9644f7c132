//! How commits are built, from arguments.

use crate::arguments::building::Building;
use crate::failure::Failure;
use faultline_model::recipe::Recipe;

/// The recipe. Fails if the command cannot be split into words.
pub(super) fn recipe(building: &Building) -> Result<Recipe, Failure> {
    Ok(Recipe {
        command: building.build.as_deref().map_or(Ok(Vec::new()), words)?,
        environment: Vec::new(),
        limit_s: building.build_limit.as_secs().max(1),
        kept: building.keep.clone(),
        is_clean: building.clean,
    })
}

fn words(command: &str) -> Result<Vec<String>, Failure> {
    match shell_words::split(command) {
        Ok(words) if !words.is_empty() => Ok(words),
        Ok(_) => {
            Err(Failure::usage("the command that builds is empty", "leave out `--build` if nothing has to be built"))
        }
        Err(error) => Err(Failure::usage(
            format!("cannot split the command '{command}' into words: {error}"),
            "quote it as for a shell",
        )),
    }
}
