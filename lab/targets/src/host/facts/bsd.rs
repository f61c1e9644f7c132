//! Facts of a BSD, from `sysctl`.

use crate::bsd_facts::{self, Sysctls};
use crate::program_output::first_line;
use faultline_model::facts::Facts;
use std::path::Path;

pub(super) fn read(facts: &mut Facts, _scratch: &Path) {
    bsd_facts::read(&Sysctls::of(|name| first_line("sysctl", &["-n", name])), facts);
}
