//! Settings of a client, as a builder that can grow.

use crate::boundary::{guard, guard_or, lent, slot, terminated, text};
use crate::error::Error;
use crate::log::Sink;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use talentdata_core::{Builder, Timeouts};

/// Settings of clients. What is not set comes from the environment, then from the profile file.
/// Freed with talentdata_config_free.
#[derive(Default)]
pub struct Config {
    pub(crate) builder: Builder,
    pub(crate) timeouts: Timeouts,
    pub(crate) sink: Option<Sink>,
}

/// Creates settings in which nothing is set.
///
/// @param config_out the settings
/// Ownership: the caller frees `*config_out` with talentdata_config_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_new(
    config_out: Option<&mut MaybeUninit<Box<Config>>>,
) -> Option<Box<Error>> {
    guard(|| {
        slot(config_out, "config_out")?.write(Box::default());
        Ok(())
    })
}

/// Frees settings; does nothing when they are NULL. Clients made from them keep working.
///
/// Ownership: `config` must not be used any more.
/// Threads: one at a time per config.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_free(config: Option<Box<Config>>) {
    guard_or((), || drop(config));
}

/// Sets the address of the service, such as https://talent.example. If it is not set, TALENTDATA_BASE_URL
/// applies; there is no default.
///
/// @param config the settings to change
/// @param base_url NUL-terminated UTF-8 text
/// Ownership: the text is copied.
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL, text that is not UTF-8, or more than 1 MiB; talentdata_client_new
/// checks the value itself.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_base_url(
    config: Option<&mut Config>,
    base_url: *const c_char,
) -> Option<Box<Error>> {
    guard(|| {
        let config = lent(config, "config")?;
        let value = terminated(&base_url, "base_url")?;
        config.change(|builder| builder.base_url(value));
        Ok(())
    })
}

/// Like the function without _n, for text of `length` bytes that need not end with a NUL.
///
/// @param config the settings to change
/// @param base_url UTF-8 text
/// @param length its length in bytes
/// Ownership: the text is copied.
/// Threads: one at a time per config.
/// Errors: as talentdata_config_set_base_url.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_base_url_n(
    config: Option<&mut Config>,
    base_url: *const c_char,
    length: usize,
) -> Option<Box<Error>> {
    guard(|| {
        let config = lent(config, "config")?;
        let value = text(&base_url, length, "base_url")?;
        config.change(|builder| builder.base_url(value));
        Ok(())
    })
}

/// Sets the client's identifier. If it is not set, TALENTDATA_CLIENT_ID applies.
///
/// @param config the settings to change
/// @param client_id NUL-terminated UTF-8 text
/// Ownership: the text is copied.
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL, text that is not UTF-8, or more than 1 MiB; talentdata_client_new
/// checks the value itself.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_client_id(
    config: Option<&mut Config>,
    client_id: *const c_char,
) -> Option<Box<Error>> {
    guard(|| {
        let config = lent(config, "config")?;
        let value = terminated(&client_id, "client_id")?;
        config.change(|builder| builder.client_id(value));
        Ok(())
    })
}

/// Like the function without _n, for text of `length` bytes that need not end with a NUL.
///
/// @param config the settings to change
/// @param client_id UTF-8 text
/// @param length its length in bytes
/// Ownership: the text is copied.
/// Threads: one at a time per config.
/// Errors: as talentdata_config_set_client_id.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_client_id_n(
    config: Option<&mut Config>,
    client_id: *const c_char,
    length: usize,
) -> Option<Box<Error>> {
    guard(|| {
        let config = lent(config, "config")?;
        let value = text(&client_id, length, "client_id")?;
        config.change(|builder| builder.client_id(value));
        Ok(())
    })
}

/// Sets the client's secret. If it is not set, TALENTDATA_CLIENT_SECRET applies. No error and no log
/// message holds it, but copies of it stay in the memory of the process, also after the client is freed.
///
/// @param config the settings to change
/// @param client_secret NUL-terminated UTF-8 text
/// Ownership: the text is copied.
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL, text that is not UTF-8, or more than 1 MiB; talentdata_client_new
/// checks the value itself.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_client_secret(
    config: Option<&mut Config>,
    client_secret: *const c_char,
) -> Option<Box<Error>> {
    guard(|| {
        let config = lent(config, "config")?;
        let value = terminated(&client_secret, "client_secret")?;
        config.change(|builder| builder.client_secret(value));
        Ok(())
    })
}

/// Like the function without _n, for text of `length` bytes that need not end with a NUL.
///
/// @param config the settings to change
/// @param client_secret UTF-8 text
/// @param length its length in bytes
/// Ownership: the text is copied.
/// Threads: one at a time per config.
/// Errors: as talentdata_config_set_client_secret.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_client_secret_n(
    config: Option<&mut Config>,
    client_secret: *const c_char,
    length: usize,
) -> Option<Box<Error>> {
    guard(|| {
        let config = lent(config, "config")?;
        let value = text(&client_secret, length, "client_secret")?;
        config.change(|builder| builder.client_secret(value));
        Ok(())
    })
}

/// Selects the section of the profile file to read, which must exist. If it is not set, the section
/// "default" applies, where there is one.
///
/// @param config the settings to change
/// @param profile NUL-terminated UTF-8 text
/// Ownership: the text is copied.
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL, text that is not UTF-8, or more than 1 MiB; talentdata_client_new
/// checks the value itself.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_profile(
    config: Option<&mut Config>,
    profile: *const c_char,
) -> Option<Box<Error>> {
    guard(|| {
        let config = lent(config, "config")?;
        let value = terminated(&profile, "profile")?;
        config.change(|builder| builder.profile(value));
        Ok(())
    })
}

/// Like the function without _n, for text of `length` bytes that need not end with a NUL.
///
/// @param config the settings to change
/// @param profile UTF-8 text
/// @param length its length in bytes
/// Ownership: the text is copied.
/// Threads: one at a time per config.
/// Errors: as talentdata_config_set_profile.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_profile_n(
    config: Option<&mut Config>,
    profile: *const c_char,
    length: usize,
) -> Option<Box<Error>> {
    guard(|| {
        let config = lent(config, "config")?;
        let value = text(&profile, length, "profile")?;
        config.change(|builder| builder.profile(value));
        Ok(())
    })
}

impl Config {
    /// A builder is changed by handing it over.
    pub(crate) fn change(&mut self, change: impl FnOnce(Builder) -> Builder) {
        let builder = std::mem::take(&mut self.builder);
        self.builder = change(builder).timeouts(self.timeouts);
    }
}
