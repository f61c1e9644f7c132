// SPDX-License-Identifier: GPL-2.0-or-later
//! QEMU's plugin interface: its types and functions, the version in use, and the words that
//! describe accesses. Contains no logic of the lens.
//!
//! The functions are looked up by name in the running process. So the plugin loads into any QEMU,
//! prints its own message about missing functions, and needs no header of a particular version.
//! Source: `include/qemu/qemu-plugin.h` of QEMU 7.2 (interface version 1) and its version notes for
//! later ones. From 2 on, the interface number that a plugin names must be at least 2. From 3 on,
//! `qemu_plugin_insn_data` copies into a buffer of the caller. From 7 on, the number must be at
//! least 7, and callbacks get the data of their registration as their last argument instead of the
//! plugin's number as their first.

use crate::instruction::{BlockStart, Shows, Site};
use crate::settled::Slot;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fs;
use std::marker::PhantomData;
use std::mem::transmute_copy;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// The number that QEMU assigned to this plugin.
pub(crate) type PluginId = u64;
/// QEMU's description of one access.
pub(crate) type MemoryInfo = u32;

/// A translation block during translation.
#[repr(C)]
pub(crate) struct Block {
    opaque: [u8; 0],
    not_send: PhantomData<*mut u8>,
}

/// An instruction during translation.
#[repr(C)]
pub(crate) struct Instruction {
    opaque: [u8; 0],
    not_send: PhantomData<*mut u8>,
}

/// QEMU's description of itself at installation, as far as this plugin reads it.
#[repr(C)]
pub(crate) struct Info {
    pub(crate) target_name: *const c_char,
    pub(crate) least_version: c_int,
    pub(crate) version: c_int,
    pub(crate) is_system: bool,
    /// Set only for a system.
    pub(crate) cpus: c_int,
}

/// The place of a system's access.
#[repr(C)]
pub(crate) struct HardwareAddress {
    opaque: [u8; 0],
    not_send: PhantomData<*mut u8>,
}

/// A callback with at most two arguments; [`Qemu::subject`] picks the relevant one.
pub(crate) type EventCallback = extern "C" fn(usize, usize);
pub(crate) type ExecutionCallback = extern "C" fn(c_uint, *mut c_void);
pub(crate) type MemoryCallback = extern "C" fn(c_uint, MemoryInfo, u64, *mut c_void);

/// `QEMU_PLUGIN_CB_NO_REGS`.
const NO_REGISTERS: c_int = 0;
/// `QEMU_PLUGIN_CB_R_REGS`.
const READS_REGISTERS: c_int = 1;
/// `QEMU_PLUGIN_MEM_RW`.
const LOADS_AND_STORES: c_int = 3;

/// The interface version that this plugin names. QEMU reads it after loading and before
/// installation.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static qemu_plugin_version: AtomicI32 = AtomicI32::new(1);

/// The version of the interface to the command that starts QEMU: the arguments, the report, and the
/// message at the end of a region. The command looks for this name in the plugin's file
/// (`lab/experiment/src/lens/files.rs`), and refuses a plugin without it. Raise the number in both
/// places if the plugin and the command of different versions cannot work together.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static faultline_lens_interface_2: u8 = 0;

/// Runs when the plugin is loaded, before QEMU reads [`qemu_plugin_version`].
#[used]
#[unsafe(link_section = ".init_array")]
static NEGOTIATE: extern "C" fn() = negotiate;

/// Names the interface version that suits this QEMU. Scoreboards were introduced with version 2.
/// QEMU 11.1, whose interface has version 7, has no new function that identifies it.
extern "C" fn negotiate() {
    let version = if release().is_some_and(|release| release >= (11, 1)) {
        PASSES_DATA
    } else if lookup(c"qemu_plugin_scoreboard_new").is_some() {
        2
    } else {
        1
    };
    // Relaxed: the thread that loads the plugin is also the one that reads it.
    qemu_plugin_version.store(version, Relaxed);
}

/// QEMU's release: its first two numbers. Available only in full-system emulators.
fn release() -> Option<(i64, i64)> {
    // SAFETY: prototype and structures are those of qapi/misc.json and control.json
    // (`query-version`), which is a stable interface: the result's first member points to the three
    // numbers. The result is never freed.
    unsafe {
        let query: unsafe extern "C" fn(*mut c_void) -> *const *const [i64; 3] = function(c"qmp_query_version").ok()?;
        let [major, minor, _] = **query(null_mut());
        Some((major, minor))
    }
}

/// A function that the plugin needs and QEMU does not export.
#[derive(Debug, thiserror::Error)]
#[error("this QEMU does not export {0}: the lens needs version 10 or later, built with plugins and modules")]
pub(crate) struct Missing(pub(crate) &'static str);

/// From this version on `qemu_plugin_insn_data` copies.
const COPIES_INSTRUCTIONS: c_int = 3;

/// From this version on callbacks get the data of their registration.
const PASSES_DATA: c_int = 7;

/// The function that returns an instruction's bytes.
#[derive(Clone, Copy)]
enum InstructionData {
    Pointer(unsafe extern "C" fn(*const Instruction) -> *const u8),
    Copy(unsafe extern "C" fn(*const Instruction, *mut u8, usize) -> usize),
}

/// A function that registers a callback. Before version 7 most of these functions have no last
/// argument, and ignore it.
type RegisterEvent = unsafe extern "C" fn(PluginId, EventCallback, *mut c_void);

/// Functions and variables of an emulator of our own (`lens/emulator`), whose translated code reads
/// the tables of [`settled`](crate::settled).
#[derive(Clone, Copy)]
struct Own {
    register_block: unsafe extern "C" fn(*mut Block, BlockCallback, *mut c_void, u64),
    register_memory: unsafe extern "C" fn(*mut Instruction, MemoryCallback, c_int, c_int, *mut c_void, u64),
    slot: unsafe extern "C" fn(c_uint) -> *mut *mut c_void,
    /// No plugin reads the values of accesses.
    skips_values: *mut bool,
    /// Accesses that are settled are reported too, with [`HIT`].
    checks_settled: *mut bool,
    skips_turn: *mut SkipsTurn,
}

/// Returns 0, or 1 after a request to end the turn: the block does not run now.
pub(crate) type BlockCallback = extern "C" fn(c_uint, *mut c_void) -> u32;

/// True if the turn of a CPU with that number, which is about to begin, ends at once.
pub(crate) type SkipsTurn = extern "C" fn(c_uint) -> bool;

/// Bit of the word of an access that translated code found settled.
pub(crate) const HIT: MemoryInfo = 1 << 31;

/// The block's code belongs to user space; its instructions count.
const USER: u64 = 1 << 32;
const COUNTED: u64 = 1 << 33;

impl Own {
    /// Finds them; `None` in another emulator.
    ///
    /// # Safety
    /// The names must have the types of the emulator's patches.
    unsafe fn find() -> Option<Self> {
        // SAFETY: as the caller promises.
        unsafe {
            Some(Own {
                register_block: function(c"qemu_plugin_register_vcpu_tb_turn_cb").ok()?,
                register_memory: function(c"qemu_plugin_register_vcpu_mem_settled_cb").ok()?,
                slot: function(c"qemu_plugin_settled_slot").ok()?,
                skips_values: lookup(c"qemu_plugin_skips_values")?.cast(),
                checks_settled: lookup(c"qemu_plugin_checks_settled")?.cast(),
                skips_turn: lookup(c"rr_skips_turn")?.cast(),
            })
        }
    }
}

// SAFETY: functions, and variables of QEMU's that live as long as the process; written once.
unsafe impl Send for Own {}
// SAFETY: as above.
unsafe impl Sync for Own {}

/// QEMU's functions.
#[derive(Clone, Copy)]
pub(crate) struct Qemu {
    passes_data: bool,
    register_translation: RegisterEvent,
    register_block: unsafe extern "C" fn(*mut Block, ExecutionCallback, c_int, *mut c_void),
    register_instruction: unsafe extern "C" fn(*mut Instruction, ExecutionCallback, c_int, *mut c_void),
    register_memory: unsafe extern "C" fn(*mut Instruction, MemoryCallback, c_int, c_int, *mut c_void),
    own: Option<Own>,
    register_exit: RegisterEvent,
    register_cpu: RegisterEvent,
    reset: RegisterEvent,
    block_length: unsafe extern "C" fn(*const Block) -> usize,
    block_instruction: unsafe extern "C" fn(*const Block, usize) -> *mut Instruction,
    instruction_address: unsafe extern "C" fn(*const Instruction) -> u64,
    instruction_size: unsafe extern "C" fn(*const Instruction) -> usize,
    instruction_data: InstructionData,
    is_store: unsafe extern "C" fn(MemoryInfo) -> bool,
    size_shift: unsafe extern "C" fn(MemoryInfo) -> c_uint,
    hardware_address: unsafe extern "C" fn(MemoryInfo, u64) -> *mut HardwareAddress,
    is_io: unsafe extern "C" fn(*const HardwareAddress) -> bool,
    physical_address: unsafe extern "C" fn(*const HardwareAddress) -> u64,
}

/// The address of the symbol with that name, if QEMU exports it. For a thread-local variable, this
/// thread's address.
pub(crate) fn lookup(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: 1. `name` ends with a zero and outlives the call; 2. RTLD_DEFAULT asks for the
    // process's own symbols, including those that QEMU exports to plugins.
    let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!symbol.is_null()).then_some(symbol)
}

/// The function with that name.
///
/// # Safety
/// `F` must be a function pointer type that fits the function's prototype.
pub(crate) unsafe fn function<F: Copy>(name: &'static CStr) -> Result<F, Missing> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let symbol = lookup(name).ok_or(Missing(name.to_str().unwrap_or("function")))?;
    // SAFETY: 1. the sizes are equal, see above; 2. the symbol is not null; 3. the type fits, as
    // the caller promises.
    Ok(unsafe { transmute_copy::<*mut c_void, F>(&symbol) })
}

impl Qemu {
    /// Finds the functions. `version`: reported by QEMU at installation. `uses_own`: false to treat
    /// an emulator of our own as any other.
    pub(crate) fn find(version: c_int, uses_own: bool) -> Result<Self, Missing> {
        // SAFETY: 1. the field types above are the prototypes of QEMU 7.2's header; 2.
        // `qemu_plugin_insn_data` has changed since, and is chosen by version; 3. the functions
        // that register callbacks for events have got another argument in version 7. Before that
        // they ignore it, as C functions do on x86-64 and AArch64, and callbacks take their
        // arguments as words, which those systems pass in registers whatever their type.
        unsafe {
            Ok(Qemu {
                passes_data: version >= PASSES_DATA,
                register_translation: function(c"qemu_plugin_register_vcpu_tb_trans_cb")?,
                register_block: function(c"qemu_plugin_register_vcpu_tb_exec_cb")?,
                register_instruction: function(c"qemu_plugin_register_vcpu_insn_exec_cb")?,
                register_memory: function(c"qemu_plugin_register_vcpu_mem_cb")?,
                own: if uses_own { Own::find() } else { None },
                register_exit: function(c"qemu_plugin_register_atexit_cb")?,
                register_cpu: function(c"qemu_plugin_register_vcpu_init_cb")?,
                reset: function(c"qemu_plugin_reset")?,
                block_length: function(c"qemu_plugin_tb_n_insns")?,
                block_instruction: function(c"qemu_plugin_tb_get_insn")?,
                instruction_address: function(c"qemu_plugin_insn_vaddr")?,
                instruction_size: function(c"qemu_plugin_insn_size")?,
                instruction_data: if version >= COPIES_INSTRUCTIONS {
                    InstructionData::Copy(function(c"qemu_plugin_insn_data")?)
                } else {
                    InstructionData::Pointer(function(c"qemu_plugin_insn_data")?)
                },
                is_store: function(c"qemu_plugin_mem_is_store")?,
                size_shift: function(c"qemu_plugin_mem_size_shift")?,
                hardware_address: function(c"qemu_plugin_get_hwaddr")?,
                is_io: function(c"qemu_plugin_hwaddr_is_io")?,
                physical_address: function(c"qemu_plugin_hwaddr_phys_addr")?,
            })
        }
    }

    /// The argument of an [`EventCallback`] that identifies its subject, a block or a CPU.
    pub(crate) fn subject(&self, first: usize, second: usize) -> usize {
        if self.passes_data { first } else { second }
    }

    pub(crate) fn on_translation(&self, id: PluginId, callback: EventCallback) {
        // SAFETY: 1. `id` is this plugin's; 2. the callback is a function of this library, which is
        // never unloaded; 3. the data is null, and the callback does not read it.
        unsafe { (self.register_translation)(id, callback, null_mut()) }
    }

    pub(crate) fn on_cpu(&self, id: PluginId, callback: EventCallback) {
        // SAFETY: as for `on_translation`.
        unsafe { (self.register_cpu)(id, callback, null_mut()) }
    }

    pub(crate) fn on_exit(&self, id: PluginId, callback: EventCallback) {
        // SAFETY: as for `on_translation`.
        unsafe { (self.register_exit)(id, callback, null_mut()) }
    }

    /// Drops all registrations at the next point where no CPU runs, then calls `callback` there.
    pub(crate) fn reset(&self, id: PluginId, callback: EventCallback) {
        // SAFETY: as for `on_translation`; it is not called during installation.
        unsafe { (self.reset)(id, callback, null_mut()) }
    }

    /// # Safety
    /// `block` must be the argument of a translation callback that is still running.
    pub(crate) unsafe fn on_block(&self, block: *mut Block, callback: ExecutionCallback, data: usize) {
        // SAFETY: 1. `block` is alive, as the caller promises; 2. `data` is a number and never
        // dereferenced.
        unsafe { (self.register_block)(block, callback, NO_REGISTERS, data as *mut c_void) }
    }

    /// Lets an emulator of our own call `skips_turn` before turns, and skip the values of accesses.
    /// `checks`: it reports settled accesses too. Call at installation.
    pub(crate) fn use_own(&self, skips_turn: SkipsTurn, checks: bool) {
        if let Some(own) = self.own {
            // SAFETY: the variables are the emulator's, and no CPU exists yet.
            unsafe {
                own.skips_values.write(true);
                own.checks_settled.write(checks);
                own.skips_turn.write(skips_turn);
            }
        }
    }

    /// The place where an emulator of our own finds a CPU's table; `None` in another one. Call once
    /// the CPU exists.
    pub(crate) fn slot(&self, cpu: c_uint) -> Option<Slot> {
        // SAFETY: the CPU exists, and stays until the process ends. The place has that type.
        self.own.map(|own| unsafe { Slot::new((own.slot)(cpu)) })
    }

    /// As [`Qemu::on_block`]. An emulator of our own calls `own` instead, but does without while
    /// the turn goes on: then it counts the block itself.
    ///
    /// # Safety
    /// As for [`Qemu::on_block`].
    pub(crate) unsafe fn on_block_in_turn(
        &self,
        block: *mut Block,
        callback: ExecutionCallback,
        own_callback: BlockCallback,
        start: BlockStart,
    ) {
        let (data, instructions) = (start.pack(), u64::from(start.instructions));
        let flags = if start.is_user { USER } else { 0 } | if start.is_counted { COUNTED } else { 0 };
        match self.own.filter(|_| start.shows != Shows::Handler) {
            // SAFETY: as for `on_block`.
            Some(own) => unsafe {
                (own.register_block)(block, own_callback, data as *mut c_void, instructions | flags)
            },
            // SAFETY: as the caller promises.
            None => unsafe { self.on_block(block, callback, data) },
        }
    }

    /// As [`Qemu::on_access_with_registers`], but an emulator of our own does without the callback
    /// for settled accesses: then it counts them itself, if `is_counted`.
    ///
    /// # Safety
    /// As for [`Qemu::on_instruction`].
    pub(crate) unsafe fn on_unsettled_access(
        &self,
        instruction: *mut Instruction,
        callback: MemoryCallback,
        site: Site,
        is_counted: bool,
    ) {
        let data = site.pack();
        match self.own.filter(|_| !site.is_atomic) {
            // SAFETY: as for `on_block`.
            Some(own) => unsafe {
                let (data, counts) = (data as *mut c_void, is_counted.into());
                (own.register_memory)(instruction, callback, READS_REGISTERS, LOADS_AND_STORES, data, counts);
            },
            // SAFETY: as the caller promises.
            None => unsafe { self.on_access_with_registers(instruction, callback, data) },
        }
    }

    /// # Safety
    /// `instruction` must come from [`Qemu::instructions`] within the same translation callback.
    pub(crate) unsafe fn on_instruction(
        &self,
        instruction: *mut Instruction,
        callback: ExecutionCallback,
        data: usize,
    ) {
        // SAFETY: as for `on_block`.
        unsafe { (self.register_instruction)(instruction, callback, NO_REGISTERS, data as *mut c_void) }
    }

    /// As [`Qemu::on_instruction`], for a callback that may read the CPU's registers.
    ///
    /// # Safety
    /// As for [`Qemu::on_instruction`].
    pub(crate) unsafe fn on_instruction_with_registers(
        &self,
        instruction: *mut Instruction,
        callback: ExecutionCallback,
        data: usize,
    ) {
        // SAFETY: as for `on_block`.
        unsafe { (self.register_instruction)(instruction, callback, READS_REGISTERS, data as *mut c_void) }
    }

    /// # Safety
    /// As for [`Qemu::on_instruction`].
    pub(crate) unsafe fn on_access(&self, instruction: *mut Instruction, callback: MemoryCallback, data: usize) {
        // SAFETY: as the caller promises.
        unsafe { self.on_access_with(NO_REGISTERS, instruction, callback, data) };
    }

    /// As [`Qemu::on_access`], for a callback that may read the CPU's registers. It costs no more:
    /// QEMU has written them to memory for the access itself, which might fail.
    ///
    /// # Safety
    /// As for [`Qemu::on_instruction`].
    pub(crate) unsafe fn on_access_with_registers(
        &self,
        instruction: *mut Instruction,
        callback: MemoryCallback,
        data: usize,
    ) {
        // SAFETY: as the caller promises.
        unsafe { self.on_access_with(READS_REGISTERS, instruction, callback, data) };
    }

    unsafe fn on_access_with(
        &self,
        registers: c_int,
        instruction: *mut Instruction,
        callback: MemoryCallback,
        data: usize,
    ) {
        // SAFETY: as for `on_block`.
        unsafe { (self.register_memory)(instruction, callback, registers, LOADS_AND_STORES, data as *mut c_void) };
    }

    /// The instructions of the translation block, in order.
    ///
    /// # Safety
    /// As for [`Qemu::on_block`]; use up the iterator within the callback.
    pub(crate) unsafe fn instructions(&self, block: *mut Block) -> impl ExactSizeIterator<Item = *mut Instruction> {
        let qemu = *self;
        // SAFETY: `block` is alive, as the caller promises.
        let length = unsafe { (qemu.block_length)(block) };
        // SAFETY: 1. as above; 2. `index` is below the block's length.
        (0..length).map(move |index| unsafe { (qemu.block_instruction)(block, index) })
    }

    /// # Safety
    /// As for [`Qemu::on_instruction`].
    pub(crate) unsafe fn address(&self, instruction: *const Instruction) -> u64 {
        // SAFETY: `instruction` is alive, as the caller promises.
        unsafe { (self.instruction_address)(instruction) }
    }

    /// Copies the instruction's bytes into `buffer` and returns them. An x86 instruction has at
    /// most 15.
    ///
    /// # Safety
    /// As for [`Qemu::on_instruction`].
    pub(crate) unsafe fn bytes<'b>(&self, instruction: *const Instruction, buffer: &'b mut [u8; 16]) -> &'b [u8] {
        // SAFETY: `instruction` is alive, as the caller promises.
        let size = unsafe { (self.instruction_size)(instruction) }.min(buffer.len());
        match self.instruction_data {
            // SAFETY: 1. QEMU's buffer holds `instruction_size` bytes and lives as long as the
            // callback; 2. it is not ours, so the two do not overlap; 3. `size` fits both.
            InstructionData::Pointer(data) => unsafe {
                std::ptr::copy_nonoverlapping(data(instruction), buffer.as_mut_ptr(), size);
            },
            // SAFETY: `buffer` has room for `size` bytes.
            InstructionData::Copy(copy) => unsafe {
                copy(instruction, buffer.as_mut_ptr(), size);
            },
        }
        &buffer[..size]
    }

    /// True for a store.
    pub(crate) fn is_store(&self, info: MemoryInfo) -> bool {
        // SAFETY: the function decodes any number and touches nothing.
        unsafe { (self.is_store)(info) }
    }

    /// Number of bytes of an access.
    pub(crate) fn size(&self, info: MemoryInfo) -> u8 {
        // SAFETY: as for `is_store`.
        1 << unsafe { (self.size_shift)(info) }.min(6)
    }

    /// The place of an access in the machine's memory; `None` if it does not go to memory. Call in
    /// the access's callback.
    ///
    /// The result is QEMU's own number of the byte. All mappings of the byte have the same number,
    /// but not always the guest's physical address: the number is lower for memory above the hole
    /// for devices, and higher for separate memory nodes.
    pub(crate) fn memory_address(&self, info: MemoryInfo, address: u64) -> Option<u64> {
        // SAFETY: 1. the caller is in the access's callback; 2. the pointer is QEMU's own, and null
        // for a place without memory.
        unsafe {
            let found = (self.hardware_address)(info, address);
            (!found.is_null() && !(self.is_io)(found)).then(|| (self.physical_address)(found))
        }
    }
}

/// Number of bits in use: the kind of access is in 16, loads and stores in 2 (QEMU 7.2 and, so far,
/// later ones).
const BITS: u32 = 18;

const STORE: u8 = 1 << 7;

/// The decoded words for accesses, in a table: two calls into QEMU for each access would cost as
/// much as everything else.
#[derive(Debug)]
pub(crate) struct EventWords(Box<[u8]>);

impl EventWords {
    /// Lets QEMU decode every word.
    pub(crate) fn new(qemu: &Qemu) -> Self {
        let meaning = |info| qemu.size(info) | if qemu.is_store(info) { STORE } else { 0 };
        EventWords((0..1 << BITS).map(meaning).collect())
    }

    /// Number of bytes of the access, and true for a store; `None` for a word with more bits.
    #[inline]
    pub(crate) fn known(&self, info: MemoryInfo) -> Option<(u8, bool)> {
        self.0.get(info as usize).map(|meaning| (meaning & !STORE, meaning & STORE != 0))
    }

    /// As [`EventWords::known`], for any word.
    #[inline]
    pub(crate) fn meaning(&self, qemu: &Qemu, info: MemoryInfo) -> (u8, bool) {
        self.known(info).unwrap_or_else(|| (qemu.size(info), qemu.is_store(info)))
    }
}

/// Number of bytes from an address to the end of its mapping; 0 if it cannot be read and written.
/// QEMU's structures are followed only that far.
pub(crate) fn writable_bytes_from(address: usize) -> usize {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let bytes = |line: &str| {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let (from, to) = (usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?);
        (rest.starts_with("rw") && (from..to).contains(&address)).then(|| to - address)
    };
    maps.lines().find_map(bytes).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    static CONSTANT: &str = "constants cannot be written";

    #[test]
    fn only_memory_that_can_be_written_counts() {
        let mut variable = 0_u64;
        assert!(writable_bytes_from(&raw mut variable as usize) >= size_of::<u64>());
        assert_eq!(writable_bytes_from(CONSTANT.as_ptr() as usize), 0);
        assert_eq!(writable_bytes_from(5), 0);
    }
}
