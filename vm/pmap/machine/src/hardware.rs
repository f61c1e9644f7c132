//! The emulated machine: its serial line, interrupts between CPUs, traps, TLBs, end.

use core::arch::asm;
use core::fmt::{self, Write};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use faultline_memory::PageRange;

/// Levels of page tables.
pub const LEVELS: usize = if cfg!(feature = "la57") { 5 } else { 4 };

core::arch::global_asm!(include_str!("boot.s"), levels = const LEVELS, options(att_syntax));

/// Pages that are flushed one by one; more are flushed with all.
const MOST_SINGLE: u64 = 64;
const APIC: usize = 0xfee0_0000;
const SHOOT_VECTOR: u32 = 0x40;

unsafe extern "C" {
    fn trampoline();
    fn trampoline_end();
    fn page_fault_entry();
    fn shoot_entry();
    fn unexpected_entry();
    /// Address of the loader's information (PVH).
    static boot_information: u64;
    pub(crate) fn probe_read(address: u64) -> i32;
    pub(crate) fn probe_write(address: u64, value: u8) -> i32;
    pub(crate) fn probe_fetch(address: u64) -> i32;
    pub(crate) fn probe_failed();
    pub(crate) fn probe_fetch_failed();
}

fn out(port: u16, value: u32) {
    // SAFETY: ports of the serial line, the interrupt controllers and the exit device.
    unsafe {
        match port {
            0x3f8 | 0x21 | 0xa1 => asm!("out dx, al", in("dx") port, in("al") value as u8, options(nostack)),
            _ => asm!("out dx, eax", in("dx") port, in("eax") value, options(nostack)),
        }
    }
}

/// The serial line.
pub struct Serial;

impl Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| out(0x3f8, byte.into()));
        Ok(())
    }
}

macro_rules! say {
    ($($part:tt)*) => {{ let _ = core::fmt::Write::write_fmt(&mut $crate::hardware::Serial, format_args!("{}\n", format_args!($($part)*))); }};
}
pub(crate) use say;

/// Ends the machine: the emulator's exit status is 33 for success, 35 for a failure.
pub fn end(is_ok: bool) -> ! {
    out(0xf4, if is_ok { 0x10 } else { 0x11 });
    loop {
        core::hint::spin_loop();
    }
}

fn apic(register: usize) -> *mut u32 {
    core::ptr::with_exposed_provenance_mut(APIC + register)
}

/// The number that is the image's command line; 1 without.
pub fn repeats() -> u64 {
    // SAFETY: the loader's information lies in memory that nothing uses; the text's address is its
    // fourth word, and 0 ends it.
    let text = unsafe {
        let information: *const u64 = core::ptr::with_exposed_provenance(boot_information as usize);
        let text: *const u8 = core::ptr::with_exposed_provenance(information.add(3).read() as usize);
        if text.is_null() { c"" } else { core::ffi::CStr::from_ptr(text.cast()) }
    };
    let words = text.to_bytes().split(|byte| *byte == b' ');
    let mut numbers = words.filter_map(|word| core::str::from_utf8(word).ok()?.parse().ok());
    numbers.next().unwrap_or(1)
}

/// The number of this CPU.
pub fn cpu() -> usize {
    // SAFETY: a register of the local APIC, mapped for the kernel.
    (unsafe { apic(0x20).read_volatile() } >> 24) as usize
}

fn send(cpu: usize, command: u32) {
    // SAFETY: as above; the command register.
    unsafe {
        while apic(0x300).read_volatile() & 1 << 12 != 0 {}
        apic(0x310).write_volatile((cpu as u32) << 24);
        apic(0x300).write_volatile(command);
    }
}

/// Starts the second CPU.
pub fn start_second() {
    let (from, end) = (trampoline as *const () as usize, trampoline_end as *const () as usize);
    // SAFETY: nothing else is at 0x8000; the code lies between the symbols.
    unsafe {
        let (from, to) =
            (core::ptr::with_exposed_provenance::<u8>(from), core::ptr::with_exposed_provenance_mut(0x8000));
        core::ptr::copy_nonoverlapping(from, to, end - from.addr());
    }
    send(1, 0x4500);
    (0..100_000).for_each(|_| core::hint::spin_loop());
    send(1, 0x4608);
}

static mut IDT: [[u64; 2]; 256] = [[0; 2]; 256];

/// Makes traps and interrupts work on this CPU.
pub fn prepare_cpu() {
    let gate = |entry: unsafe extern "C" fn()| {
        let address = entry as *const () as u64;
        [address & 0xffff | 0x18 << 16 | 0x8e00 << 32 | (address >> 16 & 0xffff) << 48, address >> 32]
    };
    // The old interrupt controllers, with the timer, are off.
    out(0x21, 0xff);
    out(0xa1, 0xff);
    // SAFETY: each CPU writes the same; a gate is valid in between.
    unsafe {
        let table = &raw mut IDT;
        (*table).iter_mut().for_each(|place| *place = gate(unexpected_entry));
        (*table)[14] = gate(page_fault_entry);
        (*table)[SHOOT_VECTOR as usize] = gate(shoot_entry);
        let pointer = [0xffff_u16, table.addr() as u16, (table.addr() >> 16) as u16, 0, 0];
        asm!("lidt [{}]", in(reg) &raw const pointer, options(nostack));
        apic(0xf0).write_volatile(0x1ff);
        // The register of memory types.
        asm!("wrmsr", in("ecx") 0x277, in("eax") faultline_pmap::PAT as u32, in("edx") (faultline_pmap::PAT >> 32) as u32);
        asm!("sti");
    }
}

/// Interrupts are off until it is dropped.
pub struct Pinned(bool);

impl Pinned {
    /// Turns interrupts off.
    pub fn new() -> Self {
        let flags: u64;
        // SAFETY: changes the interrupt flag alone.
        unsafe { asm!("pushfq", "pop {}", "cli", out(reg) flags) };
        Self(flags & 1 << 9 != 0)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.0 {
            // SAFETY: they were on before.
            unsafe { asm!("sti") };
        }
    }
}

/// Turns interrupts on in a trap whose code had them on.
pub fn interrupts_on() {
    // SAFETY: as above.
    unsafe { asm!("sti") };
}

/// Switches to page tables. Forgets all translations that are not global.
pub fn switch(root: u64) {
    // SAFETY: the kernel is mapped in all page tables.
    unsafe { asm!("mov cr3, {}", in(reg) root, options(nostack)) };
}

/// The address of the last page fault.
pub fn fault_address() -> u64 {
    let address;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, cr2", out(reg) address, options(nomem, nostack)) };
    address
}

/// Time stamp: instructions, if the emulator counts them as time.
pub fn ticks() -> u64 {
    // SAFETY: reads a register.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Forgets pages on this CPU; more than a few with all that there are, also global ones.
pub fn flush_here(first: u64, pages: u64) {
    if pages <= MOST_SINGLE {
        for page in first..first + pages {
            // SAFETY: only forgets a translation.
            unsafe { asm!("invlpg [{}]", in(reg) page << 12, options(nostack)) };
        }
        return;
    }
    // SAFETY: changing the flag of global pages forgets all translations.
    unsafe {
        asm!("mov {0}, cr4", "xor {0}, 0x80", "mov cr4, {0}", "xor {0}, 0x80", "mov cr4, {0}", out(reg) _, options(nostack));
    }
}

static SHOOTS: AtomicBool = AtomicBool::new(false);
static SHOT: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Makes the other CPU forget pages, and waits for it. Interrupts are on.
pub fn shoot(range: PageRange) {
    // Acquire, Release: one at a time.
    while SHOOTS.compare_exchange(false, true, Acquire, Relaxed).is_err() {
        core::hint::spin_loop();
    }
    SHOT[0].store(range.first().0, Relaxed);
    SHOT[1].store(range.pages(), Relaxed);
    // SeqCst: before the interrupt.
    WAITING.store(1, SeqCst);
    send(1 - cpu(), SHOOT_VECTOR);
    // Acquire: pairs with the release in `answer`.
    while WAITING.load(Acquire) != 0 {
        core::hint::spin_loop();
    }
    SHOOTS.store(false, Release);
}

/// The interrupt of a shoot-down.
#[unsafe(no_mangle)]
extern "C" fn answer() {
    flush_here(SHOT[0].load(Acquire), SHOT[1].load(Acquire));
    WAITING.fetch_sub(1, AcqRel);
    // SAFETY: ends the interrupt.
    unsafe { apic(0xb0).write_volatile(0) };
}

/// A trap that no test expects.
#[unsafe(no_mangle)]
extern "C" fn unexpected(first: u64, second: u64) -> ! {
    say!("unexpected trap: {first:#x} {second:#x} on CPU {}", cpu());
    end(false)
}
