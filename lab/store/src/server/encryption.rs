//! Whether the connection to a server is encrypted, and what the server's certificate must be: the URL's options `sslmode` and `sslrootcert`.

use crate::StoreError;
use percent_encoding::percent_decode_str;
use postgres::config::SslMode;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

/// How a connection is encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// Not at all.
    None,
    /// By TLS, whatever certificate the server has: whoever can alter the traffic can read it.
    Unverified,
    /// By TLS. The server's certificate is for its name, and of an authority that is trusted.
    Verified {
        /// The file with the authorities' certificates; `None`: those that this machine trusts.
        authorities: Option<PathBuf>,
    },
}

/// What a URL says of encryption.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    mode: Option<String>,
    authorities: Option<PathBuf>,
}

/// Takes what a URL says of encryption out of it: the client knows some of it only. The rest is a URL too.
pub(super) fn split(url: &str) -> (String, Asked) {
    // Where a password has a question mark, it is before the last `@`.
    let begin = url.rfind('@').unwrap_or(0);
    let Some(at) = url[begin..].find('?').map(|at| begin + at) else { return (url.to_owned(), Asked::default()) };
    let mut asked = Asked::default();
    let mut others = Vec::new();
    for option in url[at + 1..].split('&') {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let value = || percent_decode_str(value).decode_utf8_lossy().into_owned();
        match name {
            "sslmode" => asked.mode = Some(value()),
            // As for PostgreSQL's own programs.
            "sslrootcert" => asked.authorities = Some(value()).filter(|value| value != "system").map(PathBuf::from),
            _ => others.push(option),
        }
    }
    let sign = if others.is_empty() { "" } else { "?" };
    (format!("{}{sign}{}", &url[..at], others.join("&")), asked)
}

/// Where a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// On this machine, by a Unix socket.
    Socket,
    /// On this machine, by TCP.
    ThisMachine,
    /// Elsewhere.
    Elsewhere,
}

impl Asked {
    /// How to encrypt a connection there. Without a word about it in the URL, what leaves this machine is encrypted and verified. `shown`: the URL without its
    /// password. Fails if the URL asks for what is not possible.
    pub(super) fn decide(self, place: Where, shown: &str) -> Result<Encryption, StoreError> {
        let verified = |authorities| Ok(Encryption::Verified { authorities });
        match (self.mode.as_deref(), place) {
            (Some("require" | "verify-full"), Where::Socket) => Err(StoreError::unusable(
                format!("the connection to {shown} is by a Unix socket, which TLS does not encrypt"),
                "leave out `sslmode`: nothing leaves this machine",
            )),
            (Some("disable"), _) | (None | Some("prefer" | "allow"), Where::Socket | Where::ThisMachine) => {
                Ok(Encryption::None)
            }
            (Some("verify-full"), _) | (None, Where::Elsewhere) => verified(self.authorities),
            (Some("require"), _) if self.authorities.is_some() => verified(self.authorities),
            (Some("require"), _) => Ok(Encryption::Unverified),
            (Some("prefer" | "allow"), Where::Elsewhere) => Err(StoreError::unusable(
                format!("the connection to {shown} might not be encrypted"),
                "`sslmode=verify-full` encrypts it and checks the server's certificate; `sslmode=disable` does neither",
            )),
            (Some(_), _) => Err(StoreError::unusable(
                format!("the connection to {shown} has an `sslmode` that is not supported"),
                "write verify-full, require or disable; see docs/STORE.md",
            )),
        }
    }
}

impl Encryption {
    /// Whether the client must ask the server to encrypt.
    pub(super) fn mode(&self) -> SslMode {
        if *self == Encryption::None { SslMode::Disable } else { SslMode::Require }
    }

    /// What encrypts; `None` if nothing does. Fails if there are no certificates of authorities.
    pub(super) fn connector(&self) -> Result<Option<MakeRustlsConnect>, StoreError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().map_err(|error| no_tls(&error))?;
        let config = match self {
            Encryption::None => return Ok(None),
            Encryption::Unverified => {
                let verifier = Arc::new(AnyCertificate(provider));
                builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
            }
            Encryption::Verified { authorities } => {
                let roots = match authorities {
                    Some(path) => of_file(path)?,
                    None => of_this_machine()?,
                };
                builder.with_root_certificates(roots).with_no_client_auth()
            }
        };
        Ok(Some(MakeRustlsConnect::new(config)))
    }
}

fn no_tls(error: &rustls::Error) -> StoreError {
    StoreError::failed(
        format!("cannot encrypt connections: {error}"),
        "an SSH tunnel encrypts them too (docs/STORE.md)",
    )
}

/// The authorities of a file in PEM.
fn of_file(path: &Path) -> Result<RootCertStore, StoreError> {
    let wrong = |problem: String| {
        StoreError::unusable(
            format!("cannot read the certificates in {}: {problem}", path.display()),
            "`sslrootcert` in the URL names a file in PEM with the certificates of authorities",
        )
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))? {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    if roots.is_empty() { Err(wrong("there are none".to_owned())) } else { Ok(roots) }
}

/// The authorities that this machine trusts.
fn of_this_machine() -> Result<RootCertStore, StoreError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(StoreError::unusable(
            "this machine trusts no certificate authority".to_owned(),
            "install ca-certificates, or name the authority's certificate by `sslrootcert` in the URL",
        ));
    }
    Ok(roots)
}

/// Accepts any certificate; whoever has it must have its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(url: &str, place: Where) -> Result<Encryption, StoreError> {
        split(url).1.decide(place, "shown")
    }

    #[test]
    fn what_is_asked_of_encryption_is_taken_out_of_the_url() {
        let asked = |mode: Option<&str>, authorities: Option<&str>| Asked {
            mode: mode.map(str::to_owned),
            authorities: authorities.map(PathBuf::from),
        };
        for (url, rest, expected) in [
            ("postgres://u@h/d", "postgres://u@h/d", asked(None, None)),
            ("postgres://u@h/d?sslmode=require", "postgres://u@h/d", asked(Some("require"), None)),
            (
                "postgres://u:p?sslmode=x@h/d?a=1&sslrootcert=%2Fetc%2Fca.pem&sslmode=verify-full&b=2",
                "postgres://u:p?sslmode=x@h/d?a=1&b=2",
                asked(Some("verify-full"), Some("/etc/ca.pem")),
            ),
            ("postgres:///d?host=/run&sslrootcert=system", "postgres:///d?host=/run", asked(None, None)),
        ] {
            assert_eq!(split(url), (rest.to_owned(), expected), "{url}");
        }
    }

    #[test]
    fn what_leaves_this_machine_is_verified_unless_the_url_says_otherwise() {
        let verified = Encryption::Verified { authorities: None };
        assert_eq!(decided("postgres://h/d", Where::Elsewhere), Ok(verified.clone()));
        assert_eq!(decided("postgres://h/d?sslmode=verify-full", Where::ThisMachine), Ok(verified));
        assert_eq!(decided("postgres://h/d?sslmode=require", Where::Elsewhere), Ok(Encryption::Unverified));
        let of_file = Encryption::Verified { authorities: Some("/ca".into()) };
        assert_eq!(decided("postgres://h/d?sslmode=require&sslrootcert=/ca", Where::Elsewhere), Ok(of_file));
        for (mode, place) in [("disable", Where::Elsewhere), ("prefer", Where::ThisMachine), ("allow", Where::Socket)] {
            assert_eq!(decided(&format!("postgres://h/d?sslmode={mode}"), place), Ok(Encryption::None), "{mode}");
        }
        for (mode, place) in [
            ("prefer", Where::Elsewhere),
            ("verify-ca", Where::Elsewhere),
            ("require", Where::Socket),
            ("", Where::Socket),
        ] {
            assert!(decided(&format!("postgres://h/d?sslmode={mode}"), place).is_err(), "{mode}");
        }
    }
}
