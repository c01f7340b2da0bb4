//! The PEM files of the settings: root certificates to trust, the client's certificate, and its private key.

use crate::error::{Error, Result};
use crate::private_file::{read_private, read_public};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};

/// The names of the settings.
const CA_FILE: &str = "ca_file";
const CLIENT_CERT: &str = "client_cert";
const CLIENT_KEY: &str = "client_key";

/// The paths of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    /// Root certificates to trust in addition to those of the system.
    pub(crate) ca_file: Option<PathBuf>,
    /// The certificate that the client presents, with its private key.
    pub(crate) client_cert: Option<PathBuf>,
    pub(crate) client_key: Option<PathBuf>,
}

/// A certificate with those of its issuers, and its private key.
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
        let text = read_private(key).map_err(|error| named(CLIENT_KEY, &error))?;
        let key = PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| {
            let why = if text.contains("ENCRYPTED") {
                "the private key is encrypted; decrypt it, for example with openssl pkey -in FILE -out FILE"
            } else {
                "it contains no private key in PEM form"
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
    let read: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let read = read.map_err(|_| wrong(setting, path, "its PEM form is damaged"))?;
    if read.is_empty() {
        let why = "it contains no certificate in PEM form (-----BEGIN CERTIFICATE-----)";
        return Err(wrong(setting, path, why));
    }
    Ok(read)
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
