//! The log of clients, passed to a callback of the application.

use crate::boundary::{ReleaseCallback, UserData};
use crate::export::invalid;
use crate::text::Text;
use std::ffi::c_void;
use std::sync::Arc;
use talentdata_core::Result;
use talentdata_core::internal::log::{Level, Listener, Message, ThreadLog};

/// The level of a client's log. Each level includes those above it.
#[derive(Clone, Copy)]
#[repr(C)]
pub enum LogLevel {
    /// Failures that end a call, a scan or a job.
    Error = 1,
    /// Failures from which the client recovers, each kind at most once a minute with their number, and the beginning
    /// and the end of an outage.
    Warn = 2,
    /// Joining a budget, and renewing an access token.
    Info = 3,
    /// Every response, wait and retry.
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

/// Receives a message: its level, its text, its fields as a JSON object, and the pointer given to
/// talentdata_config_set_log. Both texts are valid only during the call. The text also has the fields, as `name=value`.
/// The fields that apply are present: client (its ID), list, operation, request_id, offset, attempt, status, reason
/// (the kind of error), seconds and others.
pub type LogCallback =
    Option<extern "C" fn(level: LogLevel, message: Text, fields: Text, user_data: *mut c_void)>;

/// The destination of a client's messages.
#[derive(Clone)]
pub(crate) struct LogSink {
    most: Level,
    callback: extern "C" fn(LogLevel, Text, Text, *mut c_void),
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
        callback: extern "C" fn(LogLevel, Text, Text, *mut c_void),
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

    /// Returns a log for threads, which sends its messages to this sink and keeps it alive.
    pub(crate) fn of_threads(&self) -> ThreadLog {
        ThreadLog::new(self.clone())
    }
}

impl Listener for LogSink {
    fn level(&self) -> Option<Level> {
        Some(self.most)
    }

    fn hear(&self, message: Message) {
        let known = LEVELS
            .into_iter()
            .find(|(_, known)| *known == message.level);
        let level = known.map_or(LogLevel::Error, |(level, _)| level);
        let fields = serde_json::Value::Object(message.fields).to_string();
        let (line, fields) = (Text::of(&message.line), Text::of(&fields));
        (self.callback)(level, line, fields, self.user_data.pointer);
    }
}
