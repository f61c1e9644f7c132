//! The page of machines: facts of each, differences between them, and what changed on each and
//! when.

use super::page;
use crate::escape::one_line;
use crate::figure;
use crate::page::delivery::Site;
use crate::page::document::{reading, section};
use crate::page::element::{self, badge, none};
use crate::page::fact_list;
use crate::table::{Column, ResultTable};
use faultline_record::facts::{FactValue, Persistence};
use faultline_stats::machine_facts::{FactChange, KnownMachine, MachineChange};
use maud::{Markup, html as markup};
use std::collections::BTreeSet;

/// Machines shown: the most recently measured.
const SHOWN: usize = 12;
/// Machines compared in one table.
const COMPARED: usize = 6;
/// Changes shown per machine: the newest.
const CHANGES: usize = 100;

/// The accelerator that stands for emulation.
const EMULATES: &str = "tcg";

/// The page of machines. `is_cut`: older runs were not read.
pub fn machines_page(machines: &[KnownMachine], is_cut: bool, site: &Site) -> String {
    let about =
        markup! { p.standing { "Facts that runs recorded of their machines when they began or were resumed." } };
    let shown = &machines[..machines.len().min(SHOWN)];
    let earlier = machines.len() - shown.len();
    let of_machines = [
        "A machine is identified by its host name. Guests on it are distinguished by accelerator and number of CPUs. A \
         program under the lens counts as measured on the machine itself.",
        "Changes are changes of lasting facts. Not included: load, free memory and boot; the CPUs that a run may use; \
         the kernel and memory of a guest, which each run chooses. A fact is compared with its previous record; the first \
         record is no change. A quirk is a change by which histories of times are marked if it lies between two of their \
         runs.",
    ];
    let more = (earlier > 0).then(|| format!("{earlier} more machines were measured earlier."));
    let cut = is_cut.then(|| "Only the newest runs were read.".to_owned());
    let parts = markup! {
        @if machines.is_empty() { section { p.nothing { "No machine is known yet. Runs save the facts of theirs." } } }
        (differences(&shown[..shown.len().min(COMPARED)]))
        @for (number, machine) in (1..).zip(shown) { (one(number, machine, site)) }
        (reading(of_machines.map(str::to_owned).into_iter().chain(more).chain(cut)))
    };
    page(site, "Machines", about, parts)
}

/// The name of a machine or guest.
pub(super) fn name(machine: &KnownMachine) -> String {
    let host = if machine.name.is_empty() { "without a name".to_owned() } else { one_line(&machine.name) };
    let Some(guest) = &machine.guest else { return host };
    let cpus =
        guest.cpus.map_or_else(String::new, |cpus| format!(" with {cpus} {}", if cpus == 1 { "CPU" } else { "CPUs" }));
    let how = if guest.accelerator == EMULATES {
        "emulated guest".to_owned()
    } else {
        format!("guest by {}", one_line(&guest.accelerator))
    };
    format!("{host}: {how}{cpus}")
}

/// The facts that differ between machines, a column per machine.
fn differences(machines: &[KnownMachine]) -> Markup {
    type Row<'a> = (&'a str, Vec<Option<&'a FactValue>>);
    let keys: BTreeSet<&String> = machines.iter().flat_map(|machine| machine.newest.facts.0.keys()).collect();
    let values = |key: &str| -> Vec<_> { machines.iter().map(|machine| machine.newest.facts.0.get(key)).collect() };
    let rows = keys.into_iter().filter(|key| *key != "host.name" && Persistence::of(key) == Persistence::Lasting);
    let rows = rows.map(|key| (key.as_str(), values(key)));
    let rows: Vec<Row<'_>> = rows.filter(|(_, values)| values.iter().any(|value| value != &values[0])).collect();
    let mut columns = vec![Column::page("fact", |(key, _): &Row<'_>| element::fact_name(key)).row_heading()];
    columns.extend(machines.iter().enumerate().map(|(index, machine)| {
        Column::page(name(machine), move |(key, values): &Row<'_>| element::fact(key, values[index])).class("fact")
    }));
    let content = markup! {
        @if rows.is_empty() { p.nothing { "No fact differs." } }
        @else { (ResultTable::new(columns, rows).html("Facts that differ, as last recorded")) }
    };
    markup! { @if machines.len() > 1 { (section("differences", "Differences", content)) } }
}

fn one(number: usize, machine: &KnownMachine, site: &Site) -> Markup {
    let runs = match machine.sessions {
        1 => "one start of a run".to_owned(),
        sessions => format!("{sessions} starts of runs"),
    };
    let content = markup! {
        p {
            (runs) ", from " (figure::date_time(machine.since)) " to " (figure::date_time(machine.newest.started)) " ("
            a href=(site.run(machine.newest.run)) { "run " (machine.newest.run) } ")"
        }
        h3 { "Changes" }
        @if machine.changes.is_empty() { p.nothing { "No lasting fact changed." } }
        @else { (changes(machine, site)) }
        details { summary { "All facts, as last recorded" } (fact_list(&machine.newest.facts)) }
    };
    section(&format!("machine-{number}"), &name(machine), content)
}

fn changes(machine: &KnownMachine, site: &Site) -> Markup {
    type Row<'a> = (&'a MachineChange, &'a FactChange, &'a Site);
    let columns = vec![
        Column::page("since", |(change, ..): &Row<'_>| element::time(change.started)),
        Column::page_right("run", |(change, _, site): &Row<'_>| {
            markup! { a href=(site.run(change.run)) { (change.run) } }
        }),
        Column::page("fact", |(_, one, _): &Row<'_>| element::fact_name(&one.fact.key)).row_heading(),
        Column::page("was", |(_, one, _): &Row<'_>| element::text(one.fact.before.as_deref())).class("fact"),
        Column::page("is", |(_, one, _): &Row<'_>| element::text(one.fact.now.as_deref())).class("fact"),
        Column::page(
            "for histories",
            |(_, one, _): &Row<'_>| {
                if one.is_quirk { badge("quiet", "~", "quirk") } else { none() }
            },
        ),
    ];
    let shown = machine.changes.iter().take(CHANGES);
    let rows = shown.flat_map(|change| change.facts.iter().map(move |one| (change, one, site)));
    let more = machine.changes.len().saturating_sub(CHANGES);
    markup! {
        (ResultTable::new(columns, rows).html(&format!("Changes on {}, newest first", name(machine))))
        @if more > 0 { p.hint { (more) " older changes are not shown." } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::facts::{Facts, SessionFacts};
    use faultline_record::record::RunId;
    use faultline_record::time::UnixMillis;

    fn machine(run: i64, name: &str, facts: &[(&str, &str)]) -> KnownMachine {
        let mut known = Facts::default();
        known.text("host.name", name);
        known.text("boot.id", run.to_string());
        facts.iter().for_each(|(key, value)| known.text(key, *value));
        let newest = SessionFacts { run: RunId(run), started: UnixMillis(run), facts: known };
        KnownMachine {
            name: name.to_owned(),
            guest: None,
            newest,
            since: UnixMillis(0),
            sessions: 1,
            changes: Vec::new(),
        }
    }

    #[test]
    fn only_lasting_facts_that_differ_are_compared_and_names_are_text() {
        let machines = [
            machine(2, "<b>a</b>", &[("cpu.model", "one"), ("kernel.name", "Linux")]),
            machine(1, "b", &[("cpu.model", "two"), ("kernel.name", "Linux")]),
        ];
        let page = machines_page(&machines, true, &Site::served());
        let (differing, _) = page.split_once("id=\"machine-1\"").unwrap();
        assert!(differing.contains("cpu.model") && differing.contains("two"), "{differing}");
        assert!(["kernel.name", "boot.id", "host.name"].iter().all(|key| !differing.contains(&format!("<code>{key}"))));
        assert!(page.contains("&lt;b&gt;a&lt;/b&gt;") && !page.contains("<b>a</b>"));
        assert!(page.contains("Only the newest runs were read."));
        assert!(!machines_page(&machines[..1], false, &Site::served()).contains("Differences"));
        assert!(machines_page(&[], false, &Site::served()).contains("No machine is known yet"));
    }
}
