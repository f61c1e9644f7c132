//! Cache-line transfers per operation of all designs, counted by the lens. Prints Markdown tables.
//! Each figure is one boot or two, so this takes hours. Needs `make build guest kernel lens`.
//!
//! `cargo bench -p faultline-frame-designs --bench transfers -- --help`

#[path = "../tests/under_lens/mod.rs"]
#[expect(dead_code, reason = "the tests read more of it")]
mod under_lens;

use clap::builder::RangedU64ValueParser;
use clap::{Parser, ValueEnum};
use faultline_frame_designs::{Array16, ColourQueues, Design, GlobalMutex, Magazines, Ours, SpinBuddy, SpinList};
use under_lens::Work;

const PROGRAM: &str = env!("CARGO_BIN_EXE_frames_loop");

const DESIGNS: [&str; 7] = [
    Ours::NAME,
    GlobalMutex::NAME,
    Array16::NAME,
    Magazines::NAME,
    ColourQueues::NAME,
    SpinBuddy::NAME,
    SpinList::NAME,
];

/// Activity of the threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Get and put, with 1, 16 and 256 frames held
    Local,
    /// Get and put huge frames, one held
    Huge,
    /// One CPU gets, another puts: one by one, and in batches of 32
    Pipeline,
    /// Get, and put by a random CPU
    Random,
    /// Puts of frames that other CPUs got
    Foreign,
}

/// A column of the table.
#[derive(Debug, Clone, Copy)]
struct Column {
    kind: Kind,
    heading: &'static str,
    pattern: &'static str,
    /// The pattern to subtract.
    baseline: Option<&'static str>,
    depth: u64,
}

const fn column(kind: Kind, heading: &'static str, pattern: &'static str, depth: u64) -> Column {
    Column { kind, heading, pattern, baseline: None, depth }
}

const COLUMNS: [Column; 8] = [
    column(Kind::Local, "get and put, 1 held", "local", 1),
    column(Kind::Local, "16 held", "local", 16),
    column(Kind::Local, "256 held", "local", 256),
    column(Kind::Huge, "huge", "huge", 1),
    Column { baseline: Some("passed"), ..column(Kind::Pipeline, "pipeline, one by one", "pipeline", 1) },
    Column { baseline: Some("passed"), ..column(Kind::Pipeline, "pipeline, by 32", "pipeline", 32) },
    Column { baseline: Some("exchanged"), ..column(Kind::Random, "random CPU frees", "random", 1) },
    Column { baseline: Some("dealt"), ..column(Kind::Foreign, "foreign put", "foreign", 1) },
];

/// Cache-line transfers per operation of all designs
#[derive(Debug, Parser)]
#[command(name = "transfers", max_term_width = 100)]
struct Arguments {
    /// Numbers of threads
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = [2, 8, 32], value_parser = RangedU64ValueParser::<u64>::new().range(2..=256))]
    threads: Vec<u64>,

    /// Operations of each thread, a multiple of 256
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = RangedU64ValueParser::<u64>::new().range(256..=1 << 20))]
    ops: u64,

    /// Guests with as many different seeds; the table has the median and the range
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = RangedU64ValueParser::<u64>::new().range(1..=100))]
    seeds: u64,

    /// Patterns to count
    #[arg(long, value_enum, value_name = "KIND,KIND,…", value_delimiter = ',', default_values_t = [Kind::Local, Kind::Foreign])]
    kinds: Vec<Kind>,

    /// Designs to count [default: all that the program has]
    #[arg(long, value_name = "NAME,NAME,…", value_delimiter = ',', default_values = DESIGNS, hide_default_value = true)]
    only: Vec<String>,

    /// The program that has the designs
    #[arg(long, value_name = "FILE", default_value = PROGRAM, hide_default_value = true)]
    program: String,

    /// Passed by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

/// Transfers per operation at each number of threads: the median of the seeds, and the range.
fn count(column: &Column, design: &str, arguments: &Arguments) -> Vec<String> {
    let &Column { pattern, depth, .. } = column;
    let operations = arguments.ops / depth * depth;
    let of_seed = |seed| {
        let work = Work { program: &arguments.program, design, pattern, operations, depth, seed };
        match column.baseline {
            Some(baseline) => work.count_beyond(baseline, &arguments.threads),
            None => work.count(&arguments.threads),
        }
    };
    let seeds: Vec<_> = (1..=arguments.seeds).map(of_seed).collect();
    let figure = |place: usize| {
        let mut figures: Vec<f64> = seeds.iter().map(|counted| counted[place].per_operation).collect();
        figures.sort_by(f64::total_cmp);
        match figures[..] {
            [only] => format!("{only:.3}"),
            [first, .., last] => format!("{:.3} ({first:.3}–{last:.3})", figures[figures.len() / 2]),
            [] => String::new(),
        }
    };
    (0..arguments.threads.len()).map(figure).collect()
}

fn main() {
    let arguments = Arguments::parse();
    let columns: Vec<&Column> = COLUMNS.iter().filter(|column| arguments.kinds.contains(&column.kind)).collect();
    let rows: Vec<Vec<Vec<String>>> = arguments
        .only
        .iter()
        .map(|design| {
            let of = |column: &&Column| {
                let figures = count(column, design, &arguments);
                eprintln!("{design}, {}: {}", column.heading, figures.join(" | "));
                figures
            };
            columns.iter().map(of).collect()
        })
        .collect();
    for (place, threads) in arguments.threads.iter().enumerate() {
        let headings: Vec<&str> = columns.iter().map(|column| column.heading).collect();
        println!("| transfers per operation, {threads} threads | {} |", headings.join(" | "));
        println!("|---|{}", "---:|".repeat(columns.len()));
        for (design, figures) in arguments.only.iter().zip(&rows) {
            let cells: Vec<&str> = figures.iter().map(|of_threads| of_threads[place].as_str()).collect();
            println!("| `{design}` | {} |", cells.join(" | "));
        }
        println!();
    }
}
