//! The exported functions, which start, change, query and stop a sandbox.

use crate::boundary::{self, Errno, block_signals, guard_or};
use crate::library::{
    ForeignConfig, ForeignError, ForeignRecord, talentdata_config_set, talentdata_error_new,
    talentdata_record_parse,
};
use crate::text::Text;
use std::io;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::thread;
use talentdata_core::internal::process::Owned;
use talentdata_core::{Error, ErrorKind, Result};
use talentdata_sandbox::{Logged, Options, Sandbox};

/// The sample service on a port of 127.0.0.1, with sample data. Freed with talentdata_sandbox_free.
pub struct SandboxHandle {
    sandbox: Owned<Sandbox>,
    /// The settings with which clients reach the sandbox.
    settings: [(&'static str, String); 4],
}

/// Starts the service in this process, on a free port of 127.0.0.1. Its two threads receive no signals.
///
/// @param options the options as a JSON object, such as {"faults": true, "records": {"contacts": 250}, "seed": 7}, which
/// the manual lists; absent for the defaults
/// @param sandbox_out the sandbox
/// Ownership: the caller frees `*sandbox_out` with talentdata_sandbox_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL, text that is not UTF-8 or not a JSON object, an unknown option or list, or a
/// wrong value; BUSY if the port is taken.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_sandbox_start(
    options: Text,
    sandbox_out: Option<&mut MaybeUninit<Box<SandboxHandle>>>,
) -> Option<NonNull<ForeignError>> {
    guard(|| {
        let out = lent(sandbox_out, "sandbox_out")?;
        let options = match boundary::bytes(&options) {
            Some(bytes) => options_of(bytes)?,
            None => Options::default(),
        };
        let sandbox = started(options).map_err(|failure| {
            let message = format!("the sandbox cannot start: {failure}");
            Error::new(kind(&failure), message)
        })?;
        out.write(Box::new(SandboxHandle {
            settings: [
                ("base_url", sandbox.base_url().to_owned()),
                ("client_id", sandbox.client_id().to_owned()),
                ("client_secret", sandbox.client_secret().to_owned()),
                ("environment", false.to_string()),
            ],
            sandbox: Owned::new(sandbox),
        }));
        Ok(None)
    })
}

/// Sets the settings with which clients reach a sandbox: base_url, client_id, client_secret, and environment = false, so
/// that a test depends neither on variables nor on a profile.
///
/// @param sandbox the sandbox
/// @param config the settings to change
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_sandbox_configure(
    sandbox: Option<&SandboxHandle>,
    config: Option<NonNull<ForeignConfig>>,
) -> Option<NonNull<ForeignError>> {
    guard(|| {
        let sandbox = lent(sandbox, "sandbox")?;
        let mut settings = sandbox.settings.iter();
        Ok(settings.find_map(|(name, value)| {
            talentdata_config_set(config, Text::of(name), Text::of(value))
        }))
    })
}

/// Returns one of the settings that talentdata_sandbox_configure sets, for example for a program that a test runs. Absent
/// for another name, and for NULL.
///
/// Ownership: the text is valid until the sandbox is freed.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_sandbox_setting(sandbox: Option<&SandboxHandle>, name: Text) -> Text {
    let settings = sandbox.map_or(&[][..], |sandbox| &sandbox.settings);
    let name = boundary::bytes(&name);
    let found = settings
        .iter()
        .find(|(known, _)| Some(known.as_bytes()) == name);
    Text::of_option(found.map(|(_, value)| value.as_str()))
}

/// Replaces the fault rules, which change responses. The sandbox must have been started with the option faults.
///
/// @param sandbox the sandbox
/// @param rules the rules as JSON, such as {"rules": [{"match": {"path": "/v1/version", "nth": 1}, "reply": {"status": 500}}]};
/// the manual lists every member
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL, a wrong rule, a path that the service does not have, or a sandbox without the option;
/// the previous rules then stay in force. CLOSED in a forked child.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_sandbox_set_faults(
    sandbox: Option<&SandboxHandle>,
    rules: Text,
) -> Option<NonNull<ForeignError>> {
    guard(|| {
        let sandbox = lent(sandbox, "sandbox")?;
        let rules = text(&rules, "rules")?;
        sandbox.ask(|sandbox| sandbox.set_faults(rules))?;
        Ok(None)
    })
}

/// Changes a list immediately.
///
/// @param sandbox the sandbox
/// @param list the name of the list, such as contacts
/// @param change the change as JSON: {"insert": 5}, or with update, delete or delete_first instead of insert; or
/// "shuffle"
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, a wrong change, or more records than the list has. CLOSED in a forked
/// child.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_sandbox_change(
    sandbox: Option<&SandboxHandle>,
    list: Text,
    change: Text,
) -> Option<NonNull<ForeignError>> {
    guard(|| {
        let sandbox = lent(sandbox, "sandbox")?;
        let list = text(&list, "list")?;
        let change = serde_json::from_str(text(&change, "change")?);
        let change = change.map_err(|why| invalid("change", &why))?;
        sandbox.ask(|sandbox| sandbox.change(list, change))?;
        Ok(None)
    })
}

/// Returns the real changes of a list since the start of the sandbox, for comparison with the changes that a program
/// noticed.
///
/// @param sandbox the sandbox
/// @param list the name of the list, such as contacts
/// @param skip the number of changes to skip at the beginning
/// @param changes_out an array of objects with `at`, `op` (insert, update or delete), `key` and `record`
/// Ownership: the caller frees `*changes_out` with talentdata_record_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL or an unknown list. CLOSED in a forked child.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_sandbox_changes(
    sandbox: Option<&SandboxHandle>,
    list: Text,
    skip: u64,
    changes_out: Option<NonNull<NonNull<ForeignRecord>>>,
) -> Option<NonNull<ForeignError>> {
    guard(|| {
        let sandbox = lent(sandbox, "sandbox")?;
        let out = lent(changes_out, "changes_out")?;
        let list = text(&list, "list")?;
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let changes = sandbox.ask(|sandbox| sandbox.changes(list, skip))?;
        record(changes.iter().map(Logged::to_json).collect(), out)
    })
}

/// Returns the numbers of requests since the start of the sandbox.
///
/// @param sandbox the sandbox
/// @param stats_out an object with `requests`, `token_posts`, `limited` (responses with the status 429) and
/// `requests_by_path`
/// Ownership: the caller frees `*stats_out` with talentdata_record_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL. CLOSED in a forked child.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_sandbox_stats(
    sandbox: Option<&SandboxHandle>,
    stats_out: Option<NonNull<NonNull<ForeignRecord>>>,
) -> Option<NonNull<ForeignError>> {
    guard(|| {
        let sandbox = lent(sandbox, "sandbox")?;
        let out = lent(stats_out, "stats_out")?;
        let stats = sandbox.ask(|sandbox| Ok(sandbox.stats()))?;
        record(serde_json::json!(stats), out)
    })
}

/// Stops a sandbox, ends its connections, and frees it. NULL does nothing.
///
/// Ownership: `sandbox` and its settings must no longer be used.
/// Threads: any, after every other call with this sandbox has returned.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_sandbox_free(sandbox: Option<Box<SandboxHandle>>) {
    guard_or((), || drop(sandbox));
}

impl SandboxHandle {
    /// Returns the answer of the sandbox to a request that may be wrong.
    fn ask<T>(&self, ask: impl FnOnce(&Sandbox) -> io::Result<T>) -> Result<T> {
        let sandbox = self
            .sandbox
            .get()
            .ok_or_else(|| Error::new(ErrorKind::Closed, "the sandbox runs in another process"))?;
        ask(sandbox).map_err(|failure| Error::new(kind(&failure), failure.to_string()))
    }
}

/// Runs the body of an exported function. A failure or a panic becomes an error of libtalentdata. The body may also
/// return such an error itself. `errno` is restored.
fn guard(
    call: impl FnOnce() -> Result<Option<NonNull<ForeignError>>>,
) -> Option<NonNull<ForeignError>> {
    let _errno = Errno::keep();
    Error::catch("a call", call).unwrap_or_else(|failed| {
        talentdata_error_new(failed.kind().number(), Text::of(failed.message()))
    })
}

/// Starts a sandbox whose threads receive no signals. They inherit the signal mask of the thread that starts them.
fn started(options: Options) -> io::Result<Sandbox> {
    let start = move || {
        block_signals();
        Sandbox::start(options)
    };
    let panicked = |_| Err(io::Error::other("a thread has panicked"));
    thread::Builder::new()
        .spawn(start)?
        .join()
        .unwrap_or_else(panicked)
}

fn options_of(json: &[u8]) -> Result<Options> {
    let given = serde_json::from_slice(json).map_err(|why| invalid("options", &why))?;
    Options::from_members(&given).map_err(|why| invalid("options", &why))
}

/// Creates a record with this content for C.
fn record(
    content: serde_json::Value,
    out: NonNull<NonNull<ForeignRecord>>,
) -> Result<Option<NonNull<ForeignError>>> {
    Ok(talentdata_record_parse(
        Text::of(&content.to_string()),
        Some(out),
    ))
}

fn kind(failure: &io::Error) -> ErrorKind {
    if failure.kind() == io::ErrorKind::InvalidInput {
        return ErrorKind::InvalidArgument;
    }
    ErrorKind::of_io(failure)
}

fn text<'a>(text: &'a Text, name: &str) -> Result<&'a str> {
    let bytes = lent(boundary::bytes(text), name)?;
    std::str::from_utf8(bytes).map_err(|why| invalid(name, &why))
}

fn lent<T>(value: Option<T>, name: &str) -> Result<T> {
    value.ok_or_else(|| invalid(name, &"must not be NULL"))
}

fn invalid(name: &str, why: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!("{name}: {why}"))
}
