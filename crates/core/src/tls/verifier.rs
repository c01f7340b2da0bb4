//! Checks the certificate of a server: as the operating system does, and also accepts a certificate that `ca_file`
//! contains itself, as curl does. `openssl req -x509` makes such certificates.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
};
use rustls_platform_verifier::Verifier;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct PinningVerifier {
    system: Verifier,
    /// The certificates in `ca_file`.
    given: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl PinningVerifier {
    pub(super) fn new(
        given: Vec<CertificateDer<'static>>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, TlsError> {
        let roots = given
            .iter()
            .cloned()
            .chain(super::files::certificates_after_mark());
        Ok(PinningVerifier {
            system: Verifier::new_with_extra_roots(roots, Arc::clone(provider))?,
            given,
            provider: Arc::clone(provider),
        })
    }
}

impl ServerCertVerifier for PinningVerifier {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        issuers: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        if !self.given.contains(own) {
            let system = &self.system;
            return system.verify_server_cert(own, issuers, name, ocsp, now);
        }
        let certificate = ParsedCertificate::try_from(own)?;
        let algorithms = self.provider.signature_verification_algorithms.all;
        let roots = RootCertStore::empty();
        // The period of validity is checked first. What can follow is that the certificate is one of an authority
        // (`Other`), or that no authority is known.
        match verify_server_cert_signed_by_trust_anchor(&certificate, &roots, &[], now, algorithms)
        {
            Ok(())
            | Err(TlsError::InvalidCertificate(
                CertificateError::UnknownIssuer | CertificateError::Other(_),
            )) => {}
            Err(error) => return Err(error),
        }
        verify_server_name(&certificate, name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.system.verify_tls12_signature(message, own, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.system.verify_tls13_signature(message, own, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.system.supported_verify_schemes()
    }
}
