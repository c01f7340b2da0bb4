//! The log of clients, for bindings that pass it to the logging of their language.

pub use tracing::Level;

use serde_json::{Map, Value};
use std::fmt::Write;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, set_global_default};
use tracing::{Dispatch, Event, Metadata, Subscriber};

/// Receives the log of clients.
pub trait Listener: Send + Sync + 'static {
    /// Returns the most detailed level that is wanted now; `None` if nothing is.
    fn level(&self) -> Option<Level>;

    /// Receives a message. It is called on any thread, also on several at the same time, and must return soon.
    fn hear(&self, message: Message);
}

/// One message of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The level of the message.
    pub level: Level,
    /// The sentence, followed by each field as `name=value`.
    pub line: String,
    /// The fields, by their names.
    pub fields: Map<String, Value>,
}

/// A listener for the log of some threads.
///
/// Creating one takes a lock of the logging library. If another thread holds that lock while a process forks, the child
/// can never take it. So it is created once, before the threads start, and attaching takes no lock.
#[derive(Clone, Debug)]
pub struct ThreadLog(Dispatch);

impl ThreadLog {
    /// Creates a log for this listener.
    pub fn new(listener: impl Listener) -> Self {
        ThreadLog(Dispatch::new(Relay(listener)))
    }

    /// Passes the log of this thread to the listener until the thread ends.
    pub fn attach(&self) {
        std::mem::forget(tracing::dispatcher::set_default(&self.0));
    }
}

/// Passes the log of all threads that have no listener of their own to this listener, permanently. Returns false if
/// another listener already receives it.
pub fn install(listener: impl Listener) -> bool {
    set_global_default(Relay(listener)).is_ok()
}

struct Relay<L>(L);

impl<L: Listener> Subscriber for Relay<L> {
    // The logs of HTTP and TLS libraries contain the secret and the token. Spans have no message.
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if metadata.is_event() && metadata.target().starts_with("talentdata") {
            Interest::sometimes()
        } else {
            Interest::never()
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.0.level().is_some_and(|most| *metadata.level() <= most)
            && metadata.is_event()
            && metadata.target().starts_with("talentdata")
    }

    fn event(&self, event: &Event<'_>) {
        let mut parts = Parts::default();
        event.record(&mut parts);
        let mut line = parts.sentence;
        for (name, value) in &parts.fields {
            // Our own names, for example of operations, need no quotes. Writing to a string cannot fail.
            let _ = match value {
                Value::String(text) => write!(line, " {name}={text}"),
                value => write!(line, " {name}={value}"),
            };
        }
        self.0.hear(Message {
            level: *event.metadata().level(),
            line,
            fields: parts.fields,
        });
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The sentence of a message, and its fields.
#[derive(Default)]
struct Parts {
    sentence: String,
    fields: Map<String, Value>,
}

impl Parts {
    fn add(&mut self, field: &Field, value: impl Into<Value>) {
        self.fields.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Parts {
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        // Seconds, to the millisecond.
        self.add(field, (value * 1000.0).round() / 1000.0);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let text = format!("{value:?}");
        match field.name() {
            "message" => self.sentence = text,
            _ => self.add(field, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};

    struct Heard(Sender<Message>);

    impl Listener for Heard {
        fn level(&self) -> Option<Level> {
            Some(Level::DEBUG)
        }

        fn hear(&self, message: Message) {
            self.0.send(message).unwrap();
        }
    }

    #[test]
    fn only_our_own_events_are_heard_with_their_fields() {
        let (sender, heard) = channel();
        let thread = std::thread::spawn(|| {
            ThreadLog::new(Heard(sender)).attach();
            let _span = tracing::info_span!("within").entered();
            let absent = None::<u16>;
            tracing::debug!(
                operation = "getVersion",
                seconds = 0.50001,
                absent,
                "sending again"
            );
            tracing::trace!("too detailed");
            tracing::error!(target: "hyper", "authorization: Bearer");
        });
        thread.join().unwrap();
        let all: Vec<_> = heard.try_iter().collect();
        let [heard] = <[Message; 1]>::try_from(all).unwrap();
        assert_eq!(heard.line, "sending again operation=getVersion seconds=0.5");
        let fields = serde_json::json!({"operation": "getVersion", "seconds": 0.5});
        assert_eq!(
            (heard.level, Value::Object(heard.fields)),
            (Level::DEBUG, fields)
        );
    }
}
