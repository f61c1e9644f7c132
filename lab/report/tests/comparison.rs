//! Comparisons as text, Markdown, CSV, JSON and HTML. `tests/snapshots` has the expected texts.

use crate::fixtures::comparisons::{checked, empty, hostile, imported, in_sequence, scaled, stored, typical};
use faultline_record::plan::WhenInconclusive;
use faultline_report::{Format, Style, comparison, comparison_brief, comparison_gate, comparison_html, fitness};
use faultline_stats::comparison::{ComparedWorkload, Comparison, Fit, Fitness};
use faultline_stats::gate::Gate;
use insta::assert_snapshot;

const WIDE: Style = Style { width: Some(150), colour: false, unicode: true };
const MEDIUM: Style = Style { width: Some(135), colour: false, unicode: true };
const NARROW: Style = Style { width: Some(80), colour: false, unicode: false };

#[test]
fn a_comparison_in_every_format() {
    for format in [Format::Table, Format::Csv, Format::Markdown] {
        assert_snapshot!(format!("compared_{format}"), comparison(&typical(), format, &WIDE));
    }
    let mut fewer = typical();
    for index in [5, 3, 1] {
        fewer.workloads.remove(index);
    }
    fewer.scaling.truncate(1);
    assert_snapshot!("compared_medium", comparison(&fewer, Format::Table, &MEDIUM));
    assert_snapshot!("compared_narrow_ascii", comparison(&fewer, Format::Table, &NARROW));
}

#[test]
fn the_brief_answer_has_ten_lines_and_the_sentence_first() {
    let one = typical();
    let text = comparison_brief(&one, &WIDE);
    assert!(text.lines().count() <= 10, "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.starts_with("huge pages against base pages, 6 workloads: 2 faster, 1 slower, "), "{text}");
    assert!(text.contains("; most: tree_build:generated at 4 tasks −11.5 %."), "{text}");
    assert!(text.contains("1 workload not listed: 1 equal.") && text.contains("3 executions failed."), "{text}");
    assert!(text.contains("1 workload not compared.") && text.contains("Cautions: one-boot, load, bimodal."), "{text}");
    let mut single = typical();
    single.workloads.truncate(1);
    let text = comparison_brief(&single, &WIDE);
    assert!(
        text.starts_with("huge pages is faster than base pages: −11.1 % (−11.8 … −10.4 %), p < 0.0001.\n"),
        "{text}"
    );
    assert!(comparison_brief(&empty(), &WIDE).starts_with("The sides have nothing in common.\n"));
    for width in [60, 80, 100] {
        let style = Style { width: Some(width), ..WIDE };
        for one in [typical(), hostile(), imported()] {
            let text = comparison_brief(&one, &style);
            assert!(text.lines().all(|line| textwrap::core::display_width(line) <= width), "{text}");
            assert!(!text.contains('\u{1b}'), "{text}");
        }
    }
}

#[test]
fn stored_runs_on_two_machines() {
    assert_snapshot!("compared_stored_table", comparison(&stored(), Format::Table, &WIDE));
    assert_snapshot!("compared_stored_markdown", comparison(&stored(), Format::Markdown, &WIDE));
}

#[test]
fn consecutive_runs_in_one_boot() {
    assert_snapshot!("compared_in_sequence", comparison(&in_sequence(), Format::Table, &WIDE));
}

#[test]
fn a_gate_lists_findings_that_close_it_or_pass() {
    let mut one = typical();
    assert_snapshot!("gate_closed", comparison_gate(&Gate::of_comparison(&one, WhenInconclusive::Fail), &WIDE));
    one.unmatched.clear();
    one.workloads[1].comparison.within_margin = true;
    assert_snapshot!("gate_open", comparison_gate(&Gate::of_comparison(&one, WhenInconclusive::Pass), &WIDE));
    one.workloads.truncate(1);
    let gate = Gate::of_comparison(&one, WhenInconclusive::Fail);
    assert!(gate.is_open());
    assert_eq!(comparison_gate(&gate, &WIDE), "gate: open, nothing is slower by more than the margin\n");
}

#[test]
fn comparisons_with_little_or_no_data() {
    assert_snapshot!("compared_imported_table", comparison(&imported(), Format::Table, &WIDE));
    assert_snapshot!("compared_imported_markdown", comparison(&imported(), Format::Markdown, &WIDE));
    assert_snapshot!("compared_empty", comparison(&empty(), Format::Table, &WIDE));
}

#[test]
fn a_machine_against_itself() {
    for format in [Format::Table, Format::Csv, Format::Markdown] {
        assert_snapshot!(format!("fitness_{format}"), fitness(&checked(Fit::Unfit), format, &WIDE));
    }
    assert_snapshot!("fitness_fit", fitness(&checked(Fit::Fit), Format::Table, &NARROW));
    assert_snapshot!("fitness_coarse", fitness(&checked(Fit::Coarse), Format::Table, &NARROW));
}

#[test]
fn the_first_line_has_the_fitness() {
    for (fit, word) in [(Fit::Fit, "fit"), (Fit::Coarse, "coarse"), (Fit::Unfit, "unfit")] {
        let text = fitness(&checked(fit), Format::Table, &WIDE);
        assert!(text.starts_with(&format!("{word}: ")), "{text}");
    }
}

#[test]
fn json_survives_a_round_trip() {
    for one in [typical(), stored(), imported(), empty(), hostile()] {
        assert_eq!(serde_json::from_str::<Comparison>(&comparison(&one, Format::Json, &WIDE)).unwrap(), one);
    }
    let one = checked(Fit::Unfit);
    assert_eq!(serde_json::from_str::<Fitness>(&fitness(&one, Format::Json, &WIDE)).unwrap(), one);
}

/// Sentences in the JSON are those of the Markdown, which has its own snapshot.
#[test]
fn statements_in_the_json_have_their_sentences() {
    let read = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap();
    let json = read(comparison(&typical(), Format::Json, &WIDE));
    let markdown = comparison(&typical(), Format::Markdown, &WIDE).replace('\\', "");
    assert!(markdown.contains(json["unmatched"][0]["text"].as_str().unwrap()), "{json}");
    let workloads = json["workloads"].as_array().unwrap();
    assert!(markdown.contains(workloads[5]["cautions"][0]["text"].as_str().unwrap()), "{json}");
    assert!(markdown.contains(workloads[4]["failures"][0][0]["text"].as_str().unwrap()), "{json}");
    let json = read(fitness(&checked(Fit::Unfit), Format::Json, &WIDE));
    let markdown = fitness(&checked(Fit::Unfit), Format::Markdown, &WIDE).replace('\\', "");
    let advice = json["advice"].as_array().unwrap().iter().flat_map(|one| [&one["finding"], &one["remedy"]]);
    assert!(advice.clone().count() == 4 && advice.clone().all(|text| markdown.contains(text.as_str().unwrap())));
}

/// If boots are confounded with the sides, only the data have the ratio.
#[test]
fn a_workload_without_an_estimate_has_no_change() {
    let one = typical();
    let mut texts: Vec<String> = [(Format::Table, &WIDE), (Format::Table, &NARROW), (Format::Markdown, &WIDE)]
        .into_iter()
        .map(|(format, style)| comparison(&one, format, style).split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for text in &texts {
        assert!(text.contains("inconclusive: 1 and 1 boots cannot show any difference"), "{text}");
        assert!(text.contains("Overall: none, as not every workload has an estimate that holds"), "{text}");
    }
    texts.push(comparison_html(&one).split("<script").next().unwrap().to_owned());
    for text in &texts {
        assert!(!text.contains("9.6 %") && !text.contains("1.096"), "{text}");
    }
    let text = comparison(&one, Format::Csv, &WIDE);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|column| column == name).unwrap();
    let (records, figures): (Vec<_>, Vec<_>) =
        reader.records().map(|record| record.unwrap()).partition(|record| record[column("figure")].is_empty());
    assert_eq!((records.len(), figures.len()), (one.workloads.len(), 2));
    assert_eq!(&records[4][column("answer")], "inconclusive");
    assert_eq!(&records[4][column("inconclusive")], "confounded-boots");
    for name in ["change_ratio", "change_low_ratio", "change_high_ratio", "p"] {
        assert_eq!(&records[4][column(name)], "", "{name}");
    }
    assert_eq!(records[0][column("b_median")].parse::<f64>().unwrap(), one.workloads[0].comparison.b.median);
}

/// Lower times are better: 3.74 s → 3.31 s is a change of cost of 3.31/3.74 − 1.
#[test]
fn a_shorter_time_is_a_gain() {
    let text = comparison(&typical(), Format::Markdown, &WIDE);
    let row = text.lines().find(|line| line.contains("| tree_build:generated")).unwrap();
    assert!(row.contains("−11.5 %") && row.contains("−12.4 … −10.6 %") && row.contains("faster"), "{row}");
}

#[test]
fn markdown_is_aligned_for_mails() {
    let text = comparison(&typical(), Format::Markdown, &WIDE);
    let lines = text.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let widths: Vec<usize> = lines.map(textwrap::core::display_width).collect();
    assert_eq!(widths.len(), 2 + typical().workloads.len(), "{text}");
    assert!(widths.iter().all(|width| *width == widths[0]), "{widths:?}");
}

#[test]
fn colour_is_optional() {
    let text = comparison(&typical(), Format::Table, &Style { colour: true, ..WIDE });
    assert!(text.contains("\u{1b}[32mfaster") && text.contains("\u{1b}[31mslower"), "{text:?}");
    assert!(!comparison(&typical(), Format::Table, &WIDE).contains('\u{1b}'));
}

/// After the removal of a workload, the others keep their own details.
#[test]
fn rows_have_their_own_details() {
    let whole = typical();
    let mut fewer = typical();
    fewer.workloads.remove(1);
    let last = |one: &Comparison| {
        let text = comparison(one, Format::Csv, &WIDE);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let column = reader.headers().unwrap().iter().position(|column| column == "a_values").unwrap();
        reader.records().map(|record| record.unwrap()[column].to_owned()).collect::<Vec<_>>()
    };
    let mut expected = last(&whole);
    expected.remove(1);
    assert_eq!(last(&fewer), expected);
}

#[test]
fn the_page_has_every_answer_and_loads_nothing() {
    let one = typical();
    let page = comparison_html(&one);
    let own = page.split_once("</style>").unwrap().1;
    let own = &own[..own.find("<script").unwrap()];
    for ComparedWorkload { comparison, .. } in &one.workloads {
        assert!(own.contains(&comparison.name), "{}", comparison.name);
    }
    for words in [
        "equal within ±2 %",
        "reaches past ±2 %; 80 % power to detect a change of 25.1 % or more",
        "vmstat.thp_fault_alloc",
        "contention fell from 0.21 to 0.080",
        "kernel.transparent_hugepages",
        "compile:small-c×4: on the second side only",
        "Ended after 12 of at most 48 blocks",
        "2 left out as failed: mmap: Cannot allocate memory (2×)",
        "transparent_hugepage/enabled = always",
    ] {
        assert!(own.contains(words), "{words}");
    }
    for word in ["src=", "url(", "http://", "https://", "srcset"] {
        assert!(!own.contains(word), "{word}");
    }
    assert!(page.contains("default-src 'none'; script-src 'sha256-"));
    assert_eq!(comparison_html(&one), page);
}

#[test]
fn the_page_escapes_texts_and_has_the_comparison_as_data() {
    for one in [typical(), hostile(), empty(), imported(), stored()] {
        let page = comparison_html(&one);
        assert_eq!(page.matches("<script").count(), 2, "the data and the page's own");
        assert!(!page.contains("<img") && !page.contains("<!--") && !page.contains('\u{1b}'));
        let data = page.split_once("<script id=\"data\" type=\"application/json\">").unwrap().1;
        let data = data.split_once("</script>").unwrap().0;
        assert!(!data.contains('<'));
        assert_eq!(serde_json::from_str::<Comparison>(data).unwrap(), one);
    }
}

#[test]
fn a_page_has_a_curve_and_a_law_per_workload_with_several_numbers_of_tasks() {
    let page = comparison_html(&scaled());
    let (_, scaling) = page.split_once("id=\"scaling\"").unwrap();
    let (scaling, _) = scaling.split_once("</section>").unwrap();
    assert_eq!(scaling.matches("<figure class=\"both\"").count(), 2, "{scaling}");
    assert_eq!(scaling.matches("by the Universal Scalability Law").count(), 1);
    assert_eq!(scaling.matches("<tr>").count(), 2 + 3 + 2, "two heads, a row for each number of tasks");
    assert!(!comparison_html(&typical()).contains("<figure class=\"both\""), "one number of tasks is no curve");
}
