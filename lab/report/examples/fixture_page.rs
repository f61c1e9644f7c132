//! Pages of made-up runs and comparisons for browser tests: `cargo run --example fixture_page --
//! DIR`.

#[expect(dead_code, reason = "the tests use the rest")]
#[path = "../tests/fixtures/mod.rs"]
mod fixtures;

use faultline_record::plan::RunKind;
use faultline_report::site::bisect_html;
use faultline_report::{Format, Style, comparison, comparison_html, html, run_table};
use faultline_stats::summary::RunSummary;
use fixtures::{comparisons, lens, runs, search};
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let directory = env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: fixture_page DIR"))?;
    let directory = Path::new(&directory);
    fs::create_dir_all(directory)?;
    let made: [(&str, RunSummary); 10] = [
        ("typical", runs::typical()),
        ("two-points", runs::two_points()),
        ("one-cpu", runs::one_cpu()),
        ("all-failed", runs::all_failed()),
        ("hostile", runs::hostile()),
        ("empty", runs::empty()),
        ("lens", lens::typical()),
        ("lens-hostile", lens::hostile()),
        ("lens-long", lens::long_names()),
        ("lens-empty", lens::empty()),
    ];
    for (name, run) in &made {
        let mut head = runs::head(run);
        if let Some(under_lens) = &run.lens {
            head.settings.kind = RunKind::Lens(under_lens.settings.clone());
            head.subjects[0].what = under_lens.subject.clone();
        }
        fs::write(directory.join(format!("{name}.html")), html(run, &head))?;
        fs::write(directory.join(format!("{name}.json")), run_table(run, Format::Json, &Style::PLAIN))?;
    }
    for (name, one) in [
        ("compared", comparisons::typical()),
        ("compared-scaled", comparisons::scaled()),
        ("compared-stored", comparisons::stored()),
        ("compared-in-sequence", comparisons::in_sequence()),
        ("compared-imported", comparisons::imported()),
        ("compared-hostile", comparisons::hostile()),
        ("compared-empty", comparisons::empty()),
    ] {
        fs::write(directory.join(format!("{name}.html")), comparison_html(&one))?;
        fs::write(directory.join(format!("{name}.json")), comparison(&one, Format::Json, &Style::PLAIN))?;
    }
    let searched = bisect_html(&search::found(), &search::head(Some("https://github.com/owner/name")));
    fs::write(directory.join("search.html"), searched)
}
