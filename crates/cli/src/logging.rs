//! Log lines on standard error, from our own crates only.

use crate::output::Ending;
use talentdata_core::Error;
use talentdata_core::internal::streams::Patient;
use tracing_subscriber::filter::{FilterExt, Targets, filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};

/// The variable that sets the log level, for all targets or for each (`talentdata_core=debug`).
const VARIABLE: &str = "TALENTDATA_LOG";

/// Starts to log as the number of `-v` flags says, otherwise as the environment says.
///
/// # Errors
/// `Config` if the variable does not contain a filter.
pub(crate) fn start(verbose: u8) -> Result<(), Ending> {
    let wanted = match verbose {
        0 => std::env::var(VARIABLE).unwrap_or_default(),
        1 => "debug".to_owned(),
        _ => "trace".to_owned(),
    };
    if wanted.is_empty() {
        return Ok(());
    }
    let wanted: Targets = wanted.parse().map_err(|error| {
        let message = format!("{VARIABLE}: {error}; give a filter such as talentdata_core=debug");
        Error::config(message)
    })?;
    // HTTP and TLS libraries log headers and buffers, which contain the secret and the token.
    let ours = filter_fn(|facts| facts.target().starts_with("talentdata"));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(|| Patient(std::io::stderr()))
        // It would print to standard error, and panic if standard error itself is broken.
        .log_internal_errors(false)
        .with_ansi(false)
        .with_filter(wanted.and(ours));
    // This way of setting it omits the bridge from the `log` crate, for the same reason. In a Python process whose
    // clients use Python's logging, that setting stays in force.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(lines));
    Ok(())
}
