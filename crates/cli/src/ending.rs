//! How a run can fail, with the exit code and the message.

use crate::signals::ExitCode;
use talentdata_core::{Error, ErrorKind};

/// Why a run did not succeed.
#[derive(Debug)]
pub(crate) enum Ending {
    /// It failed.
    Failed(Error),
    /// The message is on standard error already; what is left is the exit code of this kind.
    Said(ErrorKind),
    /// Standard output was closed by its reader, as by `| head`: that is not an error.
    ReaderGone,
    /// A signal stopped it, for which there is this exit code.
    Stopped(ExitCode),
}

impl From<Error> for Ending {
    fn from(error: Error) -> Self {
        Ending::Failed(error)
    }
}

impl Ending {
    /// Prints the message, if there is one, and returns the exit code.
    pub(crate) fn report(self, verbose: bool) -> u8 {
        match self {
            Ending::Failed(error) => {
                say(&error, "", None, verbose);
                error.kind().exit_code()
            }
            Ending::Said(kind) => kind.exit_code(),
            Ending::ReaderGone => 0,
            Ending::Stopped(code) => code,
        }
    }
}

/// The line about an error at `place`, which ends with `hint`; with `verbose` all that is known.
pub(crate) fn say(error: &Error, place: &str, hint: Option<&str>, verbose: bool) {
    let (shown, separator) = match verbose {
        true => (format!("{error:?}"), "\n"),
        false => (error.to_string(), "; "),
    };
    let end = hint.map_or(String::new(), |hint| format!("{separator}{hint}"));
    crate::output::remark(&format!("error: {place}{shown}{end}"));
}
