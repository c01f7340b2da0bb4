//! Passes the log of clients to Python's `logging`. Messages are queued, and delivered by threads that run Python.
//! Most messages come from threads without the interpreter lock, and some while this process shuts down or after a
//! fork. So these threads only queue them. A thread that waits for a call delivers the queue while it waits and at the
//! end. An event loop is notified when messages arrive. No lock is held while Python runs.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, Once, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};
use talentdata_core::internal::log::{self, Level, Listener, install};
use talentdata_core::internal::process::lock;
use tokio::sync::Notify;

/// The name of the logger that receives the messages.
const LOGGER_NAME: &str = "talentdata";

/// Limits the messages that are kept for an application that does not return. The oldest are dropped first.
const MOST: usize = 10_000;

/// The levels by their numbers in Python, most detailed first.
const LEVELS: [(u8, Level); 4] = [
    (10, Level::DEBUG),
    (20, Level::INFO),
    (30, Level::WARN),
    (40, Level::ERROR),
];

/// The number of the most detailed level that the logger wants; 0 before the logger was asked.
static WANTED: AtomicU8 = AtomicU8::new(0);

/// The logger, the function that makes a record, and the function that names a level.
static LOGGER: PyOnceLock<[Py<PyAny>; 3]> = PyOnceLock::new();

struct QueuedMessage {
    level: u8,
    line: String,
    fields: Map<String, Value>,
    at: f64,
}

/// The messages of one process. A fork copies the memory, but not the thread that may have locked it, so a child has a
/// queue of its own.
struct Queue {
    process: u32,
    messages: Mutex<VecDeque<QueuedMessage>>,
    arrived: Notify,
    child: OnceLock<Box<Queue>>,
}

static QUEUE: LazyLock<Queue> = LazyLock::new(Queue::new);

impl Queue {
    fn new() -> Self {
        Queue {
            process: std::process::id(),
            messages: Mutex::default(),
            arrived: Notify::new(),
            child: OnceLock::new(),
        }
    }

    /// Returns the queue of the current process.
    fn here(&self) -> &Queue {
        if self.process == std::process::id() {
            self
        } else {
            self.child.get_or_init(|| Box::new(Queue::new())).here()
        }
    }

    /// Locks the messages. The lock must not be held while Python runs.
    fn lock(&self) -> MutexGuard<'_, VecDeque<QueuedMessage>> {
        lock(&self.messages)
    }
}

/// Receives the log of all clients of this process.
struct Relay;

impl Listener for Relay {
    fn level(&self) -> Option<Level> {
        let wanted = WANTED.load(Ordering::Relaxed);
        let found = LEVELS.into_iter().find(|(number, _)| *number == wanted);
        found.map(|(_, level)| level)
    }

    fn hear(&self, message: log::Message) {
        let known = LEVELS
            .into_iter()
            .find(|(_, known)| *known == message.level);
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let message = QueuedMessage {
            level: known.map_or(0, |(number, _)| number),
            line: message.line,
            fields: message.fields,
            at: since.map_or(0.0, |since| since.as_secs_f64()),
        };
        let queue = QUEUE.here();
        let mut messages = queue.lock();
        if messages.len() == MOST {
            messages.pop_front();
        }
        messages.push_back(message);
        drop(messages);
        queue.arrived.notify_one();
    }
}

/// Asks the logger for its level. Must be called before a call of a client begins.
pub(crate) fn listen(py: Python<'_>, is_exiting: bool) -> PyResult<()> {
    if is_exiting && LOGGER.get(py).is_none() {
        // Nothing can be imported during shutdown.
        return Ok(());
    }
    let [logger, ..] = logger(py)?;
    let mut wanted = 0;
    for (number, _) in LEVELS {
        // The logger caches the answer, so this is cheap.
        let enabled = logger.call_method1(intern!(py, "isEnabledFor"), (number,))?;
        if enabled.is_truthy()? {
            wanted = number;
            break;
        }
    }
    WANTED.store(wanted, Ordering::Relaxed);
    static INSTALLED: Once = Once::new();
    if wanted != 0 {
        // If the command line ran in this process and installed its own log, that log stays.
        INSTALLED.call_once(|| {
            let _ = install(Relay);
        });
    }
    Ok(())
}

/// Passes the queued messages to the logger. Raises the exception of a handler.
pub(crate) fn deliver(py: Python<'_>) -> PyResult<()> {
    let queue = QUEUE.here();
    // Messages that arrive during the delivery wait for the next one. Otherwise this loop might not end.
    let mut left = queue.lock().len();
    while left > 0
        && let Some(message) = pop(queue)
    {
        left -= 1;
        let [logger, make_record, name_of] = logger(py)?;
        let facts = PyDict::new(py);
        for (name, value) in message.fields {
            match value {
                Value::Bool(value) => facts.set_item(name, value)?,
                Value::Number(value) => match value.as_i64() {
                    Some(value) => facts.set_item(name, value)?,
                    None => facts.set_item(name, value.as_f64())?,
                },
                Value::String(value) => facts.set_item(name, value)?,
                // Fields never have these types.
                Value::Null | Value::Array(_) | Value::Object(_) => {}
            }
        }
        facts.set_item(intern!(py, "name"), LOGGER_NAME)?;
        facts.set_item(intern!(py, "levelno"), message.level)?;
        let level = name_of.call1((message.level,))?;
        facts.set_item(intern!(py, "levelname"), level)?;
        facts.set_item(intern!(py, "msg"), message.line)?;
        facts.set_item(intern!(py, "created"), message.at)?;
        let milliseconds = (message.at.fract() * 1000.0).floor();
        facts.set_item(intern!(py, "msecs"), milliseconds)?;
        let record = make_record.call1((facts,))?;
        logger.call_method1(intern!(py, "handle"), (record,))?;
    }
    Ok(())
}

fn pop(queue: &Queue) -> Option<QueuedMessage> {
    queue.lock().pop_front()
}

/// Returns whether messages wait for their delivery.
pub(crate) fn is_waiting() -> bool {
    !QUEUE.here().lock().is_empty()
}

/// Completes when a message has arrived. Each message wakes one waiting task.
pub(crate) async fn arrived() {
    QUEUE.here().arrived.notified().await;
}

fn logger(py: Python<'_>) -> PyResult<[&Bound<'_, PyAny>; 3]> {
    let made = LOGGER.get_or_try_init(py, || {
        let logging = py.import("logging")?;
        let logger = logging.call_method1("getLogger", (LOGGER_NAME,))?;
        // Without a handler, Python prints warnings of libraries whose log the application did not configure.
        let quiet = logging.call_method0("NullHandler")?;
        logger.call_method1("addHandler", (quiet,))?;
        let make_record = logging.getattr("makeLogRecord")?;
        let name_of = logging.getattr("getLevelName")?;
        PyResult::Ok([logger, make_record, name_of].map(Bound::unbind))
    })?;
    Ok(made.each_ref().map(|one| one.bind(py)))
}
