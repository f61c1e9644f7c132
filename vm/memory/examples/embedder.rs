//! A small embedder: its own page tables and machine, with one CPU and no TLB, and a process that
//! uses more memory than exists. It writes a byte to each of 300 pages with 100 frames, forks, and
//! reads them in the child. A temporary file is the swap area.
//!
//! `cargo run -p faultline-memory --example embedder`

use faultline_frames::{Config, CpuNumber, DomainId, FixedCpu, Frames, MemoryArea};
use faultline_memory::{
    CpuSet, FaultError, Flush, FrameNumber, Hand, Machine, Memory, NoMemory, PageRange, Pager, Pmap, Rights, Started,
    Transfer, Translation, VirtualPage,
};
use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex};

const PAGE: usize = 4096;
type Contents = Arc<Mutex<BTreeMap<u64, Vec<u8>>>>;

/// Page tables: a map of entries. A kernel's are the tables that the hardware walks.
struct TranslationMap(Mutex<BTreeMap<u64, Translation>>);

// SAFETY: 1. An entry holds the last `enter`, without the rights that `protect` took. 2. No table
// is taken out.
unsafe impl Pmap for TranslationMap {
    type Retired = ();

    fn enter(&self, page: VirtualPage, frame: FrameNumber, rights: Rights, _: &mut ()) -> Result<(), NoMemory> {
        let new = Translation { frame, rights, accessed: false, dirty: false };
        let mut entries = self.0.lock().unwrap();
        entries.entry(page.0).and_modify(|entry| entry.rights = entry.rights | rights).or_insert(new);
        Ok(())
    }
    fn remove(&self, page: VirtualPage, _: &mut ()) -> Option<Translation> {
        self.0.lock().unwrap().remove(&page.0)
    }
    fn protect(&self, page: VirtualPage, rights: Rights) -> Option<Translation> {
        let mut entries = self.0.lock().unwrap();
        let entry = entries.get_mut(&page.0)?;
        let before = *entry;
        entry.rights = Rights::from_bits(entry.rights.bits() & rights.bits());
        Some(before)
    }
    fn query(&self, page: VirtualPage) -> Option<Translation> {
        self.0.lock().unwrap().get(&page.0).copied()
    }
    fn harvest(&self, page: VirtualPage) -> Option<Translation> {
        let mut entries = self.0.lock().unwrap();
        let entry = entries.get_mut(&page.0)?;
        Some(std::mem::replace(entry, Translation { accessed: false, dirty: false, ..*entry }))
    }
    fn is_empty((): &()) -> bool {
        true
    }
    fn free(&self, (): ()) {}
}

/// The machine: the contents of its frames.
struct Small(Contents);

// SAFETY: 1. and 2. There is one CPU, without a TLB: translations are looked up for each access. 3.
// Each writes one frame.
unsafe impl Machine for Small {
    type Pmap = TranslationMap;
    type Pinned<'a> = ();

    fn pin(&self, _: CpuNumber) {}
    fn pages(&self) -> PageRange {
        PageRange::X86_64
    }
    fn new_pmap(&self) -> Result<TranslationMap, NoMemory> {
        Ok(TranslationMap(Mutex::default()))
    }
    fn flush(&self, _: CpuNumber, _: &Flush) {}
    fn shoot(&self, _: &CpuSet, _: &Flush) {}
    fn zero(&self, frame: FrameNumber) {
        self.0.lock().unwrap().insert(frame.0, vec![0; PAGE]);
    }
    fn copy(&self, from: FrameNumber, to: FrameNumber) {
        let mut contents = self.0.lock().unwrap();
        let copied = contents[&from.0].clone();
        contents.insert(to.0, copied);
    }
}

/// A pager to a file. It ends each transfer before it returns; a kernel's pager returns
/// `Started::Later`.
#[derive(Debug)]
struct SwapFile(Contents, std::fs::File);

impl Pager for SwapFile {
    fn read(&self, first: u64, frames: &[FrameNumber], transfer: Transfer) -> Started {
        let read = (first..).zip(frames).take_while(|(page, frame)| {
            let mut bytes = vec![0; PAGE];
            let is_read = self.1.read_exact_at(&mut bytes, page * PAGE as u64).is_ok();
            self.0.lock().unwrap().insert(frame.0, bytes);
            is_read
        });
        let pages = read.count();
        Started::Done(transfer, pages)
    }
    fn write(&self, first: u64, frames: &[FrameNumber], transfer: Transfer) -> Started {
        let contents = self.0.lock().unwrap();
        let written = (first..)
            .zip(frames)
            .take_while(|(page, frame)| self.1.write_all_at(&contents[&frame.0], page * PAGE as u64).is_ok());
        let pages = written.count();
        Started::Done(transfer, pages)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Frames, and the memory above them.
    let areas = [MemoryArea { first: FrameNumber(0x100), frames: 100, domain: DomainId(0) }];
    let config = Config::new(&areas, &[DomainId(0)]);
    let mut metadata = vec![MaybeUninit::uninit(); Frames::layout(&config)?.size() + 127];
    // SAFETY: one thread, one handle.
    let frames = Frames::new(&config, &mut metadata, unsafe { FixedCpu::new(CpuNumber(0)) })?;
    let (contents, count) = (Contents::default(), frames.index_count());
    let swap = Arc::new(SwapFile(contents.clone(), tempfile::tempfile()?));
    let memory = Memory::new(Small(contents.clone()), 1, count)?.with_swap(swap, 1000)?;
    // SAFETY: the only handle of CPU 0.
    let cpu = unsafe { memory.cpu(CpuNumber(0), frames) }.ok_or("no such CPU")?;
    let mut hand = Hand::new(0..count);

    // A process and its accesses: look up, or fault; run the page daemon when frames are short.
    let parent = cpu.new_space()?;
    cpu.activate(&parent)?;
    cpu.map(&parent, PageRange::new(VirtualPage(16), 300)?, Rights::READ | Rights::WRITE)?;
    let mut access = |space: &_, page: u64, rights: Rights, byte: Option<u8>| loop {
        let space: &faultline_memory::Space<'_, Small> = space;
        let mut entries = space.pmap(CpuNumber(0)).expect("it was active").0.lock().unwrap();
        if let Some(entry) = entries.get_mut(&page).filter(|entry| entry.rights.allows(rights)) {
            (entry.accessed, entry.dirty) = (true, entry.dirty || byte.is_some());
            let mut contents = contents.lock().unwrap();
            let place = &mut contents.get_mut(&entry.frame.0).expect("a frame with contents")[7];
            *place = byte.unwrap_or(*place);
            return Ok::<u8, FaultError>(*place);
        }
        drop(entries);
        match cpu.fault(space, VirtualPage(page), rights) {
            Err(FaultError::NoMemory) if cpu.sweep(&mut hand, 16).reclaimed > 0 => {}
            resolved => resolved?,
        }
    };
    for page in 16..316 {
        access(&parent, page, Rights::WRITE, Some(page as u8))?;
    }
    let child = cpu.fork(&parent)?;
    cpu.activate(&child)?;
    for page in 16..316 {
        assert_eq!(access(&child, page, Rights::READ, None)?, page as u8);
    }
    print!("300 pages in 100 frames: each has its byte, in the child too.\n{}", memory.counters());
    for space in [parent, child] {
        cpu.deactivate(&space);
        cpu.exit(space).map_err(|(_, error)| error)?;
    }
    assert_eq!((cpu.frames().free(), memory.swapped()), (100, 0));
    Ok(())
}
