//! A small kernel in a small memory: its page tables, types, caches, pages and a memory node.

use super::*;
use crate::address_space::IMAGE_FROM;
use crate::by_type::by_type;
use crate::kernel::KernelNames;
use crate::names::Names;
use crate::written_btf::Written;
use faultline_lens_format::{RawAccess, RawLine, RawReport, Space};
use faultline_record::lens::by_object::Owner;
use faultline_record::lens::by_type::Untypeable;
use faultline_record::lens::counted::{AgentReport, CountedReport};
use faultline_record::lens::data::Data;

const DIRECT_MAP: u64 = 0xffff_8880_0000_0000;
const PAGES: u64 = 0xffff_ea00_0000_0000;
const RECORD_BYTES: u64 = 64;

/// Physical addresses in the kernel's image, which begins at 0.
const ROOT: u64 = 0x1000;
const BANNER: u64 = 0x6000;
const SLAB_CACHES: u64 = 0x6100;
const NODE_DATA: u64 = 0x6200;
const OFFSETS: u64 = 0x6300;
const UNIT_SIZE: u64 = 0x6400;
const TYPES: u64 = 0x8000;

/// Physical addresses of what was allocated.
const RECORDS: u64 = 0x20_0000;
const CACHES: u64 = 0x10_0000;
const MM_SLAB: u64 = 0x11_0000;
const KMALLOC_SLAB: u64 = 0x12_0000;
const NODE: u64 = 0x13_0000;
const AREAS: u64 = 0x14_0000;

struct Memory(Vec<u8>);

impl PhysicalMemory for Memory {
    fn end(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        let from = usize::try_from(address).unwrap_or(usize::MAX);
        let part = self.0.get(from..).and_then(|rest| rest.get(..bytes.len()));
        part.map(|part| bytes.copy_from_slice(part)).is_some()
    }
}

impl Memory {
    fn put(&mut self, address: u64, bytes: &[u8]) {
        self.0[address as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    fn word(&mut self, address: u64, word: u64) {
        self.put(address, &word.to_le_bytes());
    }

    /// Enters a virtual address in the page tables, and creates those above `level` from `tables`
    /// on.
    fn map(&mut self, address: u64, level: u32, to: u64, tables: u64) {
        let mut table = ROOT;
        for (above, next) in (level + 1..4).rev().zip((tables..).step_by(0x1000)) {
            self.word(table + 8 * (address >> (12 + 9 * above) & 511), next | 1);
            table = next;
        }
        self.word(table + 8 * (address >> (12 + 9 * level) & 511), to | 0x81);
    }

    /// The record of a page: the word at 8, its cache, its references.
    fn page(&mut self, physical: u64, head: u64, cache: u64, references: u32) {
        let record = RECORDS + physical / 4096 * RECORD_BYTES;
        self.word(record + 8, head);
        self.word(record + 24, cache);
        self.put(record + 52, &references.to_le_bytes());
    }

    fn cache(&mut self, number: u64, name: &str, bytes: u32, next: u64) {
        let cache = CACHES + number * 0x100;
        self.word(cache, IMAGE_FROM + cache + 0x80);
        self.put(cache + 0x80, name.as_bytes());
        self.put(cache + 8, &[bytes.to_le_bytes(), bytes.to_le_bytes(), 1u32.to_le_bytes()].concat());
        self.word(cache + 24, next);
    }
}

fn types() -> Vec<u8> {
    let mut btf = Written::new();
    let int = btf.int("int", 4);
    let long = btf.int("long", 8);
    let link = btf.structure("list_head", 16, &[("next", long, 0), ("prev", long, 8)]);
    btf.structure(
        "page",
        64,
        &[("flags", long, 0), ("compound_head", long, 8), ("mapping", long, 24), ("_refcount", int, 52)],
    );
    btf.structure("slab", 64, &[("flags", long, 0), ("slab_cache", long, 24)]);
    btf.structure(
        "kmem_cache",
        64,
        &[("name", long, 0), ("size", int, 8), ("object_size", int, 12), ("refcount", int, 16), ("list", link, 24)],
    );
    let lock = btf.structure("rw_semaphore", 16, &[("count", long, 0), ("owner", long, 8)]);
    let private = btf.structure("private", 200, &[("state", long, 0), ("last", long, 192)]);
    let to_private = btf.pointer(private);
    let lists = btf.structure("lists", 32, &[("count", long, 0), ("batch", long, 8)]);
    let to_lists = btf.pointer(lists);
    btf.structure("mm_struct", 1000, &[("owner", to_private, 0), ("mmap_lock", lock, 128)]);
    let zone = btf.structure("zone", 64, &[("lists", to_lists, 0), ("lock", lock, 32)]);
    let zones = btf.array(zone, 2);
    btf.structure("pglist_data", 256, &[("node_zones", zones, 0)]);
    btf.variable("runqueues", lock);
    btf.bytes()
}

fn memory() -> Memory {
    let mut memory = Memory(vec![0; 8 << 20]);
    memory.map(IMAGE_FROM, 2, 0, 0x2000);
    memory.map(PAGES, 1, RECORDS, 0x3000);
    memory.put(BANNER, b"Linux version 9");
    memory.put(TYPES, &types());
    memory.word(SLAB_CACHES, DIRECT_MAP + CACHES + 24);
    memory.cache(0, "mm_struct", 1000, DIRECT_MAP + CACHES + 0x100 + 24);
    memory.cache(1, "kmalloc-256", 256, IMAGE_FROM + SLAB_CACHES);
    // A slab of two pages.
    memory.page(MM_SLAB, 0, DIRECT_MAP + CACHES, 1);
    memory.page(MM_SLAB + 4096, PAGES + MM_SLAB / 4096 * RECORD_BYTES + 1, 0, 0);
    memory.page(KMALLOC_SLAB, 0, DIRECT_MAP + CACHES + 0x100, 1);
    memory.page(NODE, 0, 0, 1);
    memory.page(AREAS, 0, 0, 1);
    memory.page(AREAS + 0x1000, 0, 0, 1);
    // The fifth object of the slab begins on its first page and ends on the second.
    memory.word(MM_SLAB + 4 * 1000, DIRECT_MAP + KMALLOC_SLAB + 256);
    memory.word(NODE_DATA, DIRECT_MAP + NODE);
    memory.word(NODE + 64, 0x800);
    memory.put(UNIT_SIZE, &0x1000u32.to_le_bytes());
    for cpu in 0..2 {
        memory.word(OFFSETS + 8 * cpu, DIRECT_MAP + AREAS + cpu * 0x1000);
    }
    memory
}

fn kernel() -> KernelMemory {
    let in_image = [
        ("init_top_pgt", ROOT),
        ("linux_banner", BANNER),
        ("slab_caches", SLAB_CACHES),
        ("node_data", NODE_DATA),
        ("__per_cpu_offset", OFFSETS),
        ("pcpu_unit_size", UNIT_SIZE),
        ("__start_BTF", TYPES),
        ("__stop_BTF", TYPES + types().len() as u64),
    ];
    let per_cpu = [("__per_cpu_start", 0), ("runqueues", 0x100), ("__per_cpu_end", 0x200)];
    let lines = in_image.map(|(name, at)| (name, IMAGE_FROM + at)).into_iter().chain(per_cpu);
    let symbols = lines.map(|(name, at)| format!("{at:016x} D {name}").parse().unwrap());
    KernelMemory::new(Arc::new(Kallsyms::new(symbols).unwrap()))
}

fn names(memory: &Memory) -> KernelNames {
    let kernel = kernel();
    let per_cpu_bases = vec![DIRECT_MAP + AREAS, DIRECT_MAP + AREAS + 0x1000];
    let report = CountedReport {
        counts: RawReport { direct_map: Some(DIRECT_MAP), ..RawReport::empty(2) },
        agent: AgentReport { per_cpu_bases, ..AgentReport::default() },
    };
    let survey = kernel.survey(memory).unwrap();
    KernelNames::new(kernel.symbols.clone(), None, Some(survey), &report)
}

#[test]
fn objects_have_types_and_members() {
    let names = names(&memory());
    let at = |physical| names.data(physical, Space::Physical, false).to_string();
    assert_eq!(at(MM_SLAB + 128), "mm_struct.mmap_lock.count at 0x110000");
    let fifth = MM_SLAB + 4 * 1000;
    assert_eq!(at(fifth + 136), format!("mm_struct.mmap_lock.owner at {fifth:#x}"), "on the slab's second page");
    assert_eq!(at(MM_SLAB + 64), "mm_struct+0x40 at 0x110000", "a hole");
    let of_size = Data::Allocated { cache: "kmalloc-256".into(), address: KMALLOC_SLAB, offset: 8 };
    assert_eq!(names.data(KMALLOC_SLAB + 8, Space::Physical, false), of_size);
    assert_eq!(at(KMALLOC_SLAB + 256 + 192), format!("private.last at {:#x}", DIRECT_MAP + KMALLOC_SLAB + 256));
    let contents = names.data(MM_SLAB + 128, Space::Physical, true);
    assert!(matches!(contents, Data::Page { contents: true, .. }), "a program's page is never an object");
}

#[test]
fn merged_caches_have_no_type_and_those_from_the_start_do() {
    let with_users = |users: i32| {
        let mut memory = memory();
        memory.put(CACHES + 16, &users.to_le_bytes());
        names(&memory).data(MM_SLAB + 128, Space::Physical, false).to_string()
    };
    assert_eq!(with_users(-1), "mm_struct.mmap_lock.count at 0x110000", "exempt from being merged");
    assert_eq!(with_users(2), "mm_struct+0x80 at 0x110000", "the cache's name");
}

#[test]
fn nodes_and_what_each_cpu_has_are_named() {
    let names = names(&memory());
    let name = |physical| names.data(physical, Space::Physical, false).name();
    assert_eq!(name(NODE + 64 + 32).as_deref(), Some("pglist_data.node_zones[1].lock.count"));
    assert_eq!(name(AREAS + 0x1000 + 0x108).as_deref(), Some("runqueues.owner (per CPU)"));
    assert_eq!(name(AREAS + 0x1000 + 0x808).as_deref(), Some("lists.batch (per CPU)"));
    assert_eq!(name(AREAS + 0x900), None, "nothing leads there");
    let mut other = memory();
    other.page(AREAS, 0, DIRECT_MAP + CACHES, 1);
    let given_back = self::names(&other).data(AREAS + 128, Space::Physical, false);
    assert!(given_back.name().is_some_and(|name| name.starts_with("mm_struct.")), "{given_back:?}");
}

#[test]
fn every_access_is_counted_for_its_type() {
    let names = names(&memory());
    let access = |offset, is_write, transfers, others: &[(u64, u64)]| RawAccess {
        offset,
        size: 8,
        site: 0xffff_ffff_8100_0000,
        is_write,
        true_sharing: transfers,
        false_sharing: 1,
        others: others.to_vec(),
    };
    let line =
        |address, accesses| RawLine { address, space: Space::Physical, contents: false, by_cpu: Vec::new(), accesses };
    // The second object begins at byte 40 of its line: what is used there at byte 0 is the first
    // one's.
    let second = (MM_SLAB + 1000) & !63;
    let lines = [
        line(MM_SLAB + 128, vec![access(0, true, 10, &[(8, 7)]), access(0, false, 2, &[])]),
        line(second, vec![access(40, false, 4, &[(0, 3), (40, 5)])]),
        line(NODE + 64, vec![access(32, true, 6, &[])]),
        line(AREAS + 0x1800, vec![access(8, true, 1, &[])]),
        line(KMALLOC_SLAB, vec![access(8, true, 2, &[])]),
        line(ROOT, vec![access(8, false, 0, &[])]),
    ];
    let (counted, objects) = by_type(&lines, &names);
    let found: Vec<(&str, u64, u64)> = counted
        .types
        .iter()
        .map(|of| {
            let transfers = of.accesses.iter().map(|access| access.reads.total() + access.writes.total()).sum();
            (of.layout.name.as_str(), transfers, of.begins.iter().map(|begin| begin.objects).sum())
        })
        .collect();
    assert_eq!(found, [("mm_struct", 19, 2), ("pglist_data", 7, 1), ("lists", 2, 1)]);
    let mm = &counted.types[0];
    assert_eq!(mm.begins.iter().map(|begin| (begin.at, begin.objects)).collect::<Vec<_>>(), [(0, 1), (40, 1)]);
    let [owner, lock] = &mm.accesses[..] else { panic!("{mm:?}") };
    assert_eq!((owner.offset, owner.beside, owner.others[0].offset, owner.others[0].transfers), (0, 3, 0, 5));
    assert_eq!((lock.offset, lock.reads.true_sharing, lock.writes.total(), lock.others[0].offset), (128, 2, 11, 136));
    let lock = mm.layout.members.iter().find(|member| member.name.as_deref() == Some("mmap_lock")).unwrap();
    assert_eq!(lock.inner.as_ref().unwrap().members.len(), 2, "its members are listed");
    let untyped: Vec<_> = counted.untyped.iter().map(|of| (&of.what, of.reads.total() + of.writes.total())).collect();
    let class = Untypeable::Cache { name: "kmalloc-256".into() };
    assert_eq!(untyped, [(&class, 3), (&Untypeable::PageTables, 1)]);
    let rows: Vec<_> = objects.iter().map(|of| (&of.owner, of.lines, of.transfers().total())).collect();
    let named = |name: &str| Owner::Type { name: name.into() };
    let memory = |of| Owner::Memory { of, function: None };
    let expected = [
        (named("mm_struct"), 2, 19),
        (named("pglist_data"), 1, 7),
        (memory(class), 1, 3),
        (Owner::Variable { name: "lists".into() }, 1, 2),
        (memory(Untypeable::PageTables), 1, 1),
    ];
    assert_eq!(rows, expected.each_ref().map(|(owner, lines, transfers)| (owner, *lines, *transfers)));
    let of_line = objects[0].by_site.iter().map(|site| site.transfers).sum::<u64>();
    assert_eq!((of_line, objects[0].reads.total(), objects[0].writes.total()), (19, 8, 11));
}

#[test]
fn pages_without_objects_have_a_use() {
    let names = names(&memory());
    let at = |physical| names.data(physical, Space::Physical, false);
    assert_eq!(at(ROOT + 8), Data::PageTable { frame: 1, offset: 8 });
    assert_eq!(at(0x15_0008), Data::FreePage { frame: 0x150, offset: 8 });
    let record = |physical: u64, offset: u64| {
        names.data(PAGES + physical / 4096 * RECORD_BYTES + offset, Space::Virtual, false).name()
    };
    assert_eq!(record(NODE, 52).as_deref(), Some("struct page._refcount"));
    assert_eq!(record(MM_SLAB, 24).as_deref(), Some("struct page.slab_cache"));
}

#[test]
fn a_kernel_that_says_nothing_has_a_reason() {
    let why = |change: &dyn Fn(&mut Memory)| {
        let mut memory = memory();
        change(&mut memory);
        kernel().survey(&memory).err()
    };
    assert_eq!(why(&|_| {}), None);
    assert_eq!(why(&|memory| memory.put(BANNER, b"Minix")), Some(Untyped::KernelNotFound));
    assert_eq!(why(&|memory| memory.word(ROOT + 8 * 511, 0)), Some(Untyped::KernelNotFound));
    assert!(matches!(why(&|memory| memory.put(TYPES, b"\0")), Some(Untyped::BadTypes { .. })));
    let symbols = ["init_top_pgt", "linux_banner"].iter().zip([ROOT, BANNER]);
    let symbols = symbols.map(|(name, at)| format!("{:016x} D {name}", IMAGE_FROM + at).parse().unwrap());
    let kernel = KernelMemory::new(Arc::new(Kallsyms::new(symbols).unwrap()));
    assert_eq!(kernel.survey(&memory()).err(), Some(Untyped::NoTypes));
}

#[test]
fn damaged_memory_does_no_harm() {
    for seed in 1..40u64 {
        let mut memory = memory();
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for _ in 0..200 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Records, caches, objects, a node and CPUs' areas; the types have a test of their own.
            let places =
                [(CACHES, 0x200), (MM_SLAB, 0x2000), (NODE, 0x100), (AREAS, 0x2000), (RECORDS, 0x8000), (OFFSETS, 16)];
            let (from, bytes) = places[(random >> 33) as usize % places.len()];
            memory.0[(from + (random >> 40) % bytes) as usize] = random as u8;
        }
        let _ = kernel().survey(&memory);
    }
}
