//! List of the workloads' sources, which the command contains: path and text of each file, in
//! `OUT_DIR/sources.rs`.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The sources, relative to the package, where cargo runs this program.
const SOURCES: &str = "workloads";

/// Files that are no part of a program.
const LEFT_OUT: [&str; 2] = ["tests", "README.md"];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={SOURCES}");
    let sources = env::current_dir()?.join(SOURCES);
    let mut files = Vec::new();
    add_files(&sources, &mut files)?;
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(&sources).unwrap_or(&file);
        list += &format!("    ({:?}, include_str!({:?})),\n", name.display().to_string(), file.display().to_string());
    }
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join("sources.rs"), list + "]\n")
}

/// Adds the files in a directory and below.
fn add_files(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        let path = entry.path();
        if path.is_dir() { add_files(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
