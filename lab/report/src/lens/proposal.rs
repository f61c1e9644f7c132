//! The proposed layout of a type, as a diff of its declaration with offsets in bytes.

use crate::escape::one_line;
use crate::figure;
use crate::lens::layout::type_name;
use crate::sheet::Sheet;
use crate::style::{Signs, Tone, UNICODE};
use faultline_stats::lens::types::{ProposedLayout, ProposedMember, TypeFigures};
use maud::{Markup, html as markup};

/// Unchanged members shown before and after a changed one.
const CONTEXT: usize = 2;

/// A line of the diff.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    sign: char,
    text: String,
}

/// `proposed layout of struct stats, 24 → 128 bytes: saves 1.000 of its 1.002 transfers per map`
fn heading(of: &TypeFigures, proposed: &ProposedLayout, operation: &str, signs: &Signs) -> String {
    one_line(&format!(
        "proposed layout of {}, {} {} {} bytes: saves {} of its {} transfers per {operation}",
        type_name(of),
        of.size,
        signs.arrow,
        proposed.size,
        figure::transfers(proposed.saved),
        figure::transfers(of.moved.transfers)
    ))
}

/// A note below the diff.
fn note(proposed: &ProposedLayout) -> String {
    let beside = match proposed.members.first() {
        Some(first) if first.begins_line => " Data that was beside it may then move by itself.",
        _ => "",
    };
    format!(
        "Expected from false sharing that was counted; `faultline lens compare` of a run with the new layout says whether \
         it came true.{beside}"
    )
}

/// Writes the proposal of a type, if it has one.
pub(crate) fn write(sheet: &mut Sheet<'_>, of: &TypeFigures, operation: &str) {
    let Some(proposed) = &of.proposed else { return };
    let signs = sheet.style.signs();
    let heading = heading(of, proposed, operation, signs);
    let lines = diff(&type_name(of), proposed, signs);
    if sheet.is_markdown() {
        sheet.paragraph(Some(Tone::Title), "", &heading);
        let text: Vec<String> = lines.iter().map(words).collect();
        sheet.block(&format!("```diff\n{}\n```", text.join("\n")));
    } else {
        sheet.space();
        sheet.paragraph(Some(Tone::Title), "  ", &heading);
        for line in &lines {
            let tone = match line.sign {
                '+' => Some(Tone::Good),
                '-' => Some(Tone::Bad),
                _ => None,
            };
            let text = format!("    {}", words(line));
            let painted = tone.map(|tone| sheet.style.paint(tone, &text));
            sheet.line(painted.as_deref().unwrap_or(&text));
        }
    }
    sheet.paragraph(Some(Tone::Quiet), "    ", &note(proposed));
}

/// The proposal of a type on a page; empty without one.
pub(crate) fn html(of: &TypeFigures, operation: &str) -> Markup {
    let Some(proposed) = &of.proposed else { return Markup::default() };
    let lines: Vec<String> = diff(&type_name(of), proposed, &UNICODE).iter().map(words).collect();
    markup! {
        p.hint { (heading(of, proposed, operation, &UNICODE)) }
        pre.text tabindex="0" { (lines.join("\n")) }
        p.hint { (note(proposed)) }
    }
}

fn words(line: &Line) -> String {
    format!("{} {}", line.sign, line.text).trim_end().to_owned()
}

/// The declaration as it is and as proposed. Members far from a change are one line `…`.
fn diff(name: &str, proposed: &ProposedLayout, signs: &Signs) -> Vec<Line> {
    let mut now: Vec<&ProposedMember> = proposed.members.iter().collect();
    now.sort_by_key(|member| member.was);
    // Unless a later member overtakes it, a member keeps its place.
    let is_kept: Vec<bool> = (0..now.len())
        .map(|index| !now[index].begins_line && now[index..].iter().all(|later| later.offset >= now[index].offset))
        .collect();
    let kept: Vec<&ProposedMember> =
        now.iter().zip(&is_kept).filter(|(_, kept)| **kept).map(|(member, _)| *member).collect();
    let mut lines = vec![Line { sign: ' ', text: format!("{} {{", one_line(name)) }];
    let (mut old, mut new) = (now.iter().zip(&is_kept).peekable(), proposed.members.iter().peekable());
    for keep in kept.into_iter().map(Some).chain([None]) {
        while let Some((member, _)) = old.next_if(|(_, kept)| !**kept) {
            lines.push(Line { sign: '-', text: declared(member, false, signs) });
        }
        while let Some(member) = new.next_if(|member| keep.is_none_or(|keep| !std::ptr::eq(*member, keep))) {
            lines.push(Line { sign: '+', text: declared(member, true, signs) });
        }
        let Some(keep) = keep else { break };
        lines.push(Line { sign: ' ', text: declared(keep, true, signs) });
        old.next();
        new.next();
    }
    lines.push(Line { sign: ' ', text: "};".to_owned() });
    shortened(lines, signs)
}

/// A member as C declares it, with its present or proposed offset.
fn declared(member: &ProposedMember, is_proposed: bool, signs: &Signs) -> String {
    let name = member.name.as_deref().unwrap_or(signs.to);
    // Dimensions follow the name, unless they are within the type.
    let dimensions_at = member.of.find('[').filter(|_| member.of.ends_with(']') && !member.of.contains(['(', '<']));
    let (of, dimensions) = dimensions_at.map_or((member.of.as_str(), ""), |at| member.of.split_at(at));
    let bits = member.bits.map_or_else(String::new, |bits| format!(" : {}", bits.count));
    let offset = if is_proposed { member.offset } else { member.was };
    let aligned = if is_proposed && member.begins_line { "alignas(64) " } else { "" };
    let blank = if of.ends_with('*') { "" } else { " " };
    one_line(&format!("{offset:>6}  {aligned}{of}{blank}{name}{dimensions}{bits};"))
}

/// The lines without unchanged ones that are far from a change.
fn shortened(lines: Vec<Line>, signs: &Signs) -> Vec<Line> {
    let last = lines.len() - 1;
    let is_near = |index: usize| {
        let range = index.saturating_sub(CONTEXT)..=(index + CONTEXT).min(last);
        index == 0 || index == last || lines[range].iter().any(|line| line.sign != ' ')
    };
    let mut shown: Vec<Line> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        match is_near(index) {
            true => shown.push(line.clone()),
            false if shown.last().is_some_and(|line| line.text == signs.to) => {}
            false => shown.push(Line { sign: ' ', text: signs.to.to_owned() }),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, was: u64, offset: u64, begins_line: bool) -> ProposedMember {
        ProposedMember { name: Some(name.into()), of: "long".into(), bits: None, was, offset, begins_line }
    }

    fn text(members: Vec<ProposedMember>) -> Vec<String> {
        diff("struct stats", &ProposedLayout { size: 128, members, saved: 1.0 }, &UNICODE).iter().map(words).collect()
    }

    #[test]
    fn a_member_that_begins_a_line_is_replaced_in_its_place() {
        let members =
            vec![member("hits", 0, 0, false), ProposedMember { of: "int[4]".into(), ..member("misses", 8, 64, true) }];
        let expected = [
            "  struct stats {",
            "       0  long hits;",
            "-      8  int misses[4];",
            "+     64  alignas(64) int misses[4];",
            "  };",
        ];
        assert_eq!(text(members), expected);
    }

    #[test]
    fn an_overtaken_member_moves_behind() {
        let members = vec![
            member("a", 0, 0, false),
            member("b", 16, 8, false),
            member("x", 8, 64, true),
            member("y", 24, 72, false),
        ];
        let expected = [
            "  struct stats {",
            "       0  long a;",
            "-      8  long x;",
            "       8  long b;",
            "+     64  alignas(64) long x;",
            "      72  long y;",
            "  };",
        ];
        assert_eq!(text(members), expected);
    }

    #[test]
    fn members_far_from_a_change_are_left_out() {
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        let before = (0..).zip(names).map(|(number, name)| member(name, 8 * number, 8 * number, false));
        let members = before.chain([member("z", 56, 64, true)]).collect();
        let expected = [
            "  struct stats {",
            "  …",
            "      40  long f;",
            "      48  long g;",
            "-     56  long z;",
            "+     64  alignas(64) long z;",
            "  };",
        ];
        assert_eq!(text(members), expected);
    }
}
