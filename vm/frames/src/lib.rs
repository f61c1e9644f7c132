//! Page frames for many CPUs: single frames of 4 KiB, huge frames of 2 MiB, contiguous ranges. Needs neither heap nor
//! locks.
//!
//! Layers, from the hot path down:
//!
//! - a CPU's `Cache`. A hit touches no line that another CPU writes, including its counters;
//! - its `Stock` of further magazines, which any CPU may drain;
//! - the `Domains`: where their memory lies, how much of it is free, watermarks; and `Zeroed` frames;
//! - the `RangeLayer`, which finds single frames, huge frames and ranges by lock-free steps (`range_layer`, `huge`; on
//!   `block`, `state`, `words`, `index`).
//!
//! `Layers` puts them together (`layers`, `search`, `scan`, `contiguous`, `drain`, `pressure`), and [`Frames`] is what
//! callers see. Nothing walks memory in one go: searches, scans and drains are made of bounded steps, between which the
//! caller's CPU may do something else.
//!
//! Limits: the allocator never touches the contents of frames, never moves a frame, and adds only memory that was named
//! at the start.
//!
//! Targets: those with atomics of 8, 32 and 64 bits. 32-bit targets that have atomics of 32 bits only, such as
//! `riscv32imac`, `thumbv7m` and `powerpc`, are refused at compile time: the states of 32 frames share a word of 64 bits.
//!
//! ```
//! use core::mem::MaybeUninit;
//! use faultline_frames::{
//!     Config, CpuNumber, DomainId, FixedCpu, FrameNumber, Frames, MemoryArea, PutError,
//! };
//! let memory = [MemoryArea { first: FrameNumber(0x100), frames: 4096, domain: DomainId(0) }];
//! let config = Config::new(&memory, &[DomainId(0)]);
//! let mut metadata = vec![MaybeUninit::uninit(); Frames::layout(&config).unwrap().size() + 127];
//! // SAFETY: one thread, one handle.
//! let frames = Frames::new(&config, &mut metadata, unsafe { FixedCpu::new(CpuNumber(0)) }).unwrap();
//! let frame = frames.get().unwrap();
//! assert_eq!(frames.put(frame), Ok(()));
//! assert_eq!(frames.put(frame), Err(PutError::AlreadyFree));
//! assert_eq!(frames.free(), 4096);
//! ```

#![no_std]
#![deny(clippy::undocumented_unsafe_blocks, missing_docs)]
#![allow(
    unexpected_cfgs,
    reason = "`--cfg loom` and `--cfg shuttle` swap atomics for those that explore interleavings"
)]

#[cfg(not(target_has_atomic = "64"))]
compile_error!(
    "faultline-frames needs atomics of 64 bits: the states of 32 frames are changed by one step on such a word"
);

#[cfg(test)]
extern crate std;

mod block;
mod cache;
mod census;
mod config;
mod contiguous;
mod counter_table;
mod counters;
mod cpu;
mod domain;
mod drain;
mod error;
mod frame;
mod frames;
mod huge;
mod index;
mod layers;
mod metadata;
mod pressure;
mod primitive;
mod range_layer;
mod runs;
mod scan;
mod search;
mod single;
mod spans;
mod state;
mod stock;
mod watched;
mod words;
mod zeroed;

pub use census::Census;
pub use config::{Config, MOST_CPUS, MOST_DOMAINS, MOST_STOCK, MemoryArea, Policy, Watermarks};
pub use contiguous::RangeSearch;
pub use counter_table::CounterTable;
pub use counters::{Counters, Event};
pub use cpu::{CurrentCpu, FixedCpu, PinnedCpu};
pub use error::{BatchError, ConfigError, GetError, PutError};
pub use faultline_numbers::{CpuNumber, DomainId, FRAME_BYTES, FrameNumber, HUGE_FRAMES, HugeFrame, Order};
pub use frame::{RangeRequest, ZeroedFrame};
pub use frames::Frames;
pub use pressure::{LowMemory, Urgency};
pub use watched::{Mistake, MistakeKind, Record, Watch, Watched};

/// The code in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(all(test, loom))]
mod interleavings;
#[cfg(all(test, shuttle))]
mod mixes;
