//! The arguments of a call: checked against the operation's parameters, then put into path, query and headers.

use crate::error::{Error, Result};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use std::fmt::Display;
use talentdata_types::{FieldKind, Location, Operation, Parameter};
use url::form_urlencoded::byte_serialize;

/// The arguments of an operation: a value per parameter, by its name, and the JSON body.
///
/// They are checked when the call is made.
///
/// ```
/// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let records = [("contacts".to_owned(), 250)].into();
/// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
/// # let mut settings = talentdata_core::Client::builder();
/// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
/// # settings.budget("process");
/// # let client = settings.build()?;
/// use talentdata_core::{Arguments, ErrorKind};
///
/// let arguments = Arguments::default().with("planet", "Mars");
/// let error = client.contacts().with(arguments).page(None, 0).await.unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::InvalidArgument);
/// assert!(error.message().contains("planet"), "{error}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct Arguments {
    values: Map<String, Value>,
    body: Option<String>,
}

/// Arguments in the form in which they are sent.
#[derive(Default)]
pub(crate) struct RequestParts {
    /// The segments of the path, decoded.
    pub(crate) path: Vec<String>,
    pub(crate) query: Vec<(&'static str, String)>,
    /// Further pairs of the query, already encoded, for parameters with several values.
    pub(crate) encoded: Vec<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Vec<u8>>,
}

impl Arguments {
    /// Returns arguments with these values, by the names of their parameters, and this JSON body.
    pub fn new(values: Map<String, Value>, body: Option<String>) -> Self {
        Arguments { values, body }
    }

    /// Adds the value of a parameter. Null omits it.
    pub fn with(mut self, parameter: &str, value: impl Into<Value>) -> Self {
        self.values.insert(parameter.to_owned(), value.into());
        self
    }

    /// Adds the body as JSON text.
    pub fn with_json(mut self, body: String) -> Self {
        self.body = Some(body);
        self
    }

    /// Adds the body. Null omits it.
    ///
    /// # Errors
    /// `InvalidArgument` if it cannot be written as JSON.
    pub fn with_body(mut self, body: impl Serialize) -> Result<Self> {
        let json = serde_json::to_string(&body)
            .map_err(|error| wrong("body", format_args!("cannot be written as JSON: {error}")))?;
        self.body = Some(json).filter(|json| json != "null");
        Ok(self)
    }

    /// Adds a value in the form of text, for example from a command line. If the parameter takes several values, this
    /// is one more.
    ///
    /// # Errors
    /// `InvalidArgument` if the operation has no such parameter, the text is not a value of its type, or a parameter
    /// that takes one value already has one.
    pub fn add_text(&mut self, operation: &Operation, parameter: &str, text: &str) -> Result<()> {
        let mut parameters = operation.parameters.iter();
        let Some(found) = parameters.find(|one| one.name == parameter) else {
            return Err(unknown(operation, parameter));
        };
        let value = found.value_of_text(text).map_err(Error::invalid)?;
        let present = self.values.get_mut(found.name);
        match present {
            Some(Value::Array(values)) if found.repeated => values.push(value),
            Some(_) => return Err(wrong(found.argument, "is given twice")),
            None => {
                let value = if found.repeated {
                    Value::Array(vec![value])
                } else {
                    value
                };
                self.values.insert(found.name.to_owned(), value);
            }
        }
        Ok(())
    }

    /// Returns the JSON body.
    pub(crate) fn body(&self) -> Option<&str> {
        self.body.as_deref()
    }

    /// Checks the arguments of this operation, and puts each where it is sent.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the argument.
    pub(crate) fn parts(self, operation: &'static Operation) -> Result<RequestParts> {
        let known = |name: &str| operation.parameters.iter().any(|one| one.name == name);
        if let Some(name) = self.values.keys().find(|name| !known(name)) {
            return Err(unknown(operation, name));
        }
        let mut parts = RequestParts::default();
        let mut in_path = Vec::new();
        for parameter in operation.parameters {
            let texts = texts(parameter, self.values.get(parameter.name))?;
            match parameter.location {
                Location::Path => in_path.push((parameter, texts.join(","))),
                Location::Query => match parameter.separator {
                    Some(separator) if !texts.is_empty() => {
                        parts.encoded.push(separated(parameter, separator, &texts)?);
                    }
                    _ => {
                        let pairs = texts.into_iter().map(|text| (parameter.wire, text));
                        parts.query.extend(pairs);
                    }
                },
                Location::Header if !texts.is_empty() => {
                    let (name, value) = header(parameter, &texts.join(","))?;
                    parts.headers.insert(name, value);
                }
                Location::Header | Location::Body => {}
            }
        }
        parts.path = operation
            .path
            .trim_start_matches('/')
            .split('/')
            .map(|segment| filled(segment, &in_path))
            .collect::<Result<_>>()?;
        parts.body = match (&operation.body, self.body) {
            (Some(body), None) if body.required => return Err(wrong("body", "is required")),
            (None, Some(_)) => {
                let message = format_args!("{} takes no body", operation.name);
                return Err(wrong("body", message));
            }
            (Some(_), Some(json)) => {
                check_blanks(operation, &json)?;
                Some(json.into_bytes())
            }
            (_, None) => None,
        };
        Ok(parts)
    }
}

/// Arguments of a list: the values that are sent with every page, and the form in which receipts and checkpoints record
/// them.
impl Arguments {
    /// Returns these arguments, completed by the arguments in `others` that are missing here.
    pub(crate) fn or(mut self, others: &Arguments) -> Self {
        for (name, value) in &others.values {
            let own = self.values.entry(name.as_str());
            own.or_insert_with(|| value.clone());
        }
        self
    }

    /// Checks that an operation can be called with these arguments.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the argument.
    pub fn check(&self, operation: &'static Operation) -> Result<()> {
        self.clone().parts(operation).map(drop)
    }

    /// Returns the values that are sent, by the names of their parameters. A header's value is replaced by a hash,
    /// because it may be a secret.
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
        let sent = self.values.iter().filter(|(_, value)| is_sent(value));
        let recorded = sent.map(|(name, value)| {
            let value = if is_header(name) {
                let hash = xxhash_rust::xxh3::xxh3_64(value.to_string().as_bytes());
                Value::from(format!("hash {hash:016x}"))
            } else {
                value.clone()
            };
            (name.clone(), value)
        });
        recorded.collect()
    }
}

/// The values are not shown, because they may be secret.
impl std::fmt::Debug for Arguments {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&String> = self.values.keys().collect();
        formatter
            .debug_struct("Arguments")
            .field("values", &names)
            .field("body", &self.body.is_some())
            .finish()
    }
}

/// Returns a segment of the path with the values of the parameters in it. Braces in a value are not placeholders.
fn filled(segment: &str, values: &[(&Parameter, String)]) -> Result<String> {
    let (mut out, mut rest, mut last) = (String::new(), segment, None);
    while let Some((before, behind)) = rest.split_once('{') {
        let named = behind.split_once('}').and_then(|(name, behind)| {
            let found = values
                .iter()
                .find(|(parameter, _)| parameter.wire == name)?;
            Some((found, behind))
        });
        let Some(((parameter, value), behind)) = named else {
            break;
        };
        if value.is_empty() {
            return Err(blank(parameter));
        }
        out += before;
        out += value;
        rest = behind;
        last = Some(parameter);
    }
    out += rest;
    match last {
        // `.` and `..` are steps within a path, even if escaped. They would lead to another address.
        Some(parameter) if out == "." || out == ".." => Err(wrong(
            parameter.argument,
            format_args!("must not be {out:?}, which leads to another address"),
        )),
        _ => Ok(out),
    }
}

/// Returns the query part of a parameter with several values. A comma in a value is distinguished from a separator by
/// its encoding. Values that contain another separator are refused.
fn separated(parameter: &Parameter, separator: &str, texts: &[String]) -> Result<String> {
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let apart = if separator == "%20" { " " } else { "|" };
    if separator != "," && texts.iter().any(|text| text.contains(apart)) {
        let message = format_args!("must not hold {apart:?}, which separates its values");
        return Err(wrong(parameter.argument, message));
    }
    let values: Vec<String> = texts.iter().map(|text| encoded(text)).collect();
    let name = encoded(parameter.wire);
    Ok(format!("{name}={}", values.join(separator)))
}

/// Refuses blank strings in required fields of the body.
fn check_blanks(operation: &Operation, json: &str) -> Result<()> {
    let fields = operation.body.iter().flat_map(|body| body.fields);
    let needed: Vec<&Parameter> = fields.filter(|one| one.nonblank).collect();
    if needed.is_empty() {
        return Ok(());
    }
    let value: Value = serde_json::from_str(json)
        .map_err(|error| wrong("body", format_args!("is not JSON: {error}")))?;
    for field in needed {
        if value
            .get(field.name)
            .and_then(Value::as_str)
            .is_some_and(is_blank)
        {
            return Err(blank(field));
        }
    }
    Ok(())
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn blank(parameter: &Parameter) -> Error {
    wrong(parameter.argument, "must not be empty")
}

/// Returns the strings in which a value is sent, or none if the value is omitted.
fn texts(parameter: &Parameter, value: Option<&Value>) -> Result<Vec<String>> {
    let name = parameter.argument;
    match value.filter(|value| !value.is_null()) {
        None if parameter.required => Err(wrong(name, "is required")),
        None => Ok(Vec::new()),
        Some(Value::Array(values)) if parameter.repeated => {
            if values.is_empty() && parameter.required {
                return Err(wrong(name, "needs at least one value"));
            }
            values.iter().map(|value| text(parameter, value)).collect()
        }
        Some(_) if parameter.repeated => Err(wrong(name, "must be an array of values")),
        Some(value) => Ok(vec![text(parameter, value)?]),
    }
}

fn text(parameter: &Parameter, value: &Value) -> Result<String> {
    match (parameter.kind, value) {
        (FieldKind::Text, Value::String(text)) if parameter.nonblank && is_blank(text) => {
            Err(blank(parameter))
        }
        (FieldKind::Text, Value::String(text)) => Ok(text.clone()),
        (FieldKind::Boolean, Value::Bool(value)) => Ok(value.to_string()),
        (FieldKind::Integer, Value::Number(number)) if is_integer(number) => Ok(number.to_string()),
        (FieldKind::Number, Value::Number(number)) => Ok(number.to_string()),
        (kind, value) => Err(wrong(
            parameter.argument,
            format_args!("must be {} (got {})", noun(kind), found(value)),
        )),
    }
}

fn is_integer(number: &Number) -> bool {
    number.is_i64() || number.is_u64()
}

fn header(parameter: &Parameter, text: &str) -> Result<(HeaderName, HeaderValue)> {
    let name = HeaderName::from_bytes(parameter.wire.as_bytes());
    let name = name.map_err(|_| wrong(parameter.argument, "is not the name of a header"))?;
    let value = HeaderValue::from_str(text).map_err(|_| {
        let message = "has characters that a header cannot hold";
        wrong(parameter.argument, message)
    })?;
    Ok((name, value))
}

fn noun(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Text => "a string",
        FieldKind::Integer => "an integer",
        FieldKind::Number => "a number",
        FieldKind::Boolean => "true or false",
        FieldKind::Json => "JSON",
    }
}

fn found(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn unknown(operation: &Operation, name: &str) -> Error {
    let known: Vec<&str> = operation.parameters.iter().map(|one| one.name).collect();
    let known = if known.is_empty() {
        "it has none".to_owned()
    } else {
        format!("its parameters are {}", known.join(", "))
    };
    wrong(
        name,
        format_args!("{} has no such parameter; {known}", operation.name),
    )
}

fn wrong(argument: &str, why: impl Display) -> Error {
    Error::invalid(format!("{argument}: {why}"))
}

#[cfg(test)]
mod tests;
