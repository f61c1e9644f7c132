//! The literature's figures in the four formats, alone and beside a run, against files of what is expected (`tests/snapshots`).

mod run;

use faultline_literature::{beside, published};
use faultline_report::{Format, Style};
use insta::assert_snapshot;

const WIDE: Style = Style { width: Some(140), colour: false, unicode: true };

#[test]
fn figures() {
    assert_snapshot!("published_table", published(None, Format::Table, &WIDE).unwrap());
    assert_snapshot!("published_markdown", published(Some("zero-fill"), Format::Markdown, &WIDE).unwrap());
    assert_snapshot!("published_csv", published(Some("dragonfly-2011-vm-token"), Format::Csv, &WIDE).unwrap());
    assert_snapshot!("published_json", published(Some("buildkernel"), Format::Json, &WIDE).unwrap());
}

#[test]
fn figures_beside_a_run() {
    for format in Format::ALL {
        assert_snapshot!(format!("beside_{format}"), beside(&run::typical(), format, &WIDE));
    }
}
