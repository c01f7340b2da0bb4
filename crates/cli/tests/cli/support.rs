//! Starts the program with nothing of this machine's settings, and a sandbox for it.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use talentdata_sandbox::limit::Policy;
use talentdata_sandbox::{Options, Sandbox};

/// A sandbox that no test runs into the limit of by chance, and that takes fault rules.
pub(crate) fn sandbox(options: Options) -> Sandbox {
    let options = Options {
        policy: Policy::Unlimited,
        faults: true,
        ..options
    };
    Sandbox::start(options).unwrap()
}

/// The sizes of lists.
pub(crate) fn records(sizes: &[(&str, u64)]) -> Options {
    let sizes = sizes.iter().map(|(name, size)| ((*name).to_owned(), *size));
    Options {
        records: sizes.collect(),
        ..Options::default()
    }
}

/// The program with these arguments, and no settings from anywhere else.
pub(crate) fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_talentdata"));
    command
        .args(arguments)
        .env_clear()
        .env("HOME", "/nonexistent")
        // Else the file of the shared budget would make that home.
        .env("XDG_RUNTIME_DIR", env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The program with the sandbox's address and credentials in its environment.
pub(crate) fn against(sandbox: &Sandbox, arguments: &[&str]) -> Command {
    let mut command = program(arguments);
    command
        .env("TALENTDATA_BASE_URL", sandbox.base_url())
        .env("TALENTDATA_CLIENT_ID", sandbox.client_id())
        .env("TALENTDATA_CLIENT_SECRET", sandbox.client_secret());
    command
}

/// Runs to the end.
pub(crate) fn run(command: &mut Command) -> Ended {
    Ended::of(command.output().unwrap())
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn of(output: Output) -> Self {
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// It went well and said nothing but data; those as JSON.
    pub(crate) fn json(&self) -> Value {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{self:?}");
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// It failed with this code, and said so in one line on standard error.
    pub(crate) fn error(&self, code: i32) -> &str {
        assert_eq!(
            (self.code, self.stdout.as_str()),
            (Some(code), ""),
            "{self:?}"
        );
        assert!(self.stderr.starts_with("error: "), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        &self.stderr
    }
}

/// The names in a directory, in order.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// How many records the checkpoint of an unfinished export to `path` says can be resumed from.
#[cfg(unix)]
pub(crate) fn saved_records(path: &Path) -> Option<u64> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let text = std::fs::read_to_string(Path::new(&part).join("checkpoint")).ok()?;
    let checkpoint: Value = serde_json::from_str(text.split_once('\n')?.1).ok()?;
    checkpoint["progress"]["receipt"]["records"].as_u64()
}

/// Makes the sandbox answer requests to this path so.
pub(crate) fn fault(sandbox: &Sandbox, path: &str, reply: Value) {
    let rule = serde_json::json!({"match": {"path": path}, "reply": reply});
    let script = serde_json::json!({"rules": [rule]});
    let (status, _) = request(sandbox, "POST", "/__faults", &script.to_string());
    assert!((200..300).contains(&status), "{status}");
}

/// The requests that the sandbox has seen.
pub(crate) fn requests(sandbox: &Sandbox) -> Vec<Value> {
    let (_, body) = request(sandbox, "GET", "/__requests", "");
    let seen: Value = serde_json::from_str(&body).unwrap();
    seen["requests"].as_array().unwrap().clone()
}

/// Status and body of a request.
pub(crate) fn request(sandbox: &Sandbox, method: &str, path: &str, body: &str) -> (u16, String) {
    let address = sandbox.base_url().strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(address).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all((head + body).as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}
