//! Examples in the docstrings of errors: each provokes its kind in the sandbox and catches it.

use crate::error_kind::ErrorKind;
use crate::names;
use crate::spec::Spec;

/// How a kind of error comes about. LIST, PATH and KEY stand for a list of the spec, see [`of_spec`].
pub(super) enum Example {
    /// By this call.
    Call {
        /// Settings of the client.
        client: &'static str,
        /// A rule by which the sandbox misbehaves, if it has to.
        rule: &'static str,
        call: &'static str,
        /// Attributes of the error, and what they print.
        facts: &'static str,
        shown: &'static str,
    },
    /// Not at will; this is to be known.
    Never(&'static str),
}

/// The text with a list of the spec: the one of the shortest name, so that lines stay short.
pub(super) fn of_spec(spec: &Spec, text: &str) -> String {
    let shortest = spec.lists().min_by_key(|(_, list)| list.name.len());
    let Some((operation, list)) = shortest else {
        return text.to_owned();
    };
    let key = list
        .records
        .as_ref()
        .map_or(&list.name, |records| &records.key);
    text.replace("LIST", &names::python_list(&list.name))
        .replace("PATH", &operation.path)
        .replace("KEY", key)
}

/// The example of a kind; none where nobody has written one yet.
pub(super) fn example(kind: ErrorKind) -> Option<Example> {
    let call = |call, facts, shown| Example::Call {
        client: "",
        rule: "",
        call,
        facts,
        shown,
    };
    let answered = |rule, call, facts, shown| Example::Call {
        client: "max_attempts=1",
        rule,
        call,
        facts,
        shown,
    };
    let version = "client.version()";
    let page = "client.LIST.page()";
    Some(match kind {
        ErrorKind::Config => call("sandbox.client(share=2)", "error.attempts", "0"),
        ErrorKind::InvalidArgument => call("client.LIST.page(limit=0)", "error.attempts", "0"),
        ErrorKind::Connect => call(
            "sandbox.client(base_url=\"http://127.0.0.1:1\", max_attempts=1).version()",
            "error.attempts",
            "1",
        ),
        ErrorKind::Tls => call(
            "sandbox.client(base_url=sandbox.base_url.replace(\"http\", \"https\")).version()",
            "error.operation, error.status",
            "getVersion None",
        ),
        ErrorKind::Transport => answered(
            r#"{"match": {"path": "/v1/version"}, "reply": {"close_after_read": True}}"#,
            version,
            "error.operation, error.attempts",
            "getVersion 1",
        ),
        ErrorKind::Timeout => Example::Call {
            client: "timeout=0.1",
            rule: r#"{"match": {"path": "/v1/version"}, "reply": {"delay_ms": 60_000}}"#,
            call: version,
            facts: "error.operation, error.attempts",
            shown: "getVersion 1",
        },
        ErrorKind::Redirect => answered(
            r#"{"reply": {"status": 302, "headers": {"location": "https://elsewhere.example"}}}"#,
            version,
            "error.status",
            "302",
        ),
        ErrorKind::TooLarge => answered(
            r#"{"match": {"path": "PATH"}, "reply": {"gzip_bomb_mb": 80}}"#,
            page,
            "error.status",
            "200",
        ),
        ErrorKind::Decode => answered(
            r#"{"match": {"path": "/v1/version"}, "reply": {"body": "<html>"}}"#,
            version,
            "error.status, error.body",
            "200 <html>",
        ),
        ErrorKind::Schema => answered(
            r#"{"match": {"path": "/v1/version"}, "reply": {"body": {"version": 5}}}"#,
            version,
            "error.status, error.body",
            "200 {\"version\":5}",
        ),
        ErrorKind::Auth => Example::Call {
            client: "client_secret=\"another-secret\"",
            rule: "",
            call: "client.permissions()",
            facts: "error.operation, error.status",
            shown: "createToken 401",
        },
        ErrorKind::TokenResponse => answered(
            r#"{"match": {"path": "/v1/oauth/token"}, "reply": {"body": {"token": "none"}}}"#,
            "client.permissions()",
            "error.operation, error.status",
            "createToken 200",
        ),
        ErrorKind::Forbidden => answered(
            r#"{"match": {"path": "PATH"}, "reply": {"status": 403, "headers": {"x-request-id": "r-7"}}}"#,
            page,
            "error.status, error.request_id",
            "403 r-7",
        ),
        ErrorKind::NotFound => answered(
            r#"{"match": {"path": "PATH"}, "reply": {"status": 404}}"#,
            page,
            "error.status, error.offset",
            "404 0",
        ),
        ErrorKind::Conflict => answered(
            r#"{"match": {"path": "PATH"}, "reply": {"status": 409}}"#,
            page,
            "error.status",
            "409",
        ),
        ErrorKind::BadRequest => answered(
            r#"{"match": {"path": "PATH"}, "reply": {"status": 400, "body": "no such filter"}}"#,
            page,
            "error.status, error.body",
            "400 no such filter",
        ),
        ErrorKind::RateLimited => answered(
            r#"{"match": {"path": "PATH"}, "reply": {"status": 429, "headers": {"retry-after": "120"}}}"#,
            page,
            "error.status, error.retry_after",
            "429 120.0",
        ),
        ErrorKind::Server => answered(
            r#"{"match": {"path": "PATH"}, "reply": {"status": 503}}"#,
            page,
            "error.status, error.attempts",
            "503 1",
        ),
        ErrorKind::Api => answered(
            r#"{"match": {"path": "PATH"}, "reply": {"body": {"success": False}}}"#,
            page,
            "error.status, error.body",
            "200 {\"success\":false}",
        ),
        ErrorKind::Paging => answered(
            r#"{"match": {"path": "PATH"}, "reply": {"body": {"KEY": [], "pagination": {"total": 9, "limit": 0, "offset": 0, "hasMore": True}}}}"#,
            "list(client.LIST.pages())",
            "error.offset",
            "0",
        ),
        ErrorKind::Incomplete => Example::Never(
            "The command line and engines end with it; elsewhere `Scan.receipt` says whether a list is complete.",
        ),
        ErrorKind::Io => call(
            "client.LIST.export(\"/no/such/directory/LIST.parquet\")",
            "error.attempts",
            "0",
        ),
        ErrorKind::Cancelled => call(
            "(scan := client.LIST.list()).close() or list(scan)",
            "error.attempts",
            "0",
        ),
        ErrorKind::Closed => call("client.close() or client.version()", "error.attempts", "0"),
        ErrorKind::Internal => {
            Example::Never("Please report it, with its text. The client can still be used.")
        }
        #[allow(unreachable_patterns, reason = "a new kind comes without one")]
        _ => return None,
    })
}
