//! The log of clients, for bindings that pass it to the logging of their language.

pub use tracing::Level;

use std::fmt::Write;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, set_global_default};
use tracing::{Dispatch, Event, Metadata, Subscriber};

/// Receives the log of clients.
pub trait Listener: Send + Sync + 'static {
    /// Returns the most detailed level that is wanted now; `None` if nothing is.
    fn level(&self) -> Option<Level>;

    /// Receives a message with its fields, as one line. It is called on any thread, also on several at the same time,
    /// and must return soon.
    fn hear(&self, level: Level, message: &str);
}

/// Passes the log of this thread to the listener until the thread ends, which drops the listener.
pub fn attach(listener: impl Listener) {
    let guard = tracing::dispatcher::set_default(&Dispatch::new(Relay(listener)));
    std::mem::forget(guard);
}

/// Passes the log of all threads that have no listener of their own to this listener, permanently. Returns false if
/// somebody else already receives it.
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
        let mut line = Line::default();
        event.record(&mut line);
        let text = line.message + &line.fields;
        self.0.hear(*event.metadata().level(), &text);
    }

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
    fn record_str(&mut self, field: &Field, value: &str) {
        // Our own names, for example of operations, need no quotes.
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};

    struct Heard(Sender<(Level, String)>);

    impl Listener for Heard {
        fn level(&self) -> Option<Level> {
            Some(Level::DEBUG)
        }

        fn hear(&self, level: Level, message: &str) {
            self.0.send((level, message.to_owned())).unwrap();
        }
    }

    #[test]
    fn only_our_own_events_are_heard_with_their_fields() {
        let (sender, heard) = channel();
        let thread = std::thread::spawn(|| {
            attach(Heard(sender));
            let _span = tracing::info_span!("within").entered();
            tracing::debug!(operation = "getVersion", wait_s = 0.5, "sending again");
            tracing::trace!("too detailed");
            tracing::error!(target: "hyper", "authorization: Bearer");
        });
        thread.join().unwrap();
        let line = "sending again operation=getVersion wait_s=0.5".to_owned();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [(Level::DEBUG, line)]);
    }
}
