//! What clients log, passed to a callback of the application.

use crate::boundary::{ReleaseCallback, UserData, guard, invalid, lent};
use crate::config::Config;
use crate::error::Error;
use crate::text::Text;
use std::ffi::c_void;
use std::sync::Arc;
use talentdata_core::log::{self, Level, Listener};

/// How much a client logs; each level includes those above it.
#[derive(Clone, Copy)]
#[repr(C)]
pub enum LogLevel {
    /// Failures.
    Error = 1,
    /// Failures that the client recovers from.
    Warn = 2,
    /// Events of interest to a user.
    Info = 3,
    /// Every call, its waits and its retries.
    Debug = 4,
    /// Everything.
    Trace = 5,
}

const LEVELS: [(LogLevel, Level); 5] = [
    (LogLevel::Error, Level::ERROR),
    (LogLevel::Warn, Level::WARN),
    (LogLevel::Info, Level::INFO),
    (LogLevel::Debug, Level::DEBUG),
    (LogLevel::Trace, Level::TRACE),
];

/// A number that C passes for a level; the header says `talentdata_log_level`.
pub type LogLevelNumber = u32;

/// Receives a message: its level, its text, which is valid only during the
/// call, and the pointer given to talentdata_config_set_log.
pub type LogCallback =
    Option<extern "C" fn(level: LogLevel, message: Text, user_data: *mut c_void)>;

/// Where the messages of a client go.
#[derive(Clone)]
pub(crate) struct Sink {
    most: Level,
    callback: extern "C" fn(LogLevel, Text, *mut c_void),
    /// Shared by every thread that may still call back; the last one to end releases it.
    user_data: Arc<UserData>,
}

/// Sends what clients log to a callback. Without it clients log nothing.
///
/// The callback runs on the library's threads, on several at once. It must return quickly and must
/// not leave by longjmp, pthread_exit or a C++ exception. A blocking call made from it fails with
/// INVALID_ARGUMENT; talentdata_client_close, talentdata_scan_cancel and talentdata_job_cancel are allowed. No message holds
/// a secret or a token.
///
/// `release` is called exactly once, with `user_data`, when no callback is running and none will run
/// again: after the settings, every client made from them, and all their scans and Arrow streams are
/// freed and the threads behind them have ended, or when this function is called again for the same
/// settings and nothing uses the former callback any more. That is usually within the last free, but
/// it can be later and on a thread of the library, for instance when a callback is still running. It
/// is not called if the process exits first, nor, for a client made before a fork, in the child.
///
/// @param config the settings to change
/// @param level the most detailed level wanted
/// @param callback what is called for each message
/// @param user_data passed to both callbacks as it is; may be NULL
/// @param release what releases `user_data`; may be NULL. It must not call the library.
/// Ownership: `user_data` must stay valid until `release` is called. After an error it is still the
/// caller's, and `release` is not called.
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL or an unknown level.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_log(
    config: Option<&mut Config>,
    level: LogLevelNumber,
    callback: LogCallback,
    user_data: *mut c_void,
    release: ReleaseCallback,
) -> Option<Box<Error>> {
    guard(|| {
        let config = lent(config, "config")?;
        let callback = lent(callback, "callback")?;
        let (_, most) = LEVELS
            .into_iter()
            .find(|(known, _)| *known as u32 == level)
            .ok_or_else(|| invalid("level", format_args!("{level} is not a log level")))?;
        config.sink = Some(Sink {
            most,
            callback,
            // Only now, when nothing can fail any more, is there something to release.
            user_data: Arc::new(UserData {
                pointer: user_data,
                release,
            }),
        });
        Ok(())
    })
}

impl Sink {
    /// Sends what this thread logs to the sink until the thread ends, which drops its share of the sink.
    pub(crate) fn attach(&self) {
        log::attach(self.clone());
    }
}

impl Listener for Sink {
    fn level(&self) -> Option<Level> {
        Some(self.most)
    }

    fn hear(&self, level: Level, message: &str) {
        let known = LEVELS.into_iter().find(|(_, known)| *known == level);
        let level = known.map_or(LogLevel::Error, |(level, _)| level);
        (self.callback)(level, Text::of(message), self.user_data.pointer);
    }
}
