//! The machines on which runs were measured: their facts, how they differ from each other, and what changed on each when.

use super::badge::badge;
use super::frame::page;
use crate::fact_words;
use crate::moment;
use crate::one_line::one_line;
use crate::page::delivery::Site;
use crate::page::document::table;
use crate::page::{fact_list, value};
use crate::style::UNICODE;
use faultline_model::facts::{FactValue, Persistence};
use faultline_model::machine_facts::{KnownMachine, MachineChange};
use maud::{Markup, html as markup};
use std::collections::BTreeSet;

/// Machines that are shown, those that were measured last.
const SHOWN: usize = 12;
/// Machines that are compared in one table.
const COMPARED: usize = 6;
/// Changes of a machine that are shown, the newest.
const CHANGES: usize = 100;

/// The accelerator that is none.
const EMULATES: &str = "tcg";

/// The page. `is_cut`: whether older runs were not read.
pub fn machines_page(machines: &[KnownMachine], is_cut: bool, site: &Site) -> String {
    let about = markup! {
        p.standing { "What runs recorded of the machines on which they measured, when they began or were resumed." }
    };
    let shown = &machines[..machines.len().min(SHOWN)];
    let parts = markup! {
        @if machines.is_empty() { section { p.nothing { "Nothing is known of a machine yet: runs save facts." } } }
        (differences(&shown[..shown.len().min(COMPARED)]))
        @for (number, machine) in (1..).zip(shown) { (one(number, machine, site)) }
        section #reading aria-labelledby="reading-title" {
            h2 #reading-title { "How to read this" }
            ul {
                li { "A machine is known by its host name. Guests on it are told apart by what executes them and by their number of CPUs. A program under the lens counts as measured on the machine itself." }
                li { "Changes are of lasting facts; the load, free memory and the boot are left out, and so are the CPUs that a run may use, and of a guest its kernel and its memory: each run chooses them. A fact is compared with what was recorded of it last; the first record is no change. A quirk is a change by which histories of times are marked where it lies between two of their runs." }
                @if machines.len() > shown.len() { li { (machines.len() - shown.len()) " more machines were measured earlier." } }
                @if is_cut { li { "Only the newest runs were read." } }
            }
        }
    };
    page(site, "Machines", about, parts)
}

/// What a machine or a guest is called.
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

/// Facts that are not the same on all machines.
fn differences(machines: &[KnownMachine]) -> Markup {
    let facts = |machine: &KnownMachine| machine.newest.facts.0.clone();
    let keys: BTreeSet<String> = machines.iter().flat_map(|machine| facts(machine).into_keys()).collect();
    let differ = |key: &&String| {
        let mut values = machines.iter().map(|machine| machine.newest.facts.0.get(*key));
        let first = values.next();
        Persistence::of(key) == Persistence::Lasting && values.any(|value| Some(value) != first)
    };
    let keys: Vec<&String> = keys.iter().filter(differ).filter(|key| *key != "host.name").collect();
    let head = markup! {
        th scope="col" { "fact" }
        @for machine in machines { th scope="col" { (name(machine)) } }
    };
    let body = markup! {
        @for key in &keys {
            tr {
                th scope="row" { (fact_words::name(key)) br; small { code { (one_line(key)) } } }
                @for machine in machines { td.fact { (known(key, machine.newest.facts.0.get(*key))) } }
            }
        }
    };
    markup! {
        @if machines.len() > 1 {
            section #differences aria-labelledby="differences-title" {
                h2 #differences-title { "How they differ" }
                @if keys.is_empty() { p.nothing { "No fact differs." } }
                @else { (table("Facts that differ, as they were last recorded", false, head, body)) }
            }
        }
    }
}

fn known(key: &str, value: Option<&FactValue>) -> Markup {
    markup! { @match value { Some(value) => (fact_words::value(key, value, &UNICODE)), None => (value::none()) } }
}

fn one(number: usize, machine: &KnownMachine, site: &Site) -> Markup {
    let id = format!("machine-{number}");
    let title = format!("{id}-title");
    let runs = if machine.sessions == 1 {
        "one start of a run".to_owned()
    } else {
        format!("{} starts of runs", machine.sessions)
    };
    markup! {
        section id=(id) aria-labelledby=(title) {
            h2 id=(title) { (name(machine)) }
            p {
                (runs) ", from " (moment::words(machine.since)) " to " (moment::words(machine.newest.started)) " ("
                a href=(site.run(machine.newest.run)) { "run " (machine.newest.run) } ")"
            }
            h3 { "What changed" }
            @if machine.changes.is_empty() { p.nothing { "No lasting fact changed." } }
            @else { (changes(machine, site)) }
            details { summary { "All facts, as last recorded" } (fact_list(&machine.newest.facts)) }
        }
    }
}

fn changes(machine: &KnownMachine, site: &Site) -> Markup {
    let head = markup! {
        th scope="col" { "since" }
        th.number scope="col" { "run" }
        th scope="col" { "fact" }
        th scope="col" { "was" }
        th scope="col" { "is" }
        th scope="col" { "for histories" }
    };
    let body = markup! { @for change in machine.changes.iter().take(CHANGES) { (rows(change, site)) } };
    let more = machine.changes.len().saturating_sub(CHANGES);
    markup! {
        (table(&format!("What changed on {}, the newest first", name(machine)), false, head, body))
        @if more > 0 { p.hint { (more) " older changes are not shown." } }
    }
}

fn rows(change: &MachineChange, site: &Site) -> Markup {
    markup! {
        @for one in &change.facts {
            tr {
                td { time datetime=(moment::iso(change.started)) { (moment::words(change.started)) } }
                td.number { a href=(site.run(change.run)) { (change.run) } }
                th scope="row" { (fact_words::name(&one.fact.key)) br; small { code { (one_line(&one.fact.key)) } } }
                td.fact { @match &one.fact.before { Some(text) => (one_line(text)), None => (value::none()) } }
                td.fact { @match &one.fact.now { Some(text) => (one_line(text)), None => (value::none()) } }
                td { @if one.is_quirk { (badge("quiet", "~", "quirk")) } @else { (value::none()) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::facts::Facts;
    use faultline_model::machine_facts::SessionFacts;
    use faultline_model::record::RunId;
    use faultline_model::time::UnixMillis;

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
        assert!(!machines_page(&machines[..1], false, &Site::served()).contains("How they differ"));
        assert!(machines_page(&[], false, &Site::served()).contains("Nothing is known of a machine yet"));
    }
}
