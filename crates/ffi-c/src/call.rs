//! A call of an operation as the generated functions make it.

use crate::client::Client;
use crate::parameters::Parameters;
use crate::record::Record;
use serde::de::DeserializeOwned;
use talentdata_core::types::{Operation, Resource};
use talentdata_core::{Arguments, Error, ErrorKind, RawRecord, Result};

/// An operation with the arguments that C has passed.
pub(crate) struct Call {
    operation: &'static Operation,
    arguments: Arguments,
    body: Option<String>,
}

#[allow(dead_code, reason = "which are needed depends on the spec")]
impl Call {
    /// A call with what it could do without.
    pub(crate) fn new(
        operation: &'static Operation,
        parameters: Option<&Parameters>,
    ) -> Result<Self> {
        let mut call = Call {
            operation,
            arguments: Arguments::default(),
            body: None,
        };
        for (name, value) in parameters.into_iter().flat_map(|one| &one.values) {
            call.add(name, value)?;
        }
        Ok(call)
    }

    /// Adds the value of a parameter.
    pub(crate) fn add(&mut self, parameter: &str, value: &str) -> Result<()> {
        self.arguments.add_text(self.operation, parameter, value)
    }

    /// Adds the JSON body.
    pub(crate) fn body(&mut self, json: &str) {
        self.body = Some(json.to_owned());
    }

    /// Makes the call, whose response has no body.
    pub(crate) fn send(self, client: &Client) -> Result<()> {
        self.invoke(client).map(drop)
    }

    /// Makes the call; its response as JSON text.
    pub(crate) fn json(self, client: &Client) -> Result<String> {
        self.invoke(client)?.ok_or_else(|| unreadable("is empty"))
    }

    /// The response as a model.
    pub(crate) fn read<T: DeserializeOwned>(self, client: &Client) -> Result<T> {
        let json = self.json(client)?;
        // The core has checked that it can be read.
        serde_json::from_str(&json).map_err(|_| unreadable("cannot be read"))
    }

    /// The response as a record, with the accessors of the records of this list.
    pub(crate) fn record(self, client: &Client, list: Option<Resource>) -> Result<Record> {
        let json = self.json(client)?;
        Ok(Record::new(RawRecord::parse(&json)?, list))
    }

    fn invoke(self, client: &Client) -> Result<Option<String>> {
        let arguments = match self.body {
            Some(json) => self.arguments.with_json(json),
            None => self.arguments,
        };
        // A clone shares everything, and outlives a handle that is freed meanwhile.
        client.inner.clone().invoke(self.operation, arguments)
    }
}

fn unreadable(what: &str) -> Error {
    Error::new(ErrorKind::Internal, format!("a response {what}"))
}
