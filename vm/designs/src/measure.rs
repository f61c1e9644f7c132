//! The benchmarks: what a get and a put cost in nanoseconds, all designs in one run, by turns, and how many huge frames are left
//! whole after a long mixed run.
//!
//! `bulk`, `repeat` and `rand` are those of LLFree's evaluation (Wrenger et al., USENIX ATC 2023): each of `threads` threads works on
//! N = frames / threads / 2 frames, and each sample begins with a fresh allocator. A benchmark of another crate joins in by handing
//! its designs to [`run`] as further [`Subject`]s.

mod arguments;
mod benchmark;
mod bulk;
mod faults;
mod fragmentation;
mod goals;
mod host;
mod rand;
mod repeat;
mod rounds;
mod samples;
mod subject;
mod table;
mod threads;

pub use arguments::run;
pub use subject::Subject;
