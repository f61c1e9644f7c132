//! Passwords that are not in the URL: of `PGPASSWORD`, or of the file that PostgreSQL's own programs read (`PGPASSFILE`, `~/.pgpass`).

use crate::StoreError;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Whom a password is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Login<'a> {
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) database: &'a str,
    pub(super) user: &'a str,
}

/// The password of a login; `None` if none is found. Fails if others may read the file of passwords.
pub(super) fn find(login: Login<'_>) -> Result<Option<String>, StoreError> {
    if let Some(password) = std::env::var("PGPASSWORD").ok().filter(|password| !password.is_empty()) {
        return Ok(Some(password));
    }
    let Some(path) = file() else { return Ok(None) };
    let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
    let others_may_read = path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0);
    if others_may_read {
        let problem = format!("others may read the passwords in {}", path.display());
        return Err(StoreError::unusable(problem, "`chmod 600` on it keeps them to yourself"));
    }
    Ok(text.lines().find_map(|line| password_of(line, login)))
}

fn file() -> Option<PathBuf> {
    let named = std::env::var_os("PGPASSFILE").map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pgpass")))
}

/// The password of a line `HOST:PORT:DATABASE:USER:PASSWORD`, if the line is for that login. `*` stands for anything; a backslash precedes a colon or a
/// backslash in a field.
fn password_of(line: &str, login: Login<'_>) -> Option<String> {
    let line = line.trim_start();
    if line.starts_with('#') {
        return None;
    }
    let mut rest = line;
    for wanted in [login.host, &login.port.to_string(), login.database, login.user] {
        let (field, after) = field(rest);
        if field != wanted && rest.split(':').next() != Some("*") {
            return None;
        }
        rest = after?;
    }
    Some(field(rest).0)
}

/// The first field without its backslashes, and what follows its colon.
fn field(text: &str) -> (String, Option<&str>) {
    let mut field = String::new();
    let mut signs = text.char_indices();
    while let Some((at, sign)) = signs.next() {
        match sign {
            ':' => return (field, Some(&text[at + 1..])),
            '\\' => field.extend(signs.next().map(|(_, escaped)| escaped)),
            sign => field.push(sign),
        }
    }
    (field, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGIN: Login<'_> = Login { host: "db.example", port: 5432, database: "team:x", user: "ada" };

    #[test]
    fn a_line_is_for_the_login_that_it_names() {
        let password = |line| password_of(line, LOGIN);
        assert_eq!(password("db.example:5432:team\\:x:ada:se\\:cr\\\\et").as_deref(), Some("se:cr\\et"));
        assert_eq!(password("*:*:*:ada:any").as_deref(), Some("any"));
        assert_eq!(password("*:5433:*:ada:other"), None);
        assert_eq!(password("# *:*:*:*:x"), None);
        assert_eq!(password("db.example:5432:team:x:ada:x"), None, "a colon in a name has a backslash");
        assert_eq!(password("\\*:*:*:*:x"), None, "a star with a backslash is a star");
        assert_eq!(password(""), None);
    }
}
