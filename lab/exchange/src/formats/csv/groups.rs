//! Rows of one time, commit and benchmark: the column that tells them apart, if any.

use super::columns::{Columns, Profile, listed};
use super::{Table, cells, wrong};
use crate::error::ReadError;
use crate::text::quoted;
use csv::StringRecord;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The column of texts that tells apart rows of one time, commit and benchmark. Fails if several
/// do, or one besides the benchmarks' names, or one with a text of its own in most rows.
pub(super) fn name_by_content(
    table: &Table<'_>,
    columns: &Columns,
    profiles: &[Profile],
) -> Result<Option<usize>, ReadError> {
    if columns.texts.is_empty() {
        return Ok(None);
    }
    let keys = columns.keys();
    let mut groups: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    let (mut telling, mut rows) = (BTreeSet::new(), 0);
    let mut words = vec![HashSet::new(); columns.texts.len()];
    table.rows(|row, _| {
        let cells = |places: &[usize]| places.iter().map(|&place| row[place].to_owned()).collect::<Vec<String>>();
        let texts = cells(&columns.texts);
        rows += 1;
        words.iter_mut().zip(&texts).for_each(|(words, text)| _ = words.insert(text.clone()));
        let first = groups.entry(cells(&keys)).or_insert_with(|| texts.clone());
        telling.extend((0..texts.len()).filter(|&i| first[i] != texts[i]));
        Ok(())
    })?;
    // A text of each row's own may be a remark, if another column names the benchmarks.
    let common: Vec<usize> = telling.iter().copied().filter(|&i| words[i].len() * 2 <= rows).collect();
    let is_history = columns.time.is_some() || columns.commit.is_some();
    let places = |found: &[usize]| found.iter().map(|&i| columns.texts[i]).collect::<Vec<usize>>();
    let all: Vec<usize> = telling.into_iter().collect();
    let found = places(if common.is_empty() { &all } else { &common });
    match found[..] {
        [] => Ok(None),
        [one] if columns.name.is_none() && !(common.is_empty() && is_history) => Ok(Some(one)),
        _ => {
            let places = columns.name.iter().chain(&found);
            let names = listed(places.map(|&place| quoted(&profiles[place].header)), ", ");
            let of = if is_history { " of one time and commit" } else { "" };
            let plural = if columns.name.is_some() || found.len() > 1 { "s" } else { "" };
            Err(wrong(table.file, format!("rows{of} differ in the column{plural} {names}")))
        }
    }
}

/// Most values of a parameter.
const MOST: usize = 64;

/// Fails if a column of numbers has the same several numbers in each group of rows of one time,
/// commit and benchmark: a parameter, such as a size, rather than a measurement.
pub(super) fn check_parameters(table: &Table<'_>, columns: &Columns, profiles: &[Profile]) -> Result<(), ReadError> {
    let keys = columns.keys();
    if keys.is_empty() || columns.values.len() < 2 {
        return Ok(());
    }
    // Hashes, because most rows of a long history are groups of their own.
    let group = |row: &StringRecord| {
        let mut hasher = DefaultHasher::new();
        keys.iter().for_each(|&place| row[place].hash(&mut hasher));
        hasher.finish()
    };
    let mut sizes: HashMap<u64, u32> = HashMap::new();
    table.rows(|row, _| {
        *sizes.entry(group(row)).or_default() += 1;
        Ok(())
    })?;
    sizes.retain(|_, rows| *rows > 1);
    if sizes.len() < 2 {
        return Ok(());
    }
    let mut groups: HashMap<u64, Vec<Vec<u64>>> = HashMap::new();
    table.rows(|row, _| {
        let key = group(row);
        if sizes.contains_key(&key) {
            let sets = groups.entry(key).or_insert_with(|| vec![Vec::new(); columns.values.len()]);
            for (set, column) in sets.iter_mut().zip(&columns.values) {
                let number = cells::number(&row[column.column], table.has_commas()).map(f64::to_bits);
                if let Some(number) = number
                    && set.len() <= MOST
                    && !set.contains(&number)
                {
                    set.push(number);
                }
            }
        }
        Ok(())
    })?;
    let mut groups: Vec<Vec<Vec<u64>>> = groups.into_values().collect();
    groups.iter_mut().flatten().for_each(|set| set.sort_unstable());
    let is_parameter = |i: usize| {
        let first = &groups[0][i];
        (2..=MOST).contains(&first.len()) && groups.iter().all(|sets| sets[i] == *first)
    };
    match (0..columns.values.len()).find(|&i| is_parameter(i)) {
        None => Ok(()),
        Some(i) => {
            let header = quoted(&profiles[columns.values[i].column].header);
            Err(wrong(
                table.file,
                format!(
                    "rows of one time, commit and benchmark have the same numbers in the column {header} each time; \
                     add it to the benchmarks' names if it is a parameter"
                ),
            ))
        }
    }
}
