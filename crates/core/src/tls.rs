//! TLS as this client speaks it, to the service and to a server of a budget: by which provider, and what is trusted.

use crate::error::{Error, ErrorKind, Result};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::BuilderVerifierExt;
use std::sync::Arc;

/// As the operating system trusts it.
pub(crate) fn system() -> Result<ClientConfig> {
    let builder = builder()?.with_platform_verifier();
    let builder = builder.map_err(|error| unusable("certificates", &error))?;
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
        .map_err(|error| unusable("TLS versions", &error))
}

/// An error that says which part of the system cannot be used for connections.
pub(crate) fn unusable(what: &str, error: &dyn std::error::Error) -> Error {
    let message = format!("the system's {what} cannot be used: {error}");
    Error::new(ErrorKind::Tls, message)
}
