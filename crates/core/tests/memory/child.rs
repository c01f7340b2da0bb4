//! A test that runs again in a child process: what it is given, what it tells, and the most memory it takes.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::process::Command;

/// Tells a process that it is a child, and what it needs.
const INPUT: &str = "TALENTDATA_TEST_MEMORY_CHILD";
/// The line in which the child tells what came of it begins with this.
const OUTPUT: &str = "outcome: ";

/// The most memory that this process has had, in bytes.
pub(crate) fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1));
    kibibytes.unwrap().parse::<usize>().unwrap() * 1024
}

/// Runs one test in a child process; what it tells.
pub(crate) fn run<T: DeserializeOwned>(test: &str, input: &impl Serialize) -> T {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let input = serde_json::to_string(input).unwrap();
    command
        .args([test, "--exact", "--nocapture"])
        .env(INPUT, input);
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let told = said.lines().find_map(|line| line.strip_prefix(OUTPUT));
    let told =
        told.unwrap_or_else(|| panic!("{said}\n{}", String::from_utf8_lossy(&output.stderr)));
    serde_json::from_str(told).unwrap()
}

/// What this process is given, if it is a child.
pub(crate) fn input<T: DeserializeOwned>() -> Option<T> {
    let input = std::env::var(INPUT).ok()?;
    Some(serde_json::from_str(&input).unwrap())
}

/// Tells the parent what came of it, and ends the child.
pub(crate) fn tell(outcome: &impl Serialize) -> ! {
    // The name of the test may stand in the line before.
    println!("\n{OUTPUT}{}", serde_json::to_string(outcome).unwrap());
    std::process::exit(0);
}
