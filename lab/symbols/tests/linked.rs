//! Names in files at their link addresses.

use crate::compiled::Compiled;
use faultline_lens_format::Space;
use faultline_symbols::{Image, LinkedNames, Names, PlacedImage};
use std::rc::Rc;

fn placed(file: &Compiled, offset: u64) -> PlacedImage {
    PlacedImage { image: Image::parse(&file.bytes).unwrap(), offset }
}

#[test]
fn addresses_are_those_of_the_files_and_the_first_file_comes_first() {
    let linked = |options: &[&str]| Compiled::new("cc", "counters.c", &[&["-O1", "-no-pie"], options].concat());
    // Both have the same code, and one has members.
    let (debug, plain) = (linked(&["-g"]), linked(&[]));
    let names = |files: [&Compiled; 2]| LinkedNames::new(files.map(|file| placed(file, 0)).into());
    let at = debug.address_of("pool") + 8;
    assert_eq!(at, plain.address_of("pool") + 8);
    let said = |names: &LinkedNames| names.data(at, Space::Virtual, false).to_string();
    assert_eq!(said(&names([&debug, &plain])), "pool.misses");
    assert_eq!(said(&names([&plain, &debug])), "pool+0x8");
    let named = names([&plain, &debug]);
    assert_eq!(named.code(debug.address_of("worker")).unwrap().function, "worker");
    // A physical address belongs to no file, and neither does the first page.
    assert_eq!(named.data(at, Space::Physical, false).name(), None);
    assert_eq!((named.code(8), named.data(8, Space::Virtual, false).name()), (None, None));
    let located = names([&debug, &plain]).locate(at, Space::Virtual, false).object.unwrap();
    assert_eq!(names([&debug, &plain]).structure(located.of).unwrap().0, "pool");
    // A relocated file has its names elsewhere, also below its link address.
    for offset in [0x20_0000, 0_u64.wrapping_sub(0x1000)] {
        let moved = LinkedNames::new([placed(&debug, offset)].into());
        let at = |address: u64| address.wrapping_add(offset);
        assert_eq!(moved.data(at(debug.address_of("pool") + 8), Space::Virtual, false).to_string(), "pool.misses");
        // The function begins with inlined code.
        let worker = at(debug.address_of("worker"));
        assert_eq!(moved.code(worker).unwrap().inlined_into.as_deref(), Some("worker"));
        assert_eq!(moved.frames(worker).last().unwrap().function.as_deref(), Some("worker"));
        assert_ne!(moved.data(debug.address_of("pool") + 8, Space::Virtual, false).to_string(), "pool.misses");
    }
    let none = LinkedNames::new(Rc::from([]));
    assert_eq!((none.code(at), none.structure(located.of)), (None, None));
}

#[test]
fn a_label_at_the_end_of_its_section_names_nothing_behind_it() {
    let apart = ["-nostdlib", "-static", "-no-pie", "-Wl,--section-start=.low=0x600000,--section-start=.high=0x680000"];
    let file = Compiled::new("cc", "stack.s", &apart);
    let names = LinkedNames::new(Rc::from([placed(&file, 0)]));
    let name = |address| names.data(address, Space::Virtual, false).name();
    assert_eq!((file.address_of("boot_stack_top"), file.address_of("later")), (0x60_1000, 0x68_0000));
    assert_eq!(name(0x60_0008), Some("boot_stack".to_owned()));
    assert_eq!((name(0x60_1000), name(0x60_1040), name(0x67_fff8)), (None, None, None));
    assert_eq!(name(0x68_0008), Some("later".to_owned()));
}
