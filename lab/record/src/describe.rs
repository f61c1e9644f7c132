//! A workload's description of itself: the parser of `faultline-describe 1` (docs/FORMATS.md §2).

use crate::cell::TaskMode;
use crate::direction::Direction;
use crate::role::Role;
use serde::{Deserialize, Serialize};

/// First line of the format, up to the workload's name.
const MAGIC: &str = "faultline-describe 1 ";

/// End of a role's line, if a run may leave the role out.
const OPTIONAL: &str = " optional";

/// Style of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ts_rs::TS)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// Counts operations over a window.
    Loop,
    /// Does its work once and measures it.
    Once,
}

/// A variant of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ts_rs::TS)]
pub struct VariantInfo {
    /// Its name.
    pub name: String,
    /// Kinds of task; the first is the default. Never empty.
    pub modes: Vec<TaskMode>,
    /// Description of the variant, one line for people.
    pub text: String,
    /// The variant's own default number of operations per task under the lens, if it has one; at
    /// least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lens_operations: Option<u64>,
}

/// The variants of a workload in a suite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ts_rs::TS)]
pub struct SuitePart {
    /// The suite's name.
    pub suite: String,
    /// The workload's place in the suite: workloads run in ascending order, equal places by name.
    pub place: u32,
    /// Variants of the workload in the suite, in order; may be empty.
    pub members: Vec<SuiteMember>,
}

/// A variant that belongs to a suite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ts_rs::TS)]
pub struct SuiteMember {
    /// The variant's name.
    pub variant: String,
    /// Kind of task in the suite.
    pub mode: TaskMode,
}

/// Number of copies in memory of the bytes of a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ts_rs::TS)]
#[serde(rename_all = "lowercase")]
pub enum SizeMemory {
    /// One copy for all tasks.
    Once,
    /// One copy for each task.
    Each,
}

/// The sizes that a variant accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ts_rs::TS)]
pub struct SizeRange {
    /// The variant's name.
    pub variant: String,
    /// The smallest size.
    pub least: u64,
    /// The largest size.
    pub most: u64,
    /// Number of copies of that many bytes in memory; `None` if they are not in memory at the same
    /// time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<SizeMemory>,
}

/// A workload's description of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ts_rs::TS)]
pub struct WorkloadInfo {
    /// The workload's name, also the name of its program.
    pub name: String,
    /// One line for people.
    pub summary: String,
    /// One operation, as a noun.
    pub operation: String,
    /// Unit of the rate, or of the first measure.
    pub unit: String,
    /// Better direction.
    pub direction: Direction,
    /// Style: loop or once.
    pub style: Style,
    /// Shortest useful window, in milliseconds.
    pub window_ms: u64,
    /// Default of `--size` and its meaning, if the workload has one.
    pub size: Option<(u64, String)>,
    /// Sizes that each variant accepts. Empty if `--size` has no meaning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub size_ranges: Vec<SizeRange>,
    /// Variants of the workload; the first is the default. Never empty.
    pub variants: Vec<VariantInfo>,
    /// Default number of operations per task under the lens, for variants without their own; at
    /// least 1. `None` if the workload prints none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lens_operations: Option<u64>,
    /// The workload's variants in each suite, one entry per suite. Empty if it belongs to none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suites: Vec<SuitePart>,
    /// Roles of the partners that run next to each measured execution, without repetition. Empty if
    /// the workload can run alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Role>,
    /// Roles of optional partners. Without them, the workload does their part itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub optional_roles: Vec<Role>,
}

impl WorkloadInfo {
    /// Default number of operations per task of a variant under the lens; `None` if the workload
    /// prints none.
    pub fn lens_operations_of(&self, variant: &str) -> Option<u64> {
        self.variant(variant).and_then(|variant| variant.lens_operations).or(self.lens_operations)
    }

    /// The variant of that name.
    pub fn variant(&self, name: &str) -> Option<&VariantInfo> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// All roles that partners may have.
    pub fn all_roles(&self) -> impl Iterator<Item = &Role> {
        self.roles.iter().chain(&self.optional_roles)
    }

    /// The sizes that a variant accepts; `None` if it prints none.
    pub fn size_range(&self, variant: &str) -> Option<&SizeRange> {
        self.size_ranges.iter().find(|range| range.variant == variant)
    }

    /// The workload's variants in a suite; `None` if the workload prints no such suite.
    pub fn part_of(&self, suite: &str) -> Option<&SuitePart> {
        self.suites.iter().find(|part| part.suite == suite)
    }
}

/// Error: an unreadable description.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the description: {problem}")]
pub struct DescribeError {
    /// Line number from 1.
    pub line: usize,
    /// The problem.
    pub problem: String,
}

/// Parses a whole description. Fails at the first line that is not in the format, and if a required
/// line is missing.
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

/// A description during parsing: fields of [`WorkloadInfo`], some still empty.
struct Draft {
    name: String,
    summary: Option<String>,
    operation: Option<String>,
    unit: Option<String>,
    direction: Option<Direction>,
    style: Option<Style>,
    window_ms: Option<u64>,
    size: Option<(u64, String)>,
    size_ranges: Vec<SizeRange>,
    variants: Vec<VariantInfo>,
    lens_operations: Option<u64>,
    suites: Vec<SuitePart>,
    roles: Vec<Role>,
    optional_roles: Vec<Role>,
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
            size_ranges: Vec::new(),
            variants: Vec::new(),
            lens_operations: None,
            suites: Vec::new(),
            roles: Vec::new(),
            optional_roles: Vec::new(),
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
            "size_range" => self.size_ranges.push(size_range(rest)?),
            "variant" => self.variants.push(variant(rest)?),
            "lens_operations" => *self.lens_operations_of(rest)? = Some(lens_operations(rest)?),
            "suite" => self.suites.push(suite_part(rest)?),
            "role" => self.role(rest)?,
            _ => return Err(format!("unknown key '{key}'")),
        }
        Ok(())
    }

    /// The field that a number belongs to: of the variant named after the number, or of the
    /// workload.
    fn lens_operations_of(&mut self, rest: &str) -> Result<&mut Option<u64>, String> {
        let Some((_, name)) = rest.split_once(' ') else { return Ok(&mut self.lens_operations) };
        let variant = self.variants.iter_mut().find(|variant| variant.name == name);
        Ok(&mut variant.ok_or_else(|| format!("'lens_operations' has '{name}', which is no variant"))?.lens_operations)
    }

    fn role(&mut self, rest: &str) -> Result<(), String> {
        let optional = rest.strip_suffix(OPTIONAL);
        let role: Role = optional.unwrap_or(rest).parse()?;
        if self.roles.iter().chain(&self.optional_roles).any(|other| *other == role) {
            return Err(format!("a second role '{role}'"));
        }
        let kind = if optional.is_some() { &mut self.optional_roles } else { &mut self.roles };
        kind.push(role);
        Ok(())
    }

    fn finish(self) -> Result<WorkloadInfo, String> {
        if self.variants.is_empty() {
            return Err("no variant".to_owned());
        }
        self.check_suites()?;
        Ok(WorkloadInfo {
            name: self.name,
            summary: self.summary.ok_or("no summary")?,
            operation: self.operation.ok_or("no operation")?,
            unit: self.unit.ok_or("no unit")?,
            direction: self.direction.ok_or("no direction")?,
            style: self.style.ok_or("no style")?,
            window_ms: self.window_ms.ok_or("no window_ms")?,
            size: self.size,
            size_ranges: self.size_ranges,
            variants: self.variants,
            lens_operations: self.lens_operations,
            suites: self.suites,
            roles: self.roles,
            optional_roles: self.optional_roles,
        })
    }

    /// Refuses duplicate suites, and members that do not exist.
    fn check_suites(&self) -> Result<(), String> {
        for (index, part) in self.suites.iter().enumerate() {
            if self.suites[..index].iter().any(|other| other.suite == part.suite) {
                return Err(format!("a second suite '{}'", part.suite));
            }
            let is_there = |member: &&SuiteMember| {
                self.variants.iter().any(|info| info.name == member.variant && info.modes.contains(&member.mode))
            };
            if let Some(SuiteMember { variant, mode }) = part.members.iter().find(|member| !is_there(member)) {
                return Err(format!("suite '{}' has '{variant}/{}', which is no variant", part.suite, mode.word()));
            }
        }
        Ok(())
    }
}

fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("'{word}' is not a number"))
}

fn lens_operations(rest: &str) -> Result<u64, String> {
    let operations = number(rest.split_once(' ').map_or(rest, |(number, _)| number))?;
    if operations == 0 { Err("'lens_operations' is at least 1".to_owned()) } else { Ok(operations) }
}

fn size_range(rest: &str) -> Result<SizeRange, String> {
    let words: Vec<&str> = rest.split(' ').collect();
    let (variant, least, most, memory) = match words[..] {
        [variant, least, most] => (variant, least, most, None),
        [variant, least, most, "once"] => (variant, least, most, Some(SizeMemory::Once)),
        [variant, least, most, "each"] => (variant, least, most, Some(SizeMemory::Each)),
        _ => return Err(format!("'{rest}' is not VARIANT LEAST MOST [once|each]")),
    };
    Ok(SizeRange { variant: variant.to_owned(), least: number(least)?, most: number(most)?, memory })
}

fn mode(word: &str) -> Result<TaskMode, String> {
    TaskMode::from_word(word).ok_or_else(|| format!("unknown mode '{word}'"))
}

fn suite_part(rest: &str) -> Result<SuitePart, String> {
    let mut words = rest.split(' ');
    let suite = words.next().filter(|name| !name.is_empty()).ok_or("a suite without a name")?.to_owned();
    let place = words.next().ok_or("a suite without a place")?;
    let place = place.parse().map_err(|_| format!("'{place}' is not a number"))?;
    let members = words.map(suite_member).collect::<Result<_, _>>()?;
    Ok(SuitePart { suite, place, members })
}

fn suite_member(word: &str) -> Result<SuiteMember, String> {
    let (variant, word) = word.split_once('/').ok_or_else(|| format!("'{word}' is not VARIANT/MODE"))?;
    Ok(SuiteMember { variant: variant.to_owned(), mode: mode(word)? })
}

fn variant(rest: &str) -> Result<VariantInfo, String> {
    let mut words = rest.splitn(3, ' ');
    let name = words.next().filter(|name| !name.is_empty()).ok_or("a variant without a name")?;
    let modes = words.next().ok_or("a variant without a mode")?.split(',').map(mode).collect::<Result<Vec<_>, _>>()?;
    Ok(VariantInfo { name: name.to_owned(), modes, text: words.next().unwrap_or("").to_owned(), lens_operations: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "faultline-describe 1 zero_fill\nsummary first touch of a page\noperation fault\nunit fault/s\n\
        direction higher\nstyle loop\nwindow_ms 100\nsize 4194304 bytes mapped\nvariant base process,thread base pages\n\
        variant huge process,thread huge pages\nsize_range base 4096 99 each\nlens_operations 4096\nlens_operations 32 huge\nsuite quick 20 base/process\n\
        suite full 0 base/process huge/process huge/thread\nend\n";

    #[test]
    fn a_description_is_read_whole() {
        let info = parse(SAMPLE).unwrap();
        assert_eq!(info.name, "zero_fill");
        assert_eq!(info.style, Style::Loop);
        assert_eq!(info.size, Some((4_194_304, "bytes mapped".to_owned())));
        let base = SizeRange { variant: "base".into(), least: 4096, most: 99, memory: Some(SizeMemory::Each) };
        assert_eq!((info.size_range("base"), info.size_range("huge")), (Some(&base), None));
        assert_eq!(info.variant("huge").unwrap().modes, [TaskMode::Process, TaskMode::Thread]);
        assert_eq!(["base", "huge"].map(|variant| info.lens_operations_of(variant)), [Some(4096), Some(32)]);
        let quick = info.part_of("quick").unwrap();
        assert_eq!((quick.place, quick.members.len()), (20, 1));
        let full = &info.part_of("full").unwrap().members;
        assert_eq!(full[2], SuiteMember { variant: "huge".into(), mode: TaskMode::Thread });
    }

    /// The sample without the lines that a workload may leave out.
    fn short() -> String {
        let optional = ["suite ", "lens_operations ", "size_range "];
        let is_optional = |line: &&str| optional.iter().any(|key| line.starts_with(key));
        SAMPLE.lines().filter(|line| !is_optional(line)).map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn a_short_description_is_read() {
        let info = parse(&short()).unwrap();
        assert_eq!((info.lens_operations, info.suites.len()), (None, 0));
        assert_eq!(info.variants.len(), 2);
    }

    #[test]
    fn a_short_description_is_saved_without_what_it_leaves_out() {
        let info = parse(&short()).unwrap();
        let stored = serde_json::to_string(&info).unwrap();
        assert!(["suites", "lens_operations", "roles"].iter().all(|newer| !stored.contains(newer)));
        assert_eq!(serde_json::from_str::<WorkloadInfo>(&stored).unwrap(), info);
    }

    #[test]
    fn a_suite_holds_what_is_there_and_comes_once() {
        let problem = |from: &str, to: &str| parse(&SAMPLE.replace(from, to)).unwrap_err().problem;
        assert_eq!(
            problem("20 base/process", "20 bass/process"),
            "suite 'quick' has 'bass/process', which is no variant"
        );
        assert_eq!(problem("20 base/process", "20 base"), "'base' is not VARIANT/MODE");
        assert_eq!(problem("20 base/process", "first base/process"), "'first' is not a number");
        assert_eq!(problem("suite full", "suite quick"), "a second suite 'quick'");
        assert_eq!(problem("99 each", "99 twice"), "'base 4096 99 twice' is not VARIANT LEAST MOST [once|each]");
        assert_eq!(problem("lens_operations 4096", "lens_operations 0"), "'lens_operations' is at least 1");
        assert_eq!(problem("32 huge", "32 vast"), "'lens_operations' has 'vast', which is no variant");
        let with_one_mode = SAMPLE.replace("huge process,thread", "huge process");
        assert_eq!(parse(&with_one_mode).unwrap_err().problem, "suite 'full' has 'huge/thread', which is no variant");
    }

    #[test]
    fn roles_are_words_and_come_once() {
        let with = |lines: &str| parse(&SAMPLE.replace("suite full", &format!("{lines}suite full")));
        let roles = with("role receiver\nrole forwarder\n").unwrap().roles;
        assert_eq!(roles.iter().map(ToString::to_string).collect::<Vec<_>>(), ["receiver", "forwarder"]);
        assert_eq!(with("role receiver\nrole receiver\n").unwrap_err().problem, "a second role 'receiver'");
        assert!(with("role the receiver\n").unwrap_err().problem.starts_with("'the receiver' is not a role"));
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
