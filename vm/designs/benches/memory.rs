//! Cache-line transfers and instructions per operation of all memory systems, counted by the lens.
//! Prints Markdown tables. Each figure is a boot, so this takes hours. Needs `make build guest
//! kernel lens`.
//!
//! `cargo bench -p faultline-frame-designs --bench memory -- --help`

#[path = "../tests/under_lens/mod.rs"]
#[expect(dead_code, reason = "the tests read more of it")]
mod under_lens;

use clap::Parser;
use clap::builder::RangedU64ValueParser;
use faultline_frame_designs::memory_loop::DESIGNS;
use under_lens::Work;

const PROGRAM: &str = env!("CARGO_BIN_EXE_memory_loop");

/// Patterns, and operations per thread: few, because 32 CPUs waiting for one lock take long.
const PATTERNS: [(&str, u64); 10] = [
    ("zero-fill", 256),
    ("zero-fill-spaces", 256),
    ("one-page", 128),
    ("neighbours", 128),
    ("neighbours-threads", 128),
    ("map", 128),
    ("map-touch", 64),
    ("protect", 64),
    ("copy", 128),
    ("fork", 16),
];

/// Cache-line transfers and instructions per operation of all memory systems
#[derive(Debug, Parser)]
#[command(name = "memory", max_term_width = 100)]
struct Arguments {
    /// Numbers of threads
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = [2, 8, 32], value_parser = RangedU64ValueParser::<u64>::new().range(2..=256))]
    threads: Vec<u64>,

    /// Patterns of the threads
    #[arg(long, value_name = "NAME,NAME,…", value_delimiter = ',', default_values_t = PATTERNS.map(|(name, _)| name.to_owned()))]
    patterns: Vec<String>,

    /// Designs
    #[arg(long, value_name = "NAME,NAME,…", value_delimiter = ',', default_values_t = DESIGNS.map(|design| design.name.to_owned()))]
    only: Vec<String>,

    /// Passed by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

/// Formats a figure with its significant digits.
fn short(figure: f64) -> String {
    match figure {
        0.0 => "0".to_owned(),
        figure if figure < 1.0 => format!("{figure:.2}"),
        figure if figure < 100.0 => format!("{figure:.1}"),
        figure => format!("{figure:.0}"),
    }
}

fn main() {
    let arguments = Arguments::parse();
    let patterns = PATTERNS.iter().filter(|(name, _)| arguments.patterns.iter().any(|wanted| wanted == name));
    let threads: Vec<String> = arguments.threads.iter().map(u64::to_string).collect();
    for &(pattern, operations) in patterns {
        println!("| `{pattern}` | {} | instructions |", threads.join(" | "));
        println!("|---|{}---:|", "---:|".repeat(threads.len()));
        for design in &arguments.only {
            let work = Work { program: PROGRAM, design, pattern, operations, depth: 1, seed: 1 };
            let counted = work.count(&arguments.threads);
            let moved: Vec<String> = counted.iter().map(|counted| short(counted.per_operation)).collect();
            let instructions: Vec<String> =
                counted.iter().map(|counted| format!("{:.0}", counted.instructions)).collect();
            println!("| `{design}` | {} | {} |", moved.join(" | "), instructions.join(", "));
        }
        println!();
    }
}
