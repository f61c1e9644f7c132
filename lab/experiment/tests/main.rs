//! Counted runs from start to conclusion, with a lens that answers from memory.

mod counted;
mod lens_jobs;
mod lens_seeds;
