//! Names of a compiled program: functions with source lines, members of variables, and the memory
//! around it.

use crate::compiled::Compiled;
use faultline_lens_format::{RawSample, Space, Stack};
use faultline_record::lens::counted::{GeneratedCode, Mapping};
use faultline_record::lens::data::{Code, Data};
use faultline_symbols::{DebugDirectories, FunctionCode, Heaps, Image, Names, ProgramNames};
use object::{Object, ObjectSegment, SegmentFlags, elf};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use tempfile::TempDir;

const C: &str = include_str!("programs/counters.c");
const LOAD_BASE: u64 = 0x40_0000_0000;

/// The names of a program that was loaded `load_base` above the addresses in its file.
fn names(program: &Compiled, load_base: u64) -> ProgramNames {
    names_in(Image::parse(&program.bytes).unwrap(), &mapping(program, load_base))
}

fn names_in(image: Image, mapping: &Mapping) -> ProgramNames {
    let image = Rc::new(image);
    ProgramNames::new(std::slice::from_ref(mapping), &[], Heaps::default(), |_| Some(image.clone()), None)
}

/// The mapping of its code: whole pages.
fn mapping(program: &Compiled, load_base: u64) -> Mapping {
    let file = object::File::parse(&program.bytes[..]).unwrap();
    let is_code = |flags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags.0 & elf::PF_X.0 != 0);
    let code = file.segments().find(|segment| is_code(segment.flags())).unwrap();
    let within_page = code.address() % 4096;
    Mapping {
        process: 1,
        address: load_base + code.address() - within_page,
        length: (code.size() + within_page).next_multiple_of(4096),
        offset: code.file_range().0 - within_page,
        path: "/srv/program".into(),
    }
}

fn pie(options: &[&str]) -> Compiled {
    Compiled::new("cc", "counters.c", &[&["-O1", "-fPIE", "-pie"], options].concat())
}

/// The number, from 1, of the line of the program's text that contains `mark`.
fn line_of(mark: &str) -> Option<u32> {
    (1..).zip(C.lines()).find(|(_, line)| line.contains(mark)).map(|(number, _)| number)
}

fn data(names: &ProgramNames, address: u64) -> String {
    names.data(address, Space::Virtual, false).to_string()
}

#[test]
fn members_are_named_down_to_the_last() {
    for dwarf in ["-gdwarf-4", "-gdwarf-5"] {
        let program = pie(&["-g", dwarf]);
        let names = names(&program, LOAD_BASE);
        let pool = LOAD_BASE + program.address_of("pool");
        let at = |offset: u64| data(&names, pool + offset);
        assert_eq!([at(0), at(8), at(15)], ["pool.hits", "pool.misses", "pool.misses"], "{dwarf}");
        assert_eq!(at(16), "pool.tag");
        assert_eq!(at(21), "pool.bytes[5]");
        assert_eq!([at(24), at(32), at(40)], ["pool.slots[0].value", "pool.slots[0].state", "pool.slots[1].value"]);
        assert_eq!([at(88), at(88 + 4 * 4)], ["pool.grid[0][0]", "pool.grid[1][1]"]);
        assert_eq!(data(&names, LOAD_BASE + program.address_of("plain")), "plain");
        assert_eq!(data(&names, LOAD_BASE + program.address_of("calls")), "calls");
    }
}

#[test]
fn variables_have_the_layouts_of_their_types() {
    for dwarf in ["-gdwarf-4", "-gdwarf-5"] {
        let program = pie(&["-g", dwarf]);
        let names = names(&program, LOAD_BASE);
        let pool = LOAD_BASE + program.address_of("pool");
        let object = names.locate(pool + 44, Space::Virtual, false).object.unwrap();
        assert_eq!((object.offset, names.structure(object.of).unwrap()), (44, ("pool".to_owned(), 128)), "{dwarf}");
        let layout = names.layout(object.of, &BTreeSet::from([40])).unwrap();
        let listed: Vec<(&str, &str, u64, u64)> = layout
            .members
            .iter()
            .map(|member| (member.name.as_deref().unwrap_or(""), member.of.as_str(), member.offset, member.size))
            .collect();
        let grid = ("grid", "int[6]", 88, 24);
        let expected = [("hits", "long int", 0, 8), ("misses", "long int", 8, 8), ("", "union", 16, 8)];
        assert_eq!((&listed[..3], &listed[3..]), (&expected[..], &[("slots", "struct slot[4]", 24, 64), grid][..]));
        let slot = &layout.members[3].inner.as_ref().unwrap().members[0];
        assert_eq!((slot.name.as_deref(), slot.offset, slot.structure.as_deref()), (Some("[1]"), 40, Some("slot")));
        let plain = names.locate(LOAD_BASE + program.address_of("plain"), Space::Virtual, false);
        assert_eq!(plain.object, None, "a number");
    }
}

#[test]
fn code_has_function_line_and_what_it_was_inlined_into() {
    let program = pie(&["-g"]);
    let names = names(&program, LOAD_BASE);
    let worker = LOAD_BASE + program.address_of("worker");
    let codes: Vec<Code> = (0..32).filter_map(|offset| names.code(worker + offset)).collect();
    let hot = codes.iter().find(|code| code.line == line_of("the hot line")).expect("the hot line is in worker");
    assert_eq!((hot.function.as_str(), hot.inlined_into.as_deref()), ("count", Some("worker")));
    assert_eq!(hot.to_string(), format!("count counters.c:{}", line_of("the hot line").unwrap()));
    assert_eq!((codes[0].offset, codes[1].offset), (0, 1));
}

#[test]
fn a_function_begins_at_its_line() {
    let image = |options: &[&str]| Image::parse(&pie(options).bytes).unwrap();
    let (file, line) = image(&["-g"]).first_line("worker").unwrap();
    let declared = line_of("void worker(void)").unwrap();
    // An optimised function may begin with the first statement of its body.
    assert!(file.ends_with("counters.c") && (declared..declared + 4).contains(&line), "{file}:{line}, not {declared}");
    assert_eq!(image(&["-g"]).first_line("nothing"), None);
    assert_eq!(image(&["-g0"]).first_line("worker"), None);
}

#[test]
fn a_function_is_found_by_its_code_and_place_in_a_page() {
    let program = pie(&["-g"]);
    let image = Image::parse(&program.bytes).unwrap();
    let [worker] = &image.functions_named("worker", &program.bytes)[..] else { panic!("one worker") };
    assert_eq!(worker.page_offset, program.address_of("worker") % 4096);
    assert!((1..=64).contains(&worker.bytes.len()));
    assert_eq!(image.places_like(worker, &program.bytes), 1);
    let other = FunctionCode { page_offset: worker.page_offset + 1, ..worker.clone() };
    assert_eq!(image.places_like(&other, &program.bytes), 0);
    assert_eq!(image.functions_named("pool", &program.bytes), [], "data");
    assert!(image.has_variable("pool") && !image.has_variable("worker") && !image.has_variable("nothing"));
    assert_eq!(image.functions_named("nothing", &program.bytes), []);
}

#[test]
fn without_debug_information_symbols_remain() {
    let program = pie(&["-g0"]);
    let names = names(&program, LOAD_BASE);
    let pool = LOAD_BASE + program.address_of("pool");
    assert_eq!(
        names.data(pool + 8, Space::Virtual, false),
        Data::Symbol { name: "pool".into(), offset: 8, field: None }
    );
    let code = names.code(LOAD_BASE + program.address_of("worker") + 4).unwrap();
    assert_eq!((code.function.as_str(), code.offset, code.source()), ("worker", 4, None));
}

#[test]
fn a_stripped_program_has_its_own_name_alone() {
    let program = pie(&["-g0", "-s"]);
    let image = Image::parse(&program.bytes).unwrap();
    assert!(!image.has_symbols() && !image.has_debug_information());
    let names = names_in(image, &mapping(&program, LOAD_BASE));
    assert_eq!(names.code(LOAD_BASE + 0x1100).unwrap().to_string(), "[program]");
    assert_eq!(names.code(LOAD_BASE - 1), None);
    assert_eq!(names.data(LOAD_BASE + 0x1100, Space::Virtual, false), Data::Unknown { address: LOAD_BASE + 0x1100 });
}

#[test]
fn compressed_debug_information_is_read_too() {
    let program = pie(&["-g", "-gz=zlib"]);
    assert!(Image::parse(&program.bytes).unwrap().has_debug_information());
    let names = names(&program, 0);
    assert_eq!(data(&names, program.address_of("pool")), "pool.hits");
}

/// A program without debug information and symbols, in a directory with its debug file.
struct Separated {
    directory: TempDir,
    whole: Compiled,
}

impl Separated {
    fn new() -> Self {
        let (directory, whole) = (tempfile::tempdir().unwrap(), pie(&["-g", "-Wl,--build-id"]));
        let separated = Separated { directory, whole };
        std::fs::write(separated.path("program"), &separated.whole.bytes).unwrap();
        separated.objcopy(&["--only-keep-debug", "program", "program.debug"]);
        separated.objcopy(&["--strip-all", "program"]);
        separated
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn objcopy(&self, words: &[&str]) {
        let status = Command::new("objcopy").current_dir(self.directory.path()).args(words).status();
        assert!(status.unwrap().success(), "objcopy {words:?}");
    }

    /// Moves the debug file.
    fn put_debug_file(&self, place: &Path) {
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::rename(self.path("program.debug"), place).unwrap();
    }

    /// The path of the debug file by build id.
    fn by_build_id(&self) -> PathBuf {
        let id = object::File::parse(&*self.whole.bytes).unwrap().build_id().unwrap().unwrap().to_owned();
        let hexadecimal: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        self.path("debug/.build-id").join(&hexadecimal[..2]).join(format!("{}.debug", &hexadecimal[2..]))
    }

    fn image(&self) -> Image {
        Image::read_with_debug_file(&self.path("program"), &DebugDirectories::new(&[self.path("debug")])).unwrap()
    }

    #[track_caller]
    fn assert_named(&self) {
        let names = names_in(self.image(), &mapping(&self.whole, LOAD_BASE));
        assert_eq!(data(&names, LOAD_BASE + self.whole.address_of("pool") + 8), "pool.misses");
        let worker = LOAD_BASE + self.whole.address_of("worker");
        assert!(
            (0..32).filter_map(|offset| names.code(worker + offset)).any(|code| code.line == line_of("the hot line"))
        );
    }

    #[track_caller]
    fn assert_unnamed(&self) {
        let image = self.image();
        assert!(!image.has_debug_information() && !image.has_symbols());
    }
}

#[test]
fn a_debug_file_is_found_by_build_id() {
    let separated = Separated::new();
    separated.assert_unnamed();
    separated.put_debug_file(&separated.by_build_id());
    separated.assert_named();
    assert!(!Image::read(&separated.path("program")).unwrap().has_symbols(), "only if it is asked for");
    let other = pie(&["-g", "-O2", "-Wl,--build-id"]);
    std::fs::write(separated.by_build_id(), &other.bytes).unwrap();
    separated.assert_unnamed();
}

#[test]
fn a_debug_file_is_found_by_its_name_in_the_program() {
    for place in ["program.debug", ".debug/program.debug"] {
        let separated = Separated::new();
        separated.objcopy(&["--add-gnu-debuglink=program.debug", "program"]);
        separated.put_debug_file(&separated.path(place));
        separated.assert_named();
        let mut changed = std::fs::read(separated.path(place)).unwrap();
        *changed.last_mut().unwrap() ^= 1;
        std::fs::write(separated.path(place), changed).unwrap();
        separated.assert_unnamed();
    }
    let separated = Separated::new();
    separated.objcopy(&["--add-gnu-debuglink=program.debug", "program"]);
    let below = separated.directory.path().canonicalize().unwrap().strip_prefix("/").unwrap().join("program.debug");
    separated.put_debug_file(&separated.path("debug").join(below));
    separated.assert_named();
}

#[test]
fn code_that_a_program_generates_has_the_name_that_it_says() {
    let program = pie(&["-g"]);
    let image = Rc::new(Image::parse(&program.bytes).unwrap());
    let code = GeneratedCode { process: 1, address: 0x7f00_0000_1000, length: 64, name: "JS:add *sum.js:3".into() };
    let names =
        ProgramNames::new(&[mapping(&program, LOAD_BASE)], &[code], Heaps::default(), |_| Some(image.clone()), None);
    assert_eq!(names.code(0x7f00_0000_1010).unwrap().to_string(), "JS:add *sum.js:3");
    assert_eq!(names.code(0x7f00_0000_1040), None);
    assert!(names.code(LOAD_BASE + program.address_of("worker")).unwrap().file.is_some(), "code of the program itself");
}

#[test]
fn memory_around_the_program_has_a_kind() {
    let fixed = Compiled::new("cc", "counters.c", &["-g", "-no-pie", "-static"]);
    let names = names(&fixed, 0);
    let pool = fixed.address_of("pool");
    assert_eq!(data(&names, pool), "pool.hits");
    assert!(matches!(names.data(pool + (1 << 22), Space::Virtual, false), Data::Heap { .. }));
    assert!(matches!(names.data(LOAD_BASE, Space::Virtual, false), Data::Mapped { .. }));
    let moved = pie(&["-g"]);
    let names = self::names(&moved, LOAD_BASE);
    assert!(matches!(names.data(LOAD_BASE + (1 << 22), Space::Virtual, false), Data::Heap { .. }));
    assert!(matches!(names.data(LOAD_BASE + (1 << 32), Space::Virtual, false), Data::Mapped { .. }));
    assert!(matches!(names.data(LOAD_BASE - 1, Space::Virtual, false), Data::Mapped { .. }));
}

/// The state of `programs/chain.c` at its end, as the program prints it.
fn trapped(program: &Compiled) -> RawSample {
    let output = program.output();
    let mut words = output.lines().map(|line| u64::from_str_radix(line, 16).unwrap());
    let registers = std::array::from_fn(|_| words.next().unwrap());
    // The trap is an instruction of one byte.
    let site = words.next().unwrap() - 1;
    RawSample { cpu: 0, site, line: 0, space: Space::Virtual, registers, stack: Stack(words.collect()) }
}

/// The functions of a chain, innermost first, and true if it is complete.
fn chain(names: &ProgramNames, sample: &RawSample) -> (Vec<String>, bool) {
    let places = names.callers(sample);
    let frames = places.addresses.iter().flat_map(|&address| names.frames(address));
    (frames.map(|frame| frame.function.unwrap_or_default()).collect(), places.is_whole)
}

#[test]
fn callers_are_found_with_and_without_frame_pointers() {
    for options in
        [["-fomit-frame-pointer", "-O2"], ["-fno-omit-frame-pointer", "-O2"], ["-fomit-frame-pointer", "-O0"]]
    {
        let program = Compiled::new("cc", "chain.c", &[&["-g", "-static"][..], &options].concat());
        let (functions, _) = chain(&names(&program, 0), &trapped(&program));
        let expected = ["trap", "inner", "middle", "by_pointer"];
        assert_eq!(functions[..4], expected, "{options:?}: {functions:?}");
        // The C library's sorting functions are between them.
        assert!(functions.iter().any(|name| name == "main"), "{options:?}: {functions:?}");
    }
}

#[test]
fn a_chain_ends_where_a_table_or_the_stack_does() {
    let program = Compiled::new("cc", "chain.c", &["-g", "-static", "-O2"]);
    let (names, sample) = (names(&program, 0), trapped(&program));
    let (all, _) = chain(&names, &sample);
    let mut short = sample.clone();
    short.stack.0.truncate(2);
    let (functions, is_whole) = chain(&names, &short);
    assert!(functions.len() < all.len() && all.starts_with(&functions) && !is_whole, "{functions:?} of {all:?}");
    let elsewhere = RawSample { site: LOAD_BASE, ..sample };
    assert_eq!(chain(&names, &elsewhere), (vec![String::new()], false));
}

#[test]
fn rust_names_are_demangled() {
    let program = Compiled::new("rustc", "counters.rs", &["-g", "-O", "--edition", "2024"]);
    let names = names(&program, 0);
    let hits = program.address_of("HITS");
    assert_eq!(names.data(hits, Space::Virtual, false).name().unwrap(), "HITS.first.v.value");
    assert_eq!(names.data(hits + 8, Space::Virtual, false).name().unwrap(), "HITS.second.v.value");
    let code = names.code(program.address_of("bump_both")).unwrap();
    assert!(code.function.starts_with("core::sync::atomic::"), "what adds is the library's: {code:?}");
    assert_eq!(code.inlined_into.as_deref(), Some("bump_both"));
    let seen = code.seen();
    let line = 1 + include_str!("programs/counters.rs").lines().position(|line| line.contains("fetch_add")).unwrap();
    assert_eq!((seen.name(), seen.around.len()), (format!("bump_both counters.rs:{line}"), 0));
    assert_eq!(seen.library, Some(code.to_string()));
    let frames = names.frames(program.address_of("bump_both"));
    let functions: Vec<&str> = frames.iter().filter_map(|frame| frame.function.as_deref()).collect();
    let around: Vec<&str> =
        [&code.function].into_iter().chain(&code.between).chain(&code.inlined_into).map(String::as_str).collect();
    assert_eq!(functions, around, "all functions, the innermost first");
    let (outermost, inlined) = frames.split_last().unwrap();
    assert!(!outermost.is_inlined && inlined.iter().all(|frame| frame.is_inlined), "{frames:?}");
}

#[test]
fn what_is_no_program_is_refused_in_words() {
    assert!(Image::parse(b"#!/bin/sh\n").unwrap_err().problem.starts_with("not an ELF file"));
    let missing = Image::read(std::path::Path::new("/nonexistent/program")).unwrap_err();
    assert!(missing.problem.starts_with("cannot read /nonexistent/program"), "{missing}");
}

#[test]
fn damaged_programs_never_panic() {
    let program = pie(&["-g"]);
    for step in 1..64 {
        let mut bytes = program.bytes.clone();
        for at in (step * 97..bytes.len()).step_by(4099) {
            bytes[at] ^= 0xff;
        }
        if let Ok(image) = Image::parse(&bytes) {
            let names = names_in(image, &mapping(&program, 0));
            for address in (0..0x8000).step_by(7) {
                names.code(address);
                names.data(address, Space::Virtual, false);
            }
        }
        let _ = Image::parse(&program.bytes[..program.bytes.len() * step / 64]);
    }
}
