//! Writes the pages of made-up runs and comparisons into a directory, for the browser tests: `cargo run --example fixture_page -- DIR`.

#[path = "../tests/comparison_fixture/mod.rs"]
mod comparison_fixture;
#[path = "../tests/fixture/mod.rs"]
mod fixture;
#[path = "../tests/lens_fixture/mod.rs"]
mod lens_fixture;

use faultline_model::plan::RunKind;
use faultline_model::summary::RunSummary;
use faultline_report::{Format, Style, comparison, comparison_html, html, run_table};
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let directory = env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: fixture_page DIR"))?;
    let directory = Path::new(&directory);
    fs::create_dir_all(directory)?;
    let runs: [(&str, RunSummary); 10] = [
        ("typical", fixture::typical()),
        ("two-points", fixture::two_points()),
        ("one-cpu", fixture::one_cpu()),
        ("all-failed", fixture::all_failed()),
        ("hostile", fixture::hostile()),
        ("empty", fixture::empty()),
        ("lens", lens_fixture::typical()),
        ("lens-hostile", lens_fixture::hostile()),
        ("lens-long", lens_fixture::long_names()),
        ("lens-empty", lens_fixture::empty()),
    ];
    for (name, run) in &runs {
        let mut head = fixture::head(run);
        if let Some(lens) = &run.lens {
            head.settings.kind = RunKind::Lens(lens.settings.clone());
            head.subjects[0].what = lens.subject.clone();
        }
        fs::write(directory.join(format!("{name}.html")), html(run, &head))?;
        fs::write(directory.join(format!("{name}.json")), run_table(run, Format::Json, &Style::PLAIN))?;
    }
    for (name, one) in [
        ("compared", comparison_fixture::typical()),
        ("compared-scaled", comparison_fixture::scaled()),
        ("compared-stored", comparison_fixture::stored()),
        ("compared-in-sequence", comparison_fixture::in_sequence()),
        ("compared-imported", comparison_fixture::imported()),
        ("compared-hostile", comparison_fixture::hostile()),
        ("compared-empty", comparison_fixture::empty()),
    ] {
        fs::write(directory.join(format!("{name}.html")), comparison_html(&one))?;
        fs::write(directory.join(format!("{name}.json")), comparison(&one, Format::Json, &Style::PLAIN))?;
    }
    Ok(())
}
