//! Cache-line transfers per operation of all designs, as counted by the lens: a Markdown table on standard output.
//! Each figure is a boot, so it takes an hour. Needs `make build guest kernel lens`.
//!
//! `cargo bench -p faultline-frame-designs --bench transfers -- --help`

#[path = "../tests/under_lens/mod.rs"]
#[expect(dead_code, reason = "the tests read more of it")]
mod under_lens;

use clap::Parser;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser};
use faultline_frame_designs::{Array16, ColourQueues, Design, GlobalMutex, Magazines, Ours, SpinBuddy, SpinList};
use under_lens::{Counted, Work};

const DESIGNS: [&str; 7] = [
    Ours::NAME,
    GlobalMutex::NAME,
    Array16::NAME,
    Magazines::NAME,
    ColourQueues::NAME,
    SpinBuddy::NAME,
    SpinList::NAME,
];

/// Maximum number of frames that a thread holds.
const DEPTHS: [u64; 3] = [1, 16, 256];

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

    /// Designs to count [default: all]
    #[arg(long, value_name = "NAME,NAME,…", value_delimiter = ',', value_parser = PossibleValuesParser::new(DESIGNS), default_values = DESIGNS, hide_default_value = true)]
    only: Vec<String>,

    /// Passed by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let Arguments { threads, ops, only, .. } = Arguments::parse();
    for threads in threads {
        println!(
            "| transfers per operation, {threads} threads | {} | foreign put |",
            DEPTHS.map(|depth| format!("get and put, {depth} held")).join(" | ")
        );
        println!("|---|{}---:|", "---:|".repeat(DEPTHS.len()));
        for design in &only {
            eprintln!("{design}, {threads} threads");
            let figure = |counted: Vec<Counted>| format!("{:.3}", counted[0].per_operation);
            let local = DEPTHS.map(|depth| {
                let work = Work { design, pattern: "local", operations: ops / depth * depth, depth };
                figure(work.count(&[threads]))
            });
            let foreign = Work { design, pattern: "foreign", operations: ops, depth: 1 };
            println!("| `{design}` | {} | {} |", local.join(" | "), figure(foreign.count_puts(&[threads])));
        }
        println!();
    }
}
