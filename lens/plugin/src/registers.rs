// SPDX-License-Identifier: GPL-2.0-or-later
//! The registers and the stack of the running CPU, read with functions of QEMU's plugin interface
//! (from QEMU 9.2 on).

use crate::qemu::{Missing, function};
use crate::samples::REGISTERS;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// Number of bytes of the stack that are kept.
const STACK_BYTES: usize = 8192;

/// Memory is mapped in pages of this size, or larger ones.
const PAGE_BYTES: u64 = 4096;

/// The names of the registers, in the order of their DWARF numbers.
const NAMES: [&CStr; REGISTERS] = [
    c"rax", c"rdx", c"rcx", c"rbx", c"rsi", c"rdi", c"rbp", c"rsp", c"r8", c"r9", c"r10", c"r11", c"r12", c"r13",
    c"r14", c"r15",
];

/// The index of the stack pointer.
const STACK_POINTER: usize = 7;

/// A register of QEMU's.
type Handle = *mut c_void;

/// The beginning of QEMU's description of a register. QEMU 11 has more behind it than QEMU 10, so
/// GLib is asked for its size.
#[repr(C)]
struct Description {
    handle: Handle,
    name: *const c_char,
}

/// The public part of GLib's array.
#[repr(C)]
struct Array<T> {
    data: *mut T,
    length: c_uint,
}

/// The functions that read the registers and the memory of the running CPU.
pub(crate) struct Registers {
    descriptions: unsafe extern "C" fn() -> *mut Array<u8>,
    element_bytes: unsafe extern "C" fn(*mut Array<u8>) -> c_uint,
    /// The type of its result depends on QEMU's version, and is not used.
    read_register: unsafe extern "C" fn(Handle, *mut Array<u8>) -> c_int,
    read_memory: unsafe extern "C" fn(u64, *mut Array<u8>, usize) -> bool,
    new_bytes: unsafe extern "C" fn() -> *mut Array<u8>,
    set_length: unsafe extern "C" fn(*mut Array<u8>, c_uint) -> *mut Array<u8>,
    found: OnceLock<Found>,
}

/// State created when registers are first read.
struct Found {
    handles: [Handle; REGISTERS],
    /// Buffer for every read.
    bytes: *mut Array<u8>,
}

// SAFETY: 1. QEMU's handles are numbers; 2. the bytes are touched only in callbacks of CPUs, which
// come from one thread, one at a time (see `OneThread`).
unsafe impl Send for Found {}
// SAFETY: as above.
unsafe impl Sync for Found {}

/// A register that QEMU cannot read.
#[derive(Debug, thiserror::Error)]
#[error("this QEMU cannot read the register {0}: the lens needs version 10 or later")]
pub(crate) struct NoRegister(String);

impl Registers {
    /// Finds the functions.
    pub(crate) fn find() -> Result<Self, Missing> {
        // SAFETY: the types are those of QEMU 10's include/qemu/qemu-plugin.h, and of GLib 2's
        // garray.h.
        unsafe {
            Ok(Registers {
                descriptions: function(c"qemu_plugin_get_registers")?,
                element_bytes: function(c"g_array_get_element_size")?,
                read_register: function(c"qemu_plugin_read_register")?,
                read_memory: function(c"qemu_plugin_read_memory_vaddr")?,
                new_bytes: function(c"g_byte_array_new")?,
                set_length: function(c"g_byte_array_set_size")?,
                found: OnceLock::new(),
            })
        }
    }

    /// The registers of the running CPU before the present instruction, and the words from its
    /// stack pointer upwards.
    ///
    /// # Safety
    /// Call in the callback of an access that was registered to read registers.
    pub(crate) unsafe fn state(&self) -> Result<([u64; REGISTERS], Vec<u64>), NoRegister> {
        // SAFETY: as the caller promises.
        let (found, registers) = unsafe { (self.found()?, self.values()?) };
        // SAFETY: as the caller promises.
        let stack = unsafe { self.stack(found, registers[STACK_POINTER]) };
        Ok((registers, stack))
    }

    /// The registers of the running CPU before the present instruction.
    ///
    /// # Safety
    /// Call in a callback that was registered to read registers.
    pub(crate) unsafe fn values(&self) -> Result<[u64; REGISTERS], NoRegister> {
        let mut registers = [0; REGISTERS];
        for (number, value) in registers.iter_mut().enumerate() {
            // SAFETY: as the caller promises.
            *value = unsafe { self.value(number) }?;
        }
        Ok(registers)
    }

    /// One of the registers, by its DWARF number.
    ///
    /// # Safety
    /// As for [`Registers::values`].
    pub(crate) unsafe fn value(&self, number: usize) -> Result<u64, NoRegister> {
        // SAFETY: as the caller promises.
        let found = unsafe { self.found() }?;
        // SAFETY: 1. the handle is QEMU's; 2. the bytes live for ever and are GLib's; 3. the
        // callback may read registers.
        let bytes = unsafe {
            (self.set_length)(found.bytes, 0);
            (self.read_register)(found.handles[number], found.bytes);
            contents(found.bytes)
        };
        bytes.try_into().map(u64::from_le_bytes).map_err(|_| no_register(NAMES[number]))
    }

    /// Bytes of the running CPU's memory; empty if they are not mapped.
    ///
    /// # Safety
    /// As for [`Registers::values`].
    pub(crate) unsafe fn memory(&self, address: u64, bytes: usize) -> Vec<u8> {
        // SAFETY: as the caller promises.
        let Ok(found) = (unsafe { self.found() }) else { return Vec::new() };
        // SAFETY: 1. the bytes are GLib's, and QEMU sets their length; 2. the callback is of the
        // CPU whose memory it is.
        unsafe {
            match (self.read_memory)(address, found.bytes, bytes) {
                true => contents(found.bytes).to_vec(),
                false => Vec::new(),
            }
        }
    }

    /// The registers' handles.
    unsafe fn found(&self) -> Result<&Found, NoRegister> {
        match self.found.get() {
            Some(found) => Ok(found),
            None => {
                // SAFETY: as the caller promises.
                let found = unsafe { self.look() }?;
                Ok(self.found.get_or_init(|| found))
            }
        }
    }

    /// The words of the stack, up to the first unmapped page.
    unsafe fn stack(&self, found: &Found, from: u64) -> Vec<u64> {
        let mut words = Vec::new();
        let (mut address, mut left) = (from, STACK_BYTES as u64);
        // The words of a stack are aligned, so none crosses the end of a page.
        while left > 0 && from.is_multiple_of(8) {
            let part = (PAGE_BYTES - address % PAGE_BYTES).min(left);
            // SAFETY: 1. the bytes are GLib's, and QEMU sets their length; 2. the callback is of
            // the CPU whose memory it is.
            let bytes = unsafe {
                if !(self.read_memory)(address, found.bytes, part as usize) {
                    break;
                }
                contents(found.bytes)
            };
            words.extend(bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)));
            (address, left) = (address.wrapping_add(part), left - part);
        }
        words
    }

    /// Finds the registers by name.
    unsafe fn look(&self) -> Result<Found, NoRegister> {
        // SAFETY: 1. a CPU runs, as the caller of `state` promises; 2. the array is never freed
        // here.
        let (array, element_bytes) = unsafe {
            let array = (self.descriptions)();
            (array, (self.element_bytes)(array) as usize)
        };
        if element_bytes < size_of::<Description>() {
            return Err(no_register(NAMES[0]));
        }
        let mut handles = [std::ptr::null_mut(); REGISTERS];
        for (handle, name) in handles.iter_mut().zip(NAMES) {
            let is_it = |of: &Description| {
                // SAFETY: each description has a name that ends with a zero and that QEMU never
                // frees.
                unsafe { CStr::from_ptr(of.name) == name }
            };
            // SAFETY: the array holds as many descriptions of that length.
            let mut descriptions = unsafe { beginnings(array, element_bytes) };
            *handle = descriptions.find(is_it).ok_or_else(|| no_register(name))?.handle;
        }
        // SAFETY: it only allocates.
        Ok(Found { handles, bytes: unsafe { (self.new_bytes)() } })
    }
}

fn no_register(name: &CStr) -> NoRegister {
    NoRegister(name.to_string_lossy().into_owned())
}

/// The beginning of each element of an array of GLib.
///
/// # Safety
/// `array` must be an array whose elements have `element_bytes` and begin with a `T`. It must not
/// change while it is used.
unsafe fn beginnings<T>(array: *const Array<u8>, element_bytes: usize) -> impl Iterator<Item = T> {
    // SAFETY: as the caller promises.
    let Array { data, length } = unsafe { &*array };
    // SAFETY: 1. the element is within the array, as the caller promises; 2. it may be read at any
    // alignment.
    (0..*length as usize).map(move |index| unsafe { data.add(index * element_bytes).cast::<T>().read_unaligned() })
}

/// The contents of an array of GLib.
///
/// # Safety
/// `array` must be an array, and must not change while the contents are used.
unsafe fn contents<'a, T>(array: *const Array<T>) -> &'a [T] {
    // SAFETY: 1. as the caller promises; 2. an empty array may have no memory.
    unsafe {
        let Array { data, length } = &*array;
        if data.is_null() { &[] } else { std::slice::from_raw_parts(*data, *length as usize) }
    }
}
