//! The workloads that can be run, with their variants.

use crate::format::Format;
use crate::grid::{Grid, Side, csv};
use crate::style::{Style, Tone};
use faultline_model::cell::TaskMode;
use faultline_model::describe::{Style as WorkloadStyle, VariantInfo, WorkloadInfo};

/// The workloads, one line per variant. JSON is the descriptions as they are.
pub fn workloads(infos: &[WorkloadInfo], format: Format, style: &Style) -> String {
    match format {
        Format::Table => text(infos, style),
        Format::Markdown => markdown(infos),
        Format::Json => crate::run::json(infos),
        Format::Csv => csv(
            [
                "workload",
                "variant",
                "modes",
                "operation",
                "unit",
                "direction",
                "style",
                "shortest_window_ms",
                "size_default",
                "size_meaning",
                "summary",
                "variant_summary",
            ],
            infos.iter().flat_map(|info| info.variants.iter().map(move |variant| record(info, variant))),
        ),
    }
}

fn text(infos: &[WorkloadInfo], style: &Style) -> String {
    let mut text = String::new();
    for info in infos {
        if !text.is_empty() {
            text.push('\n');
        }
        let dash = style.signs().dash;
        let dot = style.signs().dot;
        let head = format!("{} {dash} {}", style.paint(Tone::Title, &info.name), info.summary);
        let mut about =
            format!("  one operation: {} {dot} {}, {} is better", info.operation, info.unit, info.direction.word());
        if let Some((size, meaning)) = &info.size {
            about.push_str(&format!(" {dot} --size {size}: {meaning}"));
        }
        text.push_str(&format!("{head}\n{}\n", style.paint(Tone::Quiet, &about)));
        let mut grid = Grid::new(&[("  variant", Side::Left), ("tasks are", Side::Left), ("what it does", Side::Left)]);
        for variant in &info.variants {
            grid.row(vec![format!("  {}", variant.name), modes(&variant.modes, " or "), variant.text.clone()]);
        }
        text.push_str(&grid.text(style));
    }
    text
}

fn markdown(infos: &[WorkloadInfo]) -> String {
    let mut grid = Grid::new(&[
        ("workload", Side::Left),
        ("variant", Side::Left),
        ("tasks are", Side::Left),
        ("unit", Side::Left),
        ("better", Side::Left),
        ("what it does", Side::Left),
    ]);
    for info in infos {
        for variant in &info.variants {
            grid.row(vec![
                info.name.clone(),
                variant.name.clone(),
                modes(&variant.modes, " or "),
                info.unit.clone(),
                info.direction.word().to_owned(),
                variant.text.clone(),
            ]);
        }
    }
    grid.markdown()
}

fn record(info: &WorkloadInfo, variant: &VariantInfo) -> [String; 12] {
    let (size, meaning) = info.size.clone().map_or_else(Default::default, |(size, text)| (size.to_string(), text));
    [
        info.name.clone(),
        variant.name.clone(),
        modes(&variant.modes, ";"),
        info.operation.clone(),
        info.unit.clone(),
        info.direction.word().to_owned(),
        match info.style {
            WorkloadStyle::Loop => "loop",
            WorkloadStyle::Once => "once",
        }
        .to_owned(),
        info.window_ms.to_string(),
        size,
        meaning,
        info.summary.clone(),
        variant.text.clone(),
    ]
}

fn modes(modes: &[TaskMode], between: &str) -> String {
    modes.iter().map(|mode| mode.word()).collect::<Vec<_>>().join(between)
}
