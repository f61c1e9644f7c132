//! Variables that would pass the options of an outer make, or of the user for every make, to a build.

/// Their names.
const NAMES: [&str; 5] = ["MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS", "MAKEFILES", "MAKELEVEL"];

/// Environment variables that undo them: all of them, empty.
pub fn undone() -> Vec<(String, String)> {
    NAMES.map(|name| (name.to_owned(), String::new())).into()
}
