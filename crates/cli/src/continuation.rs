//! The command that continues an interrupted export, as a shell takes it.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use talentdata_columns::export::Export;
use talentdata_core::{Client, drives_terminal};

/// What this program is called where it is installed.
const PROGRAM: &str = "talentdata";

const RESUME: &str = "--resume";

/// Says how to continue exports that were started with these arguments, the first of which is the program, if there is
/// something to continue. The embedded service ends with the run, so that what was read from it cannot be continued.
pub(crate) fn hint(
    exports: Vec<Export>,
    client: &Client,
    arguments: &[OsString],
    sandbox: bool,
) -> impl Fn() -> Option<String> + Clone + Send + use<> {
    let (client, command) = (client.clone(), command(arguments, !sandbox));
    let text = match sandbox {
        true => format!("the sandbox has ended, so begin again: {command}"),
        false => format!("to continue: {command}"),
    };
    move || {
        let mut exports = exports.iter();
        let any = exports.any(|export| export.is_resumable(&client));
        any.then(|| text.clone())
    }
}

/// The arguments as a command, with or without `--resume`.
fn command(arguments: &[OsString], resume: bool) -> String {
    let mut words: Vec<&OsStr> = arguments.iter().map(OsString::as_os_str).collect();
    // As it was called, unless another program has called it as a function.
    match words.first_mut() {
        Some(program) if Path::new(program).file_stem() == Some(OsStr::new(PROGRAM)) => {}
        Some(program) => *program = OsStr::new(PROGRAM),
        None => words.push(OsStr::new(PROGRAM)),
    }
    let end = words.iter().position(|word| *word == "--");
    let end = end.unwrap_or(words.len());
    let given = words[..end].iter().position(|word| *word == RESUME);
    match (given, resume) {
        (None, true) => words.insert(end, OsStr::new(RESUME)),
        (Some(index), false) => drop(words.remove(index)),
        _ => {}
    }
    let quoted: Vec<String> = words.into_iter().map(quoted).collect();
    quoted.join(" ")
}

/// A word so that POSIX shells take it literally. What could drive a terminal, or is not text, is escaped.
fn quoted(word: &OsStr) -> String {
    let bytes = word.as_encoded_bytes();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(byte);
    if !bytes.is_empty() && bytes.iter().all(is_plain) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    match word.to_str() {
        Some(text) if !text.contains(drives_terminal) => {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
        _ => {
            let escape = |byte: &u8| match byte {
                b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
                b' '..=b'~' => char::from(*byte).to_string(),
                _ => format!("\\{byte:03o}"),
            };
            format!("$'{}'", bytes.iter().map(escape).collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &[&str]) -> Vec<OsString> {
        text.iter().map(OsString::from).collect()
    }

    #[test]
    fn resume_is_there_once_or_not_at_all() {
        let plain = words(&["/usr/bin/talentdata", "export", "pools", "--out", "x"]);
        let resumed = words(&[
            "/usr/bin/talentdata",
            "export",
            "pools",
            "--out",
            "x",
            RESUME,
        ]);
        let with = "/usr/bin/talentdata export pools --out x --resume";
        let without = "/usr/bin/talentdata export pools --out x";
        for arguments in [plain, resumed] {
            assert_eq!(command(&arguments, true), with);
            assert_eq!(command(&arguments, false), without);
        }
        let separated = words(&["__main__.py", "export", "--out=x", "--", "pools"]);
        let expected = "talentdata export --out=x --resume -- pools";
        assert_eq!(command(&separated, true), expected);
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_gets_back_what_was_typed() {
        use std::os::unix::ffi::OsStringExt;
        let typed = [
            &b"plain-0.9"[..],
            b"",
            b"two words",
            b"it's $HOME `id` \"x\" \\ * ~ #",
            b"-\n\x1b[31m'\\",
            b"not text \xff\x80 1",
            "grün \u{202e}".as_bytes(),
        ];
        for bytes in typed {
            let word = quoted(&OsString::from_vec(bytes.to_vec()));
            assert!(!word.contains(drives_terminal), "{word:?}");
            let mut shell = std::process::Command::new("bash");
            let script = format!("printf '%s' {word}");
            let output = shell.args(["-c", &script]).output().unwrap();
            assert_eq!(output.stdout, bytes, "{word}");
        }
    }
}
