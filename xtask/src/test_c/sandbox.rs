//! The sandbox as a child process, and programs that run against it.

use crate::Outcome;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Contacts that the sandbox holds, more than a scan has under way at once.
pub(super) const CONTACTS: u64 = 3000;

/// A sandbox that ends with its owner.
pub(super) struct Sandbox {
    child: Child,
    environment: Vec<(String, String)>,
}

impl Sandbox {
    pub(super) fn start(root: &Path) -> Result<Self, String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        crate::test::succeed(
            Command::new(cargo)
                .args(["build", "--locked", "-p", "talentdata-cli"])
                .current_dir(root),
        )?;
        let program = root.join("target/debug/talentdata");
        let mut child = Command::new(&program)
            .args(["sandbox", "--policy", "unlimited", "--until-stdin-closes"])
            .args(["--records", &format!("contacts={CONTACTS}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
        let mut line = String::new();
        let output = child.stdout.take().ok_or("the sandbox has no output")?;
        BufReader::new(output)
            .read_line(&mut line)
            .map_err(|error| error.to_string())?;
        let said: Value = serde_json::from_str(&line)
            .map_err(|error| format!("the sandbox said {line:?}: {error}"))?;
        let mut environment = vec![("CONTACTS".to_owned(), CONTACTS.to_string())];
        for name in ["base_url", "client_id", "client_secret"] {
            let value = said[name]
                .as_str()
                .ok_or_else(|| format!("the sandbox said no {name}"))?;
            environment.push((
                format!("TALENTDATA_{}", name.to_uppercase()),
                value.to_owned(),
            ));
        }
        Ok(Sandbox { child, environment })
    }

    /// Runs a program against the sandbox; its standard output.
    pub(super) fn run(&self, command: &mut Command) -> Result<String, String> {
        let shown = format!("{command:?}");
        let output = command
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot run {shown}: {error}"))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(said);
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(format!(
            "{shown} ended with {}:\n{said}\n{errors}",
            output.status
        ))
    }

    /// Runs a program that must fail, and say `words` on standard error.
    pub(super) fn run_to_fail(&self, command: &mut Command, words: &str) -> Outcome {
        match self.run(command) {
            Err(said) if said.contains(words) => Ok(()),
            Err(said) => Err(format!("it failed, but did not say {words:?}: {said}")),
            Ok(_) => Err(format!(
                "{command:?} succeeded; it should have said {words:?}"
            )),
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It ends when its input does.
        let _ = self.child.wait();
    }
}
