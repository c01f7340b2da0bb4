//! The generated description of an operation: method, path, parameters and body.

use crate::FieldKind;

/// An operation of the service: one method of one path.
#[derive(Debug)]
pub struct Operation {
    /// The spec's `operationId`.
    pub id: &'static str,
    /// The name, with `_` between words: the spec's `x-talentdata-name`, otherwise the words of `operationId`.
    pub name: &'static str,
    /// The name on the command line, with `-` between words.
    pub command: &'static str,
    /// The HTTP method.
    pub method: Method,
    /// The path below the base URL, with the names of path parameters in braces.
    pub path: &'static str,
    /// The group of the operation in the API description.
    pub group: &'static str,
    /// A short summary.
    pub summary: &'static str,
    /// The description from the spec.
    pub description: &'static str,
    /// The use of the bearer token.
    pub token: TokenUse,
    /// True if sending the request twice has the same effect as sending it once.
    pub idempotent: bool,
    /// True if the spec marks the operation as deprecated.
    pub deprecated: bool,
    /// True if a successful response has a JSON body.
    pub answers: bool,
    /// The media type of the response body.
    pub accept: &'static str,
    /// True if the clients have a call for the operation. They have none for lists, which are read as lists, for
    /// tokens, which the client itself fetches, and for operations with a required parameter that cannot be sent.
    pub callable: bool,
    /// The parameters in path, query and headers.
    pub parameters: &'static [Parameter],
    /// The JSON body that the operation takes.
    pub body: Option<RequestBody>,
}

/// The HTTP methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads a resource.
    Get,
    /// Reads the headers only.
    Head,
    /// Asks which methods are supported.
    Options,
    /// Creates or replaces a resource.
    Put,
    /// Removes a resource.
    Delete,
    /// Performs the operation.
    Post,
    /// Changes a part of a resource.
    Patch,
    /// Returns the request.
    Trace,
}

impl Method {
    /// Returns the name of the method in a request.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Options => "OPTIONS",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
            Method::Post => "POST",
            Method::Patch => "PATCH",
            Method::Trace => "TRACE",
        }
    }
}

/// A parameter of an operation, or a field of its body.
#[derive(Debug)]
pub struct Parameter {
    /// The name, unique within the operation. It is the name in the API, unless another parameter has that name.
    pub name: &'static str,
    /// The name in the API.
    pub wire: &'static str,
    /// The name as an argument, with `_` between words.
    pub argument: &'static str,
    /// The flag on the command line, without the dashes.
    pub flag: &'static str,
    /// The place in which it is sent.
    pub location: Location,
    /// True if the operation cannot be called without a value.
    pub required: bool,
    /// True if the parameter takes several values.
    pub repeated: bool,
    /// The encoded separator between several values in a query; `None` if each value is sent with the name.
    pub separator: Option<&'static str>,
    /// True if the values need no flag on the command line.
    pub positional: bool,
    /// True if a string of white space alone is refused before anything is sent.
    pub nonblank: bool,
    /// The JSON type of a value.
    pub kind: FieldKind,
    /// The values that the API description shows; empty if it shows none. Other values are legal.
    pub known_values: &'static [&'static str],
    /// The description from the spec.
    pub description: &'static str,
}

impl Parameter {
    /// Reads a value in the form of text, for example from a command line.
    ///
    /// # Errors
    /// A message, if the text is not a value of the parameter's type.
    pub fn value_of_text(&self, text: &str) -> Result<serde_json::Value, String> {
        let (read, noun) = match self.kind {
            FieldKind::Text => (Some(text.into()), "a string"),
            FieldKind::Boolean => (text.parse::<bool>().ok().map(Into::into), "true or false"),
            FieldKind::Integer => {
                let integer = text.parse::<i64>().map(Into::into);
                let integer = integer.or_else(|_| text.parse::<u64>().map(Into::into));
                (integer.ok(), "an integer")
            }
            FieldKind::Number => {
                let number = serde_json::from_str::<serde_json::Number>(text);
                (number.ok().map(Into::into), "a number")
            }
            FieldKind::Json => (serde_json::from_str(text).ok(), "JSON"),
        };
        let argument = self.argument;
        read.ok_or_else(|| format!("{argument}: must be {noun} (got {text:?})"))
    }
}

/// The place in which a parameter is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// Within the path.
    Path,
    /// In the query.
    Query,
    /// As a header.
    Header,
    /// As a field of the JSON body.
    Body,
}

/// The JSON body that an operation takes.
#[derive(Debug)]
pub struct RequestBody {
    /// The media type.
    pub media_type: &'static str,
    /// True if the operation cannot be called without a body.
    pub required: bool,
    /// The documented fields, in the order of the API description; empty if the body is not an object, or no field is
    /// documented.
    pub fields: &'static [Parameter],
}

/// The use of the bearer token by an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenUse {
    /// The operation needs no token, and is sent without one.
    Never,
    /// The operation is refused without a token.
    Always,
    /// The API description leaves the use open. A token is sent if there are credentials.
    WhenThereIsOne,
}
