//! The environment of a program in the sandbox: the variables that programs and compilers need, and
//! none that may hold a secret.

use std::ffi::{OsStr, OsString};

/// Variables of the user's session and locale.
const OF_SESSION: [&str; 11] =
    ["HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TZ", "TZDIR", "USER", "COLUMNS"];

/// Variables that name tools and their directories.
const OF_TOOLS: [&str; 31] = [
    "AR",
    "AS",
    "CC",
    "CXX",
    "FC",
    "LD",
    "NM",
    "OBJCOPY",
    "RANLIB",
    "RUSTC",
    "RUSTC_WRAPPER",
    "STRIP",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOMODCACHE",
    "GOTOOLCHAIN",
    "JAVA_HOME",
    "NODE_PATH",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "PYTHONPATH",
    "COMPILER_PATH",
    "CPATH",
    "LIBRARY_PATH",
    "LD_LIBRARY_PATH",
    "PKG_CONFIG_PATH",
    "PKG_CONFIG_LIBDIR",
    "VIRTUAL_ENV",
];

/// Variables with options of tools and programs.
const OF_OPTIONS: [&str; 20] = [
    "ASFLAGS",
    "CFLAGS",
    "CPPFLAGS",
    "CXXFLAGS",
    "FFLAGS",
    "LDFLAGS",
    "LDLIBS",
    "RUSTFLAGS",
    "GOFLAGS",
    "CGO_ENABLED",
    "GOMAXPROCS",
    "CARGO_BUILD_JOBS",
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "MAKEFLAGS",
    "MALLOC_ARENA_MAX",
    "PYTHONHASHSEED",
    "PYTHONDONTWRITEBYTECODE",
    "NODE_OPTIONS",
    "SOURCE_DATE_EPOCH",
];

/// Variables of programs that download. A proxy's address may hold a password.
const OF_NETWORK: [&str; 18] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CARGO_HTTP_CAINFO",
    "CARGO_HTTP_PROXY",
    "GOPROXY",
    "GONOSUMDB",
    "GONOSUMCHECK",
    "GOSUMDB",
    "NODE_EXTRA_CA_CERTS",
    "CURL_CA_BUNDLE",
];

/// Beginnings of names.
const BEGINNINGS: [&str; 3] = ["LC_", "OMP_", "KMP_"];

/// The variables of an environment that a program in the sandbox keeps.
pub(crate) fn variables(
    environment: impl Iterator<Item = (OsString, OsString)>,
    has_network: bool,
) -> Vec<(OsString, OsString)> {
    environment.filter(|(name, _)| is_kept(name, has_network)).collect()
}

fn is_kept(name: &OsStr, has_network: bool) -> bool {
    let Some(name) = name.to_str() else { return false };
    let is_in = |list: &[&str]| list.contains(&name);
    is_in(&OF_SESSION)
        || is_in(&OF_TOOLS)
        || is_in(&OF_OPTIONS)
        || (has_network && is_in(&OF_NETWORK))
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_cleared_and_tools_are_kept() {
        let kept = |name: &str| is_kept(OsStr::new(name), false);
        for name in ["PATH", "HOME", "LC_ALL", "CC", "RUSTUP_HOME", "LD_LIBRARY_PATH"] {
            assert!(kept(name), "{name}");
        }
        for name in [
            "PGPASSWORD",
            "SSH_AUTH_SOCK",
            "CARGO_REGISTRY_TOKEN",
            "GITHUB_TOKEN",
            "FAULTLINE_DB",
            "LD_PRELOAD",
            "https_proxy",
        ] {
            assert!(!kept(name), "{name}");
        }
        assert!(is_kept(OsStr::new("https_proxy"), true) && !is_kept(OsStr::new("PGPASSWORD"), true));
    }
}
