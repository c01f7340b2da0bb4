//! How a run ends other than well, and the exit code and words for it.

use crate::signals::Signal;
use std::process::ExitCode;
use talentdata_core::{Error, ErrorKind};

/// Why a run did not end well.
#[derive(Debug)]
pub(crate) enum Ending {
    /// It failed.
    Failed(Error),
    /// Something was said on standard error already; what is left is the exit code of this kind.
    Said(ErrorKind),
    /// Nobody reads standard output any more, as after `| head`: that is not an error.
    ReaderGone,
    /// A signal stopped it.
    Stopped(Signal),
}

impl From<Error> for Ending {
    fn from(error: Error) -> Self {
        Ending::Failed(error)
    }
}

impl Ending {
    /// Says what has to be said, and gives the exit code.
    pub(crate) fn report(self, verbose: bool) -> ExitCode {
        match self {
            Ending::Failed(error) => {
                say(&error, "", verbose);
                ExitCode::from(error.kind().exit_code())
            }
            Ending::Said(kind) => ExitCode::from(kind.exit_code()),
            Ending::ReaderGone => ExitCode::SUCCESS,
            Ending::Stopped(signal) => ExitCode::from(signal.exit_code()),
        }
    }
}

/// The line about an error at `place`; with `verbose` all that is known.
pub(crate) fn say(error: &Error, place: &str, verbose: bool) {
    let line = match verbose {
        true => format!("error: {place}{error:?}"),
        false => format!("error: {place}{error}"),
    };
    crate::output::remark(&line);
}
