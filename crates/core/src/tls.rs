//! TLS as this client speaks it, to the service and to a server of a budget: by which provider, and what is trusted.

use crate::error::{Error, ErrorKind, Result};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::BuilderVerifierExt;
use std::sync::Arc;

/// As the operating system trusts it, or as SSL_CERT_FILE and SSL_CERT_DIR say.
pub(crate) fn system() -> Result<ClientConfig> {
    let builder = builder()?.with_platform_verifier();
    let builder = builder.map_err(|_| {
        let set = ["SSL_CERT_FILE", "SSL_CERT_DIR"]
            .into_iter()
            .filter_map(|name| Some((name, std::env::var_os(name)?)));
        let set: Vec<String> = set
            .map(|(name, path)| format!("{name} ({})", path.to_string_lossy()))
            .collect();
        let message = match set.is_empty() {
            true => "this system has no root certificates; install its package of them (often ca-certificates), or set SSL_CERT_FILE to a PEM file".to_owned(),
            false => format!("there is no certificate in PEM form where {} leads", set.join(" and ")),
        };
        Error::new(ErrorKind::Tls, message)
    })?;
    Ok(builder.with_no_client_auth())
}

/// For plain http, which needs none, not even certificates.
pub(crate) fn none() -> Result<ClientConfig> {
    let builder = builder()?.with_root_certificates(RootCertStore::empty());
    Ok(builder.with_no_client_auth())
}

fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>> {
    // Named here, since with several in one program none is the default.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| Error::defect("there are no TLS versions"))
}
