//! The formats, one file each: how it is read, what it can hold, how it is written.

pub(crate) mod asv;
pub(crate) mod bencher;
pub(crate) mod criterion;
pub(crate) mod faultline;
pub(crate) mod go_bench;
pub(crate) mod hyperfine;
pub(crate) mod lkp;
pub(crate) mod openbsd_data;
pub(crate) mod openbsd_result;
pub(crate) mod otava_csv;
pub(crate) mod otava_json;
pub(crate) mod will_it_scale;
