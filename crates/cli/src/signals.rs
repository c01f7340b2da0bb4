//! Ctrl-C and SIGTERM: the first stops the work in order, the second immediately.

use crate::output::{ExitCode, stderr_line};
use talentdata_core::{Error, ErrorKind};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Exit codes after a signal: 128 plus its number, as in a shell.
const INTERRUPTED: ExitCode = 130;
const TERMINATED: ExitCode = 143;

/// The signals of one run, to be waited for in any number of places.
#[derive(Clone, Debug)]
pub(crate) struct Signals(watch::Receiver<Option<ExitCode>>);

impl Signals {
    /// Takes the signals over, which after that are never handed back. After the first one the process ends by itself
    /// when a second one comes. The value and its clones must live as long as that is to be so.
    ///
    /// # Errors
    /// `Internal` when the system does not hand them over.
    pub(crate) fn take() -> Result<Self, Error> {
        let take = |kind| {
            signal(kind).map_err(|error| {
                let message = format!("cannot handle signals: {error}");
                Error::new(ErrorKind::Internal, message)
            })
        };
        let mut interrupt = take(SignalKind::interrupt())?;
        let mut terminate = take(SignalKind::terminate())?;
        let (sender, receiver) = watch::channel(None);
        tokio::spawn(async move {
            let mut next = async || {
                tokio::select! {
                    _ = interrupt.recv() => INTERRUPTED,
                    _ = terminate.recv() => TERMINATED,
                }
            };
            let second = async {
                // With nobody left to tell, the run is about to end anyway.
                let _ = sender.send(Some(next().await));
                next().await
            };
            tokio::select! {
                code = second => {
                    stderr_line("error: stopped immediately");
                    std::process::exit(code.into());
                }
                () = sender.closed() => {}
            }
        });
        Ok(Signals(receiver))
    }

    /// The first signal, if there was one.
    pub(crate) fn caught(&self) -> Option<ExitCode> {
        *self.0.borrow()
    }

    /// Waits for the first signal.
    pub(crate) async fn stop(&self) {
        self.stopped().await;
    }

    /// The same, and says which it was.
    pub(crate) async fn stopped(&self) -> ExitCode {
        let mut receiver = self.0.clone();
        let caught = receiver.wait_for(Option::is_some).await.map(|code| *code);
        match caught {
            Ok(Some(code)) => code,
            // The watching task ends after all who wait for it.
            _ => std::future::pending().await,
        }
    }
}

/// A file that exceeds the size that is allowed (`ulimit -f`) is to be an error of the write that says so; by default a
/// signal ends the process.
pub(crate) fn ignore_file_size_limit() {
    let number = rustix::process::Signal::XFSZ.as_raw();
    // Once it was taken over, it has no effect, whether or not anybody waits for it.
    let _ = signal(SignalKind::from_raw(number));
}
