//! Figures shown beside a point's value: other measures, bytes per second, and faults and context
//! switches per operation. Also the figures that a comparison tests beside the values.

use crate::estimate::estimate;
use crate::figures::SideFigure;
use crate::gather::About;
use crate::repeat::{Repeat, total};
use faultline_record::describe::Style;
use faultline_record::direction::Direction;
use faultline_record::protocol::{Measure, Usage, UsageScope};
use faultline_record::quantity::{PEAK_MEMORY, Quantity};

/// Name of the further figure with the CPU time of an execution.
pub const CPU_TIME: &str = "cpu_s";

/// A side figure of one repeat.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Value {
    /// Its name: `user_s`.
    pub(crate) name: String,
    /// Its unit.
    pub(crate) unit: String,
    /// Better direction, if known.
    pub(crate) direction: Option<Direction>,
    /// The value.
    pub(crate) value: f64,
}

/// The figures that a comparison tests beside the values: the CPU time of a workload that runs
/// once, and all measures except the value itself, which is a `quantity`.
pub(crate) fn compared_figures(quantity: Quantity, style: Style, repeat: &Repeat<'_>) -> Vec<Value> {
    match quantity {
        Quantity::Time => cpu_time(style, repeat).into_iter().chain(measures(style, repeat)).collect(),
        Quantity::CpuTime => measures_from(0, repeat),
        _ => {
            let is_other = |value: &Value| quantity != Quantity::PeakMemory || value.name != PEAK_MEMORY;
            cpu_time(style, repeat).into_iter().chain(measures_from(0, repeat)).filter(is_other).collect()
        }
    }
}

fn cpu_time(style: Style, repeat: &Repeat<'_>) -> Option<Value> {
    let usage = repeat.attempt.usage.filter(|_| style == Style::Once)?;
    Some(Value {
        name: CPU_TIME.to_owned(),
        unit: "s".to_owned(),
        direction: Some(Direction::Lower),
        value: (usage.user_ns as f64 + usage.system_ns as f64) / 1e9,
    })
}

/// The side figures, in the order in which the repeats first name them.
pub(crate) fn side_figures(about: &About, repeats: &[Repeat<'_>]) -> Vec<SideFigure> {
    let mut figures: Vec<(Value, Vec<f64>)> = Vec::new();
    for value in repeats.iter().flat_map(|repeat| values(about, repeat)).filter(|value| value.value.is_finite()) {
        match figures.iter_mut().find(|(first, _)| first.name == value.name && first.unit == value.unit) {
            Some((_, values)) => values.push(value.value),
            None => {
                let values = vec![value.value];
                figures.push((value, values));
            }
        }
    }
    let figure = |(first, values): (Value, Vec<f64>)| {
        let Value { name, unit, direction, .. } = first;
        Some(SideFigure { name, unit, direction, estimate: estimate(&values)? })
    };
    figures.into_iter().filter_map(figure).collect()
}

fn values(about: &About, repeat: &Repeat<'_>) -> Vec<Value> {
    let mut values = measures(about.style, repeat);
    values.extend(bytes(about.style, repeat));
    values.extend(costs(about, repeat));
    values
}

/// The measures, except the value itself.
fn measures(style: Style, repeat: &Repeat<'_>) -> Vec<Value> {
    measures_from(usize::from(style == Style::Once), repeat)
}

/// The measures without the first ones. Of several with one name, the first counts.
fn measures_from(skipped: usize, repeat: &Repeat<'_>) -> Vec<Value> {
    let side = repeat.attempt.measures.get(skipped..).unwrap_or(&[]);
    let first_of_its_name = |index: &usize| side[..*index].iter().all(|earlier| earlier.name != side[*index].name);
    (0..side.len()).filter(first_of_its_name).map(|index| measure(&side[index])).collect()
}

fn measure(measure: &Measure) -> Value {
    let Measure { name, unit, direction, value } = measure.clone();
    Value { name, unit, direction: Some(direction), value }
}

fn bytes(style: Style, repeat: &Repeat<'_>) -> Option<Value> {
    let per_operation = repeat.attempt.bytes_per_operation.filter(|_| style == Style::Loop)?;
    Some(Value {
        name: "bytes_per_second".to_owned(),
        unit: "B/s".to_owned(),
        direction: Some(Direction::Higher),
        value: repeat.value * per_operation as f64,
    })
}

/// Faults and context switches per operation. Usage of a task's whole life is divided by the
/// operations including warm-up. Its name says so, because it includes set-up.
fn costs(about: &About, repeat: &Repeat<'_>) -> Vec<Value> {
    let Some(usage) = repeat.attempt.usage else { return Vec::new() };
    let operations = operations_covered(repeat, usage.scope);
    let suffix = if usage.scope == UsageScope::Life { "_life" } else { "" };
    if operations == 0 {
        return Vec::new();
    }
    let cost = |name: &str, event: &str, count: u64| Value {
        name: format!("{name}_per_operation{suffix}"),
        unit: format!("{event}/{}", about.operation),
        direction: None,
        value: count as f64 / operations as f64,
    };
    vec![
        cost("minor_faults", "fault", usage.minor_faults),
        cost("major_faults", "fault", usage.major_faults),
        cost("voluntary_switches", "switch", usage.voluntary_switches),
        cost("involuntary_switches", "switch", usage.involuntary_switches),
    ]
}

/// Operations that a usage covers. One of the window ends with whole batches and not exactly with
/// the window, so the workload reports their number (docs/FORMATS.md, `usage`).
pub(crate) fn operations_covered(repeat: &Repeat<'_>, scope: UsageScope) -> u128 {
    match scope {
        UsageScope::Window => {
            let noted = repeat.attempt.notes.get("usage_operations").and_then(|text| text.parse().ok());
            noted.unwrap_or(repeat.operations)
        }
        UsageScope::Life => repeat.operations + total(&repeat.attempt.warmup),
    }
}

/// A cost of one repeat, per operation for a workload that loops, so that less is better whatever
/// runs. `None` if the repeat did not record it.
pub(crate) fn cost(quantity: Quantity, style: Style, repeat: &Repeat<'_>) -> Option<f64> {
    let cpu_seconds = |of: fn(&Usage) -> u64| {
        let usage = repeat.attempt.usage.as_ref()?;
        Some(of(usage) as f64 / 1e9 / operations_covered(repeat, usage.scope) as f64)
    };
    match quantity {
        Quantity::Time if style == Style::Loop => Some(1.0 / repeat.value),
        Quantity::Time => Some(repeat.value),
        Quantity::CpuTime => cpu_seconds(|usage| usage.user_ns + usage.system_ns),
        Quantity::UserTime => cpu_seconds(|usage| usage.user_ns),
        Quantity::SystemTime => cpu_seconds(|usage| usage.system_ns),
        Quantity::PeakMemory => {
            let peak = repeat.attempt.measures.iter().find(|measure| measure.name == PEAK_MEMORY)?;
            Some(peak.value)
        }
        Quantity::Instructions | Quantity::Transfers => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use faultline_record::protocol::{Interval, Usage};
    use faultline_record::record::Attempt;

    fn about(style: Style) -> About {
        About {
            operation: "stat".into(),
            text: String::new(),
            unit: "stat/s".into(),
            direction: Direction::Higher,
            style,
        }
    }

    fn named(style: Style, attempt: &Attempt) -> Vec<(String, String, f64)> {
        let repeat = Repeat::of(style, 0, attempt).unwrap();
        side_figures(&about(style), &[repeat]).into_iter().map(|f| (f.name, f.unit, f.estimate.median)).collect()
    }

    fn lower(name: &str, value: f64) -> Measure {
        Measure { name: name.into(), unit: "s".into(), direction: Direction::Lower, value }
    }

    #[test]
    fn the_first_measure_is_the_value_of_a_workload_that_runs_once_and_a_side_figure_of_one_that_loops() {
        let mut attempt = example::attempt(1, 100);
        attempt.measures = vec![lower("real_s", 12.0), lower("user_s", 20.0), lower("user_s", 99.0)];
        assert_eq!(named(Style::Once, &attempt), [("user_s".into(), "s".into(), 20.0)]);
        let names: Vec<String> = named(Style::Loop, &attempt).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, ["real_s", "user_s"]);
    }

    #[test]
    fn bytes_follow_from_the_rate() {
        let mut attempt = example::attempt(1, 100);
        attempt.bytes_per_operation = Some(4096);
        let rate = Repeat::of(Style::Loop, 0, &attempt).unwrap().value;
        assert_eq!(named(Style::Loop, &attempt), [("bytes_per_second".into(), "B/s".into(), rate * 4096.0)]);
    }

    #[test]
    fn costs_are_per_operation_of_what_the_usage_covers() {
        let mut attempt = example::attempt(1, 100);
        let operations = Repeat::of(Style::Loop, 0, &attempt).unwrap().operations as u64;
        let usage = Usage { minor_faults: 3 * operations, ..example::usage(1, 1) };
        attempt.usage = Some(usage);
        assert_eq!(named(Style::Loop, &attempt)[0], ("minor_faults_per_operation".into(), "fault/stat".into(), 3.0));
        attempt.notes.insert("usage_operations".into(), (2 * operations).to_string());
        assert_eq!(named(Style::Loop, &attempt)[0].2, 1.5);
        attempt.warmup = vec![Interval { from_ns: 0, to_ns: 1, operations: vec![operations] }];
        attempt.usage = Some(Usage { scope: UsageScope::Life, ..usage });
        assert_eq!(
            named(Style::Loop, &attempt)[0],
            ("minor_faults_per_operation_life".into(), "fault/stat".into(), 1.5)
        );
    }

    #[test]
    fn without_operations_there_is_no_cost_of_one() {
        let mut attempt = example::attempt(1, 0);
        attempt.usage = Some(example::usage(1, 1));
        assert_eq!(named(Style::Loop, &attempt), []);
    }
}
