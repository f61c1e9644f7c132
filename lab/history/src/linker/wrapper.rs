//! The linker wrapper: a directory with the scripts that are found instead of linkers, and the variables by which they are found.

use super::ARGUMENT;
use faultline_model::relink::LinkLayout;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Names by which compilers and makefiles look for GNU ld.
const NAMES: [&str; 2] = ["ld", "ld.bfd"];

/// A directory that holds the linker wrapper. It is removed with this value.
#[derive(Debug)]
pub(crate) struct LinkerWrapper {
    directory: PathBuf,
}

impl LinkerWrapper {
    /// Makes the directory anew. `program`: our own program; `layout`: what each link gets. Fails if it cannot be written.
    pub(crate) fn create(directory: &Path, program: &Path, layout: LinkLayout) -> io::Result<Self> {
        let _ = fs::remove_dir_all(directory);
        fs::create_dir_all(directory)?;
        let wrapper = LinkerWrapper { directory: directory.to_owned() };
        for name in NAMES {
            let file = directory.join(name);
            fs::write(&file, script(directory, program, name, layout))?;
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
        }
        Ok(wrapper)
    }

    /// The variables by which it is found before others. `environment`: variables that the command gets in any case.
    pub(crate) fn variables(&self, environment: &[(String, String)]) -> Vec<(String, String)> {
        let before = |name: &str| {
            let own = environment.iter().rev().find(|(set, _)| set == name).map(|(_, value)| OsString::from(value));
            let others = own.or_else(|| std::env::var_os(name)).unwrap_or_default();
            let others = std::env::split_paths(&others).filter(|other| !other.as_os_str().is_empty());
            let all = std::env::join_paths(std::iter::once(self.directory.clone()).chain(others)).ok()?;
            Some((name.to_owned(), all.into_string().ok()?))
        };
        ["COMPILER_PATH", "PATH"].into_iter().filter_map(before).collect()
    }
}

impl Drop for LinkerWrapper {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// A script that starts our program. It names everything itself, because a build may clear its environment.
fn script(directory: &Path, program: &Path, name: &str, layout: LinkLayout) -> Vec<u8> {
    let words = [
        program.as_os_str().as_bytes(),
        ARGUMENT.as_bytes(),
        directory.as_os_str().as_bytes(),
        name.as_bytes(),
        layout.kind.order.word().as_bytes(),
        layout.kind.spacing.word().as_bytes(),
        layout.seed.to_string().as_bytes(),
    ]
    .map(quoted)
    .join(&b' ');
    [&b"#!/bin/sh\nexec "[..], &words, b" \"$@\"\n"].concat()
}

/// A word that a shell takes as it is.
fn quoted(word: &[u8]) -> Vec<u8> {
    let inner: Vec<u8> =
        word.iter().flat_map(|byte| if *byte == b'\'' { b"'\\''".to_vec() } else { vec![*byte] }).collect();
    [&b"'"[..], &inner, b"'"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::relink::LayoutKind;
    use std::process::Command;

    #[test]
    fn a_path_with_any_sign_is_a_word_of_the_script() {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("it's $(touch harm) \"x\"");
        fs::write(&program, "#!/bin/sh\nfor word; do echo \"$word\"; done\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let directory = root.path().join("a wrapper");
        let wrapper = LinkerWrapper::create(&directory, &program, LayoutKind::default().with_seed(7)).unwrap();
        let output = Command::new(directory.join("ld")).args(["a b", "$c"]).current_dir(root.path()).output().unwrap();
        let words = String::from_utf8(output.stdout).unwrap();
        let expected = [ARGUMENT, directory.to_str().unwrap(), "ld", "random", "gap", "7", "a b", "$c"];
        assert_eq!(words.lines().collect::<Vec<_>>(), expected);
        assert!(!root.path().join("harm").exists());
        drop(wrapper);
        assert!(!directory.exists());
    }

    #[test]
    fn it_is_found_before_others() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("d");
        let wrapper = LinkerWrapper::create(&directory, Path::new("/x"), LayoutKind::default().with_seed(1)).unwrap();
        let variables = wrapper.variables(&[("PATH".to_owned(), "/bin:/usr/bin".to_owned())]);
        let path = variables.iter().find(|(name, _)| name == "PATH").unwrap();
        assert_eq!(path.1, format!("{}:/bin:/usr/bin", directory.display()));
        assert!(
            variables
                .iter()
                .any(|(name, value)| name == "COMPILER_PATH" && value.starts_with(directory.to_str().unwrap()))
        );
    }
}
