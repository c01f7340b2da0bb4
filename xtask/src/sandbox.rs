//! The sandbox as a child process; it ends when its owner lets go of it, however that happens.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running sandbox.
pub(crate) struct Sandbox {
    child: Child,
    address: String,
    client_id: String,
    client_secret: String,
}

impl Sandbox {
    /// Starts one with these arguments; `program` is the command line.
    ///
    /// # Errors
    /// When it does not start, or does not say where it is.
    pub(crate) fn start(program: &Path, arguments: &[String]) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot start the sandbox: {error}");
        let mut child = Command::new(program)
            .args(["sandbox", "--until-stdin-closes"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout)
                .read_line(&mut line)
                .map_err(failed)?;
        }
        let said: Value = serde_json::from_str(&line)
            .map_err(|error| format!("the sandbox with {arguments:?} did not start: {error}"))?;
        let text = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
        Ok(Sandbox {
            child,
            address: text("base_url").trim_start_matches("http://").to_owned(),
            client_id: text("client_id"),
            client_secret: text("client_secret"),
        })
    }

    /// Tells a client where the service is and who it is, past any proxy.
    pub(crate) fn invite<'a>(&self, client: &'a mut Command) -> &'a mut Command {
        client
            .env("TALENTDATA_BASE_URL", format!("http://{}", self.address))
            .env("TALENTDATA_CLIENT_ID", &self.client_id)
            .env("TALENTDATA_CLIENT_SECRET", &self.client_secret)
            .env("NO_PROXY", "127.0.0.1")
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // It fails when the child has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
