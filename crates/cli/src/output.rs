//! Output to standard output (data) and standard error (everything else), and the end of a run. It is not an error if
//! the reader goes away.

use crate::lists::dashed;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use talentdata_core::internal::is_terminal_control;
use talentdata_core::internal::settings::NEEDS_HASH_KEY;
use talentdata_core::internal::streams::{Patient, reader_gone, stdout};
use talentdata_core::types::ListName;
use talentdata_core::{Error, ErrorKind};
use talentdata_mirror::internal::{JOB_OPTIONS, JobOption};

/// The exit code of the program.
pub(crate) type ExitCode = u8;

/// Writes `text` to standard output.
pub(crate) fn data(text: &str) -> Result<(), Ending> {
    if std::io::stdout().is_terminal() {
        draw(&harmless(text))
    } else {
        draw(text)
    }
}

/// Writes `text` to standard output without escaping control characters.
pub(crate) fn draw(text: &str) -> Result<(), Ending> {
    stdout().write_all(text.as_bytes()).map_err(|error| {
        if reader_gone() {
            return Ending::ReaderGone;
        }
        let message = format!("cannot write to standard output: {error}");
        Error::of_io(&error, message).into()
    })
}

/// Writes `value` to standard output as JSON, which people and programs can read.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Ending> {
    let text = serde_json::to_string_pretty(value).map_err(unwritable)?;
    data(&format!("{text}\n"))
}

/// Returns the error for a value that cannot be written as JSON, which never happens for the values here.
pub(crate) fn unwritable(_: serde_json::Error) -> Error {
    Error::new(ErrorKind::Internal, "a value could not be written as JSON")
}

/// Prints a line on standard error. A closed standard error does not stop the work.
pub(crate) fn stderr_line(line: &str) {
    let _ = Patient(std::io::stderr()).write_all(format!("{line}\n").as_bytes());
}

/// Prints a warning about a list whose command succeeded.
pub(crate) fn warn(list: ListName, text: &str) {
    stderr_line(&format!("warning: {}: {}", dashed(list), in_flags(text)));
}

/// Escapes the characters in JSON that a terminal may react to, or that change the direction of writing.
///
/// In JSON they only occur in strings, so its meaning does not change. Line breaks are layout.
fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => out.push(letter),
            _ if is_terminal_control(letter) => {
                out += &format!("\\u{:04x}", u32::from(letter));
            }
            _ => out.push(letter),
        }
    }
    out
}

/// The reason why a run did not succeed.
#[derive(Debug)]
pub(crate) enum Ending {
    /// The run failed.
    Failed(Error),
    /// The message was printed already. Only the exit code of this kind remains.
    AlreadyReported(ErrorKind),
    /// The reader of standard output has closed it, for example `| head`. This is not an error.
    ReaderGone,
    /// A signal stopped the run, with this exit code.
    Stopped(ExitCode),
}

impl From<Error> for Ending {
    fn from(error: Error) -> Self {
        Ending::Failed(error)
    }
}

impl Ending {
    /// Prints the message, if there is one, and returns the exit code.
    pub(crate) fn report(self, verbose: bool) -> ExitCode {
        match self {
            Ending::Failed(error) => {
                print_error(&error, "", None, verbose);
                error.kind().exit_code()
            }
            Ending::AlreadyReported(kind) => kind.exit_code(),
            Ending::ReaderGone => 0,
            Ending::Stopped(code) => code,
        }
    }
}

/// Replaces the names of options in the message of a library with their flags.
fn in_flags(text: &str) -> String {
    let replace = |text: String, option: &JobOption| {
        let flag = format!("set --{}", option.flag());
        text.replace(&format!("set {}", option.name), &flag)
    };
    let key = "; --hash needs it, and --hash-key-file names the file that has it";
    let text = text.replace(NEEDS_HASH_KEY, key);
    JOB_OPTIONS.iter().fold(text, replace)
}

/// Prints the line about an error at `place`, with `hint` and the help page of its kind at the end. With `verbose`,
/// prints all details.
pub(crate) fn print_error(error: &Error, place: &str, hint: Option<&str>, verbose: bool) {
    let message = in_flags(error.message());
    let error = &error.clone().with_message(message);
    let (shown, separator) = if verbose {
        (format!("{error:?}"), "\n")
    } else {
        (error.to_string(), "; ")
    };
    let end = hint.map_or(String::new(), |hint| format!("{separator}{hint}"));
    let page = error.kind().name();
    stderr_line(&format!(
        "error: {place}{shown}{end}{separator}see talentdata help {page}"
    ));
}
