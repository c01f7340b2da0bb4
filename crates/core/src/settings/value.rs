//! What a caller gives for a setting, before it is checked.

use std::time::Duration;
use talentdata_types::Secret;

/// The value of a setting as it was given. What comes as text, from the environment or the command line,
/// is read as the kind of the setting demands.
#[derive(Clone, Debug)]
pub enum Value {
    /// A text. It may hold a secret, whichever setting it was meant for, so it is never shown.
    Text(Secret),
    /// A number; a time is one of seconds.
    Number(f64),
    /// True or false.
    Boolean(bool),
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(Secret::new(text))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(Secret::new(text))
    }
}

impl From<Duration> for Value {
    fn from(time: Duration) -> Self {
        Value::Number(time.as_secs_f64())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Value::Number(number.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Number(number)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Boolean(value)
    }
}
