//! Encryption of connections and the check of the server's certificate: the URL options `sslmode`
//! and `sslrootcert`.

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

/// Encryption of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// None.
    None,
    /// TLS with any certificate. An attacker who can alter the traffic can read it.
    Unverified,
    /// TLS with a certificate of a trusted authority for the server's name.
    Verified {
        /// File with the authorities' certificates; `None` for those that this machine trusts.
        authorities: Option<PathBuf>,
    },
}

/// The URL's options about encryption.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    mode: Option<String>,
    authorities: Option<PathBuf>,
}

/// Splits a URL into a URL without options about encryption, and these options. The client knows
/// only some of them.
pub(super) fn split(url: &str) -> (String, Asked) {
    // A question mark in a password comes before the last `@`.
    let begin = url.rfind('@').unwrap_or(0);
    let Some(at) = url[begin..].find('?').map(|at| begin + at) else { return (url.to_owned(), Asked::default()) };
    let mut asked = Asked::default();
    let mut others = Vec::new();
    for option in url[at + 1..].split('&') {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let value = || percent_decode_str(value).decode_utf8_lossy().into_owned();
        match name {
            "sslmode" => asked.mode = Some(value()),
            // As in PostgreSQL's own programs.
            "sslrootcert" => asked.authorities = Some(value()).filter(|value| value != "system").map(PathBuf::from),
            _ => others.push(option),
        }
    }
    let sign = if others.is_empty() { "" } else { "?" };
    (format!("{}{sign}{}", &url[..at], others.join("&")), asked)
}

/// Location of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// This machine, over a Unix socket.
    Socket,
    /// This machine, over TCP.
    ThisMachine,
    /// Another machine.
    Elsewhere,
}

impl Asked {
    /// The encryption of a connection. By default, connections to other machines are encrypted and
    /// verified. `shown` is the URL without its password. Fails if the options are impossible.
    pub(super) fn decide(self, place: Where, shown: &str) -> Result<Encryption, StoreError> {
        let verified = |authorities| Ok(Encryption::Verified { authorities });
        match (self.mode.as_deref(), place) {
            (Some("require" | "verify-full"), Where::Socket) => Err(StoreError::unusable(
                format!("the connection to {shown} uses a Unix socket, which TLS does not encrypt"),
                "remove `sslmode`: the data do not leave this machine",
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
                "use verify-full, require or disable (docs/STORE.md)",
            )),
        }
    }
}

impl Encryption {
    /// The client's TLS mode.
    pub(super) fn mode(&self) -> SslMode {
        if *self == Encryption::None { SslMode::Disable } else { SslMode::Require }
    }

    /// The TLS connector; `None` without encryption. Fails if there are no certificates of
    /// authorities.
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

/// The authorities in a PEM file.
fn of_file(path: &Path) -> Result<RootCertStore, StoreError> {
    let wrong = |problem: String| {
        StoreError::unusable(
            format!("cannot read the certificates in {}: {problem}", path.display()),
            "`sslrootcert` in the URL names a PEM file with certificates of authorities",
        )
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))? {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    if roots.is_empty() { Err(wrong("it has none".to_owned())) } else { Ok(roots) }
}

/// The authorities trusted by this machine.
fn of_this_machine() -> Result<RootCertStore, StoreError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(StoreError::unusable(
            "this machine trusts no certificate authority".to_owned(),
            "install ca-certificates, or set `sslrootcert` in the URL to the authority's certificate",
        ));
    }
    Ok(roots)
}

/// Accepts any certificate, if the server has its key.
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
    fn options_about_encryption_are_removed_from_the_url() {
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
    fn connections_to_other_machines_are_verified_by_default() {
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
