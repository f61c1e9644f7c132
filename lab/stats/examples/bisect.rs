//! Simulated histories for comparisons with other programs, as JSON. KIND is `step` (one step,
//! slower), `equal` (none) or `bed` (several, of all labels).
//!
//! `bisect world KIND SEED`: the history. `bisect values KIND SEED POSITION BLOCK COUNT`:
//! executions in this number of consecutive blocks; null for a commit that cannot be executed.
//! `bisect search KIND SEED`: the result and the cost of our search.

#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../tests/bisect_world/mod.rs"]
mod bisect_world;

use bisect_world::{Score, World, noisy, search};
use faultline_record::bisect::BisectSettings;
use faultline_stats::bisect::{Build, StepLabel};
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
        _ => panic!("bisect world|values|search KIND SEED [POSITION BLOCK COUNT]"),
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
    let build = Build::plain(position, world.evidence().own_environment(position));
    (block..block + count).map(|block| world.value(build, block)).collect()
}

fn searched(world: &World, kind: &str) -> Value {
    let several = kind == "bed";
    let settings = BisectSettings { thorough: several, layouts: if several { noisy().layouts } else { 0 }, ..noisy() };
    let (_, result) = search(world, &settings);
    let mut score = Score::default();
    score.add(world, &result, &settings);
    let found: Vec<Value> = result
        .steps
        .iter()
        .map(|step| json!({ "before": step.before, "after": step.after, "label": step.label, "probability": step.probability }))
        .collect();
    json!({
        "found": found,
        "right": score.right == 1,
        "labelled": score.labelled == 1,
        "builds": result.trials,
        "blocks": result.blocks,
        "executions": result.executions,
    })
}
