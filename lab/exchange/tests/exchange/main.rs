//! Tests of the formats with files of the real tools, generated datasets, and malformed input.

mod generated;
mod losses;
mod otava;
mod round_trips;
mod rubbish;
mod samples;
mod size;
mod tables;
