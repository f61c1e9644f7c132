//! A test that the appendix of the methodology documents every limit with its value.

use crate::thresholds as limits;

const APPENDIX: &str = include_str!("../../../docs/METHODOLOGY-APPENDIX.md");

#[test]
fn every_limit_stands_in_the_document_with_its_value() {
    let limits = [
        ("COVERAGE", limits::COVERAGE),
        ("SCALES_EFFICIENCY", limits::SCALES_EFFICIENCY),
        ("LOST_GAIN", limits::LOST_GAIN),
        ("VERDICT_REPEATS", f64::from(limits::VERDICT_REPEATS)),
        ("ABOVE_IDEAL", limits::ABOVE_IDEAL),
        ("SIBLING_SHARE", limits::SIBLING_SHARE),
        ("BUSY_AT_START", limits::BUSY_AT_START),
        ("LOAD_AVERAGE", limits::LOAD_AVERAGE),
        ("OTHERS_CPUS", limits::OTHERS_CPUS),
        ("TICK_NS", limits::TICK_NS),
        ("STEAL_SHARE", limits::STEAL_SHARE),
        ("UNSETTLED_CHANGE", limits::UNSETTLED_CHANGE),
        ("UNSETTLED_LEVEL", limits::UNSETTLED_LEVEL),
        ("COARSE_SHARE", limits::COARSE_SHARE),
        ("GRANULE_COUNTS", limits::GRANULE_COUNTS as f64),
        ("NOISY_SHARE", limits::NOISY_SHARE),
        ("COUNTERS_KEPT", limits::COUNTERS_KEPT as f64),
        ("LENS_FLAT_TRANSFERS", limits::LENS_FLAT_TRANSFERS),
        ("LENS_FLAT_SHARE", limits::LENS_FLAT_SHARE),
        ("LENS_FIT_POINTS", limits::LENS_FIT_POINTS as f64),
        ("LENS_FIT_ERROR", limits::LENS_FIT_ERROR),
        ("LENS_OVERLAP", limits::LENS_OVERLAP),
        ("CI_OVERLAP", limits::CI_OVERLAP),
        ("LENS_OVERLAP_WARNED", limits::LENS_OVERLAP_WARNED),
        ("LENS_UNKNOWN", limits::LENS_UNKNOWN),
        ("LENS_CHANGE_TRANSFERS", limits::LENS_CHANGE_TRANSFERS),
        ("LENS_CHANGE_SHARE", limits::LENS_CHANGE_SHARE),
        ("LENS_CODE_SHARE", limits::LENS_CODE_SHARE),
        ("LENS_SHOWN", limits::LENS_SHOWN as f64),
        ("LENS_GATE_SHOWN", limits::LENS_GATE_SHOWN as f64),
        ("POWER", limits::POWER),
        ("MARGIN", limits::MARGIN),
        ("TOO_NOISY", limits::TOO_NOISY),
        ("BOOTSTRAP_UNITS", limits::BOOTSTRAP_UNITS as f64),
        ("SHAPE_VALUES", limits::SHAPE_VALUES as f64),
        ("DRIFT_LEVEL", limits::DRIFT_LEVEL),
        ("BIMODAL_SHARE", limits::BIMODAL_SHARE),
        ("MISFIT_LEVEL", limits::MISFIT_LEVEL),
        ("CHANGE_FALSE_ALARMS", limits::CHANGE_FALSE_ALARMS),
        ("CHANGE_WATCHED", limits::CHANGE_WATCHED),
        ("CHANGE_LEAST", limits::CHANGE_LEAST),
        ("CHANGE_SHORT_POINTS", limits::CHANGE_SHORT_POINTS as f64),
        ("CHANGE_UNDONE_SHARE", limits::CHANGE_UNDONE_SHARE),
        ("CHANGE_CONFIRMED", limits::CHANGE_CONFIRMED),
        ("CHANGE_POINTS_AFTER", limits::CHANGE_POINTS_AFTER as f64),
        ("COUNTERS_TESTED", limits::COUNTERS_TESTED as f64),
        ("COUNTERS_TOLD", limits::COUNTERS_TOLD as f64),
        ("LOOK_GROWTH", limits::LOOK_GROWTH),
        ("LAST_LOOK_SHARE", limits::LAST_LOOK_SHARE),
        ("COARSE_DETECTABLE", limits::COARSE_DETECTABLE),
        ("UNFIT_DETECTABLE", limits::UNFIT_DETECTABLE),
    ];
    for (name, value) in limits {
        let row = format!("| `{name}` | {value} |");
        assert!(APPENDIX.contains(&row), "the document has no row that begins with '{row}'");
    }
    let declared = include_str!("thresholds.rs").matches("pub const ").count();
    assert_eq!(declared, limits.len(), "a limit is missing in this test");
}
