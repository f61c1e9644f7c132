//! Names of code and data outside a program's own file: libraries loaded at run time, with separate
//! debug files, and generated code. Needs the same parts as the tests in `lens_program.rs`.

use crate::lab::lens::{assert_status, compiled, line_of, place, program};
use crate::lab::{Lab, assert_refused};
use faultline_record::lens::data::{Arena, Data};
use std::path::{Path, PathBuf};
use std::process::Command;

const TURNS: u64 = 10_000;

/// Splits a library into the stripped file and its debug information. Returns the directory to
/// search for the latter.
fn separated(library: &str) -> PathBuf {
    let objcopy = |words: &[&str]| {
        let status = Command::new("objcopy").args(words).arg(library).status();
        assert!(status.is_ok_and(|status| status.success()), "objcopy {words:?}; hint: apt-get install binutils");
    };
    let id = place().join("id");
    objcopy(&["--dump-section", &format!(".note.gnu.build-id={}", id.display())]);
    // The identifier is the end of the note.
    let id: String = std::fs::read(id).unwrap()[16..].iter().map(|byte| format!("{byte:02x}")).collect();
    let directory = place().join("debug");
    let file = directory.join(".build-id").join(&id[..2]).join(format!("{}.debug", &id[2..]));
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::copy(library, &file).unwrap();
    let status = Command::new("objcopy").arg("--only-keep-debug").arg(&file).status();
    assert!(status.is_ok_and(|status| status.success()));
    objcopy(&["--strip-all"]);
    directory
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn code_of_loaded_libraries_and_generated_code_have_names() {
    let lab = Lab::new();
    let library = compiled("plugged.so", &["plugged.c"], &["-shared", "-fPIC", "-Wl,--build-id"]);
    let debug = separated(&library);
    let loaded = compiled("loaded", &["loaded.c"], &[]);
    let turns = TURNS.to_string();
    let options = ["--tasks", "2", "--with", &library, "--debug-dir", debug.to_str().unwrap()];
    assert_status(&program(&lab, &options, &[&loaded, &library, "{tasks}", &turns]).output().unwrap(), 0);
    let reading = lab.record(1).attempts.remove(0).reading.unwrap();
    let of = |name: &str| {
        let code = reading.code.iter().filter(|(_, code)| code.function == name);
        let (addresses, places): (Vec<u64>, Vec<_>) = code.map(|(&address, code)| (address, code.source())).unzip();
        let sites = reading.sites.iter().filter(|site| addresses.contains(&site.address));
        (sites.map(|site| site.transfers).sum::<u64>(), places)
    };
    // Each turn of a task takes the line from the other task. Tasks may meet late, or be
    // interrupted.
    let each = TURNS..2 * TURNS + TURNS / 10;
    let (transfers, places) = of("plugged_count");
    let line = format!("plugged.c:{}", line_of("plugged.c", "the library's hot line"));
    assert!(each.contains(&transfers) && places.contains(&Some(line)), "{transfers} at {places:?}");
    let (transfers, _) = of("JS:increment *count.js:7");
    assert!(each.contains(&transfers), "{transfers}");
    let is_hits = |data: &Data| matches!(data, Data::Symbol { name, field: Some(field), .. } if name == "counts" && field == "hits");
    assert!(reading.lines.iter().any(|line| is_hits(&line.data)), "{:?}", reading.lines);
    lab.assert_nothing_left();
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn allocated_memory_has_its_size_and_arena() {
    let lab = Lab::new();
    let allocated = compiled("allocated", &["allocated.c"], &[]);
    let turns = TURNS.to_string();
    assert_status(&program(&lab, &["--tasks", "2"], &[&allocated, "{tasks}", &turns]).output().unwrap(), 0);
    let reading = lab.record(1).attempts.remove(0).reading.unwrap();
    for (wanted, size, at) in [(Arena::Main, 72, 16), (Arena::Thread, 200, 64)] {
        let is_it = |data: &Data| match *data {
            Data::Allocation { arena, bytes, offset, .. } => (arena, bytes, offset) == (wanted, size, at),
            _ => false,
        };
        let lines = reading.lines.iter().filter(|line| is_it(&line.data));
        let transfers: u64 = lines.map(|line| line.transfers).sum();
        assert!(transfers > TURNS, "{wanted:?}: {transfers} of {:?}", reading.lines);
    }
}

/// The parent, which is not counted, ends the region: its heap is at the addresses of the child's.
#[test]
#[ignore = "boots guests: make test-guest"]
fn allocations_of_a_process_that_is_not_counted_name_nothing() {
    let lab = Lab::new();
    let starter = compiled("starter", &["starter.c"], &["-no-pie"]);
    let child = format!("{starter}=/srv/child");
    let options = ["--tasks", "2", "--append", "norandmaps", "--process", "child", "--with", &child];
    assert_status(&program(&lab, &options, &[&starter, "/srv/child"]).output().unwrap(), 0);
    let reading = lab.record(1).attempts.remove(0).reading.unwrap();
    let line = &reading.lines[0];
    assert!(line.transfers > 1000, "{line:?}");
    assert!(!matches!(line.data, Data::Allocation { .. }), "{line:?}");
}

#[test]
fn a_directory_for_debug_files_has_to_be_there() {
    let arguments = ["lens", "program", "--debug-dir", "/nowhere/debug", "--", "/bin/true"];
    assert_refused(&Lab::new().run(&arguments), 2, "no such directory");
    assert!(!Path::new("/nowhere").exists());
}
