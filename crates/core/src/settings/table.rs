//! The table of settings: one row per setting. All surfaces use it.
//!
//! Core, the command line, C, C++ and Python read it at run time. `cargo xtask generate` includes this file and writes
//! from it `settings/config.rs` (the struct `Config` and the setters of Rust), the signatures of Python and
//! docs/settings.md. A new setting is a row here and the code that uses it, as `config.name`. A `Choice` also needs an
//! enum of that name in `settings.rs`. `Setting::scope` decides from the kind whether single calls may change it.
//!
//! The name is the same everywhere: `connect_timeout` is `TALENTDATA_CONNECT_TIMEOUT` in the environment,
//! `connect_timeout` in a profile and for `talentdata_config_set` in C, `--connect-timeout` on the command line, an
//! argument of Python's `Client`, and a setter in Rust.

use SettingKind::{
    BaseUrl, Boolean, Budget, Choice, Command, Duration, File, Integer, ListPolicies, Number,
    Proxy, Secret, Text,
};

/// A setting of a client.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The name on every surface.
    pub name: &'static str,
    /// The kind of values that it takes.
    pub kind: SettingKind,
    /// A phrase that says what the setting is, such as "the time limit for a connection".
    pub what: &'static str,
    /// Further sentences for users; may be empty.
    pub note: &'static str,
}

/// The kind of values that a setting takes.
#[derive(Clone, Copy, Debug)]
pub enum SettingKind {
    /// The address of a service.
    BaseUrl,
    /// Any string that can be sent, for example the client ID.
    Text,
    /// Any string that can be sent, but is never shown. There is no flag for it.
    Secret,
    /// A program with its arguments.
    Command,
    /// The path of a file, which is read when a client is created.
    File,
    /// The URL of a proxy, or `none`.
    Proxy,
    /// The place of the request budget: `process`, `host`, or the URL of a Redis or Valkey server.
    Budget,
    /// One of these names; the first is the default.
    Choice(&'static [&'static str]),
    /// The fields of lists to keep, drop and hash: JSON, or tables of a profile.
    ListPolicies,
    /// A time in seconds.
    Duration(Bounds),
    /// A whole number.
    Integer(Bounds),
    /// A number.
    Number(Bounds),
    /// True or false, with this default.
    Boolean(bool),
}

/// The values that a number may have.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The value that applies if none is set.
    pub default: f64,
}

/// The subject of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The service and the credentials, which stay the same for the whole life of a client.
    Service,
    /// The behaviour of calls, which Python's `with_options` changes.
    Calls,
}

const fn bounds(min: f64, max: f64, default: f64) -> Bounds {
    Bounds { min, max, default }
}

/// The longest time, in seconds: a day, beyond any use, and far from where times overflow.
const DAY: f64 = 86_400.0;

/// The name of the setting that selects a section of the profile file.
pub const PROFILE: &str = "profile";

/// The name of the setting that decides whether anything but explicit values counts.
pub const ENVIRONMENT: &str = "environment";

/// The settings that contain the secret or lead to it. Only one of them may be set.
pub const SECRET_SOURCES: [&str; 3] = ["client_secret", "client_secret_file", "credential_command"];

/// The name of the setting that allows plain http on another machine.
const INSECURE_HTTP: &str = "insecure_http";

/// Every setting.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "base_url",
        kind: BaseUrl,
        what: "the address of the service, such as https://talent.example",
        note: "There is no default.",
    },
    Setting {
        name: "client_id",
        kind: Text,
        what: "the client ID",
        note: "",
    },
    Setting {
        name: "client_secret",
        kind: Secret,
        what: "the client secret",
        note: "No error and no log message contains it, but copies of it stay in the memory of the process. Set this, client_secret_file or credential_command.",
    },
    Setting {
        name: "client_secret_file",
        kind: File,
        what: "a file that contains nothing but the client secret, which only this user can read",
        note: "It is read again when the service refuses the secret, so a secret can be replaced while a client exists. On the command line, - is standard input.",
    },
    Setting {
        name: "credential_command",
        kind: Command,
        what: "a program with its arguments that prints the client secret, or a JSON object with client_id and client_secret",
        note: "It is run when a client is created, and again when the service refuses the secret. It must end within 10 s, and gets no input. There is no shell: spaces separate the arguments, and quotes keep spaces in them. A list of strings works as well.",
    },
    Setting {
        name: "company",
        kind: Text,
        what: "the name under which client IDs of one company share the request budget",
        note: "The service limits a company, so give all its client IDs the same name. By default each client ID has a budget of its own.",
    },
    Setting {
        name: "hash_key",
        kind: Secret,
        what: "the key of the digests that replace values with the option hash",
        note: "It has at least 32 characters. Equal values have equal digests only under the same key, and anybody who has the key can guess values.",
    },
    Setting {
        name: "lists",
        kind: ListPolicies,
        what: "the fields to keep, drop or hash in every scan, export and sync of a list",
        note: "For example {\"contacts\": {\"drop\": [\"email\"]}}, with fields, drop and hash as in the options, which can only drop more. In a profile it is a table: [default.lists.contacts] with drop = [\"email\"]. Pages and other single calls do not obey it, and neither does reading a mirror, which has what its syncs stored.",
    },
    Setting {
        name: "error_bodies",
        kind: Choice(&["excerpt", "none"]),
        what: "the text of responses in errors and in the log: an excerpt of at most 512 bytes, or none",
        note: "The text may name people. With fields, drop or hash, no error of a scan has an excerpt of a page, regardless of this setting.",
    },
    Setting {
        name: PROFILE,
        kind: Text,
        what: "the section of the profile file to read, which must exist",
        note: "If none is selected, the section \"default\" applies, if it exists.",
    },
    Setting {
        name: ENVIRONMENT,
        kind: Boolean(true),
        what: "whether settings that are not given come from the environment and the profile file",
        note: "With false, no TALENTDATA_ variable, no profile file and no proxy variable is read. It cannot be in a profile.",
    },
    Setting {
        name: INSECURE_HTTP,
        kind: Boolean(false),
        what: "whether base_url may use plain http to another machine",
        note: "It is for mock services in containers: the secret and all data cross the network in clear text. To this machine, plain http is always allowed.",
    },
    Setting {
        name: "timeout",
        kind: Duration(bounds(0.001, DAY, 300.0)),
        what: "the time limit for a whole call, including retries and waiting for the request budget",
        note: "The time that a page of a scan waits for other pages, or for a service that is down, does not count.",
    },
    Setting {
        name: "attempt_timeout",
        kind: Duration(bounds(0.001, DAY, 60.0)),
        what: "the time limit for one attempt, from sending the request to the last byte of the response",
        note: "",
    },
    Setting {
        name: "connect_timeout",
        kind: Duration(bounds(0.001, DAY, 5.0)),
        what: "the time limit for connecting, with the lookup of the name, the proxy and the TLS handshake",
        note: "",
    },
    Setting {
        name: "idle_timeout",
        kind: Duration(bounds(0.001, DAY, 20.0)),
        what: "the time limit for a pause within a response",
        note: "It begins with the first byte; the time before that belongs to attempt_timeout.",
    },
    Setting {
        name: "max_attempts",
        kind: Integer(bounds(1.0, 20.0, 4.0)),
        what: "the maximum number of times that a request is sent",
        note: "A page of a scan may be sent more often while other requests fail as well: see max_outage and timeout.",
    },
    Setting {
        name: "max_wait",
        kind: Duration(bounds(0.0, DAY, 60.0)),
        what: "the longest wait that the service may request",
        note: "If it requests a longer one, the call fails with the error kind RateLimited.",
    },
    Setting {
        name: "max_outage",
        kind: Duration(bounds(0.0, DAY, 60.0)),
        what: "the time that a scan waits while the service is down, measured from the last request that succeeded",
        note: "During that time, one request at a time probes the service. A single call ends after max_attempts. So does a scan if the value is 0.",
    },
    Setting {
        name: "share",
        kind: Number(bounds(0.025, 1.0, 1.0)),
        what: "the share of the company's 40 requests per second that the client may use",
        note: "",
    },
    Setting {
        name: "paced",
        kind: Boolean(true),
        what: "whether the client keeps to 40 requests per second",
        note: "The value false is for a service without a rate limit; the documented client rule is always kept.",
    },
    Setting {
        name: "budget",
        kind: Budget,
        what: "the place of the request budget, which all its users share: process, host, or the URL of a Redis or Valkey server",
        note: "With host, all processes of this user on this host with the same client ID or company share one budget.",
    },
    Setting {
        name: "on_unreachable",
        kind: Choice(&["share", "wait"]),
        what: "the behaviour while the shared budget cannot be reached: spend an equal share of it, or wait",
        note: "",
    },
    Setting {
        name: "priority",
        kind: Choice(&["normal", "foreground", "background"]),
        what: "the priority of scans, among all that share the budget",
        note: "Single calls go before scans; a scan in the foreground goes with them, and one in the background after all others.",
    },
    Setting {
        name: "token_cache",
        kind: Choice(&["process", "host"]),
        what: "the users of an access token: process (each client has its own) or host (the processes of this user on this host share one)",
        note: "The value host is for services that accept only the newest token of a client. The processes need the same credentials; the token is in a file that only this user can read.",
    },
    Setting {
        name: "proxy",
        kind: Proxy,
        what: "the proxy to connect through: a URL such as http://proxy.example:3128, or none",
        note: "If none is set, HTTPS_PROXY, ALL_PROXY and NO_PROXY apply. A service on this machine is never reached through a proxy.",
    },
    Setting {
        name: "ca_file",
        kind: File,
        what: "a PEM file with root certificates to trust in addition to those of the system, such as a company's own",
        note: "They hold for the service, for a proxy with TLS, and for a budget at a rediss URL.",
    },
    Setting {
        name: "client_cert",
        kind: File,
        what: "a PEM file with the certificate that this client presents (mutual TLS), followed by those of its issuers",
        note: "It is presented to the service, to a proxy with TLS, and to a budget at a rediss URL, if they ask for one. It needs client_key.",
    },
    Setting {
        name: "client_key",
        kind: File,
        what: "a PEM file with the private key of client_cert, not encrypted, which only this user can read",
        note: "It may be the same file as client_cert.",
    },
];

impl Setting {
    /// Returns its variable in the environment.
    pub fn variable(&self) -> String {
        format!("TALENTDATA_{}", self.name.to_uppercase())
    }

    /// Returns its flag on the command line, without dashes. Other users can read arguments, so secrets have no flag.
    pub fn flag(&self) -> Option<String> {
        match self.kind {
            Secret if SECRET_SOURCES.contains(&self.name) => None,
            Secret => Some(format!("{}-file", self.name.replace('_', "-"))),
            _ => Some(self.name.replace('_', "-")),
        }
    }

    /// Returns the subject of the setting.
    pub fn scope(&self) -> Scope {
        match self.kind {
            BaseUrl | Text | Secret | Command | File | ListPolicies => Scope::Service,
            _ if matches!(self.name, ENVIRONMENT | INSECURE_HTTP) => Scope::Service,
            _ => Scope::Calls,
        }
    }

    /// Returns the bounds of a number.
    pub fn bounds(&self) -> Option<Bounds> {
        match self.kind {
            Duration(bounds) | Integer(bounds) | Number(bounds) => Some(bounds),
            BaseUrl | Text | Secret | Command | File | Proxy | Budget | ListPolicies
            | Choice(_) | Boolean(_) => None,
        }
    }

    /// Returns a description of its values for users.
    pub fn values(&self) -> String {
        match (self.kind, self.range()) {
            (Duration(_), Some(range)) => format!("a time {range}"),
            (Integer(_), Some(range)) => format!("a whole number {range}"),
            (_, Some(range)) => format!("a number {range}"),
            (Boolean(_), None) => "true or false".into(),
            (Choice(names), None) => either(names),
            (Budget, None) => "process, host, or a redis or rediss URL".into(),
            (ListPolicies, None) => "an object of lists, each with fields, drop or hash".into(),
            (Command, None) => "a program with its arguments".into(),
            (File, None) => "the path of a file".into(),
            (_, None) => "a string".into(),
        }
    }

    /// Returns the default; `None` if there is none.
    pub fn default(&self) -> Option<String> {
        match (self.kind, self.bounds()) {
            (Duration(_), Some(bounds)) => Some(format!("{} s", number(bounds.default))),
            (_, Some(bounds)) => Some(number(bounds.default)),
            (Boolean(default), None) => Some(default.to_string()),
            (Choice(names), None) => names.first().map(|name| (*name).to_owned()),
            (Budget, None) => Some("host".into()),
            (_, None) => None,
        }
    }

    /// Returns the message for a value of another kind. `got` is a type or a quoted string.
    pub fn wrong_type_message(&self, got: &str) -> String {
        format!("{} must be {} (got {got})", self.name, self.values())
    }

    /// Returns the message for a number out of its bounds.
    pub fn out_of_range_message(&self, got: f64) -> String {
        let range = self.range().unwrap_or_default();
        // Beyond this, digits are noise.
        let got = if got.abs() < 1e21 {
            got.to_string()
        } else {
            format!("{got:e}")
        };
        format!("{} must be {range} (got {got})", self.name)
    }

    fn range(&self) -> Option<String> {
        let Bounds { min, max, .. } = self.bounds()?;
        let unit = match self.kind {
            Duration(_) => " s",
            _ => "",
        };
        Some(format!("between {} and {}{unit}", number(min), number(max)))
    }
}

/// Returns the names as a list in a sentence.
fn either(names: &[&str]) -> String {
    match names {
        [all @ .., last] if all.len() > 1 => format!("{}, or {last}", all.join(", ")),
        _ => names.join(" or "),
    }
}

/// Formats a number for people: 86,400.
fn number(value: f64) -> String {
    let text = value.to_string();
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    for (index, digit) in whole.char_indices() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}
