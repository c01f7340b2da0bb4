//! Runs the program that prints the credentials, within limits of time and size. Its output is never shown, and its
//! standard error only without what it printed.

use super::LONGEST_REASON;
use crate::error::{Scrubber, system_text};
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use talentdata_types::Secret;

/// Limits the output of the command, in bytes.
const LONGEST_OUTPUT: u64 = 64 * 1024;
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
    let outputs = [
        child
            .child
            .stdout
            .take()
            .map(|pipe| read(pipe, LONGEST_OUTPUT)),
        child
            .child
            .stderr
            .take()
            .map(|pipe| read(pipe, LONGEST_OUTPUT)),
    ];
    let [output, said] = outputs.map(|reading| {
        let receiver = reading.ok_or(Lost::Unread)?.map_err(|_| Lost::Unread)?;
        let left = until.saturating_duration_since(Instant::now());
        let read = receiver.recv_timeout(left).map_err(|_| Lost::Late)?;
        read.map_err(|_| Lost::Unread)
    });
    let is_too_long = |bytes: &Vec<u8>| bytes.len() as u64 > LONGEST_OUTPUT;
    let why = match &output {
        Ok(bytes) if is_too_long(bytes) => {
            Some(format!("printed more than {} KiB", LONGEST_OUTPUT / 1024))
        }
        Err(Lost::Unread) => Some("has an output that cannot be read".into()),
        Err(Lost::Late) => Some(late(limit)),
        // A process that the command started may hold the pipe.
        Ok(_) if matches!(said, Err(Lost::Late)) => Some(late(limit)),
        Ok(_) => match child.ended(until) {
            Some(CommandFailure::Late) => Some(late(limit)),
            Some(CommandFailure::Failed(status)) => Some(format!("failed ({status})")),
            None => None,
        },
    };
    drop(child);
    let output = output.unwrap_or_default();
    let text = String::from_utf8(output);
    let why = match (why, &text) {
        (Some(why), _) => why,
        (None, Err(_)) => "printed text that is not UTF-8".into(),
        (None, Ok(text)) if text.trim().is_empty() => "printed nothing".into(),
        (None, Ok(_)) => return Ok(text.unwrap_or_default()),
    };
    let Ok(hidden) = text else {
        return Err(format!("{program} {why}"));
    };
    if hidden.len() as u64 > LONGEST_OUTPUT {
        return Err(format!("{program} {why}"));
    }
    let hidden: Vec<Secret> = hidden
        .lines()
        .map(|line| Secret::new(line.trim()))
        .collect();
    let said = String::from_utf8_lossy(&said.unwrap_or_default()).into_owned();
    let said = Scrubber::new(&hidden).redact_untrusted(said.trim(), LONGEST_REASON);
    let said = match &*said {
        "" => String::new(),
        said => format!("; it says: {said}"),
    };
    Err(format!("{program} {why}{said}"))
}

fn late(limit: Duration) -> String {
    format!(
        "did not end within {} s, and was stopped",
        limit.as_secs_f64()
    )
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

/// Reads a pipe on a thread of its own, up to this many bytes and one more.
fn read(
    pipe: impl Read + Send + 'static,
    most: u64,
) -> io::Result<mpsc::Receiver<io::Result<Vec<u8>>>> {
    let (sender, receiver) = mpsc::channel();
    let reader = thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.take(most + 1).read_to_end(&mut bytes);
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
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        #[cfg(unix)]
        {
            use rustix::process::{Pid, Signal, kill_process_group};
            let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
            let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
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
        for command in [
            "sleep 1000",
            "sh -c 'exec >&- 2>&-; sleep 1000'",
            "sh -c 'sleep 1000 & echo CANARY; echo CANARY >&2'",
        ] {
            let began = Instant::now();
            let why = run(&words(command), limit).err();
            let why = why.unwrap_or_default();
            assert!(why.contains(" did not end within 0.3 s"), "{why}");
            assert!(!why.contains("CANARY"), "{why}");
            assert!(began.elapsed() < Duration::from_secs(500));
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
