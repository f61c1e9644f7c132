//! Writes the pages of made-up runs into a directory, for the browser tests: `cargo run --example fixture_page -- DIR`.

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use faultline_model::summary::RunSummary;
use faultline_report::{Format, Style, html, run_table};
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let directory = env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: fixture_page DIR"))?;
    let directory = Path::new(&directory);
    fs::create_dir_all(directory)?;
    let runs: [(&str, RunSummary); 5] = [
        ("typical", fixture::typical()),
        ("one-cpu", fixture::one_cpu()),
        ("all-failed", fixture::all_failed()),
        ("hostile", fixture::hostile()),
        ("empty", fixture::empty()),
    ];
    for (name, run) in &runs {
        fs::write(directory.join(format!("{name}.html")), html(run, &fixture::record(run)))?;
        fs::write(directory.join(format!("{name}.json")), run_table(run, Format::Json, &Style::PLAIN))?;
    }
    Ok(())
}
