//! TLS to the service, a proxy and a server of a budget: the provider, the trusted certificates, and errors that name
//! the certificate at fault and the remedy.

mod files;
mod issuer;
mod verifier;

use crate::error::failure::{TLS_CLOSED, TLS_LOST, TLS_REFUSED};
use crate::error::{Error, ErrorKind, Result, rounded_up, system_text};
pub(crate) use files::TlsFiles;
pub(crate) use issuer::issuer;
use rustls::crypto::CryptoProvider;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ConfigBuilder, Error as TlsError,
    PeerIncompatible, RootCertStore, WantsVerifier,
};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use verifier::PinningVerifier;

/// Returns the configuration with the settings `ca_file` and `client_cert`. It trusts the certificates in `ca_file`,
/// and those of the operating system or, if they are set, of SSL_CERT_FILE and SSL_CERT_DIR. It presents the
/// certificate in `client_cert`.
///
/// # Errors
/// `Config`, naming the setting and the file; `Tls` if there is no root certificate.
pub(crate) fn system(files: &TlsFiles) -> Result<ClientConfig> {
    let (roots, identity) = (files.roots()?, files.identity()?);
    let provider = provider();
    let verifier = PinningVerifier::new(roots, &provider);
    let verifier = verifier.map_err(|_| {
        let set = ["SSL_CERT_FILE", "SSL_CERT_DIR"]
            .into_iter()
            .filter_map(|name| Some((name, std::env::var_os(name)?)));
        let set: Vec<String> = set
            .map(|(name, path)| format!("{name} ({})", path.to_string_lossy()))
            .collect();
        let message = if set.is_empty() { "this system has no root certificates; install its package of them (often ca-certificates), or set ca_file to a PEM file".to_owned() } else { format!("there is no certificate in PEM form where {} leads; correct that, or set ca_file to a PEM file", set.join(" and ")) };
        Error::new(ErrorKind::Tls, message)
    })?;
    let builder = versions(provider)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    match identity {
        None => Ok(builder.with_no_client_auth()),
        Some((certificates, key)) => builder
            .with_client_auth_cert(certificates, key)
            .map_err(|error| files.unusable_identity(&error)),
    }
}

/// Returns the configuration for plain http, which needs no certificates.
pub(crate) fn none() -> Result<ClientConfig> {
    let builder = versions(provider())?.with_root_certificates(RootCertStore::empty());
    Ok(builder.with_no_client_auth())
}

/// Returns the provider, which is always named explicitly, because there is no default if a program contains several.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn versions(provider: Arc<CryptoProvider>) -> Result<ConfigBuilder<ClientConfig, WantsVerifier>> {
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| Error::defect("there are no TLS versions"))
}

/// The other end of a handshake, for errors.
#[derive(Clone, Copy)]
pub(crate) struct Peer<'a> {
    /// The role of the other end, such as `the service`.
    pub(crate) whose: &'a str,
    /// True if this client presents a certificate.
    pub(crate) knows_us: bool,
    /// The file of the setting `ca_file`.
    pub(crate) ca_file: Option<&'a Path>,
}

/// Returns whether the client presents a certificate if it is asked for one.
pub(crate) fn has_identity(config: &ClientConfig) -> bool {
    config.client_auth_cert_resolver.has_certs()
}

/// Advice about a root certificate that this machine does not know.
const TRUST: &str = if cfg!(any(target_vendor = "apple", windows)) {
    "set ca_file to a PEM file with its root certificate, or add that to the certificates that this system trusts"
} else {
    "set ca_file to a PEM file with its root certificate, or add that to those of this system"
};

/// Returns the error of a handshake.
pub(crate) fn failed(host: &str, peer: Peer<'_>, error: &io::Error) -> Error {
    match tls_error(error) {
        Some(cause) => {
            let message = format!("TLS handshake with {host} failed: {}", meaning(peer, cause));
            Error::of(TLS_REFUSED, message)
        }
        None => {
            let reason = match error.kind() {
                io::ErrorKind::UnexpectedEof => String::new(),
                _ => format!(" ({})", system_text(error)),
            };
            let message = format!(
                "cannot connect to {host}: the connection ended within the TLS handshake with {}{reason}",
                peer.whose
            );
            Error::of(TLS_LOST, message)
        }
    }
}

/// Returns the error of an encrypted connection that the other end closed with an alert, for example because a client
/// certificate is missing.
pub(crate) fn closed(host: &str, knows_us: bool, error: &TlsError) -> Error {
    let whose = "the service";
    let peer = Peer {
        whose,
        knows_us,
        ca_file: None,
    };
    let meaning = meaning(peer, error);
    Error::of(
        TLS_CLOSED,
        format!("TLS connection with {host} failed: {meaning}"),
    )
}

/// Returns the TLS error inside an I/O error, if there is one.
pub(crate) fn tls_error(error: &io::Error) -> Option<&TlsError> {
    error.get_ref()?.downcast_ref()
}

/// Returns the meaning of an error for the person who has to fix it.
pub(crate) fn meaning(peer: Peer<'_>, error: &TlsError) -> String {
    let whose = peer.whose;
    use rustls::Error::{
        AlertReceived, InvalidCertificate, InvalidMessage, NoCertificatesPresented,
        PeerIncompatible,
    };
    match error {
        InvalidCertificate(why) => certificate(peer, why),
        InvalidMessage(_) => format!(
            "the server at this address does not use TLS, but perhaps plain http; check scheme and port of {whose}"
        ),
        NoCertificatesPresented => format!("{whose} has no certificate"),
        PeerIncompatible(why) => version(whose, why),
        AlertReceived(alert) => alerted(peer, *alert),
        _ => format!("{whose} violates the protocol"),
    }
}

/// Returns the meaning of a mismatch of protocol versions or ciphers, which the user cannot configure.
fn version(whose: &str, why: &PeerIncompatible) -> String {
    match why {
        PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
        | PeerIncompatible::ServerDoesNotSupportTls12Or13 => {
            format!(
                "{whose} offers a protocol version older than TLS 1.2; it has to be brought up to date"
            )
        }
        _ => format!(
            "{whose} and this client have no protocol version or cipher in common (TLS 1.2 and 1.3 are spoken)"
        ),
    }
}

fn alerted(
    Peer {
        whose, knows_us, ..
    }: Peer<'_>,
    alert: AlertDescription,
) -> String {
    use AlertDescription::{
        AccessDenied, BadCertificate, CertificateExpired, CertificateRequired, CertificateRevoked,
        CertificateUnknown, DecryptError, HandshakeFailure, InsufficientSecurity, InternalError,
        NoCertificate, ProtocolVersion, UnknownCA, UnrecognisedName, UnsupportedCertificate,
    };
    let refused = |why: &str| {
        format!(
            "{whose} does not accept the certificate in client_cert: {why}; ask for another one, and set client_cert and client_key"
        )
    };
    match alert {
        ProtocolVersion => {
            format!(
                "{whose} offers no protocol version from TLS 1.2 on; it has to be brought up to date"
            )
        }
        HandshakeFailure | InsufficientSecurity => {
            let missing = if knows_us {
                ""
            } else {
                ", or it accepts only clients with a certificate: then set client_cert and client_key"
            };
            format!(
                "{whose} and this client have no protocol version or cipher in common (TLS 1.2 and 1.3 are spoken){missing}"
            )
        }
        UnrecognisedName => {
            format!("{whose} knows no host of this name; check its address")
        }
        CertificateExpired if knows_us => refused("it has expired"),
        CertificateRevoked if knows_us => refused("it was revoked"),
        UnknownCA if knows_us => refused("its issuer is unknown there"),
        CertificateRequired
        | BadCertificate
        | NoCertificate
        | AccessDenied
        | CertificateUnknown
        | UnsupportedCertificate
        | DecryptError
            if knows_us =>
        {
            refused("it is not one that is accepted there")
        }
        CertificateRequired | BadCertificate | NoCertificate | AccessDenied => {
            format!(
                "{whose} accepts only clients with a certificate; set client_cert and client_key to the files of one that it accepts"
            )
        }
        InternalError => format!("{whose} reports an error of its own"),
        _ => format!("{whose} refuses it (TLS alert {})", u8::from(alert)),
    }
}

fn certificate(Peer { whose, ca_file, .. }: Peer<'_>, why: &CertificateError) -> String {
    use CertificateError::{
        ApplicationVerificationFailure, BadEncoding, BadSignature, Expired, ExpiredContext,
        InvalidPurpose, InvalidPurposeContext, NotValidForName, NotValidForNameContext,
        NotValidYet, NotValidYetContext, Other, Revoked, UnknownIssuer,
        UnsupportedSignatureAlgorithmContext,
    };
    let clock = "if it is in force, the clock of this machine is wrong";
    let certificate = format!("the certificate of {whose}");
    let trust = ca_file.map_or(TRUST.to_owned(), |file| {
        let file = file.display();
        format!("ca_file ({file}) does not contain its root certificate; add it there")
    });
    let days = |time: Duration| rounded_up(time) / 86_400.0;
    match why {
        // An authority with the name of a trusted one but another key is a different one.
        UnknownIssuer | BadSignature => format!(
            "{certificate} is signed by an authority that this machine does not trust. If a company's proxy inspects connections, that is the proxy's authority: {trust}"
        ),
        ExpiredContext { time, not_after } => format!(
            "{certificate} expired {:.1} days ago; {clock}",
            days(Duration::from_secs(
                time.as_secs().saturating_sub(not_after.as_secs())
            ))
        ),
        Expired => format!("{certificate} has expired; {clock}"),
        NotValidYet | NotValidYetContext { .. } => {
            format!("{certificate} is not valid yet; {clock}")
        }
        NotValidForNameContext {
            expected,
            presented,
        } => {
            let (named, expected) = (names(presented), expected.to_str());
            if named.split(", ").any(|name| name == expected) {
                // An address as the name of a host.
                return format!(
                    "{certificate} names {expected} as a host, and has to name it as an address (subjectAltName IP:{expected})"
                );
            }
            format!("{certificate} is for {named}, not for {expected}; check its address")
        }
        NotValidForName => format!("{certificate} is for another host; check its address"),
        Revoked => format!("{certificate} was revoked"),
        InvalidPurpose | InvalidPurposeContext { .. } => {
            format!("{certificate} is not for servers")
        }
        // The verifier's own error of a certificate that is, for example, for clients only.
        Other(error) if error.0.to_string().contains("invalid extensions") => {
            format!("{certificate} is not for servers")
        }
        BadEncoding | UnsupportedSignatureAlgorithmContext { .. } => {
            format!("{certificate} cannot be read or checked")
        }
        ApplicationVerificationFailure => format!("this system does not accept {certificate}"),
        // Also a self-signed certificate, which may be reported like this.
        _ => format!(
            "{certificate} is not acceptable, for example because it is self-signed: {trust}"
        ),
    }
}

/// Returns the first few names in a certificate.
fn names(presented: &[String]) -> String {
    let shown: Vec<&str> = presented
        .iter()
        .take(3)
        // Each name comes with its type, as in DnsName("example.org").
        .map(|name| name.split_once('(').map_or(&**name, |(_, rest)| rest))
        .map(|name| name.trim_end_matches(')').trim_matches('"'))
        .collect();
    match (shown.is_empty(), presented.len() > shown.len()) {
        (true, _) => "no host".into(),
        (_, true) => format!("{} and others", shown.join(", ")),
        (_, false) => shown.join(", "),
    }
}
