//! Cargo, as the other commands run it: on this workspace, and telling where it put what it made.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A command that sees nothing of what the cargo that runs us says of xtask; build scripts that look
/// at it (ring's does) would run again, and all that depends on them would be built again.
pub(crate) fn undisturbed(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Cargo with these arguments, in the directory of the workspace.
pub(crate) fn command(root: &Path, arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    undisturbed(&mut command).args(arguments).current_dir(root);
    command
}

/// The files that a build has made.
pub(crate) struct Made(Vec<PathBuf>);

impl Made {
    /// The one of this name.
    pub(crate) fn file(&self, name: &str) -> Result<&Path, String> {
        let found = self.0.iter().find(|path| path.ends_with(name));
        found
            .map(PathBuf::as_path)
            .ok_or_else(|| format!("the build made no {name}"))
    }
}

/// Builds with these arguments; what cargo says for people goes straight through.
pub(crate) fn build(root: &Path, arguments: &[&str]) -> Result<Made, String> {
    build_with(root, arguments, &[])
}

/// The same with these environment variables.
pub(crate) fn build_with(
    root: &Path,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Result<Made, String> {
    let mut command = command(root, &["build", "--locked"]);
    command
        .args(arguments)
        .envs(environment.iter().copied())
        .arg("--message-format=json-render-diagnostics");
    let mut files = Vec::new();
    for line in output(&mut command)?.lines() {
        let message: Value =
            serde_json::from_str(line).map_err(|error| format!("cargo said {line:?}: {error}"))?;
        let made = message["filenames"].as_array().into_iter().flatten();
        files.extend(made.filter_map(Value::as_str).map(PathBuf::from));
    }
    Ok(Made(files))
}

/// The directory that builds write to, wherever the user wants it.
pub(crate) fn target(root: &Path) -> Result<PathBuf, String> {
    let mut command = command(root, &["metadata", "--locked", "--no-deps"]);
    let said = output(command.args(["--format-version", "1"]))?;
    let said: Value = serde_json::from_str(&said).map_err(|error| error.to_string())?;
    let directory = said["target_directory"].as_str();
    directory
        .map(PathBuf::from)
        .ok_or_else(|| "cargo does not say where it builds".into())
}

/// What a command writes; an error when it does not succeed.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let shown = format!("{command:?}");
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run {shown}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{shown} ended with {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}
