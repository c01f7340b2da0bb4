//! Checks step by step what a client with these settings can reach, and gives advice if a step fails.

use crate::arguments::Arguments;
use crate::budget::BudgetStore;
#[cfg(unix)]
use crate::budget::shared_file::{self, SharedFile};
use crate::client::{Client, json_of};
use crate::error::{Error, ErrorKind, Result, system_text};
use crate::generated::checks::check_response;
use crate::process;
use crate::request::Call;

use crate::request::transport::{Response, Seen};
use crate::settings::{Builder, Config, SettingInForce, TokenCache};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::Write;
use std::time::{Duration, SystemTime};
use talentdata_types::{CREATE_TOKEN, OPERATIONS, Operation};

/// The time limit for each request of a check-up.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// The largest accepted difference from the clock of the service.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(60);
/// The free space of a directory for temporary files below which a check fails, in bytes.
const MIN_FREE_BYTES: u64 = 16 * 1024 * 1024;
/// The maximum number of permissions that are shown.
const MAX_SHOWN_PERMISSIONS: usize = 12;

/// The settings in force, and what a client with them can reach.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Diagnosis {
    /// True if no check failed.
    pub healthy: bool,
    /// Every setting, without secrets.
    pub settings: Vec<SettingInForce>,
    /// The checks. Each may depend on the ones before it.
    pub checks: Vec<Check>,
}

/// A check of a [`Diagnosis`].
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Check {
    /// The name, such as `tls`.
    pub name: &'static str,
    /// The outcome.
    pub status: CheckStatus,
    /// The result in words; for a failure, its cause and the remedy.
    pub message: String,
    /// The kind of the error, if the check failed.
    pub kind: Option<&'static str>,
}

/// The outcome of a [`Check`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CheckStatus {
    /// The check passed.
    Ok,
    /// The check failed. The message says why, and what helps.
    Failed,
    /// The check does not apply, or an earlier check failed.
    NotTried,
}

/// The names of all checks, in their order.
const CHECKS: [&str; 13] = [
    "settings",
    "temporary_directory",
    "runtime_directory",
    "budget",
    "host_name",
    "connection",
    "proxy",
    "tls",
    "service",
    "clock",
    "token",
    "permissions",
    "compatibility",
];

impl Builder {
    /// Checks the settings and what a client with them can reach: names, connections, certificates, the clock, the
    /// credentials, the permissions, the request budget and directories. It sends at most five requests, shows no
    /// secret, and returns no error: a failure is a failed check.
    pub async fn diagnose(&self) -> Diagnosis {
        let mut found = Findings::default();
        let outcome = self.config().and_then(Client::new);
        found.directory();
        match outcome {
            Err(error) => found.failed("settings", &error),
            Ok(client) => {
                let config = client.config();
                let warning = config.profile_warning().map(|why| format!("; {why}"));
                let warning = warning.unwrap_or_default();
                found.ok("settings", format!("for {}{warning}", config.base_url()));
                found.client(client).await;
            }
        }
        let checks = CHECKS.map(|name| found.take(name));
        Diagnosis {
            healthy: checks
                .iter()
                .all(|check| check.status != CheckStatus::Failed),
            settings: self.in_force(),
            checks: checks.into(),
        }
    }
}

/// Runs [`Builder::diagnose`] on a runtime of its own, whose threads call `start` first.
///
/// # Errors
/// `Internal` if the system grants no threads; `InvalidArgument` within an async runtime.
pub fn diagnose_blocking(
    builder: &Builder,
    start: impl Fn() + Send + Sync + 'static,
) -> Result<Diagnosis> {
    if process::is_runtime_thread() {
        return Err(Error::invalid(
            "a blocking call was made from within an async runtime or from a log callback",
        ));
    }
    let runtime = process::runtime(1, start)?;
    let diagnosis = runtime.block_on(builder.diagnose());
    runtime.shutdown_background();
    Ok(diagnosis)
}

/// The completed checks.
#[derive(Default)]
struct Findings(Vec<Check>);

impl Findings {
    fn add(&mut self, name: &'static str, status: CheckStatus, message: impl Into<String>) {
        self.0.push(Check {
            name,
            status,
            message: message.into(),
            kind: None,
        });
    }

    fn ok(&mut self, name: &'static str, message: impl Into<String>) {
        self.add(name, CheckStatus::Ok, message);
    }

    fn skip(&mut self, name: &'static str, message: impl Into<String>) {
        self.add(name, CheckStatus::NotTried, message);
    }

    fn failed(&mut self, name: &'static str, error: &Error) {
        self.add(name, CheckStatus::Failed, error.message());
        if let Some(check) = self.0.last_mut() {
            check.kind = Some(error.kind().name());
        }
    }

    /// Adds a check that failed because of a call, with all that is known about it.
    fn call_failed(&mut self, name: &'static str, error: &Error) {
        let message = error.message();
        let limit = REQUEST_TIMEOUT.as_secs();
        // The time limit of a check is not a setting.
        let message = message.replace(
            &format!(" timeout is {limit} s"),
            &format!(" a check takes at most {limit} s"),
        );
        let advice = if error.is_retryable() && !message.contains("try again later") {
            "; try again later, or ask the operator of the service"
        } else {
            ""
        };
        let shown = error.clone().with_message(format!("{message}{advice}"));
        self.failed(name, &shown);
        if let (Some(check), Some(_)) = (self.0.last_mut(), error.status()) {
            check.message = shown.to_string();
        }
    }

    /// Removes and returns a check. If it was not done, an earlier failure prevented it.
    fn take(&mut self, name: &'static str) -> Check {
        if let Some(index) = self.0.iter().position(|check| check.name == name) {
            return self.0.swap_remove(index);
        }
        Check {
            name,
            status: CheckStatus::NotTried,
            message: "an earlier check failed".into(),
            kind: None,
        }
    }

    /// Checks the directory for temporary files.
    fn directory(&mut self) {
        let (name, directory) = ("temporary_directory", std::env::temp_dir());
        let shown = directory.display();
        let written = tempfile::tempfile_in(&directory).and_then(|mut file| file.write_all(b"x"));
        match (written, free(&directory)) {
            (Err(error), _) => {
                let why = system_text(&error);
                let message = format!(
                    "no file can be written in {shown}: {why}; make room or set TMPDIR to another directory"
                );
                self.failed(name, &Error::of_io(&error, message));
            }
            (Ok(()), Some(free)) if free < MIN_FREE_BYTES => {
                let message = format!(
                    "only {free} bytes are free in {shown}; make room or set TMPDIR to another directory"
                );
                self.failed(name, &Error::new(ErrorKind::StorageFull, message));
            }
            (Ok(()), free) => {
                let free = free.map_or_else(String::new, |free| {
                    format!(", with {} MB free", free / 1_000_000)
                });
                self.ok(name, format!("{shown}{free}"));
            }
        }
    }

    /// Checks the directory of the files that processes of this host share.
    #[cfg(unix)]
    fn runtime_directory(&mut self, config: &Config) {
        let name = "runtime_directory";
        let is_used = config.budget == BudgetStore::Host && config.paced
            || config.token_cache == TokenCache::Host;
        if !is_used {
            let message = "no file is shared: neither budget nor token_cache is host";
            return self.skip(name, message);
        }
        let file = format!("budget-doctor-{}", std::process::id());
        let path = shared_file::path(&file);
        let shown = path.parent().unwrap_or(&path).display().to_string();
        let file = SharedFile::new(path.clone(), 1, Duration::ZERO);
        let written = file.lock().and_then(|locked| locked.write(b"x"));
        let _ = std::fs::remove_file(&path);
        match written {
            Ok(()) => self.ok(name, shown),
            Err(error) => {
                let why = system_text(&error);
                let message = format!(
                    "no file can be written in {shown}: {why}; set XDG_RUNTIME_DIR to a directory of this user, or budget to process"
                );
                self.failed(name, &Error::of_io(&error, message));
            }
        }
    }

    #[cfg(not(unix))]
    fn runtime_directory(&mut self, _: &Config) {
        self.skip("runtime_directory", "no file is shared on this system");
    }

    /// Checks the request budget. Returns whether it can be used.
    async fn budget(&mut self, config: &Config) -> bool {
        let name = "budget";
        if !config.paced {
            self.skip(name, "with paced = false no budget is kept");
        } else if config.budget == BudgetStore::Process {
            self.ok(name, "process: this client does not share it");
        } else {
            let config = config.clone();
            // Reading from a server blocks the thread for a while.
            let read = tokio::task::spawn_blocking(move || config.budget_state()).await;
            match read {
                Ok(Ok(state)) => {
                    let members = state.members.iter();
                    let members: Vec<String> = members
                        .map(|member| {
                            format!("{} ({})", member.name.escape_debug(), member.process)
                        })
                        .collect();
                    let members = if members.is_empty() {
                        "no other client uses it now".into()
                    } else {
                        format!("shared with {}", members.join(", "))
                    };
                    self.ok(name, format!("{}: {members}", state.store));
                }
                Ok(Err(error)) => {
                    let advice = "; check the setting budget and the server, or set budget to host";
                    let message = format!("{}{advice}", error.message());
                    self.failed(name, &error.with_message(message));
                    return false;
                }
                Err(_) => self.failed(name, &Error::defect("reading the budget failed")),
            }
        }
        true
    }

    /// Checks what a client can reach.
    async fn client(&mut self, client: Client) {
        let mut config = client.config().clone();
        self.runtime_directory(&config);
        if !self.budget(&config).await {
            config.budget = BudgetStore::Process;
        }
        config.max_attempts = 1;
        config.timeout = config.timeout.min(REQUEST_TIMEOUT);
        let client = match client.with_config(config) {
            Ok(client) => client,
            Err(error) => return self.failed("host_name", &error),
        };
        if self.route(&client).await {
            self.service(&client).await;
        }
        client.closed().await;
    }

    /// Opens a connection. Returns whether this succeeded.
    async fn route(&mut self, client: &Client) -> bool {
        let (seen, outcome) = client.0.examine().await;
        let Seen {
            name,
            address,
            proxy,
            issuer,
        } = seen;
        let has_tls = !client.config().base_url().is_plain();
        let mut steps = vec![("host_name", name), ("connection", address)];
        match client.0.proxy() {
            Some(shown) => steps.push(("proxy", proxy.then_some(shown))),
            None => self.skip("proxy", "no proxy is used"),
        }
        if has_tls {
            steps.push((
                "tls",
                issuer.map(|by| format!("certificate issued by {by}")),
            ));
        } else {
            self.skip("tls", "the service is reached by plain http");
        }
        for (name, seen) in steps {
            match (seen, &outcome) {
                (Some(seen), _) => self.ok(name, seen),
                (None, Err(error)) => {
                    self.failed(name, error);
                    break;
                }
                (None, Ok(())) => {}
            }
        }
        outcome.is_ok()
    }

    /// Calls the service.
    async fn service(&mut self, client: &Client) {
        let version = match call(client, "version", Arguments::default()).await {
            Err(error) => {
                if error.status().is_some() {
                    self.clock(error.date());
                }
                self.call_failed("service", &error);
                None
            }
            Ok((text, date)) => {
                self.clock(date);
                let fields: Value = serde_json::from_str(&text).unwrap_or_default();
                let known = |name: &str| fields[name].as_str().unwrap_or("unknown").to_owned();
                let (version, status) = (known("version"), known("apiStatus"));
                let message = format!("version {version}, status {status}");
                self.ok("service", message.escape_debug().to_string());
                Some(fields)
            }
        };
        if let Err(error) = client.config().require_credentials() {
            return self.failed("token", &error);
        }
        match call(client, "permissions", Arguments::default()).await {
            Err(error) if error.operation() == Some(CREATE_TOKEN.id) => {
                return self.call_failed("token", &error);
            }
            Err(error) => {
                self.ok("token", "the service issued a token");
                return self.call_failed("permissions", &error);
            }
            Ok((text, _)) => {
                self.ok("token", "the service issued a token");
                self.permissions(&text);
            }
        }
        let Some(version) = version else { return };
        let categories = version["endpoints"].as_object();
        let categories: Vec<&String> = categories.into_iter().flat_map(|all| all.keys()).collect();
        let body = json!({"clientVersion": version["version"], "endpoints": categories});
        let arguments = Arguments::default().with_json(body.to_string());
        match call(client, "check", arguments).await {
            Err(error) => self.call_failed("compatibility", &error),
            Ok((text, _)) => self.compatibility(&text),
        }
    }

    fn clock(&mut self, date: Option<SystemTime>) {
        let name = "clock";
        let Some(date) = date else {
            return self.skip(name, "the service sent no date");
        };
        let now = SystemTime::now();
        let (off, direction) = match now.duration_since(date) {
            Ok(ahead) => (ahead, "ahead of"),
            Err(behind) => (behind.duration(), "behind"),
        };
        let seconds = off.as_secs();
        if off <= MAX_CLOCK_DIFFERENCE {
            self.ok(name, format!("{seconds} s {direction} the service's clock"));
            return;
        }
        let message = format!(
            "the clock of this machine is {seconds} s {direction} the service's clock; set it, for example by NTP"
        );
        self.failed(name, &Error::config(message));
    }

    fn permissions(&mut self, text: &str) {
        let name = "permissions";
        let fields: Value = serde_json::from_str(text).unwrap_or_default();
        let granted = fields["permissions"].as_array().into_iter().flatten();
        let granted: Vec<&str> = granted.filter_map(Value::as_str).collect();
        if granted.is_empty() {
            let message = "the token has no permissions; ask the administrator of this client ID for some, such as read:contacts";
            return self.failed(name, &Error::new(ErrorKind::Forbidden, message));
        }
        let more = match granted.len().saturating_sub(MAX_SHOWN_PERMISSIONS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let shown: Vec<&str> = granted.into_iter().take(MAX_SHOWN_PERMISSIONS).collect();
        let message = format!("{}{more}", shown.join(", "));
        self.ok(name, message.escape_debug().to_string());
    }

    fn compatibility(&mut self, text: &str) {
        let fields: Value = serde_json::from_str(text).unwrap_or_default();
        let holds = |name: &str| fields[name].as_bool().unwrap_or(true);
        if holds("compatible") && holds("supported") {
            return self.ok("compatibility", "the service supports this version");
        }
        let message = "the service says that it does not support its own version; look for a newer talentdata, or ask the operator of the service";
        self.failed("compatibility", &Error::new(ErrorKind::Api, message));
    }
}

/// Calls an operation, and returns the response with its date.
async fn call(
    client: &Client,
    name: &str,
    arguments: Arguments,
) -> Result<(String, Option<SystemTime>)> {
    let known = OPERATIONS
        .iter()
        .find(|one: &&&Operation| one.command == name);
    let operation = *known.ok_or_else(|| {
        let message = format!("the API description has no operation {name}");
        Error::invalid(message)
    })?;
    let mut call = Call::new(operation, arguments)?;
    let read = |response: &Response| {
        let text = json_of(operation, response)?;
        check_response(operation, &text)?;
        let date = response.header("date");
        let date = date.and_then(|date| httpdate::parse_http_date(date).ok());
        Ok((text.to_string(), date))
    };
    client.0.call(&mut call, read).await
}

/// Returns the free space of a directory for this user, in bytes.
#[cfg(unix)]
fn free(directory: &std::path::Path) -> Option<u64> {
    let facts = rustix::fs::statvfs(directory).ok()?;
    facts.f_bavail.checked_mul(facts.f_frsize)
}

#[cfg(not(unix))]
fn free(_: &std::path::Path) -> Option<u64> {
    None
}
