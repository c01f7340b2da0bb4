//! Runs the program that prints the credentials, within limits of time and size. Its output is never shown, and its
//! standard error only without what it printed.

use super::LONGEST_REASON;
use crate::error::{Scrubber, system_text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use talentdata_types::Secret;

/// Limits the output of the command, in bytes.
const LONGEST_OUTPUT: u64 = 64 * 1024;
/// The time in which the standard error of a command that ended is read. A process that it started may keep it open.
const PATIENCE: Duration = Duration::from_secs(2);
/// The minimum length of a part of the output that may be the secret, in bytes.
const SHORTEST_SECRET: usize = 4;
/// The minimum length of a word of the output that may be the secret, in bytes.
const SHORTEST_WORD: usize = 6;
/// The pause between two checks whether a command that closed its output has ended.
const PAUSE: Duration = Duration::from_millis(5);

/// Splits a command into words at spaces. Quotes keep spaces in a word; no other character is special. A list is a JSON
/// array of strings.
pub(crate) fn split(text: &str) -> Option<Vec<String>> {
    if text.starts_with('[') {
        let words: Option<Vec<String>> = serde_json::from_str(text).ok();
        return words.filter(|words| !words.is_empty());
    }
    let mut words = Vec::new();
    let (mut word, mut quote) = (None::<String>, None);
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    (quote.is_none() && !words.is_empty()).then_some(words)
}

/// Runs a command, and returns its output; on failure the reason, without the output.
pub(super) fn run(words: &[String], limit: Duration) -> Result<String, String> {
    let Some((program, arguments)) = words.split_first() else {
        return Err("there is no program".into());
    };
    let until = Instant::now() + limit;
    let mut command = Command::new(program);
    command.args(arguments);
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // The command gets a process group of its own, so that processes that it started end with it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let started = command.spawn();
    let mut child = started
        .map(|child| Running {
            child,
            has_ended: false,
        })
        .map_err(|error| format!("cannot run {program}: {}", system_text(&error)))?;
    let (stdout, stderr) = (child.child.stdout.take(), child.child.stderr.take());
    let (stdout, stderr) = (stdout.map(read), stderr.map(read));
    let output = received(stdout, until);
    let is_too_long = |bytes: &Vec<u8>| bytes.len() as u64 > LONGEST_OUTPUT;
    let why = match &output {
        Ok(bytes) if is_too_long(bytes) => {
            Some(format!("printed more than {} KiB", LONGEST_OUTPUT / 1024))
        }
        Err(Lost::Unread) => Some("has an output that cannot be read".into()),
        Err(Lost::Late) => Some(child.stop(limit)),
        Ok(_) => match child.ended(until) {
            Some(CommandFailure::Late) => Some(child.stop(limit)),
            Some(CommandFailure::Failed(status)) => Some(format!("failed ({status})")),
            None => None,
        },
    };
    drop(child);
    // If the output is not known, what it says on standard error may contain the secret.
    let is_known = output.is_ok();
    let text = String::from_utf8(output.unwrap_or_default());
    let why = match (why, &text) {
        (Some(why), _) => why,
        (None, Err(_)) => "printed text that is not UTF-8".into(),
        (None, Ok(text)) if text.trim().is_empty() => "printed nothing".into(),
        (None, Ok(text)) => return Ok(text.trim_start_matches('\u{feff}').to_owned()),
    };
    let Ok(hidden) = text else {
        return Err(format!("{program} {why}"));
    };
    if !is_known || hidden.len() as u64 > LONGEST_OUTPUT {
        return Err(format!("{program} {why}"));
    }
    let hidden: Vec<Secret> = parts(&hidden).into_iter().map(Secret::new).collect();
    let said = received(stderr, Instant::now() + PATIENCE);
    let said = String::from_utf8_lossy(&said.unwrap_or_default()).into_owned();
    let said = Scrubber::new(&hidden).redact_untrusted(said.trim(), LONGEST_REASON);
    let said = match &*said {
        "" => String::new(),
        said => format!("; it says: {said}"),
    };
    Err(format!("{program} {why}{said}"))
}

/// Returns the parts of an output that may be the secret: the strings and numbers in JSON, otherwise the lines, the
/// values after a colon or an equals sign, and the words.
fn parts(output: &str) -> BTreeSet<String> {
    let mut parts = BTreeSet::new();
    let mut add = |part: &str, shortest| {
        if part.len() >= shortest {
            parts.insert(part.to_owned());
        }
    };
    let output = output.trim_start_matches('\u{feff}');
    match serde_json::from_str::<Value>(output) {
        Ok(value) => {
            let mut waiting = vec![&value];
            while let Some(value) = waiting.pop() {
                match value {
                    Value::Array(values) => waiting.extend(values),
                    Value::Object(fields) => waiting.extend(fields.values()),
                    Value::String(text) => add(text, SHORTEST_SECRET),
                    value => add(&value.to_string(), SHORTEST_WORD),
                }
            }
        }
        Err(_) => {
            let bare = |text: &str| {
                text.trim()
                    .trim_matches(['"', '\'', '`', ',', ';'])
                    .to_owned()
            };
            for line in output.lines() {
                add(line.trim(), SHORTEST_SECRET);
                if let Some((_, value)) = line.split_once([':', '=']) {
                    add(&bare(value), SHORTEST_SECRET);
                }
                for word in
                    line.split(|letter: char| letter.is_whitespace() || "\"'`,".contains(letter))
                {
                    add(&bare(word), SHORTEST_WORD);
                }
            }
        }
    }
    parts
}

/// The reason why there is no output.
enum Lost {
    Late,
    Unread,
}

/// The way in which a command failed.
enum CommandFailure {
    Late,
    Failed(ExitStatus),
}

/// The bytes of a pipe, as soon as it ends.
type PipeReading = io::Result<mpsc::Receiver<io::Result<Vec<u8>>>>;

/// Waits for the bytes of a pipe.
fn received(reading: Option<PipeReading>, until: Instant) -> Result<Vec<u8>, Lost> {
    let receiver = reading.ok_or(Lost::Unread)?.map_err(|_| Lost::Unread)?;
    let left = until.saturating_duration_since(Instant::now());
    let read = receiver.recv_timeout(left).map_err(|_| Lost::Late)?;
    read.map_err(|_| Lost::Unread)
}

/// Reads a pipe on a thread of its own, up to the limit and one byte more.
fn read(pipe: impl Read + Send + 'static) -> PipeReading {
    let (sender, receiver) = mpsc::channel();
    let reader = thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.take(LONGEST_OUTPUT + 1).read_to_end(&mut bytes);
        let _ = sender.send(read.map(|_| bytes));
    });
    reader.map(|_| receiver)
}

/// A running command. Dropping the value stops it and the processes that it started, unless it ended.
struct Running {
    child: Child,
    has_ended: bool,
}

impl Running {
    /// Waits for the end. A command ends some time after it closed its output.
    fn ended(&mut self, until: Instant) -> Option<CommandFailure> {
        loop {
            let looked = self.child.try_wait();
            self.has_ended = !matches!(looked, Ok(None));
            match looked {
                Ok(Some(status)) if status.success() => return None,
                Ok(Some(status)) => return Some(CommandFailure::Failed(status)),
                // The program ignores the ends of its children, so that the system keeps no status of them.
                Err(_) => return None,
                Ok(None) if Instant::now() >= until => return Some(CommandFailure::Late),
                Ok(None) => thread::sleep(PAUSE),
            }
        }
    }

    /// Stops the command and the processes that it started, and returns what was late.
    fn stop(&mut self, limit: Duration) -> String {
        let limit = limit.as_secs_f64();
        if self.killed().is_none_or(|status| status.code().is_none()) {
            return format!("did not end within {limit} s, and was stopped");
        }
        format!(
            "ended, but a process that it started kept its output open for {limit} s; redirect the output of that process"
        )
    }

    /// Stops the command and the processes that it started, and returns the status of the command, which may have ended
    /// before.
    fn killed(&mut self) -> Option<ExitStatus> {
        self.has_ended = true;
        #[cfg(unix)]
        {
            use rustix::process::{Pid, Signal, kill_process_group};
            let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
            let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        }
        let _ = self.child.kill();
        self.child.wait().ok()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.has_ended {
            self.killed();
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        split(text).unwrap_or_default()
    }

    #[test]
    fn a_command_that_hangs_is_stopped_at_its_limit() {
        let limit = Duration::from_millis(300);
        // Also a command that closed its output, and one whose output another process holds.
        let (runs, held) = (
            " did not end within 0.3 s",
            " kept its output open for 0.3 s",
        );
        for (command, says) in [
            ("sleep 1000", runs),
            ("sh -c 'exec >&- 2>&-; sleep 1000'", runs),
            ("sh -c 'sleep 1000 & echo CANARY; echo CANARY >&2'", held),
        ] {
            let began = Instant::now();
            let why = run(&words(command), limit).err();
            let why = why.unwrap_or_default();
            assert!(why.contains(says), "{why}");
            assert!(!why.contains("CANARY"), "{why}");
            assert!(began.elapsed() < Duration::from_secs(500));
        }
    }

    #[test]
    fn a_process_that_keeps_only_standard_error_costs_no_secret() {
        let command = words("sh -c 'sleep 1000 >/dev/null & echo CANARY'");
        let printed = run(&command, Duration::from_secs(60)).ok();
        assert_eq!(printed.as_deref(), Some("CANARY\n"));
    }

    #[test]
    fn no_part_of_an_output_that_may_be_the_secret_is_shown() {
        let (hidden, omitted) = ("I know [redacted]", "the text is omitted");
        for (output, says) in [
            (
                r#"{"id":"x","data":[{"client_secret":"CANARY-1234"}]}"#,
                hidden,
            ),
            (r#"{\n "client_secret": "CANARY-1234"\n}"#, hidden),
            (r#"{"client_secret":"CANARY-1234""#, hidden),
            ("password: CANARY-1234", hidden),
            ("PASSWORD='CANARY-1234'", hidden),
            // Words of this length may be the secret, but are too short to be hidden.
            ("secret CANARY-1234", omitted),
        ] {
            let output = output.replace('\'', "\\047");
            let script = format!("printf '{output}'; echo 'I know CANARY-1234' >&2; exit 3");
            let command = ["sh".to_owned(), "-c".to_owned(), script];
            let why = run(&command, Duration::from_secs(60)).err();
            let why = why.unwrap_or_default();
            let says = format!("(exit status: 3); it says: {says}");
            assert!(why.contains(&says), "{output}: {why}");
            assert!(!why.contains("CANARY"), "{output}: {why}");
        }
    }

    #[test]
    fn quotes_keep_spaces_and_a_list_is_taken_as_it_is() {
        for (text, wanted) in [
            ("pass show talent", &["pass", "show", "talent"][..]),
            ("  a  'b c'd \"\" ", &["a", "b cd", ""]),
            (r"C:\bin\op.exe read", &[r"C:\bin\op.exe", "read"]),
            (r#"["a b", "c"]"#, &["a b", "c"]),
        ] {
            assert_eq!(words(text), wanted, "{text}");
        }
        for text in ["'a", "a \"b", "", "  ", "[]", "[1]"] {
            assert!(split(text).is_none(), "{text}");
        }
    }
}
