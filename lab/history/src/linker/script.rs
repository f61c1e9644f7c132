//! A script for GNU ld that orders sections of code and data by a layout: a default script, or that
//! of a Linux kernel, with a list of sections before its general rules. Sections that are not in
//! the list stay where they were.

use crate::tools::Words;
use faultline_record::relink::{LinkLayout, SectionOrder, SectionSpacing};
use std::collections::BTreeSet;

/// Kinds of sections that move.
const KINDS: [&str; 3] = [".text", ".data", ".bss"];

/// The origin of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// GNU ld: its general rules also cover sections of a single function or variable (`.text.f`).
    Linkers,
    /// A Linux kernel: sections with longer names (`.data..percpu`, `.text.unlikely`) have rules of
    /// their own and stay in place. It links whole archives, so the order of their members is
    /// known.
    Kernels,
}

impl Whose {
    /// The origin of a named script; `None` for other programs, whose sections may need their
    /// places.
    pub(super) fn of_named(script: &str) -> Option<Self> {
        ["_stext", "__init_begin"].iter().all(|symbol| script.contains(symbol)).then_some(Whose::Kernels)
    }

    /// True if sections with that name move.
    pub(super) fn moves(self, section: &str) -> bool {
        KINDS.iter().any(|kind| self.is_of_kind(section, kind))
    }

    fn is_of_kind(self, section: &str, kind: &str) -> bool {
        section
            .strip_prefix(kind)
            .is_some_and(|rest| rest.is_empty() || self == Whose::Linkers && rest.starts_with('.'))
    }
}

/// Alignment of gaps in bytes: that of functions.
const GAP_UNIT: u64 = 16;

/// Maximum length of a gap in bytes.
const LONGEST_GAP: u64 = 4096;

/// Maximum sum of all gaps between sections of a kind in bytes, unless there are more than 4096
/// gaps.
const LONGEST_GAPS: u64 = 64 << 10;

/// A section of an input file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct InputSection {
    /// Name of the section.
    pub(super) section: String,
    /// Label of its file: the same in each build of the same sources.
    pub(super) label: String,
    /// Pattern that names the file in a script.
    pub(super) pattern: String,
    /// True if the file is in an archive, from which the linker takes members in its own order.
    pub(super) is_in_archive: bool,
}

/// The script with the sections in the layout's order; `None` if `own` has no general rule for
/// them.
pub(super) fn script(own: &str, whose: Whose, parts: &[InputSection], layout: LinkLayout) -> Option<String> {
    let mut script = own.to_owned();
    for kind in KINDS {
        let those = parts.iter().filter(|part| whose.is_of_kind(&part.section, kind));
        let list = list(ordered(those, layout), layout);
        if let (Some(at), false) = (general_rule(&script, kind), list.is_empty()) {
            script.insert_str(at, &list);
        }
    }
    (script != own).then_some(script)
}

/// Start of the rule that takes the sections with that name from all files: `*(.text .stub)`.
fn general_rule(script: &str, kind: &str) -> Option<usize> {
    script.match_indices("*(").map(|(at, _)| at).find(|&at| {
        let names = script[at + 2..].split(')').next().unwrap_or_default();
        names.split_whitespace().any(|name| name == kind)
    })
}

/// The sections, each once, in the layout's order. The linker's own order excludes archives,
/// because the order of their members is unknown before linking.
fn ordered<'a>(parts: impl Iterator<Item = &'a InputSection>, layout: LinkLayout) -> Vec<&'a InputSection> {
    let mut seen = BTreeSet::new();
    let is_kept = layout.kind.order == SectionOrder::Keep;
    let those = parts.filter(|part| !(is_kept && part.is_in_archive));
    let mut those: Vec<&InputSection> = those.filter(|part| seen.insert((&part.section, &part.pattern))).collect();
    match layout.kind.order {
        SectionOrder::Keep => {}
        SectionOrder::Random => those.sort_by_cached_key(|part| draw(part, "order", layout.seed)),
        SectionOrder::Sort => those.sort(),
    }
    those
}

/// Sections as rules of a script, with the space between them.
fn list(parts: Vec<&InputSection>, layout: LinkLayout) -> String {
    // A power of two, so one section more or less changes no other gap, except where the number
    // doubles.
    let longest = (LONGEST_GAPS / (parts.len() as u64).next_power_of_two()).clamp(GAP_UNIT, LONGEST_GAP);
    let rule = |part: &InputSection| {
        let space = match layout.kind.spacing {
            SectionSpacing::None => String::new(),
            SectionSpacing::Gap => format!(". += {};\n    ", gap(part, longest, layout.seed)),
            SectionSpacing::Align => ". = ALIGN(64);\n    ".to_owned(),
        };
        format!("{space}\"{}\"({})\n    ", part.pattern, part.section)
    };
    parts.into_iter().map(rule).collect()
}

/// A gap of at most `longest` bytes.
fn gap(part: &InputSection, longest: u64, seed: u32) -> u64 {
    let drawn = u64::from_str_radix(&draw(part, "gap", seed)[..12], 16).unwrap_or(0);
    GAP_UNIT * (drawn % (longest / GAP_UNIT + 1))
}

/// A random text from the seed, the section and the purpose. So a section that two builds share is
/// drawn the same in both.
fn draw(part: &InputSection, purpose: &str, seed: u32) -> String {
    let mut words = Words::default();
    [purpose, &seed.to_string(), &part.label, &part.section].iter().for_each(|word| words.add(word.as_bytes()));
    words.digest()
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::relink::LayoutKind;

    const OWN: &str = "SECTIONS {
  .text : {
    *(.text.hot .text.hot.*)
    *(.text .stub .text.* .gnu.linkonce.t.*)
  }
  .data : {
    *(.data .data.* .gnu.linkonce.d.*)
  }
  .bss : {
    *(.dynbss)
    *(.bss .bss.* .gnu.linkonce.b.*)
    *(COMMON)
  }
}
";

    fn parts(number: usize) -> Vec<InputSection> {
        let part = |i: usize, section: &str, is_in_archive| InputSection {
            section: section.to_owned(),
            label: format!("{i:02}.o"),
            pattern: format!("build/{i:02}.o"),
            is_in_archive,
        };
        let of_object =
            |i| [part(i, ".text", false), part(i, ".text.f", false), part(i, ".bss", false), part(i, ".rodata", false)];
        (0..number).flat_map(of_object).chain([part(99, ".text", true)]).collect()
    }

    fn layout(order: SectionOrder, spacing: SectionSpacing, seed: u32) -> LinkLayout {
        LayoutKind { order, spacing }.with_seed(seed)
    }

    /// The rules of the list in their order.
    fn rules(script: &str) -> Vec<&str> {
        script.lines().map(str::trim).filter(|line| line.starts_with('"')).collect()
    }

    #[test]
    fn a_seed_always_gives_the_same_script_and_another_seed_another() {
        let of = |seed| {
            script(OWN, Whose::Linkers, &parts(8), layout(SectionOrder::Random, SectionSpacing::Gap, seed)).unwrap()
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn each_section_is_named_once_before_the_general_rule() {
        for order in [SectionOrder::Random, SectionOrder::Sort] {
            let twice = [parts(8), parts(8)].concat();
            let script = script(OWN, Whose::Linkers, &twice, layout(order, SectionSpacing::None, 1)).unwrap();
            let mut found = rules(&script);
            assert_eq!(found.len(), 8 * 3 + 1);
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), 8 * 3 + 1);
            let last = script.rfind("(.text)").unwrap();
            assert!(script.find("*(.text.hot").unwrap() < script.find("\"build/").unwrap());
            assert!(last < script.find("*(.text .stub").unwrap() && !script.contains("\"build/00.o\"(.rodata)"));
        }
    }

    #[test]
    fn orders_are_what_their_names_say() {
        let of = |order| {
            let script = script(OWN, Whose::Linkers, &parts(8), layout(order, SectionSpacing::None, 3)).unwrap();
            rules(&script).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let (kept, sorted, random) = (of(SectionOrder::Keep), of(SectionOrder::Sort), of(SectionOrder::Random));
        assert_eq!(kept[..3], ["\"build/00.o\"(.text)", "\"build/00.o\"(.text.f)", "\"build/01.o\"(.text)"]);
        assert_eq!(sorted[..2], ["\"build/00.o\"(.text)", "\"build/01.o\"(.text)"]);
        assert!(!kept.iter().any(|rule| rule.contains("99")) && random.iter().any(|rule| rule.contains("99")));
        assert!(random != kept && random != sorted);
    }

    #[test]
    fn a_part_of_two_builds_has_the_same_gap_in_both() {
        let gaps = |parts: &[InputSection]| {
            let script =
                script(OWN, Whose::Linkers, parts, layout(SectionOrder::Random, SectionSpacing::Gap, 5)).unwrap();
            let rules =
                script.split(". += ").skip(1).map(|rule| rule.lines().take(2).map(str::trim).collect::<String>());
            rules.collect::<BTreeSet<_>>()
        };
        let (few, more) = (gaps(&parts(4)), gaps(&parts(5)));
        assert!(few.len() == 4 * 3 + 1 && few.is_subset(&more), "{few:?} {more:?}");
    }

    #[test]
    fn gaps_stay_small_in_sum() {
        for number in [1, 10, 1000] {
            let script =
                script(OWN, Whose::Linkers, &parts(number), layout(SectionOrder::Keep, SectionSpacing::Gap, 1))
                    .unwrap();
            let gaps: Vec<u64> =
                script.split(". += ").skip(1).map(|rest| rest.split(';').next().unwrap().parse().unwrap()).collect();
            assert!(gaps.iter().all(|gap| gap % GAP_UNIT == 0 && *gap <= LONGEST_GAP));
            assert!(gaps.iter().sum::<u64>() <= 2 * LONGEST_GAPS + 4096, "{number}: {}", gaps.iter().sum::<u64>());
        }
    }

    #[test]
    fn a_script_without_the_rules_is_left_alone() {
        let layout = layout(SectionOrder::Random, SectionSpacing::Gap, 1);
        assert_eq!(script("SECTIONS { .text : { *(.mine) } }", Whose::Linkers, &parts(3), layout), None);
        assert_eq!(script(OWN, Whose::Linkers, &[], layout), None);
    }

    #[test]
    fn of_a_kernel_only_what_has_no_meaning_of_its_own_is_moved() {
        let own = "SECTIONS {
  .text : { _stext = .; *(.text.hot .text.hot.*) *(.text .text.fixup) *(.text.unlikely) }
  __init_begin = .;
  .data : { *(.data..page_aligned) *(.data) *(.data..read_mostly) }
  .bss : { *(.bss..page_aligned) *(.dynbss) *(.bss) *(COMMON) }
}
";
        assert_eq!((Whose::of_named(own), Whose::of_named(OWN)), (Some(Whose::Kernels), None));
        for stays in [".text.unlikely", ".text.hot", ".data..percpu", ".bss..page_aligned", ".init.text", ".rodata"] {
            assert!(!Whose::Kernels.moves(stays), "{stays}");
        }
        let member = |section: &str| InputSection {
            section: section.to_owned(),
            label: "vmlinux.a:mm/mmap.o".to_owned(),
            pattern: "vmlinux.a:mm/mmap.o".to_owned(),
            is_in_archive: false,
        };
        let layout = layout(SectionOrder::Keep, SectionSpacing::Align, 1);
        let parts = [".text", ".text.unlikely", ".data", ".data..percpu", ".bss"].map(member);
        let script = script(own, Whose::Kernels, &parts, layout).unwrap();
        let named = script.lines().filter(|line| line.contains("mmap.o\"")).count();
        assert_eq!(named, 3, "{script}");
        let is_before = |rule: &str, general: &str| script.find(rule).unwrap() < script.find(general).unwrap();
        assert!(is_before("mmap.o\"(.text)", "*(.text .text.fixup)") && is_before("*(.text.hot", "mmap.o\"(.text)"));
        assert!(is_before("mmap.o\"(.data)", "*(.data)") && is_before("*(.dynbss)", "mmap.o\"(.bss)"));
    }
}
