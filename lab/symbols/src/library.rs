//! Source files of standard libraries, by their paths in debug information.

/// Parts of paths of the standard libraries of Rust, C++, C and Go.
const PARTS: [&str; 8] = [
    "/rustlib/src/rust/library/",
    "/include/c++/",
    "/usr/include/",
    "/usr/lib/gcc/",
    "/usr/local/go/src/",
    "/usr/lib/go",
    "/usr/share/go",
    "/golang.org/toolchain@",
];

/// Beginning of the paths in Rust's own builds of its library: `/rustc/COMMIT/library/…`.
const RUST: &str = "/rustc/";

/// True for a file of a standard library.
pub(crate) fn is_library(path: &str) -> bool {
    PARTS.iter().any(|part| path.contains(part)) || path.starts_with(RUST) && path.contains("/library/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_files_are_distinguished_from_the_programs_own() {
        for path in [
            "/rustc/4a4ef493e3a1488c6e321570238084b38948f6db/library/core/src/sync/atomic.rs",
            "/home/me/.rustup/toolchains/stable/lib/rustlib/src/rust/library/core/src/sync/atomic.rs",
            "/usr/include/c++/12/bits/atomic_base.h",
            "/usr/lib/gcc/x86_64-linux-gnu/12/include/../include/c++/12/atomic",
            "/usr/local/go/src/sync/atomic/type.go",
            "/usr/lib/go-1.19/src/sync/mutex.go",
            "/home/me/go/pkg/mod/golang.org/toolchain@v0.0.1-go1.24.0.linux-amd64/src/sync/mutex.go",
        ] {
            assert!(is_library(path), "{path}");
        }
        for path in ["/home/me/src/main.rs", "counter.c", "/home/me/go/src/hello/main.go", "/home/me/library/map.rs"] {
            assert!(!is_library(path), "{path}");
        }
    }
}
