//! Arguments of a list: values that are sent with every page, and what receipts and checkpoints record of them.

use super::Arguments;
use crate::error::Result;
use serde_json::Value;
use std::collections::BTreeMap;
use talentdata_types::{Location, Operation};

impl Arguments {
    /// Adds a value as text, which is read when it is known what it belongs to; see [`add_text`](Self::add_text).
    pub fn with_text(mut self, parameter: impl Into<String>, text: impl Into<String>) -> Self {
        self.texts.push((parameter.into(), text.into()));
        self
    }

    /// The same with all values in the types of this operation.
    ///
    /// # Errors
    /// As [`add_text`](Self::add_text).
    pub(super) fn resolved(mut self, operation: &Operation) -> Result<Self> {
        for (name, text) in std::mem::take(&mut self.texts) {
            self.add_text(operation, &name, &text)?;
        }
        Ok(self)
    }

    /// These, completed by those of `others` that they do not have.
    pub(crate) fn or(mut self, others: &Arguments) -> Self {
        let given = |name: &str| {
            self.values.contains_key(name) || self.texts.iter().any(|(one, _)| one == name)
        };
        let values = others.values.iter().filter(|(name, _)| !given(name));
        let values: Vec<_> = values
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let texts = others.texts.iter().filter(|(name, _)| !given(name));
        let texts: Vec<_> = texts.cloned().collect();
        self.values.extend(values);
        self.texts.extend(texts);
        self
    }

    /// Whether an operation can be called with them.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the argument.
    pub fn check(&self, operation: &'static Operation) -> Result<()> {
        self.clone().parts(operation).map(drop)
    }

    /// The values that are sent, by the names of their parameters; of a header only a hash, because it may hold a secret.
    pub fn recorded(&self, operation: &Operation) -> BTreeMap<String, Value> {
        let is_sent = |value: &Value| match value {
            Value::Null => false,
            Value::Array(values) => !values.is_empty(),
            _ => true,
        };
        let is_header = |name: &str| {
            let mut parameters = operation.parameters.iter();
            parameters.any(|one| one.name == name && one.location == Location::Header)
        };
        // What cannot be sent is refused elsewhere.
        let values = self.clone().resolved(operation).unwrap_or_default().values;
        let sent = values.iter().filter(|(_, value)| is_sent(value));
        let recorded = sent.map(|(name, value)| {
            let value = match is_header(name) {
                true => {
                    let hash = xxhash_rust::xxh3::xxh3_64(value.to_string().as_bytes());
                    Value::from(format!("hash {hash:016x}"))
                }
                false => value.clone(),
            };
            (name.clone(), value)
        });
        recorded.collect()
    }
}
