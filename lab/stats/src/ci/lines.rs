//! Code whose transfers differ between two commits.

use super::CiLine;
use super::counted::readings;
use faultline_record::lens::reading::Reading;
use faultline_record::quantity::Quantity;
use faultline_record::record::RunRecord;
use std::collections::BTreeMap;

/// Maximum number of functions.
const MOST: usize = 10;

/// Least change of a function's transfers, as a share of the largest.
const LEAST_SHARE: f64 = 0.05;

/// A function of a file.
type Function = (Option<String>, String);

/// Transfers of a function per execution, summed over seeds; in all, and by line.
#[derive(Debug, Default)]
struct Moved {
    all: f64,
    by_line: BTreeMap<Option<u32>, f64>,
}

/// The functions whose transfers differ between two commits, the largest difference first. A change
/// moves the lines below it, so functions are compared; the line is that with most transfers in the
/// new commit. Files are as the compiler names them.
pub fn moved_lines(record: &RunRecord) -> Vec<CiLine> {
    let readings = readings(record);
    let mut sides: [BTreeMap<Function, Moved>; 2] = Default::default();
    for pair in &readings {
        for (side, reading) in sides.iter_mut().zip(pair) {
            add(side, reading);
        }
    }
    let [base, head] = sides;
    let number = readings.len().max(1) as f64;
    let all = |side: &BTreeMap<Function, Moved>, of: &Function| side.get(of).map_or(0.0, |moved| moved.all);
    let functions = base.keys().chain(head.keys().filter(|of| !base.contains_key(of)));
    let mut changed: Vec<(&Function, f64)> =
        functions.map(|of| (of, (all(&head, of) - all(&base, of)) / number)).collect();
    changed.sort_by(|(_, x), (_, y)| y.abs().total_cmp(&x.abs()));
    let largest = changed.first().map_or(0.0, |(_, delta)| delta.abs());
    changed.retain(|(_, delta)| *delta != 0.0 && delta.abs() >= LEAST_SHARE * largest);
    changed.truncate(MOST);
    let line = |(of, delta): (&Function, f64)| {
        let (file, function) = of.clone();
        let by_line = head.get(of).map(|moved| &moved.by_line);
        let most = by_line.and_then(|lines| lines.iter().max_by(|(_, x), (_, y)| x.total_cmp(y)));
        let line = most.and_then(|(line, _)| *line);
        CiLine { quantity: Quantity::Transfers, function, file, line, delta: Some(delta) }
    };
    changed.into_iter().map(line).collect()
}

fn add(side: &mut BTreeMap<Function, Moved>, reading: &Reading) {
    for site in &reading.sites {
        let Some(code) = reading.code.get(&site.address) else { continue };
        let transfers = reading.per_operation(site.transfers);
        let moved = side.entry((code.file.clone(), code.function.clone())).or_default();
        moved.all += transfers;
        *moved.by_line.entry(code.line).or_default() += transfers;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ci::counted::tests::compared;
    use faultline_record::lens::data::Code;
    use faultline_record::lens::reading::Site;

    /// Transfers of instructions at 1, 2, …, and the line of each.
    fn counted(reading: &mut Reading, functions: &[(&str, u32, u64)]) {
        let site = |(address, (.., transfers)): (u64, &(&str, u32, u64))| Site {
            address,
            transfers: *transfers,
            true_sharing: *transfers,
            false_sharing: 0,
        };
        reading.sites = (1..).zip(functions).map(site).collect();
        let code = |(address, (function, line, _)): (u64, &(&str, u32, u64))| {
            let (function, file) = ((*function).to_owned(), Some("/tree/work.c".to_owned()));
            let (inlined_into, between) = (None, Vec::new());
            (address, Code { function, offset: 0, inlined_into, between, file, line: Some(*line), own: None })
        };
        reading.code = (1..).zip(functions).map(code).collect();
    }

    #[test]
    fn functions_are_compared_though_their_lines_moved() {
        let mut record = compared(&[[[1, 1], [1, 1]]; 2], 900);
        for (index, attempt) in record.attempts.iter_mut().enumerate() {
            let reading = attempt.reading.as_mut().unwrap();
            if index % 2 == 0 {
                counted(reading, &[("stays", 10, 500), ("work", 20, 100), ("went", 30, 80), ("little", 40, 7)]);
            } else {
                counted(reading, &[("stays", 11, 500), ("work", 21, 90), ("work", 22, 210), ("little", 41, 8)]);
            }
        }
        let found = moved_lines(&record);
        let short: Vec<_> = found.iter().map(|one| (one.function.as_str(), one.line, one.delta)).collect();
        assert_eq!(short, [("work", Some(22), Some(200.0)), ("went", None, Some(-80.0))]);
        assert_eq!(found[0].file.as_deref(), Some("/tree/work.c"));
    }
}
