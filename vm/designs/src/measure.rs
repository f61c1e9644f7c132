//! The benchmarks: the cost of a get and a put in nanoseconds, with all designs interleaved in one run; and how many
//! huge frames stay whole in a long mixed run.
//!
//! `bulk`, `repeat` and `rand` come from LLFree's evaluation (Wrenger et al., USENIX ATC 2023). Each of `threads`
//! threads works on N = frames / threads / 2 frames, and each sample starts with a fresh allocator. A benchmark of
//! another crate passes its designs to [`run`] as further [`Subject`]s.

mod arguments;
mod benchmark;
mod bulk;
mod faults;
mod fragmentation;
mod goals;
mod host;
mod huge;
mod nearly_full;
mod rand;
mod repeat;
mod rounds;
mod samples;
mod subject;
mod table;
mod threads;

pub use arguments::run;
pub use subject::Subject;
