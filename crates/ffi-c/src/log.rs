//! What clients report while they work, handed to a callback of the application.

use crate::boundary::{UserData, guard, invalid, lent};
use crate::config::Config;
use crate::error::Error;
use crate::text::Text;
use std::ffi::c_void;
use std::fmt::Write;
use talentdata_core::Result;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

/// How much a client reports; each level holds those above.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum LogLevel {
    /// What went wrong and is not repaired.
    Error = 1,
    /// What went wrong and is repaired.
    Warn = 2,
    /// What a user wants to know.
    Info = 3,
    /// Every call, its waits and its retries.
    Debug = 4,
    /// Everything.
    Trace = 5,
}

impl LogLevel {
    const ALL: [(LogLevel, Level); 5] = [
        (LogLevel::Error, Level::ERROR),
        (LogLevel::Warn, Level::WARN),
        (LogLevel::Info, Level::INFO),
        (LogLevel::Debug, Level::DEBUG),
        (LogLevel::Trace, Level::TRACE),
    ];
}

/// Is told a message: its level (a talentdata_log_level), its UTF-8 text, which is valid during the
/// call only, and the pointer given to talentdata_config_set_log.
pub type LogCallback = Option<extern "C" fn(level: u32, message: Text, user_data: *mut c_void)>;

/// Where the messages of a client go.
#[derive(Clone)]
pub(crate) struct Sink {
    most: Level,
    callback: extern "C" fn(u32, Text, *mut c_void),
    user_data: UserData,
}

/// Where clients report what they do; by default they are silent.
///
/// The callback runs on threads of the library, several at once; it must be quick, must not end its
/// thread or jump out of it (longjmp, pthread_exit, a C++ exception), and a blocking call that it
/// makes fails with INVALID_ARGUMENT. It may free the client. No message holds a secret or a token.
///
/// @param config the settings to change
/// @param level the talentdata_log_level up to which messages are wanted
/// @param callback what is called for each
/// @param user_data handed to the callback as it is; may be NULL
/// Ownership: `user_data` is lent until the last client made from these settings, and all its
/// scans, are freed.
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL, or a level that there is not.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set_log(
    config: Option<&mut Config>,
    level: u32,
    callback: LogCallback,
    user_data: *mut c_void,
) -> Option<Box<Error>> {
    guard(|| {
        let config = lent(config, "config")?;
        config.sink = Some(Sink::new(
            level,
            lent(callback, "callback")?,
            UserData(user_data),
        )?);
        Ok(())
    })
}

impl Sink {
    fn new(
        level: u32,
        callback: extern "C" fn(u32, Text, *mut c_void),
        user_data: UserData,
    ) -> Result<Self> {
        let found = LogLevel::ALL
            .into_iter()
            .find(|(known, _)| *known as u32 == level);
        let (_, most) =
            found.ok_or_else(|| invalid("level", format_args!("{level} is no log level")))?;
        Ok(Sink {
            most,
            callback,
            user_data,
        })
    }

    /// Sends what this thread reports to the sink, until the thread ends.
    pub(crate) fn attach(&self) {
        let guard = tracing::dispatcher::set_default(&Dispatch::new(self.clone()));
        std::mem::forget(guard);
    }
}

impl Subscriber for Sink {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event()
            && *metadata.level() <= self.most
            && metadata.target().starts_with("talentdata")
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.most.into())
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let text = line.message + &line.fields;
        let level = LogLevel::ALL
            .into_iter()
            .find(|(_, level)| level == event.metadata().level());
        let level = level.map_or(LogLevel::Error, |(level, _)| level);
        (self.callback)(level as u32, Text::of(&text), self.user_data.0);
    }

    // No span is enabled: messages stand for themselves.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// A message and its fields, as one line.
#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}
