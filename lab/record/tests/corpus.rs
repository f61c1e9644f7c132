//! The fuzzer's corpus, kept as regression tests: real outputs, and inputs that the fuzzer once
//! kept as interesting.

mod properties;

use std::path::Path;

#[test]
fn the_properties_hold_over_the_kept_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/transcript");
    let mut files = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        properties::hold(&std::fs::read(entry.unwrap().path()).unwrap());
        files += 1;
    }
    assert!(files >= 20, "the corpus has gone: {files} files");
}
