//! Ctrl-C and SIGTERM: the first stops the work in order, the second immediately.

use talentdata_core::{Error, ErrorKind};
use tokio::signal::unix::{self, SignalKind, signal};
use tokio::sync::watch;

/// A request to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C (SIGINT).
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl Signal {
    /// 128 and the signal's number, as shells say it.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Signal::Interrupt => 130,
            Signal::Terminate => 143,
        }
    }
}

/// The signals of one run, to be waited for in any number of places.
#[derive(Clone, Debug)]
pub(crate) struct Signals(watch::Receiver<Option<Signal>>);

impl Signals {
    /// Takes the signals over, which after that are never handed back. After the first one the process ends by itself
    /// when a second one comes; `before_exit` is called before. The value and its clones must live as long as that is
    /// to be so.
    ///
    /// # Errors
    /// `Internal` when the system does not hand them over.
    pub(crate) fn take(before_exit: impl FnOnce() + Send + 'static) -> Result<Self, Error> {
        let mut source = Source::new().map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("cannot handle signals: {error}"),
            )
        })?;
        let (sender, receiver) = watch::channel(None);
        tokio::spawn(async move {
            let second = async {
                let first = source.next().await;
                // With nobody left to tell, the run is about to end anyway.
                let _ = sender.send(Some(first));
                source.next().await
            };
            tokio::select! {
                signal = second => {
                    before_exit();
                    std::process::exit(signal.exit_code().into());
                }
                () = sender.closed() => {}
            }
        });
        Ok(Signals(receiver))
    }

    /// The first signal, if there was one.
    pub(crate) fn caught(&self) -> Option<Signal> {
        *self.0.borrow()
    }

    /// Waits for the first signal.
    pub(crate) async fn stopped(mut self) -> Signal {
        if let Ok(signal) = self.0.wait_for(Option::is_some).await
            && let Some(signal) = *signal
        {
            return signal;
        }
        // The watching task ends after all who wait for it.
        std::future::pending().await
    }
}

/// A file that exceeds the size that is allowed (`ulimit -f`) is to be an error of the write that says so; by default a
/// signal ends the process.
pub(crate) fn ignore_file_size_limit() {
    let number = rustix::process::Signal::XFSZ.as_raw();
    // Once it was taken over, it has no effect, whether or not anybody waits for it.
    let _ = signal(SignalKind::from_raw(number));
}

struct Source {
    interrupt: unix::Signal,
    terminate: unix::Signal,
}

impl Source {
    fn new() -> std::io::Result<Self> {
        Ok(Source {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
        }
    }
}
