//! Programs compiled for the tests, and the addresses of their symbols.

use object::{Object, ObjectSymbol};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A program of `tests/`, compiled with those options.
pub struct Compiled {
    pub bytes: Vec<u8>,
    /// Directory of the program; removed on drop.
    directory: TempDir,
}

impl Compiled {
    pub fn new(compiler: &str, source: &str, options: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
        let status = Command::new(compiler).args(options).arg("-o").arg(&path).arg(source).status().unwrap();
        assert!(status.success(), "{compiler} {options:?}");
        let bytes = std::fs::read(&path).unwrap();
        Compiled { bytes, directory }
    }

    /// The program's output.
    pub fn output(&self) -> String {
        let output = Command::new(self.directory.path().join("program")).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// The address of a symbol whose name contains `part`.
    pub fn address_of(&self, part: &str) -> u64 {
        let file = object::File::parse(&*self.bytes).unwrap();
        let found = file.symbols().find(|symbol| symbol.name().is_ok_and(|name| name.contains(part)));
        found.unwrap_or_else(|| panic!("no symbol {part}")).address()
    }
}
