//! The field tables of docs/FORMATS.md, generated from the types and their comments. With
//! `INSTA_UPDATE=always` the test writes them.

use faultline_lens_format::RawReport;
use faultline_record::dataset::Dataset;
use faultline_record::lens::reading::Reading;
use faultline_stats::comparison::Comparison;
use faultline_stats::summary::RunSummary;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use std::{env, fs};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/FORMATS.md");

/// The most alternatives that a table lists; of more, it only says by which field they differ.
const LISTED: usize = 14;

/// Types by name.
type Types = Map<String, Value>;

/// The tables of a format.
struct Tables {
    /// Marker in the file.
    marker: &'static str,
    /// The types of the format.
    types: fn() -> Types,
    /// The types with a table.
    shown: &'static [&'static str],
}

const TABLES: [Tables; 6] = [
    Tables { marker: "run", types: types::<RunSummary>, shown: &["RunSummary", "Curve", "Point"] },
    Tables { marker: "report", types: types::<RawReport>, shown: &["RawReport", "RawCounts", "RawLine", "RawSamples"] },
    Tables { marker: "reading", types: types::<Reading>, shown: &["Reading", "Line"] },
    Tables { marker: "lens", types: types::<RunSummary>, shown: &["LensSummary", "LensCurve", "LensPoint"] },
    Tables { marker: "dataset", types: types::<Dataset>, shown: &["Dataset", "Series", "DataPoint"] },
    Tables { marker: "comparison", types: types::<Comparison>, shown: &["Comparison", "ComparedWorkload"] },
];

/// A type with all types that it uses.
fn types<T: JsonSchema>() -> Types {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.subschema_for::<T>();
    generator.take_definitions(true)
}

/// The tables of types.
fn tables(types: &Types, shown: &[&str]) -> String {
    let mut text = String::new();
    for name in shown {
        let of = &types.get(*name).unwrap_or_else(|| panic!("no type {name} among {:?}", types.keys()));
        text.push_str(&format!("\n**{name}**: {}\n\n| field | type | meaning |\n|---|---|---|\n", meaning(of)));
        for (field, schema) in of["properties"].as_object().unwrap() {
            text.push_str(&format!("| `{field}` | {} | {} |\n", kind(schema, types, shown), meaning(schema)));
        }
    }
    text
}

/// The first paragraph of a comment, without links, for readers of JSON.
fn meaning(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    let text = text.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    text.replace("[`", "`").replace("`]", "`").replace("`None`", "`null`").replace('|', "\\|")
}

/// The type of a field in words.
fn kind(schema: &Value, types: &Types, shown: &[&str]) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return if shown.contains(&name) { format!("**{name}**") } else { kind(&types[name], types, shown) };
    }
    if let Some(words) = words(schema) {
        return words;
    }
    if let Some(all) = schema["anyOf"].as_array().or(schema["type"].as_array()) {
        let mut kinds: Vec<String> = all.iter().map(|one| kind(one, types, shown)).collect();
        kinds.sort_by_key(|kind| kind != "null");
        return kinds.join(" or ");
    }
    match schema["type"].as_str().or(schema.as_str()) {
        Some("array") => match schema["prefixItems"].as_array().and_then(|items| items.first()) {
            Some(first) => format!("pair of {}", kind(first, types, shown)),
            None => format!("array of {}", kind(&schema["items"], types, shown)),
        },
        Some("object") => match (schema["properties"].as_object(), &schema["additionalProperties"]) {
            (Some(fields), _) => format!("object: {}", quoted(fields.keys().map(String::as_str))),
            (None, of @ Value::Object(_)) => format!("map to {}", kind(of, types, shown)),
            _ => "object".to_owned(),
        },
        Some(name) => name.to_owned(),
        None => "any".to_owned(),
    }
}

/// The words of an enumeration, those of the field that names the alternative, or the fields of
/// which there is one.
fn words(schema: &Value) -> Option<String> {
    let all = schema["oneOf"].as_array().or(schema["enum"].as_array())?;
    let word = |one: &'_ Value| one.get("const").unwrap_or(one).as_str().map(str::to_owned);
    if let Some(words) = all.iter().map(word).collect::<Option<Vec<_>>>() {
        return Some(quoted(words.iter().map(String::as_str)));
    }
    let only = |one: &Value| {
        let fields = one["properties"].as_object().filter(|fields| fields.len() == 1)?;
        fields.values().all(|field| field["const"].is_null()).then(|| fields.keys().next().cloned())?
    };
    if let Some(fields) = all.iter().map(only).collect::<Option<Vec<_>>>() {
        return Some(format!("object: one of {}", quoted(fields.iter().map(String::as_str))));
    }
    let fields = all.first()?["properties"].as_object()?;
    let tag = fields.keys().find(|tag| all.iter().all(|one| one["properties"][*tag]["const"].is_string()))?;
    if all.len() > LISTED {
        return Some(format!("object with a `{tag}`"));
    }
    let words = all.iter().filter_map(|one| one["properties"][tag]["const"].as_str());
    Some(format!("object with the `{tag}` {}", quoted(words)))
}

fn quoted<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_field_tables_are_those_of_the_types() {
    let before = fs::read_to_string(FILE).unwrap();
    let mut after = before.clone();
    for Tables { marker, types, shown } in TABLES {
        let (begin, end) = (format!("<!-- fields: {marker} -->\n"), format!("\n<!-- end: {marker} -->"));
        let from = after.find(&begin).unwrap_or_else(|| panic!("no marker {begin}")) + begin.len();
        let to = from + after[from..].find(&end).unwrap_or_else(|| panic!("no marker {end}"));
        after.replace_range(from..to, &tables(&types(), shown));
    }
    if env::var("INSTA_UPDATE").as_deref() == Ok("always") {
        fs::write(FILE, &after).unwrap();
    } else {
        assert!(before == after, "docs/FORMATS.md is out of date; INSTA_UPDATE=always cargo test writes it");
    }
}
