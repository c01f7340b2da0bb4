//! Log lines on standard error, from our own crates only.

use crate::output::Ending;
use talentdata_core::Error;
use talentdata_core::internal::streams::Patient;
use tracing_subscriber::filter::{FilterExt, Targets, filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};

/// The variable that sets what is logged: a level, or a level for each target (`talentdata_core=debug`).
const VARIABLE: &str = "TALENTDATA_LOG";

/// Begins to log as `-v` (so many times), else as the environment says.
///
/// # Errors
/// `Config` when the variable holds no filter.
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
    // HTTP and TLS libraries log headers and buffers, and there the secret and the token are.
    let ours = filter_fn(|facts| facts.target().starts_with("talentdata"));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(|| Patient(std::io::stderr()))
        // It would complain on standard error, and panic where that is what is broken.
        .log_internal_errors(false)
        .with_ansi(false)
        .with_filter(wanted.and(ours));
    // Setting it this way leaves out the bridge from the `log` crate, for the same reason. In a Python process whose
    // clients log by the logging of Python, it stays so.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(lines));
    Ok(())
}
