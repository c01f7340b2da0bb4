//! Sets the settings of clients, by their names.

use crate::boundary::{ReleaseCallback, UserData, block_signals, guard_or};
use crate::error::ErrorHandle;
use crate::export::{self, get, guard, invalid, lent, text};
use crate::log::{LogCallback, LogLevelNumber, LogSink};
use crate::record::RecordHandle;
use crate::text::Text;
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::sync::Arc;
use talentdata_core::internal::settings::SETTINGS;
use talentdata_core::{Builder, Result, blocking};

/// Settings of clients. A setting that is not set is read from the environment, and otherwise from the profile file.
/// Freed with talentdata_config_free.
#[derive(Clone, Default)]
pub struct ConfigHandle {
    pub(crate) builder: Builder,
    pub(crate) sink: Option<LogSink>,
}

impl ConfigHandle {
    /// Returns a copy of the settings, or the defaults if `config` is `None`.
    pub(crate) fn or_default(config: Option<&ConfigHandle>) -> Result<Builder> {
        Ok(config.map_or_else(Builder::default, |config| config.builder.clone()))
    }
}

/// Creates empty settings.
///
/// Ownership: the caller frees the result with talentdata_config_free.
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_new() -> Option<Box<ConfigHandle>> {
    guard_or(None, || Some(Box::default()))
}

/// Copies settings. A log callback is then called for the clients of both settings.
///
/// @param config the settings
/// Ownership: the caller frees the result with talentdata_config_free. The result is NULL if `config` is NULL.
/// Threads: any; no other thread may change `config` during the call.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_copy(
    config: Option<&ConfigHandle>,
) -> Option<Box<ConfigHandle>> {
    guard_or(None, || config.cloned().map(Box::new))
}

/// Sets a setting, such as base_url, client_id, client_secret, max_attempts or timeout. The manual lists all of them.
/// A setting that is not set is read from its environment variable, such as TALENTDATA_BASE_URL, and otherwise from the
/// profile file.
///
/// @param config the settings to change
/// @param name the name of the setting
/// @param value the value as text, such as 8, true, or 2.5 for seconds
/// Ownership: the arguments are copied. No error and no log message contains the secret, but copies of it stay in the
/// memory of the process.
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL, a name that is not a setting, text that is not UTF-8, or more than 8 MiB;
/// talentdata_client_new checks the value.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set(
    config: Option<&mut ConfigHandle>,
    name: Text,
    value: Text,
) -> Option<Box<ErrorHandle>> {
    guard(|| {
        let config = lent(config, "config")?;
        let name = text(&name, "name")?;
        let value = export::value(&value, name)?;
        if !SETTINGS.iter().any(|setting| setting.name == name) {
            let names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
            let names = names.join(", ");
            let why = format_args!("there is no setting {name:?}; the settings are {names}");
            return Err(invalid("name", why));
        }
        config.builder.set(name, value);
        Ok(())
    })
}

/// Sends the log messages of clients to a callback. Without a callback, clients log nothing.
///
/// The callback runs on the library's threads, also on several at the same time. It must return quickly, and must
/// not leave by longjmp, pthread_exit or a C++ exception. A blocking call from the callback fails with
/// INVALID_ARGUMENT; talentdata_client_close, talentdata_scan_cancel and talentdata_job_cancel are allowed. No message
/// contains a secret or a token.
///
/// `release` is called exactly once, with `user_data`, after the last call of the callback. This is after the settings,
/// every client that was created from them, and all their scans, jobs and Arrow streams are freed, and their threads have
/// ended. If this function is called again for the same settings, it is after the last use of the previous callback.
/// `release` usually runs within the last free, but it may run later and on a thread of the library, for example if a
/// callback is still running. It is not called if the process exits first, and it is not called in a forked child for a
/// client of the parent.
///
/// @param config the settings to change
/// @param level the most detailed level of messages
/// @param callback the function that is called for each message
/// @param user_data the pointer that both callbacks receive; may be NULL
/// @param release the function that releases `user_data`; may be NULL. It must not call the library.
/// Ownership: `user_data` must stay valid until `release` is called. After an error the caller still owns `user_data`,
/// and `release` is not called.
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL or an unknown level.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_log(
    config: Option<&mut ConfigHandle>,
    level: LogLevelNumber,
    callback: LogCallback,
    user_data: *mut c_void,
    release: ReleaseCallback,
) -> Option<Box<ErrorHandle>> {
    guard(|| {
        let config = lent(config, "config")?;
        let callback = lent(callback, "callback")?;
        config.sink = Some(LogSink::new(level, callback, user_data, release)?);
        Ok(())
    })
}

/// Writes the client secret into `secret_out`, without a final zero. Returns its length in bytes, or -1 if there is no
/// secret. `user_data` is the pointer given to talentdata_config_set_secret_callback.
pub type SecretCallback =
    Option<extern "C" fn(secret_out: *mut c_char, capacity: usize, user_data: *mut c_void) -> i64>;

/// The size of the buffer that a secret callback writes into.
const SECRET_CAPACITY: usize = 16 * 1024;

/// Sets a callback that returns the client secret, instead of the setting client_secret.
/// Each function that checks these settings, such as talentdata_client_new, calls it on the calling thread. When the
/// service refuses the secret, a thread of the library calls it again, with a time limit of 10 s. So you can replace a
/// secret while a client exists. Clients of the same settings may call it at the same time. It must not use the
/// library, and must not leave by longjmp, pthread_exit or a C++ exception.
///
/// `release` is called exactly once, with `user_data`, after these settings and every client that was created from them
/// are freed, or after the callback was replaced and no client uses it any more. It is not called if the process exits
/// first.
///
/// @param config the settings to change
/// @param callback the function that returns the secret
/// @param user_data the pointer that both callbacks receive; may be NULL
/// @param release the function that releases `user_data`; may be NULL. It must not call the library.
/// Ownership: `user_data` must stay valid until `release` is called. After an error the caller still owns `user_data`,
/// and `release` is not called. The buffer belongs to the library, and is valid only during the call.
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_secret_callback(
    config: Option<&mut ConfigHandle>,
    callback: SecretCallback,
    user_data: *mut c_void,
    release: ReleaseCallback,
) -> Option<Box<ErrorHandle>> {
    guard(|| {
        let config = lent(config, "config")?;
        let callback = lent(callback, "callback")?;
        let user_data = Arc::new(UserData {
            pointer: user_data,
            release,
        });
        config.builder.client_secret_from(move || {
            let mut buffer = vec![0_u8; SECRET_CAPACITY];
            let written = callback(
                buffer.as_mut_ptr().cast(),
                SECRET_CAPACITY,
                user_data.pointer,
            );
            let length = usize::try_from(written).ok();
            let secret = length.and_then(|length| buffer.get(..length));
            let secret = secret.ok_or_else(|| format!("it returned {written}"))?;
            let secret = String::from_utf8(secret.to_vec());
            secret.map_err(|_| "its text is not UTF-8".into())
        });
        Ok(())
    })
}

/// Returns the clients that share the request budget of these settings, and their request rates. Sends nothing to the
/// service.
///
/// @param config the settings, or NULL for the settings of the environment
/// @param state_out the state, a JSON object
/// Ownership: the caller frees `*state_out` with talentdata_record_free.
/// Threads: any; no other thread may change `config` during the call.
/// Errors: CONFIG if the budget is not shared or a setting is missing or wrong; IO or CONNECT if the budget cannot be read.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_budget(
    config: Option<&ConfigHandle>,
    state_out: Option<&mut MaybeUninit<Box<RecordHandle>>>,
) -> Option<Box<ErrorHandle>> {
    get((Some(&()), "config"), (state_out, "state_out"), |()| {
        let settings = ConfigHandle::or_default(config)?.config()?;
        RecordHandle::of(&settings.budget_state()?)
    })
}

/// Checks the settings and what a client with them can reach: names, connections, certificates, the clock, the credentials,
/// the permissions, the request budget and directories. Sends at most five requests, and shows no secret. A failed
/// check is not an error of this function.
///
/// @param config the settings, or NULL for the settings of the environment
/// @param diagnosis_out the findings, a JSON object: `healthy`, `settings` and `checks`, each of which has `name`, `status`
/// (ok, failed or not_tried), `message` with cause and solution, and `kind`, the kind of the error
/// Ownership: the caller frees `*diagnosis_out` with talentdata_record_free.
/// Threads: any; no other thread may change `config` during the call; waits for the service.
/// Errors: INVALID_ARGUMENT for NULL; INTERNAL if the system refuses to start threads.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_doctor(
    config: Option<&ConfigHandle>,
    diagnosis_out: Option<&mut MaybeUninit<Box<RecordHandle>>>,
) -> Option<Box<ErrorHandle>> {
    get(
        (Some(&()), "config"),
        (diagnosis_out, "diagnosis_out"),
        |()| {
            let builder = ConfigHandle::or_default(config)?;
            RecordHandle::of(&blocking::diagnose(&builder, block_signals)?)
        },
    )
}

/// Frees settings. NULL does nothing. Clients that were created from them continue to work.
///
/// Ownership: `config` must no longer be used.
/// Threads: one at a time per config.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_free(config: Option<Box<ConfigHandle>>) {
    guard_or((), || drop(config));
}
