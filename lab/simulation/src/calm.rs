//! Experiments without events, for tests of what an experiment costs.

use crate::commits::SimulatedCommits;
use crate::files::{self, in_words};
use crate::observer::Watcher;
use crate::scenario::Scenario;
use crate::target::SimulatedMachines;
use crate::world::{Troubles, World};
use faultline_experiment::{Conclusion, Lab, Measured};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::path::Path;
use std::rc::Rc;

/// A comparison of two equal sides in that many blocks, which takes all of its looks. Fails if it fails, or does not end.
pub fn comparison(blocks: u32) -> Result<Box<Conclusion>, String> {
    conclude(Scenario::calm_comparison(blocks))
}

/// A search of that many commits, of which every tenth is slower than the one before. Fails if it fails, or does not end.
pub fn search(commits: u32) -> Result<Box<Conclusion>, String> {
    conclude(Scenario::calm_search(commits))
}

fn conclude(scenario: Scenario) -> Result<Box<Conclusion>, String> {
    let root = files::root().map_err(in_words)?;
    untroubled(scenario, ChaCha8Rng::seed_from_u64(1), root.path())
}

/// The conclusion of an experiment without events. Its executions have the faults of its scenario. Fails if it fails, or does not end.
pub(crate) fn untroubled(scenario: Scenario, random: ChaCha8Rng, root: &Path) -> Result<Box<Conclusion>, String> {
    let world = Rc::new(World::of(1, scenario, random, root).map_err(in_words)?);
    let (places, machines, commits) =
        (world.places(), SimulatedMachines(world.clone()), SimulatedCommits(world.clone()));
    let (stop, mut observer) = (world.begin_life(Troubles::default()), Watcher(world.clone()));
    let mut lab =
        Lab { places: &places, machines: &machines, clock: &world.clock, stop: &stop, observer: &mut observer };
    match world.scenario.begin(&commits, &mut lab).map_err(|error| error.problem)? {
        Measured::Concluded(conclusion) => Ok(conclusion),
        Measured::Stopped { .. } => Err("it stopped, and nobody asked for it".to_owned()),
    }
}
