//! Pages of repositories and commits on well-known forges, from the address of a remote.
//!
//! Addresses are built from checked parts only. User names and passwords of a remote are dropped.

/// A forge: its host, whether paths keep `.git`, and the address between repository and commit.
struct Forge {
    host: &'static str,
    keeps_suffix: bool,
    commit: &'static str,
}

const FORGES: [Forge; 6] = [
    Forge { host: "github.com", keeps_suffix: false, commit: "/commit/" },
    Forge { host: "gitlab.com", keeps_suffix: false, commit: "/-/commit/" },
    Forge { host: "codeberg.org", keeps_suffix: false, commit: "/commit/" },
    Forge { host: "bitbucket.org", keeps_suffix: false, commit: "/commits/" },
    Forge { host: "git.sr.ht", keeps_suffix: false, commit: "/commit/" },
    Forge { host: "git.kernel.org", keeps_suffix: true, commit: "/commit/?id=" },
];

/// Maximum length of a path.
const LONGEST: usize = 200;

/// The page of the repository with this remote; `None` if it is on no known forge, or if its
/// address has unusual characters.
pub fn page_of_remote(remote: &str) -> Option<String> {
    let (host, path) = parts(remote.trim())?;
    let forge = FORGES.iter().find(|forge| forge.host.eq_ignore_ascii_case(host))?;
    let path = path.trim_matches('/');
    let path = if forge.keeps_suffix { path } else { path.strip_suffix(".git").unwrap_or(path) };
    let segments: Vec<&str> = path.split('/').collect();
    let is_plain = path.len() <= LONGEST && segments.len() >= 2 && segments.iter().all(|segment| is_plain(segment));
    is_plain.then(|| format!("https://{}/{path}", forge.host))
}

/// The address before the name of a commit, for a page that [`page_of_remote`] returned; `None` for
/// any other text.
pub fn commits_of_page(page: &str) -> Option<String> {
    let forge = FORGES.iter().find(|forge| {
        let path = page.strip_prefix("https://").and_then(|rest| rest.strip_prefix(forge.host));
        path.is_some_and(|path| path.starts_with('/'))
    })?;
    (page_of_remote(page).as_deref() == Some(page)).then(|| format!("{page}{}", forge.commit))
}

/// The page of a commit, by its whole name; `None` for a release or an unknown forge.
pub fn commit_page(page: &str, commit: &str) -> Option<String> {
    let is_name = matches!(commit.len(), 40 | 64) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    commits_of_page(page).filter(|_| is_name).map(|before| before + commit)
}

/// Host and path of an address, without user and port: `https://host/path`, `ssh://git@host/path`,
/// `git@host:path`.
fn parts(remote: &str) -> Option<(&str, &str)> {
    let web = ["https://", "ssh://", "git://", "http://"].iter().find_map(|scheme| remote.strip_prefix(scheme));
    let (authority, path) = match web {
        Some(rest) => rest.split_once('/')?,
        None => remote.split_once(':')?,
    };
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    Some((host.split_once(':').map_or(host, |(host, _)| host), path))
}

/// True for a part of a path that needs no escape and leads nowhere else.
fn is_plain(segment: &str) -> bool {
    !segment.is_empty()
        && segment != "."
        && segment != ".."
        && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_remotes_lead_to_pages_without_users_and_passwords() {
        for remote in [
            "https://github.com/owner/name",
            "https://github.com/owner/name.git",
            "https://user:secret@github.com/owner/name.git/",
            "ssh://git@github.com:22/owner/name.git",
            "git@github.com:owner/name.git\n",
            "git@GitHub.com:/owner/name",
        ] {
            assert_eq!(page_of_remote(remote).as_deref(), Some("https://github.com/owner/name"), "{remote}");
        }
        let linux = "git://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git";
        let page = page_of_remote(linux).unwrap();
        let commit = "1f".repeat(20);
        assert_eq!(
            commit_page(&page, &commit).unwrap(),
            format!("https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/commit/?id={commit}")
        );
        let page = page_of_remote("git@gitlab.com:group/sub/name.git").unwrap();
        assert_eq!(
            commit_page(&page, &commit).unwrap(),
            format!("https://gitlab.com/group/sub/name/-/commit/{commit}")
        );
    }

    #[test]
    fn other_texts_lead_nowhere() {
        for remote in [
            "",
            "/srv/git/name.git",
            "../name",
            "https://example.org/owner/name",
            "https://github.com.example.org/owner/name",
            "https://github.com/owner",
            "https://github.com/owner/../name",
            "https://github.com/owner/name?x=1",
            "https://github.com/owner/\"onmouseover=alert(1)",
            "https://github.com/owner/name%20x",
            "javascript://github.com/owner/name",
            "https://example.org/@github.com/owner/name",
        ] {
            assert_eq!(page_of_remote(remote), None, "{remote}");
        }
        let page = "https://github.com/owner/name";
        for commit in ["", "6.1.0-50", "1f3a9c2", "<script>"] {
            assert_eq!(commit_page(page, commit), None, "{commit}");
        }
        let commit = "1f".repeat(20);
        for page in ["https://github.com/owner/name.git", "http://github.com/owner/name", "https://evil/a/b", "x"] {
            assert_eq!(commit_page(page, &commit), None, "{page}");
        }
    }
}
