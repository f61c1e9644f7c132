//! Formats against files that the real tools wrote, against datasets of all kinds, and against rubbish.

mod generated;
mod losses;
mod round_trips;
mod rubbish;
mod samples;
mod size;
