//! What a workload says of itself: the parser of `faultline-describe 1` (docs/FORMATS.md §2).

use crate::cell::TaskMode;
use crate::direction::Direction;
use serde::{Deserialize, Serialize};

/// First line of the format, up to the workload's name.
const MAGIC: &str = "faultline-describe 1 ";

/// Whether a workload counts over a window, or does its work once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// Counts operations over a window.
    Loop,
    /// Does its work once and measures it.
    Once,
}

/// A variant of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantInfo {
    /// Its name.
    pub name: String,
    /// What a task may be; the first is the default. Never empty.
    pub modes: Vec<TaskMode>,
    /// What it does, one line for people.
    pub text: String,
}

/// A workload as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadInfo {
    /// Its name, also the name of its program.
    pub name: String,
    /// One line for people.
    pub summary: String,
    /// What one operation is, a noun.
    pub operation: String,
    /// Unit of its rate, or of its first measure.
    pub unit: String,
    /// Which way is better.
    pub direction: Direction,
    /// Loop or once.
    pub style: Style,
    /// Shortest window that makes sense, in milliseconds.
    pub window_ms: u64,
    /// Default of `--size` and what it means, where it means anything.
    pub size: Option<(u64, String)>,
    /// Its variants; the first is the default. Never empty.
    pub variants: Vec<VariantInfo>,
}

impl WorkloadInfo {
    /// The variant of that name.
    pub fn variant(&self, name: &str) -> Option<&VariantInfo> {
        self.variants.iter().find(|variant| variant.name == name)
    }
}

/// Why a description could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the description: {problem}")]
pub struct DescribeError {
    /// Line number from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

/// Reads a whole description.
pub fn parse(text: &str) -> Result<WorkloadInfo, DescribeError> {
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    let (number, first) = lines.next().unwrap_or((1, ""));
    let name = first
        .strip_prefix(MAGIC)
        .filter(|name| !name.is_empty())
        .ok_or_else(|| wrong(number, format!("expected '{MAGIC}NAME'")))?;
    let mut draft = Draft::new(name);
    let mut last = number;
    for (number, line) in lines {
        last = number;
        if line == "end" {
            return draft.finish().map_err(|problem| wrong(number, problem));
        }
        draft.line(line).map_err(|problem| wrong(number, problem))?;
    }
    Err(wrong(last, "cut off: no 'end'".to_owned()))
}

fn wrong(line: usize, problem: String) -> DescribeError {
    DescribeError { line, problem }
}

/// A description that is being read: the same fields, not all there yet.
struct Draft {
    name: String,
    summary: Option<String>,
    operation: Option<String>,
    unit: Option<String>,
    direction: Option<Direction>,
    style: Option<Style>,
    window_ms: Option<u64>,
    size: Option<(u64, String)>,
    variants: Vec<VariantInfo>,
}

impl Draft {
    fn new(name: &str) -> Self {
        Draft {
            name: name.to_owned(),
            summary: None,
            operation: None,
            unit: None,
            direction: None,
            style: None,
            window_ms: None,
            size: None,
            variants: Vec::new(),
        }
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let (key, rest) = line.split_once(' ').ok_or_else(|| format!("'{line}' has no value"))?;
        match key {
            "summary" => self.summary = Some(rest.to_owned()),
            "operation" => self.operation = Some(rest.to_owned()),
            "unit" => self.unit = Some(rest.to_owned()),
            "direction" => {
                self.direction = Some(Direction::from_word(rest).ok_or_else(|| format!("unknown direction '{rest}'"))?);
            }
            "style" => {
                self.style = Some(match rest {
                    "loop" => Style::Loop,
                    "once" => Style::Once,
                    _ => return Err(format!("unknown style '{rest}'")),
                });
            }
            "window_ms" => self.window_ms = Some(number(rest)?),
            "size" => {
                let (value, text) = rest.split_once(' ').unwrap_or((rest, ""));
                self.size = Some((number(value)?, text.to_owned()));
            }
            "variant" => self.variants.push(variant(rest)?),
            _ => return Err(format!("unknown key '{key}'")),
        }
        Ok(())
    }

    fn finish(self) -> Result<WorkloadInfo, String> {
        if self.variants.is_empty() {
            return Err("no variant".to_owned());
        }
        Ok(WorkloadInfo {
            name: self.name,
            summary: self.summary.ok_or("no summary")?,
            operation: self.operation.ok_or("no operation")?,
            unit: self.unit.ok_or("no unit")?,
            direction: self.direction.ok_or("no direction")?,
            style: self.style.ok_or("no style")?,
            window_ms: self.window_ms.ok_or("no window_ms")?,
            size: self.size,
            variants: self.variants,
        })
    }
}

fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("'{word}' is not a number"))
}

fn variant(rest: &str) -> Result<VariantInfo, String> {
    let mut words = rest.splitn(3, ' ');
    let name = words.next().filter(|name| !name.is_empty()).ok_or("a variant without a name")?;
    let modes = words
        .next()
        .ok_or("a variant without a mode")?
        .split(',')
        .map(|word| TaskMode::from_word(word).ok_or_else(|| format!("unknown mode '{word}'")))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(VariantInfo { name: name.to_owned(), modes, text: words.next().unwrap_or("").to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "faultline-describe 1 zero_fill\nsummary first touch of a page\noperation fault\nunit fault/s\n\
        direction higher\nstyle loop\nwindow_ms 100\nsize 4194304 bytes mapped\nvariant base process,thread base pages\n\
        variant huge process,thread huge pages\nend\n";

    #[test]
    fn a_description_is_read_whole() {
        let info = parse(SAMPLE).unwrap();
        assert_eq!(info.name, "zero_fill");
        assert_eq!(info.style, Style::Loop);
        assert_eq!(info.size, Some((4_194_304, "bytes mapped".to_owned())));
        assert_eq!(info.variant("huge").unwrap().modes, [TaskMode::Process, TaskMode::Thread]);
    }

    #[test]
    fn every_cut_is_noticed() {
        for end in 0..SAMPLE.len() - 4 {
            assert!(parse(&SAMPLE[..end]).is_err(), "cut at {end} was taken for whole");
        }
    }

    #[test]
    fn an_error_names_its_line() {
        let error = parse(&SAMPLE.replace("style loop", "style waltz")).unwrap_err();
        assert_eq!(error.to_string(), "line 6 of the description: unknown style 'waltz'");
    }
}
