//! Limits of socket paths.

use std::path::Path;

/// Maximum length of a socket's path: `sun_path` of Linux without its end.
const LONGEST_BYTES: usize = 107;

/// Fails, with a text, if a path in our scratch directory is too long for a socket.
pub(crate) fn check(path: &Path) -> Result<(), String> {
    match path.as_os_str().len() <= LONGEST_BYTES {
        true => Ok(()),
        false => Err(format!(
            "the path {} is too long for a socket; name a shorter directory with --scratch",
            path.display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_the_kernel_cannot_take_is_refused() {
        for (length, fits) in [(107, true), (108, false)] {
            assert_eq!(check(Path::new(&"a".repeat(length))).is_ok(), fits);
        }
    }
}
