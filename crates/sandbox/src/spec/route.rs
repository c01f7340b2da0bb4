//! Which operations a path stands for: path templates, their parameters, and which of several is meant.

use std::cmp::Reverse;
use std::sync::OnceLock;

use super::{Operation, spec};

/// What was found at a path.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) operation: &'a Operation,
    /// Name and value of each path parameter.
    pub(crate) parameters: Vec<(&'a str, String)>,
}

/// The operations at a path, one for each method; where several templates match, the most literal one comes first.
pub(crate) fn find(path: &str) -> Vec<Found<'static>> {
    static ROUTES: OnceLock<Vec<Route<'static>>> = OnceLock::new();
    let routes = ROUTES.get_or_init(|| routes(&spec().operations));
    matching(routes, path).collect()
}

#[derive(Debug)]
struct Route<'a> {
    operation: &'a Operation,
    segments: Vec<Vec<Piece<'a>>>,
}

/// A part of a segment: `{id}.{format}` has three.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    Literal(&'a str),
    Parameter(&'a str),
}

/// The routes of operations, the most literal ones first.
fn routes(operations: &[Operation]) -> Vec<Route<'_>> {
    let route = |operation| Route {
        operation,
        segments: operation.path.split('/').map(pieces).collect(),
    };
    let mut routes: Vec<Route<'_>> = operations.iter().map(route).collect();
    routes.sort_by_key(|route| Reverse(route.literalness()));
    routes
}

fn matching<'a>(routes: &'a [Route<'a>], path: &str) -> impl Iterator<Item = Found<'a>> {
    let segments: Vec<String> = path.split('/').map(decoded).collect();
    routes.iter().filter_map(move |route| {
        let parameters = route.parameters(&segments)?;
        Some(Found {
            operation: route.operation,
            parameters,
        })
    })
}

impl<'a> Route<'a> {
    /// How literal each segment is, from the first one on.
    fn literalness(&self) -> Vec<u8> {
        let segments = self.segments.iter();
        let rank = segments.map(|segment| match segment.as_slice() {
            [Piece::Parameter(_)] => 0,
            [Piece::Literal(_)] => 2,
            _ => 1,
        });
        rank.collect()
    }

    fn parameters(&self, path: &[String]) -> Option<Vec<(&'a str, String)>> {
        if self.segments.len() != path.len() {
            return None;
        }
        let mut out = Vec::new();
        let fits = |(pieces, text): (&Vec<Piece<'a>>, &String)| fits(pieces, text, &mut out);
        self.segments.iter().zip(path).all(fits).then_some(out)
    }
}

/// Whether a segment fits; a parameter has at least one character and ends where the literal after it first occurs.
fn fits<'a>(pieces: &[Piece<'a>], text: &str, out: &mut Vec<(&'a str, String)>) -> bool {
    match pieces {
        [] => text.is_empty(),
        [Piece::Literal(literal), rest @ ..] => text
            .strip_prefix(literal)
            .is_some_and(|text| fits(rest, text, out)),
        [Piece::Parameter(name), rest @ ..] => {
            let first = text.chars().next().map_or(0, char::len_utf8);
            let end = match rest {
                [Piece::Literal(literal), ..] => text[first..].find(literal).map(|at| first + at),
                _ => Some(text.len()),
            };
            let Some(end) = end.filter(|end| *end > 0) else {
                return false;
            };
            out.push((name, text[..end].to_owned()));
            fits(rest, &text[end..], out)
        }
    }
}

fn pieces(segment: &str) -> Vec<Piece<'_>> {
    let (mut out, mut rest) = (Vec::new(), segment);
    while let Some((literal, (name, after))) = rest
        .split_once('{')
        .and_then(|(literal, rest)| Some((literal, rest.split_once('}')?)))
    {
        if !literal.is_empty() {
            out.push(Piece::Literal(literal));
        }
        out.push(Piece::Parameter(name));
        rest = after;
    }
    if !rest.is_empty() {
        out.push(Piece::Literal(rest));
    }
    out
}

/// Percent-decoded; what is no code stays as it is.
fn decoded(segment: &str) -> String {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).filter(|_| *first == b'%');
        let code = code.filter(|code| code.iter().all(u8::is_ascii_hexdigit));
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEMPLATES: [&str; 10] = [
        "GET /v1/contacts",
        "POST /v1/contacts",
        "GET /v1/contacts/{id}",
        "DELETE /v1/contacts/{id}",
        "POST /v1/contacts/search",
        "GET /v1/{kind}/mine",
        "GET /v1/contacts/{id}/files/{name}.{type}",
        "POST /v1/contacts/{id}:merge",
        "PUT /v1/a b/{c d}",
        "GET /",
    ];

    fn operations() -> Vec<Operation> {
        let operation = |line: &&str| {
            let (method, path) = line.split_once(' ').unwrap();
            let operation = json!({
                "method": method, "path": path, "bearer": "never", "parameters": [],
                "success": {"status": 200, "schema": true},
            });
            serde_json::from_value(operation).unwrap()
        };
        TEMPLATES.iter().map(operation).collect()
    }

    #[test]
    fn the_most_literal_template_comes_first_and_parameters_are_decoded() {
        let operations = operations();
        let routes = routes(&operations);
        for (path, wanted) in [
            (
                "/v1/contacts",
                vec!["GET /v1/contacts", "POST /v1/contacts"],
            ),
            ("/v1/contacts/", vec![]),
            (
                "/v1/contacts/7",
                vec![
                    "GET /v1/contacts/{id} id=7",
                    "DELETE /v1/contacts/{id} id=7",
                ],
            ),
            (
                "/v1/contacts/a%2Fb%20+%zz%+1%",
                vec![
                    "GET /v1/contacts/{id} id=a/b +%zz%+1%",
                    "DELETE /v1/contacts/{id} id=a/b +%zz%+1%",
                ],
            ),
            (
                "/v1/contacts/search",
                vec![
                    "POST /v1/contacts/search",
                    "GET /v1/contacts/{id} id=search",
                    "DELETE /v1/contacts/{id} id=search",
                ],
            ),
            (
                "/v1/contacts/mine",
                vec![
                    "GET /v1/contacts/{id} id=mine",
                    "DELETE /v1/contacts/{id} id=mine",
                    "GET /v1/{kind}/mine kind=contacts",
                ],
            ),
            (
                "/v1/contacts/é:merge",
                vec![
                    "POST /v1/contacts/{id}:merge id=é",
                    "GET /v1/contacts/{id} id=é:merge",
                    "DELETE /v1/contacts/{id} id=é:merge",
                ],
            ),
            (
                "/v1/contacts/7/files/.tar.gz",
                vec!["GET /v1/contacts/{id}/files/{name}.{type} id=7 name=.tar type=gz"],
            ),
            ("/v1/contacts/7/files/.gz", vec![]),
            ("/v1/a%20b/x", vec!["PUT /v1/a b/{c d} c d=x"]),
            ("/", vec!["GET /"]),
            ("", vec![]),
            ("/v1", vec![]),
            ("/V1/contacts", vec![]),
        ] {
            let shown = |found: Found<'_>| {
                let Operation { method, path, .. } = found.operation;
                let parameters = found.parameters.iter();
                let parameters: String = parameters.map(|(k, v)| format!(" {k}={v}")).collect();
                format!("{method} {path}{parameters}")
            };
            let found: Vec<String> = matching(&routes, path).map(shown).collect();
            assert_eq!(found, wanted, "{path}");
        }
    }
}
