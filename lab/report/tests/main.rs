//! Tests of reports, as one program. `INSTA_UPDATE=always cargo test -p faultline-report` writes
//! the expected texts.

mod comparison;
mod fixtures;
mod json_shape;
mod lens;
mod page;
mod runs;
mod search;
mod width;
