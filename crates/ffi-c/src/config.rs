//! Settings of a client, as a builder that can grow.

use crate::boundary::{guard, guard_or, lent, slot, terminated, text};
use crate::error::Error;
use crate::log::Sink;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use talentdata_core::{Builder, Timeouts};

/// Settings of clients. What is not set comes from the environment, then from the profile file.
/// Freed by talentdata_config_free.
#[derive(Default)]
pub struct Config {
    pub(crate) builder: Builder,
    pub(crate) timeouts: Timeouts,
    pub(crate) sink: Option<Sink>,
}

/// Makes settings in which nothing is set.
///
/// @param config_out the settings
/// Ownership: gives `*config_out`; free it by talentdata_config_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_new(
    config_out: Option<&mut MaybeUninit<Box<Config>>>,
) -> Option<Box<Error>> {
    guard(|| {
        slot(config_out, "config_out")?.write(Box::default());
        Ok(())
    })
}

/// Frees settings; nothing happens when they are NULL. Clients made from them go on.
///
/// Ownership: takes `config`.
/// Threads: one at a time per config.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_free(config: Option<Box<Config>>) {
    guard_or((), || drop(config));
}

/// Where the service is, such as https://talent.example; else TALENTDATA_BASE_URL. There is no default.
///
/// @param config the settings to change
/// @param base_url UTF-8 text, ended by a NUL
/// Ownership: lends both; the text is copied.
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL, text that is not UTF-8, or more than 1 MiB; the value itself is
/// checked by talentdata_client_new.
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

/// The same for text of `length` bytes that no NUL ends: where the service is, such as https://talent.example; else TALENTDATA_BASE_URL. There is no default.
///
/// @param config the settings to change
/// @param base_url UTF-8 text
/// @param length its length in bytes
/// Ownership: lends both; the text is copied.
/// Threads: one at a time per config.
/// Errors: as talentdata_config_set_base_url.
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

/// The client's identifier; else TALENTDATA_CLIENT_ID.
///
/// @param config the settings to change
/// @param client_id UTF-8 text, ended by a NUL
/// Ownership: lends both; the text is copied.
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL, text that is not UTF-8, or more than 1 MiB; the value itself is
/// checked by talentdata_client_new.
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

/// The same for text of `length` bytes that no NUL ends: the client's identifier; else TALENTDATA_CLIENT_ID.
///
/// @param config the settings to change
/// @param client_id UTF-8 text
/// @param length its length in bytes
/// Ownership: lends both; the text is copied.
/// Threads: one at a time per config.
/// Errors: as talentdata_config_set_client_id.
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

/// The client's secret; else TALENTDATA_CLIENT_SECRET. The library wipes its copies; the caller's stays.
///
/// @param config the settings to change
/// @param client_secret UTF-8 text, ended by a NUL
/// Ownership: lends both; the text is copied.
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL, text that is not UTF-8, or more than 1 MiB; the value itself is
/// checked by talentdata_client_new.
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

/// The same for text of `length` bytes that no NUL ends: the client's secret; else TALENTDATA_CLIENT_SECRET. The library wipes its copies; the caller's stays.
///
/// @param config the settings to change
/// @param client_secret UTF-8 text
/// @param length its length in bytes
/// Ownership: lends both; the text is copied.
/// Threads: one at a time per config.
/// Errors: as talentdata_config_set_client_secret.
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

/// The section of the profile file to read; it must exist. Else the section default where there is a file.
///
/// @param config the settings to change
/// @param profile UTF-8 text, ended by a NUL
/// Ownership: lends both; the text is copied.
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL, text that is not UTF-8, or more than 1 MiB; the value itself is
/// checked by talentdata_client_new.
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

/// The same for text of `length` bytes that no NUL ends: the section of the profile file to read; it must exist. Else the section default where there is a file.
///
/// @param config the settings to change
/// @param profile UTF-8 text
/// @param length its length in bytes
/// Ownership: lends both; the text is copied.
/// Threads: one at a time per config.
/// Errors: as talentdata_config_set_profile.
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
