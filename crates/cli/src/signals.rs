//! Ctrl-C and SIGTERM: the first signal stops the work in order, the second one immediately.

use crate::output::{ExitCode, stderr_line};
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use talentdata_core::{Error, ErrorKind};
use tokio::sync::watch;

/// Exit codes after a signal: 128 plus its number, as in a shell.
const INTERRUPTED: ExitCode = 130;
const TERMINATED: ExitCode = 143;

/// The signals of one run. Any number of tasks may wait for them.
#[derive(Clone, Debug)]
pub(crate) struct Signals(watch::Receiver<Option<ExitCode>>);

impl Signals {
    /// Handles SIGINT and SIGTERM for the rest of the process. The second signal ends the process immediately.
    ///
    /// A signal that is ignored at the start stays ignored, as for commands in the background (`&`, `nohup`).
    ///
    /// # Errors
    /// `Internal` if the system does not allow it.
    pub(crate) fn take() -> Result<Self, Error> {
        let ignored = ignored_signals();
        let wanted = [SIGINT, SIGTERM].into_iter();
        let wanted = wanted.filter(|number| ignored & (1 << (number - 1)) == 0);
        let signals = signal_hook::iterator::Signals::new(wanted);
        let (sender, receiver) = watch::channel(None);
        // A thread instead of a task, because tokio's signals need a descriptor that a daemon may have closed.
        let watching = signals.and_then(|mut signals| {
            let thread = std::thread::Builder::new().name("talentdata-signals".to_owned());
            thread.spawn(move || {
                for number in signals.forever() {
                    let code = if number == SIGINT {
                        INTERRUPTED
                    } else {
                        TERMINATED
                    };
                    if sender.send_replace(Some(code)).is_some() {
                        stderr_line("error: stopped immediately");
                        std::process::exit(code.into());
                    }
                }
            })
        });
        watching.map_err(|error| {
            let message = format!("cannot handle signals: {error}");
            Error::new(ErrorKind::Internal, message)
        })?;
        Ok(Signals(receiver))
    }

    /// Returns the exit code of the first signal, if there was one.
    pub(crate) fn caught(&self) -> Option<ExitCode> {
        *self.0.borrow()
    }

    /// Waits for the first signal.
    pub(crate) async fn stop(&self) {
        self.stopped().await;
    }

    /// Waits for the first signal, and returns its exit code.
    pub(crate) async fn stopped(&self) -> ExitCode {
        let mut receiver = self.0.clone();
        let caught = receiver.wait_for(Option::is_some).await.map(|code| *code);
        match caught {
            Ok(Some(code)) => code,
            // The watching thread exists until the end of the process.
            _ => std::future::pending().await,
        }
    }
}

/// Returns the signals that this process ignores, one bit for each; none on systems without `/proc`.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

/// Turns a file that exceeds the allowed size (`ulimit -f`) into an error of the write. By default the signal ends the
/// process.
pub(crate) fn ignore_file_size_limit() {
    // Any handler will do. Nobody reads the flag.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}
