//! Experiments that nothing befalls, for tests of what an experiment costs.

use crate::files::{self, in_words};
use crate::observer::Watcher;
use crate::scenario::Scenario;
use crate::target::SimulatedMachines;
use crate::world::{Troubles, World};
use faultline_experiment::{Lab, Measured};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::rc::Rc;

/// A comparison of two equal sides in that many blocks, which takes all of its looks. Fails if it fails, or does not end.
pub fn comparison(blocks: u32) -> Result<(), String> {
    let root = files::root().map_err(in_words)?;
    let random = ChaCha8Rng::seed_from_u64(1);
    let world = Rc::new(World::of(1, Scenario::calm_comparison(blocks), random, root.path()).map_err(in_words)?);
    let (places, machines) = (world.places(), SimulatedMachines(world.clone()));
    let (stop, mut observer) = (world.begin_life(Troubles::default()), Watcher(world.clone()));
    let mut lab =
        Lab { places: &places, machines: &machines, clock: &world.clock, stop: &stop, observer: &mut observer };
    match world.scenario.begin(&mut lab).map_err(|error| error.problem)? {
        Measured::Concluded(_) => Ok(()),
        Measured::Stopped { .. } => Err("it stopped".to_owned()),
    }
}
