//! Page frames for many CPUs: single frames of 4 KiB, huge frames of 2 MiB, contiguous ranges.
//! Needs neither heap nor locks.
//!
//! Layers, from the hot path down:
//!
//! - a CPU's `Cache`. A hit touches no line that another CPU writes, statistics included;
//! - its `Stock` of further magazines, which any CPU may drain;
//! - the `Domains`: the extent of their memory, its free frames, watermarks; and `Zeroed` frames;
//! - the `RangeLayer`, which finds single frames, huge frames and ranges by lock-free steps
//!   (`range_layer`, `huge`; based on `block`, `state`, `index`).
//!
//! `Layers` holds them all, and [`Frames`] is the caller's handle. Searches, scans and drains
//! consist of bounded steps, between which the caller's CPU may do something else.
//!
//! Limits: the allocator never touches the contents of frames, never moves a frame, and adds only
//! memory near to memory that was named at the start.
//!
//! Targets need atomics of 8, 32 and 64 bits. 32-bit targets with atomics of 32 bits only, such as
//! `riscv32imac`, `thumbv7m` and `powerpc`, are refused at compile time: the states of 32 frames
//! share a word of 64 bits.
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
//! let cpu = unsafe { FixedCpu::new(CpuNumber(0)) };
//! let frames = Frames::new(&config, &mut metadata, cpu).unwrap();
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
mod config;
mod contiguous;
mod counters;
mod cpu;
mod domain;
mod drain;
mod error;
mod figures;
mod frame;
mod frames;
mod huge;
mod index;
mod late;
mod layers;
mod metadata;
mod pieces;
mod places;
mod primitive;
mod range_layer;
mod reserve;
mod runs;
mod search;
mod single;
mod spans;
mod state;
mod stock;
mod watched;
mod zeroed;

pub use config::{Config, MOST_CPUS, MOST_DOMAINS, MOST_STOCK, MemoryArea, Policy, Watermarks};
pub use contiguous::RangeSearch;
pub use counters::{Counters, Event};
pub use cpu::{CurrentCpu, FixedCpu, PinnedCpu};
pub use error::{BatchError, ConfigError, GetError, PutError};
pub use faultline_numbers::{CpuNumber, DomainId, FRAME_BYTES, FrameNumber, HUGE_FRAMES, HugeFrame, Order};
pub use figures::{Census, CounterTable};
pub use frame::{RangeRequest, ZeroedFrame};
pub use frames::Frames;
pub use late::Late;
pub use layers::{LowMemory, Urgency};
pub use watched::{Mistake, MistakeKind, Record, Watch, Watched};

/// The code in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(all(test, loom))]
mod interleavings;
#[cfg(all(test, shuttle))]
mod mixes;
