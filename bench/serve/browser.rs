//! The time until Chromium has drawn a page, measured by the driver of the page's own tests, if it
//! and a browser are available.

use std::path::Path;
use std::process::Command;

/// Milliseconds from opening an address until the plot is drawn; `None`, with a message, if there
/// is no browser.
pub fn until_drawn_ms(address: &str) -> Option<f64> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/page/first-plot.mjs");
    let output = Command::new("node").arg(script).arg(address).output().ok()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        eprintln!("Chromium is left out: {}", said.lines().find(|line| line.contains("rror")).unwrap_or_default());
        return None;
    }
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}
