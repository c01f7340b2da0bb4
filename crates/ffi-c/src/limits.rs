//! Settings that bound what a client does: deadlines, attempts, waits and its part of the budget.

use crate::boundary::{guard, lent};
use crate::config::Config;
use crate::error::Error;
use std::time::Duration;

/// Sets the time limit for connecting, in milliseconds; 5000 by default.
///
/// @param config the settings to change
/// @param milliseconds the limit, more than 0 and at most one day
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL; 0 is refused by talentdata_client_new.
#[must_use]
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

/// Sets the time limit for a pause within a response, in milliseconds; 20000 by default.
///
/// @param config the settings to change
/// @param milliseconds the limit, more than 0 and at most one day
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL; 0 is refused by talentdata_client_new.
#[must_use]
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

/// Sets the time limit for one attempt, from sending to the last byte, in milliseconds; 60000 by default.
///
/// @param config the settings to change
/// @param milliseconds the limit, more than 0 and at most one day
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL; 0 is refused by talentdata_client_new.
#[must_use]
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

/// Sets the time limit for a whole call, with all its attempts and waits, in milliseconds; 300000 by
/// default.
///
/// @param config the settings to change
/// @param milliseconds the limit, more than 0 and at most one day
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL; 0 is refused by talentdata_client_new.
#[must_use]
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

/// Sets how many times a request is sent at most, 1 to 20; 4 by default.
///
/// @param config the settings to change
/// @param attempts the number of times
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL; other numbers are refused by talentdata_client_new.
#[must_use]
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

/// Sets the longest wait that the service may ask for, in milliseconds; 60000 by default. If it asks
/// for more, the call fails with RATE_LIMITED.
///
/// @param config the settings to change
/// @param milliseconds the longest wait
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
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

/// Sets the share of the company's request budget that a client may use, from 0.025 (one request per
/// second) to 1; 1 by default.
///
/// @param config the settings to change
/// @param share the share
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL; other numbers are refused by talentdata_client_new.
#[must_use]
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

/// Sets whether a client keeps to 40 requests per second; true by default. Otherwise it sends requests
/// as fast as they are answered, which is meant for a service without a rate limit.
///
/// @param config the settings to change
/// @param paced false for a service without a rate limit
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
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
