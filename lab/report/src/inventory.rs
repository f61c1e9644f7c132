//! Lists of what exists: workloads, imports, and formats of imports.

use crate::figure;
use crate::format::Format;
use crate::sheet::Sheet;
use crate::style::{Style, Tone};
use crate::table::{Column, Form, ResultTable};
use faultline_record::cell::TaskMode;
use faultline_record::dataset::ImportedLine;
use faultline_record::describe::{Style as WorkloadStyle, VariantInfo, WorkloadInfo};
use serde::Serialize;

/// The imports. JSON has the lines unchanged.
pub fn imported(lines: &[ImportedLine], format: Format, style: &Style) -> String {
    type Import<'a> = Column<&'a ImportedLine>;
    let columns = vec![
        Import::left("name", |line, _| line.name.clone()).csv_as_shown("name"),
        Import::left("format", |line, _| line.source.clone()).csv_as_shown("format"),
        Import::right("imported", |line, _| figure::date_time(line.imported))
            .csv("imported_utc", |line| figure::iso_time(line.imported)),
        Import::right("benchmarks", |line, _| line.series.to_string()).csv_as_shown("benchmarks"),
        Import::right("runs", |line, _| line.points.to_string()).csv_as_shown("runs"),
    ];
    match format {
        Format::Table if lines.is_empty() => "Nothing is imported yet.\n".to_owned(),
        _ => ResultTable::new(columns, lines).in_format(format, style, lines),
    }
}

/// A format of another tool, with texts for users.
#[derive(Debug, Clone, Serialize)]
pub struct ImportFormat {
    /// The name in arguments.
    pub name: &'static str,
    /// The files.
    pub files: &'static str,
    /// The parts that are read.
    pub read: &'static str,
    /// The parts that are written and lost; empty if it is only read.
    pub written: &'static str,
}

/// The formats of imports.
pub fn import_formats(formats: &[ImportFormat], format: Format, style: &Style) -> String {
    type Described<'a> = Column<&'a ImportFormat>;
    let columns = vec![
        Described::left("name", |format, _| format.name.to_owned()).csv_as_shown("name"),
        Described::left("files", |format, _| format.files.to_owned()).csv_as_shown("files"),
        Described::left("read", |format, _| format.read.to_owned()).csv_as_shown("read"),
        Described::left("written", |format, _| format.written.to_owned()).csv_as_shown("written"),
    ];
    ResultTable::new(columns, formats).in_format(format, style, formats)
}

/// The workloads, one line per variant. JSON has the descriptions unchanged.
pub fn workloads(infos: &[WorkloadInfo], format: Format, style: &Style) -> String {
    match format {
        Format::Table => by_workload(infos, style),
        _ => variants(infos).in_format(format, style, infos),
    }
}

/// A variant with its workload.
type Row<'a> = (&'a WorkloadInfo, &'a VariantInfo);

fn variants(infos: &[WorkloadInfo]) -> ResultTable<Row<'_>> {
    ResultTable::new(columns(), infos.iter().flat_map(|info| info.variants.iter().map(move |variant| (info, variant))))
}

type VariantColumn<'a> = Column<Row<'a>>;

/// In text, the properties of a workload are above its variants.
fn columns<'a>() -> Vec<VariantColumn<'a>> {
    const MARKDOWN: &[Form] = &[Form::Markdown];
    vec![
        VariantColumn::left("workload", |(info, _), _| info.name.clone()).on(MARKDOWN).csv_as_shown("workload"),
        VariantColumn::left("variant", |(_, variant), _| variant.name.clone()).indented(2).csv_as_shown("variant"),
        VariantColumn::left("tasks are", |(_, variant), _| modes(&variant.modes, " or "))
            .csv("modes", |(_, variant)| modes(&variant.modes, ";")),
        VariantColumn::csv_only("operation", |(info, _)| info.operation.clone()),
        VariantColumn::left("unit", |(info, _), _| info.unit.clone()).on(MARKDOWN).csv_as_shown("unit"),
        VariantColumn::left("better", |(info, _), _| info.direction.word().to_owned())
            .on(MARKDOWN)
            .csv_as_shown("direction"),
        VariantColumn::csv_only("style", |(info, _)| style_word(info.style).to_owned()),
        VariantColumn::csv_only("shortest_window_ms", |(info, _)| info.window_ms.to_string()),
        VariantColumn::csv_only("size_default", |(info, _)| {
            info.size.as_ref().map_or_else(String::new, |(size, _)| size.to_string())
        }),
        VariantColumn::csv_only("size_meaning", |(info, _)| {
            info.size.as_ref().map_or_else(String::new, |(_, text)| text.clone())
        }),
        VariantColumn::csv_only("summary", |(info, _)| info.summary.clone()),
        VariantColumn::left("what it does", |(_, variant), _| variant.text.clone()).csv_as_shown("variant_summary"),
    ]
}

fn style_word(style: WorkloadStyle) -> &'static str {
    match style {
        WorkloadStyle::Loop => "loop",
        WorkloadStyle::Once => "once",
    }
}

fn by_workload(infos: &[WorkloadInfo], style: &Style) -> String {
    let mut sheet = Sheet::new(style);
    for info in infos {
        sheet.space();
        let (dash, dot) = (style.signs().dash, style.signs().dot);
        sheet.titled(&info.name, &format!(" {dash} {}", info.summary));
        let mut about =
            format!("one operation: {} {dot} {}, {} is better", info.operation, info.unit, info.direction.word());
        if let Some((size, meaning)) = &info.size {
            about.push_str(&format!(" {dot} --size {size}: {meaning}"));
        }
        sheet.paragraph(Some(Tone::Quiet), "  ", &about);
        sheet.text.push_str(&variants(std::slice::from_ref(info)).text(style));
    }
    sheet.text
}

fn modes(modes: &[TaskMode], between: &str) -> String {
    modes.iter().map(|mode| mode.word()).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::time::UnixMillis;

    #[test]
    fn an_import_has_its_format_time_and_size() {
        let line = ImportedLine {
            name: "nightly".to_owned(),
            source: "asv".to_owned(),
            imported: UnixMillis(1_560_531_834_000),
            series: 3,
            points: 40,
        };
        let csv = imported(&[line], Format::Csv, &Style::PLAIN);
        assert_eq!(csv, "name,format,imported_utc,benchmarks,runs\nnightly,asv,2019-06-14T17:03:54.000Z,3,40\n");
        assert_eq!(imported(&[], Format::Table, &Style::PLAIN), "Nothing is imported yet.\n");
    }
}
