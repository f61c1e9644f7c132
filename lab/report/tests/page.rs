//! The page as text: complete, self-contained and reproducible. `page/tests` checks appearance and
//! behaviour.

use crate::fixtures::runs as fixture;
use faultline_report::html;
use faultline_stats::summary::RunSummary;

fn page(run: &RunSummary) -> String {
    html(run, &fixture::head(run))
}

/// The page without script and style.
fn own_markup(page: &str) -> String {
    let script = page.rfind("<script>").unwrap();
    let style = (page.find("<style>").unwrap(), page.find("</style>").unwrap());
    format!("{}{}", &page[..style.0], &page[style.1..script])
}

#[test]
fn the_page_loads_nothing() {
    for run in [
        fixture::typical(),
        fixture::small(),
        fixture::two_points(),
        fixture::one_cpu(),
        fixture::all_failed(),
        fixture::empty(),
    ] {
        let markup = own_markup(&page(&run));
        for word in ["src=", "url(", "@import", "http://", "https://", "srcset"] {
            assert!(!markup.contains(word), "{word}");
        }
        assert!(!page(&run).contains("@import"));
        assert!(markup.contains("default-src 'none'; script-src 'sha256-"));
    }
}

#[test]
fn text_from_outside_is_escaped() {
    let page = page(&fixture::hostile());
    assert_eq!(page.matches("<script").count(), 2, "the data and the page's own");
    assert_eq!(page.to_lowercase().matches("</script").count(), 2);
    assert!(!page.contains("<img"));
    assert!(!page.contains("<!--"));
}

#[test]
fn the_embedded_data_is_the_summary() {
    for run in [fixture::typical(), fixture::hostile()] {
        let page = page(&run);
        let start = page.find("<script id=\"data\" type=\"application/json\">").unwrap();
        let data = page[start..].split_once('>').unwrap().1.split_once("</script>").unwrap().0;
        assert!(!data.contains('<'));
        assert_eq!(serde_json::from_str::<RunSummary>(data).unwrap(), run);
    }
}

#[test]
fn the_same_run_gives_the_same_page() {
    assert_eq!(page(&fixture::typical()), page(&fixture::typical()));
}

#[test]
fn the_page_has_every_curve_warning_and_fact() {
    let run = fixture::typical();
    let page = page(&run);
    for curve in &run.curves {
        assert!(page.contains(&curve.case.to_string()), "{}", curve.case);
    }
    for warning in &run.warnings {
        assert!(page.contains(warning.code().word()), "{warning:?}");
    }
    for words in ["The machine is virtual (KVM)", "1 point has fewer than 6 repeats"] {
        assert!(page.contains(words), "{words}");
    }
    for value in ["Example CPU 9000 @ 2.40 GHz", "mitigations=auto,nosmt", "20261121", "120 s"] {
        assert!(page.contains(value), "{value}");
    }
}
