//! Access tokens, of which the token file has only hashes.
//!
//! A token has 256 random bits, too many to try, so a fast hash suffices. Hashes are compared in
//! constant time.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use subtle::ConstantTimeEq;

/// Start of each line of the file.
const MARK: &str = "faultline-token-sha256";
const BYTES: usize = 32;

/// Digits of the hash that name a token without a name.
const NAMING_DIGITS: usize = 8;

/// Accepted tokens, by their hashes.
#[derive(Debug, Clone)]
pub struct Tokens(Vec<Token>);

/// A token, by its hash.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    hash: [u8; BYTES],
    /// Name of its owner.
    pub(crate) name: Option<String>,
}

impl Token {
    /// Name of a token without one.
    pub(crate) fn without_name(&self) -> String {
        format!("token {}", &hex(&self.hash)[..NAMING_DIGITS])
    }

    /// Parses a line of the file: the hash, and possibly a name.
    fn parse(line: &str) -> Option<Self> {
        let rest = line.strip_prefix(MARK)?.trim();
        let (hash, name) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let name = Some(name.trim().to_owned()).filter(|name| !name.is_empty());
        Some(Token { hash: from_hex(hash)?, name })
    }
}

/// An unusable token file.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    /// The file cannot be read.
    #[error("cannot read the tokens in {0}: {1}")]
    Unreadable(String, std::io::Error),
    /// The file cannot be written.
    #[error("cannot write a token to {0}: {1}")]
    NotWritten(String, std::io::Error),
    /// A line is not a token.
    #[error("line {1} of {0} is not the hash of a token")]
    NoToken(String, usize),
    /// The file has no token.
    #[error("{0} has no token")]
    Empty(String),
    /// The system has no random numbers.
    #[error("the system has no random numbers: {0}")]
    NoRandomness(getrandom::Error),
}

impl Tokens {
    /// Reads a file. Fails if it cannot be read, has no token, or has a line that is not a token.
    pub fn read(path: &Path) -> Result<Self, TokensError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| TokensError::Unreadable(name.clone(), error))?;
        Self::parse(&text, &name)
    }

    fn parse(text: &str, name: &str) -> Result<Self, TokensError> {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let token = |(number, line): (usize, &str)| {
            Token::parse(line).ok_or_else(|| TokensError::NoToken(name.to_owned(), number))
        };
        let tokens = lines.map(token).collect::<Result<Vec<_>, _>>()?;
        if tokens.is_empty() { Err(TokensError::Empty(name.to_owned())) } else { Ok(Tokens(tokens)) }
    }

    /// The accepted token, if it is one. Compares with all of them, so that the time reveals
    /// nothing.
    pub(crate) fn accept(&self, token: &str) -> Option<&Token> {
        let hash: [u8; BYTES] = Sha256::digest(token.as_bytes()).into();
        self.0.iter().fold(None, |found, one| if one.hash.ct_eq(&hash).into() { Some(one) } else { found })
    }
}

/// A new token.
#[derive(Debug)]
pub struct NewToken {
    /// The token: 64 hexadecimal digits, saved nowhere else.
    pub token: String,
}

impl NewToken {
    /// Creates a token without a name, like [`NewToken::add_named_to`].
    pub fn add_to(path: &Path) -> Result<Self, TokensError> {
        Self::add_named_to(path, "")
    }

    /// Creates a token, and adds its hash and its owner's name (one line; may be empty) to a file.
    /// A new file is readable only by its owner. Fails if the file cannot be written.
    pub fn add_named_to(path: &Path, name: &str) -> Result<Self, TokensError> {
        use std::os::unix::fs::OpenOptionsExt;
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(TokensError::NoRandomness)?;
        let token = hex(&bytes);
        let line = format!("{MARK} {} {name}", hex(&Sha256::digest(token.as_bytes())));
        let line = format!("{}\n", line.trim_end());
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
        let is_accepted = |token: &str| tokens.accept(token).is_some();
        assert!(is_accepted(&first) && is_accepted(&second));
        assert!(!is_accepted("") && !is_accepted(&first[1..]) && !is_accepted(&first.to_uppercase()));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&first) && !text.contains(&second));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let hash = text.split_whitespace().nth(1).unwrap();
        assert!(!is_accepted(hash), "the hash is no token");
    }

    #[test]
    fn a_token_has_the_name_that_it_was_given() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens");
        let named = NewToken::add_named_to(&path, "A. Uthor").unwrap().token;
        let other = NewToken::add_to(&path).unwrap().token;
        let tokens = Tokens::read(&path).unwrap();
        assert_eq!(tokens.accept(&named).unwrap().name.as_deref(), Some("A. Uthor"));
        let other = tokens.accept(&other).unwrap();
        assert_eq!((&other.name, other.without_name().len()), (&None, "token ".len() + NAMING_DIGITS));
    }

    #[test]
    fn files_without_tokens_are_refused() {
        assert!(matches!(Tokens::parse("# none\n\n", "f"), Err(TokensError::Empty(_))));
        assert!(matches!(Tokens::parse("secret", "f"), Err(TokensError::NoToken(_, 1))));
        let short = format!("# a comment\n{MARK} abc");
        assert!(matches!(Tokens::parse(&short, "f"), Err(TokensError::NoToken(_, 2))));
    }
}
