//! What every check of the C library needs: where things are, and how a program is built and run.

use super::programs::{CONTACTS, Example};
use super::tools::compile;
use crate::Outcome;
use crate::sandbox::Sandbox;
use crate::servers::Valkey;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Does the work for each item, on as many threads as there are processors; the first failure is told.
pub(super) fn at_once<T: Sync>(items: &[T], work: impl Fn(&T) -> Outcome + Sync) -> Outcome {
    let queue = Mutex::new(items.iter());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let worker = || -> Outcome {
        while let Some(item) = next() {
            work(item)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let mut ends = workers.into_iter().map(|one| one.join());
        ends.try_for_each(|end| end.unwrap_or_else(|_| Err("a check ended by a defect".into())))
    })
}

/// Everything that a check needs.
pub(super) struct Bench {
    pub(super) root: PathBuf,
    pub(super) prefix: PathBuf,
    /// Where programs are built.
    pub(super) out: PathBuf,
    pub(super) sandbox: Sandbox,
    /// Where clients may share a budget.
    pub(super) server: Valkey,
    /// The command line, which is a sandbox too.
    pub(super) talentdata: PathBuf,
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
        directory: &Path,
        sources: &[&str],
        standard: &str,
        flags: &[&str],
        kind: &str,
        libraries: &[String],
    ) -> Result<PathBuf, String> {
        let program = self.program(sources[0], standard, kind);
        let paths: Vec<PathBuf> = sources
            .iter()
            .map(|source| directory.join(source))
            .collect();
        let standard = format!("-std={standard}");
        let mut all = vec![standard.as_str(), "-pthread"];
        all.extend(flags);
        compile(&paths, &all, libraries, &program)?;
        Ok(program)
    }

    /// Runs a program against the sandbox; its standard output.
    pub(super) fn run(&self, command: &mut Command) -> Result<String, String> {
        let shown = format!("{command:?}");
        let output = self
            .sandbox
            .invite(command)
            .env("CONTACTS", CONTACTS.to_string())
            .env("BUDGET_SERVER", self.server.url())
            // Some write files.
            .current_dir(&self.out)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot run {shown}: {error}"))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(said);
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let status = output.status;
        Err(format!("{shown} ended with {status}:\n{said}\n{errors}"))
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
            (example.check)(&self.run(&mut self.command(&program))?)
                .map_err(|error| format!("{source}: {error}"))?;
        }
        Ok(())
    }
}
