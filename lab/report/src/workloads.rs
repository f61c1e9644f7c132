//! The workloads that can be run, with their variants.

use crate::format::Format;
use crate::json::json;
use crate::sheet::Sheet;
use crate::style::{Style, Tone};
use crate::table::{self, Form, Table};
use faultline_model::cell::TaskMode;
use faultline_model::describe::{Style as WorkloadStyle, VariantInfo, WorkloadInfo};

/// The workloads, one line per variant. JSON is the descriptions as they are.
pub fn workloads(infos: &[WorkloadInfo], format: Format, style: &Style) -> String {
    match format {
        Format::Table => text(infos, style),
        Format::Markdown => table(infos).markdown(style.signs()),
        Format::Json => json(infos),
        Format::Csv => table(infos).csv(),
    }
}

/// A variant with its workload.
type Row<'a> = (&'a WorkloadInfo, &'a VariantInfo);

fn table(infos: &[WorkloadInfo]) -> Table<Row<'_>> {
    Table::new(columns(), infos.iter().flat_map(|info| info.variants.iter().map(move |variant| (info, variant))))
}

type Column<'a> = table::Column<Row<'a>>;

/// In text, what holds for a whole workload stands above its variants.
fn columns<'a>() -> Vec<Column<'a>> {
    const MARKDOWN: &[Form] = &[Form::Markdown];
    vec![
        Column::left("workload", |(info, _), _| info.name.clone())
            .on(MARKDOWN)
            .csv("workload", |(info, _)| info.name.clone()),
        Column::left("variant", |(_, variant), _| variant.name.clone())
            .indented(2)
            .csv("variant", |(_, variant)| variant.name.clone()),
        Column::left("tasks are", |(_, variant), _| modes(&variant.modes, " or "))
            .csv("modes", |(_, variant)| modes(&variant.modes, ";")),
        Column::csv_only("operation", |(info, _)| info.operation.clone()),
        Column::left("unit", |(info, _), _| info.unit.clone()).on(MARKDOWN).csv("unit", |(info, _)| info.unit.clone()),
        Column::left("better", |(info, _), _| info.direction.word().to_owned())
            .on(MARKDOWN)
            .csv("direction", |(info, _)| info.direction.word().to_owned()),
        Column::csv_only("style", |(info, _)| style_word(info.style).to_owned()),
        Column::csv_only("shortest_window_ms", |(info, _)| info.window_ms.to_string()),
        Column::csv_only("size_default", |(info, _)| {
            info.size.as_ref().map_or_else(String::new, |(size, _)| size.to_string())
        }),
        Column::csv_only("size_meaning", |(info, _)| {
            info.size.as_ref().map_or_else(String::new, |(_, text)| text.clone())
        }),
        Column::csv_only("summary", |(info, _)| info.summary.clone()),
        Column::left("what it does", |(_, variant), _| variant.text.clone())
            .csv("variant_summary", |(_, variant)| variant.text.clone()),
    ]
}

fn style_word(style: WorkloadStyle) -> &'static str {
    match style {
        WorkloadStyle::Loop => "loop",
        WorkloadStyle::Once => "once",
    }
}

fn text(infos: &[WorkloadInfo], style: &Style) -> String {
    let mut sheet = Sheet::new(style);
    for info in infos {
        if !sheet.text.is_empty() {
            sheet.line("");
        }
        let dash = style.signs().dash;
        let dot = style.signs().dot;
        sheet.titled(&info.name, &format!(" {dash} {}", info.summary));
        let mut about =
            format!("one operation: {} {dot} {}, {} is better", info.operation, info.unit, info.direction.word());
        if let Some((size, meaning)) = &info.size {
            about.push_str(&format!(" {dot} --size {size}: {meaning}"));
        }
        sheet.paragraph(Some(Tone::Quiet), "  ", &about);
        sheet.text.push_str(&table(std::slice::from_ref(info)).text(style));
    }
    sheet.text
}

fn modes(modes: &[TaskMode], between: &str) -> String {
    modes.iter().map(|mode| mode.word()).collect::<Vec<_>>().join(between)
}
