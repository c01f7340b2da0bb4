//! What the generated table says of an operation: method, path, parameters and body.

use crate::FieldKind;

/// One method of one path.
#[derive(Debug)]
pub struct Operation {
    /// The spec's `operationId`.
    pub id: &'static str,
    /// Its name, with `_` between words: the spec's `x-talentdata-name`, else the words of `operationId`.
    pub name: &'static str,
    /// Its name on the command line, with `-` between words.
    pub command: &'static str,
    /// The HTTP method.
    pub method: Method,
    /// The path below the base URL, with the names of path parameters in braces.
    pub path: &'static str,
    /// The group the document puts it in.
    pub group: &'static str,
    /// A few words on what it does or lists.
    pub summary: &'static str,
    /// The description from the spec.
    pub description: &'static str,
    /// True if it carries the bearer token.
    pub token: TokenUse,
    /// True if sending it twice does no more than sending it once.
    pub idempotent: bool,
    /// True if the spec marks it as deprecated.
    pub deprecated: bool,
    /// True if a successful response has a JSON body.
    pub answers: bool,
    /// The media type of that body.
    pub accept: &'static str,
    /// True if the clients have a call for it. Lists are read as lists, the client itself fetches tokens, and some
    /// operations have a required parameter that cannot be sent.
    pub callable: bool,
    /// The parameters in path, query and headers.
    pub parameters: &'static [Parameter],
    /// The JSON body it takes.
    pub body: Option<RequestBody>,
}

/// The HTTP methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Reads the headers only.
    Head,
    /// Asks what is possible.
    Options,
    /// Creates or replaces.
    Put,
    /// Removes.
    Delete,
    /// Does what the operation says.
    Post,
    /// Changes a part.
    Patch,
    /// Returns the request.
    Trace,
}

impl Method {
    /// Its name on the wire.
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
    /// Its name among those of the operation: that on the wire, unless another one has it.
    pub name: &'static str,
    /// Its name on the wire.
    pub wire: &'static str,
    /// Its name as an argument, with `_` between words.
    pub argument: &'static str,
    /// Its flag on the command line, without the dashes in front.
    pub flag: &'static str,
    /// The place in which it is sent.
    pub location: Location,
    /// True if the operation cannot be called without it.
    pub required: bool,
    /// True if it takes several values.
    pub repeated: bool,
    /// The encoded separator between several values in a query; `None` if each value is sent with the name.
    pub separator: Option<&'static str>,
    /// On the command line, whether its values need no flag.
    pub positional: bool,
    /// True if a string of white space alone is refused before anything is sent.
    pub nonblank: bool,
    /// The JSON type of a value.
    pub kind: FieldKind,
    /// The values that the document shows; empty where it restricts none. Others are legal.
    pub known_values: &'static [&'static str],
    /// The description from the spec.
    pub description: &'static str,
}

impl Parameter {
    /// A value that is given as text, such as on a command line.
    ///
    /// # Errors
    /// A sentence, where the text is no value of the parameter's type.
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
    /// Its media type.
    pub media_type: &'static str,
    /// True if the operation cannot be called without it.
    pub required: bool,
    /// Its documented fields, in the spec's order; empty where it is no object, or none are documented.
    pub fields: &'static [Parameter],
}

/// The use of the bearer token by an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenUse {
    /// It needs none and is sent without.
    Never,
    /// It is refused without one.
    Always,
    /// The document leaves it open: sent when there are credentials.
    WhenThereIsOne,
}
