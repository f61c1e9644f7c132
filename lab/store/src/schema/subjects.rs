//! The step to subjects: creates subjects, and settings by kind of run, from the single settings structure of older versions.
//!
//! It works on JSON as it was before and after this step, not on the model's types, because those may change later.

use rusqlite::{Transaction, params};
use rusqlite_migration::{HookError, HookResult};
use serde_json::{Map, Value, json};

/// Rewrites the settings of every run, and adds its subjects.
pub(super) fn make(transaction: &Transaction<'_>) -> HookResult {
    let mut statement = transaction.prepare("SELECT id, settings FROM run")?;
    let runs: Vec<(i64, String)> =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    for (run, text) in runs {
        let settings: Map<String, Value> =
            serde_json::from_str(&text).map_err(|error| HookError::Hook(format!("settings of run {run}: {error}")))?;
        for (number, subject) in subjects(&settings).iter().enumerate() {
            transaction.execute(
                "INSERT INTO subject (run_id, number, name, what, setup, machine) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    run,
                    number as i64,
                    subject.name,
                    subject.what.to_string(),
                    subject.setup.to_string(),
                    subject.machine
                ],
            )?;
        }
        let (kind, by_kind) = by_kind(&settings);
        transaction.execute(
            "UPDATE run SET settings = ?2, kind = ?3, suite = ?4, cpus = ?5, machine = ?6 WHERE id = ?1",
            params![
                run,
                by_kind.to_string(),
                kind,
                settings.get("suite").and_then(Value::as_str),
                settings.get("cpus").unwrap_or(&json!([])).to_string(),
                machine_words(transaction, run)?,
            ],
        )?;
    }
    Ok(())
}

struct OldSubject {
    name: String,
    what: Value,
    setup: Value,
    machine: String,
}

/// A comparison's sides, or the one subject of any other run.
fn subjects(settings: &Map<String, Value>) -> Vec<OldSubject> {
    let machine = text(settings, "on").unwrap_or("host").to_owned();
    if let Some(comparison) = object(settings, "comparison") {
        return ["a", "b"]
            .into_iter()
            .filter_map(|side| object(comparison, side))
            .map(|side| side_of(side, &machine))
            .collect();
    }
    let subject = object(settings, "lens").and_then(|lens| object(lens, "subject"));
    let what = subject.map_or_else(|| what(&Map::new(), &machine), lens_subject);
    vec![OldSubject { name: machine.clone(), what, setup: json!({}), machine }]
}

fn side_of(side: &Map<String, Value>, machine: &str) -> OldSubject {
    let nothing = Map::new();
    let setup = object(side, "setup").unwrap_or(&nothing);
    let own = text(setup, "on").unwrap_or(machine);
    let machine = match text(setup, "kernel") {
        Some(kernel) if own.starts_with("qemu") => with_kernel(own, kernel),
        _ => own.to_owned(),
    };
    let name = text(side, "name").unwrap_or_default().to_owned();
    OldSubject { name, what: what(setup, &machine), setup: Value::Object(setup.clone()), machine }
}

/// The machine with its kernel replaced.
fn with_kernel(machine: &str, kernel: &str) -> String {
    let (name, keys) = machine.split_once(':').unwrap_or((machine, ""));
    let others = keys.split(',').filter(|part| !part.is_empty() && !part.starts_with("kernel="));
    let parts: Vec<String> = others.map(str::to_owned).chain([format!("kernel={kernel}")]).collect();
    format!("{name}:{}", parts.join(","))
}

/// What is measured: a command, the kernel of a guest, or the system of a host.
fn what(setup: &Map<String, Value>, machine: &str) -> Value {
    if let Some(command) =
        setup.get("command").filter(|command| command.as_array().is_some_and(|words| !words.is_empty()))
    {
        return json!({"kind": "program", "argv": command});
    }
    let Some(keys) = machine.strip_prefix("qemu") else { return json!({"kind": "system"}) };
    let value =
        |key: &'static str| keys.trim_start_matches(':').split(',').filter_map(move |part| part.strip_prefix(key));
    let image = value("kernel=").next().unwrap_or_default();
    let command_line = value("append=").collect::<Vec<_>>().join(" ");
    json!({"kind": "kernel", "image": image, "command_line": command_line})
}

/// What a lens run counts; only the key differs.
fn lens_subject(subject: &Map<String, Value>) -> Value {
    let mut renamed = subject.clone();
    let mode = renamed.remove("mode").unwrap_or(json!("kernel"));
    renamed.insert("kind".to_owned(), mode);
    Value::Object(renamed)
}

/// The kind of run, and the settings with what that kind needs.
fn by_kind(settings: &Map<String, Value>) -> (&'static str, Value) {
    let pick = |keys: &[&str]| -> Map<String, Value> {
        keys.iter().map(|&key| (key.to_owned(), settings.get(key).cloned().unwrap_or(Value::Null))).collect()
    };
    let timed = Value::Object(pick(&["suite", "pin", "oversubscribe", "budget_ms", "copies", "tree"]));
    let (kind, mut own) = if let Some(lens) = object(settings, "lens") {
        let mut lens = lens.clone();
        lens.remove("subject");
        ("lens", Value::Object(lens))
    } else if let Some(comparison) = object(settings, "comparison") {
        let part = |key: &str| comparison.get(key).cloned().unwrap_or(Value::Null);
        ("comparison", json!({"timed": timed, "level": part("level"), "precision": part("precision")}))
    } else {
        ("timed", timed)
    };
    own["kind"] = json!(kind);
    let mut all = pick(&["cpus", "repeats", "seed", "limit_ms", "size"]);
    all.insert("kind".to_owned(), own);
    (kind, Value::Object(all))
}

/// Host and kernel of the first session, for the list of runs.
fn machine_words(transaction: &Transaction<'_>, run: i64) -> rusqlite::Result<String> {
    let query = "SELECT facts FROM session_facts WHERE run_id = ?1 AND session = 0 AND subject = 0";
    let facts: Vec<String> =
        transaction.prepare(query)?.query_map([run], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let facts: Value = facts.first().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let known = ["host.name", "kernel.name", "kernel.release"].map(|key| facts.get(key).and_then(Value::as_str));
    Ok(known.into_iter().flatten().collect::<Vec<_>>().join(" "))
}

fn object<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Map<String, Value>> {
    map.get(key)?.as_object()
}

fn text<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    map.get(key)?.as_str()
}
