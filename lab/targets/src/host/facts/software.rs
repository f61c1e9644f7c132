//! The software behind the figures: compiler, C library, our own version, and the builds of the workloads.

use crate::host::programs;
use crate::program_output::first_line;
use faultline_model::facts::Facts;
use sha2::{Digest, Sha256};
use std::path::Path;

pub(super) fn read(facts: &mut Facts, workloads: &Path) {
    facts.text("faultline.version", env!("CARGO_PKG_VERSION"));
    if let Some(compiler) = first_line("cc", &["--version"]) {
        facts.text("software.compiler", compiler);
    }
    if let Some(libc) = first_line("getconf", &["GNU_LIBC_VERSION"]) {
        facts.text("software.libc", libc);
    }
    if let Some(linker) = first_line("ld", &["--version"]) {
        facts.text("software.linker", linker);
    }
    hashes(facts, workloads);
}

/// Two runs are comparable only if their workloads are the same programs.
fn hashes(facts: &mut Facts, workloads: &Path) {
    for program in programs::list(workloads).unwrap_or_default() {
        let (Ok(bytes), Some(name)) = (std::fs::read(&program), program.file_name()) else { continue };
        let digest = Sha256::digest(&bytes);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        facts.text(&format!("workload.{}.sha256", name.to_string_lossy()), hex);
    }
}
