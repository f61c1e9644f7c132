//! Experiments simulated from seeds.

mod rows_read;
mod seeds;
