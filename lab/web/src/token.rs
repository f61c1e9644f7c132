//! Tokens: who has one may read. The file of tokens has only their hashes.
//!
//! A token is made here, of 256 random bits, so a fast hash suffices: nobody can try that many. Tokens are compared by their hashes, in constant time.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use subtle::ConstantTimeEq;

/// What each line of the file begins with.
const MARK: &str = "faultline-token-sha256";
const BYTES: usize = 32;

/// The hashes of the tokens that are accepted.
#[derive(Debug, Clone)]
pub struct Tokens(Vec<[u8; BYTES]>);

/// A file of tokens that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    /// It cannot be read.
    #[error("cannot read the tokens in {0}: {1}")]
    Unreadable(String, std::io::Error),
    /// It cannot be written.
    #[error("cannot write a token to {0}: {1}")]
    NotWritten(String, std::io::Error),
    /// It has something else.
    #[error("line {1} of {0} is not the hash of a token")]
    NoToken(String, usize),
    /// It has no token.
    #[error("{0} has no token")]
    Empty(String),
    /// The system gives no random numbers.
    #[error("the system has no random numbers: {0}")]
    NoRandomness(getrandom::Error),
}

impl Tokens {
    /// The tokens of a file. Fails if it cannot be read, or has none, or something else.
    pub fn read(path: &Path) -> Result<Self, TokensError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| TokensError::Unreadable(name.clone(), error))?;
        Self::parse(&text, &name)
    }

    fn parse(text: &str, name: &str) -> Result<Self, TokensError> {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let hash = |(number, line): (usize, &str)| {
            line.strip_prefix(MARK)
                .and_then(|hash| from_hex(hash.trim()))
                .ok_or_else(|| TokensError::NoToken(name.to_owned(), number))
        };
        let hashes = lines.map(hash).collect::<Result<Vec<_>, _>>()?;
        if hashes.is_empty() { Err(TokensError::Empty(name.to_owned())) } else { Ok(Tokens(hashes)) }
    }

    /// Whether it is one of them. Compares it with all, so that the time says nothing.
    pub(crate) fn accept(&self, token: &str) -> bool {
        let hash: [u8; BYTES] = Sha256::digest(token.as_bytes()).into();
        let found = self.0.iter().fold(subtle::Choice::from(0), |found, one| found | one.ct_eq(&hash));
        found.into()
    }
}

/// A token that nobody has yet.
#[derive(Debug)]
pub struct NewToken {
    /// The token: 64 hexadecimal digits. It is nowhere else.
    pub token: String,
}

impl NewToken {
    /// Makes a token, and adds its hash to a file, which only its owner may read if it is new. Fails if the file cannot be written.
    pub fn add_to(path: &Path) -> Result<Self, TokensError> {
        use std::os::unix::fs::OpenOptionsExt;
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(TokensError::NoRandomness)?;
        let token = hex(&bytes);
        let line = format!("{MARK} {}\n", hex(&Sha256::digest(token.as_bytes())));
        let opened = std::fs::OpenOptions::new().append(true).create(true).mode(0o600).open(path);
        opened
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .map_err(|error| TokensError::NotWritten(path.display().to_string(), error))?;
        Ok(NewToken { token })
    }
}

/// The bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn from_hex(text: &str) -> Option<[u8; BYTES]> {
    if text.len() != 2 * BYTES || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; BYTES];
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_new_token_is_accepted_and_the_file_does_not_have_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens");
        let [first, second] = [0, 1].map(|_| NewToken::add_to(&path).unwrap().token);
        let tokens = Tokens::read(&path).unwrap();
        assert!(tokens.accept(&first) && tokens.accept(&second));
        assert!(!tokens.accept("") && !tokens.accept(&first[1..]) && !tokens.accept(&first.to_uppercase()));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&first) && !text.contains(&second));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let hash = text.split_whitespace().nth(1).unwrap();
        assert!(!tokens.accept(hash), "the hash is no token");
    }

    #[test]
    fn files_without_tokens_are_refused() {
        assert!(matches!(Tokens::parse("# none\n\n", "f"), Err(TokensError::Empty(_))));
        assert!(matches!(Tokens::parse("secret", "f"), Err(TokensError::NoToken(_, 1))));
        let short = format!("# a comment\n{MARK} abc");
        assert!(matches!(Tokens::parse(&short, "f"), Err(TokensError::NoToken(_, 2))));
    }
}
