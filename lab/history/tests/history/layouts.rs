//! Tests of builds relinked in random layouts.

use crate::{Checkouts, build, built, named_tests, recipe};
use faultline_history::{Build, Commits, Relink, Relinked};
use faultline_record::artefact::{Artefact, BuiltKernel};
use faultline_record::machine::Accelerator;
use faultline_record::recipe::Recipe;
use faultline_record::relink::{LayoutKind, RelinkResult, SectionOrder, SectionSpacing};
use libtest_mimic::Trial;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

pub(crate) fn tests() -> Vec<Trial> {
    named_tests![
        a_layout_moves_code_and_data_and_its_seed_repeats_it,
        builds_that_do_the_same_are_known,
        a_kernel_gets_layouts_by_its_own_script,
        links_that_take_no_layout_are_unchanged,
    ]
}

/// A program of three files that prints the order of two functions.
fn linked_program(place: &Checkouts) {
    let main =
        "#include <stdio.h>\nint f(int), g(int);\nint main(void) { printf(\"%d\\n\", f(1) + g(1)); return 0; }\n";
    fs::write(place.theirs().join("main.c"), main).unwrap();
    fs::write(place.theirs().join("f.c"), "int counter;\nint f(int x) { return x + counter; }\n").unwrap();
    fs::write(place.theirs().join("g.c"), "int other = 4;\nint g(int x) { return x * other; }\n").unwrap();
    let makefile = "prog: main.o f.o g.o\n\tcc -o $@ $^ $(LINK)\n\techo linked >> links\n";
    place.commit("Makefile", makefile, "a program");
}

fn make(link: &str) -> Recipe {
    Recipe { command: vec!["make".to_owned(), format!("LINK={link}")], kept: vec!["prog".to_owned()], ..recipe("") }
}

/// Result of relinking HEAD in a layout.
fn relinked(place: &Checkouts, recipe: &Recipe, kind: LayoutKind, seed: u32) -> Relinked {
    relinked_as(&Artefact::Command(vec!["./prog".to_owned()]), place, recipe, kind, seed)
}

fn relinked_as(artefact: &Artefact, place: &Checkouts, recipe: &Recipe, kind: LayoutKind, seed: u32) -> Relinked {
    let (own, _) = built(place, "HEAD", recipe);
    place.with(|workshop, lab| {
        let commit = workshop.repository.commit("HEAD", lab).unwrap();
        let asked = Relink { commit: &commit, layout: kind.with_seed(seed), own: &own, artefact };
        workshop.relink(&asked, recipe, &workshop.tools(recipe, lab).unwrap(), lab).unwrap()
    })
}

fn places(relinked: &Relinked) -> &str {
    match &relinked.result {
        RelinkResult::Placed { places } => places,
        other => panic!("{other:?}"),
    }
}

fn a_layout_moves_code_and_data_and_its_seed_repeats_it() {
    let place = Checkouts::new();
    linked_program(&place);
    let recipe = make("");
    let kind = LayoutKind::default();
    let first = relinked(&place, &recipe, kind, 1);
    let directory = first.directory.clone().unwrap();
    let run = Command::new(directory.join("prog")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&run.stdout), "5\n");
    let checkout = directory.parent().unwrap().with_file_name("tree");
    assert!(!checkout.with_file_name("linker").exists(), "the linker wrapper is gone");

    // Equal seeds give equal bytes, and other seeds other places.
    let bytes = fs::read(directory.join("prog")).unwrap();
    fs::remove_dir_all(&directory).unwrap();
    let again = relinked(&place, &recipe, kind, 1);
    assert!(places(&again) == places(&first) && fs::read(directory.join("prog")).unwrap() == bytes);
    assert_ne!(places(&relinked(&place, &recipe, kind, 2)), places(&first));

    // Every random order and spacing moves something.
    for order in [SectionOrder::Keep, SectionOrder::Random, SectionOrder::Sort] {
        for spacing in [SectionSpacing::None, SectionSpacing::Gap, SectionSpacing::Align] {
            let kind = LayoutKind { order, spacing };
            if kind.is_random() {
                let all = [1, 2, 3, 4].map(|seed| relinked(&place, &recipe, kind, seed).result);
                assert!(all.iter().any(|result| matches!(result, RelinkResult::Placed { .. })), "{kind:?}: {all:?}");
            }
        }
    }

    // A build without a layout uses nothing that a layout left, and objects are compiled once.
    let (own, _) = built(&place, "HEAD", &recipe);
    let own = fs::read(own.join("prog")).unwrap();
    place.commit("NEWS", "1", "the same program");
    let (next, _) = built(&place, "HEAD", &recipe);
    assert!(fs::read(next.join("prog")).unwrap() == own);
    let objects = fs::metadata(checkout.join("f.o")).unwrap().modified().unwrap();
    relinked(&place, &recipe, kind, 1);
    assert_eq!(fs::metadata(checkout.join("f.o")).unwrap().modified().unwrap(), objects);
}

fn builds_that_do_the_same_are_known() {
    let place = Checkouts::new();
    let recipe = Recipe {
        command: ["cc", "-g", "-o", "prog", "a.c"].map(str::to_owned).into(),
        kept: vec!["prog".to_owned()],
        ..recipe("")
    };
    let first_of = |text: &str| {
        place.commit("a.c", text, "a program");
        let (directory, _) = built(&place, "HEAD", &recipe);
        (place.with(|workshop, _| workshop.first_like(&directory)), directory)
    };
    let (first, own) = first_of("int main(void) { return 1; }\n");
    assert_eq!(first, own);
    // Debugging information differs.
    let (same, commented) = first_of("\n\n/* nothing */\nint main(void) { return 1; }\n");
    assert!(same == own && commented != own && commented.join("prog").is_file());
    let (other, changed) = first_of("int main(void) { return 2; }\n");
    assert_eq!(other, changed);
    // A missing build is the first of nothing.
    fs::remove_dir_all(&own).unwrap();
    assert_eq!(place.with(|workshop, _| workshop.first_like(&commented)), commented);
}

/// A program linked like Linux: from a thin archive, by its own script, with a tool of its build
/// linked too.
fn a_kernel_gets_layouts_by_its_own_script() {
    let place = Checkouts::new();
    let script = "ENTRY(first) SECTIONS { . = 0x400000;\n  .text : { _stext = .; *(.text.hot) *(.text) }\n  __init_begin = .;\n  \
        .data : { *(.data..percpu) *(.data) }\n  .bss : { *(.bss) *(COMMON) } }\n";
    fs::write(place.theirs().join("kernel.lds"), script).unwrap();
    fs::write(place.theirs().join("tool.c"), "int main(void) { return 0; }\n").unwrap();
    for name in ["first", "second", "third"] {
        let percpu = "__attribute__((section(\".data..percpu\")))";
        let text = format!(
            "int {name}_data = 1; {percpu} int {name}_percpu = 2;\nint {name}(int x) {{ return x + {name}_data; }}\n"
        );
        fs::write(place.theirs().join(format!("{name}.c")), text).unwrap();
    }
    let makefile = "image: vmlinux\n\tobjcopy -S vmlinux image\nvmlinux: tool first.o second.o third.o\n\t\
        rm -f all.a && ar rcsT all.a first.o second.o third.o\n\t\
        ld --script=kernel.lds -o vmlinux --whole-archive all.a --no-whole-archive\n\
        %.o: %.c\n\tcc -c -O1 -fno-pie -fcf-protection=none -o $@ $<\ntool: tool.c\n\tcc -o $@ $<\n";
    place.commit("Makefile", makefile, "a kernel");
    let kept = ["image", "vmlinux"].map(str::to_owned).to_vec();
    let recipe = Recipe { command: vec!["make".to_owned()], kept, ..recipe("") };
    for vmlinux in [None, Some("vmlinux".to_owned())] {
        let kernel = BuiltKernel {
            image: "image".to_owned(),
            vmlinux,
            workload: "zero_fill:base".to_owned(),
            mode: None,
            accelerator: Accelerator::default(),
        };
        let kernel = Artefact::Kernel(Box::new(kernel));
        let relinked = |seed| relinked_as(&kernel, &place, &recipe, LayoutKind::default(), seed);
        let layouts: BTreeSet<String> = (1..5).map(|seed| places(&relinked(seed)).to_owned()).collect();
        assert!(layouts.len() > 1, "{layouts:?}");
        assert_eq!(places(&relinked(1)), places(&relinked(1)));
    }
    // Tools of the build are not linked again.
    let first = relinked(&place, &recipe, LayoutKind::default(), 9).directory;
    assert!(first.is_some());
    let tool = first.unwrap().parent().unwrap().with_file_name("tree").join("tool");
    let before = fs::metadata(&tool).unwrap().modified().unwrap();
    let (own, _) = built(&place, "HEAD", &Recipe { kept: vec!["image".to_owned()], ..recipe });
    assert_eq!(fs::metadata(&tool).unwrap().modified().unwrap(), before);
    let percpu = Command::new("nm").arg(tool.with_file_name("vmlinux")).output().unwrap();
    assert!(String::from_utf8_lossy(&percpu.stdout).contains(" D first_percpu") && own.join("image").is_file());
}

fn links_that_take_no_layout_are_unchanged() {
    let place = Checkouts::new();
    linked_program(&place);
    for link in ["-Wl,-Ttext-segment=0x800000", "-B/nowhere -fuse-ld=gold"] {
        let recipe = make(link);
        let Build::Built { .. } = build(&place, "HEAD", &recipe) else { continue };
        let unchanged = relinked(&place, &recipe, LayoutKind::default(), 1);
        assert_eq!(unchanged, Relinked { directory: None, result: RelinkResult::Unchanged }, "{link}");
    }
    // A build that fails only with a layout is a result of the layout.
    let recipe = Recipe {
        command: ["sh", "-c", "case $COMPILER_PATH in *linker*) exit 3;; esac; make"].map(str::to_owned).into(),
        ..make("")
    };
    let failed = relinked(&place, &recipe, LayoutKind::default(), 1);
    assert!(
        matches!(failed.result, RelinkResult::Failed { ref how, .. } if how == "it exited with status 3"),
        "{failed:?}"
    );
}
