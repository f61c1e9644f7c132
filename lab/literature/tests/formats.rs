//! The literature's figures in the four formats, alone and beside a run, compared with the files in `tests/snapshots`.
//! The command's own tests cover the output of `--compare`.

mod run;

use faultline_literature::{answers, beside, figures};
use faultline_report::{Format, Style};
use insta::assert_snapshot;

const WIDE: Style = Style { width: Some(140), colour: false, unicode: true };

#[test]
fn every_figure() {
    assert_snapshot!("published_table", figures(None, Format::Table, &WIDE).unwrap());
    assert_snapshot!("published_markdown", figures(Some("zero-fill"), Format::Markdown, &WIDE).unwrap());
    assert_snapshot!("published_csv", figures(Some("dragonfly-2011-vm-token"), Format::Csv, &WIDE).unwrap());
    assert_snapshot!("published_json", figures(Some("buildkernel"), Format::Json, &WIDE).unwrap());
}

#[test]
fn figures_beside_a_run() {
    for format in Format::ALL {
        assert_snapshot!(format!("beside_{format}"), beside(&run::typical(), format, &WIDE));
    }
}

#[test]
fn lines_fit_120_80_and_60_columns() {
    let mut too_long = Vec::new();
    for width in [120, 80, 60] {
        let style = Style { width: Some(width), colour: false, unicode: false };
        let figures = figures(None, Format::Table, &style).unwrap();
        for shown in
            [figures, answers(None, Format::Table, &style).unwrap(), beside(&run::typical(), Format::Table, &style)]
        {
            assert!(shown.is_ascii());
            too_long.extend(shown.lines().filter(|line| line.len() > width).map(|line| format!("{width}: {line}")));
        }
    }
    assert!(too_long.is_empty(), "{}", too_long.join("\n"));
}

#[test]
fn a_run_of_other_workloads_has_nothing_beside_it() {
    let mut run = run::typical();
    run.curves.retain(|curve| curve.case.workload == "map_churn");
    for format in [Format::Table, Format::Markdown] {
        let shown = beside(&run, format, &WIDE);
        assert_eq!(shown, "The literature here has no figures for this run's workloads.\n");
    }
    assert_eq!(beside(&run, Format::Csv, &WIDE).lines().count(), 1);
}
