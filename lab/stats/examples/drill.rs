//! Simulated histories for benchmarks beside other programs, as JSON. KIND is `step` (one step, slower), `equal` (none) or `bed` (several, of all labels).
//!
//! `drill world KIND SEED`: the history. `drill values KIND SEED POSITION BLOCK COUNT`: executions in as many blocks in a row, null if there can be none.
//! `drill search KIND SEED`: what our search finds, and what it cost.

#[path = "../tests/drill_world/mod.rs"]
mod drill_world;

use drill_world::{Score, World, noisy, search};
use faultline_model::drill::{Build, DrillSettings, StepLabel};
use serde_json::{Value, json};
use std::env::args;

fn main() {
    let words: Vec<String> = args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let answer = match words[..] {
        ["world", kind, seed] => history(&world(kind, number(seed))),
        ["values", kind, seed, position, block, count] => {
            values(&world(kind, number(seed)), number(position) as u32, number(block) as u32, number(count) as u32)
        }
        ["search", kind, seed] => searched(&world(kind, number(seed)), kind),
        _ => panic!("drill world|values|search KIND SEED [POSITION BLOCK COUNT]"),
    };
    println!("{answer}");
}

fn number(word: &str) -> u64 {
    word.parse().expect("a number")
}

fn world(kind: &str, seed: u64) -> World {
    let mut world = match kind {
        "bed" => return World::test_bed(seed),
        "equal" | "step" => World::equal(seed, 200, 0.01 + 0.04 * (seed % 17) as f64 / 16.0, 0.08),
        other => panic!("no kind of history: {other}"),
    };
    if kind == "step" {
        world = world.with_steps(&[(StepLabel::Code, 0.03, 0.30)]);
        world.steps[0].change = world.steps[0].change.abs();
    }
    world
}

fn history(world: &World) -> Value {
    let steps: Vec<Value> =
        world.steps.iter().map(|step| json!({ "at": step.at, "label": step.label, "change": step.change })).collect();
    let is_broken: Vec<bool> = world.unusable.iter().map(Option::is_some).collect();
    json!({ "last": world.last, "noise": world.noise, "steps": steps, "broken": is_broken })
}

fn values(world: &World, position: u32, block: u32, count: u32) -> Value {
    if world.unusable[position as usize].is_some() {
        return Value::Null;
    }
    let build = Build::plain(position, world.evidence().own_surroundings(position));
    (block..block + count).map(|block| world.value(build, block)).collect()
}

fn searched(world: &World, kind: &str) -> Value {
    let several = kind == "bed";
    let settings = DrillSettings { thorough: several, layouts: if several { noisy().layouts } else { 0 }, ..noisy() };
    let (_, drill) = search(world, &settings);
    let mut score = Score::default();
    score.add(world, &drill, &settings);
    let found: Vec<Value> = drill
        .steps
        .iter()
        .map(|step| json!({ "before": step.before, "after": step.after, "label": step.label, "probability": step.probability }))
        .collect();
    json!({
        "found": found,
        "right": score.right == 1,
        "labelled": score.labelled == 1,
        "builds": drill.trials,
        "blocks": drill.blocks,
        "executions": drill.executions,
    })
}
