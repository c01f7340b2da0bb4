//! Starts the program without any settings of this machine, and a sandbox for it.

#[allow(dead_code, reason = "shared with the tests of the client")]
#[path = "../../../core/tests/client/stub.rs"]
pub(crate) mod stub;

pub(crate) use rustix::process::Signal;
use rustix::process::{Pid, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Once};
use std::thread::sleep;
use std::time::Duration;
pub(crate) use stub::names;
use talentdata_core::ErrorKind;
use talentdata_core::types::ListName;
use talentdata_sandbox::limit::Policy;
use talentdata_sandbox::{Options, Sandbox};
use tempfile::TempDir;

/// Returns the program with these words as its arguments, and no settings from anywhere else.
pub(crate) fn program(words: &str) -> Command {
    // A signal that is handled here is not ignored in children, even if the tests run in the background of a shell.
    static HANDLED: Once = Once::new();
    HANDLED.call_once(|| {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        if mask.is_some_and(|mask| mask & 2 != 0) {
            signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::default()).unwrap();
        }
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_talentdata"));
    command
        .args(words.split_whitespace())
        .env_clear()
        .env("HOME", "/nonexistent")
        // Otherwise the program would create the home directory for the file of the shared budget.
        .env("XDG_RUNTIME_DIR", env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A service, and the directory in which the program runs.
pub(crate) struct Trial {
    pub(crate) sandbox: Sandbox,
    pub(crate) directory: TempDir,
}

/// Starts a service with lists of these sizes. It accepts fault rules, and no test reaches its limit by chance.
pub(crate) fn trial(sizes: &[(&str, u64)]) -> Trial {
    Trial::new(sizes, Options::default())
}

impl Trial {
    pub(crate) fn new(sizes: &[(&str, u64)], options: Options) -> Self {
        let policy = Policy::Unlimited;
        Trial::limited(sizes, Options { policy, ..options })
    }

    /// Starts a service with the limit in the options.
    pub(crate) fn limited(sizes: &[(&str, u64)], options: Options) -> Self {
        let sizes = sizes.iter().map(|(name, size)| ((*name).to_owned(), *size));
        let options = Options {
            records: sizes.collect(),
            faults: true,
            ..options
        };
        Trial {
            sandbox: Sandbox::start(options).unwrap(),
            directory: tempfile::tempdir().unwrap(),
        }
    }

    /// Returns the program with the sandbox's address and credentials in its environment.
    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = program(words);
        command
            .current_dir(self.directory.path())
            .env("TALENTDATA_BASE_URL", self.sandbox.base_url())
            .env("TALENTDATA_CLIENT_ID", self.sandbox.client_id())
            .env("TALENTDATA_CLIENT_SECRET", self.sandbox.client_secret());
        command
    }

    pub(crate) fn run(&self, words: &str) -> Ended {
        run(&mut self.command(words))
    }

    pub(crate) fn start(&self, words: &str) -> Child {
        self.command(words).spawn().unwrap()
    }

    /// Starts the program, and waits until it has sent this many requests.
    pub(crate) fn start_and_wait(&self, words: &str, requests: u64) -> Child {
        let enough = self.sandbox.stats().requests + requests;
        let mut child = self.start(words);
        wait_until(&mut child, || self.sandbox.stats().requests >= enough);
        child
    }

    /// Makes the sandbox send this reply to matching requests.
    pub(crate) fn fault(&self, matched: Value, reply: Value) {
        let script = json!({"rules": [{"match": matched, "reply": reply}]});
        self.sandbox.set_faults(&script.to_string()).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Returns the receipt of the first list in a file.
    pub(crate) fn receipt(&self, name: &str) -> Value {
        self.json(name)[0].take()
    }

    /// Returns the names in the directory, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        names(self.directory.path())
    }

    /// Creates a pipe in the directory that is held open and never read.
    pub(crate) fn stalled_pipe(&self, name: &str) -> fs::File {
        stub::make_pipe(&self.path(name));
        let both = fs::File::options()
            .read(true)
            .write(true)
            .open(self.path(name));
        both.unwrap()
    }
}

/// Waits for something that happens while the child runs.
pub(crate) fn wait_until(child: &mut Child, happened: impl Fn() -> bool) {
    while !happened() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended on its own");
        sleep(Duration::from_millis(5));
    }
}

pub(crate) fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Ended {
    Ended::of(command.output().unwrap())
}

/// The outcome of a run.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    /// The standard error without the summary.
    pub(crate) stderr: String,
    /// The last lines on standard error, one for each list that was exported or synced.
    pub(crate) summary: String,
}

/// Returns whether a line is the summary of an export or a sync.
fn is_summary(line: &str) -> bool {
    let (list, said) = line.split_once(": ").unwrap_or_default();
    list.parse::<ListName>().is_ok() && said.contains(" records") && said.contains(" in ")
}

impl Ended {
    pub(crate) fn of(output: Output) -> Self {
        let stderr = String::from_utf8(output.stderr).unwrap();
        let (summary, stderr) = stderr
            .split_inclusive('\n')
            .partition(|line| is_summary(line));
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr,
            summary,
        }
    }

    pub(crate) fn wait(child: Child) -> Self {
        Ended::of(child.wait_with_output().unwrap())
    }

    /// Checks that the run succeeded and printed only data and a summary. Returns the data.
    pub(crate) fn quiet(&self) -> &str {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{self:?}");
        &self.stdout
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(self.quiet()).unwrap()
    }

    /// Checks that it failed with this code, and printed one line with these words on standard error.
    pub(crate) fn error(&self, code: i32, words: &str) -> &str {
        assert_eq!(self.stdout, "", "{self:?}");
        assert!(self.stderr.starts_with("error: "), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        self.says(code, words)
    }

    /// Checks that it ended with this code and printed these words, which are separated by `|`.
    pub(crate) fn says(&self, code: i32, words: &str) -> &str {
        assert_eq!(self.code, Some(code), "{self:?}");
        for word in words.split('|') {
            assert!(self.stderr.contains(word), "{word}: {self:?}");
        }
        &self.stderr
    }
}

pub(crate) fn code(kind: ErrorKind) -> i32 {
    kind.exit_code().into()
}

/// Returns the requests that the sandbox received.
pub(crate) fn requests(sandbox: &Sandbox) -> Vec<Value> {
    let host = sandbox.base_url().trim_start_matches("http://");
    let mut socket = TcpStream::connect(host).unwrap();
    let head = format!("GET /__requests HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    socket.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let seen: Value = serde_json::from_str(body).unwrap();
    seen["requests"].as_array().unwrap().clone()
}
