//! Figures of a command that a run measured instead of workloads: time, CPU time and peak memory of
//! its executions.

use crate::estimate::{Estimate, estimate};
use crate::gather::CaseCells;
use crate::side_figures::cost;
use faultline_record::quantity::Quantity;
use faultline_record::record::RunRecord;
use faultline_record::subject::{Subject, SubjectIndex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The quantities, in their order.
const QUANTITIES: [Quantity; 4] = [Quantity::Time, Quantity::UserTime, Quantity::SystemTime, Quantity::PeakMemory];

/// A measured command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct CommandFigures {
    /// The command, as its user wrote it.
    pub command: String,
    /// The figures of its executions; empty if none succeeded, and for several numbers of tasks.
    pub figures: Vec<CommandFigure>,
}

/// A quantity over the executions of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct CommandFigure {
    /// The quantity.
    pub quantity: Quantity,
    /// The unit of the values.
    pub unit: String,
    /// The median with its interval.
    pub estimate: Estimate,
    /// The smallest value.
    pub smallest: f64,
    /// The largest value.
    pub largest: f64,
}

/// The subject of a run, if it is a command of the user.
pub(crate) fn given_command(record: &RunRecord, subject: SubjectIndex) -> Option<&Subject> {
    let is_ours = record.settings.timed().is_some() && record.settings.measured_line().is_none();
    record.subject(subject).filter(|subject| is_ours && !subject.setup.command.is_empty())
}

/// The figures of a run's command; `None` for a run of workloads. `cases`: of the run.
pub(crate) fn command_figures(record: &RunRecord, cases: &[CaseCells<'_>]) -> Option<CommandFigures> {
    let command = given_command(record, SubjectIndex::A)?.name.clone();
    let figures = match cases {
        [case] if case.cells.len() == 1 => QUANTITIES.into_iter().filter_map(|what| figure(what, case)).collect(),
        _ => Vec::new(),
    };
    Some(CommandFigures { command, figures })
}

/// The figure of a case with one cell; `None` if an execution does not have it.
fn figure(quantity: Quantity, case: &CaseCells<'_>) -> Option<CommandFigure> {
    let repeats = &case.cells.first()?.repeats;
    let values: Vec<f64> =
        repeats.iter().map(|repeat| cost(quantity, case.about.style, repeat)).collect::<Option<_>>()?;
    Some(CommandFigure {
        quantity,
        unit: quantity.unit().to_owned(),
        estimate: estimate(&values)?,
        smallest: values.iter().copied().fold(f64::INFINITY, f64::min),
        largest: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::summarise;
    use faultline_record::describe::Style;
    use faultline_record::direction::Direction;
    use faultline_record::protocol::Measure;

    /// A run of `./prog` at these numbers of tasks, whose execution n took n s and n MB.
    fn run(tasks: &[u32]) -> RunRecord {
        let mut record = example::Run::new(&["load"]).tasks(tasks).repeats(3).record();
        record.head.workloads[0].style = Style::Once;
        record.head.subjects[0].name = "./prog 1".to_owned();
        record.head.subjects[0].setup.command = vec!["./prog".to_owned(), "1".to_owned()];
        for (number, attempt) in (1u32..).zip(&mut record.attempts) {
            let measure = |name: &str, unit: &str, value| Measure {
                name: name.into(),
                unit: unit.into(),
                direction: Direction::Lower,
                value,
            };
            attempt.window.clear();
            attempt.usage = Some(example::usage(2, 1));
            attempt.measures = vec![
                measure("real_s", "s", f64::from(number)),
                measure("largest_process_bytes", "byte", 1e6 * f64::from(number)),
            ];
        }
        record
    }

    #[test]
    fn a_command_has_time_cpu_time_and_memory() {
        let command = summarise(&run(&[1])).command.unwrap();
        assert_eq!(command.command, "./prog 1");
        let words: Vec<_> = command.figures.iter().map(|figure| figure.quantity.word()).collect();
        assert_eq!(words, ["time", "user-time", "system-time", "memory"]);
        let time = &command.figures[0];
        assert_eq!((time.estimate.median, time.smallest, time.largest, time.estimate.n), (2.0, 1.0, 3.0, 3));
        assert_eq!(command.figures[3].largest, 3e6);
    }

    #[test]
    fn several_numbers_of_tasks_are_a_curve_and_workloads_have_no_command() {
        assert_eq!(summarise(&run(&[1, 2])).command.unwrap().figures, []);
        assert_eq!(summarise(&example::Run::new(&["load"]).record()).command, None);
    }
}
