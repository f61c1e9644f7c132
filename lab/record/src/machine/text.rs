//! Notation that the texts of all kinds of machines share: parts between commas, `KEY=VALUE`, sizes
//! and times.

use super::{Accelerator, MachineError, MachineShape};
use std::path::Path;
use std::time::Duration;

/// The key that may be given several times.
pub(super) const APPEND: &str = "append";

/// Default number of CPUs.
const DEFAULT_CPUS: u32 = 4;

/// Values of the keys of a machine's shape.
pub(super) struct ShapeKeys {
    cpus: u32,
    sockets: u32,
    memory_mib: Option<u64>,
}

impl ShapeKeys {
    /// The defaults.
    pub(super) fn new() -> Self {
        ShapeKeys { cpus: DEFAULT_CPUS, sockets: 1, memory_mib: None }
    }

    /// Handles a key. False for a key of another kind.
    pub(super) fn take(&mut self, key: &str, value: &str) -> Result<bool, String> {
        match key {
            "cpus" => self.cpus = number(value)?,
            "sockets" => self.sockets = number(value)?,
            "memory" => self.memory_mib = Some(mebibytes(value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The shape. Fails if it is impossible.
    pub(super) fn shape(&self) -> Result<MachineShape, String> {
        MachineShape::new(self.cpus, self.sockets, self.memory_mib).map_err(|error| with_hint(&error))
    }
}

/// Problem and hint in one text.
pub(super) fn with_hint(error: &MachineError) -> String {
    format!("{}; {}", error.problem, error.hint)
}

/// Key and value of each part. Fails if a part has none, or for a repeated key other than `append`.
pub(super) fn pairs(parts: &[String]) -> Result<Vec<(&str, &str)>, String> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for part in parts {
        let pair = part.split_once('=').filter(|(_, value)| !value.is_empty());
        let (key, value) =
            pair.ok_or_else(|| format!("'{part}' is not KEY=VALUE; write a comma within a value twice"))?;
        if key != APPEND && pairs.iter().any(|(earlier, _)| *earlier == key) {
            return Err(format!("'{key}' is given twice"));
        }
        pairs.push((key, value));
    }
    Ok(pairs)
}

/// The value of a key with two possible values.
pub(super) fn named<T: Copy>(key: &str, text: &str, known: [T; 2], word: fn(T) -> &'static str) -> Result<T, String> {
    let [one, other] = known.map(word);
    let found = known.into_iter().find(|&value| word(value) == text);
    found.ok_or_else(|| format!("{key}: '{text}' is not {one} or {other}"))
}

/// Parts between commas, without empty ones. Two commas stand for one within a part.
pub(super) fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character == ',' && characters.next_if_eq(&',').is_none() {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(character);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// A value in the notation of a text.
pub(super) fn written(value: &str) -> String {
    value.replace(',', ",,")
}

/// A path in the notation of a text.
pub(super) fn written_path(path: &Path) -> String {
    written(&path.to_string_lossy())
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("'{text}' is not a number"))
}

/// `2G`, `512M`, both binary; a bare number is in MiB, as in QEMU.
fn mebibytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" | "M" | "MiB" => 1,
        "G" | "GiB" => 1024,
        _ => return Err(format!("'{text}' is not a size of memory; write it like 2G or 512M")),
    };
    let number: u64 =
        digits.parse().map_err(|_| format!("'{text}' is not a size of memory; write it like 2G or 512M"))?;
    Ok(number.saturating_mul(factor).min(u64::from(u32::MAX)))
}

/// A time limit above zero.
pub(super) fn limit(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(limit) if !limit.is_zero() => Ok(limit),
        _ => Err(format!("'{text}' is not a limit; write it like 90s or 5m")),
    }
}

/// The accelerator with that word.
pub(super) fn accelerator_named(text: &str) -> Result<Accelerator, String> {
    named("accel", text, [Accelerator::Tcg, Accelerator::Kvm], Accelerator::word)
}

/// The keys of a shape.
pub(super) fn written_shape(shape: &MachineShape) -> String {
    format!("cpus={},sockets={},memory={}M", shape.cpus(), shape.sockets(), shape.memory_mib())
}

/// A time limit: `1m30s`.
pub(super) fn written_limit(limit: Duration) -> String {
    humantime::format_duration(limit).to_string().replace(' ', "")
}
