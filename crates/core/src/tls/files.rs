//! The PEM files of the settings: root certificates to trust, the client's certificate, and its private key.

use crate::error::{Error, Result};
use crate::private_file::{read_private_bytes, read_public};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};

/// The names of the settings.
const CA_FILE: &str = "ca_file";
const CLIENT_CERT: &str = "client_cert";
const CLIENT_KEY: &str = "client_key";

/// The byte order mark.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The paths of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    /// Root certificates to trust in addition to those of the system.
    pub(crate) ca_file: Option<PathBuf>,
    /// The certificate that the client presents, with its private key.
    pub(crate) client_cert: Option<PathBuf>,
    pub(crate) client_key: Option<PathBuf>,
}

/// A certificate with the certificates of its issuers, and its private key.
type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl TlsFiles {
    /// Reads the root certificates to trust.
    ///
    /// # Errors
    /// `Config`, naming the setting and the file.
    pub(super) fn roots(&self) -> Result<Vec<CertificateDer<'static>>> {
        let Some(path) = &self.ca_file else {
            return Ok(Vec::new());
        };
        let roots = certificates(CA_FILE, path)?;
        let mut store = RootCertStore::empty();
        for (index, root) in roots.iter().enumerate() {
            store.add(root.clone()).map_err(|_| {
                let why = format!("its certificate {} cannot be read", index + 1);
                wrong(CA_FILE, path, &why)
            })?;
        }
        Ok(roots)
    }

    /// Reads the certificate that the client presents, and its private key.
    ///
    /// # Errors
    /// `Config`, naming the setting and the file.
    pub(super) fn identity(&self) -> Result<Option<Identity>> {
        let (certificate, key) = match (&self.client_cert, &self.client_key) {
            (None, None) => return Ok(None),
            (Some(certificate), Some(key)) => (certificate, key),
            (Some(_), None) => return Err(one_without_the_other(CLIENT_CERT, CLIENT_KEY)),
            (None, Some(_)) => return Err(one_without_the_other(CLIENT_KEY, CLIENT_CERT)),
        };
        let certificates = certificates(CLIENT_CERT, certificate)?;
        let bytes = read_private_bytes(key).map_err(|error| named(CLIENT_KEY, &error))?;
        let key = PrivateKeyDer::from_pem_slice(unmarked(&bytes)).map_err(|_| {
            let why = if contains(&bytes, "ENCRYPTED") {
                "the private key is encrypted; decrypt it, for example with openssl pkey -in FILE -out FILE"
            } else {
                unread(&bytes, "it contains no private key in PEM form")
            };
            wrong(CLIENT_KEY, key, why)
        })?;
        Ok(Some((certificates, key)))
    }

    /// Returns the error for a certificate and a key that cannot be used together.
    pub(super) fn unusable_identity(&self, error: &rustls::Error) -> Error {
        let shown = |path: &Option<PathBuf>| {
            let path = path.as_deref().unwrap_or(Path::new(""));
            path.display().to_string()
        };
        let (certificate, key) = (shown(&self.client_cert), shown(&self.client_key));
        let why = match error {
            rustls::Error::InconsistentKeys(_) => "do not belong together",
            _ => {
                "cannot be used: the certificate is damaged, or the kind of the key is not supported (RSA, ECDSA and Ed25519 are)"
            }
        };
        Error::config(format!(
            "{CLIENT_CERT} ({certificate}) and {CLIENT_KEY} ({key}) {why}"
        ))
    }
}

/// Reads the certificates in a PEM file, which must contain at least one.
fn certificates(setting: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let bytes = read_public(path).map_err(|error| named(setting, &error))?;
    let read: std::result::Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(unmarked(&bytes)).collect();
    let read = read.map_err(|_| wrong(setting, path, "its PEM form is damaged"))?;
    if read.is_empty() {
        let why = "it contains no certificate in PEM form (-----BEGIN CERTIFICATE-----)";
        return Err(wrong(setting, path, unread(&bytes, why)));
    }
    Ok(read)
}

/// Returns the certificates in the file of SSL_CERT_FILE if it begins with a byte order mark. The system's reader would
/// not find the first one.
pub(super) fn certificates_after_mark() -> Vec<CertificateDer<'static>> {
    let bytes = std::env::var_os("SSL_CERT_FILE").map(|path| read_public(Path::new(&path)));
    let bytes = bytes.and_then(Result::ok).unwrap_or_default();
    let Some(bytes) = bytes.strip_prefix(BYTE_ORDER_MARK) else {
        return Vec::new();
    };
    let read = CertificateDer::pem_slice_iter(bytes).flatten();
    read.filter(|one: &CertificateDer<'_>| {
        RootCertStore::empty().add(one.clone().into_owned()).is_ok()
    })
    .collect()
}

/// Returns the bytes after a byte order mark, which editors write.
fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|part| part == text.as_bytes())
}

/// Returns the reason why a file has no PEM form that can be used, with the remedy if its form is known.
fn unread<'a>(bytes: &[u8], otherwise: &'a str) -> &'a str {
    if contains(bytes, "BEGIN TRUSTED CERTIFICATE") {
        "its certificates are in a form of OpenSSL alone (TRUSTED CERTIFICATE); convert each with openssl x509 -in FILE -out FILE"
    } else if matches!(bytes, [0x30, 0x80..=0xff, ..]) {
        "it is not in PEM form, but binary; convert a .p12 or .pfx file with openssl pkcs12 -in FILE -nodes -out FILE, and a .der file with openssl x509 or pkey -inform DER -in FILE -out FILE"
    } else if bytes.contains(&0) {
        "it is UTF-16 or binary; save it as UTF-8"
    } else {
        otherwise
    }
}

fn one_without_the_other(set: &str, missing: &str) -> Error {
    Error::config(format!(
        "{set} is set, but {missing} is not; set both, or neither"
    ))
}

fn wrong(setting: &str, path: &Path, why: &str) -> Error {
    Error::config(format!("{setting}: cannot use {}: {why}", path.display()))
}

fn named(setting: &str, error: &Error) -> Error {
    Error::config(format!("{setting}: {}", error.message()))
}
