//! Which operations a path stands for: path templates, their parameters, and which of several is meant.

use std::cmp::Reverse;

use percent_encoding::percent_decode_str;

use crate::spec::Operation;

/// What was found at a path.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) operation: &'a Operation,
    /// Name and value of each path parameter.
    pub(crate) parameters: Vec<(&'a str, String)>,
}

/// The positions of the operations, those with the most literal paths first.
#[derive(Debug)]
pub(crate) struct Routes(Vec<usize>);

impl Routes {
    pub(crate) fn new(operations: &[Operation]) -> Self {
        let mut positions: Vec<usize> = (0..operations.len()).collect();
        positions.sort_by_key(|at| Reverse(literalness(&operations[*at].path)));
        Self(positions)
    }

    /// The operations at a path, the most literal template first.
    pub(crate) fn find<'a>(&self, operations: &'a [Operation], path: &str) -> Vec<Found<'a>> {
        let segments: Vec<String> = path
            .split('/')
            .map(|one| percent_decode_str(one).decode_utf8_lossy().into_owned())
            .collect();
        let found = self.0.iter().filter_map(|at| {
            let operation = &operations[*at];
            let template: Vec<&str> = operation.path.split('/').collect();
            let mut parameters = Vec::new();
            let fits = template.len() == segments.len()
                && template
                    .iter()
                    .zip(&segments)
                    .all(|(template, text)| fits(template, text, &mut parameters));
            fits.then_some(Found {
                operation,
                parameters,
            })
        });
        found.collect()
    }
}

/// How literal each segment is, from the first one on.
fn literalness(path: &str) -> Vec<u8> {
    let segments = path.split('/');
    let rank = segments.map(|one| match (one.find('{'), one.ends_with('}')) {
        (Some(0), true) if one.matches('{').count() == 1 => 0,
        (Some(_), _) => 1,
        (None, _) => 2,
    });
    rank.collect()
}

/// Whether a segment fits; a parameter has at least one character and ends where the literal after it first occurs.
fn fits<'a>(template: &'a str, text: &str, out: &mut Vec<(&'a str, String)>) -> bool {
    let parts = template
        .split_once('{')
        .and_then(|(literal, rest)| Some((literal, rest.split_once('}')?)));
    let Some((literal, (name, after))) = parts else {
        return template == text;
    };
    let Some(text) = text.strip_prefix(literal) else {
        return false;
    };
    let next = after.split('{').next().unwrap_or_default();
    let first = text.chars().next().map_or(0, char::len_utf8);
    let end = match next {
        "" => Some(text.len()),
        next => text[first..].find(next).map(|at| first + at),
    };
    let Some(end) = end.filter(|end| *end > 0) else {
        return false;
    };
    out.push((name, text[..end].to_owned()));
    fits(after, &text[end..], out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::spec::Spec;

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

    fn spec() -> Spec {
        let mut paths = json!({});
        for line in TEMPLATES {
            let (method, path) = line.split_once(' ').unwrap();
            paths[path][method.to_lowercase()] = json!({"security": []});
        }
        Spec::read(json!({"paths": paths}))
    }

    #[test]
    fn the_most_literal_template_comes_first_and_parameters_are_decoded() {
        let spec = spec();
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
            let found: Vec<String> = spec
                .routes
                .find(&spec.operations, path)
                .into_iter()
                .map(shown)
                .collect();
            assert_eq!(found, wanted, "{path}");
        }
    }
}
