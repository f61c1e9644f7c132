//! Roles of the columns of a table: by their names, otherwise by their contents.

use super::cells::{has_thousands, is_hexadecimal, is_time_of_day, is_version, moment, number, since_1970};
use super::names::{COMMITS, MEASURES, NAMES, SKIPPED, TASKS, TIMES, UNITS, VALUE, VERSIONS};
use crate::text::quoted;
use crate::values;
use faultline_record::direction::Direction;

/// The contents of a column.
#[derive(Debug, Default)]
pub(super) struct Profile {
    /// The header, trimmed.
    pub(super) header: String,
    /// Number of cells that are not blank.
    filled: usize,
    numbers: usize,
    negative: usize,
    moments: usize,
    times_of_day: usize,
    hexadecimal: usize,
    versions: usize,
    /// The last time, and whether all cells so far are seconds or milliseconds since 1970 in order.
    last: Option<i64>,
    is_clock: bool,
    /// True if all cells so far are numbers that rise.
    is_rising: bool,
    /// True if each cell so far is one more than the cell before.
    is_counting: bool,
    latest: Option<f64>,
    /// The first cell that is not blank.
    first: String,
    /// The first cell with a decimal comma, and the first with a point.
    marks: [Option<String>; 2],
    /// Numbers of cells with a comma, and of those whose comma may separate thousands.
    commas: usize,
    thousands: usize,
    /// True if the cells differ.
    varies: bool,
}

impl Profile {
    pub(super) fn new(header: &str) -> Self {
        Profile { header: header.to_owned(), is_clock: true, is_rising: true, is_counting: true, ..Profile::default() }
    }

    /// Adds a cell. `comma`: the decimal mark may be a comma.
    pub(super) fn add(&mut self, cell: &str, comma: bool) {
        if cell.is_empty() {
            return;
        }
        let number = number(cell, comma);
        let clock = since_1970(cell).map(|time| time.0);
        if self.filled == 0 {
            cell.clone_into(&mut self.first);
        }
        self.filled += 1;
        self.varies |= self.first != cell;
        self.numbers += usize::from(number.is_some());
        self.negative += usize::from(number.is_some_and(|number| number < 0.0));
        self.moments += usize::from(moment(cell).is_some());
        self.times_of_day += usize::from(is_time_of_day(cell));
        self.commas += usize::from(number.is_some() && cell.contains(','));
        self.thousands += usize::from(number.is_some() && has_thousands(cell));
        self.hexadecimal += usize::from(is_hexadecimal(cell));
        self.versions += usize::from(is_version(cell));
        self.is_clock &= clock.is_some_and(|clock| self.last.is_none_or(|last| last <= clock));
        self.is_rising &= number.is_some_and(|number| self.latest.is_none_or(|latest| latest < number));
        self.is_counting &= number.is_some_and(|number| self.latest.is_none_or(|latest| latest + 1.0 == number));
        (self.last, self.latest) = (clock, number);
        for (mark, place) in [',', '.'].into_iter().zip(&mut self.marks) {
            if place.is_none() && number.is_some() && cell.contains(mark) {
                *place = Some(cell.to_owned());
            }
        }
    }

    fn all(&self, count: usize) -> bool {
        self.filled > 0 && count == self.filled
    }

    /// True for numbers of rows, whatever their header.
    fn is_row_number(&self) -> bool {
        self.is_counting && self.filled > 2 && self.word() != VALUE && !self.has_unit()
    }

    fn is_text(&self) -> bool {
        self.numbers * 2 < self.filled
    }

    /// The header as compared with known names: in lower case, with blanks.
    fn word(&self) -> String {
        self.header.to_lowercase().replace(['_', '-', '.'], " ")
    }

    fn is_named(&self, names: &[&str]) -> bool {
        names.contains(&self.word().as_str())
    }

    /// True if the header has a unit. A timestamp may have one.
    fn has_unit(&self) -> bool {
        let word = self.word();
        let last = word.rsplit(|c: char| !c.is_alphanumeric()).find(|part| !part.is_empty());
        let is_unit = !name_and_unit(&self.header).1.is_empty() || last.is_some_and(|part| UNITS.contains(&part));
        is_unit && !word.contains("timestamp") && !word.contains("epoch")
    }

    /// The header and the first cell, for messages.
    fn shown(&self) -> String {
        match self.filled {
            0 => format!("{} (blank)", quoted(&self.header)),
            _ => format!("{} ({}…)", quoted(&self.header), quoted(&self.first)),
        }
    }
}

/// The number of a column in each role.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) time: Option<usize>,
    /// Times of day that belong to the dates of `time`.
    pub(super) time_of_day: Option<usize>,
    pub(super) commit: Option<usize>,
    pub(super) name: Option<usize>,
    pub(super) measure: Option<usize>,
    pub(super) unit: Option<usize>,
    pub(super) better: Option<usize>,
    pub(super) tasks: Option<usize>,
    pub(super) boot: Option<usize>,
    pub(super) values: Vec<ValueColumn>,
    /// Columns of differing texts without a role.
    pub(super) texts: Vec<usize>,
}

/// A column of values.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ValueColumn {
    pub(super) column: usize,
    /// The header without its unit.
    pub(super) name: String,
    pub(super) unit: String,
}

impl Columns {
    /// The roles. Fails with one sentence that names the columns.
    pub(super) fn of(columns: &[Profile]) -> Result<Self, String> {
        let mut roles = Columns { time: time(columns)?, ..Columns::default() };
        let named = |names: &[&str]| only(columns, "the columns", |_, column| column.is_named(names));
        roles.time_of_day = time_of_day(columns, roles.time)?;
        roles.commit = commit(columns, &roles)?;
        roles.name = named(NAMES)?;
        roles.measure = named(MEASURES)?;
        if roles.name.is_none() {
            roles.name = roles.measure.take();
        }
        [roles.unit, roles.better, roles.tasks, roles.boot] =
            [named(&["unit", "units"])?, named(&["better"])?, named(TASKS)?, named(&["boot"])?];
        for (place, column) in columns.iter().enumerate() {
            if roles.has(place) || column.is_named(SKIPPED) || column.is_named(VERSIONS) || column.is_row_number() {
                continue;
            }
            if column.word() == VALUE || (column.filled > 0 && !column.is_text()) {
                roles.values.push(value_column(place, column)?);
            } else if column.varies {
                roles.texts.push(place);
            }
        }
        roles.check_values(columns)?;
        Ok(roles)
    }

    fn has(&self, place: usize) -> bool {
        self.keys().contains(&place) || [self.unit, self.better, self.boot].contains(&Some(place))
    }

    /// The columns that identify a row's time, commit and series.
    pub(super) fn keys(&self) -> Vec<usize> {
        let keys = [self.time, self.time_of_day, self.commit, self.name, self.measure, self.tasks];
        keys.into_iter().flatten().collect()
    }

    fn check_values(&self, columns: &[Profile]) -> Result<(), String> {
        let twice = self.values.iter().find_map(|one| {
            let header = |other: &&ValueColumn| columns[other.column].header == columns[one.column].header;
            (self.values.iter().filter(header).count() > 1).then(|| &columns[one.column].header)
        });
        if let Some(header) = twice {
            return Err(format!("two columns of values are named {}", quoted(header)));
        }
        if self.values.is_empty() {
            return Err(format!("no column holds values: {}", listed(columns.iter().map(Profile::shown), ", ")));
        }
        if self.unit.is_some() && self.values.len() > 1 {
            let names = listed(self.values.iter().map(|value| quoted(&columns[value.column].header)), ", ");
            return Err(format!("a column of units beside several columns of values: {names}"));
        }
        Ok(())
    }
}

/// The first names of a list.
pub(super) fn listed(names: impl Iterator<Item = String>, separator: &str) -> String {
    const SHOWN: usize = 6;
    let names: Vec<String> = names.collect();
    let more = if names.len() > SHOWN { format!("{separator}{} more", names.len() - SHOWN) } else { String::new() };
    names[..names.len().min(SHOWN)].join(separator) + &more
}

/// The only column that fits, if any. Fails if several do.
fn only(columns: &[Profile], what: &str, fits: impl Fn(usize, &Profile) -> bool) -> Result<Option<usize>, String> {
    let fitting: Vec<usize> = (0..columns.len()).filter(|&place| fits(place, &columns[place])).collect();
    match fitting[..] {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        _ => {
            let names = listed(fitting.iter().map(|&place| columns[place].shown()), " and ");
            Err(format!("{what} {names} have the same meaning"))
        }
    }
}

/// The column of times. A column `time` of other numbers holds values: durations.
fn time(columns: &[Profile]) -> Result<Option<usize>, String> {
    let named: Vec<&Profile> = columns.iter().filter(|column| column.is_named(TIMES)).collect();
    let is_duration = |column: &Profile| {
        matches!(column.word().as_str(), "time" | "times") && column.all(column.numbers) && column.moments == 0
    };
    if let [one] = named[..]
        && is_duration(one)
        && one.is_rising
        && one.filled > 2
    {
        return Err(format!("the column {} may hold an order or durations", one.shown()));
    }
    let by_name = only(columns, "the columns", |_, column| {
        column.is_named(TIMES) && !is_duration(column) && (named.len() == 1 || column.moments > 0)
    })?;
    if by_name.is_some() {
        return Ok(by_name);
    }
    let by_content = only(columns, "the columns of times", |place, column| {
        let others = [COMMITS, VERSIONS, NAMES, TASKS, MEASURES, &[VALUE][..], SKIPPED];
        let is_other = others.iter().any(|names| column.is_named(names));
        let is_clock = place == 0 && column.filled > 1 && column.is_clock && column.varies && !column.has_unit();
        !is_other && column.all(column.moments) && (column.numbers == 0 || is_clock)
    })?;
    if let Some(column) = by_content.map(|place| &columns[place])
        && column.numbers > 0
        && !column.is_rising
    {
        return Err(format!("the column {} may hold times or values", column.shown()));
    }
    Ok(by_content)
}

/// The column of times of day beside the dates. Fails if another column that is named as a time
/// holds neither times nor durations.
fn time_of_day(columns: &[Profile], time: Option<usize>) -> Result<Option<usize>, String> {
    let is_other = |place: usize, column: &Profile| {
        time != Some(place) && column.is_named(TIMES) && column.moments == 0 && column.is_text()
    };
    let found = only(columns, "the columns", is_other)?;
    match found.map(|place| &columns[place]) {
        Some(column) if time.is_none() || !column.all(column.times_of_day) => {
            Err(format!("the column {} holds neither times nor durations", column.shown()))
        }
        _ => Ok(found),
    }
}

/// The column of commits or versions.
fn commit(columns: &[Profile], roles: &Columns) -> Result<Option<usize>, String> {
    for names in [COMMITS, VERSIONS] {
        if let Some(by_name) = only(columns, "the columns", |_, column| column.is_named(names))? {
            return Ok(Some(by_name));
        }
    }
    only(columns, "the columns of commits or versions", |place, column| {
        let is_other = [NAMES, MEASURES, &[VALUE][..], SKIPPED].iter().any(|names| column.is_named(names));
        let fits = column.all(column.hexadecimal) || column.all(column.versions);
        roles.time != Some(place) && !is_other && fits && column.numbers < column.filled && column.varies
    })
}

/// A column of values with its unit. Fails if decimal commas and points occur, or if all commas
/// may separate thousands.
fn value_column(place: usize, column: &Profile) -> Result<ValueColumn, String> {
    if let [Some(comma), Some(point)] = &column.marks {
        let header = quoted(&column.header);
        return Err(format!(
            "the column {header} has decimal commas and points: {} and {}",
            quoted(comma),
            quoted(point)
        ));
    }
    if let Some(comma) = column.marks[0].as_ref().filter(|_| column.commas == column.thousands) {
        return Err(format!(
            "the column {} has decimal commas or thousands separators: {}; write {} or {}",
            quoted(&column.header),
            quoted(comma),
            quoted(&comma.replace(',', "")),
            quoted(&comma.replace(',', "."))
        ));
    }
    let (name, unit) = name_and_unit(&column.header);
    // A difference of times is no time.
    let is_difference = column.negative > 0 && values::direction_of_unit(unit) == Some(Direction::Lower);
    let unit = if is_difference { "" } else { unit };
    Ok(ValueColumn { column: place, name: name.to_owned(), unit: unit.to_owned() })
}

/// Separates a unit from a header: `rate [MB/s]`, `rate (MB/s)`, `exec_ms`. Only known units count.
fn name_and_unit(header: &str) -> (&str, &str) {
    let is_unit = |unit: &str| values::direction_of_unit(unit).is_some() || matches!(unit, "B" | "KiB" | "MiB" | "GiB");
    if is_unit(header) {
        return (header, header);
    }
    for (open, close) in [('(', ')'), ('[', ']')] {
        let parts = header.strip_suffix(close).and_then(|rest| rest.rsplit_once(open));
        if let Some((name, unit)) = parts.filter(|(name, unit)| is_unit(unit) && !name.trim().is_empty()) {
            return (name.trim_end(), unit);
        }
    }
    let last = header.rsplit_once(['_', ' ']).filter(|(name, _)| !name.to_lowercase().ends_with("per"));
    match last {
        Some((_, unit)) if matches!(unit, "ms" | "us" | "µs" | "ns" | "seconds" | "milliseconds") => (header, unit),
        _ => (header, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(headers: &[&str], rows: &[&[&str]]) -> Result<Columns, String> {
        let mut profiles: Vec<Profile> = headers.iter().map(|header| Profile::new(header)).collect();
        for row in rows {
            profiles.iter_mut().zip(*row).for_each(|(profile, cell)| profile.add(cell, true));
        }
        Columns::of(&profiles)
    }

    /// The roles of a table of two rows.
    fn roles(headers: &[&str], first: &[&str], second: &[&str]) -> Columns {
        columns(headers, &[first, second]).unwrap()
    }

    #[test]
    fn names_decide_first() {
        let found = roles(&["Commit Hash", "Date", "x"], &["12", "2026-01-01", "1"], &["13", "2026-01-02", "2"]);
        assert_eq!((found.commit, found.time, found.values.len()), (Some(0), Some(1), 1));
        let found = roles(&["commit", "time"], &["abc", "1.5"], &["abd", "1.25"]);
        assert_eq!((found.time, found.values[0].column), (None, 1), "durations");
        let found = roles(&["metric", "value"], &["a", "1"], &["b", "1"]);
        assert_eq!((found.name, found.measure), (Some(0), None));
    }

    #[test]
    fn contents_decide_without_names() {
        let found = roles(&["x", "y", "z"], &["1f3a9c2", "2026-01-01", "1"], &["1234567", "2026-01-02", "2"]);
        assert_eq!((found.commit, found.time, found.values[0].column), (Some(0), Some(1), 2));
        let found = roles(&["x", "y"], &["1700000000", "1"], &["1700000060", "1"]);
        assert_eq!(found.time, Some(0));
        let found = roles(&["x", "bytes"], &["v1.9", "1700000000"], &["v1.10", "1700000060"]);
        assert_eq!((found.time, found.commit, found.values[0].column), (None, Some(0), 1));
        for (header, time) in [("elapsed_ns", None), ("size bytes", None), ("x", Some(0)), ("timestamp_s", Some(0))] {
            let found = roles(&[header, "y"], &["1200000000", "1"], &["1200000100", "2"]);
            assert_eq!(found.time, time, "{header}");
        }
        let equal = columns(&["x", "y"], &[&["1200000000", "1"], &["1200000000", "1"], &["1200000100", "2"]]);
        assert_eq!(equal.unwrap_err(), "the column 'x' ('1200000000'…) may hold times or values");
    }

    #[test]
    fn numbers_of_rows_are_no_values() {
        let values = |header, rows: &[&[&str]]| {
            let found = columns(&[header, "x"], rows).unwrap();
            found.values.iter().map(|value| value.column).collect::<Vec<_>>()
        };
        let counted: [&[&str]; 3] = [&["0", "5"], &["1", "4"], &["2", "5"]];
        assert_eq!(values("n", &counted), [1]);
        assert_eq!(values("latency_ms", &counted), [0, 1], "a measure by its unit");
        assert_eq!(values("n", &counted[..2]), [0, 1], "two rows are no count");
        assert_eq!(values("n", &[&["0", "5"], &["1", "4"], &["3", "5"]]), [0, 1]);
    }

    #[test]
    fn units_of_headers() {
        for (header, name, unit) in [
            ("latency (ms)", "latency", "ms"),
            ("rate [MB/s]", "rate", "MB/s"),
            ("exec_ms", "exec_ms", "ms"),
            ("ms", "ms", "ms"),
            ("time (new)", "time (new)", ""),
            ("ops_per_ms", "ops_per_ms", ""),
            ("latency_min", "latency_min", ""),
        ] {
            assert_eq!(name_and_unit(header), (name, unit), "{header}");
        }
        assert_eq!(roles(&["change_ms"], &["-1"], &["1"]).values[0].unit, "");
    }

    #[test]
    fn an_ambiguity_names_the_columns() {
        let error = |headers: &[&str], first: &[&str], second: &[&str]| columns(headers, &[first, second]).unwrap_err();
        let found =
            error(&["date", "when", "x"], &["2026-01-01", "2026-01-02", "1"], &["2026-01-03", "2026-01-04", "1"]);
        assert_eq!(found, "the columns 'date' ('2026-01-01'…) and 'when' ('2026-01-02'…) have the same meaning");
        let found = error(&["a", "b", "x"], &["1f3a9c2", "2f3a9c2", "1"], &["1f3a9c3", "2f3a9c3", "1"]);
        assert!(found.starts_with("the columns of commits or versions 'a' ('1f3a9c2'…) and 'b'"), "{found}");
        let found = error(&["date", "took"], &["2026-01-01", "12ms"], &["2026-01-02", "13ms"]);
        assert_eq!(found, "no column holds values: 'date' ('2026-01-01'…), 'took' ('12ms'…)");
        let found = error(&["x"], &["1,5"], &["2.5"]);
        assert_eq!(found, "the column 'x' has decimal commas and points: '1,5' and '2.5'");
        let found = error(&["x"], &["1,234"], &["987"]);
        let problem = "the column 'x' has decimal commas or thousands separators: '1,234'; write '1234' or '1.234'";
        assert_eq!(found, problem);
        assert!(columns(&["x"], &[&["1,234"], &["0,987"]]).is_ok(), "decimal commas");
        let found = columns(&["time", "x"], &[&["1", "5"], &["2", "5"], &["3", "5"]]).unwrap_err();
        assert_eq!(found, "the column 'time' ('1'…) may hold an order or durations");
    }
}
