//! TLS to the service, a proxy and a server of a budget: the provider, the trusted certificates, and errors that name
//! the certificate at fault and the remedy.

use crate::error::failure::{TLS_CLOSED, TLS_LOST, TLS_REFUSED};
use crate::error::{Error, ErrorKind, Result, rounded_up, system_text};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ConfigBuilder, Error as TlsError,
    PeerIncompatible, RootCertStore, WantsVerifier,
};
use rustls_platform_verifier::BuilderVerifierExt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Returns the configuration that trusts the operating system's certificates, or those of SSL_CERT_FILE and
/// SSL_CERT_DIR.
pub(crate) fn system() -> Result<ClientConfig> {
    let builder = builder()?.with_platform_verifier();
    let builder = builder.map_err(|_| {
        let set = ["SSL_CERT_FILE", "SSL_CERT_DIR"]
            .into_iter()
            .filter_map(|name| Some((name, std::env::var_os(name)?)));
        let set: Vec<String> = set
            .map(|(name, path)| format!("{name} ({})", path.to_string_lossy()))
            .collect();
        let message = if set.is_empty() { "this system has no root certificates; install its package of them (often ca-certificates), or set SSL_CERT_FILE to a PEM file".to_owned() } else { format!("there is no certificate in PEM form where {} leads", set.join(" and ")) };
        Error::new(ErrorKind::Tls, message)
    })?;
    Ok(builder.with_no_client_auth())
}

/// Returns the configuration for plain http, which needs no certificates.
pub(crate) fn none() -> Result<ClientConfig> {
    let builder = builder()?.with_root_certificates(RootCertStore::empty());
    Ok(builder.with_no_client_auth())
}

fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>> {
    // Named explicitly, because there is no default if a program contains several providers.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| Error::defect("there are no TLS versions"))
}

/// Advice about a root certificate that this machine does not know.
const TRUST: &str = if cfg!(any(target_vendor = "apple", windows)) {
    "add its root certificate to the certificates that this system trusts"
} else {
    "add its root certificate to those of this system, or set SSL_CERT_FILE to a PEM file that contains the roots to trust"
};

/// Returns the error of a handshake with the service or the proxy, as `whose` says.
pub(crate) fn failed(host: &str, whose: &str, error: &io::Error) -> Error {
    match tls_error(error) {
        Some(cause) => {
            let message = format!(
                "TLS handshake with {host} failed: {}",
                meaning(whose, cause)
            );
            Error::of(TLS_REFUSED, message)
        }
        None => {
            let reason = match error.kind() {
                io::ErrorKind::UnexpectedEof => String::new(),
                _ => format!(" ({})", system_text(error)),
            };
            let message = format!(
                "cannot connect to {host}: the connection ended within the TLS handshake with {whose}{reason}"
            );
            Error::of(TLS_LOST, message)
        }
    }
}

/// Returns the error of an encrypted connection that the other end has closed with an alert, for example because a
/// client certificate is missing.
pub(crate) fn closed(host: &str, error: &TlsError) -> Error {
    let meaning = meaning("the service", error);
    Error::of(
        TLS_CLOSED,
        format!("TLS connection with {host} failed: {meaning}"),
    )
}

/// Returns the TLS error inside an I/O error, if there is one.
pub(crate) fn tls_error(error: &io::Error) -> Option<&TlsError> {
    error.get_ref()?.downcast_ref()
}

/// Returns the meaning of an error for somebody who has to mend it. `whose` is the other end.
pub(crate) fn meaning(whose: &str, error: &TlsError) -> String {
    use rustls::Error::{
        AlertReceived, InvalidCertificate, InvalidMessage, NoCertificatesPresented,
        PeerIncompatible,
    };
    match error {
        InvalidCertificate(why) => certificate(whose, why),
        InvalidMessage(_) => format!(
            "what answers there does not speak TLS, perhaps plain http; check scheme and port of {whose}"
        ),
        NoCertificatesPresented => format!("{whose} has no certificate"),
        PeerIncompatible(why) => version(whose, why),
        AlertReceived(alert) => alerted(whose, *alert),
        _ => format!("{whose} does not keep to the protocol"),
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

fn alerted(whose: &str, alert: AlertDescription) -> String {
    match alert {
        AlertDescription::ProtocolVersion => {
            format!(
                "{whose} offers no protocol version from TLS 1.2 on; it has to be brought up to date"
            )
        }
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => {
            format!(
                "{whose} and this client have no protocol version or cipher in common (TLS 1.2 and 1.3 are spoken)"
            )
        }
        AlertDescription::UnrecognisedName => {
            format!("{whose} knows no host of this name; check its address")
        }
        AlertDescription::CertificateRequired
        | AlertDescription::BadCertificate
        | AlertDescription::NoCertificate
        | AlertDescription::AccessDenied => {
            format!(
                "{whose} accepts only clients with a certificate, which this client cannot present"
            )
        }
        AlertDescription::InternalError => format!("{whose} reports an error of its own"),
        _ => format!("{whose} refuses it (TLS alert {})", u8::from(alert)),
    }
}

fn certificate(whose: &str, why: &CertificateError) -> String {
    use CertificateError::{
        ApplicationVerificationFailure, BadEncoding, BadSignature, Expired, ExpiredContext,
        InvalidPurpose, InvalidPurposeContext, NotValidForName, NotValidForNameContext,
        NotValidYet, NotValidYetContext, Revoked, UnknownIssuer,
        UnsupportedSignatureAlgorithmContext,
    };
    let clock = "if it is in force, the clock of this machine is wrong";
    let certificate = format!("the certificate of {whose}");
    let days = |time: Duration| rounded_up(time) / 86_400.0;
    match why {
        UnknownIssuer => format!(
            "{certificate} is signed by an authority that this machine does not trust. Where a company's proxy inspects connections, that is the proxy's authority: {TRUST}"
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
        } => format!(
            "{certificate} is for {}, not for {}; check its address",
            names(presented),
            expected.to_str()
        ),
        NotValidForName => format!("{certificate} is for another host; check its address"),
        Revoked => format!("{certificate} was revoked"),
        InvalidPurpose | InvalidPurposeContext { .. } => {
            format!("{certificate} is not one for servers")
        }
        BadEncoding | BadSignature | UnsupportedSignatureAlgorithmContext { .. } => {
            format!("{certificate} cannot be read or checked")
        }
        ApplicationVerificationFailure => format!("this system does not accept {certificate}"),
        // Also a self-signed certificate, which may be reported like this.
        _ => format!(
            "{certificate} is not acceptable, for example because it is self-signed: {TRUST}"
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
