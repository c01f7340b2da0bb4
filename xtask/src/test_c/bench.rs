//! What every check of the C library needs: where things are, and how a program is built and run.

use super::programs::Example;
use super::sandbox::Sandbox;
use super::tools::compile;
use crate::Outcome;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Everything that a check needs.
pub(super) struct Bench {
    pub(super) root: PathBuf,
    pub(super) prefix: PathBuf,
    /// Where programs are built.
    pub(super) out: PathBuf,
    pub(super) sandbox: Sandbox,
}

impl Bench {
    pub(super) fn examples(&self) -> PathBuf {
        self.root.join("bindings/c/examples")
    }

    pub(super) fn tests(&self) -> PathBuf {
        self.root.join("bindings/c/tests")
    }

    pub(super) fn program(&self, source: &str, standard: &str, kind: &str) -> PathBuf {
        self.out.join(format!("{source}.{standard}.{kind}"))
    }

    /// A command that finds the installed library.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", self.prefix.join("lib"));
        command
    }

    pub(super) fn build(
        &self,
        folder: &Path,
        sources: &[&str],
        standard: &str,
        flags: &[&str],
        kind: &str,
        libraries: &[String],
    ) -> Result<PathBuf, String> {
        let program = self.program(sources[0], standard, kind);
        let paths: Vec<PathBuf> = sources.iter().map(|source| folder.join(source)).collect();
        let standard = format!("-std={standard}");
        let mut all = vec![standard.as_str(), "-pthread"];
        all.extend(flags);
        compile(&paths, &all, libraries, &program)?;
        Ok(program)
    }

    pub(super) fn check_example(
        &self,
        example: &Example,
        kind: &str,
        libraries: &[String],
    ) -> Outcome {
        for (language, standard) in [("c", "c11"), ("cpp", "c++17")] {
            let source = format!("{}.{language}", example.name);
            let flags: &[&str] = if language == "c" {
                &["-D_POSIX_C_SOURCE=200809L"]
            } else {
                &[]
            };
            let program = self.build(
                &self.examples(),
                &[&source],
                standard,
                flags,
                kind,
                libraries,
            )?;
            (example.check)(&self.sandbox.run(&mut self.command(&program))?)
                .map_err(|error| format!("{source}: {error}"))?;
        }
        Ok(())
    }
}
