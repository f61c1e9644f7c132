//! Properties of all tables: they fit the terminal, because columns are omitted and words wrap; and
//! they contain no terminal escapes from outside.

use crate::fixtures::{comparisons, lens, lens_comparisons, lists, runs, types};
use faultline_record::facts::Facts;
use faultline_report::{
    Format, Style, budget_table, changes, comparison, facts, fitness, imported, lens_compare_table, lens_types_table,
    run_table, runs as list_of_runs, workloads,
};
use faultline_stats::comparison::Fit;
use textwrap::core::display_width;

type Shown = fn(&Style) -> String;

const TABLES: &[(&str, Shown)] = &[
    ("run", |style| run_table(&runs::small(), Format::Table, style)),
    ("suite", |style| run_table(&runs::typical(), Format::Table, style)),
    ("run of two points a curve", |style| run_table(&runs::two_points(), Format::Table, style)),
    ("run on one CPU", |style| run_table(&runs::one_cpu(), Format::Table, style)),
    ("run that failed", |style| run_table(&runs::all_failed(), Format::Table, style)),
    ("run of nothing", |style| run_table(&runs::empty(), Format::Table, style)),
    ("list", |style| list_of_runs(&lists::runs(), Format::Table, style)),
    ("workloads", |style| workloads(&lists::workloads(), Format::Table, style)),
    ("facts", |style| facts(&known(), Format::Table, style)),
    ("lens", |style| run_table(&lens::typical(), Format::Table, style)),
    ("types of a lens run", |style| lens_types_table(&types::run(&[]), false, Format::Table, style)),
    ("lens with long names", |style| run_table(&lens::long_names(), Format::Table, style)),
    ("lens of nothing", |style| run_table(&lens::empty(), Format::Table, style)),
    ("lens compare", |style| lens_compare_table(&lens_comparisons::comparison(), Format::Table, style)),
    ("lens compare by seeds", |style| lens_compare_table(&lens_comparisons::by_seed(), Format::Table, style)),
    ("budgets", |style| budget_table(&lens_comparisons::budgets(), Format::Table, style)),
    ("baseline", |style| budget_table(&lens_comparisons::baseline(), Format::Table, style)),
    ("compare", |style| comparison(&comparisons::typical(), Format::Table, style)),
    ("compare at several numbers of tasks", |style| comparison(&comparisons::scaled(), Format::Table, style)),
    ("compare stored runs", |style| comparison(&comparisons::stored(), Format::Table, style)),
    ("compare in sequence", |style| comparison(&comparisons::in_sequence(), Format::Table, style)),
    ("compare imported", |style| comparison(&comparisons::imported(), Format::Table, style)),
    ("compare nothing", |style| comparison(&comparisons::empty(), Format::Table, style)),
    ("check", |style| fitness(&comparisons::checked(Fit::Coarse), Format::Table, style)),
    ("changes", |style| changes(&lists::changes(), Format::Table, style)),
    ("import", |style| imported(&[lists::imported()], Format::Table, style)),
];

#[test]
fn every_table_fits_its_width() {
    let mut too_long = Vec::new();
    for (name, shown) in TABLES {
        for width in [60, 80, 100, 135, 150] {
            let text = shown(&Style { width: Some(width), colour: false, unicode: true });
            let longer = text.lines().filter(|line| display_width(line) > width);
            too_long.extend(longer.map(|line| format!("{name} at {width}: {line}")));
        }
    }
    assert!(too_long.is_empty(), "{}", too_long.join("\n"));
}

#[test]
fn text_from_outside_neither_breaks_lines_nor_has_escapes() {
    let (run, under_lens, compared) = (runs::hostile(), lens::hostile(), comparisons::hostile());
    let head = runs::head(&run);
    let style = Style { width: Some(80), colour: false, unicode: true };
    for format in [Format::Table, Format::Markdown] {
        for text in [
            run_table(&run, format, &style),
            run_table(&under_lens, format, &style),
            comparison(&compared, format, &style),
            facts(head.facts().unwrap(), format, &style),
        ] {
            assert!(!text.contains('\u{1b}'), "{text}");
            let longer: Vec<&str> = text.lines().filter(|line| display_width(line) > 80).collect();
            assert!(format == Format::Markdown || longer.is_empty(), "{}", longer.join("\n"));
        }
    }
}

#[test]
fn long_lines_are_not_wrapped() {
    let text = list_of_runs(&lists::runs(), Format::Table, &Style::PLAIN);
    assert_eq!(text.lines().count(), 1 + lists::runs().len());
    assert!(text.contains("machine") && text.contains("skipped"));
    let narrow = list_of_runs(&lists::runs(), Format::Table, &Style { width: Some(80), ..Style::PLAIN });
    assert!(!narrow.contains("machine") && narrow.contains("failed"), "{narrow}");
}

fn known() -> Facts {
    let mut facts = Facts::default();
    facts.text("mitigation.spec_store_bypass", "Mitigation: Speculative Store Bypass disabled via prctl and seccomp");
    facts.text("workload.protect_churn.sha256", "3b0d5f7c9e21468ab0c1d2e3f405162738495a6b7c8d9eaf0123456789abcdef");
    facts.count("cpu.logical", 8);
    facts
}
