//! Settings that bound what a client does: deadlines, attempts, waits and its part of the budget.

use crate::boundary::{guard, lent};
use crate::config::Config;
use crate::error::Error;
use std::time::Duration;

/// For a connection to be made, in milliseconds; 5000 by default.
///
/// @param config the settings to change
/// @param milliseconds the deadline, above 0 and at most a day
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL; 0 is refused by talentdata_client_new.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_connect_timeout_ms(
    config: Option<&mut Config>,
    milliseconds: u64,
) -> Option<Box<Error>> {
    guard(|| {
        let config = lent(config, "config")?;
        config.timeouts.connect = Duration::from_millis(milliseconds);
        config.change(|builder| builder);
        Ok(())
    })
}

/// Between two pieces of an answer, in milliseconds; 20000 by default.
///
/// @param config the settings to change
/// @param milliseconds the deadline, above 0 and at most a day
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL; 0 is refused by talentdata_client_new.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_idle_timeout_ms(
    config: Option<&mut Config>,
    milliseconds: u64,
) -> Option<Box<Error>> {
    guard(|| {
        let config = lent(config, "config")?;
        config.timeouts.idle = Duration::from_millis(milliseconds);
        config.change(|builder| builder);
        Ok(())
    })
}

/// For one attempt, from sending to the last byte, in milliseconds; 60000 by default.
///
/// @param config the settings to change
/// @param milliseconds the deadline, above 0 and at most a day
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL; 0 is refused by talentdata_client_new.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_attempt_timeout_ms(
    config: Option<&mut Config>,
    milliseconds: u64,
) -> Option<Box<Error>> {
    guard(|| {
        let config = lent(config, "config")?;
        config.timeouts.attempt = Duration::from_millis(milliseconds);
        config.change(|builder| builder);
        Ok(())
    })
}

/// For a whole call: waiting for the budget, attempts and back-off together, in milliseconds; 300000 by default.
///
/// @param config the settings to change
/// @param milliseconds the deadline, above 0 and at most a day
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL; 0 is refused by talentdata_client_new.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_operation_timeout_ms(
    config: Option<&mut Config>,
    milliseconds: u64,
) -> Option<Box<Error>> {
    guard(|| {
        let config = lent(config, "config")?;
        config.timeouts.operation = Duration::from_millis(milliseconds);
        config.change(|builder| builder);
        Ok(())
    })
}

/// How often a request is sent at most, 1 to 20; 4 by default.
///
/// @param config the settings to change
/// @param attempts the number of times
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL; other numbers are refused by talentdata_client_new.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_max_attempts(
    config: Option<&mut Config>,
    attempts: u32,
) -> Option<Box<Error>> {
    guard(|| {
        lent(config, "config")?.change(|builder| builder.max_attempts(attempts));
        Ok(())
    })
}

/// The longest wait that the service may ask for before a call fails with RATE_LIMITED instead, in
/// milliseconds; 60000 by default.
///
/// @param config the settings to change
/// @param milliseconds the longest wait
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_max_wait_ms(
    config: Option<&mut Config>,
    milliseconds: u64,
) -> Option<Box<Error>> {
    guard(|| {
        let wait = Duration::from_millis(milliseconds);
        lent(config, "config")?.change(|builder| builder.max_wait(wait));
        Ok(())
    })
}

/// The part of the company's budget of requests that a client may use, from 0.025 (one request a second) up to 1; 1 by default.
///
/// @param config the settings to change
/// @param share the part
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL; other numbers are refused by talentdata_client_new.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_budget_share(
    config: Option<&mut Config>,
    share: f64,
) -> Option<Box<Error>> {
    guard(|| {
        lent(config, "config")?.change(|builder| builder.share(share));
        Ok(())
    })
}

/// Whether a client keeps to 40 requests per second (section 8), true by default. Without, requests go as
/// fast as they are answered, for a service that counts none; the documented client rule is kept.
///
/// @param config the settings to change
/// @param paced false for a service that counts no requests
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_paced(
    config: Option<&mut Config>,
    paced: bool,
) -> Option<Box<Error>> {
    guard(|| {
        lent(config, "config")?.change(|builder| builder.paced(paced));
        Ok(())
    })
}
