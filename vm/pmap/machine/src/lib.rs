//! A bare image: two CPUs of an emulated x86-64 machine run `faultline-memory` over
//! `faultline-pmap`. It maps, faults and shoots down; the emulator's MMU walks the page tables, and
//! its TLBs keep what is not flushed. `vm/pmap/machine/run.sh` builds and boots it.
//!
//! The crate is empty on other targets.

#![cfg(target_os = "none")]
#![no_std]

extern crate alloc;

mod hardware;
mod kernel;
mod tests;

use alloc::boxed::Box;
use alloc::vec;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Release};
use core::sync::atomic::{AtomicBool, AtomicUsize};
use faultline_frames::{Config, DomainId, FixedCpu, Frames, MemoryArea};
use faultline_memory::{CpuNumber, FrameNumber, Memory, PageRange, Rights, VirtualPage};
use faultline_pmap::{Leaf, MemoryType, PageTables, Record, Table, TablePool};
use hardware::{prepare_cpu, start_second, switch};
use kernel::{Bare, Handle, Pool, RUNNING, check, fail};

/// Frames of programs: from 64 MiB on, 64 MiB.
const FIRST: FrameNumber = FrameNumber(64 << 8);
const FRAMES: u64 = 64 << 8;
const TABLES: usize = 1024;

/// Function that the second CPU runs next; 0: none.
static NEXT: AtomicUsize = AtomicUsize::new(0);
static IS_READY: AtomicBool = AtomicBool::new(false);

/// The first code of each CPU.
#[unsafe(no_mangle)]
extern "C" fn begin(cpu: usize) -> ! {
    if cpu == 0 {
        first();
    }
    prepare_cpu();
    switch(kernel::handle().memory().machine().kernel.root().address());
    // Release, Acquire: what each CPU did before.
    IS_READY.store(true, Release);
    loop {
        let next = NEXT.load(Acquire);
        if next != 0 {
            // SAFETY: stored by `start` from such a function.
            let next = unsafe { core::mem::transmute::<usize, fn()>(next) };
            next();
            NEXT.store(0, Release);
        }
        core::hint::spin_loop();
    }
}

/// Starts a function on the second CPU.
pub(crate) fn start(run: fn()) {
    wait();
    NEXT.store(run as usize, Release);
}

/// Waits until it has returned.
pub(crate) fn wait() {
    while NEXT.load(Acquire) != 0 {
        core::hint::spin_loop();
    }
}

fn leaked<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// The kernel's own page tables: 4 GiB at their physical addresses, the last with devices.
fn kernel_tables(pool: &'static Pool) -> kernel::Tables {
    let Ok(tables) = PageTables::new(pool) else { fail("no page tables") };
    let all = Rights::READ | Rights::WRITE | Rights::EXECUTE;
    let gib = 1 << 18;
    let parts = [(0, 3, all, MemoryType::WriteBack), (3, 1, Rights::READ | Rights::WRITE, MemoryType::Device)];
    for (first, count, rights, memory) in parts {
        let leaf = Leaf::kernel(FrameNumber(first * gib), rights, memory);
        let range = PageRange::new(VirtualPage(first * gib), count * gib);
        check(range.is_ok_and(|range| tables.map(range, leaf).is_ok()), "the kernel is mapped");
    }
    check(tables.leaf(VirtualPage(0)).is_some_and(|(level, _)| level == 2), "pages of 1 GiB");
    tables
}

fn first() -> ! {
    // SAFETY: zeroes are a table without entries.
    let tables: &'static [Table] = Box::leak(unsafe { Box::<[Table]>::new_zeroed_slice(TABLES).assume_init() });
    let records: &'static [Record] = Box::leak((0..TABLES).map(|_| Record::default()).collect());
    // SAFETY: leaked, and used for nothing else; the heap's memory lies at its physical addresses.
    let pool = unsafe { TablePool::new(FrameNumber::containing(tables.as_ptr() as u64), tables, records) };
    let Some(pool) = pool else { fail("no pool of tables") };
    let kernel = kernel_tables(leaked(pool));
    switch(kernel.root().address());
    prepare_cpu();

    let areas = [MemoryArea { first: FIRST, frames: FRAMES, domain: DomainId(0) }];
    let config = Config::new(&areas, &[DomainId(0); 2]);
    let bytes = Frames::layout(&config).map_or(0, |layout| layout.size() + 127);
    let metadata = Box::leak(vec![MaybeUninit::uninit(); bytes].into_boxed_slice());
    let Ok(frames) = Frames::new(&config, metadata, ()) else { fail("no frames") };
    let machine = Bare { kernel, forgets_shoots: AtomicBool::new(false) };
    let Ok(memory) = Memory::new(machine, 2, frames.index_count()) else { fail("no memory") };
    let memory = leaked(memory);
    for number in 0..2 {
        // SAFETY: one handle for each CPU.
        let handle = unsafe { memory.cpu(CpuNumber(number), frames.on(FixedCpu::new(CpuNumber(number)))) };
        let Some(handle) = handle else { fail("no handle") };
        let handle: *mut Handle = ptr::from_mut(Box::leak(Box::new(handle)));
        RUNNING[number as usize].handle.store(handle, Release);
    }
    start_second();
    while !IS_READY.load(Acquire) {
        core::hint::spin_loop();
    }
    tests::run(&frames);
    hardware::end(true)
}
