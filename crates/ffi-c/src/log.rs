//! The log of clients, passed to a callback of the application.

use crate::boundary::{ReleaseCallback, UserData};
use crate::export::invalid;
use crate::text::Text;
use std::ffi::c_void;
use std::sync::Arc;
use talentdata_core::Result;
use talentdata_core::internal::log::{self, Level, Listener};

/// The level of a client's log. Each level includes those above it.
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

/// The destination of a client's messages.
#[derive(Clone)]
pub(crate) struct LogSink {
    most: Level,
    callback: extern "C" fn(LogLevel, Text, *mut c_void),
    /// Shared by every thread that may still call back. The last one to end releases it.
    user_data: Arc<UserData>,
}

impl LogSink {
    /// Creates a sink for the messages up to a level. It releases `user_data` once nothing uses it any more.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown level. In that case nothing is released.
    pub(crate) fn new(
        level: LogLevelNumber,
        callback: extern "C" fn(LogLevel, Text, *mut c_void),
        user_data: *mut c_void,
        release: ReleaseCallback,
    ) -> Result<Self> {
        let mut known = LEVELS.into_iter();
        let (_, most) = known
            .find(|(known, _)| *known as u32 == level)
            .ok_or_else(|| invalid("level", format_args!("{level} is not a log level")))?;
        Ok(LogSink {
            most,
            callback,
            // Created last, when nothing can fail any more, because an error must not release it.
            user_data: Arc::new(UserData {
                pointer: user_data,
                release,
            }),
        })
    }

    /// Sends the log of this thread to the sink until the thread ends, which drops its share of the sink.
    pub(crate) fn attach(&self) {
        log::attach(self.clone());
    }
}

impl Listener for LogSink {
    fn level(&self) -> Option<Level> {
        Some(self.most)
    }

    fn hear(&self, level: Level, message: &str) {
        let known = LEVELS.into_iter().find(|(_, known)| *known == level);
        let level = known.map_or(LogLevel::Error, |(level, _)| level);
        (self.callback)(level, Text::of(message), self.user_data.pointer);
    }
}
