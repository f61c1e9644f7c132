//! Comparisons in the four formats and as a page, against files of what is expected (`tests/snapshots`).

mod comparison_fixture;
mod fitness_fixture;

use comparison_fixture::{empty, hostile, imported, in_sequence, scaled, stored, typical};
use faultline_model::comparison::{ComparedWorkload, Comparison, Fit, Fitness};
use faultline_model::gate::Gate;
use faultline_model::plan::WhenInconclusive;
use faultline_report::{Format, Style, comparison, comparison_gate, comparison_html, fitness};
use fitness_fixture::checked;
use insta::assert_snapshot;

const WIDE: Style = Style { width: Some(150), colour: false, unicode: true };
const MEDIUM: Style = Style { width: Some(135), colour: false, unicode: true };
const NARROW: Style = Style { width: Some(80), colour: false, unicode: false };

#[test]
fn a_comparison_in_every_format() {
    for format in Format::ALL {
        assert_snapshot!(format!("compared_{format}"), comparison(&typical(), format, &WIDE));
    }
    assert_snapshot!("compared_medium", comparison(&typical(), Format::Table, &MEDIUM));
    assert_snapshot!("compared_narrow_ascii", comparison(&typical(), Format::Table, &NARROW));
}

#[test]
fn runs_of_before_on_two_machines() {
    assert_snapshot!("compared_stored_table", comparison(&stored(), Format::Table, &WIDE));
    assert_snapshot!("compared_stored_markdown", comparison(&stored(), Format::Markdown, &WIDE));
}

#[test]
fn runs_of_one_boot_one_after_the_other() {
    assert_snapshot!("compared_in_sequence", comparison(&in_sequence(), Format::Table, &WIDE));
}

#[test]
fn a_gate_names_what_closes_it_and_what_it_lets_pass() {
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
fn with_little_or_nothing_to_show() {
    assert_snapshot!("compared_imported_table", comparison(&imported(), Format::Table, &WIDE));
    assert_snapshot!("compared_imported_markdown", comparison(&imported(), Format::Markdown, &WIDE));
    assert_snapshot!("compared_empty", comparison(&empty(), Format::Table, &WIDE));
}

#[test]
fn a_machine_against_itself() {
    for format in Format::ALL {
        assert_snapshot!(format!("fitness_{format}"), fitness(&checked(Fit::Unfit), format, &WIDE));
    }
    assert_snapshot!("fitness_fit", fitness(&checked(Fit::Fit), Format::Table, &NARROW));
    assert_snapshot!("fitness_coarse", fitness(&checked(Fit::Coarse), Format::Table, &NARROW));
}

#[test]
fn the_first_line_says_whether_it_is_fit() {
    for (fit, word) in [(Fit::Fit, "fit"), (Fit::Coarse, "coarse"), (Fit::Unfit, "unfit")] {
        let text = fitness(&checked(fit), Format::Table, &WIDE);
        assert!(text.starts_with(&format!("{word}: ")), "{text}");
    }
}

#[test]
fn json_is_what_was_given_and_can_be_read_back() {
    for one in [typical(), stored(), imported(), empty(), hostile()] {
        assert_eq!(serde_json::from_str::<Comparison>(&comparison(&one, Format::Json, &WIDE)).unwrap(), one);
    }
    let one = checked(Fit::Unfit);
    assert_eq!(serde_json::from_str::<Fitness>(&fitness(&one, Format::Json, &WIDE)).unwrap(), one);
}

/// A ratio within boots that are confounded with the sides is in the data, but no output for people has it, and CSV has no change for it.
#[test]
fn what_has_no_estimate_is_told_without_a_change() {
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

/// For times a lower figure is an improvement: 3.74 s to 3.31 s is a gain of 3.74/3.31 − 1.
#[test]
fn a_shorter_time_is_a_gain() {
    let text = comparison(&typical(), Format::Markdown, &WIDE);
    let row = text.lines().find(|line| line.contains("| tree_build:generated")).unwrap();
    assert!(row.contains("+13.0 %") && row.contains("+11.9 … +14.2 %") && row.contains("faster"), "{row}");
}

#[test]
fn tables_keep_to_their_width() {
    for style in [WIDE, MEDIUM, NARROW] {
        let mut texts: Vec<String> = [typical(), stored(), imported(), empty()]
            .iter()
            .map(|one| comparison(one, Format::Table, &style))
            .collect();
        texts.extend([Fit::Fit, Fit::Coarse, Fit::Unfit].map(|fit| fitness(&checked(fit), Format::Table, &style)));
        for line in texts.iter().flat_map(|text| text.lines()) {
            let width = textwrap::core::display_width(line);
            assert!(width <= style.width.unwrap(), "{width}: {line}");
        }
    }
}

#[test]
fn a_table_for_mails_lines_up() {
    let text = comparison(&typical(), Format::Markdown, &WIDE);
    let lines = text.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let widths: Vec<usize> = lines.map(textwrap::core::display_width).collect();
    assert_eq!(widths.len(), 2 + typical().workloads.len(), "{text}");
    assert!(widths.iter().all(|width| *width == widths[0]), "{widths:?}");
}

#[test]
fn what_comes_from_outside_cannot_speak_to_the_terminal() {
    for format in [Format::Table, Format::Markdown] {
        let text = comparison(&hostile(), format, &WIDE);
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}

#[test]
fn colour_tells_faster_from_slower_only_when_asked_for() {
    let text = comparison(&typical(), Format::Table, &Style { colour: true, ..WIDE });
    assert!(text.contains("\u{1b}[32mfaster") && text.contains("\u{1b}[31mslower"), "{text:?}");
    assert!(!comparison(&typical(), Format::Table, &WIDE).contains('\u{1b}'));
}

/// A workload taken out takes its details with it, so that the rest keep theirs.
#[test]
fn a_row_shows_its_own_details_whatever_stands_before_it() {
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
fn the_page_holds_every_answer_and_nothing_to_load() {
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
fn text_from_outside_stays_text_on_the_page_and_its_data_are_the_comparison() {
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
fn a_page_has_a_curve_for_each_workload_at_several_numbers_of_tasks_with_its_law() {
    let page = comparison_html(&scaled());
    let (_, scaling) = page.split_once("id=\"scaling\"").unwrap();
    let (scaling, _) = scaling.split_once("</section>").unwrap();
    assert_eq!(scaling.matches("<figure class=\"both\"").count(), 2, "{scaling}");
    assert_eq!(scaling.matches("by the Universal Scalability Law").count(), 1);
    assert_eq!(scaling.matches("<tr>").count(), 2 + 3 + 2, "two heads, a row for each number of tasks");
    assert!(!comparison_html(&typical()).contains("<figure class=\"both\""), "one number of tasks is no curve");
}
